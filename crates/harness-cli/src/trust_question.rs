//! The first time in a project: whether it is trusted.

use harness_core::CancellationToken;
use harness_trust::Trust;

use crate::arguments::AgentArguments;
use crate::environment::Environment;
use crate::failure::Failure;
use crate::project_contents;
use crate::project_trust::ProjectTrust;
use crate::setup::working_folder;
use crate::terminal::one_line;
use crate::tty::Tty;

/// Asks, if there is a person at the terminal and nothing has been said of the project yet. What is answered
/// holds for this command, and is kept if the person wants it so.
pub(crate) fn ask(
    environment: &Environment,
    arguments: &mut AgentArguments,
) -> Result<(), Failure> {
    let folder = working_folder(arguments.cwd.as_deref())?;
    let trust = ProjectTrust::read(environment, &folder, arguments.trust)?;
    // A home is no project; the run says so.
    if trust.is_decided() || !trust.can_be_kept() {
        return Ok(());
    }
    let Some(mut tty) = Tty::open() else {
        return Ok(());
    };
    let project = one_line(&trust.project().display().to_string());
    tty.say(&format!(
        "Do you trust {project}?\n  If so, its own configuration, prompts, skills, agents and hooks are used, files in \
         it are changed without a\n  question, and commands run in a sandbox. If not, you are asked about all \
         that.\n{}",
        brought(&project_contents::lines(&folder, environment.home()))
    ));
    loop {
        tty.forget_typed();
        tty.say("[y] yes, always  [o] yes, this once  [n] no, never  [Enter] not now: ");
        let Some(line) = tty.line(&CancellationToken::new()) else {
            tty.say("\n");
            return Ok(());
        };
        let kept = match line.to_lowercase().as_str() {
            "y" | "yes" => Some(Trust::Full),
            "n" | "no" => Some(Trust::None),
            "o" => None,
            "" => {
                arguments.trust.no_trust = true;
                return Ok(());
            }
            _ => continue,
        };
        arguments.trust.trust = kept != Some(Trust::None);
        arguments.trust.no_trust = !arguments.trust.trust;
        if let (Some(kept), Some(store)) = (kept, trust.store()) {
            let set = store.set(trust.project(), kept);
            set.map_err(|error| Failure::failed(error.to_string()))?;
        }
        return Ok(());
    }
}

/// What the project brings, as lines of the question.
fn brought(lines: &[String]) -> String {
    if lines.is_empty() {
        return "  It brings nothing of that now.\n".to_owned();
    }
    let lines: Vec<String> = lines.iter().map(|line| format!("    {line}\n")).collect();
    format!("  It brings:\n{}", lines.concat())
}
