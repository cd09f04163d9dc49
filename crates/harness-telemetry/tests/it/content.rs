//! What is recorded of content: nothing, or what was asked for, bounded and without secrets.

use std::borrow::Cow;
use std::sync::Arc;

use futures::executor::block_on;
use harness_core::test_support::{Reply, ScriptedModel};
use harness_core::{
    Caller, DynamicTool, ModelError, RunInput, RunOptions, SystemPrompt, ToolError, ToolOutcome,
    ToolOutput, from_fn, run_with,
};
use harness_telemetry::Schemas;
use harness_telemetry::middleware::{ContentCapture, Redactor, Telemetry};
use harness_telemetry::test_support::{RecordedSpan, Recording};
use serde_json::{Value, json};

use crate::runs::recorded;

/// Through every channel that a run has, something that must not be seen.
fn run_full_of_canaries(telemetry: &Telemetry) -> Recording {
    let model = Arc::new(ScriptedModel::new([
        Reply::text("canary-text")
            .and_thinking("canary-thinking", Some("canary-signature"))
            .and_call(
                "a",
                "bash",
                r#"{"command": "export TOKEN=canary-argument"}"#,
            )
            .and_call("b", "bash", r#"{"api_key": "canary-key"}"#)
            .and_call("c", "canary-tool", "{}")
            .and_call("d", "fails", "{}")
            .and_call("e", "refused", "{}")
            .and_call("f", "bash", r#"{"command": "canary-cut"#),
        Reply::error(ModelError::Connection {
            url: "http://canary-host".to_owned(),
            message: "canary-message".to_owned(),
        }),
        Reply::text("canary-answer")
            .stop(harness_core::StopReason::Other("canary-stop".to_owned())),
    ]));
    let bash = DynamicTool::new("bash", "Runs.", json!({"type": "object"}), |_, _| {
        Box::pin(async { Ok(ToolOutput::text("SECRET=canary-result\nplain canary-plain")) })
    });
    let fails = DynamicTool::new("fails", "Fails.", json!({"type": "object"}), |cx, _| {
        cx.progress("canary-progress");
        Box::pin(async { Err(ToolError::failed("canary-error")) })
    });
    let refused = DynamicTool::new(
        "refused",
        "Is refused.",
        json!({"type": "object"}),
        |_, _| Box::pin(async { Ok(ToolOutput::text("")) }),
    );
    let deny = from_fn::on_tool_call("policy", |cx, call, next| {
        Box::pin(async move {
            if call.name == "refused" {
                let (by, reason) = ("policy".to_owned(), "canary-reason".to_owned());
                return ToolOutcome::Denied { by, reason };
            }
            next.run(cx, call).await
        })
    });
    let config = recorded(&model, telemetry)
        .system_prompt(SystemPrompt::new("canary-system"))
        .tool(bash)
        .tool(fails)
        .tool(refused)
        .middleware(deny)
        .build()
        .unwrap();
    let caller = Caller {
        user: Some("canary-user".to_owned()),
        session: Some("session_1".to_owned()),
        working_dir: Some("/srv/canary-folder".into()),
        ..Caller::default()
    };
    let options = RunOptions {
        caller,
        ..RunOptions::default()
    };
    let recording = Recording::new(&Schemas::built_in());
    tracing::subscriber::with_default(recording.subscriber(), || {
        block_on(async {
            let mut handle = run_with(&config, RunInput::prompt("canary-prompt"), options);
            while handle.next().await.is_some() {}
            assert_eq!(handle.outcome().await.unwrap().status.word(), "finished");
        });
    });
    assert_eq!(recording.problems(), [""; 0]);
    recording
}

fn attributes(recording: &Recording) -> Vec<(String, Value)> {
    let each = |span: RecordedSpan| {
        let events = span.events.into_iter().flat_map(|event| event.attributes);
        span.attributes
            .into_iter()
            .chain(events)
            .chain([("name".to_owned(), json!(span.name))])
    };
    recording.spans().into_iter().flat_map(each).collect()
}

#[test]
fn tel_10_nothing_of_content_is_recorded_by_default() {
    let recording = run_full_of_canaries(&Telemetry::new("coder"));
    for (key, value) in attributes(&recording) {
        assert!(!value.to_string().contains("canary"), "{key}: {value}");
    }
}

#[test]
fn tel_10_content_that_is_asked_for_has_no_secrets() {
    let capture = ContentCapture::new().secrets(&["canary-answer"].into_iter().collect());
    let recording = run_full_of_canaries(&Telemetry::new("coder").capture_content(capture));
    let schemas = Schemas::built_in();
    let all = attributes(&recording);
    for (key, value) in &all {
        let text = value.to_string();
        let is_content = schemas
            .iter()
            .flat_map(|schema| schema.spans)
            .filter_map(|span| span.attribute(key))
            .any(|attribute| attribute.sensitive);
        assert!(is_content || !text.contains("canary"), "{key}: {text}");
        for secret in [
            "canary-argument",
            "canary-key",
            "canary-result",
            "canary-answer",
            "canary-user",
            "canary-folder",
            "canary-host",
            "canary-signature",
        ] {
            assert!(!text.contains(secret), "{key}: {text}");
        }
    }
    let told = |key: &str, text: &str| {
        let found = all
            .iter()
            .any(|(own, value)| own == key && value.to_string().contains(text));
        assert!(found, "{key} lacks {text}");
    };
    told("gen_ai.system_instructions", "canary-system");
    told("gen_ai.input.messages", "canary-prompt");
    told("gen_ai.input.messages", "canary-reason");
    told("gen_ai.output.messages", "canary-text");
    told("gen_ai.output.messages", "canary-thinking");
    told("gen_ai.tool.definitions", "Runs.");
    told("gen_ai.tool.call.arguments", "export TOKEN=[redacted]");
    told("gen_ai.tool.call.arguments", "[redacted]");
    told("gen_ai.tool.call.result", "canary-plain");
}

#[test]
fn content_is_bounded() {
    const MOST: usize = 1024;
    let long = "long ".repeat(10_000);
    let model = Arc::new(ScriptedModel::new([Reply::text(&long)]));
    // Alternating, as protocols want it.
    let replies = Arc::new(ScriptedModel::new((0..100).map(|number| {
        Reply::text(&format!("answer {number} {}", "x".repeat(number * 10)))
    })));
    let talk = recorded(&replies, &Telemetry::new("talker"))
        .build()
        .unwrap();
    let history = (0..100).fold(Vec::new(), |history, number| {
        let input = RunInput::prompt(format!("question {number}")).with_history(history);
        block_on(async {
            let mut handle = run_with(&talk, input, RunOptions::default());
            while handle.next().await.is_some() {}
            handle.outcome().await.unwrap().history
        })
    });
    let telemetry = Telemetry::new("coder").capture_content(ContentCapture::new().max_bytes(MOST));
    let config = recorded(&model, &telemetry)
        .system_prompt(SystemPrompt::new(long.as_str()))
        .build()
        .unwrap();
    let recording = Recording::new(&Schemas::built_in());
    tracing::subscriber::with_default(recording.subscriber(), || {
        block_on(async {
            let input = RunInput::prompt(long.as_str()).with_history(history);
            let mut handle = run_with(&config, input, RunOptions::default());
            while handle.next().await.is_some() {}
        });
    });
    let chat = &recording.of("gen_ai.chat")[0];
    for key in [
        "gen_ai.system_instructions",
        "gen_ai.input.messages",
        "gen_ai.output.messages",
    ] {
        let text = chat.attributes[key].to_string();
        assert!(
            (100..=MOST + 64).contains(&text.len()),
            "{key}: {}",
            text.len()
        );
    }
}

/// One's own redactor is asked instead, for each piece of text before it becomes JSON.
#[test]
fn a_redactor_can_be_replaced() {
    struct Shout;
    impl Redactor for Shout {
        fn redact<'a>(&self, text: &'a str) -> Cow<'a, str> {
            assert!(!text.contains("\\n"), "not escaped: {text}");
            Cow::Owned(text.to_uppercase())
        }
    }
    let telemetry = Telemetry::new("coder").capture_content(ContentCapture::new().redactor(Shout));
    let recording = run_full_of_canaries(&telemetry);
    let text = recording.of("gen_ai.chat")[0].attributes["gen_ai.input.messages"].to_string();
    assert!(text.contains("CANARY-PROMPT"), "{text}");
}
