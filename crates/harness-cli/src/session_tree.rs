//! The tree of a session's entries, and the sessions that it came from and that came from it.

use std::collections::BTreeMap;
use std::fmt::Write as _;

use harness_session::{EntryId, Error, Header, Listed, NodeKind, Session, SessionId, Store};
use serde_json::{Value, json};

use crate::session_list::about;
use crate::session_subagents::Subagents;
use crate::session_words::line;
use crate::short_ids::ShortIds;
use crate::terminal::{excerpt, one_line};

/// The most characters of a label.
const LABEL: usize = 40;
/// Deeper than this, nothing is indented any more.
const DEEPEST: usize = 20;

/// The entries that are shown, each below the one before it that is shown, too.
pub(crate) struct SessionTree {
    header: Header,
    entries: Vec<Shown>,
    /// Those that follow no other.
    roots: Vec<usize>,
    /// The entry from which the conversation goes on.
    leaf: Option<usize>,
    short: ShortIds,
}

struct Shown {
    id: EntryId,
    parent: Option<usize>,
    children: Vec<usize>,
    line: String,
    kind: String,
    label: Option<String>,
    time: Option<harness_session::Timestamp>,
    on_branch: bool,
}

/// The sessions around one.
pub(crate) struct Family {
    ancestors: Vec<Ancestor>,
    forks: Vec<(SessionId, String)>,
    subagents: Subagents,
    ids: ShortIds,
}

/// A session that another one came from.
struct Ancestor {
    id: SessionId,
    about: String,
    /// Whether it started the next one, as that of a subagent.
    has_started: bool,
}

impl SessionTree {
    pub(crate) fn of(session: &Session, all: bool) -> Result<Self, Error> {
        let log = session.log();
        let nodes = session.nodes()?;
        let labels = session.labels()?;
        let mut tree = Self {
            header: session.header().clone(),
            entries: Vec::new(),
            roots: Vec::new(),
            leaf: None,
            short: ShortIds::of_entries(session)?,
        };
        // For each node, the last entry on the way to it that is shown: itself, if it is.
        let mut nearest: Vec<Option<usize>> = Vec::with_capacity(nodes.len());
        for (number, node) in nodes.iter().enumerate() {
            let parent = node.parent.and_then(|parent| usize::try_from(parent).ok());
            let parent = parent.and_then(|parent| nearest.get(parent).copied().flatten());
            let label = labels.get(&node.id);
            let is_shown = all
                || node.kind.is_message()
                || node.kind == NodeKind::Compaction
                || label.is_some();
            if !is_shown {
                nearest.push(parent);
                continue;
            }
            let (line, kind, time) = match log.read(number as u64) {
                Ok(entry) => {
                    let kind = entry.body.kind().to_owned();
                    (line(log, &entry, &tree.short)?, kind, Some(entry.time))
                }
                Err(Error::Unreadable { .. }) => {
                    ("(cannot be read)".to_owned(), "unreadable".to_owned(), None)
                }
                Err(error) => return Err(error),
            };
            let place = tree.entries.len();
            match parent.and_then(|parent| tree.entries.get_mut(parent)) {
                Some(parent) => parent.children.push(place),
                None => tree.roots.push(place),
            }
            tree.entries.push(Shown {
                id: node.id,
                parent,
                children: Vec::new(),
                line,
                kind,
                label: label.cloned(),
                time,
                on_branch: false,
            });
            nearest.push(Some(place));
        }
        tree.leaf = nearest.last().copied().flatten();
        let mut next = tree.leaf;
        while let Some(entry) = next.and_then(|place| tree.entries.get_mut(place)) {
            entry.on_branch = true;
            next = entry.parent;
        }
        Ok(tree)
    }

