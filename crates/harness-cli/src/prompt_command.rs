//! `harness prompt`: the system prompt as a model would get it, and the prompts that there are.

use std::fmt::Write as _;
use std::process::ExitCode;

use harness_agent::prompt::{Kind, PromptDiff, SectionChange};
use harness_agent::{ShownPrompt, SkillCommand};
use harness_core::{Caller, Limits, SystemPrompt, ToolSpecs, estimate_tokens};
use serde_json::json;
use similar::TextDiff;

use crate::arguments::{
    AgentArguments, ModelArguments, Output, PromptListArguments, PromptRenderArguments,
    PromptShowArguments, PromptTemplateArguments,
};
use crate::config_file::nearest;
use crate::failure::{Exit, Failure};
use crate::model_choice::{Choice, Target};
use crate::prompt_input::typed;
use crate::prompt_library::PromptLibrary;
use crate::prompt_record::PromptRecord;
use crate::services::LocalServers;
use crate::setup::Setup;
use crate::tools_command::no_model;
use crate::{stderr, stdout};

/// Lines around a change in what `--diff` shows.
const CONTEXT_LINES: usize = 2;

/// A prompt with all that there is to say of it.
struct Report {
    shown: ShownPrompt,
    /// Bytes of the tools' descriptions, which go with it.
    tool_bytes: usize,
    /// What the last run here was given, if `--diff` asks for it.
    last: Option<SystemPrompt>,
}

/// Shows the prompt's sections.
pub(crate) async fn show(arguments: PromptShowArguments) -> Result<ExitCode, Failure> {
    let setup = Setup::read(&arguments.model, &arguments.agent)?;
    let (agent, _) = setup.agent(
        &choice(&setup).await,
        &arguments.agent,
        Limits::default(),
        None,
        None,
    )?;
    let last = if arguments.diff {
        let record = PromptRecord::of(&setup.environment, &setup.folder);
        let last = record.and_then(|record| record.last());
        Some(last.ok_or_else(|| {
            Failure::failed("no run in this folder is on record").hint(
                "each `harness run` keeps the prompt that it used last, but for the demonstration",
            )
        })?)
    } else {
        None
    };
    let shown = agent
        .system_prompt(Caller::default())
        .await
        .map_err(|error| Failure::failed(error.to_string()))?;
    let tools = agent.loop_config().tools().iter();
    let specs = tools.map(|tool| tool.spec().clone()).collect();
    for warning in &shown.warnings {
        stderr::note(warning);
    }
    let report = Report {
        shown,
        tool_bytes: ToolSpecs::new(specs).approximate_bytes(),
        last,
    };
    stdout::print(&if arguments.wants_json() {
        report.json()
    } else if let Some(last) = &report.last {
        report.diff(last)
    } else {
        report.text()
    })?;
    Ok(Exit::Finished.into())
}

/// The model whose window bounds the prompt: the one that is configured, if there is one.
async fn choice(setup: &Setup) -> Choice {
    if setup.settings.model.is_none() {
        return no_model();
    }
    match Choice::make(&setup.settings, &setup.environment, &LocalServers::usual()).await {
        Ok(choice) if !matches!(choice.target, Target::Demo) && choice.model().is_ok() => choice,
        // What is wrong with it is for `run` and `doctor` to tell.
        _ => no_model(),
    }
}

impl Report {
    fn prompt(&self) -> &SystemPrompt {
        &self.shown.fitted.prompt
    }

