//! Telemetry: collectors that fail, in every way they do, change nothing of a run but for one line.

use std::time::{Duration, Instant};

use crate::collector::{Behaviour, Collector, closed_port, recorded};
use crate::program::{Bed, Ended, Start};
use crate::telemetry::{ANSWER, play};

/// What a run may take longer than without telemetry. What is meant is half a second.
const AT_MOST: Duration = Duration::from_secs(3);

/// What events there were. How often a command tells of its output depends on when that comes.
fn kinds(ended: &Ended) -> Vec<String> {
    let events = ended.events();
    let kinds = events.iter().filter_map(|event| event["type"].as_str());
    let kinds = kinds.filter(|kind| *kind != "tool_progress");
    kinds.map(str::to_owned).collect()
}

/// A run that sends to this address, beside one that does not.
#[track_caller]
fn check(name: &str, url: &str, words: &[&str]) {
    let lines = |ended: &Ended| ended.stderr.lines().count();
    for more in [&[][..], &["--output", "json"], &["--max-turns", "1"]] {
        let bed = Bed::new();
        let plain = play(&bed, more).end();
        let begun = Instant::now();
        let ended = recorded(play(&bed, more), url).end();
        let took = begun.elapsed();
        assert_eq!(ended.code, plain.code, "{name}: {ended:#?}");
        if more.contains(&"json") {
            assert_eq!(kinds(&ended), kinds(&plain), "{name}");
            assert_eq!(ended.run_end()["answer"], ANSWER);
        } else {
            assert_eq!(ended.stdout, plain.stdout, "{name}");
        }
        assert_eq!(lines(&ended), lines(&plain) + 1, "{name}: {ended:#?}");
        let notes: Vec<&str> = ended
            .stderr
            .lines()
            .filter(|line| line.starts_with("note: ") && !plain.stderr.contains(line))
            .collect();
        assert_eq!(notes.len(), 1, "{name}: {ended:#?}");
        assert!(
            notes[0].contains("spans of the trace are lost"),
            "{name}: {ended:#?}"
        );
        for word in [&[url.trim_start_matches("http://")], words].concat() {
            assert!(notes[0].contains(word), "{name}: {word:?}: {ended:#?}");
        }
        assert!(took < plain.took + AT_MOST, "{name}: {took:?}");
    }
}

/// TEL-01: nobody is there, or nobody answers.
#[test]
fn tel_01_a_collector_that_cannot_be_reached() {
    check("closed", &closed_port(), &["refused"]);
    for behaviour in [Behaviour::Ignore, Behaviour::Hang] {
        let collector = Collector::start(behaviour);
        check(&format!("{behaviour:?}"), &collector.url(), &["in time"]);
    }
}

/// TEL-03: the attempts are bounded, and so are the pauses between them.
#[test]
fn tel_03_a_collector_that_refuses() {
    for (status, attempts) in [(503, 2..=4), (429, 2..=4), (500, 1..=1), (401, 1..=1)] {
        let collector = Collector::start(Behaviour::Status(status));
        check("status", &collector.url(), &[&status.to_string()]);
        let requests = collector.requests();
        let count = requests.iter().filter(|it| it.path == "/v1/traces").count();
        // Three runs; of one that is over in no time there may be two batches.
        let (least, most) = (attempts.start() * 3, attempts.end() * 6);
        assert!((least..=most).contains(&count), "{status}: {count}");
    }
}

/// TEL-04: each attempt is bounded, whatever comes, and however slowly.
#[test]
fn tel_04_a_collector_without_an_end() {
    let collector = Collector::start(Behaviour::Drip);
    check("drip", &collector.url(), &["in time"]);
    let collector = Collector::start(Behaviour::Endless);
    check("endless", &collector.url(), &["without an end"]);
}

/// Of metrics alone, no span is lost.
#[test]
fn metrics_that_are_lost_are_told() {
    let bed = Bed::new();
    let url = closed_port();
    let ended = play(&bed, &[])
        .env("OTEL_EXPORTER_OTLP_METRICS_ENDPOINT", &url)
        .end()
        .exits(0)
        .answers(ANSWER);
    assert_eq!(ended.stderr.lines().count(), 1, "{ended:#?}");
    ended.notes("not all of the telemetry was delivered");
}

/// The longest time that the variables allow is no longer than the end of the run does.
#[test]
fn tel_03_no_variable_makes_the_end_longer() {
    let collector = Collector::start(Behaviour::Hang);
    let bed = Bed::new();
    let start: Start = recorded(play(&bed, &[]), &collector.url());
    let ended = start
        .env("OTEL_EXPORTER_OTLP_TIMEOUT", "60000")
        .env("OTEL_BSP_SCHEDULE_DELAY", "60000")
        .end()
        .exits(0)
        .answers(ANSWER);
    assert!(ended.took < Duration::from_secs(10), "{ended:#?}");
    ended.notes("in time");
}
