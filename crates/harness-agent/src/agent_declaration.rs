//! What an agent is that others hand work to.

use std::sync::Arc;
use std::time::Duration;

use harness_core::ThinkingLevel;
use harness_skills::{Activation, ActivationError, Digest, Limits, Severity, Skill};

use crate::agent_view::AgentLookupError;
use crate::declared_fields::DeclaredFields;

/// The layer of what a program declares itself.
const PROGRAM: &str = "program";

/// What an agent is that others hand work to: declared in a Markdown file, or by a program.
///
/// It says what the agent wants, and grants nothing: whoever starts it narrows all of this to what it may do itself.
///
/// ```
/// use std::time::Duration;
///
/// use harness_agent::AgentDeclaration;
///
/// let reviewer = AgentDeclaration::new("reviewer", "Reviews a change.", "You review changes.")
///     .tools(["read", "grep"])
///     .max_turns(20)
///     .timeout(Duration::from_secs(600));
/// assert!(reviewer.allows("read") && !reviewer.allows("bash"));
/// ```
#[derive(Clone, Debug, PartialEq)]
#[non_exhaustive]
pub struct AgentDeclaration {
    /// What it is called.
    pub name: String,
    /// What it is for: what a model chooses it by.
    pub description: String,
    /// What it is told before its task: its system prompt.
    pub role: Arc<str>,
    /// The tools that it wants, by our names, in their order. `None`: all that its parent has. Ask
    /// [`allows`](Self::allows), which also knows [`disallowed_tools`](Self::disallowed_tools).
    pub tools: Option<Vec<String>>,
    /// The tools that it may not have, whatever `tools` says.
    pub disallowed_tools: Vec<String>,
    /// Its model, as its author writes it: an id, or another program's short name for one. `None`: its parent's.
    pub model: Option<String>,
    /// How much it thinks. `None`: as much as its parent.
    pub thinking: Option<ThinkingLevel>,
    /// The skills that it is offered. `None`: all that its parent has.
    pub skills: Option<Vec<String>>,
    /// The most turns, at least 1.
    pub max_turns: Option<u32>,
    /// The most tokens, sent and received, at least 1.
    pub max_tokens: Option<u64>,
    /// The most that it may cost, in US dollars, more than 0.
    pub max_cost: Option<f64>,
    /// The most time, more than 0.
    pub timeout: Option<Duration>,
    /// Where it works.
    pub isolation: Isolation,
    /// The layer that it comes from: `project`, `user`, `built-in`; `program` if it was declared by code.
    pub layer: String,
    /// Where it is declared, in words: the path of its file, or `built-in:NAME`.
    pub location: String,
    /// What tells it from another one of the same name: that of its file, or of what a program declared.
    pub digest: Digest,
}

/// Where an agent works.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Hash)]
#[non_exhaustive]
pub enum Isolation {
    /// Where its parent works: `none`.
    #[default]
    None,
    /// In a git worktree of its own: `worktree`.
    Worktree,
}

impl Isolation {
    /// All kinds.
    pub const ALL: [Self; 2] = [Self::None, Self::Worktree];

    /// Its word: `none`, `worktree`.
    pub fn as_str(self) -> &'static str {
        match self {
            Self::None => "none",
            Self::Worktree => "worktree",
        }
    }
}

impl AgentDeclaration {
    /// One that a program declares: its name, what it is for, and what it is told. It wants all that its parent
    /// has, until the other functions narrow it.
    pub fn new(
        name: impl Into<String>,
        description: impl Into<String>,
        role: impl Into<Arc<str>>,
    ) -> Self {
        let name = name.into();
        let new = Self {
            location: format!("{PROGRAM}:{name}"),
            name,
            description: description.into(),
            role: role.into(),
            tools: None,
            disallowed_tools: Vec::new(),
            model: None,
            thinking: None,
            skills: None,
            max_turns: None,
            max_tokens: None,
            max_cost: None,
            timeout: None,
            isolation: Isolation::None,
            layer: PROGRAM.to_owned(),
            digest: Digest::of(b""),
        };
        new.sealed()
    }

