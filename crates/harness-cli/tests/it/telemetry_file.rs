//! Telemetry: `harness run --trace FILE`.

use std::fs;
use std::os::unix::fs::PermissionsExt;
use std::path::Path;

use rustix::process::Signal;
use serde_json::{Value, json};

use crate::collector::{Behaviour, Collector, Span, closed_port, only, recorded, spans, tree};
use crate::program::{Bed, Running, wait_until};
use crate::telemetry::{ANSWER, play};

/// The spans of a file in OTLP's format that is whole.
#[track_caller]
fn whole(path: &Path) -> Vec<Span> {
    let text = fs::read_to_string(path).unwrap();
    let document: Value = serde_json::from_str(&text).unwrap();
    spans(&document)
}

fn mode(path: &Path) -> u32 {
    fs::metadata(path).unwrap().permissions().mode() & 0o777
}

/// The name decides on the format, unless that is said; `harness trace` draws either.
#[test]
fn a_trace_is_written_in_the_format_of_its_name() {
    for (file, more, chrome) in [
        ("run.json", &[][..], false),
        ("run.jsonl", &[], false),
        ("trace", &[], false),
        ("run.chrome.json", &[], true),
        ("run.perfetto.json", &[], true),
        ("run.trace", &[], true),
        ("run.json", &["--trace-format", "chrome"], true),
        ("run.trace", &["--trace-format=otlp"], false),
    ] {
        let bed = Bed::new();
        let arguments = [&["--trace", file], more].concat();
        let ended = play(&bed, &arguments).end().exits(0).answers(ANSWER);
        assert_eq!(ended.stderr, "");
        let path = bed.work().join(file);
        assert_eq!(mode(&path), 0o600, "{file}");
        let text = fs::read_to_string(&path).unwrap();
        let document: Value = serde_json::from_str(&text).unwrap();
        if chrome {
            let events = document.as_array().or(document["traceEvents"].as_array());
            assert!(events.is_some_and(|events| events.len() > 10), "{file}");
        } else {
            let spans = spans(&document);
            only(&spans, "harness.run");
            only(&spans, "execute_tool bash");
        }
        let drawn = bed.harness(&["trace", file, "--all"]).end().exits(0);
        assert_eq!(drawn.stderr, "");
        for name in ["invoke_agent harness", "execute_tool bash", "chat script"] {
            assert!(drawn.stdout.contains(name), "{file}: {}", drawn.stdout);
        }
        let only_files: Vec<_> = fs::read_dir(bed.work()).unwrap().collect();
        assert_eq!(only_files.len(), 2, "something is left: {only_files:?}");
    }
    let bed = Bed::new();
    let ended = play(&bed, &["--trace-format", "otlp"]).end().exits(2);
    ended.says(&["--trace"]);
    let ended = play(&bed, &["--trace", "a", "--trace-format", "xml"]).end();
    ended.exits(2).says(&["xml"]);
}

