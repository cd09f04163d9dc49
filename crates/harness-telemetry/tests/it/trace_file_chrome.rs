//! Trace events, as the viewers want them.

use std::collections::BTreeMap;
use std::time::Duration;

use harness_telemetry::trace::Trace;
use harness_telemetry::trace_file::TraceFormat;
use opentelemetry_sdk::trace::SpanData;
use proptest::prelude::*;
use serde_json::{Value, json};

use crate::trace_file_spans::{run, span, written};

/// The complete events of a file: thread, start and end in nanoseconds, arguments.
fn drawn(text: &str) -> Vec<(u64, u64, u64, Value)> {
    // As the importer of chrome://tracing does with an array that is not closed.
    let text = text.trim_end().trim_end_matches(',');
    let close = if text.ends_with(']') { "" } else { "]" };
    let events: Vec<Value> = serde_json::from_str(&format!("{text}{close}")).unwrap();
    let nanos = |value: &Value| (value.as_f64().unwrap() * 1_000.0).round() as u64;
    let spans = events.into_iter().filter(|event| event["ph"] == "X");
    spans
        .map(|event| {
            let start = nanos(&event["ts"]);
            let lane = event["tid"].as_u64().unwrap();
            assert_eq!(event["pid"], 1);
            (
                lane,
                start,
                start + nanos(&event["dur"]),
                event["args"].clone(),
            )
        })
        .collect()
}

/// The spans that a viewer draws each span in: within a thread, by their times.
fn nested(text: &str) -> BTreeMap<String, Vec<String>> {
    let id = |args: &Value| args["span_id"].as_str().unwrap().to_owned();
    let mut open: BTreeMap<u64, Vec<(u64, String)>> = BTreeMap::new();
    let mut within = BTreeMap::new();
    for (lane, start, end, args) in drawn(text) {
        let stack = open.entry(lane).or_default();
        while stack.last().is_some_and(|(last, _)| *last <= start) {
            stack.pop();
        }
        if let Some((last, _)) = stack.last() {
            assert!(
                end <= *last,
                "{} reaches out of its lane's span: {text}",
                id(&args)
            );
        }
        within.insert(id(&args), stack.iter().map(|(_, id)| id.clone()).collect());
        stack.push((end, id(&args)));
    }
    within
}

#[test]
fn what_overlaps_is_in_lanes_of_its_own() {
    let spans = run();
    let batches: Vec<_> = spans.chunks(1).collect();
    let text = written(TraceFormat::Chrome, &batches, true);
    let id = |number: u64| format!("{number:016x}");
    let within = nested(&text);
    let ids = |numbers: &[u64]| numbers.iter().map(|it| id(*it)).collect::<Vec<_>>();
    assert_eq!(within[&id(1)], ids(&[]));
    assert_eq!(within[&id(2)], ids(&[1]));
    assert_eq!(within[&id(9)], ids(&[1, 2]));
    assert_eq!(within[&id(4)], ids(&[1, 2, 3]));
    assert_eq!(within[&id(6)], ids(&[1, 2, 3]));
    // At the same time as the tool before.
    assert_eq!(within[&id(5)], ids(&[]));
    assert_eq!(within[&id(7)], ids(&[]));
    assert_eq!(within[&id(8)], ids(&[7]));
    let events: Vec<Value> = serde_json::from_str(&text).unwrap();
    let names: Vec<_> = events.iter().filter(|it| it["ph"] == "M").collect();
    assert_eq!(names[0]["name"], "process_name");
    assert_eq!(names[0]["args"], json!({"name": "harness"}));
    let lanes: Vec<_> = names[1..]
        .iter()
        .map(|it| it["args"]["name"].as_str().unwrap())
        .collect();
    assert_eq!(lanes, ["run", "at the same time 1", "at the same time 2"]);
    let run = events
        .iter()
        .find(|it| it["name"] == "harness.run")
        .unwrap();
    assert_eq!(
        (&run["ts"], &run["dur"]),
        (&json!(0.0), &json!(1_590_000.0))
    );
    let instant = events.iter().find(|it| it["ph"] == "i").unwrap();
    let chat = events.iter().find(|it| it["name"] == "chat m").unwrap();
    assert_eq!(
        (&instant["tid"], &instant["s"]),
        (&chat["tid"], &json!("t"))
    );
    assert_eq!(instant["ts"], json!(50_000.0));
    let failed = events
        .iter()
        .find(|it| it["name"] == "execute_tool bash")
        .unwrap();
    assert_eq!(failed["args"]["status"], "error");
    assert_eq!(failed["args"]["error.type"], "failed");
    assert_eq!(failed["cat"], "harness");
}

