//! `harness trace`: a trace file, drawn.

use serde_json::{Value, json};

use crate::program::Bed;
use crate::terminal::on_terminal;

/// A run of two turns: a request that is made again, two tools at the same time, of which one waits and fails.
const RUN: &str = include_str!("traces/run.jsonl");

/// One document with such spans.
fn document(spans: &[Value]) -> String {
    json!({"resourceSpans": [{"scopeSpans": [{"spans": spans}]}]}).to_string()
}

#[test]
fn a_run_is_drawn() {
    let bed = Bed::new();
    bed.write("run.json", RUN);
    for (name, arguments) in [
        ("text", &["trace", "run.json"][..]),
        ("narrow", &["trace", "run.json", "--width", "60"]),
        ("wide", &["trace", "run.json", "--width=140"]),
        ("all", &["trace", "--all", "run.json"]),
    ] {
        let ended = bed.harness(arguments).end().exits(0);
        assert_eq!(ended.stderr, "");
        insta::assert_snapshot!(name, ended.stdout);
        let width = match name {
            "narrow" => 60,
            "wide" => 140,
            _ => 100,
        };
        let lines = ended.stdout.lines().skip(4);
        for line in lines {
            assert!(line.chars().count() <= width, "{line:?}");
        }
    }
}

/// What is drawn above is what is recorded: keys and words that no schema has would be drawn for nobody.
#[test]
fn the_run_that_is_drawn_has_the_keys_that_are_recorded() {
    let bed = Bed::new();
    let ended = bed.harness(&["telemetry", "--output", "json"]).end();
    let declared = ended.exits(0).stdout;
    for line in RUN.lines() {
        let document: Value = serde_json::from_str(line).unwrap();
        let spans = document
            .pointer("/resourceSpans/0/scopeSpans/0/spans")
            .unwrap();
        for span in spans.as_array().unwrap() {
            for attribute in span["attributes"].as_array().unwrap() {
                let key = attribute["key"].as_str().unwrap();
                let known = declared.contains(&format!("\"{key}\"")) || key == "error.type";
                assert!(known, "{key}");
                let value = &attribute["value"]["stringValue"];
                if let (true, Some(word)) = (key.ends_with(".outcome"), value.as_str()) {
                    assert!(declared.contains(&format!("`{word}`")), "{key} {word}");
                }
            }
        }
    }
}

#[test]
fn as_json_it_is_one_object() {
    let bed = Bed::new();
    bed.write("run.json", RUN);
    let ended = bed.harness(&["trace", "run.json", "--output", "json"]);
    let events = ended.end().exits(0).events();
    assert_eq!(events.len(), 1);
    assert_eq!(events[0]["torn"], false);
    let spans = events[0]["spans"].as_array().unwrap();
    assert_eq!(spans.len(), 18);
    let chat = spans.iter().find(|it| it["span_id"] == "0000000000000009");
    assert_eq!(chat.unwrap()["attributes"]["harness.cost"], 0.0123);
}

/// A file of a run that was killed.
#[test]
fn a_file_that_was_cut_off_is_shown_as_far_as_it_goes() {
    let bed = Bed::new();
    bed.write("run.json", &RUN[..RUN.len() - 700]);
    let ended = bed.harness(&["trace", "run.json"]).end().exits(0);
    let ended = ended.notes("cut off");
    insta::assert_snapshot!("torn", ended.stdout);
    let ended = bed.harness(&["trace", "run.json", "--output=json"]);
    assert_eq!(ended.end().exits(0).events()[0]["torn"], true);
}

#[test]
fn what_is_no_trace_is_told() {
    let bed = Bed::new();
    bed.write("empty.json", "");
    bed.write("text.json", "Hello.\n");
    bed.write("other.json", "{\"data\": []}");
    bed.write("binary.json", [0x1f, 0x8b, 0, 255]);
    bed.write("half.json", "{\"resourceSpans\":[{\"sco");
    let large = std::fs::File::create(bed.write("large.json", "")).unwrap();
    large.set_len(70 << 20).unwrap();
    for (file, words) in [
        ("no.json", "cannot be read"),
        (".", "cannot be read"),
        ("empty.json", "it is empty"),
        ("text.json", "line 1"),
        ("other.json", "`resourceSpans`"),
        ("binary.json", "line 1"),
        ("half.json", "cut off"),
        ("large.json", "67108864 bytes"),
    ] {
        let ended = bed.harness(&["trace", file]).end().exits(2);
        assert_eq!(ended.stdout, "");
        ended.says(&[file, words]);
        let ended = bed.harness(&["trace", file, "--output", "json"]).end();
        assert_eq!(ended.exits(2).error_object()["kind"], "usage");
    }
    for arguments in [&["trace"][..], &["trace", "a", "--width", "39"]] {
        bed.harness(arguments).end().exits(2);
    }
}

#[test]
fn a_trace_without_spans_says_so() {
    let bed = Bed::new();
    bed.write("run.json", document(&[]));
    let ended = bed.harness(&["trace", "run.json"]).end().exits(0);
    ended.answers("trace\n0 spans");
}

