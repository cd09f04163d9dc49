//! Signals: the first one cancels the run, the second one ends the process.

use std::sync::Arc;
use std::sync::atomic::{AtomicU8, Ordering};
use std::time::Duration;

use harness_core::CancellationToken;
use tokio::signal::unix::{SignalKind, signal};

use crate::failure::{Exit, Failure};

/// How long, after a signal, output may wait for somebody who reads it.
const STALLED: Duration = Duration::from_secs(2);

/// What a reader who does read needs at most, also after a second signal.
const MOMENT: Duration = Duration::from_millis(100);

/// SIGXFSZ, which no library names for every Unix; this is its number on all that are in use.
const XFSZ: i32 = 25;

/// The signals that would end the process at once, and leave what it started running.
fn deadly() -> [(SignalKind, &'static str); 7] {
    [
        (SignalKind::hangup(), "SIGHUP"),
        (SignalKind::interrupt(), "SIGINT"),
        (SignalKind::quit(), "SIGQUIT"),
        (SignalKind::user_defined1(), "SIGUSR1"),
        (SignalKind::user_defined2(), "SIGUSR2"),
        (SignalKind::alarm(), "SIGALRM"),
        (SignalKind::terminate(), "SIGTERM"),
    ]
}

/// Which signal came, if any.
#[derive(Clone, Debug, Default)]
pub(crate) struct Signals {
    number: Arc<AtomicU8>,
    first: CancellationToken,
    again: CancellationToken,
}

impl Signals {
    /// Listens from now on; the first signal fires `cancel`. Needs a runtime.
    pub(crate) fn listen(cancel: &CancellationToken) -> Result<Self, Failure> {
        let this = Self {
            first: cancel.clone(),
            ..Self::default()
        };
        let failed = |error| Failure::failed(format!("signals cannot be listened for: {error}"));
        // A write beyond the size that files may have shall be an error, not the end.
        let _ = signal(SignalKind::from_raw(XFSZ)).map_err(failed)?;
        for (kind, _) in deadly() {
            let mut stream = signal(kind).map_err(failed)?;
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

    /// Does something to its end, unless a second signal comes or came.
    pub(crate) async fn unless_again(&self, work: impl Future<Output = ()>) {
        tokio::select! {
            biased;
            () = self.second() => {}
            () = work => {}
        }
    }

    /// Does on a thread what may have to wait for a reader: writing. `None` if a signal came and the
    /// reader still does not read; the thread then ends with the process.
    pub(crate) async fn write<T: Send + 'static>(
        &self,
        write: impl FnOnce() -> T + Send + 'static,
    ) -> Option<T> {
        let stalled = async {
            self.first.cancelled().await;
            let _ = tokio::time::timeout(STALLED, self.again.cancelled()).await;
            tokio::time::sleep(MOMENT).await;
        };
        tokio::select! {
            biased;
            written = tokio::task::spawn_blocking(write) => match written {
                Ok(written) => Some(written),
                Err(error) => match error.try_into_panic() {
                    Ok(panic) => std::panic::resume_unwind(panic),
                    Err(_) => None,
                },
            },
            () = stalled => None,
        }
    }

    /// The name of the signal that came, and the exit status for it.
    pub(crate) fn came(&self) -> Option<(&'static str, Exit)> {
        let number = self.number.load(Ordering::SeqCst);
        if number == 0 {
            return None;
        }
        let mut all = deadly().into_iter();
        let named = all.find(|(kind, _)| kind.as_raw_value() == i32::from(number));
        let name = named.map_or("a signal", |(_, name)| name);
        Some((name, Exit::Signal(number)))
    }
}
