//! `harness sessions delete`.

use std::io::{self, BufRead, IsTerminal, Write};
use std::process::ExitCode;

use harness_session::{Filter, SessionId, Store};
use serde_json::json;

use crate::failure::{Exit, Failure};
use crate::quantity::count;
use crate::session_place::SessionPlace;
use crate::session_subagents::below;
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
    // What subagents said and did is a part of it, and nobody would find it again.
    let all = place.store.list(&Filter::default());
    let all = all.map_err(|error| failure(&error))?;
    let mut subagents: Vec<(SessionId, SessionId)> = Vec::new();
    for id in &ids {
        for (listed, _) in below(&all, *id) {
            let other = listed.header.id;
            if !ids.contains(&other) && !subagents.iter().any(|(_, known)| *known == other) {
                subagents.push((*id, other));
            }
        }
    }
    if !arguments.yes && !asked(&ids, subagents.len())? {
        stderr::note("nothing was deleted");
        return Ok(Exit::Failed.into());
    }
    let mut deleted = Vec::new();
    let mut last = None;
    let own = ids.iter().map(|id| (None, *id));
    let below = subagents.iter().map(|(above, id)| (Some(*above), *id));
    for (above, id) in own.chain(below) {
        // Those of a session that stays, stay.
        if above.is_some_and(|above| !deleted.contains(&above)) {
            continue;
        }
        match place.store.delete(id) {
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
            count((ids.len() + subagents.len()) as u64, "session")
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
fn asked(ids: &[SessionId], subagents: usize) -> Result<bool, Failure> {
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
    let what = match subagents {
        0 => what,
        subagents => format!(
            "{what} and {} of subagents",
            count(subagents as u64, "session")
        ),
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