/// Spans of another program, in its own words.
#[test]
fn other_programs_traces_are_drawn() {
    let bed = Bed::new();
    let span = |id: &str, parent: &str, name: &str, start: u64, end: u64| {
        json!({"traceId": "W47/95gDgQPSabYzgT/GDA==", "spanId": id, "parentSpanId": parent,
            "name": name, "kind": "SPAN_KIND_SERVER",
            "startTimeUnixNano": start * 1_000_000, "endTimeUnixNano": end * 1_000_000})
    };
    let mut failed = span(
        "0000000000000003",
        "0000000000000001",
        "SELECT",
        1_050,
        1_090,
    );
    failed["status"] = json!({"code": "STATUS_CODE_ERROR", "message": "no such table"});
    let llm = json!({"spanId": "9", "name": "chat", "startTimeUnixNano": "1100000000",
        "endTimeUnixNano": "1150000000", "attributes": [
            {"key": "gen_ai.operation.name", "value": {"stringValue": "chat"}},
            {"key": "gen_ai.request.model", "value": {"stringValue": "gpt"}},
            {"key": "gen_ai.usage.input_tokens", "value": {"intValue": 12}}]});
    let spans = [
        span("0000000000000001", "", "GET /", 1_000, 1_100),
        span("AAAAAAAAAAI=", "AAAAAAAAAAE=", "auth", 1_010, 1_040),
        failed,
        span("0000000000000004", "gone", "lost", 1_100, 1_090),
        json!({"name": "without a time", "spanId": "5"}),
        llm,
    ];
    bed.write(
        "run.json",
        document(&spans).replace("resourceSpans", "batches"),
    );
    let ended = bed.harness(&["trace", "run.json"]).end().exits(0);
    insta::assert_snapshot!("other", ended.stdout);
    let events =
        r#"[{"ph":"X","name":"a","ts":10,"dur":90},{"ph":"X","name":"b","ts":50,"dur":10},"#;
    bed.write("run.trace", events);
    let ended = bed.harness(&["trace", "run.trace"]).end().exits(0);
    assert_eq!(ended.stderr, "");
    insta::assert_snapshot!("other-chrome", ended.stdout);
}

/// Names that a terminal would act on, circles, depth, and more than anybody reads.
#[test]
fn a_hostile_trace_is_drawn_within_bounds() {
    let bed = Bed::new();
    let named = |name: &str, id: usize, parent: usize| {
        json!({"name": name, "spanId": format!("{id:016x}"), "parentSpanId": format!("{parent:016x}"),
            "startTimeUnixNano": 1_000, "endTimeUnixNano": u64::MAX.to_string(),
            "attributes": [{"key": "harness.run.outcome", "value": {"stringValue": "\u{1b}[2J\r\u{202e}x"}}]})
    };
    let spans = [
        named("\u{1b}]0;title\u{7}\0\n\u{9b}31m", 1, 2),
        named("invoke_agent \u{1b}[2J", 2, 1),
        named("harness.run", 3, 3),
    ];
    bed.write("names.json", document(&spans));
    for arguments in [
        &["trace", "names.json"][..],
        &["trace", "names.json", "--all", "--width=1000"],
    ] {
        let shown = bed.harness(arguments).end().exits(0).stdout;
        let acts = |c: char| c.is_control() && c != '\n' || c == '\u{202e}';
        assert!(!shown.contains(acts), "{shown:?}");
        assert_eq!(shown.matches("harness.run").count(), 0, "{shown}");
        assert!(shown.contains("\\u{1b}]0;title"), "{shown}");
    }
    let deep: Vec<Value> = (1..=5_000).map(|id| named("deep", id, id - 1)).collect();
    bed.write("deep.json", document(&deep));
    let shown = bed.harness(&["trace", "deep.json"]).end().exits(0).stdout;
    assert!(
        shown.contains("… 4000 more spans; --all shows all"),
        "{shown}"
    );
    assert!(shown.lines().all(|line| line.chars().count() <= 100));
    assert_eq!(shown.matches("deep").count(), 1_000);
    let shown = bed
        .harness(&["trace", "deep.json", "--all"])
        .end()
        .exits(0)
        .stdout;
    assert_eq!(shown.matches("deep").count(), 5_000);
}

/// What failed is red where there are colours; names are harmless all the same.
#[test]
fn colours_are_for_terminals() {
    let bed = Bed::new();
    bed.write(
        "run.json",
        RUN.replace("execute_tool bash", "execute_tool \\u001b[2J"),
    );
    let shown = |variables: &[(&str, &str)]| {
        let start = bed.harness(&["trace", "run.json"]).envs(variables);
        let (ended, shown) = on_terminal(start, |command, terminal| {
            command.stdout(terminal);
        });
        ended.exits(0);
        assert!(shown.contains("execute_tool \\u{1b}[2J"), "{shown:?}");
        shown
    };
    let coloured = shown(&[("TERM", "xterm")]);
    assert_eq!(coloured.matches("\x1b[31m!").count(), 3, "{coloured:?}");
    for variables in [
        &[("TERM", "xterm"), ("NO_COLOR", "1")][..],
        &[("TERM", "dumb")],
        &[],
    ] {
        assert!(!shown(variables).contains('\x1b'));
    }
}
