//! The rules of a conversation: what is refused, and what repair makes of it.

use std::sync::Arc;

use harness_core::protocol::{check_messages, repair};
use harness_core::{
    AssistantMessage, AssistantPart, Message, MessageRef, ModelId, StopReason, Text, Thinking,
    ToolCall, ToolOutcome, ToolResult, ToolResults, UserMessage, UserPart,
};
use proptest::prelude::*;

use crate::stage::outline_of;

fn user(text: &str) -> MessageRef {
    Message::user(text).into()
}

/// A reply of parts: `text`, `!id` a call, `?` empty thinking.
fn says(parts: &[&str]) -> MessageRef {
    let part = |part: &&str| match part.split_at_checked(1) {
        Some(("!", id)) => AssistantPart::ToolCall(ToolCall {
            id: id.to_owned(),
            name: "t".to_owned(),
            arguments: "{}".to_owned(),
        }),
        Some(("?", _)) => AssistantPart::Thinking(Thinking::default()),
        _ => AssistantPart::Text(Text {
            text: (*part).to_owned(),
        }),
    };
    Message::Assistant(AssistantMessage {
        content: parts.iter().map(part).collect(),
        model: ModelId::new("test", "model"),
        stop: StopReason::EndTurn,
        usage: None,
        response_id: None,
    })
    .into()
}

/// Results of these calls, each of which says its id.
fn results(ids: &[&str]) -> MessageRef {
    let result = |id: &&str| ToolResult {
        call_id: (*id).to_owned(),
        name: "t".to_owned(),
        outcome: Arc::new(ToolOutcome::done(*id)),
    };
    Message::ToolResults(ToolResults {
        results: ids.iter().map(result).collect(),
    })
    .into()
}

fn two_texts(first: &str, second: &str) -> MessageRef {
    let mut message = UserMessage::text(first);
    message.content.push(UserPart::Text(Text {
        text: second.to_owned(),
    }));
    Message::User(message).into()
}

/// (conversation, what is wrong with it, what repair makes of it)
type Case = (Vec<MessageRef>, &'static str, &'static str);

fn check(cases: Vec<Case>) {
    for (messages, problem, repaired) in cases {
        let found = check_messages(&messages).err().unwrap_or_default();
        assert_eq!(found, problem, "{}", outline_of(&messages));
        assert_eq!(
            outline_of(&repair(messages.clone())),
            repaired,
            "{}",
            outline_of(&messages)
        );
    }
}

#[test]
fn rules_and_repairs_of_messages() {
    check(vec![
        (vec![], "there are no messages", ""),
        (vec![user("a")], "", "user: a"),
        (vec![user("a"), user("b")], "", "user: a | user: b"),
        (vec![user(" ")], "message 0: a user message is blank", ""),
        (
            vec![two_texts("a", " ")],
            "message 0: a user text is blank",
            "user: a",
        ),
        (
            vec![user("a"), says(&["b"])],
            "the last message is the model's own",
            "user: a | assistant: b",
        ),
        (
            vec![user("a"), says(&[]), user("b")],
            "message 1: an assistant message is empty",
            "user: a | user: b",
        ),
        (
            vec![user("a"), says(&["?"]), user("b")],
            "message 1: an assistant message is empty",
            "user: a | user: b",
        ),
        (
            vec![user("a"), says(&["b", " "]), user("c")],
            "message 1: an assistant text is blank",
            "user: a | assistant: b | user: c",
        ),
        (
            vec![user("a"), says(&["b", "?"]), user("c")],
            "message 1: an assistant's thinking is empty",
            "user: a | assistant: b | user: c",
        ),
    ]);
}

#[test]
fn rules_and_repairs_of_calls() {
    check(vec![
        (
            vec![user("a"), says(&["!1"]), results(&["1"])],
            "",
            "user: a | assistant: call 1 | tool_results: result 1",
        ),
        (
            vec![user("a"), says(&["!1", "!2"]), results(&["1"])],
            r#"message 2: the results ["1"] do not answer ["1", "2"]"#,
            "user: a | assistant: call 1, call 2 | tool_results: result 1, result 2",
        ),
        (
            vec![user("a"), says(&["!1", "!2"]), results(&["2", "1"])],
            r#"message 2: the results ["2", "1"] do not answer ["1", "2"]"#,
            "user: a | assistant: call 1, call 2 | tool_results: result 1, result 2",
        ),
        (
            vec![
                user("a"),
                says(&["!1", "!2"]),
                results(&["1"]),
                results(&["2", "2", "3"]),
            ],
            r#"message 2: the results ["1"] do not answer ["1", "2"]"#,
            "user: a | assistant: call 1, call 2 | tool_results: result 1, result 2",
        ),
        (
            vec![
                user("a"),
                says(&["!1"]),
                user("b"),
                results(&["1"]),
                user("c"),
            ],
            r#"message 2: the calls ["1"] have no results"#,
            "user: a | assistant: call 1 | tool_results: result 1 | user: b | user: c",
        ),
        (
            vec![user("a"), says(&["!1"])],
            r#"the calls ["1"] have no results"#,
            "user: a | assistant: call 1 | tool_results: result 1",
        ),
        (
            vec![results(&["1"]), user("a")],
            r#"message 0: the results ["1"] do not answer []"#,
            "user: a",
        ),
        (
            vec![user("a"), results(&[])],
            "message 1: there are no results in it",
            "user: a",
        ),
        (
            vec![user("a"), says(&["!"]), results(&[""])],
            "message 1: a call of `t` has no id",
            "user: a | assistant: call call_0 | tool_results: result call_0",
        ),
        (
            vec![
                user("a"),
                says(&["!1"]),
                results(&["1"]),
                says(&["!1", "!1"]),
                results(&["1", "1"]),
            ],
            "message 3: the call id `1` is used twice",
            "user: a | assistant: call 1 | tool_results: result 1 | \
             assistant: call 1_2, call 1_2_2 | tool_results: result 1_2, result 1_2_2",
        ),
    ]);
}

