//! What a policy let through, and how a call is held to it.

use std::path::Path;
use std::sync::Arc;
use std::time::Duration;

use serde_json::Value;

use crate::journal::Record;
use crate::outcome::ToolOutcome;
use crate::tool_effect::{ToolEffect, ToolEffects};

/// Why a call is not let through that is not what a policy let through.
pub(crate) const CHANGED: &str =
    "the call was changed after it had been allowed, or what it leads to was. Make it again.";

/// What a policy let through: a [value](crate::RunContext::with_value) of the call's context, put there by the
/// policy for all that is inside of it.
///
/// A call that has one is held to it. The core refuses a call whose effects have become others on the way to
/// the tool, and one that is for another tool or has other arguments if those were what was let through. A tool that works on paths
/// asks [`reads`](Self::reads) and [`writes`](Self::writes) once it knows where a path leads at last, since a
/// link may have been put in its place meanwhile; and one that showed a
/// [preview](crate::Tool::preview) makes sure that it was made from what is there now.
#[derive(Clone)]
pub struct Permit {
    effects: ToolEffects,
    tool: Option<String>,
    except: Option<Exception>,
    arguments: Option<Arc<Value>>,
    preview: Option<u64>,
    withdrawn: Option<String>,
}

impl Permit {
    /// These effects, whatever the arguments are that lead to them.
    pub fn new(effects: ToolEffects) -> Self {
        Self {
            effects,
            tool: None,
            except: None,
            arguments: None,
            preview: None,
            withdrawn: None,
        }
    }

    /// Taken back since, for this reason: a call whose end is on record ends as it did, and any other one is
    /// refused.
    pub fn withdrawn(mut self, reason: impl Into<String>) -> Self {
        self.withdrawn = Some(reason.into());
        self
    }

    /// Without the files of folders that this says yes to, by their real paths; a file that is itself among the
    /// effects is not left out.
    pub fn except(mut self, except: impl Fn(&Path) -> bool + Send + Sync + 'static) -> Self {
        self.except = Some(Arc::new(except));
        self
    }

    /// For a call of this tool alone: two tools that do not say what they do have the same effects.
    pub fn for_tool(mut self, name: impl Into<String>) -> Self {
        self.tool = Some(name.into());
        self
    }

    /// With these arguments alone.
    pub fn with_arguments(mut self, arguments: Arc<Value>) -> Self {
        self.arguments = Some(arguments);
        self
    }

    /// As the preview showed it that has this [state](ToolPreview::state).
    pub fn with_preview(mut self, state: u64) -> Self {
        self.preview = Some(state);
        self
    }

    /// The effects.
    pub fn effects(&self) -> &ToolEffects {
        &self.effects
    }

    /// The state of the preview that somebody said yes to.
    pub fn preview(&self) -> Option<u64> {
        self.preview
    }

    /// Whether this file or folder may be read: a real path, every link followed. What is in a folder that may
    /// be read may be, too, but for [exceptions](Self::except).
    pub fn reads(&self, real: &Path) -> bool {
        let is_excepted = || self.except.as_ref().is_some_and(|except| except(real));
        self.effects.iter().any(|effect| match effect {
            ToolEffect::Read(path) => path == real || (real.starts_with(path) && !is_excepted()),
            ToolEffect::Write(path) => path == real,
            ToolEffect::Unknown => true,
            _ => false,
        })
    }

    /// Whether this file may be written: a real path, every link followed.
    pub fn writes(&self, real: &Path) -> bool {
        self.effects.iter().any(|effect| match effect {
            ToolEffect::Write(path) => path == real,
            ToolEffect::Unknown => true,
            _ => false,
        })
    }

    /// The end of a call that it was taken back for, if it was.
    pub(crate) fn withdrawal(&self) -> Option<Record> {
        let reason = self.withdrawn.as_deref()?;
        Some(Record::Tool {
            outcome: Self::denied(reason),
            elapsed: Duration::ZERO,
        })
    }

    /// The end of a call that is not let through.
    pub(crate) fn denied(reason: &str) -> ToolOutcome {
        ToolOutcome::Denied {
            by: "permissions".to_owned(),
            reason: reason.to_owned(),
        }
    }

    /// Whether a call of this tool with these effects and arguments is what was let through.
    pub(crate) fn covers(&self, tool: &str, effects: &ToolEffects, arguments: &Value) -> bool {
        self.effects == *effects
            && self.tool.as_ref().is_none_or(|permitted| permitted == tool)
            && self
                .arguments
                .as_deref()
                .is_none_or(|permitted| permitted == arguments)
    }
}

type Exception = Arc<dyn Fn(&Path) -> bool + Send + Sync>;

impl std::fmt::Debug for Permit {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.debug_struct("Permit")
            .field("effects", &self.effects)
            .field("tool", &self.tool)
            .field("arguments", &self.arguments)
            .field("preview", &self.preview)
            .field("withdrawn", &self.withdrawn)
            .finish_non_exhaustive()
    }
}

/// What a call would change, for somebody who is to say yes to it.
#[derive(Clone, Debug, PartialEq, Eq)]
#[non_exhaustive]
pub struct ToolPreview {
    /// What would change: for files, a diff in unified format.
    pub text: String,
    /// A digest of what the preview was made from; another one when that has changed.
    pub state: u64,
}

impl ToolPreview {
    /// A preview.
    pub fn new(text: impl Into<String>, state: u64) -> Self {
        let text = text.into();
        Self { text, state }
    }
}
