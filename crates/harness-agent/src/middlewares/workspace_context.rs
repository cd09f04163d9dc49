//! Tells the model where it works, and what the user and the project have written down for it.

use std::collections::HashSet;
use std::path::{Path, PathBuf};
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};

use harness_core::{
    ActiveCall, Event, HookSet, MessageRef, Middleware, MiddlewareError, NextTool, RunContext,
    SystemPrompt, ToolOutcome, async_trait,
};
use harness_prompt::{Library, Section};

use crate::context_files::{ContextFiles, ContextRequest};
use crate::notes::Notes;
use crate::today::today;

/// The name of the section with the working folder and the platform.
pub const WORKSPACE_SECTION: &str = "workspace";

/// The most folders with instructions of their own that a session remembers.
const MAX_TOUCHED: usize = 200;

/// What [`WorkspaceContextMiddleware`] looks at.
#[derive(Clone, Debug)]
#[non_exhaustive]
pub struct WorkspaceContextOptions {
    /// The user's own folder, whose `AGENTS.md` comes before the project's.
    pub user_folder: Option<PathBuf>,
    /// Where temporary files go, as the model is told.
    pub temporary_folder: PathBuf,
    /// More files for the prompt; relative ones are in the working folder.
    pub files: Vec<PathBuf>,
    /// Tokens that all files together may take, [estimated](harness_core::estimate_tokens). Default 8,000.
    pub tokens: usize,
    /// Whether the user trusts the project. By default not: then its files are marked as such for the model, and
    /// links in it that lead out of it are not followed.
    pub project_is_trusted: bool,
    /// Whether files are read at all; if not, only the working folder, the platform and the date are
    /// told.
    pub read_files: bool,
}

impl Default for WorkspaceContextOptions {
    fn default() -> Self {
        Self {
            user_folder: None,
            temporary_folder: PathBuf::from("/tmp"),
            files: Vec::new(),
            tokens: 8_000,
            project_is_trusted: false,
            read_files: true,
        }
    }
}

/// Adds to the system prompt, for a run with a working folder:
///
/// | section | what |
/// |---|---|
/// | `workspace` | the working folder, the platform, the temporary folder |
/// | `instructions` | `AGENTS.md` of the user's folder, then of each folder from the repository's root to the working folder; `CLAUDE.md` where there is no `AGENTS.md` |
/// | `memory` | `MEMORY.md`; of a long one, the end |
/// | `knowledge` | `KNOWLEDGE.md`, and the paths of the files under `knowledge/` |
/// | `context-files` | other files that the options name |
/// | `date` | today's date, in UTC; last of all, since it changes |
///
/// Instructions of folders further down join when a tool first touches something there: not in the
/// prompt, which would spoil the provider's cache of the whole conversation, but as a note behind the
/// message where that happened.
///
/// All files share [`WorkspaceContextOptions::tokens`]. The nearest instructions are the last to be cut.
/// A file that is not there leaves no trace; one that cannot be used is a warning. Files are looked at
/// anew before each turn, which costs a `stat` for each while nothing changes. They are read where the
/// run is polled, without a thread: they are few and small.
///
/// A line `@path` of an instruction file, outside of code, is replaced by that file; relative to the
/// folder where the file with the line really is, and not out of the project. Links are followed, each
/// file is used once, and only files called `.md`, `.mdc`, `.markdown` or `.txt`.
#[derive(Debug)]
pub struct WorkspaceContextMiddleware {
    options: WorkspaceContextOptions,
    library: Arc<Library>,
}

/// What a session knows of its workspace.
#[derive(Debug, Default)]
struct Known(Mutex<State>);

#[derive(Debug, Default)]
struct State {
    /// Folders below the working folder that tools touched.
    touched: Vec<PathBuf>,
    files: Option<ContextFiles>,
    notes: Notes,
    /// What was warned of.
    warned: HashSet<String>,
}

impl WorkspaceContextMiddleware {
    /// With options, and a library whose templates have the wording.
    pub fn new(options: WorkspaceContextOptions, library: Arc<Library>) -> Self {
        Self { options, library }
    }

