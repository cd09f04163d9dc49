//! A git worktree in which a subagent works by itself.
//!
//! Git is run by the shell of the workspace, as any other process of it: it ends with the future that waits for it.
//! The project's configuration can name programs for git to run, so this is for projects that are trusted. Its hooks
//! and its watcher of files are off all the same.

use std::collections::BTreeSet;
use std::path::{Path, PathBuf};
use std::sync::Arc;
use std::time::Duration;

use futures::FutureExt;
use harness_core::{CancellationToken, Clock};
use harness_tools::{OutputStream, ProcessEvent, ProcessSpec, ShellOptions, Workspace};

/// The folder of a workspace in which worktrees are.
pub(crate) const FOLDER: &str = ".worktrees";

/// The most time for one step of git.
const PATIENCE: Duration = Duration::from_mins(2);

/// The most bytes of output that are looked at: names of files.
const MAX_OUTPUT: usize = 4 * 1024 * 1024;

/// The most files that are named when a worktree was merged.
const MAX_NAMED: usize = 20;

const GIT: &str = "git --no-pager -c core.hooksPath=/dev/null -c core.fsmonitor=false -c gc.auto=0 \
                   -c core.quotePath=false";

/// Variables that would lead git elsewhere.
const HIDDEN: [&str; 8] = [
    "GIT_DIR",
    "GIT_WORK_TREE",
    "GIT_INDEX_FILE",
    "GIT_OBJECT_DIRECTORY",
    "GIT_COMMON_DIR",
    "GIT_NAMESPACE",
    "GIT_PREFIX",
    "GIT_EXTERNAL_DIFF",
];

/// A worktree of its own, on a branch of its own.
#[derive(Clone)]
pub(crate) struct Worktree {
    workspace: Workspace,
    clock: Arc<dyn Clock>,
    /// The worktree.
    path: PathBuf,
    /// What the subagent works in: the folder in it that the workspace is in its repository.
    folder: PathBuf,
    branch: String,
    /// The commit that it began with.
    base: String,
    /// What git knows of it, in the repository. The file `.git` in it is the subagent's to write, and could lead
    /// to a configuration of its own.
    git_dir: PathBuf,
}

/// What became of a worktree.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) enum WorktreeEnd {
    /// Nothing was changed in it; it is gone.
    Unchanged,
    /// Its changes are in the workspace, not committed; it is gone.
    Merged(Vec<String>),
    /// It is still there.
    Left {
        path: PathBuf,
        branch: String,
        why: String,
    },
}

impl Worktree {
    /// Makes one of what is committed in the workspace's repository, or finds the one that was made for this id.
    /// `Err` in words for a model.
    pub(crate) async fn of(
        workspace: &Workspace,
        id: &str,
        clock: &Arc<dyn Clock>,
        cancel: &CancellationToken,
    ) -> Result<Self, String> {
        if !id.chars().all(|c| c.is_ascii_alphanumeric() || c == '-') || id.starts_with('-') {
            return Err(format!("`{id}` cannot be the name of a worktree"));
        }
        let path = workspace.root().join(FOLDER).join(id);
        let mut worktree = Self {
            workspace: workspace.clone(),
            clock: Arc::clone(clock),
            folder: path.clone(),
            branch: format!("harness/{id}"),
            base: String::new(),
            git_dir: PathBuf::new(),
            path,
        };
        let root = workspace.root();
        let prefix = worktree
            .git("rev-parse --show-prefix", root, cancel)
            .await
            .map_err(|problem| format!("There is no git repository to work in: {problem}"))?;
        worktree.folder = worktree.path.join(prefix.trim_end_matches('\n'));
        if worktree.path.exists() {
            let branch = quoted(&worktree.branch);
            let base = format!("merge-base HEAD {branch}");
            let base = worktree.git(&base, root, cancel).await?;
            base.trim().clone_into(&mut worktree.base);
            worktree.know(cancel).await?;
            return Ok(worktree);
        }
        let base = worktree.git("rev-parse --verify HEAD", root, cancel).await;
        let base = base.map_err(|problem| format!("Nothing is committed yet: {problem}"))?;
        base.trim().clone_into(&mut worktree.base);
        worktree.exclude(cancel).await?;
        let add = format!(
            "worktree add --quiet -b {} {} {}",
            quoted(&worktree.branch),
            quoted(&worktree.path.to_string_lossy()),
            quoted(&worktree.base),
        );
        if let Err(problem) = worktree.git(&add, root, cancel).await {
            // Nothing stays half made.
            let _ = worktree.remove(&CancellationToken::new()).await;
            return Err(format!("The worktree cannot be made: {problem}"));
        }
        worktree.know(cancel).await?;
        Ok(worktree)
    }

