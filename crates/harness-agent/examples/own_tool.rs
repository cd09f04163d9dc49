//! A tool of one's own: `cargo run -p harness-agent --example own_tool`
//!
//! The doc comments of the arguments are what the model reads. A script stands in for the model, so
//! that the example runs anywhere.

#![expect(clippy::print_stdout, reason = "an example shows what it does")]

use std::borrow::Cow;
use std::path::PathBuf;

use harness_agent::AgentHarness;
use harness_agent::core::{Event, Replay, Tool, ToolContext, ToolError, ToolOutput, async_trait};
use harness_providers::Scripted;
use schemars::JsonSchema;
use serde::Deserialize;

/// Counts the lines of a text file.
#[derive(Deserialize, JsonSchema)]
struct CountLines {
    /// The file, relative to the project.
    path: PathBuf,
}

struct LineCounter {
    project: PathBuf,
}

#[async_trait]
impl Tool for LineCounter {
    type Args = CountLines;

    fn name(&self) -> Cow<'_, str> {
        "count_lines".into()
    }

    // It changes nothing, so crash recovery may run it again.
    fn replay(&self) -> Replay {
        Replay::Safe
    }

    async fn call(&self, _cx: &ToolContext, args: CountLines) -> Result<ToolOutput, ToolError> {
        // `?` turns any error into a result that the model can read.
        let text = std::fs::read_to_string(self.project.join(args.path))?;
        Ok(text.lines().count().to_string().into())
    }
}

const SCRIPT: &str = r#"{ "turns": [
    { "calls": [{ "id": "count", "tool": "count_lines", "arguments": { "path": "Cargo.toml" } }] },
    { "text": "Cargo.toml has ${result:count} lines." }
] }"#;

#[tokio::main(flavor = "current_thread")]
async fn main() -> Result<(), Box<dyn std::error::Error>> {
    let agent = AgentHarness::builder()
        .model(Scripted::from_json(SCRIPT)?)
        .tool(LineCounter {
            project: env!("CARGO_MANIFEST_DIR").into(),
        })
        .build()?;
    let mut run = agent.prompt("How long is Cargo.toml?");
    while let Some(event) = run.next().await {
        if let Event::ToolStart {
            name, arguments, ..
        } = &event
        {
            println!("calls {name} with {arguments}");
        }
    }
    println!("{}", run.outcome().await?.answer());
    Ok(())
}
