//! Runs that go on where another one was cut off in the middle of a batch.

use std::sync::Arc;
use std::sync::atomic::{AtomicU32, Ordering};

use harness_core::test_support::Reply;
use harness_core::{
    AssistantMessage, AssistantPart, Message, MessageRef, ModelId, RunInput, StopReason, ToolCall,
    ToolOutcome, run,
};

use crate::stage::{builder, counting, finish, scripted};

fn calling(calls: &[(&str, &str)], stop: StopReason) -> MessageRef {
    let call = |(id, name): &(&str, &str)| {
        AssistantPart::ToolCall(ToolCall {
            id: (*id).to_owned(),
            name: (*name).to_owned(),
            arguments: "{}".to_owned(),
        })
    };
    Message::Assistant(AssistantMessage {
        content: calls.iter().map(call).collect(),
        model: ModelId::new("test", "before"),
        stop,
        usage: None,
        response_id: None,
    })
    .into()
}

#[test]
fn open_calls_are_made_and_what_is_said_follows_their_results() {
    for resume in [false, true] {
        let count = Arc::new(AtomicU32::new(0));
        let model = scripted([Reply::text("done")]);
        let config = builder(&model).tool(counting("count", &count)).build();
        let history = vec![
            Message::user("go").into(),
            calling(
                &[("a", "count"), ("b", "none"), ("c", "count")],
                StopReason::ToolCalls,
            ),
        ];
        let mut input = RunInput::prompt("and now").with_history(history);
        input.resume = resume;
        let ran = finish(run(&config.unwrap(), input));
        assert_eq!(ran.word(), "finished");
        assert_eq!(count.load(Ordering::Relaxed), if resume { 2 } else { 0 });
        let kinds: Vec<&str> = ran
            .outcome
            .history
            .iter()
            .map(|message| match &**message {
                Message::User(_) => "user",
                Message::Assistant(_) => "assistant",
                _ => "results",
            })
            .collect();
        assert_eq!(kinds, ["user", "assistant", "results", "user", "assistant"]);
        let results = ran.results();
        let interrupted = |at: usize| *results[at].outcome == ToolOutcome::Interrupted;
        assert_eq!(
            (interrupted(0), interrupted(1), interrupted(2)),
            (!resume, !resume, !resume)
        );
        let starts = ran.types().iter().filter(|it| *it == "tool_start").count();
        assert_eq!(starts, if resume { 3 } else { 0 });
    }
}

/// A reply that was cut off is as unfit to run as it was.
#[test]
fn calls_of_a_cut_reply_are_not_made() {
    let count = Arc::new(AtomicU32::new(0));
    let model = scripted([Reply::text("done")]);
    let config = builder(&model).tool(counting("count", &count)).build();
    let mut input = RunInput::default().with_history(vec![
        Message::user("go").into(),
        calling(&[("a", "count")], StopReason::Length),
    ]);
    input.resume = true;
    let ran = finish(run(&config.unwrap(), input));
    assert_eq!((ran.word(), count.load(Ordering::Relaxed)), ("finished", 0));
    assert!(ran.shown()[0].contains("Not executed"), "{:?}", ran.shown());
}

/// Where nothing is open there is nothing to resume, and the rest of the history is mended as ever.
#[test]
fn what_is_not_at_the_end_is_closed() {
    let count = Arc::new(AtomicU32::new(0));
    let model = scripted([Reply::text("done")]);
    let config = builder(&model).tool(counting("count", &count)).build();
    let mut input = RunInput::default().with_history(vec![
        Message::user("go").into(),
        calling(&[("a", "count")], StopReason::ToolCalls),
        Message::user("well?").into(),
    ]);
    input.resume = true;
    let ran = finish(run(&config.unwrap(), input));
    assert_eq!((ran.word(), count.load(Ordering::Relaxed)), ("finished", 0));
    assert_eq!(*ran.results()[0].outcome, ToolOutcome::Interrupted);
}

/// An id that an earlier call has is made another, and stays that of the result.
#[test]
fn ids_are_unique_whatever_the_history_says() {
    let count = Arc::new(AtomicU32::new(0));
    let model = scripted([Reply::text("done")]);
    let config = builder(&model).tool(counting("count", &count)).build();
    let one = || calling(&[("a", "count")], StopReason::ToolCalls);
    let mut input = RunInput::default().with_history(vec![
        Message::user("go").into(),
        one(),
        Message::user("well?").into(),
        one(),
    ]);
    input.resume = true;
    let ran = finish(run(&config.unwrap(), input));
    assert_eq!((ran.word(), count.load(Ordering::Relaxed)), ("finished", 1));
}

/// What a run goes on from is part of the conversation: its ids are taken.
#[test]
fn a_later_call_does_not_get_the_id_of_one_that_was_open() {
    let count = Arc::new(AtomicU32::new(0));
    let model = scripted([Reply::call("a", "count", "{}"), Reply::text("done")]);
    let config = builder(&model).tool(counting("count", &count)).build();
    let history = vec![
        Message::user("go").into(),
        calling(&[("a", "count")], StopReason::ToolCalls),
    ];
    let mut input = RunInput::default().with_history(history);
    input.resume = true;
    let ran = finish(run(&config.unwrap(), input));
    assert_eq!(ran.word(), "finished");
    let ids: Vec<String> = ran
        .outcome
        .history
        .iter()
        .filter_map(|message| match &**message {
            Message::Assistant(reply) => Some(reply.tool_calls().map(|call| call.id.clone())),
            _ => None,
        })
        .flatten()
        .collect();
    assert_eq!(ids.len(), 2);
    assert_ne!(ids[0], ids[1]);
    assert_eq!(count.load(Ordering::Relaxed), 2);
}
