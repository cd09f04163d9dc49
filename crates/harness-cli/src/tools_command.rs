//! `harness tools`: what is on offer, and a call by hand.

use std::fmt::Write as _;
use std::io::Read;
use std::process::ExitCode;
use std::sync::Arc;

use harness_agent::ToolDecision;
use harness_core::{Caller, CancellationToken, Limits, ToolOutcome};
use harness_tools::ShellSession;

use crate::arguments::{
    AgentArguments, ModelArguments, Output, ToolsCallArguments, ToolsListArguments,
};
use crate::config_file::nearest;
use crate::failure::{Exit, Failure};
use crate::model_choice::{Choice, Target};
use crate::setup::Setup;
use crate::signals::Signals;
use crate::stdout;

/// A stand-in for commands that need an agent and never ask its model.
pub(crate) fn no_model() -> Choice {
    Choice {
        target: Target::Idle,
        because: "no model is asked".to_owned(),
    }
}

/// Lists the tools.
pub(crate) fn list(arguments: &ToolsListArguments) -> Result<ExitCode, Failure> {
    let setup = Setup::read(&ModelArguments::default(), &arguments.agent)?;
    let (agent, _) = setup.agent(&no_model(), &arguments.agent, Limits::default(), None, None)?;
    let assembly = agent.assembly();
    let mut text = String::new();
    if arguments.all {
        for decision in &assembly.tools {
            let ToolDecision {
                tool,
                from,
                why,
                offered,
                ..
            } = decision;
            match arguments.output {
                Output::Json => {
                    let object = serde_json::json!({
                        "name": tool, "offered": offered, "from": from, "why": why,
                    });
                    let _ = writeln!(text, "{object}");
                }
                Output::Text => {
                    let offered = if *offered { "offered" } else { "not offered" };
                    let _ = writeln!(text, "{tool:<12} {offered:<12} {from}: {why}");
                }
            }
        }
        if arguments.output == Output::Text {
            let _ = writeln!(text, "{}", assembly.batches.why);
        }
        stdout::print(&text)?;
        return Ok(Exit::Finished.into());
    }
    for tool in agent.loop_config().tools() {
        let spec = tool.spec();
        match arguments.output {
            Output::Json => {
                text.push_str(&serde_json::to_string(&**spec).unwrap_or_default());
                text.push('\n');
            }
            Output::Text => {
                let _ = writeln!(text, "{:<6} {}", spec.name, sentence(&spec.description));
            }
        }
    }
    stdout::print(&text)?;
    Ok(Exit::Finished.into())
}

/// The first sentence of a description, in one line.
fn sentence(description: &str) -> String {
    let line = description.split_whitespace().collect::<Vec<_>>().join(" ");
    match line.find(". ") {
        Some(end) => line[..=end].to_owned(),
        None => line,
    }
}

/// Calls a tool.
pub(crate) async fn call(arguments: ToolsCallArguments) -> Result<ExitCode, Failure> {
    let agent_arguments = AgentArguments {
        cwd: arguments.cwd.clone(),
        ..Default::default()
    };
    let setup = Setup::read(&ModelArguments::default(), &agent_arguments)?;
    let (agent, _) = setup.agent(&no_model(), &agent_arguments, Limits::default(), None, None)?;
    let tools = agent.loop_config().tools();
    if !tools.iter().any(|tool| tool.spec().name == arguments.name) {
        let names: Vec<&str> = tools.iter().map(|tool| tool.spec().name.as_str()).collect();
        let failure = Failure::usage(format!("there is no tool `{}`", arguments.name));
        return Err(match nearest(&arguments.name, names.iter().copied()) {
            Some(near) => failure.hint(format!("did you mean `{near}`?")),
            None => failure.hint(format!("the tools are {}", names.join(", "))),
        });
    }
    let text = if arguments.arguments == "-" {
        let mut text = String::new();
        std::io::stdin()
            .lock()
            .read_to_string(&mut text)
            .map_err(|error| Failure::usage(format!("standard input cannot be read: {error}")))?;
        text
    } else {
        arguments.arguments.clone()
    };
    let cancel = CancellationToken::new();
    let signals = Signals::listen(&cancel)?;
    let (shell, caller) = (ShellSession::new(), Caller::default());
    caller.attributes.insert(shell.clone());
    let call = agent.call_tool(caller, &arguments.name, &text, cancel);
    let outcome = tokio::select! {
        biased;
        outcome = call => outcome.map_err(|error| Failure::failed(error.to_string()))?,
        () = signals.second() => ToolOutcome::Cancelled,
    };
    // Nothing outlives the call, no job either.
    signals.unless_again(shell.end()).await;
    let text = match arguments.output {
        Output::Text => outcome.shown_text(),
        Output::Json => serde_json::to_string(&Arc::new(&outcome)).unwrap_or_default(),
    };
    if let Some(printed) = signals.write(move || stdout::print(&text)).await {
        printed?;
    }
    Ok(match (signals.came(), outcome.is_error()) {
        (Some((_, exit)), _) => exit,
        (None, true) => Exit::Failed,
        (None, false) => Exit::Finished,
    }
    .into())
}
