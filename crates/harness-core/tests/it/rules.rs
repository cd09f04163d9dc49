//! The rules of the loop, each on success, error, retry, limit and cancel.
//!
//! `stage::finish` checks on each of them that the events are whole and that the history can be gone
//! on from; the fakes check each request.

use std::sync::Arc;

use futures::executor::block_on;
use harness_core::test_support::{Reply, ScriptedModel};
use harness_core::{
    Event, LoopConfig, Message, MessageRef, ModelError, RunInput, StopReason, Tool, ToolContext,
    ToolError, ToolOutput, ToolRef, async_trait, run,
};

use crate::stage::{Ran, builder, echo, finish, limits, outline_of, scripted};

/// Cancels the run that it is called in.
struct Canceller;

#[derive(serde::Deserialize, schemars::JsonSchema)]
struct Nothing {}

#[async_trait]
impl Tool for Canceller {
    type Args = Nothing;

    fn name(&self) -> std::borrow::Cow<'_, str> {
        "cancel".into()
    }

    async fn call(&self, cx: &ToolContext, _: Nothing) -> Result<ToolOutput, ToolError> {
        cx.run().cancellation().cancel();
        Err(ToolError::Cancelled)
    }
}

struct Path {
    name: &'static str,
    replies: Vec<Reply>,
    max_turns: u32,
    /// How the run ends.
    word: &'static str,
    /// What it leaves behind.
    history: &'static str,
}

const HI: &str = r#"{"text": "hi"}"#;

/// Every path begins with a turn that thinks, says something and makes two calls.
fn first() -> Reply {
    Reply::new()
        .and_thinking("hm", Some("sig"))
        .and_text("   ")
        .and_text("first")
        .and_call("c1", "echo", HI)
        .and_call("c1", "echo", "{broken")
        .usage(10, 5)
}

const FIRST: &str = "user: go | assistant: thinking hm, first, call c1, call c1_2 | \
                     tool_results: result c1, result c1_2";

fn paths() -> Vec<Path> {
    let path = |name, replies: Vec<Reply>, word, history| {
        let replies = [vec![first()], replies].concat();
        Path {
            name,
            replies,
            max_turns: 9,
            word,
            history,
        }
    };
    let refused = ModelError::InvalidRequest {
        status: Some(400),
        message: "no".to_owned(),
    };
    let cut = Reply::text("lost")
        .and_thinking("lost", None)
        .and_call("c9", "echo", HI)
        .then_cut();
    vec![
        path(
            "success",
            vec![Reply::text("done")],
            "finished",
            " | assistant: done",
        ),
        path("error", vec![Reply::error(refused.clone())], "failed", ""),
        path(
            "late error",
            vec![Reply::text("lost").then_error(refused)],
            "failed",
            "",
        ),
        path(
            "retry",
            vec![
                cut.clone(),
                Reply::busy(),
                Reply::text(""),
                cut,
                Reply::text("done"),
            ],
            "finished",
            " | assistant: done",
        ),
        Path {
            max_turns: 1,
            ..path("limit", vec![], "limit", "")
        },
        path(
            "cut",
            vec![Reply::text("half").stop(StopReason::Length)],
            "limit",
            " | assistant: half",
        ),
        path(
            "filter",
            vec![Reply::call("c2", "echo", HI).stop(StopReason::ContentFilter)],
            "failed",
            " | assistant: call c2 | tool_results: result c2",
        ),
        path(
            "cancel",
            vec![Reply::call("c1", "cancel", "{}").and_call("c3", "echo", HI)],
            "cancelled",
            " | assistant: call c1_3, call c3 | tool_results: result c1_3, result c3",
        ),
    ]
}

fn config(model: &Arc<ScriptedModel>, max_turns: u32) -> LoopConfig {
    builder(model)
        .tool(echo())
        .tool(ToolRef::new(Canceller))
        .limits(limits(|l| l.max_turns = max_turns))
        .build()
        .unwrap()
}

fn walk(path: &Path) -> (Ran, Arc<ScriptedModel>) {
    let model = scripted(path.replies.clone());
    let config = config(&model, path.max_turns);
    (finish(run(&config, RunInput::prompt("go"))), model)
}

/// Rules 1 to 5 and 7: the history holds what was said, whole, with one result for each call, and
/// nothing of the attempts that failed; and it can be gone on from.
#[test]
fn every_path_leaves_a_whole_history() {
    for path in paths() {
        let (ran, _) = walk(&path);
        assert_eq!(ran.word(), path.word, "{}: {}", path.name, ran.status());
        let expected = format!("{FIRST}{}", path.history);
        assert_eq!(outline_of(&ran.outcome.history), expected, "{}", path.name);
        assert_eq!(ran.outcome.history_before, 0);

        let model = scripted([Reply::text("on")]);
        let input = RunInput::prompt("again").with_history(ran.outcome.history.clone());
        let on = finish(run(&config(&model, 9), input));
        assert_eq!(on.outcome.answer(), "on", "{}", path.name);
        assert_eq!(
            outline_of(&on.outcome.history),
            format!("{expected} | user: again | assistant: on")
        );
    }
}

/// Rule 2: what was cut, filtered or cannot be read never reaches its tool.
#[test]
fn every_path_executes_whole_calls_only() {
    for path in paths() {
        let (ran, _) = walk(&path);
        let done = ran
            .results()
            .into_iter()
            .filter(|result| !result.outcome.is_error());
        let ids: Vec<String> = done.map(|result| result.call_id).collect();
        assert_eq!(ids, ["c1"], "{}", path.name);
    }
}

