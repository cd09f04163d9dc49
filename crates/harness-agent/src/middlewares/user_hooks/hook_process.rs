//! A hook's process, from its start to its end.

use std::path::Path;
use std::sync::Arc;
use std::time::Duration;

use futures::FutureExt;
use harness_core::{CancellationToken, Clock};
use harness_tools::{
    OutputStream, Process, ProcessEvent, ProcessExit, ProcessSpec, Processes, ShellOptions,
};

use super::hook::{Action, Hook};

/// The most bytes that are kept of each stream of a hook.
const MAX_OUTPUT_BYTES: usize = 64 * 1024;

/// How long output is waited for after a hook has ended: something that it left running holds it open.
const LINGER: Duration = Duration::from_millis(500);

/// Where hooks run.
#[derive(Clone, Copy)]
pub(super) struct Place<'a> {
    pub(super) processes: &'a dyn Processes,
    pub(super) shell: &'a ShellOptions,
    pub(super) folder: &'a Path,
    pub(super) clock: &'a Arc<dyn Clock>,
    pub(super) cancel: &'a CancellationToken,
}

/// How a hook ended.
#[derive(Debug)]
pub(super) enum Ran {
    /// By itself, with a code.
    Exited { code: i32, out: Stream, err: Stream },
    /// In another way, which is a failure: in words.
    Failed(String),
    /// The run was cancelled.
    Cancelled,
}

/// What a hook wrote to one of its streams.
#[derive(Debug, Default)]
pub(super) struct Stream {
    bytes: Vec<u8>,
    /// Whether there was more.
    pub(super) is_cut: bool,
}

impl Stream {
    fn push(&mut self, bytes: &[u8]) {
        let room = MAX_OUTPUT_BYTES - self.bytes.len();
        self.is_cut |= bytes.len() > room;
        self.bytes.extend(bytes.iter().take(room));
    }

    /// Without blanks around it; if it was cut, with a line that says so.
    pub(super) fn text(&self) -> String {
        let text = String::from_utf8_lossy(&self.bytes);
        let text = text.trim();
        if self.is_cut {
            format!("{text}\n[cut: a hook may say {MAX_OUTPUT_BYTES} bytes]")
        } else {
            text.to_owned()
        }
    }
}

/// Runs a hook to its end, whatever end that is. When it returns, or is dropped, nothing of it runs.
pub(super) async fn run(hook: &Hook, input: &[u8], place: Place<'_>) -> Ran {
    let command = match &hook.action {
        Action::Run(command) => command,
        Action::Fail(problem) => return Ran::Failed(problem.clone()),
    };
    if place.cancel.is_cancelled() {
        return Ran::Cancelled;
    }
    let spec = ProcessSpec::new(command, place.folder, place.shell).with_stdin(input);
    let mut process = match place.processes.start(spec).await {
        Ok(process) => process,
        Err(error) => return Ran::Failed(error.to_string()),
    };
    let mut out = Stream::default();
    let mut err = Stream::default();
    let end = {
        let mut over = place.clock.sleep(hook.timeout).fuse();
        let mut cancelled = Box::pin(place.cancel.cancelled()).fuse();
        let mut ending = Box::pin(to_end(&mut *process, place.clock, &mut out, &mut err)).fuse();
        futures::select_biased! {
            () = cancelled => None,
            exit = ending => Some(Ok(exit)),
            () = over => Some(Err(hook.timeout)),
        }
    };
    // Also what it left in the background.
    process.kill().await;
    match end {
        None => Ran::Cancelled,
        Some(Err(time)) => {
            Ran::Failed(format!("it ran out of time after {} s", time.as_secs_f64()))
        }
        Some(Ok(ProcessExit {
            code: Some(code), ..
        })) => Ran::Exited { code, out, err },
        Some(Ok(ProcessExit {
            signal: Some(signal),
            ..
        })) => Ran::Failed(format!("it was ended by signal {signal}")),
        Some(Ok(_)) => Ran::Failed("how it ended is not known".to_owned()),
    }
}

/// Reads until the leader has ended and its output is at an end, or held open by others for too long.
async fn to_end(
    process: &mut dyn Process,
    clock: &Arc<dyn Clock>,
    out: &mut Stream,
    err: &mut Stream,
) -> ProcessExit {
    let exit = loop {
        match process.next().await {
            None => return ProcessExit::default(),
            Some(ProcessEvent::Exited(exit)) => break exit,
            Some(event) => keep(event, out, err),
        }
    };
    let mut linger = clock.sleep(LINGER).fuse();
    loop {
        futures::select_biased! {
            event = process.next().fuse() => match event {
                Some(event) => keep(event, out, err),
                None => return exit,
            },
            () = linger => return exit,
        }
    }
}

fn keep(event: ProcessEvent, out: &mut Stream, err: &mut Stream) {
    match event {
        ProcessEvent::Output {
            stream: OutputStream::Stdout,
            bytes,
        } => out.push(&bytes),
        ProcessEvent::Output {
            stream: OutputStream::Stderr,
            bytes,
        } => err.push(&bytes),
        ProcessEvent::Exited(_) => {}
    }
}
