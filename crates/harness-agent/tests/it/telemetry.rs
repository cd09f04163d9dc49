//! What the agent records of itself.

use std::sync::Arc;

use harness_agent::core::test_support::{Reply, ScriptedModel};
use harness_agent::core::{DynamicTool, RunError, RunInput, RunOutcome};
use harness_agent::middlewares::{CompactionOptions, PlanModeMiddleware};
use harness_agent::sessions::{Header, MemoryStore, Session};
use harness_agent::telemetry::Schemas;
use harness_agent::telemetry::middleware::Telemetry;
use harness_agent::telemetry::test_support::{RecordedSpan, Recording};
use harness_agent::{AgentHarness, AgentHarnessBuilder};
use serde_json::{Value, json};

use crate::compaction_stage::{builder, model, talk};
use crate::plan_mode;
use crate::skills::{self, load, scripted, tree};

fn recorded(builder: AgentHarnessBuilder) -> AgentHarness {
    builder.telemetry(Telemetry::new("coder")).build().unwrap()
}

async fn run(agent: &AgentHarness, input: RunInput) -> RunOutcome {
    let mut handle = agent.run(input, harness_agent::core::RunOptions::default());
    while handle.next().await.is_some() {}
    handle
        .outcome()
        .await
        .unwrap_or_else(RunError::into_outcome)
}

fn get(span: &RecordedSpan, key: &str) -> Value {
    span.attributes.get(key).cloned().unwrap_or_default()
}

/// The ids of a span and of those above it.
fn path(recording: &Recording, span: &RecordedSpan) -> Vec<String> {
    let spans = recording.spans();
    let mut path = vec![span.id.clone()];
    let mut parent = span.parent;
    while let Some(place) = parent {
        path.push(spans[place].id.clone());
        parent = spans[place].parent;
    }
    path
}

#[tokio::test]
async fn building_it_is_a_span() {
    let recording = Recording::new(&Schemas::built_in());
    let _seen = tracing::subscriber::set_default(recording.subscriber());
    let folder = tree();
    let agent = recorded(skills::builder(folder.path(), &scripted([])));
    let init = &recording.of("harness.init")[0];
    assert_eq!(get(init, "harness.version"), env!("CARGO_PKG_VERSION"));
    assert_eq!(
        get(init, "harness.init.tools"),
        agent.loop_config().tools().len()
    );
    assert_eq!(get(init, "harness.init.skills"), 1);
    assert_eq!(agent.telemetry().map(Telemetry::agent), Some("coder"));
    assert_eq!(recording.problems(), [""; 0]);
}