/// Rule 3: thinking stands in each later request as it came.
#[test]
fn every_path_sends_thinking_back_as_it_came() {
    for path in paths() {
        let (ran, model) = walk(&path);
        for request in model.requests().iter().skip(1) {
            assert!(
                request.messages[1].same(&ran.outcome.history[1]),
                "{}",
                path.name
            );
        }
    }
}

/// Rule 5 also for those who watch: what is taken back is announced, and the rest is the reply.
#[test]
fn every_path_announces_what_it_takes_back() {
    for path in paths() {
        let (ran, _) = walk(&path);
        let mut text = String::new();
        for event in &ran.events {
            match event {
                Event::TextDelta(delta) => text.push_str(&delta.text),
                Event::AttemptDiscarded { .. } => text.clear(),
                Event::Reply { message, .. } => {
                    let Message::Assistant(reply) = &**message else {
                        unreachable!()
                    };
                    assert_eq!(text.trim(), reply.text().trim(), "{}", path.name);
                    text.clear();
                }
                _ => {}
            }
        }
        assert_eq!(
            text, "",
            "{}: text that is neither kept nor taken back",
            path.name
        );
    }
}

/// Rule 6: what repeats is bounded, and the bound is what the outcome names.
#[test]
fn every_repetition_is_bounded() {
    let endless = [
        (Reply::busy(), "Failed(Model { error: Unavailable", 5),
        (Reply::text(" "), "Failed(EmptyReplies { replies: 3 })", 3),
        (Reply::new(), "Failed(EmptyReplies { replies: 3 })", 3),
        (Reply::call("c", "echo", "{"), "Limit(RepeatedFailure", 5),
        (Reply::call("c", "none", "{}"), "Limit(RepeatedFailure", 5),
        (
            Reply::call("c", "echo", "{}").stop(StopReason::Length),
            "Limit(Output)",
            3,
        ),
        (Reply::call("c", "echo", HI), "Limit(Turns { max: 20 })", 20),
    ];
    for (reply, status, requests) in endless {
        let model = Arc::new(ScriptedModel::new([reply]).last_forever());
        let ran = finish(run(&config(&model, 20), RunInput::prompt("go")));
        assert!(
            ran.status().starts_with(status),
            "{} is not {status}",
            ran.status()
        );
        assert_eq!(model.requests().len(), requests, "{status}");
    }
}

/// Failing calls are counted over the run, so taking turns with another failing call does not help.
#[test]
fn alternating_failures_are_bounded() {
    let replies = (0..20).map(|n| Reply::call("c", if n % 2 == 0 { "none" } else { "nil" }, "{}"));
    let model = scripted(replies);
    let ran = finish(run(&config(&model, 30), RunInput::prompt("go")));
    assert_eq!(
        ran.status(),
        r#"Limit(RepeatedFailure { tool: "none", times: 5 })"#
    );
    assert_eq!(model.requests().len(), 9);
}

/// What a run is given may be broken already: it is repaired before it is sent.
#[test]
fn a_broken_history_is_repaired_first() {
    let source = scripted([first(), Reply::text("done")]);
    let whole = finish(run(&config(&source, 9), RunInput::prompt("go")))
        .outcome
        .history;
    let broken: Vec<MessageRef> = vec![
        whole[2].clone(),
        whole[0].clone(),
        whole[1].clone(),
        Message::user(" ").into(),
        whole[1].clone(),
        whole[2].clone(),
    ];
    let model = scripted([Reply::text("on")]);
    let input = RunInput::prompt("again").with_history(broken);
    let ran = block_on(crate::stage::finish_async(run(&config(&model, 9), input)));
    assert_eq!(ran.outcome.answer(), "on");
    assert_eq!(ran.outcome.history_before, 5);
    let ids: Vec<String> = ran
        .results()
        .into_iter()
        .map(|result| result.call_id)
        .collect();
    assert_eq!(ids, ["c1", "c1_2", "c1_3", "c1_2_2"]);
}

/// A middleware may write a reply; it is made fit for the conversation like any other.
#[test]
fn a_reply_that_a_middleware_wrote_is_made_fit() {
    let written = harness_core::from_fn::on_reasoning("writer", |cx, request, next| {
        Box::pin(async move {
            if request.messages.len() > 1 {
                return next.run(cx, request).await;
            }
            let mut reply = next.run(cx, request).await?;
            for part in &mut reply.content {
                match part {
                    harness_core::AssistantPart::ToolCall(call) => call.id.clear(),
                    harness_core::AssistantPart::Text(text) => text.text = " ".to_owned(),
                    _ => {}
                }
            }
            Ok(reply)
        })
    });
    let model = scripted([
        Reply::text("x")
            .and_call("a", "echo", HI)
            .and_call("b", "echo", HI),
        Reply::text("done"),
    ]);
    let config = builder(&model)
        .tool(echo())
        .middleware(written)
        .build()
        .unwrap();
    let ran = finish(run(&config, RunInput::prompt("go")));
    assert_eq!(
        outline_of(&ran.outcome.history),
        "user: go | assistant: call call_0, call call_1 | \
         tool_results: result call_0, result call_1 | assistant: done"
    );
}