/// The file is there without a collector, whatever the variables switch off; and beside one, good or bad.
#[test]
fn a_file_and_a_collector_each_get_all() {
    let collector = Collector::accepting();
    let bed = Bed::new();
    let start = recorded(play(&bed, &["--trace", "run.json"]), &collector.url());
    assert_eq!(start.end().exits(0).stderr, "");
    let (sent, written) = (collector.spans(), whole(&bed.work().join("run.json")));
    assert_eq!(tree(&sent), tree(&written));
    let ids = |spans: &[Span]| {
        let mut ids: Vec<String> = spans.iter().map(|span| span.id().to_owned()).collect();
        ids.sort_unstable();
        ids
    };
    assert_eq!(ids(&sent), ids(&written));

    let hanging = Collector::start(Behaviour::Hang);
    let (hanging, closed) = (hanging.url(), closed_port());
    for (variables, lines) in [
        (&[("OTEL_EXPORTER_OTLP_ENDPOINT", hanging.as_str())][..], 1),
        (&[("OTEL_EXPORTER_OTLP_ENDPOINT", &closed)], 1),
        (&[("OTEL_SDK_DISABLED", "true")], 0),
        (&[("OTEL_TRACES_EXPORTER", "none")], 0),
        (
            &[
                ("OTEL_EXPORTER_OTLP_ENDPOINT", &closed),
                ("OTEL_EXPORTER_OTLP_PROTOCOL", "foo"),
            ],
            1,
        ),
        (&[("OTEL_EXPORTER_OTLP_ENDPOINT", "ftp://h")], 1),
    ] {
        let bed = Bed::new();
        let start = play(&bed, &["--trace", "run.json"])
            .env("OTEL_SERVICE_NAME", "mine")
            .env(
                "TRACEPARENT",
                "00-4bf92f3577b34da6a3ce929d0e0e4736-00f067aa0ba902b7-01",
            );
        let ended = start.envs(variables).end().exits(0).answers(ANSWER);
        assert_eq!(
            ended.stderr.lines().count(),
            lines,
            "{variables:?} {ended:#?}"
        );
        let path = bed.work().join("run.json");
        let written = whole(&path);
        assert_eq!(written.len(), sent.len(), "{variables:?}");
        assert_eq!(
            only(&written, "harness.command run").parent(),
            "00f067aa0ba902b7"
        );
        let text = fs::read_to_string(&path).unwrap();
        assert!(text.contains("\"mine\""), "{variables:?}");
    }
}

/// Before anything is asked or done.
#[test]
fn a_file_that_cannot_be_written_is_told_before_the_run() {
    let bed = Bed::new();
    let work = bed.work().display().to_string();
    let own = bed.write("locked/file", "");
    let locked = own.parent().unwrap();
    fs::set_permissions(locked, fs::Permissions::from_mode(0o500)).unwrap();
    let is_root = fs::write(locked.join("probe"), "").is_ok();
    for path in [
        "absent/run.json",
        ".",
        &work,
        "script.json/run.json",
        "/dev/null",
        "",
        "locked/run.json",
    ] {
        if is_root && path.starts_with("locked") {
            continue;
        }
        let ended = play(&bed, &["--trace", path]).end().exits(2);
        assert_eq!(ended.stdout, "", "{path}");
        assert_eq!(ended.stderr.lines().count(), 1, "{path}: {ended:#?}");
        ended.says(&["trace"]);
        let ended = play(&bed, &["--trace", path, "--output", "json"]).end();
        assert_eq!(ended.exits(2).error_object()["kind"], "usage", "{path}");
    }
    fs::set_permissions(locked, fs::Permissions::from_mode(0o700)).unwrap();
    assert!(!bed.home().join(".local").exists(), "{:?}", bed.files());
}

/// A file that is there is replaced, and a link to one is, too.
#[test]
fn a_file_that_is_there_is_replaced() {
    let bed = Bed::new();
    let path = bed.write("run.json", "old\n".repeat(10_000));
    fs::set_permissions(&path, fs::Permissions::from_mode(0o644)).unwrap();
    let target = bed.write("target.json", "old");
    std::os::unix::fs::symlink(&target, bed.work().join("link.json")).unwrap();
    for file in ["run.json", "run.json", "link.json", "~/run.json"] {
        play(&bed, &["--trace", file]).end().exits(0);
        let path = match file.strip_prefix("~/") {
            Some(file) => bed.home().join(file),
            None => bed.work().join(file),
        };
        assert!(!whole(&path).is_empty(), "{file}");
        assert_eq!(mode(&path), 0o600);
    }
    assert_eq!(fs::read_to_string(target).unwrap(), "old");
}

/// A disk that is full ends no run: what is lost is told in one line.
#[test]
fn a_file_that_cannot_grow_is_told() {
    let bed = Bed::new();
    let arguments = ["--trace", "run.json", "--no-session"];
    let ended = play(&bed, &arguments).no_file_above(0).end();
    let ended = ended.exits(0).answers(ANSWER);
    assert_eq!(ended.stderr.lines().count(), 1, "{ended:#?}");
    ended.notes("spans of the trace are lost");
}

