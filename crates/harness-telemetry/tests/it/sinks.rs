//! Destinations in the process.

use std::sync::{Arc, Mutex};
use std::time::{Duration, Instant};

use harness_telemetry::Schemas;
use harness_telemetry::export::{BatchOptions, Exporter, SpanSink};
use harness_telemetry::harness::{Run, RunEnd, run};
use opentelemetry_sdk::Resource;
use opentelemetry_sdk::trace::SpanData;
use tracing_subscriber::layer::SubscriberExt;

const LONG: Duration = Duration::from_mins(1);

/// Keeps names, or fails, or never comes back.
#[derive(Clone, Default)]
struct Notes {
    all: Arc<Mutex<Vec<String>>>,
    fails: bool,
    hangs: bool,
}

impl SpanSink for Notes {
    fn write(&mut self, resource: &Resource, spans: &[SpanData]) -> Result<(), String> {
        if self.hangs {
            loop {
                std::thread::park();
            }
        }
        if self.fails {
            return Err("the disk\nis full".to_owned());
        }
        assert_eq!(resource.get(&"service.name".into()), Some("test".into()));
        let names = spans.iter().map(|span| span.name.to_string());
        self.all.lock().unwrap().extend(names);
        Ok(())
    }

    fn finish(&mut self) -> Result<(), String> {
        self.all.lock().unwrap().push("the end".to_owned());
        Ok(())
    }
}

fn exporter(sinks: &[&Notes], batch: BatchOptions) -> Exporter {
    let mut builder = Exporter::builder(Schemas::built_in()).service("test", "1");
    for sink in sinks {
        builder = builder.sink(Box::new((*sink).clone()));
    }
    builder.batch(batch).start().unwrap()
}

fn record(exporter: &Exporter, count: usize) {
    let subscriber = tracing_subscriber::registry().with(exporter.layer());
    tracing::subscriber::with_default(subscriber, || {
        for _ in 0..count {
            drop(run(Run { run: "r1" }).start());
        }
    });
}

#[test]
fn sinks_get_every_span_and_an_end() {
    let notes = Notes::default();
    let exporter = exporter(&[&notes], BatchOptions::default().batch(2));
    record(&exporter, 5);
    let report = exporter.finish(LONG);
    assert_eq!((report.spans, report.dropped, report.error), (5, 0, None));
    let all = notes.all.lock().unwrap();
    assert_eq!(all.len(), 6);
    assert_eq!(all.last().unwrap(), "the end");
}

#[test]
fn a_sink_is_ended_even_if_nothing_came() {
    let notes = Notes::default();
    exporter(&[&notes], BatchOptions::default()).finish(LONG);
    assert_eq!(*notes.all.lock().unwrap(), ["the end"]);
}

#[test]
fn a_sink_that_fails_does_not_keep_others_from_their_spans() {
    let notes = Notes::default();
    let failing = Notes {
        fails: true,
        ..Notes::default()
    };
    let exporter = exporter(&[&failing, &notes], BatchOptions::default());
    record(&exporter, 3);
    let report = exporter.finish(LONG);
    assert_eq!((report.spans, report.dropped), (0, 3));
    assert_eq!(report.error.as_deref(), Some("the disk is full"));
    assert_eq!(notes.all.lock().unwrap().len(), 4);
}

#[test]
fn a_sink_that_hangs_holds_nobody() {
    let hanging = Notes {
        hangs: true,
        ..Notes::default()
    };
    let batch = BatchOptions::default().queue(8).delay(Duration::ZERO);
    let exporter = exporter(&[&hanging], batch);
    let began = Instant::now();
    record(&exporter, 1000);
    let report = exporter.finish(Duration::from_millis(500));
    assert!(began.elapsed() < Duration::from_secs(20));
    assert_eq!((report.spans, report.dropped), (0, 1000));
    let error = report.error.as_deref();
    assert_eq!(error, Some("the export did not finish in time"));
    let late = Instant::now();
    record(&exporter, 1000);
    drop(exporter);
    assert!(late.elapsed() < Duration::from_secs(20));
}

/// What somebody holds is not exported, nor what it is within; that is told.
#[test]
fn spans_that_are_held_are_told() {
    let notes = Notes::default();
    let exporter = exporter(&[&notes], BatchOptions::default());
    let subscriber = tracing_subscriber::registry().with(exporter.layer());
    let held = tracing::subscriber::with_default(subscriber, || {
        let run = run(Run { run: "r1" }).start();
        let held = run.span().clone();
        run.end(RunEnd {
            outcome: "finished",
            turns: 1,
        });
        held
    });
    let report = exporter.finish(LONG);
    assert_eq!((report.spans, report.dropped, report.open), (0, 0, 1));
    drop(held);
}
