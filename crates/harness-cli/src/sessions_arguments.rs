//! What is typed behind `harness sessions`.

use std::path::PathBuf;

use clap::{Args, Subcommand, ValueEnum};

use crate::arguments::FormatArguments;

#[derive(Debug, Subcommand)]
pub(crate) enum SessionsCommand {
    /// List the sessions of the folder, or all.
    List(SessionsListArguments),
    /// Show a session: its facts, and the conversation.
    Show(SessionsShowArguments),
    /// Show the tree of a session's entries, where it came from, its forks, and the sessions of its subagents.
    Tree(SessionsTreeArguments),
    /// Make a copy of a session, and print its id.
    Fork(SessionsForkArguments),
    /// Give an entry a label, or show the one that it has.
    Label(SessionsLabelArguments),
    /// Give a session a name, or show the one that it has.
    Name(SessionsNameArguments),
    /// Write a session as JSON lines, Markdown, or a page for a browser.
    Export(SessionsExportArguments),
    /// Make the best of a damaged session, without losing a byte of it.
    Repair(SessionsRepairArguments),
    /// Delete sessions for good, and those of their subagents.
    Delete(SessionsDeleteArguments),
    /// Look for words in what was said.
    Search(SessionsSearchArguments),
}

impl SessionsCommand {
    /// Whether JSON is asked for.
    pub(crate) fn wants_json(&self) -> bool {
        match self {
            Self::List(arguments) => &arguments.format,
            Self::Show(arguments) => &arguments.format,
            Self::Tree(arguments) => &arguments.format,
            Self::Fork(arguments) => &arguments.format,
            Self::Label(arguments) => &arguments.format,
            Self::Name(arguments) => &arguments.format,
            Self::Repair(arguments) => &arguments.format,
            Self::Delete(arguments) => &arguments.format,
            Self::Search(arguments) => &arguments.format,
            Self::Export(_) => return false,
        }
        .wants_json()
    }
}

/// A session; the folder's last one if none is named.
#[derive(Args, Clone, Debug, Default)]
pub(crate) struct SessionChoice {
    /// The session: its id, or its beginning or end. Without it, the folder's last one.
    pub(crate) id: Option<String>,
    /// The folder whose last session is meant.
    #[arg(short = 'C', long, value_name = "DIR")]
    pub(crate) cwd: Option<PathBuf>,
}

#[derive(Args, Debug)]
pub(crate) struct SessionsListArguments {
    /// The sessions of all folders, and those of subagents.
    #[arg(long)]
    pub(crate) all: bool,
    /// At most so many, the newest.
    #[arg(long, value_name = "N")]
    pub(crate) limit: Option<usize>,
    /// The folder that they work in.
    #[arg(short = 'C', long, value_name = "DIR")]
    pub(crate) cwd: Option<PathBuf>,
    #[command(flatten)]
    pub(crate) format: FormatArguments,
}

#[derive(Args, Debug)]
pub(crate) struct SessionsShowArguments {
    #[command(flatten)]
    pub(crate) session: SessionChoice,
    /// A line for each entry, with its id, in the place of the conversation.
    #[arg(long)]
    pub(crate) entries: bool,
    #[command(flatten)]
    pub(crate) format: FormatArguments,
}

#[derive(Args, Debug)]
pub(crate) struct SessionsTreeArguments {
    #[command(flatten)]
    pub(crate) session: SessionChoice,
    /// All entries, not only messages, summaries and what has a label.
    #[arg(long)]
    pub(crate) all: bool,
    #[command(flatten)]
    pub(crate) format: FormatArguments,
}

#[derive(Args, Debug)]
pub(crate) struct SessionsForkArguments {
    #[command(flatten)]
    pub(crate) session: SessionChoice,
    /// Only what stands before this message of the user's: its id, or its beginning or end, or its label.
    #[arg(long, value_name = "ENTRY")]
    pub(crate) before: Option<String>,
    /// Only what stands up to this entry, as `run --at` takes it: before it if it is the user's message.
    #[arg(long, value_name = "ENTRY", conflicts_with = "before")]
    pub(crate) at: Option<String>,
    #[command(flatten)]
    pub(crate) format: FormatArguments,
}

#[derive(Args, Debug)]
pub(crate) struct SessionsLabelArguments {
    /// The session: its id, or its beginning or end.
    pub(crate) id: String,
    /// The entry: its id, or its beginning or end, or its label.
    pub(crate) entry: String,
    /// The label; an empty one takes it away. Without it, the label is shown.
    pub(crate) text: Option<String>,
    #[command(flatten)]
    pub(crate) format: FormatArguments,
}

#[derive(Args, Debug)]
pub(crate) struct SessionsNameArguments {
    #[command(flatten)]
    pub(crate) session: SessionChoice,
    /// The name; an empty one takes it away. Without it, the name is shown.
    pub(crate) text: Option<String>,
    #[command(flatten)]
    pub(crate) format: FormatArguments,
}

#[derive(Args, Debug)]
pub(crate) struct SessionsExportArguments {
    #[command(flatten)]
    pub(crate) session: SessionChoice,
    /// The format. Without it, the one that FILE's name ends with; on standard output JSON lines.
    #[arg(long, value_enum)]
    pub(crate) format: Option<ExportFormat>,
    /// The file to write; without it, or for `-`, standard output.
    #[arg(long, value_name = "FILE")]
    pub(crate) to: Option<PathBuf>,
    /// Write over a file that is there.
    #[arg(long, requires = "to")]
    pub(crate) force: bool,
}

#[derive(Clone, Copy, Debug, PartialEq, Eq, ValueEnum)]
pub(crate) enum ExportFormat {
    /// All of it, for programs.
    Jsonl,
    /// The conversation, for people.
    Markdown,
    /// The whole session as one page for a browser.
    Html,
}

#[derive(Args, Debug)]
pub(crate) struct SessionsRepairArguments {
    #[command(flatten)]
    pub(crate) session: SessionChoice,
    /// All sessions of all folders.
    #[arg(long, conflicts_with = "id")]
    pub(crate) all: bool,
    #[command(flatten)]
    pub(crate) format: FormatArguments,
}

#[derive(Args, Debug)]
pub(crate) struct SessionsDeleteArguments {
    /// The sessions: their ids, or their beginnings or ends.
    #[arg(required = true, value_name = "ID")]
    pub(crate) ids: Vec<String>,
    /// Do not ask.
    #[arg(short, long)]
    pub(crate) yes: bool,
    #[command(flatten)]
    pub(crate) format: FormatArguments,
}

#[derive(Args, Debug)]
pub(crate) struct SessionsSearchArguments {
    /// The words; an entry has to have all of them, in whatever case.
    #[arg(required = true)]
    pub(crate) words: Vec<String>,
    /// In the sessions of all folders.
    #[arg(long)]
    pub(crate) all: bool,
    /// At most so many entries.
    #[arg(long, value_name = "N", default_value_t = 20)]
    pub(crate) limit: usize,
    /// The folder that the sessions work in.
    #[arg(short = 'C', long, value_name = "DIR")]
    pub(crate) cwd: Option<PathBuf>,
    #[command(flatten)]
    pub(crate) format: FormatArguments,
}