#[tokio::test]
async fn skills_that_are_loaded() {
    let recording = Recording::new(&Schemas::built_in());
    let _seen = tracing::subscriber::set_default(recording.subscriber());
    let folder = tree();
    let model = scripted([
        load("a", r#"{"name": "review"}"#),
        load("b", r#"{"name": "review"}"#),
        load("c", r#"{"name": "canary"}"#),
        Reply::text("done"),
        Reply::text("done"),
    ]);
    let agent = recorded(skills::builder(folder.path(), &model));
    run(&agent, RunInput::prompt("go")).await;
    run(&agent, RunInput::prompt("/skill:review now")).await;
    let loaded: Vec<_> = recording
        .of("harness.skill")
        .iter()
        .map(|span| {
            let of = |key| get(span, key).as_str().unwrap_or_default().to_owned();
            assert_eq!(span.name, "harness.skill review");
            assert_eq!(of("harness.skill.layer"), "user");
            assert!(!of("harness.skill.digest").is_empty());
            (of("harness.skill.by"), of("harness.skill.outcome"))
        })
        .collect();
    let row = |by: &str, outcome: &str| (by.to_owned(), outcome.to_owned());
    assert_eq!(
        loaded,
        [
            row("model", "loaded"),
            row("model", "again"),
            row("user", "loaded")
        ]
    );
    assert_eq!(recording.problems(), [""; 0]);
    let all = format!("{:?}", recording.spans());
    assert!(!all.contains("canary") && !all.contains("CANARY"), "{all}");
}

#[tokio::test]
async fn a_summary_and_its_request() {
    let recording = Recording::new(&Schemas::built_in());
    let _seen = tracing::subscriber::set_default(recording.subscriber());
    let model = model([
        Reply::text("In short: GOAL-1.").usage(100, 5),
        Reply::text("Done.").usage(9, 1),
    ]);
    let agent = recorded(builder().shared_model(model));
    run(&agent, RunInput::prompt("And now?").with_history(talk(30))).await;
    let compaction = &recording.of("harness.compaction")[0];
    let above = path(&recording, compaction);
    assert_eq!(above[1], "harness.turn");
    assert_eq!(get(compaction, "harness.compaction.reason"), "threshold");
    assert_eq!(get(compaction, "harness.compaction.outcome"), "summarised");
    assert_eq!(get(compaction, "harness.compaction.background"), false);
    let chat = &recording.of("gen_ai.chat")[0];
    assert_eq!(path(&recording, chat)[1], "harness.compaction");
    assert_eq!(get(chat, "gen_ai.usage.input_tokens"), 100);
    assert_eq!(recording.problems(), [""; 0]);
}

/// A summary that outlives the turn in which it began does not hold that turn's span.
#[tokio::test]
async fn a_summary_in_the_background_is_a_child_of_the_run() {
    let recording = Recording::new(&Schemas::built_in());
    let _seen = tracing::subscriber::set_default(recording.subscriber());
    let mut options = CompactionOptions::default();
    options.model = Some(Arc::new(
        ScriptedModel::new([Reply::text("In short.")]).named("small"),
    ));
    let model = model([Reply::call("c", "wait", "{}"), Reply::text("Done.")]);
    let wait = DynamicTool::new("wait", "Waits.", json!({"type": "object"}), |_, _| {
        Box::pin(async {
            // The summary is written beside it.
            for _ in 0..20 {
                tokio::task::yield_now().await;
            }
            Ok("word ".repeat(1_200).into())
        })
    });
    let agent = recorded(builder().shared_model(model).compaction(options).tool(wait));
    // Near the threshold of the window, and below it.
    run(&agent, RunInput::prompt("And now?").with_history(talk(21))).await;
    let compaction = &recording.of("harness.compaction")[0];
    assert_eq!(path(&recording, compaction)[1..], ["harness.run"]);
    assert_eq!(get(compaction, "harness.compaction.background"), true);
    assert_eq!(recording.problems(), [""; 0]);
}

#[tokio::test]
async fn entries_of_a_session() {
    let recording = Recording::new(&Schemas::built_in());
    let _seen = tracing::subscriber::set_default(recording.subscriber());
    let store = MemoryStore::default();
    let session = Session::create(&store, Header::new(None)).unwrap();
    let id = session.id().to_string();
    let model = model([
        Reply::call("c", "get", r#"{"path": "a.txt"}"#),
        Reply::text("Done."),
    ]);
    let agent = recorded(builder().shared_model(model));
    let mut conversation = agent.session_in(session).unwrap();
    let mut handle = conversation.prompt("canary");
    while handle.next().await.is_some() {}
    handle.outcome().await.unwrap();
    let writes = recording.of("harness.session_write");
    let kinds: Vec<_> = writes
        .iter()
        .map(|span| get(span, "harness.session.entry"))
        .collect();
    for kind in ["message", "intent", "settlement", "results"] {
        assert!(kinds.contains(&json!(kind)), "{kind}: {kinds:?}");
    }
    assert!(
        writes
            .iter()
            .all(|span| span.closed && get(span, "error.type").is_null())
    );
    // The intent of a request is written within it.
    let in_chat = writes.iter().filter(|span| {
        path(&recording, span)
            .get(1)
            .is_some_and(|id| id == "gen_ai.chat")
    });
    assert!(in_chat.count() >= 2);
    let run = &recording.of("harness.run")[0];
    assert_eq!(get(run, "gen_ai.conversation.id"), id);
    assert_eq!(recording.problems(), [""; 0]);
    assert!(!format!("{:?}", recording.spans()).contains("canary"));
}

#[tokio::test]
async fn replies_while_a_plan_is_made() {
    let recording = Recording::new(&Schemas::built_in());
    let _seen = tracing::subscriber::set_default(recording.subscriber());
    let folder = tempfile::tempdir().unwrap();
    let plan = PlanModeMiddleware::new();
    let model = plan_mode::scripted([Reply::text("a plan"), Reply::text("done")]);
    let agent = recorded(plan_mode::builder(&model, folder.path(), plan));
    let mut conversation = agent.session();
    for prompt in ["/plan make one", "/plan off"] {
        let mut handle = conversation.prompt(prompt);
        while handle.next().await.is_some() {}
        handle.outcome().await.unwrap();
    }
    let plans = recording.of("gen_ai.plan");
    assert_eq!(plans.len(), 1);
    assert_eq!(plans[0].name, "plan coder");
    let above: Vec<_> = recording
        .of("gen_ai.chat")
        .iter()
        .map(|span| path(&recording, span)[2].clone())
        .collect();
    assert_eq!(above, ["gen_ai.plan", "harness.turn"]);
    assert_eq!(recording.problems(), [""; 0]);
}