    /// Finds what git knows of it, in the repository.
    async fn know(&mut self, cancel: &CancellationToken) -> Result<(), String> {
        let common = "rev-parse --path-format=absolute --git-common-dir";
        let common = self.git(common, self.workspace.root(), cancel).await?;
        let all = Path::new(common.trim_end_matches('\n')).join("worktrees");
        let own = self.path.join(".git");
        let is_own = |known: &Path| {
            let to = std::fs::read_to_string(known.join("gitdir")).unwrap_or_default();
            Path::new(to.trim_end_matches('\n')) == own
        };
        let known = std::fs::read_dir(&all).map_err(|error| error.to_string())?;
        let mut known = known.flatten().map(|entry| entry.path());
        self.git_dir = known
            .find(|known| is_own(known))
            .ok_or("git knows of no such worktree")?;
        Ok(())
    }

    /// Git, for what is in it.
    fn own_git(&self) -> String {
        format!(
            "GIT_DIR={} GIT_WORK_TREE={} {GIT}",
            quoted(&self.git_dir.to_string_lossy()),
            quoted(&self.path.to_string_lossy())
        )
    }

    /// The folder to work in.
    pub(crate) fn folder(&self) -> &Path {
        &self.folder
    }

    /// Ends it: its changes, committed or not, are put into the workspace if `merges` and nothing stands against
    /// that; else it is left as it is.
    pub(crate) async fn end(&self, merges: bool) -> WorktreeEnd {
        let never = CancellationToken::new();
        match self.ended(merges, &never).await {
            Ok(end) => end,
            Err(why) => WorktreeEnd::Left {
                path: self.path.clone(),
                branch: self.branch.clone(),
                why,
            },
        }
    }

    async fn ended(&self, merges: bool, cancel: &CancellationToken) -> Result<WorktreeEnd, String> {
        let git = self.own_git();
        self.run(&format!("{git} add --all"), &self.path, cancel)
            .await?;
        let base = quoted(&self.base);
        let names = format!("{git} diff --cached --no-ext-diff --no-renames --name-only -z {base}");
        let changed = list(&self.run(&names, &self.path, cancel).await?);
        // What git does not carry would be gone with the folder: what is ignored, the worktrees of subagents of its
        // own, the files of a repository that was made in it.
        let ignored = format!("{git} status --porcelain --ignored --no-renames -z");
        let ignored = list(&self.run(&ignored, &self.path, cancel).await?);
        if let Some(name) = ignored.iter().find_map(|line| line.strip_prefix("!! ")) {
            return Err(format!("it holds {name}, which git ignores"));
        }
        let raw = format!("{git} diff --cached --no-ext-diff --no-renames --raw {base}");
        let raw = self.run(&raw, &self.path, cancel).await?;
        if raw
            .lines()
            .any(|line| line.get(..14).is_some_and(|modes| modes.contains("160000")))
        {
            return Err("it holds another repository".to_owned());
        }
        if changed.is_empty() {
            self.remove(cancel).await?;
            return Ok(WorktreeEnd::Unchanged);
        }
        if !merges {
            return Err("its work did not come to its end".to_owned());
        }
        let root = self.workspace.root();
        // Behind two letters and a blank.
        let status = "status --porcelain --no-renames --untracked-files=all -z";
        let dirty = list(&self.git(status, root, cancel).await?);
        let dirty: BTreeSet<&str> = dirty.iter().filter_map(|line| line.get(3..)).collect();
        if let Some(both) = changed.iter().find(|name| dirty.contains(name.as_str())) {
            return Err(format!("{both} has changes here that are not committed"));
        }
        let apply = format!(
            "set -o pipefail; top=$({GIT} rev-parse --show-toplevel) && {git} diff --cached --binary --no-ext-diff \
             --no-textconv {base} | {GIT} -C \"$top\" apply --binary --whitespace=nowarn"
        );
        let applied = self.run(&apply, root, cancel).await;
        applied.map_err(|problem| format!("its changes do not fit: {problem}"))?;
        self.remove(cancel).await?;
        Ok(WorktreeEnd::Merged(changed))
    }

