//! `ls`: what is in a folder.

use std::collections::BTreeMap;
use std::ffi::{OsStr, OsString};
use std::fmt::Write as _;
use std::ops::ControlFlow;
use std::path::Path;

use harness_core::{
    Execution, Replay, Tool, ToolContext, ToolEffects, ToolError, ToolOutput, async_trait,
};
use schemars::JsonSchema;
use serde::Deserialize;
use serde_json::{Value, json};

use crate::aliases;
use crate::blocking::{self, Stop};
use crate::error::Error;
use crate::files::{FileKind, Files};
use crate::limits::Limits;
use crate::names;
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
    if !place.is_folder() {
        let kind = place.info.map(|info| info.kind);
        let what = match kind.and_then(FileKind::unlike_a_file) {
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
    let mut names: BTreeMap<OsString, FileKind> = BTreeMap::new();
    let mut total = 0;
    let listed = workspace.files().list(&place.real, &mut |entry| {
        total += 1;
        let wanted = names.len() < limit
            || names
                .last_key_value()
                .is_some_and(|(last, _)| entry.name < *last);
        if wanted {
            names.insert(entry.name, entry.kind);
            if names.len() > limit {
                names.pop_last();
            }
        }
        if stop.is_stopped() {
            ControlFlow::Break(())
        } else {
            ControlFlow::Continue(())
        }
    });
    stop.check()?;
    listed.map_err(|source| Error::io("list", &place.shown, source))?;
    let entries = names
        .iter()
        .map(|(name, kind)| entry_line(workspace.files(), &place.real, name, *kind))
        .collect();
    Ok(Listing { entries, total })
}

fn entry_line(files: &dyn Files, folder: &Path, name: &OsStr, kind: FileKind) -> String {
    let mut line = names::shown(name).into_owned();
    match kind {
        FileKind::Folder => line.push('/'),
        FileKind::Pipe => line.push('|'),
        FileKind::Socket => line.push('='),
        FileKind::Symlink => {
            let path = folder.join(name);
            line.push('@');
            if let Ok(target) = files.read_link(&path) {
                let _ = write!(line, " -> {}", names::shown_path(&target));
            }
            match files.resolve(&path).ok().and_then(|found| found.info) {
                Some(target) if target.is_folder() && !line.ends_with('/') => line.push('/'),
                Some(_) => {}
                None => line.push_str(" (broken)"),
            }
        }
        FileKind::File | FileKind::Device => {}
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

    fn effects(&self, cx: &ToolContext, args: &LsArgs) -> ToolEffects {
        self.0
            .for_call(cx)
            .reads(args.path.as_deref().unwrap_or("."))
    }

    async fn call(&self, cx: &ToolContext, args: LsArgs) -> Result<ToolOutput, ToolError> {
        let workspace = self.0.for_call(cx);
        let max_bytes = workspace.limits().output_bytes;
        let listing = blocking::run(cx, move |stop| list_folder(&workspace, &args, stop)).await?;
        Ok(ToolOutput::text(listing.render(max_bytes))
            .with_details(json!({ "total": listing.total })))
    }
}
