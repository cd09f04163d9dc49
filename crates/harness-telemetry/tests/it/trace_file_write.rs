//! What there is on the disk, and what is read of it again.

use std::fs;
use std::io::ErrorKind;
use std::path::Path;

use harness_telemetry::trace::{Trace, TraceKind, TraceValue};
use harness_telemetry::trace_file::{TraceFileWriter, TraceFormat};
use opentelemetry::{Array, KeyValue, Value};
use tempfile::TempDir;

use crate::trace_file_spans::{resource, run, since_epoch, span, written};

const FORMATS: [TraceFormat; 2] = [TraceFormat::Otlp, TraceFormat::Chrome];

#[test]
fn the_format_is_in_the_name() {
    let checks = [
        ("a/run.chrome.json", TraceFormat::Chrome),
        ("run.Perfetto.JSON", TraceFormat::Chrome),
        ("run.trace", TraceFormat::Chrome),
        ("run.json", TraceFormat::Otlp),
        ("run.jsonl", TraceFormat::Otlp),
        ("run.trace/run", TraceFormat::Otlp),
        ("..", TraceFormat::Otlp),
    ];
    for (path, expected) in checks {
        assert_eq!(TraceFormat::of_path(Path::new(path)), expected, "{path}");
    }
    assert_eq!("otlp".parse::<TraceFormat>().unwrap(), TraceFormat::Otlp);
    assert_eq!(
        "chrome".parse::<TraceFormat>().unwrap(),
        TraceFormat::Chrome
    );
    let error = "zipkin".parse::<TraceFormat>().unwrap_err().to_string();
    assert!(
        error.contains("zipkin") && error.contains("chrome"),
        "{error}"
    );
}

/// Both formats say the same, before the end and after it.
#[test]
fn what_was_written_is_read() {
    let spans = run();
    for format in FORMATS {
        for finish in [false, true] {
            let (first, second) = spans.split_at(4);
            let text = written(format, &[first, &[], second], finish);
            let mut trace = Trace::parse(&text).unwrap();
            assert!(!trace.torn, "{text}");
            assert_eq!(trace.spans.len(), spans.len());
            trace
                .spans
                .sort_by(|one, other| one.span_id.cmp(&other.span_id));
            let turn = &trace.spans[2];
            assert_eq!(turn.name, "harness.turn");
            assert_eq!(turn.trace_id, format!("{:032x}", 1_u128 << 100));
            assert_eq!(turn.span_id, "0000000000000003");
            assert_eq!(turn.parent.as_deref(), Some("0000000000000002"));
            assert_eq!(turn.kind, TraceKind::Internal);
            assert_eq!(
                (turn.start, turn.end),
                (since_epoch(10), since_epoch(1_000))
            );
            assert_eq!(turn.attributes, [("n".to_owned(), TraceValue::Int(3))]);
            assert_eq!(turn.error, None);
            let chat = &trace.spans[3];
            assert_eq!(chat.kind, TraceKind::Client);
            assert_eq!(chat.events.len(), 1, "{text}");
            assert_eq!(chat.events[0].name, "first_chunk");
            assert_eq!(chat.events[0].time, since_epoch(60));
            assert_eq!(
                chat.events[0].attributes,
                [("size".to_owned(), TraceValue::Int(3))]
            );
            assert_eq!(trace.spans[0].parent, None);
            assert_eq!(trace.spans[5].error.as_deref(), Some("failed"));
            let tree = trace.tree();
            assert_eq!(tree.roots, [0]);
            assert_eq!(tree.children[1], [2, 8]);
            assert_eq!(tree.children[2], [3, 5, 4, 6]);
        }
    }
}

/// Values keep their types; those that JSON cannot say are said in words.
#[test]
fn values_keep_their_types() {
    let value = |value: Value| KeyValue::new("it", value);
    let list = |array: Array| value(Value::Array(array));
    let text = |text: &str| TraceValue::Text(text.to_owned());
    let checks = [
        (value("\u{1b}[31m\0 \"".into()), text("\u{1b}[31m\0 \"")),
        (value(i64::MIN.into()), TraceValue::Int(i64::MIN)),
        (value(0.5.into()), TraceValue::Double(0.5)),
        (value(true.into()), TraceValue::Bool(true)),
        (value(f64::NAN.into()), text("NaN")),
        (value(f64::INFINITY.into()), text("inf")),
        (
            list(Array::String(vec!["a".into(), "b".into()])),
            TraceValue::List(vec![text("a"), text("b")]),
        ),
        (
            list(Array::I64(vec![1, 2])),
            TraceValue::List(vec![TraceValue::Int(1), TraceValue::Int(2)]),
        ),
    ];
    for format in FORMATS {
        for (attribute, expected) in &checks {
            let mut span = span(1, 0, "it", 0, 1);
            span.attributes = vec![attribute.clone()];
            let text = written(format, &[&[span]], true);
            let trace = Trace::parse(&text).unwrap();
            assert_eq!(trace.spans[0].attribute("it"), Some(expected), "{text}");
        }
    }
}