    /// Takes worktree and branch away.
    async fn remove(&self, cancel: &CancellationToken) -> Result<(), String> {
        let root = self.workspace.root();
        let path = quoted(&self.path.to_string_lossy());
        // The subagent may have changed what git looks at there.
        let removed = format!(
            "{GIT} worktree remove --force {path} 2>/dev/null || {{ rm -rf -- {path} && {GIT} worktree prune; }}"
        );
        let removed = self.run(&removed, root, cancel).await;
        let branch = format!("branch --quiet -D {}", quoted(&self.branch));
        let branch = self.git(&branch, root, cancel).await;
        removed.and(branch).map(|_| ())
    }

    /// Keeps worktrees out of what git tells of the workspace.
    async fn exclude(&self, cancel: &CancellationToken) -> Result<(), String> {
        let script = format!(
            "file=$({GIT} rev-parse --git-path info/exclude) && mkdir -p \"${{file%/*}}\" && \
             {{ grep -qxF {FOLDER}/ \"$file\" 2>/dev/null || echo {FOLDER}/ >> \"$file\"; }}"
        );
        self.run(&script, self.workspace.root(), cancel).await?;
        Ok(())
    }

    async fn git(
        &self,
        arguments: &str,
        folder: &Path,
        cancel: &CancellationToken,
    ) -> Result<String, String> {
        self.run(&format!("{GIT} {arguments}"), folder, cancel)
            .await
    }

    /// Runs a line of the shell and gives its output; `Err` is the last line that it complained with.
    async fn run(
        &self,
        line: &str,
        folder: &Path,
        cancel: &CancellationToken,
    ) -> Result<String, String> {
        let mut shell: ShellOptions = self.workspace.shell().clone();
        let hidden = HIDDEN.iter().map(Into::into);
        shell.hidden_variables.extend(hidden);
        let variables = [("GIT_TERMINAL_PROMPT", "0"), ("LC_ALL", "C")];
        let variables = variables.map(|(name, value)| (name.into(), value.into()));
        shell.variables.extend(variables);
        let spec = ProcessSpec::new(line, folder, &shell);
        let started = self.workspace.processes().start(spec).await;
        let mut process = started.map_err(|error| error.to_string())?;
        let (mut out, mut err) = (Vec::new(), Vec::new());
        let mut over = self.clock.sleep(PATIENCE).fuse();
        let mut cancelled = Box::pin(cancel.cancelled()).fuse();
        let code = loop {
            futures::select_biased! {
                () = cancelled => break Err("it was cancelled".to_owned()),
                event = process.next().fuse() => match event {
                    Some(ProcessEvent::Output { stream, bytes }) => {
                        let to = match stream {
                            OutputStream::Stdout => &mut out,
                            OutputStream::Stderr => &mut err,
                        };
                        let room = MAX_OUTPUT - to.len();
                        if bytes.len() > room {
                            break Err("it said too much".to_owned());
                        }
                        to.extend(bytes);
                    }
                    Some(ProcessEvent::Exited(exit)) => break Ok(exit.code),
                    None => break Ok(None),
                },
                () = over => break Err("git took too long".to_owned()),
            }
        };
        while let Some(event) = process.next().now_or_never().flatten() {
            if let ProcessEvent::Output { stream, bytes } = event {
                let to = match stream {
                    OutputStream::Stdout => &mut out,
                    OutputStream::Stderr => &mut err,
                };
                to.extend(bytes);
            }
        }
        process.kill().await;
        if code? == Some(0) {
            return Ok(String::from_utf8_lossy(&out).into_owned());
        }
        let said = String::from_utf8_lossy(&err);
        let last = said.lines().rev().find(|line| !line.trim().is_empty());
        let last = last.unwrap_or("git failed, and did not say why");
        Err(last.trim().to_owned())
    }
}

impl WorktreeEnd {
    /// In words for a model.
    pub(crate) fn words(&self) -> String {
        match self {
            Self::Unchanged => "It changed nothing in its worktree, which is gone.".to_owned(),
            Self::Merged(files) => {
                let named = files.iter().take(MAX_NAMED).cloned().collect::<Vec<_>>();
                let more = match files.len().saturating_sub(MAX_NAMED) {
                    0 => String::new(),
                    more => format!(" and {more} more"),
                };
                format!(
                    "What it changed in its worktree is in the workspace now, not committed: {}{more}",
                    named.join(", ")
                )
            }
            Self::Left { path, branch, why } => format!(
                "Its worktree is left with what it changed in {} (branch {branch}): {why}.",
                path.display()
            ),
        }
    }
}

fn list(text: &str) -> Vec<String> {
    let names = text.split('\0').filter(|name| !name.is_empty());
    names.map(str::to_owned).collect()
}

/// A word for the shell.
fn quoted(text: &str) -> String {
    format!("'{}'", text.replace('\'', r"'\''"))
}