    /// The sessions that this one came from, the oldest first, and those that came from it.
    pub(crate) fn family(&self, listed: &[Listed], ids: ShortIds, store: &dyn Store) -> Family {
        let known: BTreeMap<SessionId, &Listed> = listed
            .iter()
            .map(|listed| (listed.header.id, listed))
            .collect();
        let mut ancestors: Vec<Ancestor> = Vec::new();
        let mut next = self.header.parent.clone();
        while let Some(parent) = next {
            let id = parent.session;
            // Files that anybody may write can name each other.
            if id == self.header.id || ancestors.iter().any(|known| known.id == id) {
                break;
            }
            let listed = known.get(&id);
            let what = listed.map_or_else(
                || "(is not there any more)".to_owned(),
                |it| about(it, store),
            );
            ancestors.push(Ancestor {
                id,
                about: what,
                has_started: parent.agent.is_some(),
            });
            next = listed.and_then(|listed| listed.header.parent.clone());
        }
        ancestors.reverse();
        let mut forks: Vec<_> = listed
            .iter()
            .filter(|listed| {
                let parent = listed.header.parent.as_ref();
                parent.is_some_and(|parent| {
                    parent.session == self.header.id && parent.agent.is_none()
                })
            })
            .map(|listed| (listed.header.id, about(listed, store)))
            .collect();
        forks.sort();
        Family {
            ancestors,
            forks,
            subagents: Subagents::of(listed, self.header.id, store),
            ids,
        }
    }

    /// An outline: what follows is below, and only where the conversation forks, further in. The entry from
    /// which it goes on has a `*`.
    pub(crate) fn text(&self, family: &Family) -> String {
        let mut text = String::new();
        for Ancestor {
            id,
            about,
            has_started,
        } in &family.ancestors
        {
            let what = if *has_started {
                "started by"
            } else {
                "came from "
            };
            let _ = writeln!(text, "{what} {}  {about}", family.ids.short(id));
        }
        let this = self.header.id;
        let _ = writeln!(text, "session    {this}");
        if let Some(agent) = self.header.agent() {
            let _ = writeln!(text, "subagent   {}", excerpt(agent, LABEL));
        }
        for (id, about) in &family.forks {
            let _ = writeln!(text, "forked to  {}  {about}", family.ids.short(id));
        }
        text.push('\n');
        let indent = usize::from(self.roots.len() > 1);
        let mut next: Vec<(usize, usize)> = self
            .roots
            .iter()
            .rev()
            .map(|root| (*root, indent))
            .collect();
        while let Some((place, indent)) = next.pop() {
            let Some(entry) = self.entries.get(place) else {
                continue;
            };
            let mark = if self.leaf == Some(place) { '*' } else { ' ' };
            let label = entry.label.as_ref().map_or_else(String::new, |label| {
                format!("  [{}]", excerpt(label, LABEL))
            });
            let _ = writeln!(
                text,
                "{mark} {:width$}{}  {}{label}",
                "",
                self.short.short(&entry.id),
                entry.line,
                width = 2 * indent.min(DEEPEST)
            );
            let indent = indent + usize::from(entry.children.len() > 1);
            next.extend(entry.children.iter().rev().map(|child| (*child, indent)));
        }
        if self.entries.is_empty() {
            text.push_str("  (nothing was said)\n");
        }
        text.push_str(&family.subagents.text(&family.ids));
        text
    }

    /// One object.
    pub(crate) fn json(&self, family: &Family) -> String {
        let id_of = |place: usize| self.entries.get(place).map(|entry| entry.id);
        let entries = self.entries.iter().map(|entry| {
            json!({
                "id": entry.id,
                "parent": entry.parent.and_then(id_of),
                "type": entry.kind,
                "time": entry.time,
                "line": entry.line,
                "label": entry.label,
                "on_branch": entry.on_branch,
            })
        });
        let sessions = |sessions: &[(SessionId, String)]| -> Value {
            let objects = sessions.iter();
            objects
                .map(|(id, about)| json!({ "id": id, "about": one_line(about) }))
                .collect()
        };
        let ancestors = family.ancestors.iter().map(|ancestor| {
            let about = one_line(&ancestor.about);
            json!({ "id": ancestor.id, "about": about, "has_started": ancestor.has_started })
        });
        json!({
            "session": self.header.id,
            "parent": self.header.parent,
            "agent": self.header.agent(),
            "ancestors": ancestors.collect::<Value>(),
            "forks": sessions(&family.forks),
            "subagents": family.subagents.json(),
            "leaf": self.leaf.and_then(id_of),
            "entries": entries.collect::<Value>(),
        })
        .to_string()
    }
}
