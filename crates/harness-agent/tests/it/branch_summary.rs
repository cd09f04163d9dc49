//! Summaries of branches that are left.

use harness_agent::core::test_support::Reply;
use harness_agent::core::{Caller, CancellationToken, Message, MessageRef, RunContext, StopReason};
use harness_agent::{BranchSummaryText, Error};

use crate::compaction_stage::{agent, model, reply, run, talk, texts};

fn cx() -> RunContext {
    RunContext::detached(Caller::default())
}

#[tokio::test]
async fn a_branch_is_summarised() {
    let model = model([
        Reply::call("1", "put", r#"{"path":"src/a.rs"}"#),
        Reply::call("2", "get", r#"{"path":"src/b.rs"}"#),
        Reply::text("It is done."),
        Reply::text("What was TRIED.").usage(20, 2),
        Reply::text("I see."),
    ]);
    let agent = agent(&model);
    let branch = run(&agent, Vec::new(), "Try it.").await.outcome.history;
    let config = agent.loop_config();
    let cx = cx();
    let summary = agent.summarise_branch(&cx, config, &branch, Some("the FOCUS"));
    let summary = summary.await.unwrap().unwrap();
    let asked = &texts(&model)[3];
    for part in [
        "the FOCUS",
        "Try it.",
        "result of put",
        "<changed-files>\nsrc/a.rs\n",
    ] {
        assert!(asked.contains(part), "{part}: {asked}");
    }
    assert_eq!(summary.spent.unwrap().usage.total(), 22);
    assert_eq!(
        summary.details["modified_files"],
        serde_json::json!(["src/a.rs"])
    );
    let told = BranchSummaryText::of(&summary.message).unwrap();
    assert_eq!(told.text, "What was TRIED.");
    assert_eq!(told.read_files, ["src/b.rs"]);
    // It stands in the conversation as what the user's side said.
    let history = vec![
        Message::user("Hello.").into(),
        reply("Hello."),
        summary.message,
    ];
    let ran = run(&agent, history, "Another way, then.").await;
    assert_eq!(ran.outcome.status.word(), "finished");
}

#[tokio::test]
async fn the_newest_of_a_long_branch_is_what_there_is_room_for() {
    let model = model([Reply::text("In short.")]);
    let agent = agent(&model);
    let (cx, branch) = (cx(), talk(400));
    let summary = agent.summarise_branch(&cx, agent.loop_config(), &branch, None);
    summary.await.unwrap().unwrap();
    let asked = &texts(&model)[0];
    assert!(asked.len() / 3 < 8_192, "{}", asked.len());
    for part in ["GOAL-1", "Step 399.", "left out]"] {
        assert!(asked.contains(part), "{part}: {asked}");
    }
    assert!(!asked.contains("Step 10."));
}

#[tokio::test]
async fn there_may_be_nothing_or_no_summary() {
    let model = model([
        Reply::text("Half").stop(StopReason::Length),
        Reply::text(""),
        Reply::call("x", "get", "{}"),
    ]);
    let agent = agent(&model);
    let config = agent.loop_config();
    let nothing: Vec<MessageRef> = Vec::new();
    let summary = agent.summarise_branch(&cx(), config, &nothing, None).await;
    assert_eq!(summary.unwrap(), None);
    let summary = agent.summarise_branch(&cx(), config, &talk(3), None).await;
    let error = summary.unwrap_err();
    assert!(matches!(error, Error::Summary(_)), "{error}");
    let cancel = CancellationToken::new();
    cancel.cancel();
    let cx = cx().with_cancellation(cancel);
    let summary = agent.summarise_branch(&cx, config, &talk(3), None).await;
    assert!(matches!(summary, Err(Error::Cancelled)));
    assert_eq!(model.requests().len(), 3);
}
