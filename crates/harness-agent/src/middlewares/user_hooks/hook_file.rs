//! Files with hooks.

use std::io::Read as _;
use std::path::Path;
use std::sync::Arc;

use super::hook::Hook;
use super::hook_diagnostic::HookDiagnostic;
use super::hook_json::HookJson;
use super::hook_reader::HookReader;
use crate::error::Error;

/// The most bytes of a file.
const MAX_FILE_BYTES: u64 = 1024 * 1024;

/// The most hooks of a file.
const MAX_HOOKS: usize = 256;

/// The hooks of one file: `{"hooks": {"PreToolUse": [{"matcher": "Bash|Edit", "hooks": [{"type": "command",
/// "command": "…", "timeout": 60, "on_failure": "open"}]}]}}`.
///
/// That is the shape of the [hook files of Claude Code](https://code.claude.com/docs/en/hooks) and of
/// [codex](https://developers.openai.com/codex/hooks); `on_failure`, and the longest and the usual time are
/// ours. A whole `settings.json` of Claude Code is taken too: its other keys are ignored, but for
/// `disableAllHooks`.
///
/// What is wrong with one entry turns off no other one, and is told as a [diagnostic](Self::diagnostics):
/// misspelt keys and events, and what other agents have and this one does not. An entry that cannot be read
/// (without a command, with a matcher that is no expression) always fails, so that it
/// [blocks](super::OnHookFailure::Closed) where a failed hook does: a guard that is passed over guards nothing.
/// Elsewhere it is ignored. A hook of a kind that is not supported is ignored, too, unless it says that it
/// blocks if it fails. What is no JSON at all is an error, and
/// so is an event outside of `hooks`.
///
/// A file is read up to 1 MiB and 256 hooks.
#[derive(Clone, Debug)]
pub struct HookFile {
    pub(super) path: Arc<Path>,
    pub(super) hooks: Vec<Hook>,
    pub(super) diagnostics: Vec<HookDiagnostic>,
}

impl HookFile {
    /// Reads a file; `None` if there is none. [`Error::HookFile`] if it cannot be read or used, with line and
    /// column. Blocks.
    pub fn read(path: impl AsRef<Path>) -> Result<Option<Self>, Error> {
        let path = path.as_ref();
        let failed = |problem: String| Error::HookFile {
            path: path.to_owned(),
            problem,
        };
        let found = match std::fs::metadata(path) {
            Err(error) if error.kind() == std::io::ErrorKind::NotFound => return Ok(None),
            found => found.map_err(|error| failed(error.to_string()))?,
        };
        // A pipe would keep whoever opens it waiting.
        if !found.is_file() {
            return Err(failed("it is not a file".to_owned()));
        }
        let file = std::fs::File::open(path).map_err(|error| failed(error.to_string()))?;
        let mut text = String::new();
        file.take(MAX_FILE_BYTES + 1)
            .read_to_string(&mut text)
            .map_err(|error| failed(error.to_string()))?;
        Self::parse(path, &text).map(Some)
    }

    /// Takes the text of a file. The path is only what messages name it by.
    pub fn parse(path: impl AsRef<Path>, text: &str) -> Result<Self, Error> {
        let path = path.as_ref();
        let named = path.to_owned();
        let failed = |problem: String| Error::HookFile {
            path: named.clone(),
            problem,
        };
        if text.len() as u64 > MAX_FILE_BYTES {
            return Err(failed(format!("it has more than {MAX_FILE_BYTES} bytes")));
        }
        let text = text.strip_prefix('\u{feff}').unwrap_or(text);
        let root: HookJson =
            serde_json::from_str(text).map_err(|error| failed(error.to_string()))?;
        let path: Arc<Path> = path.into();
        let mut reader = HookReader::new(&path);
        reader.take_file(root).map_err(failed)?;
        let (hooks, diagnostics) = reader.finish();
        if hooks.len() > MAX_HOOKS {
            return Err(failed(format!("it has more than {MAX_HOOKS} hooks")));
        }
        Ok(Self {
            path,
            hooks,
            diagnostics,
        })
    }

    /// The file.
    pub fn path(&self) -> &Path {
        &self.path
    }

    /// Its hooks, in its order.
    pub fn hooks(&self) -> &[Hook] {
        &self.hooks
    }

    /// What in it is not done as it is written, in its order.
    pub fn diagnostics(&self) -> &[HookDiagnostic] {
        &self.diagnostics
    }
}
