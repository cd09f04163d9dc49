//! What lasts from one `bash` call to the next.

use std::collections::BTreeMap;
use std::path::{Path, PathBuf};
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};

use harness_core::RunContext;

use crate::error::Error;
use crate::job::{Job, JobGuard};

/// Held while the state of a run is made.
static MAKING: Mutex<()> = Mutex::new(());

/// What lasts from one `bash` call of a session to the next: the working folder and the jobs in the
/// background. Cheap to clone; the clones share it.
///
/// It lives in the attributes of the run's context, so that different users do not share it. Without
/// more, it lasts as long as the run. A host that wants it to last over the runs of a session puts the
/// same one into each run's attributes, and calls [`end`](Self::end) when the session ends;
/// `AgentSession` of `harness-agent` does both. Cancelling a run does not end jobs: the session may go
/// on.
///
/// When the last clone is dropped, the jobs are killed at once, without SIGTERM first. The same when
/// the tokio runtime ends in which they were started.
#[derive(Clone, Debug, Default)]
pub struct ShellSession(Arc<Mutex<State>>);

#[derive(Debug, Default)]
struct State {
    folder: Option<Folder>,
    jobs: BTreeMap<u64, Kept>,
    last_number: u64,
    ended: bool,
}

#[derive(Debug)]
struct Folder {
    /// The root of the calls that it holds for.
    root: PathBuf,
    folder: PathBuf,
}

#[derive(Debug)]
struct Kept {
    job: Job,
    /// Its end was mentioned.
    mentioned: bool,
    /// Dropped, it kills.
    _guard: JobGuard,
}

impl ShellSession {
    /// In the root of the workspace, without jobs.
    pub fn new() -> Self {
        Self::default()
    }

    /// The one of this run; made when it is asked for first.
    pub fn of(run: &RunContext) -> Self {
        let _held = MAKING.lock().unwrap_or_else(PoisonError::into_inner);
        let attributes = run.attributes();
        if let Some(shell) = attributes.get::<Self>() {
            return Self::clone(&shell);
        }
        let shell = Self::new();
        attributes.insert(shell.clone());
        shell
    }

    /// The jobs that run, by number.
    pub fn running_jobs(&self) -> Vec<u64> {
        let state = self.lock();
        let running = state.jobs.iter().filter(|(_, it)| it.job.end().is_none());
        running.map(|(number, _)| *number).collect()
    }

    /// Ends every job: SIGTERM, and SIGKILL after
    /// [`Limits::bash_kill_grace`](crate::Limits::bash_kill_grace). When it returns, none of their
    /// processes runs, and no new job can be started. When it is dropped before, the jobs have been
    /// asked to end, and are killed when the last clone is dropped.
    pub async fn end(&self) {
        let jobs: Vec<Job> = {
            let mut state = self.lock();
            state.ended = true;
            state.jobs.values().map(|it| it.job.clone()).collect()
        };
        for job in &jobs {
            job.stop();
        }
        for job in &jobs {
            job.ended().await;
        }
        let gone = std::mem::take(&mut self.lock().jobs);
        drop(gone);
    }

    /// Where a call with this root starts: the folder that the one before ended in.
    pub(crate) fn folder(&self, root: &Path) -> Option<PathBuf> {
        let state = self.lock();
        let kept = state.folder.as_ref().filter(|kept| kept.root == root)?;
        Some(kept.folder.clone())
    }

    /// Remembers where a call with this root ended; `None` is the root.
    pub(crate) fn set_folder(&self, root: &Path, folder: Option<PathBuf>) {
        self.lock().folder = folder.map(|folder| Folder {
            root: root.to_owned(),
            folder,
        });
    }

    /// Makes room for one more job. Jobs that ended and were not asked for give way, the oldest first.
    pub(crate) fn admit(&self, most: usize) -> Result<(), Error> {
        let mut gone = Vec::new();
        let mut state = self.lock();
        if state.ended {
            return Err(Error::Stopped);
        }
        while state.jobs.len() >= most {
            let mut jobs = state.jobs.iter();
            let Some(number) = jobs.find_map(|(number, it)| it.job.end().map(|_| *number)) else {
                return Err(Error::Argument(format!(
                    "{most} jobs run, and more are not allowed. Stop one of them: {}.",
                    list(state.jobs.keys())
                )));
            };
            gone.extend(state.jobs.remove(&number));
        }
        Ok(())
    }

    /// Keeps a job, and gives its number. `Err` if the session has ended; the job is then killed.
    pub(crate) fn keep(&self, job: Job, guard: JobGuard) -> Result<u64, Error> {
        let mut state = self.lock();
        if state.ended {
            drop(state);
            drop(guard);
            return Err(Error::Stopped);
        }
        state.last_number += 1;
        let number = state.last_number;
        let kept = Kept {
            job,
            mentioned: false,
            _guard: guard,
        };
        state.jobs.insert(number, kept);
        Ok(number)
    }

    /// The job with this number.
    pub(crate) fn job(&self, number: u64) -> Result<Job, Error> {
        let state = self.lock();
        match state.jobs.get(&number) {
            Some(kept) => Ok(kept.job.clone()),
            None if state.jobs.is_empty() => Err(Error::Argument(format!(
                "There is no job {number}, nor any other."
            ))),
            None => Err(Error::Argument(format!(
                "There is no job {number}; there are: {}.",
                list(state.jobs.keys())
            ))),
        }
    }

    /// Forgets a job. Killed, if it still runs.
    pub(crate) fn forget(&self, number: u64) {
        let gone = self.lock().jobs.remove(&number);
        drop(gone);
    }

    /// The jobs that ended since the last time this was asked, and that nobody asked for.
    pub(crate) fn newly_ended(&self) -> Vec<u64> {
        let mut numbers = Vec::new();
        for (number, kept) in &mut self.lock().jobs {
            if !kept.mentioned && kept.job.end().is_some() {
                kept.mentioned = true;
                numbers.push(*number);
            }
        }
        numbers
    }

    fn lock(&self) -> MutexGuard<'_, State> {
        self.0.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

/// Numbers with commas between.
fn list<'a>(numbers: impl IntoIterator<Item = &'a u64>) -> String {
    let numbers: Vec<String> = numbers.into_iter().map(u64::to_string).collect();
    numbers.join(", ")
}