#[test]
fn a_run_without_spans_is_a_trace() {
    for format in FORMATS {
        let trace = Trace::parse(&written(format, &[], true)).unwrap();
        assert_eq!(trace, Trace::default());
    }
}

/// Killed at any time, the file shows what was there.
#[test]
fn a_file_that_was_cut_off_shows_what_is_there() {
    let spans = run();
    for format in FORMATS {
        let batches: Vec<_> = spans.chunks(1).collect();
        let text = written(format, &batches, false);
        let mut most = 0;
        for length in 0..text.len() {
            let Ok(trace) = Trace::parse(&text[..length]) else {
                assert_eq!(most, 0, "{length} bytes of {text}");
                continue;
            };
            assert!(trace.spans.len() >= most, "{length}");
            most = trace.spans.len();
            let line_ends = text[..length].ends_with('\n');
            assert!(!(line_ends && trace.torn), "{length}");
        }
        assert_eq!(most, spans.len());
        // A line of zeros, as a file system leaves it that lost power.
        let trace = Trace::parse(&format!("{text}\0\0\0\0")).unwrap();
        assert!(trace.torn);
        assert_eq!(trace.spans.len(), spans.len());
    }
}

#[test]
fn a_file_that_cannot_be_made_is_told_at_once() {
    let folder = TempDir::new().unwrap();
    for format in FORMATS {
        let kind = |path: &Path| TraceFileWriter::create(path, format).unwrap_err().kind();
        assert_eq!(kind(&folder.path().join("no/it")), ErrorKind::NotFound);
        assert_eq!(kind(folder.path()), ErrorKind::IsADirectory);
        assert_eq!(kind(Path::new("")), ErrorKind::InvalidInput);
        #[cfg(unix)]
        assert_eq!(kind(Path::new("/dev/null")), ErrorKind::InvalidInput);
    }
    assert_eq!(fs::read_dir(folder.path()).unwrap().count(), 0);
}

/// Nobody else gets to read it, whatever was there before, and nothing is left beside it.
#[cfg(unix)]
#[test]
fn it_is_for_its_owner_only() {
    use std::os::unix::fs::{PermissionsExt as _, symlink};
    let folder = TempDir::new().unwrap();
    let (path, other) = (folder.path().join("it"), folder.path().join("other"));
    for format in FORMATS {
        for linked in [false, true] {
            let _ = fs::remove_file(&path);
            fs::write(&other, "other").unwrap();
            if linked {
                symlink(&other, &path).unwrap();
            } else {
                fs::write(&path, "old").unwrap();
                fs::set_permissions(&path, fs::Permissions::from_mode(0o644)).unwrap();
            }
            let mode = || fs::metadata(&path).unwrap().permissions().mode() & 0o777;
            let mut writer = TraceFileWriter::create(&path, format).unwrap();
            assert_eq!(mode(), 0o600);
            writer.write(&resource(), &run()).unwrap();
            writer.finish().unwrap();
            assert_eq!(mode(), 0o600);
            assert_eq!(fs::read_to_string(&other).unwrap(), "other");
            assert_eq!(fs::read_dir(folder.path()).unwrap().count(), 2);
        }
    }
}

/// The end comes once; what comes later is told.
#[test]
fn after_the_end_nothing_is_added() {
    let folder = TempDir::new().unwrap();
    let path = folder.path().join("it");
    for format in FORMATS {
        let mut writer = TraceFileWriter::create(&path, format).unwrap();
        writer.write(&resource(), &run()).unwrap();
        writer.finish().unwrap();
        let text = fs::read_to_string(&path).unwrap();
        writer.finish().unwrap();
        assert!(writer.write(&resource(), &run()).is_err());
        assert_eq!(fs::read_to_string(&path).unwrap(), text);
    }
}

/// A file that cannot be finished stays as it was.
#[test]
fn an_end_that_fails_leaves_the_lines() {
    let folder = TempDir::new().unwrap();
    for format in FORMATS {
        let path = folder.path().join("in/it");
        fs::create_dir(folder.path().join("in")).unwrap();
        let mut writer = TraceFileWriter::create(&path, format).unwrap();
        writer.write(&resource(), &run()).unwrap();
        fs::remove_dir_all(folder.path().join("in")).unwrap();
        assert!(writer.finish().is_err());
        fs::create_dir(folder.path().join("in")).unwrap();
        writer.finish().unwrap();
        assert_eq!(Trace::read(&path).unwrap().spans.len(), run().len());
        fs::remove_dir_all(folder.path().join("in")).unwrap();
    }
}