    fn json(&self) -> String {
        let text = self.prompt().text();
        let sections = self.prompt().sections().iter().map(|section| {
            json!({
                "name": &*section.name,
                "stable": section.stable,
                "source": &*section.source,
                "bytes": section.bytes(),
                "tokens": section.tokens(),
                "text": &*section.text,
            })
        });
        let cuts = self
            .shown
            .fitted
            .cuts
            .iter()
            .map(|cut| json!({ "section": cut.section, "bytes": cut.bytes, "kept": cut.kept }));
        let mut object = json!({
            "sections": sections.collect::<Vec<_>>(),
            "bytes": text.len(),
            "tokens": estimate_tokens(&text),
            "tool_bytes": self.tool_bytes,
            "cuts": cuts.collect::<Vec<_>>(),
            "warnings": self.shown.warnings,
            "text": text,
        });
        if let Some(last) = &self.last {
            let diff = self.prompt().diff_from(last);
            let sections = diff.sections.iter().map(|section| {
                json!({
                    "name": section.name,
                    "change": section.change.word(),
                    "bytes_before": section.bytes_before,
                    "bytes": section.bytes,
                })
            });
            object["diff"] = json!({
                "sections": sections.collect::<Vec<_>>(),
                "shared_bytes": diff.shared_bytes,
            });
        }
        object.to_string()
    }

    fn text(&self) -> String {
        let mut shown = String::new();
        for section in self.prompt().sections() {
            let kind = if section.stable {
                ""
            } else {
                ", may change from turn to turn"
            };
            let _ = write!(
                shown,
                "--- {} (by {}, {} bytes, about {} tokens{kind})\n{}\n\n",
                section.name,
                section.source,
                section.bytes(),
                section.tokens(),
                section.text.trim_end(),
            );
        }
        for cut in &self.shown.fitted.cuts {
            let _ = writeln!(
                shown,
                "--- too large: {} gave way, {} of its {} bytes are left",
                cut.section, cut.kept, cut.bytes
            );
        }
        let text = self.prompt().text();
        let _ = writeln!(
            shown,
            "--- in all: {} bytes, about {} tokens; with it go {} bytes of tool descriptions",
            text.len(),
            estimate_tokens(&text),
            self.tool_bytes,
        );
        shown
    }

    /// What changed since the last run.
    fn diff(&self, last: &SystemPrompt) -> String {
        let diff: PromptDiff = self.prompt().diff_from(last);
        if diff.is_empty() {
            return "--- nothing changed since the last run here\n".to_owned();
        }
        let mut shown = String::new();
        let text = |prompt: &SystemPrompt, name: &str| {
            let section = prompt.section(name);
            section.map_or_else(String::new, |section| section.sent().to_owned() + "\n")
        };
        for section in &diff.sections {
            let name = &section.name;
            let _ = writeln!(
                shown,
                "--- {name}: {}, {} to {} bytes",
                section.change.word(),
                section.bytes_before,
                section.bytes
            );
            if section.change != SectionChange::Moved {
                let (old, new) = (text(last, name), text(self.prompt(), name));
                let lines = TextDiff::from_lines(&old, &new);
                let mut unified = lines.unified_diff();
                let _ = writeln!(shown, "{}", unified.context_radius(CONTEXT_LINES));
            }
        }
        let _ = writeln!(
            shown,
            "--- the first {} of {} bytes are the same",
            diff.shared_bytes,
            self.prompt().text().len()
        );
        shown
    }
}

/// The library of the folder that is worked in, with its problems told.
fn library(agent: &AgentArguments) -> Result<PromptLibrary, Failure> {
    setup(agent).map(|setup| setup.prompts)
}

/// The environment and the configuration, with the problems of the library told.
fn setup(agent: &AgentArguments) -> Result<Setup, Failure> {
    let setup = Setup::read(&ModelArguments::default(), agent)?;
    for problem in &setup.prompts.problems {
        stderr::note(problem);
    }
    setup.prompts.tell_untrusted(&setup.settings.trust);
    Ok(setup)
}

