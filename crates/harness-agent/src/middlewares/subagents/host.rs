//! What subagents are made from: the parts of their parent, narrowed.

use std::collections::HashMap;
#[cfg(feature = "tools")]
use std::path::Path;
use std::path::PathBuf;
use std::sync::{Arc, Mutex, OnceLock, PoisonError};

use harness_core::{Limits, Model, ThinkingLevel, ToolRef};
use harness_skills::{Digest, Skill};

use super::options::SubagentOptions;
use crate::agent_declaration::{AgentDeclaration, Isolation};
use crate::extension::{Extension, ExtensionResult};
use crate::harness::AgentHarness;
use crate::harness_builder::Parts;
use crate::system_prompt::SystemPromptSource;

/// What each subagent is told beside its role.
const RULES: &str = "\
You work for another agent, which gave you your task and sees nothing of your work but your last message. Nobody \
can answer questions: decide yourself, and say what you assumed. When you are done, or cannot go on, end with a \
message that has all that was asked for, with paths and lines where they matter, and without the way to it.";

/// Other programs' short names for models, which say how large one should be and not whose it is.
const ALIASES: [&str; 4] = ["sonnet", "opus", "haiku", "default"];

/// What the subagents of one agent are made from.
pub(crate) struct Host {
    pub(crate) options: SubagentOptions,
    parts: Arc<Parts>,
    model: Arc<dyn Model>,
    thinking: ThinkingLevel,
    /// What the parent offers: known when the parent is put together.
    tools: OnceLock<Vec<ToolRef>>,
    /// The agents that were made: each declaration is put together once.
    made: Mutex<HashMap<(String, Digest), AgentHarness>>,
}

/// An agent that was made, and what a person should know of it.
pub(crate) struct Made {
    pub(crate) harness: AgentHarness,
    pub(crate) warning: Option<String>,
}

impl Host {
    /// `None` where there may be no subagents.
    pub(crate) fn of(
        parts: &Arc<Parts>,
        model: &Arc<dyn Model>,
        thinking: ThinkingLevel,
    ) -> Option<Arc<Self>> {
        let options = parts.subagents.clone()?;
        (options.max_depth > 0).then(|| {
            Arc::new(Self {
                options,
                parts: Arc::clone(parts),
                model: Arc::clone(model),
                thinking,
                tools: OnceLock::new(),
                made: Mutex::default(),
            })
        })
    }

    /// Says what the parent offers: subagents have no other tools.
    pub(crate) fn offers(&self, tools: &[ToolRef]) {
        // It is put together once.
        let _ = self.tools.set(tools.to_vec());
    }

    /// The names of the tools that an agent of this declaration has.
    pub(crate) fn tools_of(&self, declaration: &AgentDeclaration) -> Vec<String> {
        let tools = self.tools.get().into_iter().flatten();
        let names = tools.map(|tool| tool.spec().name.clone());
        names
            .filter(|name| declaration.allows(name))
            .filter(|name| !super::is_plan_tool(name))
            .filter(|name| self.options.max_depth > 1 || !super::TOOLS.contains(&name.as_str()))
            .collect()
    }

    /// The agent of a declaration. `Err` in words for a model.
    pub(crate) fn agent(&self, declaration: &AgentDeclaration) -> Result<Made, String> {
        let key = (declaration.name.clone(), declaration.digest);
        let known = self.made().get(&key).cloned();
        let (model, warning) = self.model_of(declaration)?;
        if let Some(harness) = known {
            return Ok(Made { harness, warning });
        }
        let harness = AgentHarness::from_parts(self.narrowed(declaration, model))
            .map_err(|error| format!("The agent {} cannot be made: {error}", declaration.name))?;
        self.made().insert(key, harness.clone());
        Ok(Made { harness, warning })
    }

    /// The parent's workspace.
    #[cfg(feature = "tools")]
    pub(crate) fn workspace(&self) -> Option<&harness_tools::Workspace> {
        self.parts.workspace.as_ref()
    }

    /// The same in another folder, with tools for that.
    #[cfg(feature = "tools")]
    pub(crate) fn agent_in(
        &self,
        declaration: &AgentDeclaration,
        folder: &Path,
    ) -> Result<Made, String> {
        let Some(workspace) = &self.parts.workspace else {
            return Err("This agent has no workspace that a copy could be made of.".to_owned());
        };
        let workspace = workspace
            .moved_to(folder)
            .map_err(|error| format!("The folder cannot be used: {error}"))?;
        let (model, warning) = self.model_of(declaration)?;
        let mut parts = self.narrowed(declaration, model);
        // Those that work in a folder are made anew; all others stay as they are.
        let own = harness_tools::default_tools(&workspace);
        for tool in &mut parts.tools {
            let name = &tool.spec().name;
            if let Some(own) = own.iter().find(|own| own.spec().name == *name) {
                *tool = own.clone();
            }
        }
        parts.working_dir = Some(workspace.root().to_owned());
        parts.workspace = Some(workspace);
        let harness = AgentHarness::from_parts(parts)
            .map_err(|error| format!("The agent {} cannot be made: {error}", declaration.name))?;
        Ok(Made { harness, warning })
    }

    /// The folder that an agent of this name writes to by being begun.
    pub(crate) fn writes(&self, agent: &str) -> Option<PathBuf> {
        let declaration = self.options.agents.find(agent).ok()?;
        if declaration.isolation != Isolation::Worktree {
            return None;
        }
        #[cfg(feature = "tools")]
        let root = self
            .workspace()
            .map(|workspace| workspace.root().to_owned());
        #[cfg(not(feature = "tools"))]
        let root = self.parts.working_dir.clone();
        root
    }

