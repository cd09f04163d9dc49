//! Summaries that are written beside a run.

use std::sync::Arc;

use futures::StreamExt;
use futures::channel::mpsc::UnboundedReceiver;
use harness_agent::core::test_support::{Exchange, PushedModel, Reply, ScriptedModel};
use harness_agent::core::{
    Caller, DynamicTool, MessageRef, ModelEvent, RunInput, StopReason, Usage,
};
use harness_agent::middlewares::CompactionOptions;
use harness_agent::{AgentHarness, CompactionSummary};
use serde_json::json;
use tokio::sync::Notify;

use crate::compaction_stage::{builder, model, run_as, talk, texts};

/// Near the threshold of the window, and below it.
const NEAR: usize = 21;

struct Stage {
    agent: AgentHarness,
    model: Arc<ScriptedModel>,
    requests: UnboundedReceiver<Exchange>,
    /// Lets the tool `wait` end.
    go: Arc<Notify>,
}

/// A run whose summaries another model writes.
fn stage(replies: impl IntoIterator<Item = Reply>) -> Stage {
    let (pushed, requests) = PushedModel::new();
    let mut options = CompactionOptions::default();
    options.model = Some(Arc::new(pushed));
    let model = model(replies);
    let go = Arc::new(Notify::new());
    let waits = Arc::clone(&go);
    let schema = json!({"type": "object"});
    let wait = DynamicTool::new("wait", "Waits.", schema, move |_, arguments| {
        let waits = Arc::clone(&waits);
        Box::pin(async move {
            waits.notified().await;
            let words = arguments["words"].as_u64().unwrap_or_default() as usize;
            Ok("word ".repeat(words).into())
        })
    });
    let agent = builder()
        .shared_model(model.clone())
        .compaction(options)
        .tool(wait)
        .build()
        .unwrap();
    Stage {
        agent,
        model,
        requests,
        go,
    }
}

fn wait(id: &str, words: usize) -> Reply {
    Reply::call(id, "wait", &json!({ "words": words }).to_string())
}

/// Answers, and ends the stream.
fn answer(exchange: Exchange, text: &str) {
    exchange.send(ModelEvent::Text {
        block: 0,
        delta: text.to_owned(),
    });
    exchange.send(ModelEvent::Usage(Usage {
        input_tokens: 100,
        output_tokens: 11,
        ..Usage::default()
    }));
    exchange.send(ModelEvent::Stop(StopReason::EndTurn));
    drop(exchange);
}

fn near() -> RunInput {
    RunInput::prompt("And now?").with_history(talk(NEAR))
}

fn begins_with_a_summary(history: &[MessageRef]) -> bool {
    CompactionSummary::of(&history[0]).is_some()
}

#[tokio::test]
async fn one_that_is_ready_is_used() {
    let mut stage = stage([wait("1", 1_200), Reply::text("Done.").usage(7, 3)]);
    let run = run_as(&stage.agent, near(), Caller::default());
    let meanwhile = async {
        // The tool waits, and the summary is written beside it.
        let exchange = stage.requests.next().await.unwrap();
        answer(exchange, "EARLY summary.");
        tokio::task::yield_now().await;
        stage.go.notify_one();
    };
    let (ran, ()) = futures::join!(run, meanwhile);
    assert_eq!(
        ran.compactions(),
        ["start threshold early", "end threshold"]
    );
    assert_eq!(ran.summary().text, "EARLY summary.");
    assert!(stage.requests.try_recv().is_err(), "one request for it");
    // Counted once.
    assert_eq!(ran.outcome.usage.total(), 121);
    let text = texts(&stage.model).pop().unwrap();
    assert!(text.contains("EARLY summary.") && text.contains("And now?"));
}

