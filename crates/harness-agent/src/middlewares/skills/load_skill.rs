//! `load_skill`: the instructions of a skill, for the model.

use std::borrow::Cow;
use std::fmt::Write as _;
use std::sync::Arc;

use harness_core::{Replay, Tool, ToolContext, ToolEffects, ToolError, ToolOutput, async_trait};
use harness_skills::{Activation, LookupError, Skill, read_resource};
use schemars::JsonSchema;
use serde::Deserialize;

use crate::loaded_skills::{LOAD_SKILL, Loaded, mark};
use crate::skill_span::SkillSpan;
use crate::skill_view::SkillView;

/// Loads the instructions of a skill, or a text file of its folder.
#[derive(Clone, Debug, Deserialize, JsonSchema)]
pub(crate) struct LoadSkillArgs {
    /// The name of the skill.
    name: String,
    /// A file of the skill, relative to its folder; without it, the instructions.
    #[serde(default)]
    file: Option<String>,
}

/// The tool of [`SkillsMiddleware`](crate::middlewares::SkillsMiddleware).
#[derive(Debug)]
pub(crate) struct LoadSkill {
    view: Arc<SkillView>,
}

impl LoadSkill {
    pub(crate) fn new(view: Arc<SkillView>) -> Self {
        Self { view }
    }

    /// The skill of that name, if a model may load it.
    fn find(&self, name: &str) -> Result<Arc<Skill>, LookupError> {
        let catalogue = self.view.catalogue();
        catalogue.find_for_model(name.trim()).map(Arc::clone)
    }
}

#[async_trait]
impl Tool for LoadSkill {
    type Args = LoadSkillArgs;

    fn name(&self) -> Cow<'_, str> {
        LOAD_SKILL.into()
    }

    fn replay(&self) -> Replay {
        Replay::Safe
    }

    fn effects(&self, _: &ToolContext, args: &LoadSkillArgs) -> ToolEffects {
        let skill = self.find(&args.name).ok();
        match skill.as_ref().and_then(|skill| skill.directory()) {
            Some(directory) => ToolEffects::read(directory),
            None => ToolEffects::new([]),
        }
    }

    async fn call(&self, cx: &ToolContext, args: LoadSkillArgs) -> Result<ToolOutput, ToolError> {
        let failed = |error: &dyn std::error::Error| ToolError::failed(error.to_string());
        let skill = self.find(&args.name).map_err(|error| failed(&error))?;
        let limits = self.view.skills().limits();
        let file = args
            .file
            .as_deref()
            .map(str::trim)
            .filter(|file| !file.is_empty());
        if let Some(file) = file.filter(|file| !is_itself(&skill, file)) {
            let resource = read_resource(&skill, file, limits).map_err(|error| failed(&error))?;
            let mut text = resource.text;
            if let Some(whole) = resource.whole {
                let file = resource.file.display();
                let _ = write!(
                    text,
                    "\n[cut: the file has {whole} bytes; `read` {file} for the rest]"
                );
            }
            return Ok(ToolOutput::text(text));
        }
        let span = SkillSpan::start(&skill.name(), "model");
        let activation = match Activation::of(&skill, limits) {
            Ok(activation) => activation,
            Err(error) => {
                span.failed();
                return Err(failed(&error));
            }
        };
        // As its file is now.
        if !activation.skill.is_for_models() {
            span.failed();
            return Err(ToolError::failed(format!(
                "only the user can load the skill `{}`",
                activation.skill.name()
            )));
        }
        if Loaded::of(cx.run()).has(&activation) {
            span.loaded(&activation, true);
            return Ok(ToolOutput::text(activation.note_of_repetition()));
        }
        span.loaded(&activation, false);
        Ok(ToolOutput::text(activation.text()).with_details(mark(&activation)))
    }
}

/// Whether a path means the skill's own file.
fn is_itself(skill: &Skill, file: &str) -> bool {
    let name = skill.file().and_then(|path| path.file_name());
    let file = file.strip_prefix("./").unwrap_or(file);
    name.is_some_and(|name| name.eq_ignore_ascii_case(file))
}
