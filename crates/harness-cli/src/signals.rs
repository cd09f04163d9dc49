//! Signals: the first one cancels the run, the second one ends the process.

use std::sync::Arc;
use std::sync::atomic::{AtomicU8, Ordering};

use harness_core::CancellationToken;
use tokio::signal::unix::{SignalKind, signal};

use crate::failure::{Exit, Failure};

/// Which signal came, if any.
#[derive(Clone, Debug, Default)]
pub(crate) struct Signals {
    number: Arc<AtomicU8>,
    again: CancellationToken,
}

impl Signals {
    /// Listens from now on; the first signal fires `cancel`. Needs a runtime.
    pub(crate) fn listen(cancel: &CancellationToken) -> Result<Self, Failure> {
        let this = Self::default();
        for kind in [
            SignalKind::interrupt(),
            SignalKind::terminate(),
            SignalKind::hangup(),
        ] {
            let mut stream = signal(kind).map_err(|error| {
                Failure::failed(format!("signals cannot be listened for: {error}"))
            })?;
            let (this, cancel) = (this.clone(), cancel.clone());
            tokio::spawn(async move {
                while stream.recv().await.is_some() {
                    let number = u8::try_from(kind.as_raw_value()).unwrap_or(15);
                    let first = this
                        .number
                        .compare_exchange(0, number, Ordering::SeqCst, Ordering::SeqCst)
                        .is_ok();
                    if first {
                        cancel.cancel();
                    } else {
                        this.again.cancel();
                    }
                }
            });
        }
        Ok(this)
    }

    /// Waits for a second signal: the person does not want to wait for an orderly end.
    pub(crate) async fn second(&self) {
        self.again.cancelled().await;
    }

    /// The name of the signal that came, and the exit status for it.
    pub(crate) fn came(&self) -> Option<(&'static str, Exit)> {
        let number = self.number.load(Ordering::SeqCst);
        let name = match number {
            0 => return None,
            1 => "SIGHUP",
            2 => "SIGINT",
            _ => "SIGTERM",
        };
        Some((name, Exit::Signal(number)))
    }
}