    fn made(&self) -> std::sync::MutexGuard<'_, HashMap<(String, Digest), AgentHarness>> {
        self.made.lock().unwrap_or_else(PoisonError::into_inner)
    }

    fn model_of(
        &self,
        declaration: &AgentDeclaration,
    ) -> Result<(Arc<dyn Model>, Option<String>), String> {
        let own = || Arc::clone(&self.model);
        let Some(name) = &declaration.model else {
            return Ok((own(), None));
        };
        let found = match &self.options.models {
            Some(models) => models.model(name),
            None => Err("no other model is at hand".to_owned()),
        };
        let model = match found {
            Ok(model) => model,
            Err(problem) if ALIASES.contains(&name.as_str()) => {
                let warning = format!(
                    "the agent {} asks for the model `{name}`, which is not known here ({problem}): it has that of \
                     its parent",
                    declaration.name
                );
                return Ok((own(), Some(warning)));
            }
            Err(problem) => {
                return Err(format!(
                    "The agent {} asks for the model `{name}`: {problem}",
                    declaration.name
                ));
            }
        };
        // What cannot be counted cannot be kept within what there is.
        let is_counted = |model: &dyn Model| model.info().prices.is_some();
        if self.parts.limits.max_cost.is_some() && is_counted(&*self.model) && !is_counted(&*model)
        {
            return Err(format!(
                "The agent {} asks for the model `{name}`, whose prices are not known, and there is a limit of cost.",
                declaration.name
            ));
        }
        Ok((model, None))
    }

    /// The parent's parts, for a subagent: nothing in it is wider.
    fn narrowed(&self, declaration: &AgentDeclaration, model: Arc<dyn Model>) -> Parts {
        let mut parts = (*self.parts).clone();
        let names = self.tools_of(declaration);
        let is_left = |name: &str| names.iter().any(|left| left == name);
        let offered = self.tools.get().into_iter().flatten();
        // Those of the middlewares are made anew, for it.
        parts.tools = offered
            .filter(|tool| {
                let name = tool.spec().name.as_str();
                is_left(name) && !super::is_of_middleware(name)
            })
            .cloned()
            .collect();
        parts.task_list = parts.task_list && is_left(crate::middlewares::TODO_WRITE);
        parts.model = Some(model);
        parts.is_subagent = true;
        parts.system_prompt = SystemPromptSource::Text(declaration.role.to_string());
        parts.appended = vec![RULES.to_owned()];
        parts.thinking = declaration.thinking.unwrap_or(self.thinking);
        parts.limits = limits(&parts.limits, declaration);
        parts.journal = None;
        parts.telemetry = parts
            .telemetry
            .map(|telemetry| telemetry.for_agent(&declaration.name));
        if let Some(skills) = &declaration.skills {
            parts.extensions.push(Arc::new(OnlySkills(skills.clone())));
        }
        // At last: whatever else an extension brings along stays out.
        parts.extensions.push(Arc::new(OnlyTools(names.clone())));
        parts.only_tools = Some(names);
        if let Some(options) = &mut parts.subagents {
            options.max_depth -= 1;
        }
        parts
    }
}

/// The parent's limits, or the declared ones where they are narrower.
fn limits(parent: &Limits, declaration: &AgentDeclaration) -> Limits {
    fn least<T: PartialOrd>(one: Option<T>, other: Option<T>) -> Option<T> {
        match (one, other) {
            (Some(one), Some(other)) => Some(if other < one { other } else { one }),
            (one, other) => one.or(other),
        }
    }
    let mut limits = parent.clone();
    limits.max_turns = limits
        .max_turns
        .min(declaration.max_turns.unwrap_or(u32::MAX));
    limits.max_tokens = least(limits.max_tokens, declaration.max_tokens);
    limits.max_cost = least(limits.max_cost, declaration.max_cost);
    limits.max_time = least(limits.max_time, declaration.timeout);
    // From the bottom up: it must have ended before its parent's patience has.
    limits.cancel_grace = limits.cancel_grace.mul_f64(0.75);
    limits
}

/// Offers no other tools than these, whatever other extensions add.
struct OnlyTools(Vec<String>);

impl Extension for OnlyTools {
    fn name(&self) -> &'static str {
        "subagent"
    }

    fn on_build_tools(&self, mut tools: Vec<ToolRef>) -> ExtensionResult<Vec<ToolRef>> {
        tools.retain(|tool| self.0.contains(&tool.spec().name));
        Ok(tools)
    }

    fn on_build_loop_config(
        &self,
        mut draft: crate::assembly::LoopDraft,
    ) -> ExtensionResult<crate::assembly::LoopDraft> {
        draft
            .tools
            .retain(|tool| self.0.contains(&tool.spec().name));
        Ok(draft)
    }
}

/// Offers no other skills than these.
struct OnlySkills(Vec<String>);

impl Extension for OnlySkills {
    fn name(&self) -> &'static str {
        "subagent"
    }

    fn on_build_skills(&self, mut skills: Vec<Arc<Skill>>) -> ExtensionResult<Vec<Arc<Skill>>> {
        skills.retain(|skill| self.0.contains(&skill.name()));
        Ok(skills)
    }
}
