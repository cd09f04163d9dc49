//! A run from outside: its events, its queues, its cancel, its end.

use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};
use std::task::Poll;
use std::time::Duration;

use futures::FutureExt;
use futures::channel::mpsc::UnboundedReceiver;
use futures::executor::block_on;
use harness_core::test_support::{Exchange, PushedModel, Reply, ScriptedModel};
use harness_core::{
    CancellationToken, Event, LoopConfig, MessageSource, ModelEvent, QueueMode, RunHandle,
    RunInput, RunOptions, StopReason, ToolContext, run, run_with,
};
use serde_json::json;

use crate::stage::{builder, echo, finish, hanging, limits, outline, scripted, type_of};

const HI: &str = r#"{"text": "hi"}"#;

/// Takes events until one of this type.
async fn until(handle: &mut RunHandle<'_>, name: &str) -> Event {
    while let Some(event) = handle.next().await {
        if type_of(&event) == name {
            return event;
        }
    }
    panic!("no {name}");
}

fn pushed() -> (Arc<PushedModel>, UnboundedReceiver<Exchange>) {
    let (model, requests) = PushedModel::new();
    (Arc::new(model), requests)
}

fn text(delta: &str) -> ModelEvent {
    ModelEvent::Text {
        block: 0,
        delta: delta.to_owned(),
    }
}

/// A whole answer.
fn answer(exchange: Exchange, delta: &str) {
    assert!(exchange.send(text(delta)));
    assert!(exchange.send(ModelEvent::Stop(StopReason::EndTurn)));
    // That ends the stream.
    drop(exchange);
}

/// Lets the run go until it asks the model.
async fn asked(handle: &mut RunHandle<'_>, requests: &mut UnboundedReceiver<Exchange>) -> Exchange {
    loop {
        if let Ok(exchange) = requests.try_recv() {
            return exchange;
        }
        assert!(handle.next().await.is_some(), "the run ended");
    }
}

#[test]
fn the_order_of_events() {
    let model = scripted([
        Reply::busy(),
        Reply::new()
            .and_thinking("hm", None)
            .and_text("hello")
            .and_call("c", "echo", HI),
        Reply::text("done"),
    ]);
    let config = builder(&model).tool(echo()).build().unwrap();
    let handle = run(&config, RunInput::prompt("go"));
    handle.follow_up("").unwrap();
    let types = finish(handle).types();
    let expected = "run_start user_message turn_start attempt_discarded thinking_delta text_delta \
                    text_delta tool_call_delta reply tool_start tool_end turn_end turn_start \
                    text_delta text_delta reply turn_end run_end";
    assert_eq!(types.join(" "), expected);
}

/// Events come while the run goes, one by one as the model sends them.
#[test]
fn events_come_as_they_are_made() {
    let (model, mut requests) = pushed();
    let config = builder(&model).build().unwrap();
    block_on(async {
        let mut handle = run(&config, RunInput::prompt("go"));
        let exchange = asked(&mut handle, &mut requests).await;
        for word in ["one", "two"] {
            assert!(futures::poll!(handle.next().boxed()).is_pending());
            exchange.send(text(word));
            let Event::TextDelta(delta) = until(&mut handle, "text_delta").await else {
                unreachable!()
            };
            assert_eq!(delta.to_string(), word);
        }
        exchange.send(ModelEvent::Stop(StopReason::EndTurn));
        drop(exchange);
        until(&mut handle, "run_end").await;
        assert!(handle.next().await.is_none());
        assert!(handle.next().await.is_none(), "and stays at its end");
        assert_eq!(handle.outcome().await.unwrap().answer(), "onetwo");
    });
}

/// Dropping the handle closes the request and drops what runs.
#[test]
fn dropping_the_handle_ends_everything() {
    let (model, mut requests) = pushed();
    let config = builder(&model).build().unwrap();
    block_on(async {
        let mut handle = run(&config, RunInput::prompt("go"));
        let exchange = asked(&mut handle, &mut requests).await;
        drop(handle);
        assert!(exchange.cancel.is_cancelled());
        assert!(!exchange.send(text("anyone?")));
    });
}

#[test]
fn cancel_in_the_middle_of_a_reply() {
    let (model, mut requests) = pushed();
    let config = builder(&model).build().unwrap();
    let outcome = block_on(async {
        let mut handle = run(&config, RunInput::prompt("go"));
        let exchange = asked(&mut handle, &mut requests).await;
        exchange.send(text("half"));
        until(&mut handle, "text_delta").await;
        handle.cancel();
        let outcome = handle.outcome().await.unwrap();
        assert!(exchange.cancel.is_cancelled());
        outcome
    });
    assert_eq!(outcome.status.word(), "cancelled");
    assert_eq!(crate::stage::outline_of(&outcome.history), "user: go");
}

