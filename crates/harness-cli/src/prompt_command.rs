//! `harness prompt show`: the system prompt, as a model would get it.

use std::fmt::Write as _;
use std::process::ExitCode;

use harness_core::{Caller, Limits, ToolSpecs};

use crate::arguments::{ModelArguments, Output, PromptShowArguments};
use crate::failure::{Exit, Failure};
use crate::setup::Setup;
use crate::stdout;
use crate::tools_command::no_model;

/// Bytes of a token, about, in English text and code.
const BYTES_PER_TOKEN: usize = 4;

/// Shows the prompt's sections.
pub(crate) async fn show(arguments: PromptShowArguments) -> Result<ExitCode, Failure> {
    let setup = Setup::read(&ModelArguments::default(), &arguments.agent)?;
    let (agent, _) = setup.agent(&no_model(), &arguments.agent, Limits::default())?;
    let prompt = agent
        .system_prompt(Caller::default())
        .await
        .map_err(|error| Failure::failed(error.to_string()))?;
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
                        "name": section.name,
                        "author": section.author,
                        "volatile": section.volatile,
                        "bytes": section.text.len(),
                        "tokens": section.text.len().div_ceil(BYTES_PER_TOKEN),
                        "text": &*section.text,
                    })
                })
                .collect();
            let shown = serde_json::json!({
                "sections": sections,
                "bytes": text.len(),
                "tokens": text.len().div_ceil(BYTES_PER_TOKEN),
                "tool_bytes": tool_bytes,
                "text": text,
            });
            stdout::print(&shown.to_string())?;
        }
        Output::Text => {
            let mut shown = String::new();
            for section in prompt.sections() {
                let kind = if section.volatile {
                    ", changes from turn to turn"
                } else {
                    ""
                };
                let _ = write!(
                    shown,
                    "--- {} (by {}, {} bytes, about {} tokens{kind})\n{}\n\n",
                    section.name,
                    section.author,
                    section.text.len(),
                    section.text.len().div_ceil(BYTES_PER_TOKEN),
                    section.text.trim_end(),
                );
            }
            let _ = writeln!(
                shown,
                "--- in all: {} bytes, about {} tokens; with it go {} bytes of tool descriptions",
                text.len(),
                text.len().div_ceil(BYTES_PER_TOKEN),
                tool_bytes,
            );
            stdout::print(&shown)?;
        }
    }
    Ok(Exit::Finished.into())
}
