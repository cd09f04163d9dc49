//! Each bound of a run: what it ends, how it is named, and that the history can be gone on from.

use std::sync::Arc;
use std::sync::atomic::{AtomicBool, AtomicU32, Ordering};
use std::time::Duration;

use harness_core::test_support::{ManualClock, PushedModel, Reply, ScriptedModel};
use harness_core::{
    CancellationToken, Limits, LoopConfig, LoopConfigBuilder, Model, ModelError, ModelEvent,
    ModelId, ModelInfo, ModelRequest, ModelStream, Prices, RunInput, ToolOutcome, async_trait, run,
};
use serde_json::json;

use crate::stage::{
    Ran, assert_error, builder, counting, echo, finish, hanging, limits, ran, scripted, tool,
};

/// Sets a bound.
type Change = fn(&mut Limits);

const HI: &str = r#"{"text": "hi"}"#;
const MINUTE: Duration = Duration::from_mins(1);

/// Goes on from where a run ended, under a configuration without its limit.
fn go_on(ended: &Ran) {
    let model = scripted([Reply::text("on")]);
    let config = builder(&model).build().unwrap();
    let input = RunInput::prompt("again").with_history(ended.outcome.history.clone());
    assert_eq!(finish(run(&config, input)).outcome.answer(), "on");
}

fn priced(model: ScriptedModel) -> Arc<ScriptedModel> {
    let mut info = ModelInfo::new(ModelId::new("test", "scripted"));
    info.prices = Some(Prices {
        input: 1_000.0,
        output: 0.0,
        ..Prices::default()
    });
    Arc::new(model.info(info))
}

/// Bounds that are looked at between turns. Each turn uses 1,000 tokens, a dollar, and a minute.
#[test]
fn bounds_between_turns() {
    let cases: [(Change, &str, usize); 8] = [
        (|l| l.max_turns = 1, "Limit(Turns { max: 1 })", 1),
        (|l| l.max_turns = 3, "Limit(Turns { max: 3 })", 3),
        (
            |l| l.max_tokens = Some(1),
            "Limit(Tokens { max: 1, used: 1000 })",
            1,
        ),
        (
            |l| l.max_tokens = Some(2_500),
            "Limit(Tokens { max: 2500, used: 3000 })",
            3,
        ),
        (
            |l| l.max_cost = Some(0.5),
            "Limit(Cost { max: 0.5, used: 1.0 })",
            1,
        ),
        (
            |l| l.max_cost = Some(2.0),
            "Limit(Cost { max: 2.0, used: 2.0 })",
            2,
        ),
        // Longer than the clock's patience, so that only the look between turns can end it.
        (
            |l| l.max_time = Some(30 * MINUTE),
            "Limit(Time { max_seconds: 1800.0 })",
            3,
        ),
        (
            |l| l.max_time = Some(Duration::MAX),
            "Limit(RepeatedFailure",
            5,
        ),
    ];
    for (change, status, turns) in cases {
        let clock = Arc::new(ManualClock::new());
        let model = priced(
            ScriptedModel::new([Reply::call("c", "slow", "{}").usage(1_000, 0)]).last_forever(),
        );
        let advanced = Arc::clone(&clock);
        let slow = tool("slow", move |_| {
            advanced.advance(10 * MINUTE);
            Err(harness_core::ToolError::failed("again"))
        });
        let config = builder(&model)
            .clock(clock)
            .tool(slow)
            .limits(limits(change));
        let ran = ran(&config.build().unwrap(), "go");
        assert!(
            ran.status().starts_with(status),
            "{} is not {status}",
            ran.status()
        );
        assert_eq!(model.requests().len(), turns, "{status}");
        assert_eq!(ran.outcome.turns as usize, turns, "{status}");
        go_on(&ran);
    }
}

