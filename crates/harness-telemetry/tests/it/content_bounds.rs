//! How much of content is recorded, whatever it is made of, and how long that takes.

use std::sync::Arc;
use std::time::{Duration, Instant};

use futures::executor::block_on;
use harness_core::test_support::{Reply, ScriptedModel};
use harness_core::{DynamicTool, RunInput, RunOptions, SystemPrompt, ToolOutput, run_with};
use harness_telemetry::Schemas;
use harness_telemetry::middleware::{ContentCapture, Telemetry};
use harness_telemetry::test_support::Recording;
use serde_json::{Value, json};

use crate::runs::recorded;

const CONTENT: [&str; 6] = [
    "gen_ai.system_instructions",
    "gen_ai.input.messages",
    "gen_ai.output.messages",
    "gen_ai.tool.definitions",
    "gen_ai.tool.call.arguments",
    "gen_ai.tool.call.result",
];

/// A run in which everything is this text.
fn run_of(text: &str, max_bytes: usize) -> Recording {
    let telemetry = Telemetry::new("a").capture_content(ContentCapture::new().max_bytes(max_bytes));
    let arguments = json!({ "text": text }).to_string();
    let model = Arc::new(ScriptedModel::new([
        Reply::text(text).and_call("a", "say", &arguments),
        Reply::text(text),
    ]));
    let own = text.to_owned();
    let say = DynamicTool::new("say", text, json!({"type": "object"}), move |_, _| {
        let own = own.clone();
        Box::pin(async move { Ok(ToolOutput::text(own)) })
    });
    let config = recorded(&model, &telemetry)
        .system_prompt(SystemPrompt::new(text))
        .tool(say)
        .build()
        .unwrap();
    let recording = Recording::new(&Schemas::built_in());
    tracing::subscriber::with_default(recording.subscriber(), || {
        block_on(async {
            let mut handle = run_with(&config, RunInput::prompt(text), RunOptions::default());
            while handle.next().await.is_some() {}
            handle.outcome().await.unwrap();
        });
    });
    recording
}

fn contents(recording: &Recording) -> Vec<(String, String)> {
    let mut found = Vec::new();
    for span in recording.spans() {
        for key in CONTENT {
            if let Some(Value::String(text)) = span.attributes.get(key) {
                found.push((format!("{} of {}", key, span.name), text.clone()));
            }
        }
    }
    found
}

#[test]
fn no_attribute_is_longer_than_was_allowed() {
    let texts = [
        "a".repeat(20_000),
        "\u{1b}".repeat(20_000),
        "\"\\\n".repeat(7_000),
        "汉".repeat(7_000),
    ];
    for text in &texts {
        for max in [0, 1, 40, 300, 5_000, 16 * 1024] {
            let recording = run_of(text, max);
            let all = contents(&recording);
            assert!(all.len() >= 6);
            for (what, content) in all {
                let short: String = content.chars().take(60).collect();
                assert!(
                    content.len() <= max.max(32),
                    "{what}: {} > {max}: {short}",
                    content.len()
                );
                assert!(
                    serde_json::from_str::<Value>(&content).is_ok(),
                    "{what}: {short}"
                );
            }
        }
    }
}

#[test]
fn of_what_is_too_long_the_beginning_is_there() {
    for text in [
        "a".repeat(100_000),
        "x = \"\\\n".repeat(20_000),
        "\u{1b}".repeat(50_000),
    ] {
        for (what, content) in contents(&run_of(&text, 16 * 1024)) {
            // Of tools it is the names.
            let least = if what.starts_with("gen_ai.tool.definitions") {
                30
            } else {
                2_000
            };
            assert!(content.len() > least, "{what}: {content}");
        }
    }
}

/// What is wanted is that it takes no time that anybody notices; the bound is wide.
#[test]
fn many_tools_and_long_texts_do_not_hold_a_run() {
    let telemetry = Telemetry::new("a").capture_content(ContentCapture::new());
    let model = Arc::new(ScriptedModel::new([Reply::text("done")]));
    let mut config = recorded(&model, &telemetry);
    for number in 0..1_000 {
        let name = format!("tool_{number}");
        let description = "What it does. ".repeat(100);
        config = config.tool(DynamicTool::new(
            &name,
            &description,
            json!({"type": "object"}),
            |_, _| Box::pin(async { Ok(ToolOutput::text("")) }),
        ));
    }
    let config = config.build().unwrap();
    let recording = Recording::new(&Schemas::built_in());
    let began = Instant::now();
    tracing::subscriber::with_default(recording.subscriber(), || {
        block_on(async {
            let mut handle = run_with(&config, RunInput::prompt("go"), RunOptions::default());
            while handle.next().await.is_some() {}
            handle.outcome().await.unwrap();
        });
    });
    let took = began.elapsed();
    assert!(took < Duration::from_secs(3), "{took:?}");
}
