//! `harness sessions search`.

use std::collections::HashMap;
use std::process::ExitCode;

use harness_session::{Access, Hit, Session, SessionId, Store};
use serde_json::{Value, json};

use crate::failure::{Exit, Failure};
use crate::quantity::date_time;
use crate::session_place::SessionPlace;
use crate::sessions_arguments::SessionsSearchArguments;
use crate::sessions_command::{failure, filter, short_ids};
use crate::short_ids::ShortIds;
use crate::skill_list::table;
use crate::terminal::one_line;
use crate::{stderr, stdout};

/// Lists the entries that have all words.
pub(crate) fn search(
    place: &SessionPlace,
    arguments: &SessionsSearchArguments,
) -> Result<ExitCode, Failure> {
    let words = arguments.words.join(" ");
    if words.trim().is_empty() {
        return Err(Failure::usage("there is no word to look for"));
    }
    let filter = filter(arguments.all, arguments.cwd.as_ref())?;
    let hits = place
        .store
        .search(&words, &filter, arguments.limit)
        .map_err(|error| failure(&error))?;
    if arguments.format.wants_json() {
        stdout::print(&hits.iter().map(object).collect::<Value>().to_string())?;
        return Ok(Exit::Finished.into());
    }
    let ids = short_ids(place)?;
    let entries = entries_of(place, &hits);
    let rows = hits.iter().map(|hit| {
        let known = entries.get(&hit.session);
        [
            ids.short(&hit.session),
            known.map_or_else(|| hit.entry.to_string(), |ids| ids.short(&hit.entry)),
            one_line(&hit.role),
            date_time(hit.time),
            one_line(&hit.excerpt),
        ]
    });
    let text = table(rows.collect());
    if text.is_empty() {
        stderr::note("nothing was found");
    } else {
        stdout::print(&text)?;
    }
    if hits.len() == arguments.limit {
        stderr::note("there may be more; `--limit N` shows them");
    }
    Ok(Exit::Finished.into())
}

/// The short ids of the entries of the sessions that were found. What cannot be opened any more has none.
fn entries_of(place: &SessionPlace, hits: &[Hit]) -> HashMap<SessionId, ShortIds> {
    let mut known = HashMap::new();
    for hit in hits {
        if !known.contains_key(&hit.session)
            && let Ok(session) = Session::open(&place.store, hit.session, Access::Read)
            && let Ok(ids) = ShortIds::of_entries(&session)
        {
            known.insert(hit.session, ids);
        }
    }
    known
}

fn object(hit: &Hit) -> Value {
    json!({
        "session": hit.session,
        "entry": hit.entry,
        "time": hit.time,
        "role": hit.role,
        "excerpt": hit.excerpt,
    })
}
