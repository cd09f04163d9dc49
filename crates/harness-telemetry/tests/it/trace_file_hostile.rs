//! Files that want to do harm.

use std::fs;
use std::io::Write as _;

use harness_telemetry::trace::Trace;
use harness_telemetry::trace_file::TraceFileError;
use proptest::prelude::*;
use serde_json::json;
use tempfile::TempDir;

use crate::trace_file_spans::{run, written};

#[test]
fn what_is_no_trace_is_told() {
    let checks = [
        ("", "empty"),
        (" \n\n", "empty"),
        ("\0\0\0\0", "empty"),
        ("hello", "expected value at line 1"),
        ("5", "an object or a list of a trace"),
        ("{}", "neither"),
        ("{\"data\":[{\"traceID\":\"1\",\"spans\":[]}]}", "neither"),
        (
            "{\"resourceMetrics\":[]}\n{\"resourceMetrics\":[]}\n",
            "neither",
        ),
        ("[", "cut off"),
        ("{\"resourceSpans\":[{\"scopeSp", "cut off"),
        ("{\"resourceSp", "EOF"),
        ("{\"resourceSpans\":5}", "an object or a list of a trace"),
        (
            "{\"resourceSpans\":[{\"scopeSpans\":[{\"spans\":[7]}]}]}",
            "invalid type",
        ),
        (
            "{\"resourceSpans\":[{\"scopeSpans\":[{\"spans\":[{\"name\":7}]}]}]}",
            "invalid type",
        ),
        (
            "{\"resourceSpans\":[{\"scopeSpans\":[{\"spans\":[{\"kind\":1e999}]}]}]}",
            "out of range",
        ),
    ];
    for (text, expected) in checks {
        let error = Trace::parse(text).unwrap_err().to_string();
        assert!(error.contains(expected), "{text:?}: {error}");
    }
}

#[test]
fn depth_is_no_danger() {
    let deep = |open: &str, close: &str| {
        let (open, close) = (open.repeat(200_000), close.repeat(200_000));
        format!(
            "{{\"resourceSpans\":[{{\"scopeSpans\":[{{\"spans\":[{{\"x\":{open}1{close}}}]}}]}}]}}"
        )
    };
    // What nobody asks for is passed over, however deep.
    for text in [deep("[", "]"), deep("{\"x\":", "}")] {
        assert_eq!(Trace::parse(&text).unwrap().spans.len(), 1);
    }
    let values = "{\"arrayValue\":{\"values\":[".repeat(10_000);
    for text in [
        "[".repeat(200_000),
        "{\"resourceSpans\":".repeat(200_000),
        "{\"trace\":".repeat(200_000),
        format!("[{{\"ph\":\"X\",\"args\":{}", "{\"a\":".repeat(200_000)),
        format!(
            "{{\"resourceSpans\":[{{\"scopeSpans\":[{{\"spans\":[{{\"attributes\":[{{\"value\":{values}"
        ),
    ] {
        let error = Trace::parse(&text).unwrap_err().to_string();
        assert!(error.contains("recursion"), "{error}");
    }
}

#[test]
fn size_is_no_danger() {
    let spans = format!("[{}{{}}]", "{},".repeat(300_000));
    let text = format!("{{\"resourceSpans\":[{{\"scopeSpans\":[{{\"spans\":{spans}}}]}}]}}");
    let error = Trace::parse(&text).unwrap_err();
    assert!(
        matches!(error, TraceFileError::TooManySpans { limit: 200_000 }),
        "{error}"
    );
    let events = format!("[{}", "{\"ph\":\"X\"},".repeat(300_000));
    assert!(matches!(
        Trace::parse(&events),
        Err(TraceFileError::TooManySpans { .. })
    ));
    // Many lines take many times as long as one, and no more.
    let line = "{\"resourceSpans\":[{\"scopeSpans\":[{\"spans\":[{}]}]}]}\n";
    assert_eq!(
        Trace::parse(&line.repeat(50_000)).unwrap().spans.len(),
        50_000
    );
    let error = Trace::parse(&line.repeat(200_001)).unwrap_err();
    assert!(
        matches!(error, TraceFileError::TooManySpans { .. }),
        "{error}"
    );
    // Of one span, only so much is kept.
    let pair = "{\"key\":\"a\",\"value\":{\"arrayValue\":{\"values\":[{\"intValue\":1},{\"intValue\":1}]}}},";
    let (pairs, items) = (pair.repeat(5_000), "{},".repeat(5_000));
    let span = format!("{{\"attributes\":[{pairs}{{}}],\"events\":[{items}{{}}]}}");
    let text = format!("{{\"resourceSpans\":[{{\"scopeSpans\":[{{\"spans\":[{span}]}}]}}]}}");
    let trace = Trace::parse(&text).unwrap();
    assert_eq!(trace.spans[0].attributes.len(), 1_000);
    assert_eq!(trace.spans[0].events.len(), 1_000);
}