/// The token of the caller cancels the run, and is not cancelled by it.
#[test]
fn the_callers_token() {
    let outer = CancellationToken::new();
    let model = scripted([Reply::text("done")]);
    let config = builder(&model).build().unwrap();
    let options = || RunOptions {
        cancellation: Some(outer.clone()),
        ..RunOptions::default()
    };
    let done = finish(run_with(&config, RunInput::prompt("go"), options()));
    assert_eq!(done.word(), "finished");
    let cancelled = run_with(&config, RunInput::prompt("go"), options());
    cancelled.cancel();
    assert_eq!(finish(cancelled).word(), "cancelled");
    assert!(!outer.is_cancelled());
    outer.cancel();
    assert_eq!(
        finish(run_with(&config, RunInput::prompt("go"), options())).word(),
        "cancelled"
    );
    assert_eq!(model.requests().len(), 1);
}

/// A tool that ignores the cancel is dropped when its grace is over, and not before.
#[test]
fn a_tool_that_ignores_the_cancel_is_dropped() {
    for (grace, ends) in [
        (Duration::from_millis(1_500), true),
        (Duration::from_hours(1), false),
    ] {
        let dropped = Arc::new(AtomicBool::new(false));
        let model = scripted([Reply::call("c", "hang", "{}")]);
        let config = builder(&model)
            .tool(hanging("hang", &dropped))
            .limits(limits(|l| l.cancel_grace = grace))
            .build()
            .unwrap();
        block_on(async {
            let mut handle = run(&config, RunInput::prompt("go"));
            until(&mut handle, "tool_start").await;
            handle.cancel();
            // Often enough to get past every pause; the hour never comes.
            let mut rest = Box::pin(handle.outcome());
            let mut word = None;
            for _ in 0..10 {
                if word.is_none()
                    && let Poll::Ready(outcome) = futures::poll!(rest.as_mut())
                {
                    word = Some(outcome.unwrap().status.word());
                }
            }
            assert_eq!(word, ends.then_some("cancelled"));
            assert_eq!(dropped.load(Ordering::Relaxed), ends);
        });
        assert!(
            dropped.load(Ordering::Relaxed),
            "at the latest with the handle"
        );
    }
}

/// What is said during a batch waits for its end, and no call is skipped.
#[test]
fn steering_during_a_batch() {
    let model = scripted([
        Reply::call("c1", "say", "{}").and_call("c2", "echo", HI),
        Reply::text("ok"),
        Reply::text("also ok"),
    ]);
    let control: Arc<std::sync::Mutex<Option<harness_core::RunControl>>> = Arc::default();
    let say = Arc::clone(&control);
    let say = crate::stage::tool("say", move |_| {
        let control = say.lock().unwrap().clone().unwrap();
        control.steer("this").unwrap();
        control.follow_up("that").unwrap();
        Ok("said".into())
    });
    let config = builder(&model).tool(say).tool(echo()).build().unwrap();
    let handle = run(&config, RunInput::prompt("go"));
    *control.lock().unwrap() = Some(handle.control());
    let ran = finish(handle);
    assert_eq!(
        outline(&model.requests()[1]),
        "user: go | assistant: call c1, call c2 | tool_results: result c1, result c2 | user: this"
    );
    assert!(outline(&model.requests()[2]).ends_with("user: this | assistant: ok | user: that"));
    assert_eq!(ran.shown(), ["said", "hi"]);
}

fn queued(mode: QueueMode) -> (Arc<ScriptedModel>, LoopConfig) {
    let replies = (0..4).map(|n| Reply::text(&format!("a{n}")));
    let model = scripted(replies);
    let config = builder(&model).queue_mode(mode).build().unwrap();
    (model, config)
}

/// Steering goes before the next request, follow-ups when the model is done.
#[test]
fn the_modes_of_the_queues() {
    let cases = [
        (
            QueueMode::All,
            "user: go | user: s1 | user: s2 | assistant: a0 | user: f1 | user: f2 | assistant: a1",
        ),
        (
            QueueMode::OneAtATime,
            "user: go | user: s1 | assistant: a0 | user: s2 | assistant: a1 | user: f1 | \
             assistant: a2 | user: f2 | assistant: a3",
        ),
    ];
    for (mode, history) in cases {
        let (_, config) = queued(mode);
        let handle = run(&config, RunInput::prompt("go"));
        handle.follow_up("f1").unwrap();
        handle.steer("s1").unwrap();
        handle.follow_up("f2").unwrap();
        handle.steer("s2").unwrap();
        let ran = finish(handle);
        assert_eq!(crate::stage::outline_of(&ran.outcome.history), history);
        let sources: Vec<MessageSource> = ran
            .events
            .iter()
            .filter_map(|event| match event {
                Event::UserMessage { source, .. } => Some(*source),
                _ => None,
            })
            .collect();
        assert_eq!(sources[..2], [MessageSource::Prompt, MessageSource::Steer]);
        assert_eq!(sources.last(), Some(&MessageSource::FollowUp));
    }
}

