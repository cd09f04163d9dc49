//! Where the SDK hands over ended spans.

use std::sync::Arc;
use std::time::Duration;

use opentelemetry::Context;
use opentelemetry_sdk::error::OTelSdkResult;
use opentelemetry_sdk::trace::{Span, SpanData, SpanProcessor};

use super::gate::Gate;
use super::queue::Queue;

/// Lets an ended span through the gate and puts it into the queue. Never blocks.
#[derive(Debug)]
pub(super) struct Processor {
    pub(super) gate: Arc<Gate>,
    pub(super) queue: Arc<Queue>,
}

impl SpanProcessor for Processor {
    fn on_start(&self, _: &mut Span, _: &Context) {}

    fn on_end(&self, mut span: SpanData) {
        if span.span_context.is_sampled() && self.queue.takes_spans() {
            self.gate.clean(&mut span);
            self.queue.push(span);
        }
    }

    // The provider calls these when it is dropped, on whichever thread. What waits is the business of
    // `Exporter::finish`.
    fn force_flush(&self) -> OTelSdkResult {
        Ok(())
    }

    fn shutdown_with_timeout(&self, _: Duration) -> OTelSdkResult {
        Ok(())
    }
}
