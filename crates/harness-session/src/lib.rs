//! The conversation of an agent, as a tree of entries that outlives the process.

mod context;
mod entry;
mod error;
mod header;
mod id;
mod memory_store;
mod node;
mod search;
mod session;
mod session_journal;
mod store;

pub use context::{Context, Queued};
pub use entry::{
    Body, BranchSummaryBody, CompactionBody, CustomBody, CustomMessageBody, Entry, Intent,
    LabelBody, LeafBody, MessageBody, ModelChangeBody, NameBody, Queue, QueuedBody, ResultsBody,
    Settled, Settlement, StoredResult, ThinkingChangeBody, UnknownBody, UsageBody,
};
pub use error::Error;
pub use header::{Header, Parent, VERSION};
pub use id::{EntryId, SessionId, Timestamp};
pub use memory_store::MemoryStore;
pub use node::{Node, NodeKind};
pub use session::Session;
pub use session_journal::SessionJournal;
pub use store::{Access, Durability, Filter, Hit, Listed, Log, Store};
