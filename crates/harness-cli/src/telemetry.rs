//! Recording a run: to a collector, as the variables of OpenTelemetry say, and to a file.

use std::path::Path;
use std::sync::Arc;
use std::time::Duration;

use harness_core::TraceContext;
use harness_telemetry::Schemas;
use harness_telemetry::export::{Exporter, Sampling, W3cPropagation};
use harness_telemetry::harness::{Command, CommandEnd, command};
use harness_telemetry::middleware::{ContentCapture, Propagation as _, Telemetry};
use harness_telemetry::trace_file::{TraceFileWriter, TraceFormat};
use tracing::Instrument as _;
use tracing_subscriber::layer::SubscriberExt as _;

use crate::arguments::TraceTo;
use crate::environment::Environment;
use crate::failure::Failure;
use crate::otel_variables::OtelVariables;
use crate::stderr;
use crate::typed_path::typed_path;

/// The most time that the end of a run waits for a collector.
const LAST_WORDS: Duration = Duration::from_millis(500);
/// The same where there is only a file: it is what was asked for, and may be long.
const LAST_LINES: Duration = Duration::from_secs(10);

/// What records a run. Nothing, unless it was asked for.
pub(crate) struct Recorder {
    exporter: Option<Arc<Exporter>>,
    telemetry: Option<Telemetry>,
    parent: Option<TraceContext>,
    /// The most time for its end.
    last_words: Duration,
}

impl Recorder {
    /// Starts recording, if that was asked for. A file that cannot be written is an error; a collector that
    /// cannot be used is told and left alone.
    pub(crate) fn start(environment: &Environment, file: &TraceTo) -> Result<Self, Failure> {
        let variables = OtelVariables::read(environment);
        let writer = match &file.trace {
            None => None,
            Some(path) => Some(writer(environment, file, path)?),
        };
        match &variables.problem {
            Some(problem) if variables.wants_collector => {
                stderr::note(&format!("nothing is sent to a collector: {problem}"));
            }
            Some(problem) if writer.is_some() => stderr::note(problem),
            _ => {}
        }
        let to_file = writer.is_some();
        let to_collector = variables.traces.is_some() || variables.metrics.is_some();
        if !to_collector && !to_file {
            return Ok(Self::nothing());
        }
        let mut builder = Exporter::builder(Schemas::built_in())
            .content(variables.content)
            .batch(variables.batch)
            // Who asks for a file gets one, whatever is decided of traces that are sent.
            .sample(if to_collector {
                variables.sampling
            } else {
                Sampling::AlwaysOn
            });
        for (key, value) in variables.resource {
            builder = builder.resource(key, value);
        }
        if let Some(target) = variables.traces {
            builder = builder.otlp(target);
        }
        if let Some(target) = variables.metrics {
            builder = builder.otlp_metrics(target);
        }
        if let Some(writer) = writer {
            builder = builder.sink(Box::new(writer));
        }
        let exporter = match builder.start() {
            Ok(exporter) => exporter,
            Err(error) if to_file => return Err(Failure::configuration(error.to_string())),
            Err(error) => {
                stderr::note(&format!("nothing is sent to a collector: {error}"));
                return Ok(Self::nothing());
            }
        };
        let subscriber = tracing_subscriber::registry().with(exporter.layer());
        // There is one run in a process, and nothing else that records.
        if tracing::subscriber::set_global_default(subscriber).is_err() {
            return Ok(Self::nothing());
        }
        let propagation = if variables.propagate {
            W3cPropagation::new()
        } else {
            W3cPropagation::incoming_only()
        };
        let telemetry = Telemetry::new("harness")
            .metrics(exporter.metrics())
            .propagate(Arc::new(propagation));
        Ok(Self {
            exporter: Some(Arc::new(exporter)),
            telemetry: Some(if variables.content {
                telemetry.capture_content(ContentCapture::new())
            } else {
                telemetry
            }),
            parent: variables.parent,
            last_words: if to_collector { LAST_WORDS } else { LAST_LINES },
        })
    }

    fn nothing() -> Self {
        Self {
            exporter: None,
            telemetry: None,
            parent: None,
            last_words: Duration::ZERO,
        }
    }

    /// What the agent is to be given.
    pub(crate) fn telemetry(&self) -> Option<Telemetry> {
        self.telemetry.clone()
    }

    /// Does all that is recorded, as one span: also what is done before the run and after it belongs to one
    /// trace, that of the caller if there is one.
    pub(crate) async fn around<T>(
        &self,
        work: impl Future<Output = Result<T, Failure>>,
    ) -> Result<T, Failure> {
        let span = command(Command { command: "run" }).start();
        if let Some(parent) = &self.parent {
            W3cPropagation::incoming_only().extract(span.span(), parent);
        }
        let result = work.instrument(span.span().clone()).await;
        match &result {
            Ok(_) => span.end(CommandEnd {}),
            Err(failure) => span.fail(failure.kind),
        }
        result
    }

    /// Sends and writes what is left, within bounds, and tells in one line what was lost.
    pub(crate) async fn finish(self) {
        let Some(exporter) = self.exporter else {
            return;
        };
        let report = exporter.finish_async(self.last_words).await;
        let why = report.error.as_deref().unwrap_or("there was no time left");
        if report.dropped > 0 {
            let all = report.spans + report.dropped;
            stderr::note(&format!(
                "{} of {all} spans of the trace are lost: {why}",
                report.dropped
            ));
        } else if report.open > 0 {
            stderr::note(&format!(
                "{} spans have not come to their end and are not in the trace",
                report.open
            ));
        } else if let Some(error) = &report.error {
            stderr::note(&format!("not all of the telemetry was delivered: {error}"));
        }
    }
}

fn writer(
    environment: &Environment,
    to: &TraceTo,
    path: &Path,
) -> Result<TraceFileWriter, Failure> {
    let format = to
        .trace_format
        .unwrap_or_else(|| TraceFormat::of_path(path));
    typed_path(path, environment)
        .and_then(|path| TraceFileWriter::create(&path, format))
        .map_err(|error| {
            Failure::usage(format!(
                "cannot write the trace to {}: {error}",
                path.display()
            ))
            .hint("name a file in a folder that is there with --trace")
        })
}
