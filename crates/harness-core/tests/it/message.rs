//! Messages: their written form, and the bytes that are kept with them.

use std::sync::Arc;
use std::sync::atomic::{AtomicU32, Ordering};

use harness_core::{
    AssistantMessage, AssistantPart, EncodedSlot, Image, LimitReached, Message, MessageRef,
    ModelError, ModelId, OutputPart, Record, RecordedStep, StopReason, Text, Thinking, ToolCall,
    ToolOutcome, ToolOutput, ToolResult, ToolResults, Usage, UserMessage, UserPart,
};
use proptest::prelude::*;
use serde::Serialize;
use serde::de::DeserializeOwned;

fn check<T: Serialize + DeserializeOwned + PartialEq + std::fmt::Debug>(value: &T) {
    let text = serde_json::to_string(value).unwrap();
    let back: T = serde_json::from_str(&text).unwrap_or_else(|error| panic!("{error}: {text}"));
    assert_eq!(&back, value, "{text}");
}

fn any_text() -> impl Strategy<Value = String> {
    prop_oneof![
        any::<String>(),
        Just(String::new()),
        Just("\u{0}\u{2028}\"\\".to_owned())
    ]
}

fn any_image() -> impl Strategy<Value = Image> {
    (any_text(), any_text()).prop_map(|(media_type, data)| Image {
        media_type,
        data: data.into(),
    })
}

fn any_stop() -> impl Strategy<Value = StopReason> {
    prop_oneof![
        Just(StopReason::EndTurn),
        Just(StopReason::ToolCalls),
        Just(StopReason::Length),
        Just(StopReason::ContentFilter),
        any_text().prop_map(StopReason::Other),
    ]
}

fn any_usage() -> impl Strategy<Value = Option<Usage>> {
    prop::option::of(any::<[u64; 5]>().prop_map(|n| Usage {
        input_tokens: n[0],
        output_tokens: n[1],
        cache_read_tokens: n[2],
        cache_write_tokens: n[3],
        reasoning_tokens: n[4],
    }))
}

fn any_part() -> impl Strategy<Value = AssistantPart> {
    prop_oneof![
        any_text().prop_map(|text| AssistantPart::Text(Text { text })),
        (any_text(), prop::option::of(any_text()), any::<bool>()).prop_map(
            |(text, signature, redacted)| {
                AssistantPart::Thinking(Thinking {
                    text,
                    signature,
                    redacted,
                })
            }
        ),
        (any_text(), any_text(), any_text()).prop_map(|(id, name, arguments)| {
            AssistantPart::ToolCall(ToolCall {
                id,
                name,
                arguments,
            })
        }),
    ]
}

fn any_outcome() -> impl Strategy<Value = ToolOutcome> {
    let part = prop_oneof![
        any_text().prop_map(|text| OutputPart::Text(Text { text })),
        any_image().prop_map(OutputPart::Image),
    ];
    let details = prop::option::of(any_text().prop_map(|text| serde_json::json!({"a": [1, text]})));
    let output = (prop::collection::vec(part, 0..3), details)
        .prop_map(|(parts, details)| ToolOutput { parts, details });
    prop_oneof![
        (output, any::<bool>()).prop_map(|(output, done)| if done {
            ToolOutcome::Done(output)
        } else {
            ToolOutcome::Failed(output)
        }),
        (any_text(), any_text()).prop_map(|(by, reason)| ToolOutcome::Denied { by, reason }),
        Just(ToolOutcome::Cancelled),
        Just(ToolOutcome::Interrupted),
    ]
}

fn any_message() -> impl Strategy<Value = Message> {
    let user = prop_oneof![
        any_text().prop_map(|text| UserPart::Text(Text { text })),
        any_image().prop_map(UserPart::Image),
    ];
    let result =
        (any_text(), any_text(), any_outcome()).prop_map(|(call_id, name, outcome)| ToolResult {
            call_id,
            name,
            outcome: Arc::new(outcome),
        });
    let reply = (
        prop::collection::vec(any_part(), 0..4),
        any_stop(),
        any_usage(),
        prop::option::of(any_text()),
    );
    prop_oneof![
        prop::collection::vec(user, 0..3)
            .prop_map(|content| Message::User(UserMessage { content })),
        reply.prop_map(|(content, stop, usage, response_id)| {
            let model = ModelId::new("p", "m");
            Message::Assistant(AssistantMessage {
                content,
                model,
                stop,
                usage,
                response_id,
            })
        }),
        prop::collection::vec(result, 0..3)
            .prop_map(|results| Message::ToolResults(ToolResults { results })),
    ]
}

proptest! {
    #[test]
    fn messages_survive_being_written(message in any_message()) {
        check(&message);
        check(&MessageRef::new(message));
    }

    /// What a model is shown of a result is never blank.
    #[test]
    fn outcomes_are_never_blank(outcome in any_outcome()) {
        check(&outcome);
        let shown = outcome.shown();
        prop_assert!(!shown.is_empty());
        for part in shown {
            if let OutputPart::Text(text) = part {
                prop_assert!(!text.text.trim().is_empty());
            }
        }
    }

    #[test]
    fn arguments_go_back_as_an_object(arguments in any_text()) {
        let call = ToolCall { id: "c".to_owned(), name: "t".to_owned(), arguments };
        let sent: serde_json::Value = serde_json::from_str(call.arguments_or_empty()).unwrap();
        prop_assert!(sent.is_object());
    }
}

