//! The sessions that there are, as a list.

use harness_session::{Listed, Timestamp};
use serde_json::{Value, json};

use crate::quantity::{ShortIds, ago, date_time, size};
use crate::session_place::SessionPlace;
use crate::skill_list::table;
use crate::terminal::{excerpt, one_line};

/// The most characters of what a session is about.
const ABOUT: usize = 60;

/// Sessions, newest first.
pub(crate) struct SessionList {
    listed: Vec<Listed>,
    ids: ShortIds,
}

impl SessionList {
    pub(crate) fn of(listed: Vec<Listed>, ids: ShortIds) -> Self {
        Self { listed, ids }
    }

    pub(crate) fn len(&self) -> usize {
        self.listed.len()
    }

    /// A line each: how the id begins, when it was written to last, its size, what it is about, and with
    /// `folders` where it works.
    pub(crate) fn text(&self, folders: bool) -> String {
        let now = Timestamp::now();
        let rows = self.listed.iter().map(|listed| {
            let mut about = about(listed);
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
                "problem": listed.problem,
            })
        });
        objects.collect::<Value>().to_string()
    }
}

/// What tells a person which session it is: what is wrong with it, its name, or what was said first.
pub(crate) fn about(listed: &Listed) -> String {
    match (&listed.problem, &listed.name, &listed.first_prompt) {
        (Some(problem), _, _) => format!("damaged: {}", one_line(problem)),
        (None, Some(name), _) => excerpt(name, ABOUT),
        (None, None, Some(prompt)) => excerpt(prompt, ABOUT),
        (None, None, None) => "(nothing was said)".to_owned(),
    }
}
