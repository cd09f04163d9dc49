//! Traces over the borders of the process, by W3C's Trace Context.

use harness_core::TraceContext;

use super::{continue_trace, trace_context};
use crate::middleware::Propagation;

/// Carries traces on as W3C's Trace Context, of spans that an [`Exporter`](super::Exporter) sees.
#[derive(Clone, Copy, Debug, Default)]
pub struct W3cPropagation {
    incoming_only: bool,
}

impl W3cPropagation {
    /// In both directions: services and processes are told where they are in the trace.
    pub fn new() -> Self {
        Self::default()
    }

    /// Goes on from where the caller is, and tells nobody.
    pub fn incoming_only() -> Self {
        Self {
            incoming_only: true,
        }
    }
}

impl Propagation for W3cPropagation {
    fn inject(&self, span: &tracing::Span) -> Option<TraceContext> {
        if self.incoming_only {
            return None;
        }
        let (parent, state) = trace_context(span)?;
        TraceContext::new(&parent, state.as_deref())
    }

    fn extract(&self, span: &tracing::Span, from: &TraceContext) {
        // A place that cannot be gone on from is as good as none.
        let _ = continue_trace(span, from.traceparent(), from.tracestate());
    }
}
