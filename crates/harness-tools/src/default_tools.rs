//! The tools that an agent is given unless it is told otherwise.

use harness_core::ToolRef;

use crate::bash::BashTool;
use crate::edit::EditTool;
use crate::find::FindTool;
use crate::grep::GrepTool;
use crate::ls::LsTool;
use crate::read::ReadTool;
use crate::workspace::Workspace;
use crate::write::WriteTool;

/// The seven tools, in the order in which a model is told of them: `read`, `write`, `edit`, `bash`,
/// `grep`, `find`, `ls`. To leave one out, filter by `spec().name`.
pub fn default_tools(workspace: &Workspace) -> Vec<ToolRef> {
    vec![
        ToolRef::new(ReadTool::new(workspace)),
        ToolRef::new(WriteTool::new(workspace)),
        ToolRef::new(EditTool::new(workspace)),
        ToolRef::new(BashTool::new(workspace)),
        ToolRef::new(GrepTool::new(workspace)),
        ToolRef::new(FindTool::new(workspace)),
        ToolRef::new(LsTool::new(workspace)),
    ]
}