/// A run whose command sleeps until it is ended.
fn sleeping(bed: &Bed, more: &[&str]) -> Running {
    // No longer than its folder is there: nothing is left of a run that is killed.
    let command = "touch started; while [ -e started ]; do sleep 0.1; done";
    let call = |command| json!({ "tool": "bash", "arguments": { "command": command } });
    let script = json!({ "turns": [
        { "calls": [call("true")] }, { "calls": [call(command)] }, { "text": "Done." },
    ] });
    bed.write("script.json", script.to_string());
    let model = ["-m", "scripted:script.json", "Do it."];
    let running = bed.run(&[&model, more].concat()).spawn();
    let mark = bed.work().join("started");
    wait_until("the command runs", || mark.exists());
    running
}

/// A run that is cancelled leaves a whole trace, which says so.
#[test]
fn a_run_that_is_cancelled_leaves_a_whole_trace() {
    for file in ["run.json", "run.trace"] {
        let bed = Bed::new();
        let running = sleeping(&bed, &["--trace", file]);
        running.signal(Signal::INT);
        let ended = running.end().exits(130);
        assert_eq!(ended.stderr.lines().count(), 1, "{ended:#?}");
        let drawn = bed.harness(&["trace", file]).end().exits(0);
        assert_eq!(drawn.stderr, "", "{file}");
        assert!(drawn.stdout.contains("cancelled"), "{}", drawn.stdout);
        if file == "run.json" {
            let spans = whole(&bed.work().join(file));
            tree(&spans);
            let run = only(&spans, "harness.run");
            assert_eq!(run.attribute("harness.run.outcome"), Some("cancelled"));
            let outcomes = spans
                .iter()
                .filter(|span| span.name() == "execute_tool bash")
                .map(|span| span.attribute("harness.tool.outcome").unwrap());
            assert_eq!(outcomes.collect::<Vec<_>>(), ["done", "cancelled"]);
        }
    }
}

/// Nobody has the time to tell anything: what had ended is there all the same.
#[test]
fn a_run_that_is_killed_leaves_what_had_ended() {
    for file in ["run.json", "run.trace"] {
        let bed = Bed::new();
        let running = sleeping(&bed, &["--trace", file]);
        let path = bed.work().join(file);
        // The last one that ends before the command goes on for ever.
        wait_until("the spans are written", || {
            let text = fs::read_to_string(&path).unwrap();
            text.matches("chat script").count() >= 2
        });
        running.signal(Signal::KILL);
        running.end().exits(-9);
        let drawn = bed.harness(&["trace", file, "--all"]).end().exits(0);
        for name in ["run.started", "execute_tool bash", "chat script"] {
            assert!(drawn.stdout.contains(name), "{file}: {}", drawn.stdout);
        }
        assert_eq!(mode(&path), 0o600);
        let shown = bed.harness(&["trace", file, "--output", "json"]).end();
        let trace = &shown.exits(0).events()[0];
        let spans = trace["spans"].as_array().unwrap();
        let named = |name: &str| spans.iter().filter(|span| span["name"] == name).count();
        assert_eq!(named("chat script"), 2, "{file}");
        assert_eq!(named("execute_tool bash"), 1, "{file}");
        assert_eq!(named("harness.run"), 0, "{file}");
    }
}

/// A run that does not begin leaves a trace that says so, and none at all is made of a wrong command line.
#[test]
fn a_run_that_does_not_begin() {
    let bed = Bed::new();
    let ended = bed.run(&["-m", "scripted:absent", "--trace", "run.json", "hi"]);
    ended.end().exits(2);
    let drawn = bed.harness(&["trace", "run.json"]).end().exits(0);
    assert!(drawn.stdout.contains("command run"), "{drawn:#?}");
    assert!(drawn.stdout.contains("1 error"), "{drawn:#?}");
}
