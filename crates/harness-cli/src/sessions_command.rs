//! `harness sessions`: what is kept of conversations.

use std::process::ExitCode;

use harness_session::{Access, EntryId, Error, Filter, Header, Session, SessionId, Store};
use serde_json::json;

use crate::environment::Environment;
use crate::failure::{Exit, Failure};
use crate::quantity::count;
use crate::session_list::SessionList;
use crate::session_page::SessionPage;
use crate::session_place::{SessionPlace, not_blank};
use crate::session_tree::SessionTree;
use crate::sessions_arguments::{
    SessionChoice, SessionsCommand, SessionsForkArguments, SessionsLabelArguments,
    SessionsListArguments, SessionsNameArguments, SessionsShowArguments, SessionsTreeArguments,
};
use crate::setup::working_folder;
use crate::short_ids::ShortIds;
use crate::terminal::one_line;
use crate::{session_delete, session_export, session_repair, session_search, stderr, stdout};

/// Does what is asked for.
pub(crate) fn run(command: &SessionsCommand) -> Result<ExitCode, Failure> {
    let environment = Environment::read();
    let place = SessionPlace::required(&environment)?;
    match command {
        SessionsCommand::List(arguments) => list(&place, arguments),
        SessionsCommand::Show(arguments) => show(&place, arguments),
        SessionsCommand::Tree(arguments) => tree(&place, arguments),
        SessionsCommand::Fork(arguments) => fork(&place, arguments),
        SessionsCommand::Label(arguments) => label(&place, arguments),
        SessionsCommand::Name(arguments) => name(&place, arguments),
        SessionsCommand::Export(arguments) => {
            session_export::export(&place, &environment, arguments)
        }
        SessionsCommand::Repair(arguments) => session_repair::repair(&place, arguments),
        SessionsCommand::Delete(arguments) => session_delete::delete(&place, arguments),
        SessionsCommand::Search(arguments) => session_search::search(&place, arguments),
    }
}

/// An error of a session that no run is about.
pub(crate) fn failure(error: &Error) -> Failure {
    match error {
        // What a run without a session would be spared is no help here.
        Error::Io { .. } => Failure::failed(error.to_string()),
        // Nor is what a run could do in a copy.
        Error::Locked { .. } => {
            Failure::failed(error.to_string()).hint("wait until that process has ended")
        }
        error => crate::session_place::failure(error),
    }
}

/// The session that is meant.
pub(crate) fn chosen(place: &SessionPlace, choice: &SessionChoice) -> Result<SessionId, Failure> {
    if let Some(text) = &choice.id {
        return place.find(text);
    }
    let folder = working_folder(choice.cwd.as_deref())?;
    place.last(&folder)?.ok_or_else(|| {
        Failure::usage(format!("there is no session of {}", folder.display()))
            .hint("name one; `harness sessions list --all` shows those that there are")
    })
}

/// Opens a session, and tells what is to be known of its state.
pub(crate) fn open(
    place: &SessionPlace,
    id: SessionId,
    access: Access,
) -> Result<Session, Failure> {
    let mut session = Session::open(&place.store, id, access).map_err(|error| failure(&error))?;
    for warning in session.take_warnings() {
        stderr::note(&warning);
    }
    Ok(session)
}

/// The sessions of a folder, or all.
pub(crate) fn filter(all: bool, cwd: Option<&std::path::PathBuf>) -> Result<Filter, Failure> {
    if all {
        return Ok(Filter::default());
    }
    let folder = working_folder(cwd.map(std::path::PathBuf::as_path))?;
    Ok(Filter::of_folder(folder))
}

/// The ends of ids that tell all sessions apart.
pub(crate) fn short_ids(place: &SessionPlace) -> Result<ShortIds, Failure> {
    let ids = place.store.ids().map_err(|error| failure(&error))?;
    Ok(ShortIds::of(ids.iter()))
}

fn list(place: &SessionPlace, arguments: &SessionsListArguments) -> Result<ExitCode, Failure> {
    let filter = filter(arguments.all, arguments.cwd.as_ref())?;
    let mut listed = place.store.list(&filter).map_err(|error| failure(&error))?;
    let found = listed.len();
    if !arguments.all {
        listed.retain(|listed| listed.header.agent().is_none());
    }
    let all = listed.len();
    let hidden = found - all;
    listed.truncate(arguments.limit.unwrap_or(usize::MAX));
    let list = SessionList::of(listed, short_ids(place)?, &place.store);
    if arguments.format.wants_json() {
        stdout::print(&list.json(place))?;
        return Ok(Exit::Finished.into());
    }
    let text = list.text(arguments.all);
    if !text.is_empty() {
        stdout::print(&text)?;
    } else if all == 0 {
        stderr::note(match &filter.cwd {
            None => "there are no sessions: `harness run` begins one",
            Some(_) => "there are no sessions of this folder; `--all` shows those of all",
        });
    }
    if list.len() < all {
        stderr::note(&format!("{} of {all} sessions are listed", list.len()));
    }
    if hidden > 0 {
        let (are, them) = if hidden == 1 {
            ("is", "it")
        } else {
            ("are", "them")
        };
        let hidden = count(hidden as u64, "session");
        stderr::note(&format!(
            "{hidden} of subagents {are} not listed; `--all` shows {them}"
        ));
    }
    Ok(Exit::Finished.into())
}

