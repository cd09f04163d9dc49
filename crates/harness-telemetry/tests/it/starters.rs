//! Typed starters: what is recorded.

use harness_telemetry::test_support::Recording;
use harness_telemetry::{DROPPED, Schemas, ai, harness};
use serde_json::json;

use crate::schemas::{SHOP, shop};

fn recorded(act: impl FnOnce()) -> Recording {
    let schemas = Schemas::built_in().with(&SHOP).unwrap();
    let recording = Recording::new(&schemas);
    tracing::subscriber::with_default(recording.subscriber(), act);
    recording
}

#[test]
fn a_span_has_what_its_schema_says() {
    let recording = recorded(|| {
        let span = ai::chat(ai::Chat {
            provider: "openai",
            model: "gpt-5",
        })
        .stream(true)
        .temperature(0.5)
        .conversation(None)
        .start();
        span.response_id("resp_7").cache_read_tokens(3);
        span.end(ai::ChatEnd {
            input_tokens: Some(812),
            output_tokens: None,
            finish_reasons: &["stop", "a \"quoted\" word"],
        });
    });
    let spans = recording.spans();
    assert_eq!(spans.len(), 1);
    assert_eq!(spans[0].name, "chat gpt-5");
    let expected = json!({
        "gen_ai.operation.name": "chat",
        "gen_ai.provider.name": "openai",
        "gen_ai.request.model": "gpt-5",
        "gen_ai.request.stream": true,
        "gen_ai.request.temperature": 0.5,
        "gen_ai.response.finish_reasons": ["stop", "a \"quoted\" word"],
        "gen_ai.response.id": "resp_7",
        "gen_ai.usage.cache_read.input_tokens": 3,
        "gen_ai.usage.input_tokens": 812,
        "otel.kind": "client",
    });
    assert_eq!(json!(spans[0].attributes), expected);
    assert_eq!(recording.problems(), [""; 0]);
}

/// Ends once, whichever way; who does not say so ends as an error.
#[test]
fn tel_08_each_end_is_told() {
    let recording = recorded(|| {
        let start = || {
            ai::execute_tool(ai::ExecuteTool {
                tool: "bash",
                call_id: "c",
            })
            .start()
        };
        start().end(ai::ToolEnd { outcome: "done" });
        start().end(ai::ToolEnd { outcome: "failed" });
        start().end_with_error(ai::ToolEnd { outcome: "failed" }, "timeout");
        start().fail("panic");
        drop(start());
        let unwound = std::panic::catch_unwind(|| {
            let _span = start();
            std::panic::resume_unwind(Box::new("gone"));
        });
        assert!(unwound.is_err());
    });
    let ends: Vec<_> = recording
        .spans()
        .into_iter()
        .map(|span| {
            assert!(span.closed);
            let get = |key: &str| {
                span.attributes
                    .get(key)
                    .and_then(|v| v.as_str().map(str::to_owned))
            };
            (
                get("error.type"),
                get("otel.status_code"),
                get("otel.status_description"),
            )
        })
        .collect();
    let error = |kind: &str, why: Option<&str>| {
        (
            Some(kind.to_owned()),
            Some("ERROR".to_owned()),
            why.map(str::to_owned),
        )
    };
    let expected = [
        (None, None, None),
        error("failed", None),
        error("timeout", None),
        error("panic", None),
        error(DROPPED, Some("dropped before its end")),
        error(DROPPED, Some("dropped by a panic before its end")),
    ];
    assert_eq!(ends, expected);
}

#[test]
fn parents_are_those_that_are_entered_or_named() {
    let recording = recorded(|| {
        let run = harness::run(harness::Run { run: "run_1" }).start();
        let other = run.span().in_scope(|| {
            let turn = ai::plan(ai::Plan { agent: "a" }).start();
            let named = harness::attempt(harness::Attempt { attempt: 1 })
                .parent(turn.span())
                .start();
            named.end(harness::AttemptEnd {
                outcome: "succeeded",
            });
            turn
        });
        let outside = ai::chat(ai::Chat {
            provider: "p",
            model: "m",
        })
        .start();
        outside.fail("x");
        other.end(ai::PlanEnd {});
        run.started(harness::Started {});
        run.progress(harness::Progress { turn: 2 });
        run.end(harness::RunEnd {
            outcome: "finished",
            turns: 2,
        });
    });
    let tree = recording.tree(|key| key == "error.type");
    let expected = "\
harness.run +harness.started +harness.progress
  plan a
    harness.attempt
chat m error.type=\"x\"
";
    assert_eq!(tree, expected);
}

#[test]
fn an_own_schema() {
    let recording = recorded(|| {
        let span = shop::order(shop::Order {
            item: "tea",
            count: None,
        })
        .start();
        span.packed(shop::Packed {
            weight: 0.25,
            label: Some("fragile"),
        });
        span.end(shop::Ordered { result: "sold out" });
    });
    let span = &recording.spans()[0];
    assert_eq!(span.name, "order tea");
    assert_eq!(span.id, "shop.order");
    let expected = json!({
        "error.type": "sold out",
        "otel.kind": "internal",
        "otel.status_code": "ERROR",
        "shop.item": "tea",
        "shop.result": "sold out",
    });
    assert_eq!(json!(span.attributes), expected);
    assert_eq!(
        json!(span.events[0].attributes),
        json!({"shop.label": "fragile", "shop.weight": 0.25})
    );
    assert_eq!(recording.problems(), [""; 0]);
}

#[test]
fn problems_are_found() {
    let recording = recorded(|| {
        let turn = harness::turn(harness::Turn { turn: 1 }).start();
        turn.span().record("harness.turn", "one");
        let forever = turn
            .span()
            .in_scope(|| ai::plan(ai::Plan { agent: "a" }).start());
        std::mem::forget(forever);
        turn.end(harness::TurnEnd { outcome: "ended" });
    });
    let expected = [
        "harness.turn: has not ended",
        "harness.turn: its parent is none",
        "harness.turn: has harness.turn of another type: \"one\"",
        "plan a: has not ended",
    ];
    assert_eq!(recording.problems(), expected);
}
