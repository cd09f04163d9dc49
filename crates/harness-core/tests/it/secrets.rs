//! Secrets: never shown, and masked in all that tools give back.

use std::borrow::Cow;
use std::sync::Arc;

use base64::Engine as _;
use base64::engine::general_purpose::{STANDARD, URL_SAFE};
use futures::executor::block_on;
use harness_core::test_support::Reply;
use harness_core::{
    Caller, CancellationToken, DynamicTool, Event, MemoryJournal, Message, RunContext, RunInput,
    RunOptions, Secret, Secrets, ToolContext, ToolError, ToolOutcome, ToolOutput, call_tool,
    from_fn, run_with,
};
use proptest::prelude::*;
use serde_json::json;

use crate::stage::{builder, finish_async, scripted, tool};

const CANARY: &str = "sk-canary-0123456789";

fn secrets() -> Secrets {
    [CANARY].into_iter().collect()
}

#[test]
fn a_secret_is_never_shown() {
    let secret = Secret::new(" sk-secret\n");
    assert_eq!(format!("{secret:?} {secret}"), "Secret(…) …");
    assert_eq!(secret.expose(), "sk-secret");
    assert!(Secret::new(" \n").is_blank());
    assert_eq!(
        format!("{:?} {:?}", secrets(), Secrets::new()),
        "Secrets(1) Secrets(0)"
    );
}