fn show(place: &SessionPlace, arguments: &SessionsShowArguments) -> Result<ExitCode, Failure> {
    let id = chosen(place, &arguments.session)?;
    let session = open(place, id, Access::Read)?;
    let path = place.store.path_of(id).map_err(|error| failure(&error))?;
    let page = SessionPage::of(&session, &path).map_err(|error| failure(&error))?;
    let text = match (arguments.format.wants_json(), arguments.entries) {
        (true, entries) => page.json(entries),
        (false, true) => page.entries(),
        (false, false) => page.text(),
    };
    stdout::print(&text.map_err(|error| failure(&error))?)?;
    Ok(Exit::Finished.into())
}

fn tree(place: &SessionPlace, arguments: &SessionsTreeArguments) -> Result<ExitCode, Failure> {
    let id = chosen(place, &arguments.session)?;
    let session = open(place, id, Access::Read)?;
    let others = place.store.list(&Filter::default());
    let tree = SessionTree::of(&session, arguments.all).map_err(|error| failure(&error))?;
    let others = others.map_err(|error| failure(&error))?;
    let family = tree.family(&others, short_ids(place)?, &place.store);
    stdout::print(&if arguments.format.wants_json() {
        tree.json(&family)
    } else {
        tree.text(&family)
    })?;
    Ok(Exit::Finished.into())
}

fn fork(place: &SessionPlace, arguments: &SessionsForkArguments) -> Result<ExitCode, Failure> {
    let id = chosen(place, &arguments.session)?;
    let entry = arguments.before.as_deref().or(arguments.at.as_deref());
    entry.map_or(Ok(()), not_blank)?;
    let session = open(place, id, Access::Read)?;
    let fork = entry
        .map(|text| session.find_entry(text))
        .transpose()
        .and_then(|entry| match arguments.before {
            Some(_) => session.fork(&place.store, entry),
            None => session.fork_at(&place.store, entry),
        })
        .map_err(|error| failure(&error))?;
    stdout::print(&if arguments.format.wants_json() {
        let Header { id, parent, .. } = fork.header();
        json!({ "session": id, "parent": parent }).to_string()
    } else {
        fork.id().to_string()
    })?;
    Ok(Exit::Finished.into())
}

fn label(place: &SessionPlace, arguments: &SessionsLabelArguments) -> Result<ExitCode, Failure> {
    let id = place.find(&arguments.id)?;
    not_blank(&arguments.entry)?;
    let Some(text) = &arguments.text else {
        return show_label(place, id, arguments);
    };
    let label = Some(one_line(text)).filter(|label| !label.trim().is_empty());
    let mut session = open(place, id, Access::Write)?;
    let entry = session
        .find_entry(&arguments.entry)
        .map_err(|error| failure(&error))?;
    let moved = set_label(&mut session, entry, label.as_ref()).map_err(|error| failure(&error))?;
    for other in &moved {
        stderr::note(&format!(
            "the entry {other} had this label, and has none now"
        ));
    }
    if arguments.format.wants_json() {
        let done = json!({ "session": id, "entry": entry, "label": label, "moved_from": moved });
        stdout::print(&done.to_string())?;
    }
    Ok(Exit::Finished.into())
}

/// Gives an entry a label, or takes it away, and gives the entries that had the same one: a label means
/// one entry of a session.
fn set_label(
    session: &mut Session,
    entry: EntryId,
    label: Option<&String>,
) -> Result<Vec<EntryId>, Error> {
    let labels = session.labels()?;
    let others = labels.iter().filter(|(_, other)| label == Some(*other));
    let mut others: Vec<EntryId> = others.map(|(other, _)| *other).collect();
    others.retain(|other| *other != entry);
    session.set_label(entry, label.cloned())?;
    for other in &others {
        session.set_label(*other, None)?;
    }
    session.sync()?;
    Ok(others)
}

fn show_label(
    place: &SessionPlace,
    id: SessionId,
    arguments: &SessionsLabelArguments,
) -> Result<ExitCode, Failure> {
    let session = open(place, id, Access::Read)?;
    let entry = session
        .find_entry(&arguments.entry)
        .map_err(|error| failure(&error))?;
    let mut labels = session.labels().map_err(|error| failure(&error))?;
    let label = labels.remove(&entry);
    if arguments.format.wants_json() {
        let shown = json!({ "session": id, "entry": entry, "label": label });
        stdout::print(&shown.to_string())?;
    } else if let Some(label) = label {
        stdout::print(&one_line(&label))?;
    } else {
        stderr::note("the entry has no label");
    }
    Ok(Exit::Finished.into())
}

fn name(place: &SessionPlace, arguments: &SessionsNameArguments) -> Result<ExitCode, Failure> {
    let id = chosen(place, &arguments.session).map_err(|failure| match &arguments.session.id {
        // One argument alone is the id, which not everybody expects.
        Some(text) if arguments.text.is_none() => failure.hint(format!(
            "to give a name, put the session's ID before it: harness sessions name ID {text:?}"
        )),
        _ => failure,
    })?;
    let name = if let Some(text) = &arguments.text {
        let name = Some(one_line(text)).filter(|name| !name.trim().is_empty());
        let mut session = open(place, id, Access::Write)?;
        let named = session.set_name(name.clone());
        named
            .and_then(|()| session.sync())
            .map_err(|error| failure(&error))?;
        name
    } else {
        let session = open(place, id, Access::Read)?;
        let name = session.name().map_err(|error| failure(&error))?;
        match &name {
            Some(name) if !arguments.format.wants_json() => stdout::print(&one_line(name))?,
            None => stderr::note("the session has no name"),
            Some(_) => {}
        }
        name
    };
    if arguments.format.wants_json() {
        stdout::print(&json!({ "session": id, "name": name }).to_string())?;
    }
    Ok(Exit::Finished.into())
}