/// What comes with the last words is delivered once, whatever it was queued as; one at a time means
/// one at a time there too.
#[test]
fn messages_at_the_end() {
    for mode in [QueueMode::All, QueueMode::OneAtATime] {
        let (model, mut requests) = pushed();
        let config = builder(&model).queue_mode(mode).build().unwrap();
        let sent = block_on(async {
            let mut handle = run(&config, RunInput::prompt("go"));
            let first = asked(&mut handle, &mut requests).await;
            handle.steer("one").unwrap();
            handle.steer("two").unwrap();
            answer(first, "a0");
            let second = asked(&mut handle, &mut requests).await;
            let sent = outline(&second.request);
            answer(second, "a1");
            if mode == QueueMode::OneAtATime {
                answer(asked(&mut handle, &mut requests).await, "a2");
            }
            let outcome = handle.outcome().await.unwrap();
            assert_eq!(outcome.status.word(), "finished");
            sent
        });
        let more = if mode == QueueMode::All {
            " | user: two"
        } else {
            ""
        };
        assert_eq!(sent, format!("user: go | assistant: a0 | user: one{more}"));
    }
}

#[test]
fn what_was_not_delivered_is_given_back() {
    let model = scripted([Reply::call("c", "echo", HI)]);
    let config = builder(&model)
        .tool(echo())
        .limits(limits(|l| l.max_turns = 1))
        .build()
        .unwrap();
    let mut handle = run(&config, RunInput::prompt("go"));
    let control = handle.control();
    block_on(async {
        // After the steering of the first turn was taken.
        until(&mut handle, "turn_start").await;
        let mut back = Vec::new();
        for queued in [control.steer("s"), control.follow_up("f")] {
            back.extend(queued.err());
        }
        let outcome = handle.outcome().await.unwrap();
        back.extend(outcome.undelivered);
        assert_eq!(back, ["s".into(), "f".into()]);
    });
    assert_eq!(control.steer("late"), Err("late".into()));
    assert_eq!(control.follow_up("late"), Err("late".into()));
}

/// What a run left behind cannot speak after the run's end.
#[test]
fn the_last_event_is_the_last() {
    let left: Arc<std::sync::Mutex<Option<ToolContext>>> = Arc::default();
    let keep = Arc::clone(&left);
    let keep =
        harness_core::DynamicTool::new("keep", "", json!({"type": "object"}), move |cx, _| {
            *keep.lock().unwrap() = Some(cx.clone());
            Box::pin(async { Ok("kept".into()) })
        });
    let seen = Arc::new(std::sync::Mutex::new(Vec::new()));
    let log = Arc::clone(&seen);
    let observer = harness_core::from_fn::on_event("observer", move |_, event| {
        log.lock().unwrap().push(type_of(event));
    });
    let model = scripted([Reply::call("c", "keep", "{}"), Reply::text("done")]);
    let config = builder(&model)
        .tool(keep)
        .middleware(observer)
        .build()
        .unwrap();
    block_on(async {
        let mut handle = run(&config, RunInput::prompt("go"));
        until(&mut handle, "run_end").await;
        left.lock().unwrap().take().unwrap().progress("still here");
        assert!(handle.next().await.is_none());
    });
    assert_eq!(
        seen.lock().unwrap().last().map(String::as_str),
        Some("run_end")
    );
}

#[test]
fn progress_is_told_and_not_kept() {
    let model = scripted([Reply::call("c", "slow", "{}"), Reply::text("done")]);
    let slow = harness_core::DynamicTool::new("slow", "", json!({"type": "object"}), |cx, _| {
        cx.progress("half");
        Box::pin(async { Ok("whole".into()) })
    });
    let ran = finish(run(
        &builder(&model).tool(slow).build().unwrap(),
        RunInput::prompt("go"),
    ));
    assert!(ran.types().contains(&"tool_progress".to_owned()));
    assert_eq!(ran.shown(), ["whole"]);
}

/// A run moves to another task, and its events come from another thread.
#[tokio::test]
async fn a_run_in_a_task() {
    let (sender, receiver) = futures::channel::oneshot::channel::<()>();
    let receiver = std::sync::Mutex::new(Some(receiver));
    let model = scripted([Reply::call("c", "wait", "{}"), Reply::text("done")]);
    let wait =
        harness_core::DynamicTool::new("wait", "", json!({"type": "object"}), move |_, _| {
            let receiver = receiver.lock().unwrap().take().unwrap();
            Box::pin(async move {
                receiver.await?;
                Ok("waited".into())
            })
        });
    let config = builder(&model).tool(wait).build().unwrap();
    let handle = run(&config, RunInput::prompt("go"));
    let task = tokio::spawn(handle.outcome());
    tokio::task::yield_now().await;
    sender.send(()).unwrap();
    assert_eq!(task.await.unwrap().unwrap().answer(), "done");
}

