//! `harness agents`: which there are, what they may use, and what is wrong with them.

use std::path::PathBuf;
use std::process::ExitCode;

use crate::agent_list::AgentList;
use crate::agent_page::AgentPage;
use crate::agents_arguments::{AgentsCommand, AgentsListArguments, AgentsShowArguments};
use crate::arguments::SkillFlags;
use crate::failure::{Exit, Failure};
use crate::setup::Setup;
use crate::skill_diagnostics::{beside_status, line, notes};
use crate::skills_command::{self, tell_set_aside};
use crate::{stderr, stdout};

/// Carries out a command.
pub(crate) fn run(command: &AgentsCommand) -> Result<ExitCode, Failure> {
    match command {
        AgentsCommand::List(arguments) => list(arguments),
        AgentsCommand::Show(arguments) => show(arguments),
    }
}

fn setup(cwd: Option<&PathBuf>) -> Result<Setup, Failure> {
    skills_command::setup(cwd, &SkillFlags::default())
}

fn list(arguments: &AgentsListArguments) -> Result<ExitCode, Failure> {
    let setup = setup(arguments.cwd.as_ref())?;
    let agents = setup.agents();
    let catalogue = agents.catalogue();
    let list = AgentList::of(&agents, &catalogue);
    let json = arguments.format.wants_json();
    let text = match (json, arguments.all) {
        (true, all) => list.json(all),
        (false, true) => list.text_of_all(),
        (false, false) => list.text(),
    };
    if !text.is_empty() {
        stdout::print(&text)?;
    }
    if arguments.all && !json {
        for entry in catalogue.entries() {
            for diagnostic in beside_status(entry) {
                stderr::note(&line(diagnostic));
            }
        }
    }
    for note in notes(&catalogue, arguments.all) {
        stderr::note(&note);
    }
    if let Some(enabled) = &setup.settings.agents.enabled
        && !enabled.value
    {
        stderr::note(&format!("agents are off (from {})", enabled.origin));
    }
    if setup.settings.agents.enabled.is_none() && !setup.settings.agents.are_offered(&agents) {
        stderr::note(
            "the model is not offered those that come with the program alone: declare one, or say `enabled = true` in \
             [agents]",
        );
    }
    if !arguments.all {
        tell_set_aside(&catalogue);
    }
    Ok(Exit::Finished.into())
}

fn show(arguments: &AgentsShowArguments) -> Result<ExitCode, Failure> {
    let setup = setup(arguments.cwd.as_ref())?;
    let page = AgentPage::named(&arguments.name, &setup.agents())?;
    stdout::print(&if arguments.format.wants_json() {
        page.json()
    } else {
        page.text()
    })?;
    Ok(Exit::Finished.into())
}
