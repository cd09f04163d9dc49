//! A folder with tools that work in it.

use std::path::{Path, PathBuf};
use std::time::Duration;

use harness_core::{OutputPart, ToolContext, ToolOutcome};
use harness_tools::{Limits, ShellOptions, Workspace, default_tools};
use serde_json::Value;
use tempfile::TempDir;

/// No call in these tests may take longer.
const OUTER_LIMIT: Duration = Duration::from_secs(30);

pub(crate) struct Bed {
    folder: TempDir,
    pub(crate) workspace: Workspace,
    pub(crate) cx: ToolContext,
}

impl Bed {
    pub(crate) fn new() -> Self {
        Self::with(|workspace| workspace)
    }

    /// The workspace is the folder `ws` in a folder of its own, beside which tests put what is
    /// outside.
    pub(crate) fn with(change: impl FnOnce(Workspace) -> Workspace) -> Self {
        let folder = tempfile::tempdir().expect("a folder");
        std::fs::create_dir(folder.path().join("ws")).expect("made");
        let mut shell = ShellOptions::default();
        folder.path().clone_into(&mut shell.output_folder);
        let workspace = Workspace::new(folder.path().join("ws"))
            .with_home(folder.path().join("home"))
            .with_shell(shell);
        Self {
            workspace: change(workspace),
            folder,
            cx: ToolContext::detached(),
        }
    }

    pub(crate) fn limits(change: impl FnOnce(&mut Limits)) -> Self {
        let mut limits = Limits::default();
        change(&mut limits);
        Self::with(|workspace| workspace.with_limits(limits))
    }

    pub(crate) fn outside(&self) -> &Path {
        self.folder.path()
    }

    pub(crate) fn path(&self, name: &str) -> PathBuf {
        self.workspace.root().join(name)
    }

    pub(crate) fn put(&self, name: &str, content: impl AsRef<[u8]>) -> PathBuf {
        let path = self.path(name);
        std::fs::create_dir_all(path.parent().expect("a parent")).expect("made");
        std::fs::write(&path, content).expect("written");
        path
    }

    pub(crate) fn bytes(&self, name: &str) -> Vec<u8> {
        std::fs::read(self.path(name)).expect("read")
    }

    pub(crate) fn text(&self, name: &str) -> String {
        String::from_utf8(self.bytes(name)).expect("UTF-8")
    }

    pub(crate) fn link(&self, target: impl AsRef<Path>, name: &str) {
        std::os::unix::fs::symlink(target, self.path(name)).expect("linked");
    }

    pub(crate) async fn call(&self, tool: &str, arguments: Value) -> ToolOutcome {
        let tools = default_tools(&self.workspace);
        let tool = tools
            .into_iter()
            .find(|t| t.spec().name == tool)
            .expect("a tool");
        tokio::time::timeout(OUTER_LIMIT, tool.call(&self.cx, arguments))
            .await
            .expect("in time")
    }

    /// The text of a call that must be done.
    pub(crate) async fn done(&self, tool: &str, arguments: Value) -> String {
        let outcome = self.call(tool, arguments).await;
        assert!(
            matches!(outcome, ToolOutcome::Done(_)),
            "{}",
            outcome.shown_text()
        );
        outcome.shown_text()
    }

    /// The text of a call that must fail.
    pub(crate) async fn failed(&self, tool: &str, arguments: Value) -> String {
        let outcome = self.call(tool, arguments).await;
        assert!(outcome.is_error(), "{}", outcome.shown_text());
        outcome.shown_text()
    }
}

/// The pictures of an outcome.
pub(crate) fn images(outcome: &ToolOutcome) -> Vec<harness_core::Image> {
    outcome
        .shown()
        .into_iter()
        .filter_map(|part| match part {
            OutputPart::Image(image) => Some(image),
            _ => None,
        })
        .collect()
}

/// Whether a process runs whose command line contains this.
pub(crate) fn runs(part: &str) -> bool {
    std::fs::read_dir("/proc")
        .expect("proc")
        .flatten()
        .any(|entry| {
            std::fs::read(entry.path().join("cmdline")).is_ok_and(|line| {
                let line = String::from_utf8_lossy(&line).replace('\0', " ");
                line.contains(part)
            }) && !entry.path().ends_with(std::process::id().to_string())
        })
}

/// Waits until something holds.
pub(crate) async fn eventually(what: &str, holds: impl Fn() -> bool) {
    let looks = async {
        while !holds() {
            tokio::time::sleep(Duration::from_millis(10)).await;
        }
    };
    tokio::time::timeout(Duration::from_secs(10), looks)
        .await
        .unwrap_or_else(|_| panic!("{what}"));
}