/// A tool that tells of its progress from a thread of its own wakes whoever waits for events.
#[test]
fn events_from_another_thread_wake_the_handle() {
    let model = scripted([Reply::call("c", "thread", "{}"), Reply::text("done")]);
    let thread =
        harness_core::DynamicTool::new("thread", "", json!({"type": "object"}), |cx, _| {
            let cx = cx.clone();
            let (sender, receiver) = futures::channel::oneshot::channel::<()>();
            let worker = std::thread::spawn(move || {
                for number in 0..1_000 {
                    cx.progress(number.to_string());
                }
                let _ = sender.send(());
            });
            Box::pin(async move {
                receiver.await?;
                worker.join().unwrap();
                Ok("worked".into())
            })
        });
    let ran = finish(run(
        &builder(&model).tool(thread).build().unwrap(),
        RunInput::prompt("go"),
    ));
    let told: Vec<usize> = ran
        .events
        .iter()
        .filter_map(|event| match event {
            Event::ToolProgress { text, .. } => text.parse().ok(),
            _ => None,
        })
        .collect();
    assert!(told.iter().copied().eq(0..1_000));
}

/// Two runs of one configuration at a time know nothing of each other.
#[test]
fn two_runs_at_once() {
    struct User(&'static str);
    let who = harness_core::DynamicTool::new("who", "", json!({"type": "object"}), |cx, _| {
        Box::pin(async {
            let run = cx.run();
            let user = run
                .attributes()
                .get::<User>()
                .map_or("nobody", |user| user.0);
            Ok(format!("{} {user} {:?}", run.user().unwrap(), run.session()).into())
        })
    });
    let (model, mut requests) = pushed();
    let config = builder(&model).tool(who).build().unwrap();
    let start = |user: &'static str| {
        let mut options = RunOptions::default();
        options.caller.user = Some(user.to_owned());
        options.caller.session = Some(format!("session of {user}"));
        options.caller.attributes.insert(User(user));
        run_with(&config, RunInput::prompt(user), options)
    };
    block_on(async {
        let (mut ann, mut bob) = (start("ann"), start("bob"));
        let first = asked(&mut ann, &mut requests).await;
        let second = asked(&mut bob, &mut requests).await;
        for exchange in [&first, &second] {
            let (id, name) = ("c".to_owned(), "who".to_owned());
            exchange.send(ModelEvent::ToolCall { block: 0, id, name });
            exchange.send(ModelEvent::Stop(StopReason::ToolCalls));
        }
        drop((first, second));
        ann.steer("for ann").unwrap();
        let second = asked(&mut bob, &mut requests).await;
        let first = asked(&mut ann, &mut requests).await;
        assert_eq!(first.request.cache_key.as_deref(), Some("session of ann"));
        answer(second, "bob's");
        answer(first, "ann's");
        let (ann, bob) = (ann.outcome().await.unwrap(), bob.outcome().await.unwrap());
        assert_ne!(ann.run_id, bob.run_id);
        for (outcome, user, messages) in [(ann, "ann", 5), (bob, "bob", 4)] {
            assert_eq!(outcome.answer(), format!("{user}'s"));
            assert_eq!(outcome.history.len(), messages);
            let shown = crate::stage::results(&outcome.history)[0]
                .outcome
                .shown_text();
            assert_eq!(shown, format!("{user} {user} Some(\"session of {user}\")"));
        }
    });
}

/// There must be something to answer.
#[test]
fn nothing_to_answer() {
    let model = scripted([Reply::text("done")]);
    let config = builder(&model).build().unwrap();
    for input in [
        RunInput::default(),
        RunInput::prompt(" \n"),
        RunInput::prompt(""),
    ] {
        let ran = finish(run(&config, input));
        assert_eq!(ran.status(), "Failed(EmptyInput)");
    }
    // The end of a history may be something to answer; and so may be a message in the queue.
    let history = vec![harness_core::Message::user("from before").into()];
    let ran = finish(run(&config, RunInput::default().with_history(history)));
    assert_eq!((ran.word(), ran.outcome.history_before), ("finished", 1));
    assert_eq!(ran.outcome.new_messages().len(), 1);
    let model = scripted([Reply::text("done")]);
    let config = builder(&model).build().unwrap();
    let handle = run(&config, RunInput::default());
    handle.steer("hello").unwrap();
    assert_eq!(finish(handle).word(), "finished");
}
