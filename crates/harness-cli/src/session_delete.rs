//! `harness sessions delete`.

use std::io::{self, BufRead, IsTerminal, Write};
use std::process::ExitCode;

use harness_session::{SessionId, Store};
use serde_json::json;

use crate::failure::{Exit, Failure};
use crate::quantity::count;
use crate::session_place::SessionPlace;
use crate::sessions_arguments::SessionsDeleteArguments;
use crate::sessions_command::failure;
use crate::{stderr, stdout};

/// The fewest characters of an id that a session is deleted by: fewer are typed by mistake.
const LEAST: usize = 8;

/// Deletes sessions, after a question on a terminal.
pub(crate) fn delete(
    place: &SessionPlace,
    arguments: &SessionsDeleteArguments,
) -> Result<ExitCode, Failure> {
    // All have to be there before one is gone.
    let mut ids = Vec::new();
    for text in &arguments.ids {
        let id = place.find(text)?;
        if text.trim().chars().count() < LEAST {
            return Err(
                Failure::usage(format!("`{text}` is too short to delete a session by"))
                    .hint(format!("give at least {LEAST} characters of the id: {id}")),
            );
        }
        place.store.path_of(id).map_err(|error| failure(&error))?;
        if !ids.contains(&id) {
            ids.push(id);
        }
    }
    if !arguments.yes && !asked(&ids)? {
        stderr::note("nothing was deleted");
        return Ok(Exit::Failed.into());
    }
    let mut deleted = Vec::new();
    let mut last = None;
    for id in &ids {
        match place.store.delete(*id) {
            Ok(()) => deleted.push(id),
            Err(error) => {
                if let Some(before) = last.replace(error) {
                    stderr::note(&before.to_string());
                }
            }
        }
    }
    match last {
        // What a writer needs is no help here.
        Some(error) => Err(Failure::failed(error.to_string()).hint(format!(
            "{} of {} deleted",
            deleted.len(),
            count(ids.len() as u64, "session")
        ))),
        None if arguments.format.wants_json() => {
            stdout::print(&json!({ "deleted": deleted }).to_string())?;
            Ok(Exit::Finished.into())
        }
        None => {
            let deleted = deleted.iter().map(|id| format!("{id}\n"));
            stdout::print(&deleted.collect::<String>())?;
            Ok(Exit::Finished.into())
        }
    }
}

/// Asks on the terminal.
fn asked(ids: &[SessionId]) -> Result<bool, Failure> {
    if !io::stdin().is_terminal() || !io::stderr().is_terminal() {
        return Err(
            Failure::usage("there is no terminal to ask whether to delete for good")
                .hint("--yes deletes without being asked"),
        );
    }
    let what = match ids {
        [id] => format!("the session {id}"),
        ids => count(ids.len() as u64, "session"),
    };
    let mut stderr = io::stderr().lock();
    let _ = write!(stderr, "Delete {what} for good? [y/N] ");
    let _ = stderr.flush();
    let mut answer = String::new();
    io::stdin()
        .lock()
        .read_line(&mut answer)
        .map_err(|error| Failure::failed(format!("standard input cannot be read: {error}")))?;
    let answer = answer.trim().to_lowercase();
    Ok(matches!(answer.as_str(), "y" | "yes"))
}