    /// With these tools only, by our names; none of them: no tools.
    pub fn tools(mut self, tools: impl IntoIterator<Item = impl Into<String>>) -> Self {
        self.tools = Some(tools.into_iter().map(Into::into).collect());
        self.sealed()
    }

    /// Without these tools.
    pub fn disallowed_tools(mut self, tools: impl IntoIterator<Item = impl Into<String>>) -> Self {
        self.disallowed_tools = tools.into_iter().map(Into::into).collect();
        self.sealed()
    }

    /// With another model than its parent's.
    pub fn model(mut self, model: impl Into<String>) -> Self {
        self.model = Some(model.into());
        self.sealed()
    }

    /// With another level of thinking than its parent's.
    pub fn thinking(mut self, thinking: ThinkingLevel) -> Self {
        self.thinking = Some(thinking);
        self.sealed()
    }

    /// With these skills only.
    pub fn skills(mut self, skills: impl IntoIterator<Item = impl Into<String>>) -> Self {
        self.skills = Some(skills.into_iter().map(Into::into).collect());
        self.sealed()
    }

    /// With at most so many turns; 0 counts as 1.
    pub fn max_turns(mut self, turns: u32) -> Self {
        self.max_turns = Some(turns.max(1));
        self.sealed()
    }

    /// With at most so many tokens, sent and received; 0 counts as 1.
    pub fn max_tokens(mut self, tokens: u64) -> Self {
        self.max_tokens = Some(tokens.max(1));
        self.sealed()
    }

    /// With at most this cost, in US dollars.
    pub fn max_cost(mut self, dollars: f64) -> Self {
        self.max_cost = Some(dollars);
        self.sealed()
    }

    /// With at most this time.
    pub fn timeout(mut self, timeout: Duration) -> Self {
        self.timeout = Some(timeout);
        self.sealed()
    }

    /// Working elsewhere than its parent.
    pub fn isolation(mut self, isolation: Isolation) -> Self {
        self.isolation = isolation;
        self.sealed()
    }

    /// Whether it wants a tool of its parent, by our name.
    pub fn allows(&self, tool: &str) -> bool {
        let is = |name: &String| name == tool;
        let is_named = self.tools.as_ref().is_none_or(|tools| tools.iter().any(is));
        is_named && !self.disallowed_tools.iter().any(is)
    }

    /// Reads the declaration of a [catalogue](harness_skills::Catalogue) of
    /// [agents](harness_skills::Form::Agents), whether it is active there or not. Blocks for as long as its file
    /// takes to be read, afresh: an error is what has become of it since it was listed.
    pub fn read(skill: &Arc<Skill>, limits: &Limits) -> Result<Self, AgentLookupError> {
        let invalid = |problem: String| AgentLookupError::Invalid {
            name: skill.name(),
            location: skill.location_text(),
            problem,
        };
        let activation = Activation::of(skill, limits).map_err(|error| match error {
            ActivationError::Invalid { problem, .. } => invalid(problem),
            ActivationError::Removed { .. } => invalid("its file is gone".to_owned()),
            error => invalid(error.to_string()),
        })?;
        let (fields, told) = DeclaredFields::read(&activation.skill.fields);
        if let Some(error) = told.iter().find(|it| it.severity == Severity::Error) {
            return Err(invalid(error.message.clone()));
        }
        let digest = activation.digest();
        Ok(Self {
            name: skill.name(),
            description: activation.skill.description().to_owned(),
            role: activation.instructions.into(),
            tools: fields.tools,
            disallowed_tools: fields.disallowed_tools,
            model: fields.model,
            thinking: fields.thinking,
            skills: fields.skills,
            max_turns: fields.max_turns,
            max_tokens: fields.max_tokens,
            max_cost: fields.max_cost,
            timeout: fields.timeout,
            isolation: fields.isolation,
            layer: skill.layer.name().to_owned(),
            location: skill.location_text(),
            digest,
        })
    }

    /// With a digest of what it says by now.
    fn sealed(mut self) -> Self {
        self.digest = Digest::of(b"");
        let text = format!("{self:?}");
        self.digest = Digest::of(text.as_bytes());
        self
    }
}