    /// The texts of the files for this turn; those of the last one if nothing changed.
    fn refresh<'s>(
        &self,
        cx: &RunContext,
        folder: &Path,
        state: &'s mut State,
    ) -> Result<&'s ContextFiles, MiddlewareError> {
        let request = ContextRequest {
            options: &self.options,
            library: &self.library,
            folder,
            touched: &state.touched,
        };
        let files = match state.files.take() {
            Some(files) if files.is_current(&request) => files,
            _ => ContextFiles::read(&request)?,
        };
        for warning in &files.warnings {
            if state.warned.insert(warning.clone()) {
                let message = warning.clone();
                cx.emit(Event::Warning { message });
            }
        }
        Ok(state.files.insert(files))
    }
}

#[async_trait]
impl Middleware for WorkspaceContextMiddleware {
    fn name(&self) -> &'static str {
        "workspace-context"
    }

    fn hooks(&self) -> HookSet {
        if self.options.read_files {
            HookSet::SYSTEM_PROMPT | HookSet::CONTEXT | HookSet::TOOL_CALL
        } else {
            HookSet::SYSTEM_PROMPT
        }
    }

    async fn on_system_prompt(
        &self,
        cx: &RunContext,
        mut prompt: SystemPrompt,
    ) -> Result<SystemPrompt, MiddlewareError> {
        let Some(folder) = cx.working_dir() else {
            return Ok(prompt);
        };
        let known = cx.attributes().get_or_insert_with(Known::default);
        let mut state = known.lock();
        let files = self.refresh(cx, folder, &mut state)?;
        for section in &files.sections {
            prompt = prompt.with(section.clone());
        }
        let date = format!("Today's date: {} (UTC)", today(cx.clock().now()));
        let date = Section::new("date", date, self.name()).volatile();
        Ok(prompt.with(date.with_rank(Section::ESSENTIAL)))
    }

    async fn on_context(
        &self,
        cx: &RunContext,
        messages: Vec<MessageRef>,
    ) -> Result<Vec<MessageRef>, MiddlewareError> {
        let Some(known) = cx.attributes().get::<Known>() else {
            return Ok(messages);
        };
        let mut guard = known.lock();
        let State { files, notes, .. } = &mut *guard;
        let nested = files.as_ref().map_or(&[][..], |files| &files.nested[..]);
        // What was told in a run that never was is told again, and at once.
        notes.forget_lost(&messages);
        for note in nested {
            match &note.text {
                Some(text) if !notes.has(&note.key) => notes.put(&messages, &note.key, text),
                text => notes.change(&note.key, text.as_deref()),
            }
        }
        Ok(notes.show(messages))
    }

    async fn on_tool_call(
        &self,
        cx: &RunContext,
        call: ActiveCall,
        next: NextTool<'_>,
    ) -> ToolOutcome {
        if let (Some(folder), None) = (cx.working_dir(), &call.problem) {
            let known = cx.attributes().get_or_insert_with(Known::default);
            for path in call.effects(cx).paths() {
                known.lock().touch(folder, path);
            }
        }
        next.run(cx, call).await
    }
}

impl Known {
    fn lock(&self) -> MutexGuard<'_, State> {
        self.0.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

impl State {
    /// Remembers the folders on the way to a path.
    fn touch(&mut self, working_dir: &Path, path: &Path) {
        let is_known = |folder: &Path| self.touched.iter().any(|known| known == folder);
        // Most calls touch what earlier ones touched; a file and the folder that it is in are told
        // apart by a look only if they did not.
        if path.parent().is_some_and(is_known) && !path.is_dir() {
            return;
        }
        let Ok(root) = working_dir.canonicalize() else {
            return;
        };
        let root = root
            .ancestors()
            .find(|ancestor| ancestor.join(".git").exists())
            .unwrap_or(&root);
        let folder = if path.is_dir() {
            Some(path)
        } else {
            path.parent()
        };
        // A path to nothing was not resolved: `..` and links in it may lead out of the project.
        let folder = folder
            .into_iter()
            .flat_map(Path::ancestors)
            .find_map(|folder| folder.canonicalize().ok());
        let inside = folder
            .iter()
            .flat_map(|folder| folder.ancestors())
            .take_while(|folder| folder.starts_with(root) && *folder != root);
        let new: Vec<PathBuf> = inside
            .filter(|folder| !self.touched.iter().any(|known| known == folder))
            .map(Path::to_owned)
            .collect();
        let free = MAX_TOUCHED.saturating_sub(self.touched.len());
        self.touched.extend(new.into_iter().rev().take(free));
    }
}