/// What a call did not get is said to be unknown; what it got stays its own.
#[test]
fn repair_invents_nothing() {
    let messages = vec![user("a"), says(&["!1", "!2"]), results(&["2"])];
    let repaired = repair(messages);
    let outcomes: Vec<ToolOutcome> = crate::stage::results(&repaired)
        .iter()
        .map(|r| r.outcome.as_ref().clone())
        .collect();
    assert_eq!(outcomes, [ToolOutcome::Interrupted, ToolOutcome::done("2")]);
}

#[test]
fn a_sound_conversation_comes_back_as_it_is() {
    let sound = vec![user("a"), says(&["b", "!1"]), results(&["1"]), says(&["c"])];
    let repaired = repair(sound.clone());
    assert!(
        sound
            .iter()
            .zip(&repaired)
            .all(|(before, after)| before.same(after))
    );
    assert_eq!(sound.len(), repaired.len());
    // Nor does it take long for one that only the model speaks in.
    assert_eq!(repair(vec![says(&["x"]); 100_000]).len(), 100_000);
}

fn any_message() -> impl Strategy<Value = MessageRef> {
    let id = prop::sample::select(vec!["", "1", "2", "3", "1_2"]);
    let ids = prop::collection::vec(id, 0..4);
    let part = prop::sample::select(vec!["x", " ", "?", "!", "!1", "!2", "!3", "!1_2"]);
    prop_oneof![
        prop::sample::select(vec!["x", " ", ""]).prop_map(user),
        (any::<bool>()).prop_map(|blank| two_texts("x", if blank { "" } else { "y" })),
        prop::collection::vec(part, 0..5).prop_map(|parts| says(&parts)),
        ids.prop_map(|ids| results(&ids)),
    ]
}

proptest! {
    /// Whatever comes in, what comes out can be gone on from, and is repaired no further.
    #[test]
    fn repair_is_sound_and_idempotent(messages in prop::collection::vec(any_message(), 0..12)) {
        let repaired = repair(messages.clone());
        let mut next = repaired.clone();
        next.push(user("go on"));
        prop_assert_eq!(check_messages(&next), Ok(()));
        let again = repair(repaired.clone());
        prop_assert_eq!(again.len(), repaired.len());
        prop_assert!(again.iter().zip(&repaired).all(|(a, b)| a.same(b)));
        // What was sound stays untouched.
        if check_messages(&messages).is_ok() {
            prop_assert_eq!(repaired, messages);
        }
    }

    /// A whole conversation of which parts were lost or changed places: each call that is still there
    /// keeps the result that is still behind it.
    #[test]
    fn repair_keeps_what_fits(order in Just((0..12_usize).collect::<Vec<_>>()).prop_shuffle(), kept in 0..12_usize) {
        let mut whole = Vec::new();
        for n in 0..4 {
            let id = format!("{n}");
            whole.extend([user("go"), says(&[&format!("!{id}")]), results(&[&id])]);
        }
        let messages: Vec<MessageRef> = order.iter().take(kept).map(|n| whole[*n].clone()).collect();
        let repaired = repair(messages.clone());
        let mut next = repaired.clone();
        next.push(user("go on"));
        prop_assert_eq!(check_messages(&next), Ok(()));
        for result in crate::stage::results(&repaired) {
            let known = *result.outcome == ToolOutcome::done(result.call_id.as_str());
            prop_assert!(known || *result.outcome == ToolOutcome::Interrupted);
        }
        let replies = |all: &[MessageRef]| all.iter().filter(|m| matches!(***m, Message::Assistant(_))).count();
        prop_assert_eq!(replies(&repaired), replies(&messages));
    }
}
