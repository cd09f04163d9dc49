//! Deliveries to one collector.

use std::sync::Arc;
use std::time::Duration;

use opentelemetry_proto::tonic::collector::metrics::v1::ExportMetricsServiceRequest;
use opentelemetry_proto::tonic::collector::trace::v1::ExportTraceServiceRequest;
use opentelemetry_proto::transform::common::tonic::ResourceAttributesWithSchema;
use opentelemetry_proto::transform::trace::tonic::group_spans_by_resource_and_scope;
use opentelemetry_sdk::metrics::data::ResourceMetrics;
use opentelemetry_sdk::metrics::reader::MetricReader;
use opentelemetry_sdk::trace::SpanData;
use tokio::sync::{mpsc, watch};
use tokio::time::Instant;

use super::client::{Client, Failure, Message};
use super::exporter::LONGEST;
use super::meters::Reader;
use super::report::Tally;
use super::{ExportError, OtlpTarget};

/// How often a batch is tried.
const ATTEMPTS: u32 = 4;

/// The pause after the first attempt. Each later one is twice as long.
const FIRST_PAUSE: Duration = Duration::from_millis(250);

/// The time between two deliveries of metrics.
const METRICS_EVERY: Duration = Duration::from_secs(10);

/// What delivers to one collector, with all attempts.
pub(super) struct Delivery {
    client: Client,
    place: String,
    timeout: Duration,
    finish: watch::Receiver<Option<Instant>>,
    tally: Arc<Tally>,
}

impl Delivery {
    pub(super) fn new(
        target: &OtlpTarget,
        finish: watch::Receiver<Option<Instant>>,
        tally: Arc<Tally>,
    ) -> Result<Self, ExportError> {
        Ok(Self {
            client: Client::new(target)?,
            place: target.place()?,
            timeout: target.timeout.min(LONGEST),
            finish,
            tally,
        })
    }

    /// Delivers spans as they come, until no more do.
    pub(super) async fn spans(
        mut self,
        mut receiver: mpsc::Receiver<SpanData>,
        resource: ResourceAttributesWithSchema,
        batch: usize,
    ) {
        let mut spans = Vec::new();
        loop {
            let count = receiver.recv_many(&mut spans, batch).await as u64;
            if count == 0 {
                return;
            }
            let spans = std::mem::take(&mut spans);
            let message = Message::Spans(ExportTraceServiceRequest {
                resource_spans: group_spans_by_resource_and_scope(spans, &resource),
            });
            if let Some(refused) = self.deliver(&message).await {
                self.tally.sent(count.saturating_sub(refused));
            }
        }
    }

    /// Delivers metrics, now and then and at the end.
    pub(super) async fn metrics(mut self, reader: Reader) {
        loop {
            let mut finish = self.finish.clone();
            let finishing = tokio::select! {
                _ = finish.wait_for(Option::is_some) => true,
                () = tokio::time::sleep(METRICS_EVERY) => false,
            };
            let mut metrics = ResourceMetrics::default();
            // It fails when the exporter is gone: there is nobody left who records.
            let collected = reader.collect(&mut metrics).is_ok();
            if collected && metrics.scope_metrics().next().is_some() {
                let message = Message::Metrics(ExportMetricsServiceRequest::from(&metrics));
                self.deliver(&message).await;
            }
            if finishing {
                return;
            }
        }
    }

    /// Tries until it is delivered, lost, or time is over. Returns what was refused of it; `None`: all is lost.
    async fn deliver(&mut self, message: &Message) -> Option<u64> {
        let end = Instant::now() + self.timeout;
        let mut pause = FIRST_PAUSE;
        for attempt in 1.. {
            let sent = tokio::time::timeout_at(end, self.client.send(message)).await;
            let failure = match sent {
                Ok(Ok(refused)) => {
                    if refused > 0 {
                        self.failed(&format!("refused {refused} values"));
                    }
                    return Some(refused);
                }
                Ok(Err(failure)) => failure,
                Err(_) => Failure::lasting(format!("did not answer within {:?}", self.timeout)),
            };
            let again = failure.passing && attempt < ATTEMPTS;
            if !again || !self.pause(failure.pause.unwrap_or(pause), end).await {
                self.failed(&failure.reason);
                return None;
            }
            pause *= 2;
        }
        None
    }

    /// Waits before the next attempt; `false`: there is no time for one. When the exporter is told to finish
    /// meanwhile, the next attempt is now.
    async fn pause(&mut self, pause: Duration, end: Instant) -> bool {
        let finish = *self.finish.borrow();
        let end = finish.map_or(end, |finish| finish.min(end));
        // A collector may want any time at all, more than there is.
        let until = Instant::now().checked_add(pause);
        let Some(until) = until.filter(|until| *until < end) else {
            return false;
        };
        let told = async {
            match finish {
                Some(_) => std::future::pending().await,
                None => self.finish.wait_for(Option::is_some).await.is_ok(),
            }
        };
        // An exporter that is gone leaves the rest to this thread: there is no hurry.
        if let Ok(false) = tokio::time::timeout_at(until, told).await {
            tokio::time::sleep_until(until).await;
        }
        true
    }

    fn failed(&self, what: &str) {
        self.tally
            .failed(&format!("the collector at {}: {what}", self.place));
    }
}
