//! OTLP as JSON: as this crate writes it, and as other programs do.

use std::time::Duration;

use harness_telemetry::trace::{Trace, TraceKind, TraceValue};
use harness_telemetry::trace_file::TraceFormat;
use serde_json::{Value, json};

use crate::trace_file_spans::{run, written};

/// Lines while it goes, one document at the end.
#[test]
fn lines_become_one_document() {
    let spans = run();
    let batches: Vec<_> = spans.chunks(3).collect();
    let lines = written(TraceFormat::Otlp, &batches, false);
    let mut all = Vec::new();
    for line in lines.lines() {
        let mut line: Value = serde_json::from_str(line).unwrap();
        assert_eq!(line.as_object().unwrap().len(), 1);
        all.append(line["resourceSpans"].as_array_mut().unwrap());
    }
    assert_eq!(lines.lines().count(), batches.len());
    let document = written(TraceFormat::Otlp, &batches, true);
    let document: Value = serde_json::from_str(&document).unwrap();
    assert_eq!(document, json!({ "resourceSpans": all }));
    // What the specification wants of JSON: ids in hexadecimal digits, long numbers as texts, kinds as numbers.
    let span = &document["resourceSpans"][0]["scopeSpans"][0]["spans"][0];
    assert_eq!(span["traceId"], format!("{:032x}", 1_u128 << 100));
    assert_eq!(span["spanId"], "0000000000000004");
    assert_eq!(span["startTimeUnixNano"], "1790000000010000007");
    assert_eq!(span["kind"], 3);
    let name = &document["resourceSpans"][0]["resource"]["attributes"][0];
    assert_eq!(name["value"], json!({"stringValue": "harness"}));
}

/// The example of the file exporter's specification, and other spellings of the same span.
#[test]
fn other_programs_write_it_in_other_ways() {
    let hex = json!({
        "traceId": "5B8EFFF798038103D269B633813FC60C", "spanId": "EEE19B7EC3C1B174",
        "parentSpanId": "EEE19B7EC3C1B173", "name": "I'm a server span", "kind": 2,
        "startTimeUnixNano": "1544712660000000000", "endTimeUnixNano": "1544712661000000000",
        "attributes": [{"key": "my.span.attr", "value": {"intValue": "7"}}],
        "status": {"code": 2, "message": "broken"}, "droppedLinksCount": 1, "links": [{"a": [[[]]]}],
    });
    let loose = json!({
        "trace_id": "W47/95gDgQPSabYzgT/GDA==", "span_id": "7uGbfsPBsXQ", "parent_span_id": "7uGbfsPBsXM=",
        "name": "I'm a server span", "kind": "SPAN_KIND_SERVER",
        "start_time_unix_nano": 1_544_712_660_000_000_000_u64, "end_time_unix_nano": 1.544_712_661e18,
        "attributes": [{"key": "my.span.attr", "value": {"int_value": 7}}, {"key": "none"}, {}],
        "events": null, "status": {"code": "STATUS_CODE_ERROR", "message": "broken"},
    });
    let spans = [hex, loose].map(|span| {
        let spans = json!([{ "scope": {"name": "x"}, "spans": [span] }]);
        [
            json!({ "resourceSpans": [{ "resource": {}, "scopeSpans": spans }] }),
            json!({ "batches": [{ "instrumentationLibrarySpans": spans }] }),
            json!({ "trace": { "resourceSpans": [{ "scopeSpans": spans }] } }),
            json!([{ "resource_spans": [{ "scope_spans": spans }] }]),
        ]
    });
    for document in spans.iter().flatten() {
        for text in [document.to_string(), format!("\u{feff}\n{document:#}\n\n")] {
            let trace = Trace::parse(&text).unwrap();
            let [span] = trace.spans.as_slice() else {
                panic!("{text}")
            };
            assert_eq!(span.trace_id, "5b8efff798038103d269b633813fc60c", "{text}");
            assert_eq!(span.span_id, "eee19b7ec3c1b174");
            assert_eq!(span.parent.as_deref(), Some("eee19b7ec3c1b173"));
            assert_eq!(span.kind, TraceKind::Server);
            assert_eq!(span.start.as_secs(), 1_544_712_660);
            assert_eq!(span.duration(), Duration::from_secs(1));
            assert_eq!(span.number("my.span.attr"), Some(7.0));
            assert_eq!(span.attributes.len(), 1);
            assert_eq!(span.error.as_deref(), Some("broken"));
        }
    }
}

