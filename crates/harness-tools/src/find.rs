//! `find`: paths that match a glob.

use std::collections::BTreeMap;
use std::fmt::Write as _;
use std::path::Path;
use std::sync::atomic::{AtomicBool, Ordering};
use std::sync::{Mutex, PoisonError};

use harness_core::{
    Execution, Replay, Tool, ToolContext, ToolEffects, ToolError, ToolOutput, async_trait,
};
use schemars::JsonSchema;
use serde::Deserialize;
use serde_json::{Value, json};

use crate::aliases;
use crate::blocking::{self, Stop};
use crate::error::Error;
use crate::files::{FileKind, Next, WalkEntry};
use crate::glob::Glob;
use crate::limits::Limits;
use crate::path_order::PathKey;
use crate::tree::Tree;
use crate::truncate;
use crate::workspace::Workspace;

/// Finds files and folders by glob, hidden ones included, .git and ignored ones (.gitignore) left out.
/// A glob without a slash matches names at any depth.
#[derive(Clone, Debug, Default, Deserialize, JsonSchema)]
pub struct FindArgs {
    /// Such as *.rs, src/**/*.rs or {a,b}/*.md.
    pub pattern: String,
    /// Folder to search; default: the workspace.
    pub path: Option<String>,
    /// Most paths; default 1000.
    pub limit: Option<u64>,
}

/// What was found.
#[derive(Clone, Debug, PartialEq, Eq)]
#[non_exhaustive]
pub struct FindResult {
    /// Paths, sorted by their parts, relative to the workspace if they lie in it; folders end in `/`.
    pub paths: Vec<String>,
    /// There are more.
    pub more: bool,
    /// What else is to be known, one sentence each.
    pub notices: Vec<String>,
}

/// Finds paths by a glob.
///
/// The folder is walked on several threads; the result is sorted, and always the first paths in that
/// order. Only as many paths as are shown are kept in memory.
pub fn find_paths(
    workspace: &Workspace,
    args: &FindArgs,
    stop: &Stop,
) -> Result<FindResult, Error> {
    let place = workspace.to_read(args.path.as_deref().unwrap_or("."))?;
    if !place.is_folder() {
        return Err(Error::WrongKind {
            path: place.shown,
            what: "not a folder",
            hint: "",
        });
    }
    let limit = Limits::wanted(workspace.limits().find_paths, args.limit);
    let glob = Glob::new(&args.pattern, &place.real)?;
    let is_match =
        |entry: &WalkEntry<'_>| glob.is_match(entry.path, entry.kind == FileKind::Folder);
    let tree = Tree::new(workspace, &place.real, stop);
    let mut notices = Vec::new();
    // One more than is shown, to know that there are more.
    let new = || First::new(limit + 1);
    let found = tree.collect(&mut notices, new, First::is_full, |found, entry| {
        let is_match = is_match(entry);
        let is_folder = entry.kind == FileKind::Folder;
        if !is_match && !is_folder {
            return Next::Continue;
        }
        if !found.wants(entry.path) {
            return Next::Skip;
        }
        if is_match {
            found.add(entry.path, is_folder);
        }
        Next::Continue
    });
    stop.check()?;
    let found = found.finish();
    if found.is_empty()
        && let Some(path) = tree.left_out(is_match, &|_| false)
    {
        notices.push(format!(
            "What is ignored (.gitignore, .ignore) was left out: `{}` matches, and perhaps more.",
            workspace.show(&path)
        ));
    }
    let more = found.len() > limit;
    let paths = found
        .into_iter()
        .take(limit)
        .map(|(path, is_folder)| {
            let mut shown = workspace.show(&path.into_path());
            if is_folder {
                shown.push('/');
            }
            shown
        })
        .collect();
    Ok(FindResult {
        paths,
        more,
        notices,
    })
}

/// The first paths of those that come in any order.
struct First {
    enough: usize,
    full: AtomicBool,
    paths: Mutex<BTreeMap<PathKey, bool>>,
}

impl First {
    fn new(enough: usize) -> Self {
        Self {
            enough,
            full: AtomicBool::new(false),
            paths: Mutex::default(),
        }
    }

    fn lock(&self) -> std::sync::MutexGuard<'_, BTreeMap<PathKey, bool>> {
        self.paths.lock().unwrap_or_else(PoisonError::into_inner)
    }

    /// Whether there are as many as are kept.
    fn is_full(&self) -> bool {
        self.full.load(Ordering::Relaxed)
    }

    /// Whether this path, or one below it, could still be among the first ones.
    fn wants(&self, path: &Path) -> bool {
        !self.is_full()
            || self
                .lock()
                .last_key_value()
                .is_none_or(|(last, _)| last.is_after(path))
    }

    fn add(&self, path: &Path, is_folder: bool) {
        let path = PathKey::new(path);
        let mut paths = self.lock();
        paths.insert(path, is_folder);
        if paths.len() > self.enough {
            paths.pop_last();
        }
        if paths.len() >= self.enough {
            self.full.store(true, Ordering::Relaxed);
        }
    }

    fn finish(self) -> BTreeMap<PathKey, bool> {
        self.paths
            .into_inner()
            .unwrap_or_else(PoisonError::into_inner)
    }
}

impl FindResult {
    /// One path a line, at most `max_bytes` of them, and notices in brackets.
    pub fn render(&self, max_bytes: usize) -> String {
        let (mut text, shown) = truncate::join_lines(&self.paths, max_bytes);
        if self.paths.is_empty() {
            "No path matches.".clone_into(&mut text);
        }
        if self.more || shown < self.paths.len() {
            let _ = write!(
                text,
                "\n[The first {shown} paths are shown; there are more.]"
            );
        }
        for notice in &self.notices {
            let _ = write!(text, "\n[{notice}]");
        }
        text
    }
}

/// The tool `find`.
///
/// Runs beside other calls, and may be run again after a crash.
#[derive(Clone, Debug)]
pub struct FindTool(Workspace);

impl FindTool {
    /// Finds in this workspace.
    pub fn new(workspace: &Workspace) -> Self {
        Self(workspace.clone())
    }
}

#[async_trait]
impl Tool for FindTool {
    type Args = FindArgs;

    fn name(&self) -> std::borrow::Cow<'_, str> {
        "find".into()
    }

    fn execution(&self) -> Execution {
        Execution::Parallel
    }

    fn replay(&self) -> Replay {
        Replay::Safe
    }

    fn prepare(&self, arguments: Value) -> Value {
        aliases::apply("find", arguments)
    }

    fn effects(&self, cx: &ToolContext, args: &FindArgs) -> ToolEffects {
        self.0
            .for_call(cx)
            .reads(args.path.as_deref().unwrap_or("."))
    }

    async fn call(&self, cx: &ToolContext, args: FindArgs) -> Result<ToolOutput, ToolError> {
        let workspace = self.0.for_call(cx);
        let max_bytes = workspace.limits().output_bytes;
        let found = blocking::run(cx, move |stop| find_paths(&workspace, &args, stop)).await?;
        Ok(ToolOutput::text(found.render(max_bytes))
            .with_details(json!({ "paths": found.paths.len(), "more": found.more })))
    }
}
