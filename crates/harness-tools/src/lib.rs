//! The tools that an agent works on files and processes with: `read`, `write`, `edit`, `bash`, `grep`,
//! `find`, `ls`.
//!
//! # What it is for
//!
//! A model changes a real person's files here. So each tool is correct to the byte — what was not to
//! be changed stays, encoding, line endings, byte order mark and mode included — and bounded in memory
//! and time, whatever the file, the command or the model does. What a tool says is written for the
//! model: what happened, what is missing, and how to go on.
//!
//! # The main type
//!
//! A [`Workspace`] is the folder that the tools work in, with the policy for paths ([`Access`]), the
//! bounds ([`Limits`]) and the shell ([`ShellOptions`]). [`default_tools`] makes the seven tools of it:
//!
//! ```
//! use harness_core::ToolContext;
//! use harness_tools::{Access, Workspace, default_tools};
//! use serde_json::json;
//!
//! # tokio::runtime::Builder::new_current_thread().enable_all().build()?.block_on(async {
//! # let folder = tempfile::tempdir()?;
//! let workspace = Workspace::new(folder.path()).with_write_access(Access::WorkspaceOnly);
//! let tools = default_tools(&workspace);
//!
//! let cx = ToolContext::detached();
//! let (write, edit) = (&tools[1], &tools[2]);
//! write.call(&cx, json!({"path": "a.txt", "content": "one\ntwo\n"})).await;
//! let edits = json!([{"old_text": "two", "new_text": "three"}]);
//! let outcome = edit.call(&cx, json!({"path": "a.txt", "edits": edits})).await;
//!
//! assert!(outcome.shown_text().contains("+three"));
//! assert_eq!(std::fs::read(folder.path().join("a.txt"))?, b"one\nthree\n");
//! # Ok::<(), std::io::Error>(())
//! # })?;
//! # Ok::<(), std::io::Error>(())
//! ```
//!
//! # Without an agent
//!
//! Each tool is a thin shell over a plain function: [`read_file`], [`write_file`], [`edit_file`] and
//! [`edit_text`], [`run_command`], [`search_files`], [`find_paths`], [`list_folder`]. They take a
//! [`Workspace`] and the tool's arguments, and give typed results. The ones that work on files block;
//! a [`Stop`] ends them early.
//!
//! # The decision behind it, and its price
//!
//! A path is resolved once, as the kernel would, and checked there. Then the file or its folder is
//! opened without following any link, and files are made or replaced relative to that handle: what
//! was checked is what is used, also when somebody swaps a symlink in between. A file is replaced
//! whole, in one step, from a file that has no name while it is written. The price: a few more system
//! calls for each file; other hard links to a file keep its old content; extended attributes are lost.
//!
//! Commands run in a session of their own, not only in a process group: what makes itself a group
//! leader (`timeout`, jobs under `set -m`) is found and ended with the rest. What makes a session of
//! its own (`setsid`, daemons) is known by a variable that only this command has. The price is a look
//! at `/proc` at the end of each command. Where commands run is behind a trait, [`Processes`]; time
//! limits and output are not. So it is with files: behind [`Files`] may be another machine, or memory.
//!
//! The working folder and the jobs in the background last from one call of `bash` to the next. They
//! are a value, [`ShellSession`], that lives with the run, or with the session of a host that wants it.
//!
//! What a command does is not what the path policy allows. With the feature `sandbox`,
//! `Workspace::with_sandbox` has the kernel confine each command, by the crate `harness-sandbox`; and where
//! that is not possible, none is run.
//!
//! The crate is for Unix. On Linux all of the above holds; elsewhere folders are opened by handles that
//! need the right to read them, a new file has a hidden name while it is written, and only the process
//! group is ended.

mod aliases;
mod atomic;
mod bash;
mod blocking;
mod capture;
mod command;
mod default_tools;
mod diff;
mod edit;
mod error;
mod file_lock;
mod files;
mod find;
mod folded;
mod folder;
mod given_path;
mod glob;
mod grep;
mod invisible;
mod job;
mod limits;
mod lines;
mod local_files;
mod local_processes;
mod lookalike;
mod ls;
mod matching;
mod names;
mod nearest;
mod path_order;
mod picture;
mod place;
mod plain_walk;
mod process;
mod processes;
mod read;
mod readable_folders;
#[cfg(feature = "sandbox")]
mod refusal;
mod search;
mod seen;
mod shell;
mod shell_session;
mod splice;
mod startup_file;
mod terminal;
#[cfg(feature = "test-support")]
pub mod test_support;
mod text_file;
mod tree;
mod truncate;
mod version;
mod workspace;
mod write;

pub use bash::{BashArgs, BashTool};
pub use blocking::{Stop, run as run_blocking};
pub use command::{CommandLine, CommandReport, run_command};
pub use default_tools::default_tools;
pub use edit::{Edit, EditArgs, EditReport, EditTool, Edited, EditedFile, edit_file, edit_text};
pub use error::Error;
pub use files::{
    Entry, FileInfo, FileKind, Files, Next, OpenFile, ReplaceError, Replacement, Resolved, Walk,
    WalkEnd, WalkEntry,
};
pub use find::{FindArgs, FindResult, FindTool, find_paths};
pub use grep::{GrepArgs, GrepResult, GrepTool, search_files};
pub use limits::Limits;
pub use local_files::LocalFiles;
pub use local_processes::LocalProcesses;
pub use ls::{Listing, LsArgs, LsTool, list_folder};
pub use picture::Picture;
pub use place::Place;
pub use processes::{OutputStream, Process, ProcessEvent, ProcessExit, ProcessSpec, Processes};
pub use read::{ReadArgs, ReadResult, ReadTool, TextRead, read_file};
pub use readable_folders::ReadableFolders;
pub use seen::SeenFiles;
pub use shell::ShellOptions;
pub use shell_session::ShellSession;
pub use text_file::{Encoding, LineEndings, Sniffed, TextFile, sniff};
pub use version::FileVersion;
pub use workspace::{Access, Workspace};
pub use write::{WriteArgs, WriteTool, Written, write_file};