/// A model that hangs, or a tool that hangs: the limit of time ends the turn, too.
#[test]
fn out_of_time_within_a_turn() {
    let status = "Limit(Time { max_seconds: 60.0 })";
    let limited = |config: LoopConfigBuilder| {
        config
            .limits(limits(|l| l.max_time = Some(MINUTE)))
            .build()
            .unwrap()
    };

    let (model, mut requests) = PushedModel::new();
    let clock = Arc::new(ManualClock::new());
    let config = limited(builder(&Arc::new(model)).clock(Arc::clone(&clock) as _));
    let ended = ran(&config, "go");
    assert_eq!(ended.status(), status);
    assert!(requests.try_recv().unwrap().cancel.is_cancelled());
    assert_eq!(clock.slept(), [MINUTE]);
    go_on(&ended);

    let dropped = Arc::new(AtomicBool::new(false));
    let model = scripted([Reply::call("c1", "hang", "{}").and_call("c2", "echo", HI)]);
    let config = limited(builder(&model).tool(hanging("hang", &dropped)).tool(echo()));
    let ended = ran(&config, "go");
    assert_eq!(ended.status(), status);
    assert!(dropped.load(Ordering::Relaxed));
    assert_eq!(*ended.results()[0].outcome, ToolOutcome::Cancelled);
    assert_eq!(ended.results()[1].outcome.shown_text(), "hi");
    go_on(&ended);
}

/// A tool that ends within the grace period has ended.
#[test]
fn a_tool_may_use_its_grace() {
    let model = scripted([Reply::call("c", "polite", "{}")]);
    let polite =
        harness_core::DynamicTool::new("polite", "", json!({"type": "object"}), |cx, _| {
            Box::pin(async {
                cx.cancellation().cancelled().await;
                Ok("half of it".into())
            })
        });
    let config = builder(&model)
        .tool(polite)
        .limits(limits(|l| {
            l.max_time = Some(MINUTE);
            l.cancel_grace = Duration::from_hours(1);
        }))
        .build()
        .unwrap();
    let ran = ran(&config, "go");
    assert_eq!(ran.status(), "Limit(Time { max_seconds: 60.0 })");
    assert_eq!(ran.shown(), ["half of it"]);
}

/// A request that takes too long is given up, and may be retried.
#[test]
fn out_of_time_within_an_attempt() {
    let (model, requests) = PushedModel::new();
    let config = builder(&Arc::new(model))
        .limits(limits(|l| l.attempt_time = MINUTE))
        .build()
        .unwrap();
    let ran = ran(&config, "go");
    assert!(
        ran.status()
            .contains("Timeout { seconds: 60 }, attempts: 5"),
        "{}",
        ran.status()
    );
    drop(requests);
    go_on(&ran);
}

/// A model that never stops streaming, of one kind of event.
struct Endless {
    info: ModelInfo,
    event: fn(u32) -> ModelEvent,
    polled: Arc<AtomicU32>,
}

#[async_trait]
impl Model for Endless {
    fn info(&self) -> &ModelInfo {
        &self.info
    }

    async fn stream(
        &self,
        _: ModelRequest,
        _: CancellationToken,
    ) -> Result<ModelStream, ModelError> {
        let (event, polled) = (self.event, Arc::clone(&self.polled));
        let events = (0_u32..).map(move |number| {
            polled.store(number, Ordering::Relaxed);
            Ok(event(number))
        });
        Ok(Box::pin(futures::stream::iter(events)))
    }
}

fn endless(event: fn(u32) -> ModelEvent) -> Arc<Endless> {
    let info = ModelInfo::new(ModelId::new("test", "endless"));
    Arc::new(Endless {
        info,
        event,
        polled: Arc::default(),
    })
}

#[test]
fn an_endless_reply_is_cut() {
    let kinds: [fn(u32) -> ModelEvent; 5] = [
        |_| ModelEvent::Text {
            block: 0,
            delta: "again and again ".to_owned(),
        },
        |_| ModelEvent::Thinking {
            block: 0,
            delta: "again and again ".to_owned(),
        },
        // Parts without a byte in them grow a reply too.
        |block| ModelEvent::Text {
            block,
            delta: String::new(),
        },
        |block| ModelEvent::ToolCall {
            block,
            id: String::new(),
            name: String::new(),
        },
        |block| ModelEvent::ThinkingSignature {
            block,
            signature: String::new(),
            redacted: true,
        },
    ];
    for event in kinds {
        let model = endless(event);
        let config = builder(&model)
            .limits(limits(|l| l.reply_bytes = 100_000))
            .build()
            .unwrap();
        let ran = ran(&config, "go");
        assert!(
            ran.status().contains("ReplyTooLarge { max_bytes: 100000 }"),
            "{}",
            ran.status()
        );
        go_on(&ran);
    }
}