#[test]
fn values_of_all_kinds_are_read() {
    let text = |text: &str| TraceValue::Text(text.to_owned());
    let checks = [
        (json!({"stringValue": "a"}), text("a")),
        (json!({"bytesValue": "AAE="}), text("AAE=")),
        (json!({"boolValue": false}), TraceValue::Bool(false)),
        (
            json!({"intValue": "-9223372036854775808"}),
            TraceValue::Int(i64::MIN),
        ),
        (
            json!({"intValue": "9223372036854775808"}),
            TraceValue::Double(9.223_372_036_854_776e18),
        ),
        (json!({"doubleValue": 0.5}), TraceValue::Double(0.5)),
        (
            json!({"doubleValue": "Infinity"}),
            TraceValue::Double(f64::INFINITY),
        ),
        (
            json!({"arrayValue": {"values": [{"intValue": 1}, {}, {"stringValue": "a"}]}}),
            TraceValue::List(vec![TraceValue::Int(1), text("a")]),
        ),
        (
            json!({"kvlistValue": {"values": [{"key": "a", "value": {"boolValue": true}}]}}),
            TraceValue::Map(vec![("a".to_owned(), TraceValue::Bool(true))]),
        ),
    ];
    for (value, expected) in checks {
        let span = json!({"spanId": "1", "attributes": [{"key": "it", "value": value}]});
        let document = json!({"resourceSpans": [{"scopeSpans": [{"spans": [span]}]}]});
        let trace = Trace::parse(&document.to_string()).unwrap();
        assert_eq!(trace.spans[0].attribute("it"), Some(&expected), "{value}");
    }
}

/// Of lines, those of other signals are passed over; half a line in the middle is an error.
#[test]
fn lines_are_read_one_by_one() {
    let line = |id: &str| {
        json!({"resourceSpans": [{"scopeSpans": [{"spans": [{"spanId": id, "name": id}]}]}]})
            .to_string()
    };
    let metrics = r#"{"resourceMetrics":[{"scopeMetrics":[]}]}"#;
    let trace = Trace::parse(&format!("{}\n{metrics}\n\n{}\n", line("a"), line("b"))).unwrap();
    assert_eq!((trace.spans.len(), trace.torn), (2, false));
    for end in [
        r#"{"resourceSpans":[{"sc"#,
        "{\"resourceSpans\":[{\"a\u{1}",
        "x",
        "{\"a\":tru",
    ] {
        let trace = Trace::parse(&format!("{}\n{end}", line("a"))).unwrap();
        assert_eq!((trace.spans.len(), trace.torn), (1, true), "{end}");
    }
    let half = format!("{}\n{{\"resourceSpans\":[{{\n{}\n", line("a"), line("b"));
    let error = Trace::parse(&half).unwrap_err().to_string();
    assert!(error.contains("line 3"), "{error}");
    // Of one document, the spans that are there as a whole.
    let whole =
        json!({"resourceSpans": [{"scopeSpans": [{"spans": [{"name": "a"}, {"name": "b"}]}]}]});
    let whole = whole.to_string();
    let trace = Trace::parse(&whole[..whole.len() - 8]).unwrap();
    assert_eq!((trace.spans.len(), trace.torn), (1, true));
}

#[test]
fn as_json_nothing_is_lost() {
    let trace = Trace::parse(&written(TraceFormat::Otlp, &[&run()], true)).unwrap();
    let value = serde_json::to_value(&trace).unwrap();
    assert_eq!(value["torn"], false);
    assert_eq!(
        value["spans"][0],
        json!({
            "trace_id": "00000010000000000000000000000000", "span_id": "0000000000000004",
            "parent": "0000000000000003", "name": "chat m", "kind": "client", "error": null,
            "start_unix_nano": "1790000000010000007", "end_unix_nano": "1790000000300000007",
            "attributes": {"n": 4},
            "events": [{
                "name": "first_chunk", "time_unix_nano": "1790000000060000007",
                "attributes": {"size": 3},
            }],
        })
    );
}
