//! The place of an entry in the tree.

use harness_core::Message;

use crate::entry::{Body, Intent};
use crate::id::EntryId;

/// The place of an entry in the tree, without what it says: what an index keeps of it.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Node {
    /// Its id.
    pub id: EntryId,
    /// The number of the entry that it follows, which is less than its own.
    pub parent: Option<u64>,
    /// Its kind.
    pub kind: NodeKind,
}

/// The kind of an entry, as an index keeps it: one byte.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
#[repr(u8)]
#[non_exhaustive]
#[expect(missing_docs, reason = "each is the body of its name")]
pub enum NodeKind {
    Unknown = 0,
    UserMessage = 1,
    AssistantMessage = 2,
    Results = 3,
    CustomMessage = 4,
    Compaction = 5,
    BranchSummary = 6,
    ModelChange = 7,
    ThinkingChange = 8,
    Leaf = 9,
    Label = 10,
    Name = 11,
    Custom = 12,
    Usage = 13,
    Queued = 14,
    RunIntent = 15,
    ModelIntent = 16,
    ToolIntent = 17,
    Settlement = 18,
    Decision = 19,
}

impl NodeKind {
    /// All of them.
    pub const ALL: [Self; 20] = [
        Self::Unknown,
        Self::UserMessage,
        Self::AssistantMessage,
        Self::Results,
        Self::CustomMessage,
        Self::Compaction,
        Self::BranchSummary,
        Self::ModelChange,
        Self::ThinkingChange,
        Self::Leaf,
        Self::Label,
        Self::Name,
        Self::Custom,
        Self::Usage,
        Self::Queued,
        Self::RunIntent,
        Self::ModelIntent,
        Self::ToolIntent,
        Self::Settlement,
        Self::Decision,
    ];

    /// The kind of a body.
    pub fn of(body: &Body) -> Self {
        match body {
            Body::Message(body) => match &*body.message {
                Message::User(_) => Self::UserMessage,
                Message::Assistant(_) => Self::AssistantMessage,
                Message::ToolResults(_) => Self::Results,
                _ => Self::Unknown,
            },
            Body::Results(_) => Self::Results,
            Body::CustomMessage(_) => Self::CustomMessage,
            Body::Compaction(_) => Self::Compaction,
            Body::BranchSummary(_) => Self::BranchSummary,
            Body::ModelChange(_) => Self::ModelChange,
            Body::ThinkingChange(_) => Self::ThinkingChange,
            Body::Leaf(_) => Self::Leaf,
            Body::Label(_) => Self::Label,
            Body::Name(_) => Self::Name,
            Body::Custom(_) => Self::Custom,
            Body::Decision(_) => Self::Decision,
            Body::Usage(_) => Self::Usage,
            Body::Queued(_) => Self::Queued,
            Body::Intent(Intent::Run { .. }) => Self::RunIntent,
            Body::Intent(Intent::Model { .. }) => Self::ModelIntent,
            Body::Intent(Intent::Tool { .. }) => Self::ToolIntent,
            Body::Settlement(_) => Self::Settlement,
            Body::Unknown(_) => Self::Unknown,
        }
    }

    /// The kind of this byte; [`Unknown`](Self::Unknown) if there is none.
    pub fn from_byte(byte: u8) -> Self {
        Self::ALL
            .get(usize::from(byte))
            .copied()
            .unwrap_or(Self::Unknown)
    }

    /// Whether it is part of the conversation.
    pub fn is_message(self) -> bool {
        matches!(
            self,
            Self::UserMessage
                | Self::AssistantMessage
                | Self::Results
                | Self::CustomMessage
                | Self::BranchSummary
        )
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_kind_is_its_byte() {
        for (byte, kind) in NodeKind::ALL.into_iter().enumerate() {
            assert_eq!(kind as usize, byte);
            assert_eq!(NodeKind::from_byte(byte as u8), kind);
        }
        assert_eq!(NodeKind::from_byte(255), NodeKind::Unknown);
    }
}
