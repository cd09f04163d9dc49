//! What of a conversation is still sent to the model.

use std::collections::HashSet;

use harness_session::{Body, CompactionBody, Entry, EntryId, Error, Session};

use crate::quantity::count;

/// What a branch's compactions kept.
pub(crate) struct Sent {
    /// The entries whose messages are sent.
    entries: HashSet<EntryId>,
    /// The place of the newest compaction in the branch.
    newest: Option<usize>,
}

impl Sent {
    pub(crate) fn of(session: &Session, branch: &[Entry]) -> Result<Self, Error> {
        let is_compaction = |entry: &Entry| matches!(entry.body, Body::Compaction(_));
        let newest = branch.iter().rposition(is_compaction);
        let entries = match newest {
            Some(_) => session.context()?.entries.into_iter().collect(),
            // All of it is sent, and nobody needs to be told.
            None => HashSet::new(),
        };
        Ok(Self { entries, newest })
    }

    /// What is said of an entry at a place of the branch: whether it stands before the newest compaction and
    /// is sent all the same.
    pub(crate) fn mark(&self, place: usize, entry: &Entry) -> &'static str {
        let is_before = self.newest.is_some_and(|newest| place < newest);
        if is_before && self.entries.contains(&entry.id) {
            ", kept"
        } else {
            ""
        }
    }

    /// What is said of a compaction at a place of the branch.
    pub(crate) fn compaction(
        &self,
        branch: &[Entry],
        place: usize,
        body: &CompactionBody,
    ) -> String {
        if self.newest != Some(place) {
            return "a summary took the place of what was before; a later one counts now"
                .to_owned();
        }
        let before = branch.get(..place).unwrap_or_default();
        let kept = before.iter().filter(|it| self.entries.contains(&it.id));
        let summary = if body.messages.is_empty() {
            "what is before this is not sent any more"
        } else {
            "what is before this is not sent any more but as the summary below"
        };
        match kept.count() as u64 {
            0 => format!("{summary}; nothing of it is kept as it was"),
            kept => format!(
                "{summary}, except the {} marked \"kept\", which follow it as they were",
                count(kept, "message")
            ),
        }
    }
}