#[test]
fn secrets_are_masked_in_each_form() {
    // Each encoded by a program that is not this one.
    let secrets: Secrets = ["key/+\"ÿé?=>>", "key/+\"ÿé?=>>longer", "ollama", CANARY]
        .into_iter()
        .collect();
    for (text, expected) in [
        ("plain key/+\"ÿé?=>> end", "plain [key] end"),
        ("longer key/+\"ÿé?=>>longer end", "longer [key] end"),
        (r#"{"k":"key/+\"ÿé?=>>"}"#, r#"{"k":"[key]"}"#),
        (r#"{"k":"key\/+\"ÿé?=>>"}"#, r#"{"k":"[key]"}"#),
        ("?k=key%2F%2B%22%C3%BF%C3%A9%3F%3D%3E%3E&", "?k=[key]&"),
        ("?k=key%2f%2b%22%c3%bf%c3%a9%3f%3d%3e%3e&", "?k=[key]&"),
        (
            "a local server's key is ollama",
            "a local server's key is ollama",
        ),
        (CANARY, "[key]"),
        ("sk-canary-0123456789sk-canary-0123456789", "[key][key]"),
        ("sk-canary-012345678", "sk-canary-012345678"),
        // printf %s sk-canary-0123456789 | base64, and with `a`, `ab`, `user:` before it and `z` behind it
        ("c2stY2FuYXJ5LTAxMjM0NTY3ODk=", "[key]k="),
        ("YXNrLWNhbmFyeS0wMTIzNDU2Nzg5", "YX[key]"),
        ("YWJzay1jYW5hcnktMDEyMzQ1Njc4OQ==", "YWJ[key]Q=="),
        ("dXNlcjpzay1jYW5hcnktMDEyMzQ1Njc4OXo=", "dXNlcjp[key]Xo="),
        // printf %s … | base64, and the same for addresses
        ("a2V5Lysiw7/DqT89Pj4=", "[key]4="),
        ("a2V5LysiYM7_DqT89Pj4", "a2V5LysiYM7_DqT89Pj4"),
        ("a2V5Lysiw7_DqT89Pj4", "[key]4"),
        // printf %s … | xxd -p
        ("736b2d63616e6172792d30313233343536373839", "[key]"),
        ("736B2D63616E6172792D30313233343536373839", "[key]"),
        ("", ""),
    ] {
        assert_eq!(secrets.mask(text), expected, "{text}");
        assert_eq!(
            matches!(secrets.mask(text), Cow::Borrowed(_)),
            text == expected,
            "{text}"
        );
    }
}

fn hex(text: &str) -> String {
    let digits = text.bytes().flat_map(|byte| [byte >> 4, byte & 15]);
    digits
        .filter_map(|digit| char::from_digit(digit.into(), 16))
        .collect()
}

/// `base64` breaks after 76 digits, `openssl base64` after 64, `xxd -p` after 60, and each can be told another number.
#[test]
fn secrets_are_masked_where_their_digits_are_broken_into_lines() {
    let key = format!("sk-proj-{}", "aB3dE6gH9-".repeat(12));
    let secrets: Secrets = [key.as_str()].into_iter().collect();
    for before in ["", "x", "xy", "Authorization: xyz"] {
        let text = format!("{before}{key}{before}");
        let hex = hex(&text);
        let engines = [
            STANDARD.encode(&text),
            URL_SAFE.encode(&text),
            hex.to_uppercase(),
            hex,
        ];
        for digits in &engines {
            let expected = secrets.mask(digits).into_owned();
            assert!(expected.contains("[key]"));
            for width in 1..=digits.len() {
                for ending in ["\n", "\r\n"] {
                    let lines = digits.as_bytes().chunks(width);
                    let lines: Vec<_> = lines.map(String::from_utf8_lossy).collect();
                    let broken = format!("a text\n\n{}\nmore: it", lines.join(ending));
                    let masked = secrets.mask(&broken).into_owned();
                    let digits: String = masked.split(['\r', '\n']).collect();
                    assert_eq!(digits, format!("a text{expected}more: it"), "{broken}");
                    let mut by_piece = secrets.masker();
                    let mut pieces = String::new();
                    for piece in broken.as_bytes().chunks(7) {
                        pieces.push_str(&by_piece.push(&String::from_utf8_lossy(piece)));
                    }
                    pieces.push_str(&by_piece.finish());
                    assert_eq!(pieces, masked, "{broken}");
                }
            }
        }
    }
    for text in [
        "73 6b\n2d 70",
        "c2st\n\ncHJv",
        "c2st\rcHJv",
        "c2st\n cHJv",
        "\n",
    ] {
        assert_eq!(secrets.mask(text), text);
    }
}

/// What begins one secret and ends another one shows neither.
#[test]
fn secrets_that_overlap_are_masked_together() {
    let secrets: Secrets = ["abcdefgh", "efghijkl"].into_iter().collect();
    assert_eq!(secrets.mask("-abcdefghijkl-"), "-[key]-");
    let mut added = Secrets::new();
    added.add("abcdefgh");
    added.add(Secret::new("short"));
    let both = added.with(&["efghijkl"].into_iter().collect());
    assert_eq!(both.mask("abcdefgh efghijkl short"), "[key] [key] short");
    assert_eq!(added.with(&Secrets::new()).mask("efghijkl"), "efghijkl");
    assert!(Secrets::new().with(&Secrets::new()).is_empty());
}

/// An excerpt may end in the middle of a key that a service or a proxy repeats.
#[test]
fn the_beginning_of_a_secret_is_masked_at_a_cut() {
    let secrets: Secrets = ["sk-secret"].into_iter().collect();
    for (text, expected) in [
        ("key sk-secre… and more", "key [key]… and more"),
        ("sk-s… sk-secret…", "[key]… [key]…"),
        ("a sk-… b", "a sk-… b"),
        ("sk-secre and no cut", "sk-secre and no cut"),
    ] {
        assert_eq!(secrets.mask_excerpt(text), expected);
    }
}

#[test]
fn json_is_masked_to_its_depth() {
    let mut value = json!({"a": [1, {"b": format!("x {CANARY}")}], CANARY: null, "c": true});
    secrets().mask_json(&mut value);
    assert_eq!(
        value,
        json!({"a": [1, {"b": "x [key]"}], "[key]": null, "c": true})
    );
}

/// Nothing of a secret shows while only half of it is there.
#[test]
fn a_preview_shows_no_half_of_a_secret() {
    let mut masker = secrets().masker();
    let mut shown = masker.push("the key: ").into_owned();
    for (line, expected) in [
        ("sk", "sk"),
        ("sk-canary-01", "[key]"),
        ("sk-canary-0123456789 and", "[key] and"),
        ("other", "other"),
    ] {
        assert_eq!(masker.preview(line), expected, "{line}");
    }
    shown.push_str(&masker.push("sk-canary-"));
    assert_eq!(masker.preview("012"), "[key]");
    assert_eq!(masker.preview("x"), "sk-canary-x");
    shown.push_str(&masker.push("0123456789"));
    shown.push_str(&masker.finish());
    assert_eq!(shown, "the key: [key]");
}

proptest! {
    /// It does not matter where a text is cut.
    #[test]
    fn pieces_are_masked_like_the_whole(
        texts in prop::collection::vec("[abé]{8,12}", 1..4),
        text in "[abé]{0,80}",
        cuts in prop::collection::vec(1_usize..30, 0..40),
        with in any::<prop::sample::Index>(),
    ) {
        let text = format!("{text}{}{text}", with.get(&texts));
        let secrets: Secrets = texts.iter().collect();
        let mut masker = secrets.masker();
        let (mut rest, mut masked) = (text.as_str(), String::new());
        for cut in cuts {
            let (piece, more) = rest.split_at(rest.floor_char_boundary(cut));
            masked.push_str(&masker.push(piece));
            rest = more;
        }
        masked.push_str(&masker.push(rest));
        masked.push_str(&masker.finish());
        prop_assert_eq!(&masked, &secrets.mask(&text));
        prop_assert!(texts.iter().all(|secret| !masked.contains(secret.as_str())));
    }
}

proptest! {
    /// Nor does it where digits are broken into lines.
    #[test]
    fn pieces_of_broken_lines_are_masked_like_the_whole(
        secrets in prop::collection::vec("[a-d]{8,12}", 1..3),
        parts in prop::collection::vec(("[a\r\n]{0,3}", 0_usize..3, 1_usize..30), 1..4),
        cuts in prop::collection::vec(1_usize..12, 0..80),
        with in any::<prop::sample::Index>(),
    ) {
        let secret: &String = with.get(&secrets);
        let mut text = String::new();
        for (between, kind, width) in parts {
            let digits = match kind {
                0 => STANDARD.encode(format!("{between}{secret}{secret}")),
                1 => hex(secret),
                _ => secret.clone(),
            };
            let lines: Vec<_> = digits.as_bytes().chunks(width).map(String::from_utf8_lossy).collect();
            text.push_str(&between);
            text.push_str(&lines.join(if width % 2 == 0 { "\n" } else { "\r\n" }));
        }
        let secrets: Secrets = secrets.iter().collect();
        let mut masker = secrets.masker();
        let (mut rest, mut masked) = (text.as_str(), String::new());
        for cut in cuts {
            let (piece, more) = rest.split_at(cut.min(rest.len()));
            masked.push_str(&masker.push(piece));
            rest = more;
        }
        masked.push_str(&masker.push(rest));
        masked.push_str(&masker.finish());
        prop_assert_eq!(&masked, &secrets.mask(&text));
    }
}

/// A tool that shows the key in each way in which it can.
fn leaky() -> DynamicTool {
    let schema = json!({"type": "object"});
    DynamicTool::new("leaky", "Leaks.", schema, |cx: &ToolContext, arguments| {
        cx.progress(format!("still {CANARY}"));
        let output = ToolOutput::text(format!("it is {CANARY}."))
            .with_details(json!({"line": [CANARY], "n": 1}));
        let result = match arguments["how"].as_str() {
            Some("fail") => Err(ToolError::Failed(output)),
            Some("deny") => Err(ToolError::Denied {
                by: "tool".to_owned(),
                reason: format!("not {CANARY}"),
            }),
            Some("panic") => panic!("with {CANARY}"),
            Some("fatal") => Err(ToolError::Fatal(format!("broken by {CANARY}"))),
            _ => Ok(output),
        };
        Box::pin(std::future::ready(result))
    })
}

/// Whatever becomes of a call, nothing that is kept or shown has the key in it: events, the journal, the
/// history, requests.
#[test]
fn what_tools_give_back_is_masked_everywhere() {
    let calls = ["do", "fail", "deny", "panic", "fatal"];
    let mut reply = Reply::new();
    for how in calls {
        reply = reply.and_call(how, "leaky", &json!({ "how": how }).to_string());
    }
    // Not in the last batch, which a fatal call ends the run in.
    let replies = [
        Reply::call("c0", "leaky", "{}").and_call("c1", "added", "{}"),
        reply,
    ];
    let model = scripted(replies);
    let adds = from_fn::on_tool_call("adds", |cx, call, next| {
        Box::pin(async move {
            if call.name == "added" {
                return ToolOutcome::failed(format!("a middleware says {CANARY}"));
            }
            next.run(cx, call).await
        })
    });
    let around = from_fn::on_acting("around", |cx, calls, next| {
        Box::pin(async move {
            let mut outcomes = next.run(cx, calls).await;
            if outcomes.len() == 2 {
                outcomes.push(ToolOutcome::failed(CANARY));
                outcomes.remove(0);
            }
            outcomes
        })
    });
    let config = builder(&model)
        .secrets(secrets())
        .tool(leaky())
        .tool(tool("added", |_| Ok("never".into())))
        .middleware(adds)
        .middleware(around)
        .build()
        .unwrap();
    let journal = MemoryJournal::new();
    let options = RunOptions {
        journal: Some(&journal),
        ..RunOptions::default()
    };
    let ran = block_on(finish_async(run_with(
        &config,
        RunInput::prompt("go"),
        options,
    )));
    let seen = format!(
        "{}{}{:?}{:?}",
        serde_json::to_string(&ran.events).unwrap(),
        serde_json::to_string(&journal.steps()).unwrap(),
        ran.outcome,
        model.requests(),
    );
    assert!(!seen.contains("canary"), "{seen}");
    for words in [
        "still [key]",
        "it is [key].",
        r#""line":["[key]"]"#,
        "not [key]",
        "with [key]",
        "broken by [key]",
        "a middleware says [key]",
    ] {
        assert!(seen.contains(words), "{words}: {seen}");
    }
    assert_eq!(ran.shown()[1], "[key]");
}

/// Calls by hand are like those of a model, and what is not there is not masked.
#[test]
fn calls_by_hand_are_masked_too() {
    for (secrets, expected) in [
        (secrets(), "it is [key]."),
        (Secrets::new(), "it is sk-canary-0123456789."),
    ] {
        let config = builder(&scripted([]))
            .secrets(secrets)
            .tool(leaky())
            .build()
            .unwrap();
        let call = call_tool(
            &config,
            Caller::default(),
            "leaky",
            "{}",
            CancellationToken::new(),
        );
        assert_eq!(block_on(call).unwrap().shown_text(), expected);
    }
}

/// A middleware can add secrets for what it is around, and take none away.
#[test]
fn a_context_can_be_given_more_secrets() {
    let more = from_fn::on_tool_call("more", |cx, call, next| {
        Box::pin(async move {
            let cx = cx.with_secrets(&["middleware-token"].into_iter().collect());
            next.run(&cx.with_secrets(&Secrets::new()), call).await
        })
    });
    let shows = tool("shows", |_| Ok(format!("{CANARY} middleware-token").into()));
    let config = builder(&scripted([]))
        .secrets(secrets())
        .middleware(more)
        .tool(shows)
        .build()
        .unwrap();
    let call = call_tool(
        &config,
        Caller::default(),
        "shows",
        "{}",
        CancellationToken::new(),
    );
    assert_eq!(block_on(call).unwrap().shown_text(), "[key] [key]");

    let cx = RunContext::detached(Caller::default()).with_secrets(&secrets());
    let told = Arc::new(std::sync::Mutex::new(Vec::new()));
    let seen = Arc::clone(&told);
    let cx = cx.tapped(move |event| {
        if let Event::ToolProgress { text, .. } = &event {
            seen.lock().unwrap().push(text.clone());
        }
        Some(event)
    });
    ToolContext::new(cx, "c").progress(format!("at {CANARY}"));
    assert_eq!(*told.lock().unwrap(), ["at [key]"]);
}

/// What was recorded before the secret was known is masked when it is played again.
#[test]
fn what_an_older_record_shows_is_masked() {
    let journal = MemoryJournal::new();
    let play = |secrets: Secrets, replies: Vec<Reply>| {
        let model = scripted(replies);
        let config = builder(&model)
            .secrets(secrets)
            .tool(leaky())
            .build()
            .unwrap();
        let options = RunOptions {
            journal: Some(&journal),
            ..RunOptions::default()
        };
        block_on(finish_async(run_with(
            &config,
            RunInput::prompt("go"),
            options,
        )))
    };
    let before = play(
        Secrets::new(),
        vec![Reply::call("c0", "leaky", "{}"), Reply::text("done")],
    );
    assert!(before.shown()[0].contains(CANARY));
    let after = play(secrets(), Vec::new());
    assert_eq!(after.shown(), ["it is [key]."]);
    let is_masked = |message: &Message| !serde_json::to_string(message).unwrap().contains(CANARY);
    assert!(
        after
            .outcome
            .history
            .iter()
            .all(|message| is_masked(message))
    );
}
