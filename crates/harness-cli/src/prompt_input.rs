//! The task: from the command line and from piped standard input.

use std::io::{IsTerminal, Read};
use std::os::fd::AsFd;
use std::sync::mpsc::{self, RecvTimeoutError};
use std::time::Duration;

use harness_agent::prompt::parse_invocation;

use crate::failure::Failure;

/// The most bytes that are read from standard input.
const MAX_BYTES: usize = 8 * 1024 * 1024;

/// How long a pipe may stay silent before a run that has its task on the command line goes on
/// without it; and how long, once something came.
const FIRST_WAIT: Duration = Duration::from_secs(1);
const NEXT_WAIT: Duration = Duration::from_secs(5);

/// The task of a run.
#[derive(Debug)]
pub(crate) struct PromptInput {
    pub(crate) text: String,
    /// What was piped beside a slash command: not among its arguments.
    pub(crate) beside: Option<String>,
    /// What should be said about how it was read.
    pub(crate) note: Option<String>,
}

impl PromptInput {
    /// Joins the words of the command line, then piped input after a blank line.
    ///
    /// A run that goes on with something need not be told more: then `None` if nothing was.
    pub(crate) fn read(words: &[String], goes_on: bool) -> Result<Option<Self>, Failure> {
        let typed = typed(words);
        let typed = typed.trim();
        let stdin = std::io::stdin();
        let (piped, note) = if stdin.is_terminal() {
            (String::new(), None)
        } else if typed.is_empty() && !goes_on {
            (read_all(stdin.lock())?, None)
        } else {
            read_waiting(&stdin)?
        };
        let piped = piped.trim_end();
        let mut beside = None;
        let text = match (typed.is_empty(), piped.trim().is_empty()) {
            (true, true) if goes_on => return Ok(None),
            (true, true) => {
                return Err(Failure::usage("there is no task")
                    .hint("write it behind `harness run`, or pipe it in"));
            }
            (false, true) => typed.to_owned(),
            (true, false) => piped.to_owned(),
            (false, false) if parse_invocation(typed).is_some() => {
                beside = Some(piped.to_owned());
                typed.to_owned()
            }
            (false, false) => format!("{typed}\n\n{piped}"),
        };
        Ok(Some(Self { text, beside, note }))
    }
}

/// The words of the command line as one text. Behind a slash command, a word that the shell held together is
/// held together by quotes.
pub(crate) fn typed(words: &[String]) -> String {
    let is_command = words.len() > 1
        && words
            .first()
            .and_then(|first| parse_invocation(first))
            .is_some_and(|(_, rest)| rest.is_empty());
    if !is_command {
        return words.join(" ");
    }
    let quoted = words.iter().map(|word| {
        if word.is_empty() || word.contains(|c: char| c.is_whitespace() || "'\"\\".contains(c)) {
            format!("'{}'", word.replace('\'', "'\\''"))
        } else {
            word.clone()
        }
    });
    quoted.collect::<Vec<_>>().join(" ")
}

fn read_all(input: impl Read) -> Result<String, Failure> {
    let mut bytes = Vec::new();
    input
        .take(MAX_BYTES as u64 + 1)
        .read_to_end(&mut bytes)
        .map_err(|error| Failure::usage(format!("standard input cannot be read: {error}")))?;
    decoded(bytes)
}

fn decoded(bytes: Vec<u8>) -> Result<String, Failure> {
    if bytes.len() > MAX_BYTES {
        return Err(
            Failure::usage(format!("standard input is larger than {MAX_BYTES} bytes"))
                .hint("put it into a file and name the file in the task"),
        );
    }
    String::from_utf8(bytes).map_err(|error| {
        Failure::usage(format!(
            "standard input is not UTF-8: {}",
            error.utf8_error()
        ))
        .hint("put it into a file and name the file in the task")
    })
}

/// Reads what comes, but does not wait for ever for a pipe that nobody closes.
fn read_waiting(stdin: &std::io::Stdin) -> Result<(String, Option<String>), Failure> {
    // A file or `/dev/null` ends by itself; a thread for it would cost more than reading it.
    let file = std::fs::File::from(
        stdin
            .as_fd()
            .try_clone_to_owned()
            .map_err(|error| Failure::usage(format!("standard input cannot be read: {error}")))?,
    );
    let ends_by_itself = file.metadata().is_ok_and(|metadata| {
        use std::os::unix::fs::FileTypeExt;
        let kind = metadata.file_type();
        !(kind.is_fifo() || kind.is_socket())
    });
    if ends_by_itself {
        return Ok((read_all(file)?, None));
    }
    let (chunks, arrived) = mpsc::channel::<Vec<u8>>();
    // The thread ends with the input, or with the process.
    std::thread::spawn(move || {
        let mut file = file;
        let mut buffer = vec![0; 64 * 1024];
        while let Ok(count) = file.read(&mut buffer) {
            if count == 0 || chunks.send(buffer[..count].to_vec()).is_err() {
                break;
            }
        }
    });
    let mut bytes = Vec::new();
    let mut wait = FIRST_WAIT;
    loop {
        match arrived.recv_timeout(wait) {
            Ok(chunk) => {
                bytes.extend(chunk);
                wait = NEXT_WAIT;
                if bytes.len() > MAX_BYTES {
                    return Ok((decoded(bytes)?, None));
                }
            }
            Err(RecvTimeoutError::Disconnected) => return Ok((decoded(bytes)?, None)),
            Err(RecvTimeoutError::Timeout) => {
                let note = if bytes.is_empty() {
                    "standard input stays open and sends nothing; going on without it"
                } else {
                    "standard input stays open and sends no more; going on with what came"
                };
                return Ok((decoded(bytes)?, Some(note.to_owned())));
            }
        }
    }
}