/// Lists templates and slash commands.
pub(crate) fn list(arguments: &PromptListArguments) -> Result<ExitCode, Failure> {
    let agent = AgentArguments {
        cwd: arguments.cwd.clone(),
        ..AgentArguments::default()
    };
    let read = library(&agent)?;
    let mut text = String::new();
    for listed in read.library.list() {
        let kind = match listed.kind {
            Kind::Command => "command",
            _ => "template",
        };
        let problem = listed.problem.map(ToString::to_string);
        let command = read.library.command(listed.name);
        let hint = command
            .filter(|_| listed.kind == Kind::Command)
            .and_then(|command| command.argument_hint());
        match arguments.output {
            Output::Json => {
                let template = read.library.templates().get(listed.name).ok();
                let template = template.filter(|_| listed.kind == Kind::Template);
                let parameters = template.map(|template| {
                    let parameters = template.parameters().iter().map(|parameter| {
                        json!({
                            "name": parameter.name,
                            "type": parameter.kind.name(),
                            "description": parameter.description,
                            "required": parameter.required,
                            "default": parameter.default,
                        })
                    });
                    parameters.collect::<Vec<_>>()
                });
                let object = json!({
                    "kind": kind,
                    "parameters": parameters,
                    "argument_hint": hint,
                    "name": listed.name,
                    "layer": listed.layer.to_string(),
                    "source": listed.source,
                    "description": listed.description,
                    "shadowed_by": listed.shadowed_by.map(|shadow| shadow.layer.to_string()),
                    "problem": problem,
                });
                let _ = writeln!(text, "{object}");
            }
            Output::Text => {
                let name = match listed.kind {
                    Kind::Command => format!("/{} {}", listed.name, hint.unwrap_or_default()),
                    _ => listed.name.to_owned(),
                };
                let note = match (&listed.shadowed_by, problem) {
                    (_, Some(problem)) => format!(" (left out: {problem})"),
                    (Some(shadow), None) => format!(" (shadowed by the {} one)", shadow.layer),
                    (None, None) => String::new(),
                };
                let _ = writeln!(
                    text,
                    "{name:<34} {:<9} {}{note}",
                    listed.layer, listed.description
                );
            }
        }
    }
    stdout::print(&text)?;
    Ok(Exit::Finished.into())
}

/// Shows what a slash command stands for.
pub(crate) fn render(arguments: &PromptRenderArguments) -> Result<ExitCode, Failure> {
    let agent = AgentArguments {
        cwd: arguments.cwd.clone(),
        ..AgentArguments::default()
    };
    let setup = setup(&agent)?;
    let text = typed(&arguments.prompt);
    if let Some(command) = SkillCommand::parse(&text) {
        let skills = setup.skills()?;
        let loaded = command.load(&skills.catalogue(), skills.limits());
        let activation = loaded.map_err(Failure::failed)?;
        stdout::print(&command.text(&activation))?;
        return Ok(Exit::Finished.into());
    }
    let expanded = setup
        .prompts
        .library
        .expand(&text)
        .map_err(|error| Failure::failed(error.to_string()))?;
    let Some(expanded) = expanded else {
        return Err(Failure::usage(format!("`{text}` is not a slash command"))
            .hint("`harness prompt list` shows those that there are, `harness skills list` the skills"));
    };
    stdout::print(&expanded)?;
    Ok(Exit::Finished.into())
}

/// Shows a template: the values that it takes, as a comment, and its text.
pub(crate) fn template(arguments: &PromptTemplateArguments) -> Result<ExitCode, Failure> {
    let agent = AgentArguments {
        cwd: arguments.cwd.clone(),
        ..AgentArguments::default()
    };
    let read = library(&agent)?;
    let templates = read.library.templates();
    let template = templates.get(&arguments.name).map_err(|error| {
        let failure = Failure::usage(error.to_string());
        match nearest(&arguments.name, templates.names()) {
            Some(near) => failure.hint(format!("did you mean `{near}`?")),
            None => failure.hint("`harness prompt list` shows those that there are"),
        }
    })?;
    let mut text = String::new();
    for parameter in template.parameters() {
        let needed = if parameter.required { ", required" } else { "" };
        let _ = writeln!(
            text,
            "{{{{! {} ({}{needed}): {} }}}}",
            parameter.name,
            parameter.kind.name(),
            parameter.description
        );
    }
    text.push_str(template.source());
    stdout::print(&text)?;
    Ok(Exit::Finished.into())
}
