//! Whether a subscriber has a layer of this crate already, and which spans are still open.

use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};

use tracing::Subscriber;
use tracing::span::{Attributes, Id};
use tracing_subscriber::Layer;
use tracing_subscriber::layer::Context;

use super::queue::Queue;

/// Stands beside the layer that sees spans, and switches it off if it is not the first of its subscriber: two of
/// them would put their data into the same place of a span, and panic. It counts the spans that begin and are gone,
/// since one that somebody holds is not exported.
pub(super) struct OnlyLayer {
    pub(super) queue: Arc<Queue>,
    pub(super) second: Arc<AtomicBool>,
}

impl<S: Subscriber> Layer<S> for OnlyLayer {
    fn on_layer(&mut self, subscriber: &mut S) {
        let inside: &dyn Subscriber = subscriber;
        if inside.is::<Self>() {
            self.second.store(true, Ordering::Relaxed);
            self.queue.second();
        }
    }

    fn on_new_span(&self, _: &Attributes<'_>, _: &Id, _: Context<'_, S>) {
        self.queue.opened();
    }

    fn on_close(&self, _: Id, _: Context<'_, S>) {
        self.queue.closed();
    }
}
