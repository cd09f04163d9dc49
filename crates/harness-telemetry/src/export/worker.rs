//! The exporter's thread.

use std::io;
use std::sync::Arc;
use std::time::Duration;

use opentelemetry_sdk::Resource;
use opentelemetry_sdk::trace::SpanData;
use tokio::sync::{mpsc, watch};
use tokio::time::Instant;
use tracing::Dispatch;

use super::deaf::Deaf;
use super::done::DoneGuard;
use super::meters::Reader;
use super::report::Tally;
use super::{BatchOptions, OtlpTarget, SpanSink};

/// How long what is left may take when nobody waits for it: the exporter was dropped without an end.
const UNATTENDED: Duration = Duration::from_secs(10);

/// What the thread does, and for whom.
pub(super) struct Work {
    pub(super) receiver: mpsc::Receiver<SpanData>,
    pub(super) finish: watch::Receiver<Option<Instant>>,
    pub(super) resource: Resource,
    pub(super) sinks: Vec<Box<dyn SpanSink>>,
    pub(super) batch: BatchOptions,
    pub(super) spans: Option<OtlpTarget>,
    pub(super) metrics: Option<(OtlpTarget, Reader)>,
    pub(super) tally: Arc<Tally>,
    pub(super) done: DoneGuard,
}

/// The way to a collector: where ended spans are put, and what is to be waited for at the end.
#[derive(Default)]
struct Collectors {
    spans: Option<mpsc::Sender<SpanData>>,
    tasks: Vec<tokio::task::JoinHandle<()>>,
}

impl Work {
    pub(super) fn start(self) -> io::Result<()> {
        let thread = std::thread::Builder::new().name("telemetry-export".to_owned());
        thread.spawn(|| {
            // What clients and sinks trace while they export is nobody's business, least of all the
            // exporter's.
            tracing::dispatcher::with_default(&Dispatch::new(Deaf), || self.work());
        })?;
        Ok(())
    }

    fn work(self) {
        let mut builder = tokio::runtime::Builder::new_current_thread();
        let runtime = match builder.enable_all().build() {
            Ok(runtime) => runtime,
            Err(error) => {
                self.tally
                    .failed(&format!("the export does not start: {error}"));
                return;
            }
        };
        runtime.block_on(self.export());
        // What is left (a name that is being looked up) may take its time. Nobody waits for it.
        runtime.shutdown_background();
    }

    async fn export(mut self) {
        #[cfg(any(feature = "otlp-http", feature = "otlp-grpc"))]
        let mut collectors = self.collectors();
        #[cfg(not(any(feature = "otlp-http", feature = "otlp-grpc")))]
        let mut collectors = Collectors::default();
        let mut batch = Vec::with_capacity(self.batch.batch);
        while self.fill(&mut batch).await {
            self.hand_on(&mut batch, &collectors);
        }
        self.receiver.close();
        self.hand_on(&mut batch, &collectors);
        while self.receiver.recv_many(&mut batch, self.batch.batch).await > 0 {
            self.hand_on(&mut batch, &collectors);
        }
        for sink in &mut self.sinks {
            if let Err(error) = sink.finish() {
                self.tally.failed(&error);
            }
        }
        collectors.spans = None;
        let asked = *self.finish.borrow();
        let deadline = asked.unwrap_or_else(|| Instant::now() + UNATTENDED);
        let all = async {
            for task in &mut collectors.tasks {
                // A task that panicked delivered nothing more; the counts say so.
                let _ = task.await;
            }
        };
        if tokio::time::timeout_at(deadline, all).await.is_err() {
            let target = self
                .spans
                .as_ref()
                .or(self.metrics.as_ref().map(|(target, _)| target));
            let place = target
                .and_then(|target| target.place().ok())
                .unwrap_or_default();
            self.tally.failed(&format!(
                "the collector at {place} did not take everything in time"
            ));
        }
        drop(self.done);
    }

    /// Waits for a batch: until it is full, or its first span has waited long enough. `false`: no other one
    /// will come, this was the last but for what is in the queue.
    async fn fill(&mut self, batch: &mut Vec<SpanData>) -> bool {
        let mut due = None;
        loop {
            let room = self.batch.batch - batch.len();
            if room == 0 {
                return true;
            }
            let wait = async {
                match due {
                    Some(due) => tokio::time::sleep_until(due).await,
                    None => std::future::pending().await,
                }
            };
            tokio::select! {
                biased;
                // An error means that the exporter and all its layers are gone.
                _ = self.finish.wait_for(Option::is_some) => return false,
                count = self.receiver.recv_many(batch, room) => {
                    if count == 0 {
                        return false;
                    }
                    due.get_or_insert_with(|| Instant::now() + self.batch.delay);
                }
                () = wait => return true,
            }
        }
    }

    /// Writes a batch to the sinks and puts it into the collector's queue, as far as there is room.
    fn hand_on(&mut self, batch: &mut Vec<SpanData>, collectors: &Collectors) {
        if batch.is_empty() {
            return;
        }
        let mut all_took_it = true;
        for sink in &mut self.sinks {
            if let Err(error) = sink.write(&self.resource, batch) {
                self.tally.failed(&error);
                all_took_it = false;
            }
        }
        if all_took_it {
            self.tally.written(batch.len() as u64);
        }
        for span in batch.drain(..) {
            if let Some(sender) = &collectors.spans {
                // Without room it is dropped: it will be missing when the delivered ones are counted.
                let _ = sender.try_send(span);
            }
        }
    }

    /// Starts what sends to collectors. It is apart from the sinks so that these never wait for a collector.
    #[cfg(any(feature = "otlp-http", feature = "otlp-grpc"))]
    fn collectors(&self) -> Collectors {
        use super::delivery::Delivery;

        let mut collectors = Collectors::default();
        let delivery = |target| {
            let made = Delivery::new(target, self.finish.clone(), Arc::clone(&self.tally));
            made.map_err(|error| self.tally.failed(&error.to_string()))
                .ok()
        };
        if let Some(delivery) = self.spans.as_ref().and_then(delivery) {
            let (sender, receiver) = mpsc::channel(self.batch.queue);
            let spans = delivery.spans(receiver, (&self.resource).into(), self.batch.batch);
            collectors.tasks.push(tokio::spawn(spans));
            collectors.spans = Some(sender);
        }
        if let Some((target, reader)) = &self.metrics
            && let Some(delivery) = delivery(target)
        {
            let metrics = delivery.metrics(reader.clone());
            collectors.tasks.push(tokio::spawn(metrics));
        }
        collectors
    }
}