/// A stream that never pauses and never grows is ended by whoever drives the run.
#[test]
fn a_stream_that_never_pauses_can_be_cancelled() {
    let model = endless(|_| ModelEvent::Text {
        block: 0,
        delta: String::new(),
    });
    let config = builder(&model).build().unwrap();
    let ended = futures::executor::block_on(async {
        let handle = run(&config, RunInput::prompt("go"));
        let control = handle.control();
        let mut run = std::pin::pin!(crate::stage::finish_async(handle));
        for _ in 0..10 {
            assert!(
                futures::poll!(run.as_mut()).is_pending(),
                "it gives the thread back"
            );
        }
        control.cancel();
        run.await
    });
    assert_eq!(ended.word(), "cancelled");
    assert!(model.polled.load(Ordering::Relaxed) < 10_000);
}

#[test]
fn too_many_calls() {
    let count = Arc::new(AtomicU32::new(0));
    let reply = (0..10).fold(Reply::new(), |reply, n| {
        reply.and_call(&format!("c{n}"), "count", "{}")
    });
    let model = scripted([reply, Reply::text("done")]);
    let config = builder(&model)
        .tool(counting("count", &count))
        .limits(limits(|l| l.calls_per_turn = 4))
        .build()
        .unwrap();
    let ran = ran(&config, "go");
    assert_eq!(count.load(Ordering::Relaxed), 4);
    let results = ran.results();
    assert_eq!(results.len(), 10);
    for refused in &results[4..] {
        assert_error(&refused.outcome, "a reply may make at most 4 calls");
    }
    go_on(&ran);
}

#[test]
fn a_huge_result_is_cut_within_its_bound() {
    let parts = |parts: &[usize]| -> Vec<String> {
        parts.iter().map(|bytes| "é".repeat(bytes / 2)).collect()
    };
    let cases = [
        // (parts' bytes, bound) → parts kept
        (vec![10], 1_000, 1),
        (vec![1_000], 1_000, 1),
        (vec![5_000_000], 1_000, 1),
        (vec![900, 90, 20_000], 1_000, 2),
        (vec![500, 300, 300], 1_000, 3),
        (vec![100; 10_000], 1_000, 10),
        (vec![5_000; 3], 1, 1),
    ];
    for (bytes, bound, kept) in cases {
        for failed in [false, true] {
            let texts = parts(&bytes);
            let big = tool("big", move |_| {
                let mut output = harness_core::ToolOutput::default();
                for text in &texts {
                    output
                        .parts
                        .extend(harness_core::ToolOutput::text(text.as_str()).parts);
                }
                if failed {
                    Err(harness_core::ToolError::Failed(output))
                } else {
                    Ok(output)
                }
            });
            let model = scripted([Reply::call("c", "big", "{}"), Reply::text("done")]);
            let config = builder(&model)
                .tool(big)
                .limits(limits(|l| l.result_bytes = bound))
                .build()
                .unwrap();
            let ran = ran(&config, "go");
            let outcome = &ran.results()[0].outcome;
            assert_eq!(outcome.is_error(), failed);
            let shown = outcome.shown();
            assert_eq!(shown.len(), kept, "{bytes:.3?}");
            let text: String = shown
                .iter()
                .map(|part| match part {
                    harness_core::OutputPart::Text(text) => text.text.as_str(),
                    _ => "",
                })
                .collect();
            assert!(
                text.len() <= bound.max(80),
                "{} bytes for {bound}",
                text.len()
            );
            let all: usize = bytes.iter().sum();
            let notices = text.matches("[cut: ").count();
            assert_eq!(
                notices,
                usize::from(all > bound),
                "one notice, if anything was cut"
            );
            if all > bound {
                let of = format!(" of {all} bytes shown]");
                assert!(text.ends_with(&of), "{text:.200}");
            }
            // What is told and what is kept are the same.
            let told = ran.events.iter().find_map(|event| match event {
                harness_core::Event::ToolEnd { outcome, .. } => Some(outcome),
                _ => None,
            });
            assert_eq!(told, Some(outcome));
        }
    }
}

