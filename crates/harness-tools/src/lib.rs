//! Tools.
mod aliases;
mod atomic;
mod bash;
mod blocking;
mod capture;
mod command;
mod diff;
mod edit;
mod error;
mod file_lock;
mod find;
mod folded;
mod folder;
mod glob;
mod grep;
mod limits;
mod lines;
mod lookalike;
mod ls;
mod matching;
mod nearest;
mod picture;
mod place;
mod process;
mod read;
mod search;
mod seen;
mod shell;
mod splice;
mod terminal;
mod text_file;
mod truncate;
mod version;
mod walk;
mod workspace;
mod write;

pub use bash::{BashArgs, BashTool};
pub use blocking::Stop;
pub use command::{CommandLine, CommandReport, run_command};
pub use edit::{Edit, EditArgs, EditTool, Edited, EditedFile, edit_file, edit_text};
pub use error::Error;
pub use find::{FindArgs, FindResult, FindTool, find_paths};
pub use grep::{GrepArgs, GrepResult, GrepTool, search_files};
pub use limits::Limits;
pub use ls::{Listing, LsArgs, LsTool, list_folder};
pub use picture::Picture;
pub use place::Place;
pub use read::{ReadArgs, ReadResult, ReadTool, TextRead, read_file};
pub use seen::SeenFiles;
pub use shell::ShellOptions;
pub use text_file::{Encoding, LineEndings, Sniffed, TextFile, sniff};
pub use version::FileVersion;
pub use workspace::{Access, Workspace};
pub use write::{WriteArgs, WriteTool, Written, write_file};

use harness_core::ToolRef;

/// The seven tools, in the order in which a model is told of them: read, write, edit, bash, grep,
/// find, ls.
pub fn default_tools(workspace: &Workspace) -> Vec<ToolRef> {
    vec![
        ToolRef::new(ReadTool::new(workspace)),
        ToolRef::new(WriteTool::new(workspace)),
        ToolRef::new(EditTool::new(workspace)),
        ToolRef::new(BashTool::new(workspace)),
        ToolRef::new(GrepTool::new(workspace)),
        ToolRef::new(FindTool::new(workspace)),
        ToolRef::new(LsTool::new(workspace)),
    ]
}
