//! Whether a subscriber has a layer of this crate already.

use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};

use tracing::Subscriber;
use tracing_subscriber::Layer;

use super::queue::Queue;

/// Stands beside the layer that sees spans, and switches it off if it is not the first of its subscriber: two of
/// them would put their data into the same place of a span, and panic.
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
}
