//! `ls`: what is in a folder.

use std::collections::BTreeSet;
use std::ffi::OsString;
use std::fmt::Write as _;
use std::os::unix::fs::FileTypeExt;
use std::path::Path;

use harness_core::{Execution, Replay, Tool, ToolContext, ToolError, ToolOutput, async_trait};
use schemars::JsonSchema;
use serde::Deserialize;
use serde_json::{Value, json};

use crate::aliases;
use crate::blocking::{self, Stop};
use crate::error::Error;
use crate::limits::Limits;
use crate::truncate;
use crate::workspace::Workspace;

/// Lists a folder, sorted, dotfiles included: `name/` is a folder, `name@ -> target` a symlink.
#[derive(Clone, Debug, Default, Deserialize, JsonSchema)]
pub struct LsArgs {
    /// Default: the workspace.
    pub path: Option<String>,
    /// Most entries; default 500.
    pub limit: Option<u64>,
}

/// What is in a folder.
#[derive(Clone, Debug, PartialEq, Eq)]
#[non_exhaustive]
pub struct Listing {
    /// One line for each entry, in the order of the names' bytes.
    pub entries: Vec<String>,
    /// How many entries the folder has.
    pub total: usize,
}

/// Lists a folder. Only as many names as are shown are kept in memory.
pub fn list_folder(workspace: &Workspace, args: &LsArgs, stop: &Stop) -> Result<Listing, Error> {
    let place = workspace.to_read(args.path.as_deref().unwrap_or("."))?;
    if let Some(metadata) = place
        .metadata
        .as_ref()
        .filter(|metadata| !metadata.is_dir())
    {
        let what = match crate::read::wrong_kind(metadata) {
            None => "a file, not a folder",
            Some((what, _)) => what,
        };
        return Err(Error::WrongKind {
            path: place.shown,
            what,
            hint: "",
        });
    }
    let limit = Limits::wanted(workspace.limits().ls_entries, args.limit);
    let io = |source| Error::io("list", &place.shown, source);
    let mut names: BTreeSet<OsString> = BTreeSet::new();
    let mut total = 0;
    for entry in std::fs::read_dir(&place.real).map_err(io)? {
        stop.check()?;
        names.insert(entry.map_err(io)?.file_name());
        total += 1;
        if names.len() > limit {
            names.pop_last();
        }
    }
    let entries = names
        .iter()
        .map(|name| entry_line(&place.real, name))
        .collect();
    Ok(Listing { entries, total })
}

fn entry_line(folder: &Path, name: &OsString) -> String {
    let path = folder.join(name);
    // A line break in a name would make two entries of one.
    let mut line = name.to_string_lossy().replace('\n', "\\n");
    let Ok(metadata) = std::fs::symlink_metadata(&path) else {
        return line;
    };
    let kind = metadata.file_type();
    if kind.is_dir() {
        line.push('/');
    } else if kind.is_symlink() {
        line.push('@');
        if let Ok(target) = std::fs::read_link(&path) {
            let _ = write!(line, " -> {}", target.to_string_lossy());
        }
        match std::fs::metadata(&path) {
            Ok(target) if target.is_dir() && !line.ends_with('/') => line.push('/'),
            Ok(_) => {}
            Err(_) => line.push_str(" (broken)"),
        }
    } else if kind.is_fifo() {
        line.push('|');
    } else if kind.is_socket() {
        line.push('=');
    }
    line
}

impl Listing {
    /// One entry a line, at most `max_bytes` of them, and a notice if there are more.
    pub fn render(&self, max_bytes: usize) -> String {
        if self.total == 0 {
            return "(empty folder)".to_owned();
        }
        let (mut text, shown) = truncate::join_lines(&self.entries, max_bytes);
        if shown < self.total {
            let _ = write!(
                text,
                "\n[{shown} of {} entries are shown. A larger `limit`, or `find`, shows others.]",
                self.total
            );
        }
        text
    }
}

/// The tool `ls`.
///
/// Runs beside other calls, and may be run again after a crash.
#[derive(Clone, Debug)]
pub struct LsTool(Workspace);

impl LsTool {
    /// Lists folders in this workspace.
    pub fn new(workspace: &Workspace) -> Self {
        Self(workspace.clone())
    }
}

#[async_trait]
impl Tool for LsTool {
    type Args = LsArgs;

    fn name(&self) -> std::borrow::Cow<'_, str> {
        "ls".into()
    }

    fn execution(&self) -> Execution {
        Execution::Parallel
    }

    fn replay(&self) -> Replay {
        Replay::Safe
    }

    fn prepare(&self, arguments: Value) -> Value {
        aliases::apply("ls", arguments)
    }

    async fn call(&self, cx: &ToolContext, args: LsArgs) -> Result<ToolOutput, ToolError> {
        let workspace = self.0.for_call(cx);
        let max_bytes = workspace.limits().output_bytes;
        let listing = blocking::run(cx, move |stop| list_folder(&workspace, &args, stop)).await?;
        Ok(ToolOutput::text(listing.render(max_bytes))
            .with_details(json!({ "total": listing.total })))
    }
}
