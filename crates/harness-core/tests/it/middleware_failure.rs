//! Middlewares that fail, panic, or do not keep the bargain.

use std::sync::Arc;
use std::sync::atomic::{AtomicU32, Ordering};

use harness_core::test_support::{Recorder, Reply, ScriptedModel};
use harness_core::{
    Error, FailurePolicy, Message, Middleware, MiddlewareError, ModelError, RunOutcome, RunStatus,
    ToolOutcome, async_trait, from_fn,
};

use crate::stage::{assert_error, builder, counting, echo, limits, ran, scripted};

const HI: &str = r#"{"text": "hi"}"#;

/// Fails in one hook, in one way.
struct Broken {
    hook: &'static str,
    panics: bool,
    policy: FailurePolicy,
}

impl Broken {
    fn fail<T>(&self, hook: &str, value: T) -> Result<T, MiddlewareError> {
        match self.hook == hook {
            true if self.panics => panic!("broken"),
            true => Err(MiddlewareError("broken".to_owned())),
            false => Ok(value),
        }
    }
}

#[async_trait]
impl Middleware for Broken {
    fn name(&self) -> &'static str {
        "broken"
    }

    fn on_failure(&self) -> FailurePolicy {
        self.policy
    }

    async fn on_system_prompt(
        &self,
        _: &harness_core::RunContext,
        prompt: harness_core::SystemPrompt,
    ) -> Result<harness_core::SystemPrompt, MiddlewareError> {
        self.fail("on_system_prompt", prompt)
    }

    async fn on_context(
        &self,
        _: &harness_core::RunContext,
        messages: Vec<harness_core::MessageRef>,
    ) -> Result<Vec<harness_core::MessageRef>, MiddlewareError> {
        if self.hook == "pairing" {
            // Leaves the calls out and keeps their results.
            let kept = messages
                .into_iter()
                .filter(|m| !matches!(**m, Message::Assistant(_)));
            return Ok(kept.collect());
        }
        self.fail("on_context", messages)
    }

    async fn after_turn(
        &self,
        _: &harness_core::RunContext,
        _: &harness_core::TurnReport,
    ) -> Result<harness_core::TurnDecision, MiddlewareError> {
        self.fail("after_turn", harness_core::TurnDecision::default())
    }
}

#[test]
fn fail_open_and_fail_closed() {
    let cases = [
        ("on_system_prompt", "on_system_prompt", 0),
        ("on_context", "on_context", 0),
        ("after_turn", "after_turn", 1),
        ("pairing", "on_context", 1),
    ];
    for (hook, reported, requests_before) in cases {
        for panics in [false, true] {
            let config = |policy| {
                let model = scripted([Reply::call("c", "echo", HI), Reply::text("done")]);
                let broken = Broken {
                    hook,
                    panics,
                    policy,
                };
                let config = builder(&model)
                    .system_prompt("the prompt")
                    .tool(echo())
                    .middleware(broken)
                    .build()
                    .unwrap();
                (model, config)
            };

            let (model, closed) = config(FailurePolicy::FailClosed);
            let closed = ran(&closed, "go");
            let RunStatus::Failed(Error::Middleware {
                middleware,
                hook: at,
                message,
            }) = &closed.outcome.status
            else {
                panic!("{hook}: {}", closed.status());
            };
            assert_eq!((middleware.as_str(), *at), ("broken", reported));
            assert!(hook == "pairing" || message.contains("broken"), "{message}");
            assert_eq!(model.requests().len(), requests_before, "{hook}");

            let (model, open) = config(FailurePolicy::FailOpen);
            let open = ran(&open, "go");
            assert_eq!(open.outcome.answer(), "done", "{hook}");
            assert!(!open.warnings().is_empty());
            for warning in open.warnings() {
                let expected = format!("broken failed in {reported} and was passed over");
                assert!(warning.starts_with(&expected), "{warning}");
            }
            assert_eq!(model.requests()[1].messages.len(), 3);
            assert_eq!(model.requests()[0].system.as_deref(), Some("the prompt"));
        }
    }
}

/// An observer cannot change anything: not even by panicking.
#[test]
fn an_observer_that_panics_is_told_of_once() {
    let observer = from_fn::on_event("observer", |_, _| panic!("at an event"));
    let model = scripted([Reply::text("done")]);
    let ran = ran(&builder(&model).middleware(observer).build().unwrap(), "go");
    assert_eq!(ran.word(), "finished");
    assert_eq!(
        ran.warnings(),
        ["observer panicked in on_event: at an event"]
    );
}

#[test]
fn a_panic_around_a_call_is_that_calls_failure() {
    let count = Arc::default();
    let before = from_fn::on_tool_call("before", |cx, call, next| {
        Box::pin(async move {
            assert_ne!(call.id, "c1", "no c1");
            next.run(cx, call).await
        })
    });
    let reply = Reply::call("c1", "count", "{}").and_call("c2", "count", "{}");
    let model = scripted([reply.clone(), Reply::text("done")]);
    let config = builder(&model)
        .tool(counting("count", &count))
        .middleware(before);
    let ran = ran(&config.build().unwrap(), "go");
    assert_error(&ran.results()[0].outcome, "The call panicked");
    assert_eq!(ran.shown()[1], "counted");
    assert_eq!(count.load(Ordering::Relaxed), 1);

    // Around the batch: what was done is not called undone.
    for at_end in [false, true] {
        let model = scripted([reply.clone(), Reply::text("done")]);
        let around = from_fn::on_acting("around", move |cx, batch, next| {
            Box::pin(async move {
                if at_end {
                    next.run(cx, batch).await;
                }
                panic!("around")
            })
        });
        let config = builder(&model)
            .tool(counting("count", &count))
            .middleware(around);
        let ran = crate::stage::ran(&config.build().unwrap(), "go");
        assert_eq!(ran.word(), "finished");
        for shown in ran.shown() {
            let expected = if at_end {
                "counted"
            } else {
                "Not executed: a middleware panicked: around"
            };
            assert_eq!(shown, expected);
        }
    }
}

