//! The terminal that a person sits at, for questions.

use std::fs::File;
use std::io::{IsTerminal, Read as _, Write as _};
use std::os::fd::AsFd;
use std::sync::{Mutex, MutexGuard, PoisonError};

use harness_core::CancellationToken;
use rustix::event::{PollFd, PollFlags, Timespec, poll};
use rustix::termios::{QueueSelector, tcflush};

/// How often it is looked whether the run was cancelled while an answer is waited for.
const GLANCE: Timespec = Timespec {
    tv_sec: 0,
    tv_nsec: 50_000_000,
};

/// The most bytes of an answer.
const MAX_ANSWER: usize = 4096;

/// The screen that questions and the progress line share.
#[derive(Debug, Default)]
pub(crate) struct Screen {
    /// Whether a question stands there.
    pub(crate) is_asking: bool,
    /// What is to be written once it is answered.
    pub(crate) waiting: String,
}

static SCREEN: Mutex<Screen> = Mutex::new(Screen {
    is_asking: false,
    waiting: String::new(),
});

/// The screen of this process. Held, nobody else writes to it.
pub(crate) fn screen() -> MutexGuard<'static, Screen> {
    SCREEN.lock().unwrap_or_else(PoisonError::into_inner)
}

/// While this lives, the screen is a question's.
pub(crate) struct Asking(());

impl Asking {
    pub(crate) fn begin() -> Self {
        screen().is_asking = true;
        Self(())
    }
}

impl Drop for Asking {
    fn drop(&mut self) {
        let mut screen = screen();
        screen.is_asking = false;
        let _ = std::io::stderr().write_all(screen.waiting.as_bytes());
        screen.waiting.clear();
    }
}

/// A terminal with a person at it: what is typed comes from standard input, and what is said goes to standard
/// error.
pub(crate) struct Tty {
    input: File,
}

impl Tty {
    /// The terminal, if there is a person at it: standard input and standard error are one. Somebody who pipes
    /// something in, or keeps the errors in a file, is a script as like as not.
    pub(crate) fn open() -> Option<Self> {
        let input = std::io::stdin();
        if !input.is_terminal() || !std::io::stderr().is_terminal() {
            return None;
        }
        // Another handle of the same terminal, without the buffer that standard input has.
        let input = input.as_fd().try_clone_to_owned().ok()?;
        Some(Self {
            input: File::from(input),
        })
    }

    /// Writes. What cannot be written is not read either, so nobody will answer.
    #[expect(clippy::unused_self, reason = "only who has a terminal may ask")]
    pub(crate) fn say(&self, text: &str) {
        let _ = std::io::stderr().write_all(text.as_bytes());
    }

    /// Forgets what was typed before the question could be read: it was meant for something else.
    pub(crate) fn forget_typed(&self) {
        let _ = tcflush(&self.input, QueueSelector::IFlush);
    }

    /// Waits for a line. `None` at the end of input, on an error, and when `cancel` fires. Blocks.
    pub(crate) fn line(&mut self, cancel: &CancellationToken) -> Option<String> {
        let mut line = Vec::new();
        loop {
            if cancel.is_cancelled() {
                return None;
            }
            let mut ready = [PollFd::new(&self.input, PollFlags::IN)];
            match poll(&mut ready, Some(&GLANCE)) {
                Ok(0) | Err(rustix::io::Errno::INTR) => continue,
                Ok(_) => {}
                Err(_) => return None,
            }
            let mut piece = [0; 256];
            let count = match self.input.read(&mut piece) {
                Ok(0) => return None,
                Ok(count) => count,
                Err(error) if error.kind() == std::io::ErrorKind::Interrupted => continue,
                Err(_) => return None,
            };
            line.extend_from_slice(piece.get(..count).unwrap_or_default());
            if line.contains(&b'\n') || line.len() > MAX_ANSWER {
                break;
            }
        }
        let text = String::from_utf8_lossy(&line);
        Some(text.lines().next().unwrap_or_default().trim().to_owned())
    }
}