/// Before its end is known, nothing is in anything.
#[test]
fn until_the_end_nothing_overlaps() {
    let spans = run();
    let batches: Vec<_> = spans.chunks(2).collect();
    let text = written(TraceFormat::Chrome, &batches, false);
    assert!(text.ends_with("},\n"), "{text}");
    let mut drawn = drawn(&text);
    drawn.sort_by_key(|(lane, start, ..)| (*lane, *start));
    for pair in drawn.windows(2) {
        let (one, other) = (&pair[0], &pair[1]);
        // Times before the first batch are cut.
        assert!(one.0 != other.0 || one.2 <= other.1, "{text}");
    }
}

/// Some spans in a tree, with any times.
fn forest() -> impl Strategy<Value = Vec<SpanData>> {
    let one = (0..12_u64, 0..50_u64, 0..20_u64);
    prop::collection::vec(one, 1..12).prop_map(|spans| {
        let spans = spans.into_iter().enumerate();
        let spans = spans.map(|(index, (parent, start, length))| {
            span(index as u64 + 1, parent, "it", start, start + length)
        });
        spans.collect()
    })
}

proptest! {
    #![proptest_config(ProptestConfig::with_cases(64))]

    /// Whatever the parents and times: each span is drawn, in nothing but what it is part of.
    #[test]
    fn a_span_is_drawn_in_what_it_is_part_of(spans in forest()) {
        let text = written(TraceFormat::Chrome, &[&spans], true);
        let within = nested(&text);
        prop_assert_eq!(within.len(), spans.len());
        let parents: BTreeMap<String, String> = spans
            .iter()
            .map(|it| (it.span_context.span_id().to_string(), it.parent_span_id.to_string()))
            .collect();
        for (id, drawn_in) in &within {
            let mut above = Vec::new();
            let mut next = parents.get(id);
            while let Some(parent) = next.filter(|parent| !above.contains(parent)) {
                above.push(parent);
                next = parents.get(parent);
            }
            for outer in drawn_in {
                prop_assert!(above.contains(&outer), "{} in {}: {}", id, outer, text);
            }
        }
        let trace = Trace::parse(&text).unwrap();
        prop_assert_eq!(trace.spans.len(), spans.len());
    }
}

/// Complete events of others have no ids. What else there is, is passed over.
#[test]
fn other_programs_events_are_read() {
    let events = r#"{"name":"a","ph":"X","ts":"1.5","dur":2,"pid":1,"tid":2,"args":{"x":[1,null]}},
        {"name":"b","ph":"B","ts":1},{"name":"c","ph":"C","args":5},{"ph":"X","ts":1e300},
        {"name":"d","ph":"i","ts":3,"s":"g"},{"name":"e","ph":"X","ts":-5,"dur":-1}"#;
    for text in [
        format!("[{events}]"),
        format!("[{events}"),
        format!("[{events},\n"),
        format!(r#"{{"displayTimeUnit":"ns","traceEvents":[{events}],"otherData":{{}}}}"#),
    ] {
        let trace = Trace::parse(&text).unwrap();
        assert!(!trace.torn, "{text}");
        assert_eq!(trace.spans.len(), 3, "{text}");
        let first = &trace.spans[0];
        assert_eq!((first.name.as_str(), first.span_id.as_str()), ("a", ""));
        assert_eq!(first.start, Duration::from_nanos(1_500));
        assert_eq!(first.duration(), Duration::from_micros(2));
        assert_eq!(trace.tree().roots.len(), 3);
    }
}
