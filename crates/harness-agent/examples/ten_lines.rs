//! An agent in ten lines: `cargo run -p harness-agent --example ten_lines -- "What is in this folder?"`
//!
//! The second argument is the address of an OpenAI-compatible server; by default, that of Ollama.

#![expect(clippy::print_stdout, reason = "an example shows what it does")]

use harness_agent::core::Event;
use harness_agent::{AgentHarness, Workspace, default_tools};
use harness_providers::OpenAi;

#[tokio::main(flavor = "current_thread")]
async fn main() -> Result<(), Box<dyn std::error::Error>> {
    let mut arguments = std::env::args().skip(1);
    let task = arguments
        .next()
        .unwrap_or_else(|| "What is in this folder?".to_owned());
    let address = arguments
        .next()
        .unwrap_or_else(|| "http://127.0.0.1:11434".to_owned());

    let workspace = Workspace::new(std::env::current_dir()?);
    let agent = AgentHarness::builder()
        .model(OpenAi::chat("qwen3", "").base_url(address))
        .tools(default_tools(&workspace))
        .workspace(&workspace)
        .build()?;
    let mut run = agent.prompt(task);
    while let Some(event) = run.next().await {
        if let Event::TextDelta(text) = event {
            print!("{text}");
        }
    }
    let outcome = run.outcome().await?;
    println!(
        "\n{} turns, {} tokens",
        outcome.turns,
        outcome.usage.total()
    );
    Ok(())
}
