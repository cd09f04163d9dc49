//! `harness sessions repair`.

use std::process::ExitCode;

use harness_session::{Error, RepairReport, SessionId, Store};
use serde_json::{Value, json};

use crate::failure::{Exit, Failure};
use crate::quantity::count;
use crate::session_place::SessionPlace;
use crate::sessions_arguments::SessionsRepairArguments;
use crate::sessions_command::{chosen, failure};
use crate::terminal::one_line;
use crate::{stderr, stdout};

/// The most unreadable lines that are told one by one.
const MOST_LINES: usize = 10;

/// Repairs, and tells what was found and done.
pub(crate) fn repair(
    place: &SessionPlace,
    arguments: &SessionsRepairArguments,
) -> Result<ExitCode, Failure> {
    let json = arguments.format.wants_json();
    let ids = if arguments.all {
        let mut ids = place.store.ids().map_err(|error| failure(&error))?;
        ids.sort_unstable();
        ids
    } else {
        vec![chosen(place, &arguments.session)?]
    };
    let mut objects = Vec::new();
    let mut failed = 0;
    for id in &ids {
        match place.store.repair(*id) {
            Ok(report) if json => objects.push(object(*id, &report)),
            Ok(report) => stdout::print(&text(*id, &report))?,
            // One alone is told as every other error is.
            Err(error) if !arguments.all => return Err(failure(&error)),
            Err(Error::NotFound(_)) => {}
            Err(error) => {
                failed += 1;
                stderr::note(&format!("{id}: {error}"));
                objects.push(json!({ "session": id, "error": error.to_string() }));
            }
        }
    }
    if json {
        stdout::print(&objects.into_iter().collect::<Value>().to_string())?;
    }
    if failed > 0 {
        let failure = Failure::failed(format!(
            "{failed} of {} could not be repaired",
            count(ids.len() as u64, "session")
        ));
        stderr::error(&failure);
        return Ok(Exit::Failed.into());
    }
    if ids.is_empty() {
        stderr::note("there are no sessions");
    }
    Ok(Exit::Finished.into())
}

/// A line for the session, and one for each thing that was found or done.
fn text(id: SessionId, report: &RepairReport) -> String {
    let mut found = Vec::new();
    let lines = report.unreadable.len();
    if lines > 0 {
        found.push(format!(
            "{} that cannot be read",
            count(lines as u64, "line")
        ));
        found.extend(report.unreadable.iter().take(MOST_LINES).cloned());
        if lines > MOST_LINES {
            found.push(format!("and {} more", lines - MOST_LINES));
        }
    }
    if report.repeated > 0 {
        found.push(format!("{} twice", entries(report.repeated)));
    }
    if let Some(torn) = &report.torn {
        found.push(format!("a torn end, which is kept in {}", torn.display()));
    }
    found.extend(report.warnings.iter().cloned());
    if let Some(backup) = &report.backup {
        found.push(format!(
            "the file as it was is kept as {}",
            backup.display()
        ));
    }
    let state = if found.is_empty() {
        "nothing is wrong"
    } else {
        "repaired"
    };
    let mut text = format!("{id}: {state} ({} now)", entries(report.entries));
    for line in found {
        text.push_str("\n  ");
        text.push_str(&one_line(&line));
    }
    text
}

fn entries(number: u64) -> String {
    match number {
        1 => "1 entry".to_owned(),
        number => format!("{number} entries"),
    }
}

fn object(id: SessionId, report: &RepairReport) -> Value {
    let path = |path: &std::path::PathBuf| path.display().to_string();
    json!({
        "session": id,
        "file": path(&report.path),
        "entries": report.entries,
        "unreadable": report.unreadable,
        "repeated": report.repeated,
        "torn": report.torn.as_ref().map(path),
        "backup": report.backup.as_ref().map(path),
        "warnings": report.warnings,
    })
}