#[test]
fn a_file_is_read_within_bounds() {
    let folder = TempDir::new().unwrap();
    let path = folder.path().join("it");
    let mut file = fs::File::create(&path).unwrap();
    file.write_all(b"{\"resourceSpans\":[]}").unwrap();
    // Full of holes: it takes no room.
    file.set_len(65 * 1024 * 1024).unwrap();
    let error = Trace::read(&path).unwrap_err();
    assert!(
        matches!(error, TraceFileError::TooLarge { limit: 67_108_864 }),
        "{error}"
    );
    #[cfg(target_os = "linux")]
    {
        let error = Trace::read("/dev/zero".as_ref()).unwrap_err();
        assert!(matches!(error, TraceFileError::TooLarge { .. }), "{error}");
    }
    let missing = Trace::read(&folder.path().join("no"));
    assert!(matches!(missing, Err(TraceFileError::Io(_))));
    assert!(matches!(
        Trace::read(folder.path()),
        Err(TraceFileError::Io(_))
    ));
}

/// Its id, its parent, its start, its end.
type Span<'a> = (&'a str, &'a str, i64, i64);

/// A trace of such spans.
fn of(spans: &[Span<'_>]) -> Trace {
    let spans: Vec<_> = spans
        .iter()
        .map(|(id, parent, start, end)| {
            json!({"spanId": id, "parentSpanId": parent, "name": id,
                "startTimeUnixNano": start, "endTimeUnixNano": end.to_string()})
        })
        .collect();
    let text = json!({"resourceSpans": [{"scopeSpans": [{"spans": spans}]}]}).to_string();
    Trace::parse(&text).unwrap()
}

#[test]
fn each_span_is_in_the_tree_once() {
    // Circles, a parent that is missing, the same id twice, itself.
    let checks: [(&[Span<'_>], &[usize]); 5] = [
        (
            &[
                ("a", "b", 1, 2),
                ("b", "c", 2, 3),
                ("c", "a", 3, 4),
                ("d", "a", 4, 5),
            ],
            &[2],
        ),
        (&[("a", "a", 1, 2), ("b", "a", 1, 2)], &[0]),
        (&[("a", "gone", 2, 3), ("b", "", 1, 2)], &[1, 0]),
        (
            &[("a", "", 1, 9), ("a", "", 2, 3), ("b", "a", 4, 5)],
            &[0, 1],
        ),
        (&[("", "", 1, 2), ("", "", 3, 4)], &[0, 1]),
    ];
    for (spans, roots) in checks {
        let tree = of(spans).tree();
        assert_eq!(tree.roots, roots, "{spans:?}");
        assert_eq!(tree.roots.len() + tree.children.concat().len(), spans.len());
    }
    // Twice the same id: the children are the first one's.
    let tree = of(&[("a", "", 1, 9), ("a", "", 2, 3), ("b", "a", 4, 5)]).tree();
    assert_eq!(tree.children[0], [2]);
}

#[test]
fn times_make_sense() {
    let trace = of(&[
        ("a", "", 5, 3),
        ("b", "", -7, -1),
        ("c", "", 0, 4),
        ("d", "", 7, 0),
    ]);
    for span in &trace.spans {
        assert!(span.end >= span.start, "{span:?}");
    }
    assert_eq!(trace.spans[1].start.as_nanos(), 0);
    let (start, end) = trace.range().unwrap();
    assert_eq!((start.as_nanos(), end.as_nanos()), (5, 7));
    assert_eq!(of(&[("a", "", 0, 0)]).range(), None);
    for time in [
        "\"NaN\"",
        "\"soon\"",
        "\"inf\"",
        "1e300",
        "-1e300",
        "true",
        "null",
        "99999999999999999999999",
    ] {
        let span = format!("{{\"startTimeUnixNano\":{time},\"endTimeUnixNano\":{time}}}");
        let text = format!("{{\"resourceSpans\":[{{\"scopeSpans\":[{{\"spans\":[{span}]}}]}}]}}");
        assert!(Trace::parse(&text).is_ok(), "{text}");
    }
}

proptest! {
    #![proptest_config(ProptestConfig::with_cases(64))]

    /// Whatever becomes of the bytes, there is a trace or an error.
    #[test]
    fn damage_is_survived(
        chrome in any::<bool>(),
        damage in prop::collection::vec((any::<prop::sample::Index>(), any::<u8>()), 0..6),
        cut in any::<prop::sample::Index>(),
    ) {
        let format = if chrome { "chrome" } else { "otlp" };
        let mut bytes = written(format.parse().unwrap(), &[&run()], !chrome).into_bytes();
        for (place, byte) in damage {
            let place = place.index(bytes.len());
            bytes[place] = byte;
        }
        bytes.truncate(cut.index(bytes.len()) + 1);
        if let Ok(trace) = Trace::parse(&String::from_utf8_lossy(&bytes)) {
            let tree = trace.tree();
            prop_assert_eq!(tree.roots.len() + tree.children.concat().len(), trace.spans.len());
            serde_json::to_string(&trace).unwrap();
        }
    }

    /// Whatever the parents, each span is in the tree once.
    #[test]
    fn any_parents_make_a_tree(parents in prop::collection::vec(0..30_usize, 1..30)) {
        let ids: Vec<String> = (0..30).map(|id| format!("s{id}")).collect();
        let spans: Vec<_> = parents
            .iter()
            .enumerate()
            .map(|(index, parent)| (ids[index].as_str(), ids[*parent].as_str(), 1, 2))
            .collect();
        let tree = of(&spans).tree();
        let mut seen = Vec::new();
        let mut open = tree.roots.clone();
        while let Some(index) = open.pop() {
            seen.push(index);
            open.extend(&tree.children[index]);
        }
        seen.sort_unstable();
        prop_assert_eq!(seen, (0..spans.len()).collect::<Vec<_>>());
    }
}
