//! The conversation of an agent, as a tree of entries that outlives the process.
//!
//! The main type is [`Session`]: a tree of entries over a [`Log`], with a leaf that the conversation goes on
//! from. A [`Store`] keeps the logs: [`JsonlStore`] as files of JSON lines, [`MemoryStore`] in memory, and
//! `SqliteStore`, behind the feature `sqlite`, in one database that can be searched. [`SessionJournal`] is the
//! journal of `harness-core`'s loop: it turns what a run does into entries, before and after it is done.
//!
//! Three decisions shape the crate:
//!
//! - **The log is append only, and its last entry is the leaf.** Whatever is appended follows the leaf and is
//!   then the leaf; going elsewhere appends an entry that follows another one. So there is no pointer that
//!   could disagree with the file, and whatever a crash leaves is a session as it was a moment earlier. The
//!   price: nothing is ever taken out of a file but by deleting it.
//! - **A crash is gone on with from messages, not from steps.** Each message is an entry as soon as it is part
//!   of the conversation, so a run that was cut off is a new run with the old history; of the old one it needs
//!   only how far the calls of the last reply came. A session that was cut off under one version of the program
//!   is gone on with under another. The price: limits of turns and time count anew.
//! - **Memory holds what is asked for.** A log gives entries by number; an index of the file tells where they
//!   are, and is read in blocks. The price: the index, which can be thrown away.
//!
//! ```
//! use harness_core::Message;
//! use harness_session::{Access, Body, Header, JsonlStore, MessageBody, Session};
//!
//! # let folder = tempfile::tempdir()?;
//! # let folder = folder.path();
//! let store = JsonlStore::new(folder);
//! let mut session = Session::create(&store, Header::new(None))?;
//! let message = Message::user("Remember the milk.").into();
//! session.append(Body::Message(MessageBody { message, queued: None }))?;
//! let id = session.id();
//! drop(session);
//!
//! let session = Session::open(&store, id, Access::Read)?;
//! assert_eq!(session.context()?.messages.len(), 1);
//! # Ok::<(), Box<dyn std::error::Error>>(())
//! ```
//!
//! The format of the files is described in `docs/sessions.md` of the repository.

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
mod journal_state;
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
mod typed_id;

pub use context::{Context, Queued};
pub use entry::{
    Body, BranchSummaryBody, CompactionBody, CustomBody, CustomMessageBody, DecisionBody, Entry,
    Intent, LabelBody, LeafBody, MessageBody, ModelChangeBody, NameBody, Queue, QueuedBody,
    ResultsBody, Settled, Settlement, StoredResult, ThinkingChangeBody, UnknownBody, UsageBody,
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
