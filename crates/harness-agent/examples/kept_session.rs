//! A conversation that outlives the process: `cargo run -p harness-agent --example kept_session`
//!
//! A script in the place of a model says what comes next, so that nothing is needed to run it. The second half
//! is what a program does when it starts again, also after it was killed.

#![expect(clippy::print_stdout, reason = "an example shows what it does")]

use harness_agent::AgentHarness;
use harness_agent::sessions::{Access, Filter, Header, JsonlStore, Session, Store};
use harness_providers::Scripted;

#[tokio::main(flavor = "current_thread")]
async fn main() -> Result<(), Box<dyn std::error::Error>> {
    let script = r#"{ "turns": [{ "text": "Noted: milk." }, { "text": "Milk." }] }"#;
    let agent = AgentHarness::builder()
        .model(Scripted::from_json(script)?)
        .build()?;
    let folder = tempfile::tempdir()?;
    let store = JsonlStore::new(folder.path());
    let cwd = std::env::current_dir()?;

    let session = Session::create(&store, Header::new(Some(cwd.clone())))?;
    let mut conversation = agent.session_in(session)?;
    let outcome = conversation.prompt("Remember the milk.").outcome().await?;
    println!("{}", outcome.answer());
    drop(conversation);

    let id = store.latest(&cwd)?.ok_or("no session")?;
    let mut conversation = agent.session_in(Session::open(&store, id, Access::Write)?)?;
    if conversation.has_something_to_answer() {
        // A run was cut off: its calls are finished, and messages that wait are delivered.
        conversation.go_on().outcome().await?;
    }
    let outcome = conversation.prompt("What was it?").outcome().await?;
    println!("{}", outcome.answer());

    for hit in store.search("milk", &Filter::default(), 10)? {
        println!("{:<9} {}", hit.role, hit.excerpt);
    }
    Ok(())
}
