//! Telemetry: what is said and done stays where it is, and keys do so always.

use std::fs;

use serde_json::json;

use crate::collector::{Behaviour, Collector, recorded};
use crate::program::{Bed, Ended};
use crate::server::{Answer, Server};
use crate::wire::{Reply, Wire};

const CONTENT: (&str, &str) = ("OTEL_INSTRUMENTATION_GENAI_CAPTURE_MESSAGE_CONTENT", "true");

/// What nobody may ever see.
const SECRETS: [&str; 6] = [
    "key-canary-1",
    "token-canary-2",
    "dotenv-canary-3",
    "header-canary-4",
    "bearer-canary-5",
    "url-canary-6",
];

/// What may be seen where that is switched on.
const CONTENTS: [&str; 7] = [
    "prompt-canary",
    "system-canary",
    "result-canary",
    "reply-canary",
    "argument-canary",
    "harmless-canary",
    "stdin-canary",
];

/// What somebody who listens has got, and how it came to that.
struct Heard {
    ended: Ended,
    /// What the collector got.
    sent: String,
    /// What is in the file.
    written: String,
    folder: String,
}

/// A run that sees and says a lot, with `more` variables, at the end of which the service gives `last`.
fn hear(more: &[(&str, &str)], behaviour: Behaviour, last: Answer) -> Heard {
    let bed = Bed::new();
    bed.write(
        ".env",
        "# harmless-canary\nSTRIPE=dotenv-canary-3\nexport PASSWORD='dotenv-canary-3'\n",
    );
    let command = "export TOKEN=token-canary-2; echo argument-canary result-canary; cat missing";
    let curl = "echo -H 'Authorization: Bearer bearer-canary-5' https://me:url-canary-6@h/; \
                echo \"$OTEL_EXPORTER_OTLP_HEADERS\"";
    let server = Server::start([
        Answer::reply(
            Wire::Chat,
            &Reply::says("reply-canary")
                .and_calls("c1", "read", &json!({ "path": ".env" }))
                .and_calls("c2", "bash", &json!({ "command": command }))
                .and_calls("c3", "bash", &json!({ "command": curl }))
                .and_calls(
                    "c4",
                    "argument-canary",
                    &json!({ "api_key": "token-canary-2" }),
                )
                .and_calls_raw("c5", "bash", "{\"command\": \"argument-canary"),
        ),
        last,
    ]);
    let collector = Collector::start(behaviour);
    let url = server.url();
    let arguments = [
        "-m",
        "x/y",
        "--base-url",
        &url,
        "--api-key-env",
        "MY_SECRET",
        "--append-system-prompt",
        "system-canary key-canary-1",
        "--trace",
        "out.json",
        "prompt-canary, and my key is key-canary-1",
    ];
    let start = recorded(bed.run(&arguments), &collector.url())
        .env("MY_SECRET", "key-canary-1")
        .env(
            "OTEL_EXPORTER_OTLP_HEADERS",
            "x-key=Custom%20header-canary-4",
        )
        .stdin("stdin-canary")
        .envs(more);
    let ended = start.end();
    let sent = server.requests()[1].body.to_string();
    // The canaries did get as far as the model.
    let left = ["header-canary-4"]; // Whether commands see it is not what this is about.
    for canary in SECRETS
        .iter()
        .chain(&CONTENTS)
        .filter(|it| !left.contains(it))
    {
        assert!(sent.contains(canary), "{canary} is not in {sent}");
    }
    let requests = collector.requests();
    assert!(!requests.is_empty());
    for request in &requests {
        assert_eq!(request.header("x-key"), Some("Custom header-canary-4"));
    }
    let bodies = requests.iter().map(|request| request.body.to_string());
    Heard {
        ended,
        sent: bodies.collect(),
        written: fs::read_to_string(bed.work().join("out.json")).unwrap(),
        folder: bed.root().display().to_string(),
    }
}