/// Outcomes are never paired with the wrong calls.
#[test]
fn a_batch_hook_that_gives_another_number_of_outcomes() {
    type Change = fn(Vec<ToolOutcome>) -> Vec<ToolOutcome>;
    let changes: [Change; 3] = [
        |mut outcomes| outcomes.split_off(1),
        |_| Vec::new(),
        |mut outcomes| {
            outcomes.push(ToolOutcome::done("more"));
            outcomes
        },
    ];
    let reply = Reply::call("c1", "echo", r#"{"text": "1"}"#)
        .and_call("c2", "echo", r#"{"text": "2"}"#)
        .and_call("c3", "echo", r#"{"text": "3"}"#);
    for change in changes {
        let model = scripted([reply.clone(), Reply::text("done")]);
        let around = from_fn::on_acting("around", move |cx, batch, next| {
            Box::pin(async move { change(next.run(cx, batch).await) })
        });
        let ran = ran(
            &builder(&model)
                .tool(echo())
                .middleware(around)
                .build()
                .unwrap(),
            "go",
        );
        assert_eq!(ran.shown(), ["1", "2", "3"]);
    }

    // Drops a call on the way in, and forgets its outcome.
    let model = scripted([reply, Reply::text("done")]);
    let around = from_fn::on_acting("around", |cx, mut batch, next| {
        batch.remove(1);
        Box::pin(async move { next.run(cx, batch).await })
    });
    let ran = ran(
        &builder(&model)
            .tool(echo())
            .middleware(around)
            .build()
            .unwrap(),
        "go",
    );
    assert_eq!(
        ran.shown(),
        ["1", "Not executed: a middleware gave no outcome.", "3"]
    );
}

/// What follows `next` in `on_agent` runs however the run ends.
#[test]
fn the_after_part_of_on_agent_always_runs() {
    let refused = ModelError::InvalidRequest {
        status: Some(400),
        message: String::new(),
    };
    let cancel = || {
        from_fn::on_reasoning("cancel", |cx, request, next| {
            Box::pin(async move {
                if request.messages.len() > 1 {
                    cx.cancellation().cancel();
                }
                next.run(cx, request).await
            })
        })
    };
    let cases = [
        ("finished", Reply::text("done"), 9, false),
        ("failed", Reply::error(refused), 9, false),
        ("limit", Reply::text("never"), 1, false),
        ("cancelled", Reply::text("never"), 9, true),
    ];
    for (word, second, max_turns, cancelled) in cases {
        let model = scripted([Reply::call("c", "echo", HI), second]);
        let recorder = Recorder::new("r");
        let mut config = builder(&model)
            .tool(echo())
            .middleware(recorder.clone())
            .limits(limits(|l| l.max_turns = max_turns));
        if cancelled {
            config = config.middleware(cancel());
        }
        assert_eq!(ran(&config.build().unwrap(), "go").word(), word);
        let log = recorder.log();
        let end = [format!("r:agent<{word}"), "r:event:run_end".to_owned()];
        assert_eq!(log[log.len() - 2..], end);
    }
}

/// A middleware around the run may run it again, or not at all.
#[test]
fn a_run_run_again_and_not_at_all() {
    let again = from_fn::on_agent("again", |cx, input, next| {
        Box::pin(async move {
            let first = next.clone().run(cx, input).await;
            let input = harness_core::RunInput::prompt("more").with_history(first.history);
            next.run(cx, input).await
        })
    });
    let journal = Arc::new(harness_core::MemoryJournal::new());
    let model = scripted([Reply::text("one"), Reply::text("two")]);
    let config = builder(&model)
        .middleware(again)
        .journal(Arc::clone(&journal) as _)
        .build()
        .unwrap();
    let twice = ran(&config, "go");
    assert_eq!(twice.outcome.answer(), "two");
    let mut names: Vec<String> = journal.steps().into_iter().map(|step| step.name).collect();
    assert!(
        names.contains(&"pass1/t1/a1/model0".to_owned()),
        "{names:?}"
    );
    names.sort();
    names.dedup();
    assert_eq!(names.len(), journal.steps().len(), "no name is used twice");

    let refuse = from_fn::on_agent("refuse", |cx, input, _| {
        Box::pin(async move {
            let status = RunStatus::Stopped {
                by: "refuse".into(),
                reason: "closed".into(),
            };
            RunOutcome::before_any_turn(cx, input, status)
        })
    });
    let model = Arc::new(ScriptedModel::new([]));
    let refused = ran(&builder(&model).middleware(refuse).build().unwrap(), "go");
    assert_eq!(refused.word(), "stopped");
    assert_eq!(
        crate::stage::outline_of(&refused.outcome.history),
        "user: go"
    );
}

/// What holds a call until after a cancel does not let it through.
#[test]
fn a_call_held_over_a_cancel_is_not_made() {
    let count = Arc::new(AtomicU32::new(0));
    let hold = from_fn::on_tool_call("hold", |cx, call, next| {
        cx.cancellation().cancel();
        Box::pin(async move { next.run(cx, call).await })
    });
    let model = scripted([Reply::call("c", "count", "{}")]);
    let config = builder(&model)
        .tool(counting("count", &count))
        .middleware(hold);
    let ran = ran(&config.build().unwrap(), "go");
    assert_eq!(ran.word(), "cancelled");
    assert_eq!(count.load(Ordering::Relaxed), 0);
}
