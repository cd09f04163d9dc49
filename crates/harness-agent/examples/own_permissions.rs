//! Rules of one's own, and who is asked: `cargo run -p harness-agent --example own_permissions`
//!
//! A script stands in for the model: it makes a file, and would then push. What no rule decides is asked of
//! `Person`, who would be somebody at a terminal.

#![expect(clippy::print_stdout, reason = "an example shows what it does")]

use std::sync::Arc;

use harness_agent::core::{RunContext, async_trait};
use harness_agent::{AgentHarness, Workspace, default_tools};
use harness_providers::Scripted;
use harness_trust::{
    Answer, Approver, Layer, Permissions, PlaceOfRuns, Question, Rule, Rules, Scope, Verdict,
};

struct Person;

#[async_trait]
impl Approver for Person {
    async fn ask(&self, _: &RunContext, question: &Question) -> Answer {
        println!("may {} be done? {}", question.tool, question.effects[0]);
        Answer::Yes(Scope::Once)
    }
}

const SCRIPT: &str = r#"{ "turns": [
    { "calls": [{ "id": "one", "tool": "write", "arguments": { "path": "new.txt", "content": "new" } }] },
    { "calls": [{ "id": "two", "tool": "bash", "arguments": { "command": "git push" } }] },
    { "text": "${result:one}\n${result:two}" }
] }"#;

#[tokio::main(flavor = "current_thread")]
async fn main() -> Result<(), Box<dyn std::error::Error>> {
    let folder = tempfile::tempdir()?;
    let rules = Rules::new()
        .with(
            Layer::User,
            Rule::parse(Verdict::Allow, "run(cargo test *)")?,
        )
        .with(Layer::User, Rule::parse(Verdict::Deny, "run(git push *)")?);
    // `home` and whether commands run in a sandbox are fields of the place.
    let permissions = Permissions::new(rules, PlaceOfRuns::new(folder.path()));

    let workspace = Workspace::new(folder.path());
    let agent = AgentHarness::builder()
        .model(Scripted::from_json(SCRIPT)?)
        .tools(default_tools(&workspace))
        .workspace(&workspace)
        .middleware(permissions.approver(Arc::new(Person)))
        .build()?;
    println!("{}", agent.prompt("Go.").outcome().await?.answer());
    Ok(())
}
