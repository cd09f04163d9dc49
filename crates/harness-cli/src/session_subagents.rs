//! The sessions of subagents, below the one that started them.

use std::collections::{BTreeMap, BTreeSet};
use std::fmt::Write as _;

use harness_session::{Access, Body, Error, Listed, NodeKind, SessionId, Settled, Store};
use serde_json::{Value, json};

use crate::session_list::about;
use crate::short_ids::ShortIds;
use crate::terminal::excerpt;

/// The most characters of what a subagent is called.
const NAME: usize = 40;
/// Deeper than this, nothing is indented any more.
const DEEPEST: usize = 20;
/// The most entries that are passed over to learn how a session's last run ended.
const PASSED_OVER: usize = 64;

/// The sessions of subagents, those of their own subagents behind each.
#[derive(Debug, Default)]
pub(crate) struct Subagents(Vec<Subagent>);

#[derive(Debug)]
struct Subagent {
    id: SessionId,
    parent: SessionId,
    depth: usize,
    agent: String,
    /// How its last run ended, if it did.
    outcome: Option<String>,
    about: String,
}

/// The sessions of a session's subagents and of theirs, the oldest first, each with its depth below the session.
pub(crate) fn below(listed: &[Listed], id: SessionId) -> Vec<(&Listed, usize)> {
    let mut children: BTreeMap<SessionId, Vec<&Listed>> = BTreeMap::new();
    for listed in listed {
        if let Some(parent) = &listed.header.parent
            && parent.agent.is_some()
        {
            children.entry(parent.session).or_default().push(listed);
        }
    }
    for children in children.values_mut() {
        // The last one is taken first.
        children.sort_unstable_by_key(|listed| std::cmp::Reverse(listed.header.id));
    }
    let mut found = Vec::new();
    // Files that anybody may write can name each other.
    let mut known = BTreeSet::from([id]);
    let mut next: Vec<(&Listed, usize)> = Vec::new();
    let mut from = Some((id, 0));
    while let Some((id, depth)) = from {
        let children = children.get(&id).into_iter().flatten();
        next.extend(children.map(|listed| (*listed, depth)));
        from = loop {
            let Some((listed, depth)) = next.pop() else {
                break None;
            };
            if known.insert(listed.header.id) {
                found.push((listed, depth));
                break Some((listed.header.id, depth + 1));
            }
        };
    }
    found
}

impl Subagents {
    pub(crate) fn of(listed: &[Listed], id: SessionId, store: &dyn Store) -> Self {
        let below = below(listed, id).into_iter();
        let subagents = below.filter_map(|(listed, depth)| {
            let parent = listed.header.parent.as_ref()?;
            Some(Subagent {
                id: listed.header.id,
                parent: parent.session,
                depth,
                agent: parent.agent.clone()?,
                outcome: last_outcome(store, listed.header.id).unwrap_or_default(),
                about: about(listed, store),
            })
        });
        Self(subagents.collect())
    }

    /// A line each, those of a subagent's own below it and further in; nothing if there are none.
    pub(crate) fn text(&self, ids: &ShortIds) -> String {
        if self.0.is_empty() {
            return String::new();
        }
        let mut text = String::from("\nsubagents\n");
        for subagent in &self.0 {
            let _ = writeln!(
                text,
                "  {:width$}{}  {}  {}  {}",
                "",
                ids.short(&subagent.id),
                excerpt(&subagent.agent, NAME),
                excerpt(subagent.outcome.as_deref().unwrap_or("has not ended"), NAME),
                subagent.about,
                width = 2 * subagent.depth.min(DEEPEST)
            );
        }
        text
    }

    /// An array of objects.
    pub(crate) fn json(&self) -> Value {
        let objects = self.0.iter().map(|subagent| {
            json!({
                "id": subagent.id,
                "parent": subagent.parent,
                "agent": subagent.agent,
                "outcome": subagent.outcome,
                "about": subagent.about,
            })
        });
        objects.collect()
    }
}

/// How the last run of a session ended; `None` if it did not.
fn last_outcome(store: &dyn Store, id: SessionId) -> Result<Option<String>, Error> {
    let log = store.open(id, Access::Read)?;
    for number in (0..log.len()).rev().take(PASSED_OVER) {
        match log.node(number)?.kind {
            NodeKind::Unknown
            | NodeKind::Leaf
            | NodeKind::Label
            | NodeKind::Name
            | NodeKind::Custom
            | NodeKind::Usage => {}
            NodeKind::Settlement => {
                return Ok(match log.read(number)?.body {
                    Body::Settlement(settlement) => match settlement.what {
                        Settled::Run { outcome, .. } => Some(outcome),
                        _ => None,
                    },
                    _ => None,
                });
            }
            _ => return Ok(None),
        }
    }
    Ok(None)
}