#[test]
fn huge_arguments_are_not_read() {
    let huge = format!(r#"{{"text": "{}"}}"#, "x".repeat(9 * 1024 * 1024));
    let name = "n".repeat(100_000);
    let deep = format!("{{\"text\": {}", "[".repeat(100_000));
    let keys = format!(r#"{{"text": "a", "{}": 1}}"#, "k".repeat(100_000));
    let reply = Reply::call("c1", "echo", &huge)
        .and_call("c2", &name, "{}")
        .and_call("c3", "echo", &deep)
        .and_call("c4", "strict", &keys);
    let model = scripted([reply, Reply::text("done")]);
    let schema = json!({
        "type": "object",
        "properties": {"text": {"type": "string"}},
        "additionalProperties": {"type": "string"},
    });
    let strict = harness_core::DynamicTool::new("strict", "", schema, |_, _| {
        Box::pin(async { Ok("called".into()) })
    });
    let config = builder(&model).tool(echo()).tool(strict).build().unwrap();
    let ran = ran(&config, "go");
    let problems = [
        "at most 8388608 are read",
        "There is no tool `nnn",
        "not valid JSON",
        "do not fit",
    ];
    for (result, problem) in ran.results().iter().zip(problems) {
        assert_error(&result.outcome, problem);
        let bytes = result.outcome.shown_text().len();
        assert!(bytes < 1_200, "{problem}: {bytes} bytes");
    }
    go_on(&ran);
}

/// A limit that cannot be kept is told of, once.
#[test]
fn a_limit_that_cannot_be_kept_is_told_of() {
    let cases: [(Change, bool); 3] = [
        (|l| l.max_tokens = Some(10), true),
        (|l| l.max_cost = Some(1.0), true),
        (|_| {}, false),
    ];
    for (change, told) in cases {
        let model = scripted([Reply::call("c", "echo", HI), Reply::text("done")]);
        let config = builder(&model)
            .tool(echo())
            .limits(limits(change))
            .build()
            .unwrap();
        let ran = ran(&config, "go");
        assert_eq!(ran.word(), "finished");
        assert_eq!(
            ran.warnings().len(),
            usize::from(told),
            "{:?}",
            ran.warnings()
        );
    }
}

/// Absurd figures from a provider do not wrap.
#[test]
fn absurd_usage_saturates() {
    let replies = [
        Reply::call("c", "echo", HI).usage(u64::MAX, u64::MAX),
        Reply::text("done").usage(u64::MAX, 1),
    ];
    let model = priced(ScriptedModel::new(replies));
    let ran = ran(&builder(&model).tool(echo()).build().unwrap(), "go");
    assert_eq!(ran.outcome.usage.total(), u64::MAX);
    assert!(ran.outcome.cost.unwrap().is_finite());
}

#[test]
fn limits_that_cannot_be_are_refused() {
    let changes: [(Change, &str); 13] = [
        (|l| l.max_turns = 0, "turns"),
        (|l| l.max_tokens = Some(0), "tokens"),
        (|l| l.max_cost = Some(0.0), "cost"),
        (|l| l.max_cost = Some(-1.0), "cost"),
        (|l| l.max_cost = Some(f64::NAN), "cost"),
        (|l| l.max_time = Some(Duration::ZERO), "time"),
        (|l| l.attempt_time = Duration::ZERO, "time"),
        (|l| l.max_empty_replies = 0, "count"),
        (|l| l.max_cut_replies = 0, "count"),
        (|l| l.max_identical_failures = 0, "count"),
        (|l| l.calls_per_turn = 0, "count"),
        (|l| l.reply_bytes = 0, "count"),
        (|l| l.result_bytes = 0, "count"),
    ];
    let model = scripted([]);
    let build = |l| -> Result<LoopConfig, _> { builder(&model).limits(l).build() };
    for (change, word) in changes {
        let error = build(limits(change)).unwrap_err().to_string();
        assert!(error.contains(word), "{error}");
    }
    assert!(builder(&model).max_output_tokens(0).build().is_err());
    assert!(build(Limits::default()).is_ok());
}
