//! The conversation of an agent, as a tree of entries that outlives the process.

mod entry;
mod error;
mod export;
mod header;
mod id;
mod node;
mod search;
#[cfg(feature = "sqlite")]
mod sqlite_database;
#[cfg(feature = "sqlite")]
mod sqlite_lock;
#[cfg(feature = "sqlite")]
mod sqlite_log;
#[cfg(feature = "sqlite")]
mod sqlite_store;
mod store;

pub use entry::{
    Body, BranchSummaryBody, CompactionBody, CustomBody, CustomMessageBody, Entry, Intent,
    LabelBody, LeafBody, MessageBody, ModelChangeBody, NameBody, Queue, QueuedBody, ResultsBody,
    Settled, Settlement, StoredResult, ThinkingChangeBody, UnknownBody, UsageBody,
};
pub use error::Error;
pub use export::{export_html, export_jsonl, export_markdown};
pub use header::{Header, Parent, VERSION};
pub use id::{EntryId, SessionId, Timestamp};
pub use node::{Node, NodeKind};
#[cfg(feature = "sqlite")]
pub use sqlite_store::SqliteStore;
pub use store::{Access, Durability, Filter, Hit, Listed, Log, Store};
