//! `harness prompt show`: the system prompt, as a model would get it.

use std::fmt::Write as _;
use std::process::ExitCode;

use harness_core::{Caller, Limits, ToolSpecs, estimate_tokens};

use crate::arguments::{ModelArguments, Output, PromptShowArguments};
use crate::failure::{Exit, Failure};
use crate::setup::Setup;
use crate::stdout;
use crate::tools_command::no_model;

/// Shows the prompt's sections.
pub(crate) async fn show(arguments: PromptShowArguments) -> Result<ExitCode, Failure> {
    let setup = Setup::read(&ModelArguments::default(), &arguments.agent)?;
    let (agent, _) = setup.agent(&no_model(), &arguments.agent, Limits::default())?;
    let prompt = agent
        .system_prompt(Caller::default())
        .await
        .map_err(|error| Failure::failed(error.to_string()))?
        .fitted
        .prompt;
    let text = prompt.text();
    let specs = agent
        .loop_config()
        .tools()
        .iter()
        .map(|tool| tool.spec().clone())
        .collect();
    let tool_bytes = ToolSpecs::new(specs).approximate_bytes();
    match arguments.output {
        Output::Json => {
            let sections: Vec<_> = prompt
                .sections()
                .iter()
                .map(|section| {
                    serde_json::json!({
                        "name": &*section.name,
                        "source": &*section.source,
                        "stable": section.stable,
                        "bytes": section.text.len(),
                        "tokens": section.tokens(),
                        "text": &*section.text,
                    })
                })
                .collect();
            let shown = serde_json::json!({
                "sections": sections,
                "bytes": text.len(),
                "tokens": estimate_tokens(&text),
                "tool_bytes": tool_bytes,
                "text": text,
            });
            stdout::print(&shown.to_string())?;
        }
        Output::Text => {
            let mut shown = String::new();
            for section in prompt.sections() {
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
                    section.text.len(),
                    section.tokens(),
                    section.text.trim_end(),
                );
            }
            let _ = writeln!(
                shown,
                "--- in all: {} bytes, about {} tokens; with it go {} bytes of tool descriptions",
                text.len(),
                estimate_tokens(&text),
                tool_bytes,
            );
            stdout::print(&shown)?;
        }
    }
    Ok(Exit::Finished.into())
}