#[test]
fn arguments_that_are_an_object_go_back_as_they_were() {
    let deep = format!("{{\"a\": {}{}}}", "[".repeat(500), "]".repeat(500));
    let cases = [
        (r#"{"a": 1}"#, true),
        (" {}\n", true),
        (r#"{"a": 1, "a": 2}"#, true),
        ("", false),
        ("[]", false),
        ("null", false),
        (r#"{"a": "#, false),
        (r#"{"a": 1} x"#, false),
        // What was too deep to be read here may be too deep there.
        (deep.as_str(), false),
    ];
    for (arguments, kept) in cases {
        let call = ToolCall {
            id: String::new(),
            name: String::new(),
            arguments: arguments.to_owned(),
        };
        let expected = if kept { arguments } else { "{}" };
        assert_eq!(call.arguments_or_empty(), expected);
    }
}

#[test]
fn records_and_errors_survive_being_written() {
    let text = || "t".to_owned();
    let after = Some(std::time::Duration::from_millis(1_500));
    let errors = [
        ModelError::Connection {
            url: text(),
            message: text(),
        },
        ModelError::Timeout { seconds: 3 },
        ModelError::StreamCut { message: text() },
        ModelError::StreamInvalid { message: text() },
        ModelError::ReplyTooLarge { max_bytes: 5 },
        ModelError::RateLimited {
            status: Some(429),
            message: text(),
            retry_after: after,
        },
        ModelError::Unavailable {
            status: None,
            message: text(),
            retry_after: None,
        },
        ModelError::Quota {
            status: Some(402),
            message: text(),
        },
        ModelError::Authentication {
            status: 401,
            message: text(),
        },
        ModelError::NotFound {
            url: text(),
            message: text(),
        },
        ModelError::ContextOverflow { message: text() },
        ModelError::RequestTooLarge { message: text() },
        ModelError::InvalidRequest {
            status: Some(400),
            message: text(),
        },
        ModelError::Cancelled,
        ModelError::Other {
            message: text(),
            retryable: true,
        },
    ];
    let mut records = vec![
        Record::Id(text()),
        Record::Time(std::time::Duration::new(7, 9)),
        Record::Random(u64::MAX),
        Record::Slept,
        Record::Cancelled,
        Record::Messages(vec![UserMessage::text("hi")]),
        Record::Tool {
            outcome: ToolOutcome::Interrupted,
            elapsed: std::time::Duration::ZERO,
        },
        Record::Fatal(text()),
    ];
    for error in errors {
        let value = serde_json::to_value(&error).unwrap();
        assert_eq!(value["kind"], error.word());
        check(&error);
        records.push(Record::Model(Err(error)));
    }
    for record in records {
        check(&RecordedStep {
            name: "t1/x".to_owned(),
            record: Some(record),
        });
    }
    check(&RecordedStep {
        name: "t1/x".to_owned(),
        record: None,
    });

    let limits = [
        LimitReached::Turns { max: 1 },
        LimitReached::Tokens { max: 1, used: 2 },
        LimitReached::Cost {
            max: 1.0,
            used: 2.0,
        },
        LimitReached::Time { max_seconds: 1.5 },
        LimitReached::Output,
        LimitReached::RepeatedFailure {
            tool: text(),
            times: 5,
        },
    ];
    for limit in limits {
        assert_eq!(serde_json::to_value(&limit).unwrap()["limit"], limit.word());
        check(&limit);
    }
}

/// What an older or newer version wrote: fields that are missing or unknown are no error.
#[test]
fn messages_of_other_versions_are_read() {
    let reply = r#"{"role": "assistant", "content": [{"type": "thinking", "text": "x", "new": 1}],
        "model": {"provider": "p", "name": "m"}, "stop": "end_turn", "usage": {"input_tokens": 3}, "new": 2}"#;
    let Message::Assistant(reply) = serde_json::from_str(reply).unwrap() else {
        unreachable!()
    };
    assert_eq!(reply.usage.map(|usage| usage.total()), Some(3));
    assert_eq!(reply.response_id, None);
}

#[test]
fn the_first_encoder_keeps_its_bytes() {
    let message = MessageRef::new(Message::user("hi"));
    let runs = AtomicU32::new(0);
    let encode = |key, bytes: &str| {
        message.encoded(key, |_| {
            runs.fetch_add(1, Ordering::Relaxed);
            bytes.to_owned()
        })
    };
    let first = encode(1, "a");
    assert!(Arc::ptr_eq(&first, &encode(1, "other")), "kept");
    assert!(
        Arc::ptr_eq(&first, &message.clone().encoded(1, |_| unreachable!())),
        "and shared"
    );
    assert_eq!(&*encode(2, "b"), "b", "another encoder gets its own");
    assert_eq!(&*encode(2, "c"), "c", "each time");
    assert_eq!(&*encode(1, "d"), "a");
    assert_eq!(runs.load(Ordering::Relaxed), 3);
    let slot = EncodedSlot::default();
    assert_eq!(&*slot.get_or_encode(1, || "abc".to_owned()), "abc");
    assert_eq!(format!("{slot:?}"), "EncodedSlot(3 bytes)");
}

/// Pictures are long; what is printed of them is not.
#[test]
fn a_picture_is_not_printed() {
    let image = Image {
        media_type: "image/png".to_owned(),
        data: "A".repeat(9_000).into(),
    };
    insta::assert_snapshot!(format!("{image:?}"), @r#"Image { media_type: "image/png", base64_bytes: 9000 }"#);
}
