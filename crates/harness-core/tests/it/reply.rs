//! A streamed reply: what becomes of its events.

use harness_core::{
    AssistantPart, ModelError, ModelEvent, ModelId, ReplyBuilder, StopReason, Usage,
};

fn fold(events: impl IntoIterator<Item = ModelEvent>) -> Result<String, ModelError> {
    let mut reply = ReplyBuilder::new(ModelId::new("test", "model")).max_bytes(2_000);
    for event in events {
        reply.push(event)?;
    }
    let reply = reply.finish()?;
    let parts = reply.content.iter().map(|part| match part {
        AssistantPart::Text(text) => format!("text {:?}", text.text),
        AssistantPart::Thinking(thinking) => {
            let redacted = if thinking.redacted { " redacted" } else { "" };
            format!(
                "thinking {:?} {:?}{redacted}",
                thinking.text, thinking.signature
            )
        }
        AssistantPart::ToolCall(call) => {
            format!("call {} {} {}", call.id, call.name, call.arguments)
        }
        _ => "?".to_owned(),
    });
    Ok(format!(
        "{}; {}",
        parts.collect::<Vec<_>>().join(", "),
        reply.stop
    ))
}

fn text(block: u32, delta: &str) -> ModelEvent {
    ModelEvent::Text {
        block,
        delta: delta.to_owned(),
    }
}

fn thinking(block: u32, delta: &str) -> ModelEvent {
    ModelEvent::Thinking {
        block,
        delta: delta.to_owned(),
    }
}

fn signature(block: u32, signature: &str, redacted: bool) -> ModelEvent {
    ModelEvent::ThinkingSignature {
        block,
        signature: signature.to_owned(),
        redacted,
    }
}

fn call(block: u32, id: &str) -> ModelEvent {
    ModelEvent::ToolCall {
        block,
        id: id.to_owned(),
        name: "t".to_owned(),
    }
}

fn arguments(block: u32, delta: &str) -> ModelEvent {
    ModelEvent::ToolArguments {
        block,
        delta: delta.to_owned(),
    }
}

fn stop() -> ModelEvent {
    ModelEvent::Stop(StopReason::EndTurn)
}

#[test]
fn replies() {
    let cases: Vec<(&str, Vec<ModelEvent>, &str)> = vec![
        ("nothing", vec![stop()], "; end_turn"),
        (
            "pieces are joined",
            vec![text(0, "a"), text(0, "b"), stop()],
            r#"text "ab"; end_turn"#,
        ),
        (
            "parts interleave, and stand where they began",
            vec![
                text(5, "a"),
                thinking(2, "x"),
                text(5, "b"),
                thinking(2, "y"),
                stop(),
            ],
            r#"text "ab", thinking "xy" None; end_turn"#,
        ),
        (
            "blank text is left out",
            vec![text(0, " \n"), text(1, "a"), stop()],
            r#"text "a"; end_turn"#,
        ),
        (
            "space in a text is kept",
            vec![text(0, " a "), stop()],
            r#"text " a "; end_turn"#,
        ),
        (
            "empty thinking is left out, a signature alone is kept",
            vec![
                thinking(0, ""),
                thinking(1, ""),
                signature(1, "s", false),
                signature(2, "r", true),
                stop(),
            ],
            r#"thinking "" Some("s"), thinking "" Some("r") redacted; end_turn"#,
        ),
        (
            "a later signature replaces an earlier one",
            vec![
                thinking(0, "t"),
                signature(0, "a", false),
                signature(0, "b", false),
                stop(),
            ],
            r#"thinking "t" Some("b"); end_turn"#,
        ),
        (
            "calls without an id get one from their place",
            vec![text(0, "x"), call(1, ""), call(2, " "), stop()],
            r#"text "x", call call_1 t , call call_2 t ; end_turn"#,
        ),
        (
            "ids that were used are numbered",
            vec![
                call(0, "a"),
                call(1, "a"),
                call(2, "a"),
                arguments(1, "{}"),
                stop(),
            ],
            "call a t , call a_2 t {}, call a_3 t ; end_turn",
        ),
        (
            "also those that were made",
            vec![call(0, "call_1"), call(1, ""), call(2, "call_1_2"), stop()],
            "call call_1 t , call call_1_2 t , call call_1_2_2 t ; end_turn",
        ),
    ];
    for (name, events, expected) in cases {
        assert_eq!(fold(events).as_deref(), Ok(expected), "{name}");
    }
}

#[test]
fn no_reply() {
    let cases: Vec<(&str, Vec<ModelEvent>, &str)> = vec![
        ("without its end", vec![text(0, "a")], "stream_cut"),
        ("no events", vec![], "stream_cut"),
        (
            "a text that becomes thinking",
            vec![text(0, "a"), thinking(0, "b")],
            "stream_invalid",
        ),
        (
            "thinking that becomes text",
            vec![thinking(0, "a"), text(0, "b")],
            "stream_invalid",
        ),
        (
            "a signature on a text",
            vec![text(0, "a"), signature(0, "s", false)],
            "stream_invalid",
        ),
        (
            "a call that becomes a text",
            vec![call(0, "a"), text(0, "b")],
            "stream_invalid",
        ),
        (
            "one number for two calls",
            vec![call(0, "a"), call(0, "b")],
            "stream_invalid",
        ),
        (
            "arguments of no call",
            vec![arguments(0, "{}")],
            "stream_invalid",
        ),
        (
            "arguments of a text",
            vec![text(0, "a"), arguments(0, "{}")],
            "stream_invalid",
        ),
        (
            "too much text",
            vec![text(0, &"a".repeat(3_000))],
            "reply_too_large",
        ),
        (
            "too long a signature",
            vec![signature(0, &"a".repeat(3_000), false)],
            "reply_too_large",
        ),
        (
            "too long an id",
            vec![call(0, &"a".repeat(3_000))],
            "reply_too_large",
        ),
        (
            "too many empty parts",
            (0..40).map(|n| text(n, "")).collect(),
            "reply_too_large",
        ),
    ];
    for (name, events, word) in cases {
        assert_eq!(
            fold(events).map_err(|error| error.word()),
            Err(word),
            "{name}"
        );
    }
}

/// The last report of usage counts, and what else a provider says is kept.
#[test]
fn usage_and_id() {
    let usage = |output_tokens| {
        ModelEvent::Usage(Usage {
            output_tokens,
            ..Usage::default()
        })
    };
    let mut reply = ReplyBuilder::new(ModelId::new("test", "model"));
    let start = ModelEvent::Start {
        response_id: Some("r1".to_owned()),
    };
    for event in [start, usage(1), text(0, "a"), usage(7), stop()] {
        reply.push(event).unwrap();
    }
    let reply = reply.finish().unwrap();
    assert_eq!(reply.usage.map(|usage| usage.output_tokens), Some(7));
    assert_eq!(reply.response_id.as_deref(), Some("r1"));
    assert_eq!(reply.model.to_string(), "test/model");
}

/// A great many parts and equal ids cost time in proportion.
#[test]
fn many_parts() {
    let mut reply = ReplyBuilder::new(ModelId::default());
    for block in 0..20_000 {
        reply.push(call(block, "same")).unwrap();
        reply.push(arguments(block / 2, "x")).unwrap();
    }
    reply.push(stop()).unwrap();
    let reply = reply.finish().unwrap();
    let ids: std::collections::HashSet<&str> =
        reply.tool_calls().map(|call| call.id.as_str()).collect();
    assert_eq!(ids.len(), 20_000);
}
