//! The sessions that there are, as a list.

use harness_core::Message;
use harness_session::{Access, Body, Error, Listed, NodeKind, Session, Store, Timestamp};
use serde_json::{Value, json};

use crate::quantity::{ago, date_time, size};
use crate::session_place::SessionPlace;
use crate::session_words::user_text;
use crate::short_ids::ShortIds;
use crate::skill_list::table;
use crate::terminal::{excerpt, one_line};

/// The most characters of what a session is about.
const ABOUT: usize = 60;

/// Sessions, newest first.
pub(crate) struct SessionList<'s> {
    listed: Vec<Listed>,
    ids: ShortIds,
    store: &'s dyn Store,
}

impl<'s> SessionList<'s> {
    pub(crate) fn of(listed: Vec<Listed>, ids: ShortIds, store: &'s dyn Store) -> Self {
        Self { listed, ids, store }
    }

    pub(crate) fn len(&self) -> usize {
        self.listed.len()
    }

    /// A line each: how the id ends, when it was written to last, its size, what it is about, and with
    /// `folders` where it works.
    pub(crate) fn text(&self, folders: bool) -> String {
        let now = Timestamp::now();
        let rows = self.listed.iter().map(|listed| {
            let mut about = about(listed, self.store);
            if let Some(folder) = listed.header.cwd.as_ref().filter(|_| folders) {
                let folder = one_line(&folder.display().to_string());
                about = format!("{about}  ({folder})");
            }
            [
                self.ids.short(&listed.header.id),
                ago(listed.modified, now),
                date_time(listed.modified),
                size(listed.bytes),
                about,
            ]
        });
        table(rows.collect())
    }

    /// One array of objects.
    pub(crate) fn json(&self, place: &SessionPlace) -> String {
        let objects = self.listed.iter().map(|listed| {
            let header = &listed.header;
            json!({
                "id": header.id,
                "short": self.ids.short(&header.id),
                "file": place.store.path_of(header.id).ok().map(|path| path.display().to_string()),
                "cwd": header.cwd.as_ref().map(|folder| folder.display().to_string()),
                "began": header.time,
                "modified": listed.modified,
                "bytes": listed.bytes,
                "name": listed.name,
                "first_prompt": listed.first_prompt,
                "parent": header.parent,
                "agent": header.agent(),
                "problem": listed.problem,
            })
        });
        objects.collect::<Value>().to_string()
    }
}

/// What tells a person which session it is: what is wrong with it, its name, or what was said first.
pub(crate) fn about(listed: &Listed, store: &dyn Store) -> String {
    match (&listed.problem, &listed.name, &listed.first_prompt) {
        (Some(problem), _, _) => format!("damaged: {}", one_line(problem)),
        (None, Some(name), _) => excerpt(name, ABOUT),
        (None, None, Some(prompt)) => excerpt(prompt, ABOUT),
        (None, None, None) => {
            first_said(listed, store).unwrap_or_else(|_| "(it cannot be read)".to_owned())
        }
    }
}

/// What was said first in a session whose beginning does not tell: it may stand far behind, or be a picture.
fn first_said(listed: &Listed, store: &dyn Store) -> Result<String, Error> {
    let session = Session::open(store, listed.header.id, Access::Read)?;
    let log = session.log();
    let mut is_silent = true;
    for number in 0..log.len() {
        let kind = log.node(number)?.kind;
        is_silent &= !kind.is_message() && kind != NodeKind::Compaction;
        if kind == NodeKind::UserMessage
            && let Ok(entry) = log.read(number)
            && let Body::Message(body) = &entry.body
            && let Message::User(user) = &*body.message
        {
            return Ok(excerpt(user_text(user).trim(), ABOUT));
        }
    }
    Ok(if is_silent {
        "(nothing was said)".to_owned()
    } else {
        "(nothing was said by the user)".to_owned()
    })
}
