//! A command that was left running.

use std::path::PathBuf;
use std::pin::Pin;
use std::sync::{Arc, Mutex, PoisonError};
use std::task::{Context, Poll};
use std::time::Duration;

use harness_core::{CancellationToken, Secrets};
use tokio::sync::watch;
use tokio::task::AbortHandle;

use crate::capture::Capture;
use crate::command::{Bounds, CommandReport, End, Output, drive};
use crate::error::Error;
use crate::processes::Process;
use crate::workspace::Workspace;

/// What one may do with a job. It goes on without these; only its [`JobGuard`] keeps it.
#[derive(Clone, Debug)]
pub(crate) struct Job {
    /// The leader's process id.
    pub(crate) id: Option<u32>,
    /// The file with all of its output.
    pub(crate) file: Option<PathBuf>,
    pub(crate) timeout: Option<Duration>,
    output: Output,
    stop: CancellationToken,
    end: watch::Receiver<Option<End>>,
}

impl Job {
    /// Lets a process run on. A task takes it to its end.
    pub(crate) fn start(
        mut process: Box<dyn Process>,
        workspace: &Workspace,
        timeout: Option<Duration>,
        secrets: &Secrets,
    ) -> (Self, JobGuard) {
        let folder = workspace.shell().output_folder.clone();
        let mut capture = Capture::new(workspace.limits(), folder, secrets);
        let file = capture.keep_from_start();
        let (told, end) = watch::channel(None);
        let job = Self {
            id: process.id(),
            file,
            timeout,
            output: Output::new(capture),
            stop: CancellationToken::new(),
            end,
        };
        let (output, stop) = (job.output.clone(), job.stop.clone());
        let workspace = workspace.clone();
        let guard = JobGuard::spawn(async move {
            let bounds = Bounds {
                limits: workspace.limits(),
                timeout,
                stop: &stop,
            };
            let end = drive(&mut *process, &output, bounds, &mut |_| {}).await;
            drop(process);
            let _ = told.send(Some(end.unwrap_or_default()));
        });
        (job, guard)
    }

    /// How it ended, if it did.
    pub(crate) fn end(&self) -> Option<End> {
        // In this order: what was told before the task went is not overlooked.
        let nobody_tells = self.end.has_changed().is_err();
        let end = *self.end.borrow();
        // It was killed, with the task.
        end.or_else(|| nobody_tells.then(End::default))
    }

    /// Waits for its end.
    pub(crate) async fn ended(&self) {
        let _ = self.end.clone().wait_for(Option::is_some).await;
    }

    /// Has it ended: SIGTERM, grace, SIGKILL.
    pub(crate) fn stop(&self) {
        self.stop.cancel();
    }

    /// What it said since it was asked last, and how it ended if it did.
    pub(crate) async fn report(&self) -> Result<(CommandReport, bool), Error> {
        match self.end() {
            Some(end) => Ok((end.report(self.output.finish().await?, None), true)),
            None => Ok((
                End::default().report(self.output.take().await?, None),
                false,
            )),
        }
    }
}

/// Keeps a job. Dropped, it kills the job's processes at once, whether or not the runtime still is
/// there; so does the runtime when it ends.
#[derive(Debug)]
pub(crate) struct JobGuard {
    work: Work,
    task: AbortHandle,
}

impl JobGuard {
    fn spawn(work: impl Future<Output = ()> + Send + 'static) -> Self {
        let work = Work(Arc::new(Mutex::new(Some(Box::pin(work)))));
        let task = tokio::spawn(Driver(work.clone())).abort_handle();
        Self { work, task }
    }
}

impl Drop for JobGuard {
    fn drop(&mut self) {
        self.task.abort();
        self.work.drop_it();
    }
}

type BoxedWork = Pin<Box<dyn Future<Output = ()> + Send>>;

/// What the task does, where it can be taken away from it.
#[derive(Clone)]
struct Work(Arc<Mutex<Option<BoxedWork>>>);

impl Work {
    fn lock(&self) -> std::sync::MutexGuard<'_, Option<BoxedWork>> {
        self.0.lock().unwrap_or_else(PoisonError::into_inner)
    }

    fn drop_it(&self) {
        let work = self.lock().take();
        drop(work);
    }
}

impl std::fmt::Debug for Work {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.write_str("Work")
    }
}

struct Driver(Work);

impl Future for Driver {
    type Output = ();

    fn poll(self: Pin<&mut Self>, cx: &mut Context<'_>) -> Poll<()> {
        let mut work = self.0.lock();
        let Some(future) = work.as_mut() else {
            return Poll::Ready(());
        };
        let polled = future.as_mut().poll(cx);
        if polled.is_ready() {
            *work = None;
        }
        polled
    }
}

impl Drop for Driver {
    fn drop(&mut self) {
        self.0.drop_it();
    }
}