#[tokio::test]
async fn one_that_is_under_way_is_waited_for() {
    let mut stage = stage([wait("1", 1_200), Reply::text("Done.")]);
    let run = run_as(&stage.agent, near(), Caller::default());
    let go = Arc::clone(&stage.go);
    let meanwhile = async {
        let exchange = stage.requests.next().await.unwrap();
        go.notify_one();
        for _ in 0..20 {
            tokio::task::yield_now().await;
        }
        // The tool has ended, and the next request is not made before the summary is there.
        assert_eq!(stage.model.requests().len(), 1);
        answer(exchange, "EARLY summary.");
    };
    let (ran, ()) = futures::join!(run, meanwhile);
    assert_eq!(
        ran.compactions(),
        ["start threshold early", "end threshold"]
    );
    assert_eq!(ran.summary().text, "EARLY summary.");
}

#[tokio::test]
async fn one_that_failed_is_followed_by_a_fresh_one() {
    let mut stage = stage([wait("1", 1_200), Reply::text("Done.")]);
    let run = run_as(&stage.agent, near(), Caller::default());
    let go = Arc::clone(&stage.go);
    let meanwhile = async {
        let first = stage.requests.next().await.unwrap();
        first.fail(harness_agent::core::ModelError::InvalidRequest {
            status: None,
            message: "no".to_owned(),
        });
        tokio::task::yield_now().await;
        go.notify_one();
        let second = stage.requests.next().await.unwrap();
        answer(second, "FRESH summary.");
    };
    let (ran, ()) = futures::join!(run, meanwhile);
    let compactions = ran.compactions();
    assert_eq!(compactions.len(), 4, "{compactions:?}");
    assert!(
        compactions[1].starts_with("failed threshold:"),
        "{compactions:?}"
    );
    assert_eq!(compactions[2..], ["start threshold", "end threshold"]);
    assert_eq!(ran.summary().text, "FRESH summary.");
}

#[tokio::test]
async fn one_that_is_not_enough_any_more_is_followed_by_a_fresh_one() {
    let mut stage = stage([wait("1", 20_000), Reply::text("Done.")]);
    let run = run_as(&stage.agent, near(), Caller::default());
    let go = Arc::clone(&stage.go);
    let meanwhile = async {
        let first = stage.requests.next().await.unwrap();
        // With what is said meanwhile, this is too long.
        answer(first, &"EARLY summary. ".repeat(450));
        tokio::task::yield_now().await;
        go.notify_one();
        let second = stage.requests.next().await.unwrap();
        answer(second, "FRESH summary.");
    };
    let (ran, ()) = futures::join!(run, meanwhile);
    let compactions = ran.compactions();
    assert!(
        compactions[1].contains("too much was said"),
        "{compactions:?}"
    );
    assert_eq!(compactions[2..], ["start threshold", "end threshold"]);
    assert_eq!(ran.summary().text, "FRESH summary.");
    // What was paid in vain is not forgotten, and not counted twice.
    assert_eq!(ran.outcome.usage.total(), 222);
}

#[tokio::test]
async fn one_that_is_not_needed_ends_with_the_run() {
    let mut stage = stage([wait("1", 1), Reply::text("Done.")]);
    let run = run_as(&stage.agent, near(), Caller::default());
    let go = Arc::clone(&stage.go);
    let meanwhile = async {
        let exchange = stage.requests.next().await.unwrap();
        go.notify_one();
        exchange
    };
    let (ran, exchange) = futures::join!(run, meanwhile);
    assert!(exchange.cancel.is_cancelled());
    let compactions = ran.compactions();
    assert_eq!(compactions[0], "start threshold early");
    assert!(compactions[1].contains("the run ended"), "{compactions:?}");
    assert!(!begins_with_a_summary(&ran.outcome.history));
}

#[tokio::test]
async fn one_is_dropped_with_its_run() {
    let mut stage = stage([wait("1", 1)]);
    let caller = Caller::default();
    let exchange = {
        let run = run_as(&stage.agent, near(), caller.clone());
        futures::pin_mut!(run);
        let request = stage.requests.next();
        match futures::future::select(run, request).await {
            futures::future::Either::Right((exchange, _)) => exchange.unwrap(),
            futures::future::Either::Left(_) => panic!("the run ended"),
        }
    };
    assert!(exchange.cancel.is_cancelled());
}