/// TEL-09, TEL-10, TEL-12: by default, nothing of what was said or done is anywhere, nor where it was.
#[test]
fn tel_09_tel_10_tel_12_nothing_that_was_said_is_recorded() {
    let echo = json!({ "error": { "message": "prompt-canary key-canary-1 is wrong" } });
    for (last, behaviour, code) in [
        (Answer::says("Done: result-canary"), Behaviour::Accept, 0),
        (Answer::status(400, &echo.to_string()), Behaviour::Accept, 1),
        (Answer::says("Done."), Behaviour::Status(400), 0),
    ] {
        let loud = [("RUST_LOG", "trace")];
        let heard = hear(&loud, behaviour, last);
        let ended = heard.ended.exits(code);
        for text in [&heard.sent, &heard.written] {
            for canary in SECRETS
                .iter()
                .chain(&CONTENTS)
                .chain(&[heard.folder.as_str()])
            {
                assert!(!text.contains(canary), "{canary} is in {text}");
            }
            assert!(text.contains("execute_tool bash"), "{text}");
        }
        // What the service said is told to the person who asked, and the key is not.
        for canary in SECRETS.iter().chain(&CONTENTS[1..]) {
            assert!(!ended.stderr.contains(canary), "{canary}: {ended:#?}");
        }
    }
}

/// TEL-09, TEL-10: what was said, where that is wanted, and no secret.
#[test]
fn tel_09_tel_10_content_is_recorded_without_secrets() {
    let last = Answer::says("Done: result-canary key-canary-1");
    let heard = hear(&[CONTENT], Behaviour::Accept, last);
    heard.ended.exits(0);
    for text in [&heard.sent, &heard.written] {
        for canary in SECRETS {
            assert!(!text.contains(canary), "{canary} is in {text}");
        }
        for canary in CONTENTS {
            assert!(text.contains(canary), "{canary} is not in {text}");
        }
        for key in [
            "gen_ai.input.messages",
            "gen_ai.output.messages",
            "gen_ai.system_instructions",
            "gen_ai.tool.call.arguments",
            "gen_ai.tool.call.result",
        ] {
            assert!(text.contains(key), "{key} is not in {text}");
        }
    }
}

/// TEL-10: large content is cut, and what is sent stays bounded.
#[test]
fn tel_10_content_is_bounded() {
    let bed = Bed::new();
    bed.write("large.txt", "word \u{e4} ".repeat(5_000));
    let call = Reply::calls("c1", "read", &json!({ "path": "large.txt" }));
    let server = Server::replies(Wire::Chat, &[call, Reply::says("Done.")]);
    let collector = Collector::accepting();
    let url = server.url();
    let prompt = "a long task ".repeat(10_000);
    let start = bed.run(&["-m", "x/y", "--base-url", &url, &prompt]);
    let start = recorded(start, &collector.url()).envs(&[CONTENT]);
    start.end().exits(0);
    for span in collector.spans() {
        for attribute in span.0["attributes"].as_array().unwrap() {
            let value = attribute["value"]["stringValue"].as_str().unwrap_or("");
            assert!(value.len() <= 16 * 1024, "{}: {}", span.name(), value.len());
        }
    }
    let bodies = collector.requests().into_iter();
    let sent: String = bodies.map(|request| request.body.to_string()).collect();
    assert!(sent.contains("a long task"));
}

/// `true`, and nothing else, switches it on.
#[test]
fn other_values_do_not_switch_content_on() {
    for value in ["1", "yes", "on", "false", "span_only", "truee"] {
        let heard = hear(
            &[(CONTENT.0, value)],
            Behaviour::Accept,
            Answer::says("Done."),
        );
        heard.ended.exits(0);
        for canary in CONTENTS {
            assert!(!heard.sent.contains(canary), "{value}: {canary}");
            assert!(!heard.written.contains(canary), "{value}: {canary}");
        }
    }
}
