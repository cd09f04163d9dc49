//! A call as one hook is shown it.

use std::path::Path;
use std::sync::Arc;

use harness_core::{ActiveCall, RunContext, ToolEffect};
use serde_json::{Map, Value, json};

use super::input::fields;
use crate::foreign_tool::ForeignTool;

/// The tools whose `path` is a file, which others call `file_path`.
const FILE_TOOLS: [&str; 3] = ["read", "write", "edit"];

/// A call under our name, or under another agent's.
#[derive(Debug)]
pub(super) struct ShownCall {
    id: String,
    name: String,
    /// Under the name that another agent has for the tool, and in its shape.
    theirs: Option<&'static ForeignTool>,
    /// The arguments, as they are here.
    arguments: Arc<Value>,
    /// What the hook is given of them.
    input: Value,
    /// The `file_path` that was added to ours.
    added: Option<Value>,
}

impl ShownCall {
    pub(super) fn new(
        cx: &RunContext,
        call: &ActiveCall,
        folder: &Path,
        theirs: Option<&'static ForeignTool>,
    ) -> Self {
        let arguments = Arc::clone(&call.arguments);
        let file = file_of(cx, call, folder);
        let (input, added) = if let Some(theirs) = theirs {
            (theirs.give(&arguments, file.as_deref()), None)
        } else {
            let mut input = arguments.as_ref().clone();
            let mut added = None;
            // In the place of one that the model gave: the tool ignores it.
            if let (Some(file), Some(input)) = (file, input.as_object_mut())
                && FILE_TOOLS.contains(&call.name.as_str())
            {
                added = Some(Value::from(file));
                input.extend(added.clone().map(|file| ("file_path".to_owned(), file)));
            }
            (input, added)
        };
        Self {
            id: call.id.clone(),
            name: call.name.clone(),
            theirs,
            arguments,
            input,
            added,
        }
    }

    /// The fields that tell of it.
    pub(super) fn fields(&self) -> Map<String, Value> {
        let name = self.theirs.map_or(&*self.name, |theirs| theirs.theirs);
        fields([
            ("tool_name", json!(name)),
            ("tool_input", self.input.clone()),
            ("tool_use_id", json!(self.id)),
        ])
    }

    /// The arguments that the hook gave back, in our shape. `Err` with what cannot be said in it.
    pub(super) fn take_back(&self, mut updated: Value) -> Result<Value, String> {
        if let Some(theirs) = self.theirs {
            return theirs.take_back(&updated, &self.arguments, &self.input);
        }
        // Without the `file_path` that it was given: one that it changed is the `path`.
        if let (Some(given), Some(updated)) = (&self.added, updated.as_object_mut())
            && let Some(file) = updated.remove("file_path")
            && (file != *given || !updated.contains_key("path"))
        {
            updated.insert("path".to_owned(), file);
        }
        Ok(updated)
    }
}

/// The path of a call, absolute. What only its tool can tell (`~`, addresses) is asked of that.
fn file_of(cx: &RunContext, call: &ActiveCall, folder: &Path) -> Option<String> {
    let path = call.arguments.get("path")?.as_str()?;
    let is_address = path
        .get(..5)
        .is_some_and(|it| it.eq_ignore_ascii_case("file:"));
    if path.starts_with(['~', '@']) || is_address {
        let effects = call.effects(cx);
        let real = effects.iter().find_map(|effect| match effect {
            ToolEffect::Read(path) | ToolEffect::Write(path) => Some(path),
            _ => None,
        });
        if let Some(real) = real {
            return Some(real.to_string_lossy().into_owned());
        }
    }
    Some(folder.join(path).to_string_lossy().into_owned())
}
