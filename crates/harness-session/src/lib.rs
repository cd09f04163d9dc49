//! The conversation of an agent, as a tree of entries that outlives the process.

mod block_cache;
mod context;
mod entry;
mod error;
mod export;
mod file_lock;
mod flusher;
mod glance;
mod header;
mod header_line;
mod id;
mod index_record;
mod jsonl_log;
mod jsonl_store;
mod legibility;
mod line_index;
mod lines;
mod memory_store;
mod migration;
mod node;
mod prefilter;
mod repair;
mod replacement;
mod scan;
mod search;
mod session;
mod session_files;
mod session_journal;
#[cfg(feature = "sqlite")]
mod sqlite_database;
#[cfg(feature = "sqlite")]
mod sqlite_lock;
#[cfg(feature = "sqlite")]
mod sqlite_log;
#[cfg(feature = "sqlite")]
mod sqlite_store;
mod store;
mod tail;
#[cfg(feature = "test-support")]
pub mod test_support;

pub use context::{Context, Queued};
pub use entry::{
    Body, BranchSummaryBody, CompactionBody, CustomBody, CustomMessageBody, Entry, Intent,
    LabelBody, LeafBody, MessageBody, ModelChangeBody, NameBody, Queue, QueuedBody, ResultsBody,
    Settled, Settlement, StoredResult, ThinkingChangeBody, UnknownBody, UsageBody,
};
pub use error::Error;
pub use export::{export_html, export_jsonl, export_markdown};
pub use header::{Header, Parent, VERSION};
pub use id::{EntryId, SessionId, Timestamp};
pub use jsonl_store::JsonlStore;
pub use memory_store::MemoryStore;
pub use node::{Node, NodeKind};
pub use repair::RepairReport;
pub use session::Session;
pub use session_journal::SessionJournal;
#[cfg(feature = "sqlite")]
pub use sqlite_store::SqliteStore;
pub use store::{Access, Durability, Filter, Hit, Listed, Log, Store};
