//! Tells the model which skills there are, and gives it those that it asks for.

mod load_skill;

#[cfg(feature = "tools")]
use std::path::PathBuf;
use std::sync::{Arc, Mutex, PoisonError};

use harness_core::{
    Event, FailurePolicy, HookSet, MessageRef, Middleware, MiddlewareError, NextAgent, RunContext,
    RunInput, RunOutcome, SystemPrompt, Text, ToolRef, UserMessage, UserPart, async_trait,
};
use harness_prompt::{Library, Section};
#[cfg(feature = "tools")]
use harness_skills::Status;
use harness_skills::{Catalogue, FormatOptions, FormattedSkills, Skills, format_skills};
use serde_json::json;

use self::load_skill::LoadSkill;
use crate::error::Error;
use crate::loaded_skills::{self, LOAD_SKILL, Loaded};
use crate::skill_command::SkillCommand;
use crate::skill_span::SkillSpan;
use crate::skill_view::SkillView;
use crate::system_prompt::fallback_warning;

/// The name of the section that [`SkillsMiddleware`] adds.
pub const SKILLS_SECTION: &str = "skills";

/// When the prompt is too large, skills give way before instructions and memory do.
const RANK: u8 = 130;

/// The least that the list of skills may take, in characters, and its part of a context window of which a
/// token is taken for four characters: 2 in 100.
const LEAST_CHARS: usize = 8_000;
const CHARS_FOR_TOKENS: (u64, u64) = (4 * 2, 100);

/// Gives an agent [skills](harness_skills).
///
/// - The section `skills` of the system prompt lists name, description and place of each that is for
///   models. They are looked for before every turn, so a skill that is added or edited counts from the next
///   turn on; while nothing changes, that costs a `stat` for each, and the section stays the same to the
///   byte. Like the files of the workspace, they are read where the run is polled.
/// - The tool `load_skill` gives the model the instructions of one, and text files of its folder. What
///   the conversation has already is not repeated, unless it changed. It is not on offer by itself: add
///   [`tools`](Self::tools) to the agent's.
/// - `/skill:name arguments` at the beginning of a prompt puts the instructions there, with the arguments
///   behind them. What is said while a run goes on is not looked at.
/// - Where reading is confined, a session may read the folders of the skills that the model may load, and of
///   those that were called up.
///
/// What is loaded stays when old results [give way](super::ToolResultEvictionMiddleware), and
/// [`loaded_skills`] finds it again for a compaction. Nothing in a skill is run, and its `allowed-tools` allow
/// nothing.
///
/// [`loaded_skills`]: crate::loaded_skills()
pub struct SkillsMiddleware {
    view: Arc<SkillView>,
    library: Arc<Library>,
    format: FormatOptions,
    access: SkillAccess,
    told: Mutex<Option<Told>>,
}

/// How the model comes by a skill.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum SkillAccess {
    /// By the tool `load_skill`.
    Tool,
    /// By reading its file with another tool.
    File,
    /// Not at all, so it is told of none.
    None,
}

/// What the model is told, and what that was made from.
#[derive(Clone)]
struct Told {
    catalogue: Arc<Catalogue>,
    section: Option<Section>,
    /// The folders of the skills that a model may load.
    #[cfg(feature = "tools")]
    folders: Arc<[PathBuf]>,
    warnings: Vec<String>,
}

/// What a run was warned of. In the attributes of its caller.
#[derive(Debug, Default)]
struct Warned(Mutex<std::collections::BTreeSet<String>>);

impl SkillsMiddleware {
    /// With these skills, the wording of a library, and 8,000 characters for their list.
    pub fn new(skills: Skills, library: Arc<Library>) -> Result<Self, Error> {
        let view = Arc::new(SkillView::new(skills, Vec::new())?);
        Ok(Self::of(view, library))
    }

    pub(crate) fn of(view: Arc<SkillView>, library: Arc<Library>) -> Self {
        Self {
            view,
            library,
            format: FormatOptions::default().with_budget(LEAST_CHARS),
            access: SkillAccess::Tool,
            told: Mutex::default(),
        }
    }

    /// Lists the skills in another format, or under another budget.
    pub fn with_format(mut self, format: FormatOptions) -> Self {
        self.format = format;
        self
    }

    /// Gives the list its part of a context window of so many tokens: 2 %, and 8,000 characters at least.
    pub(crate) fn for_context_window(mut self, tokens: Option<u64>) -> Self {
        let (part, whole) = CHARS_FOR_TOKENS;
        let part = tokens.unwrap_or_default().saturating_mul(part) / whole;
        let chars = usize::try_from(part).unwrap_or(usize::MAX).max(LEAST_CHARS);
        self.format = self.format.with_budget(chars);
        self
    }

    pub(crate) fn with_access(mut self, access: SkillAccess) -> Self {
        self.access = access;
        self
    }

    /// Its tool: `load_skill`.
    pub fn tools(&self) -> Vec<ToolRef> {
        tools(&self.view)
    }

    /// What the model is told, made anew if the skills changed.
    fn told(&self) -> Result<Told, MiddlewareError> {
        let (catalogue, problem) = match self.view.refresh() {
            Ok(catalogue) => (catalogue, None),
            Err(error) => (self.view.catalogue(), Some(error.to_string())),
        };
        let mut told = self.told.lock().unwrap_or_else(PoisonError::into_inner);
        let mut current = match &*told {
            Some(told) if Arc::ptr_eq(&told.catalogue, &catalogue) => told.clone(),
            _ => {
                let new = self.tell(catalogue)?;
                told.insert(new).clone()
            }
        };
        current.warnings.extend(problem);
        Ok(current)
    }

    fn tell(&self, catalogue: Arc<Catalogue>) -> Result<Told, MiddlewareError> {
        let (hint, tool) = match self.access {
            SkillAccess::Tool => (
                "If none of these fits, load_skill finds them by a part of their name.",
                LOAD_SKILL,
            ),
            SkillAccess::File | SkillAccess::None => ("They are in the same folders as these.", ""),
        };
        let options = self.format.clone().with_hint(hint);
        let skills = catalogue.for_models().map(|skill| &**skill);
        let skills = skills.filter(|_| self.access != SkillAccess::None);
        let formatted = format_skills(skills, &options);
        let mut warnings: Vec<String> = shortage(&formatted).into_iter().collect();
        let (section, error) = if formatted.text.is_empty() {
            // A template is parsed when it is first used, and most projects have no skills.
            (None, None)
        } else {
            let values = json!({ "block": formatted.text, "tool": tool });
            self.library.section(SKILLS_SECTION, &values)?
        };
        warnings.extend(error.as_ref().map(fallback_warning));
        Ok(Told {
            #[cfg(feature = "tools")]
            folders: folders(&catalogue),
            catalogue,
            section: section.map(|section| section.with_rank(RANK)),
            warnings,
        })
    }

    /// Puts the instructions of a skill in the place of its command.
    fn expand(&self, cx: &RunContext, message: &mut UserMessage) {
        let Some(UserPart::Text(Text { text })) = message.content.first_mut() else {
            return;
        };
        // A subagent's task was written by a model, and is no command.
        let command = SkillCommand::parse(text).filter(|_| cx.parent().is_none());
        let Some(command) = command else {
            // Only what is put here counts as a skill, whoever else writes that it is one.
            if loaded_skills::looks_called_up(text) {
                text.insert(0, '\n');
            }
            return;
        };
        let view = &self.view;
        let activation = match view.refresh() {
            Ok(catalogue) => command.load(&catalogue, view.skills().limits()),
            Err(error) => Err(error.to_string()),
        };
        match activation {
            Ok(activation) => {
                SkillSpan::start(&activation.skill.name(), "user").loaded(&activation, false);
                Loaded::of(cx).call_up(activation.skill.directory());
                *text = command.text(&activation);
            }
            Err(message) => {
                let name = command.name;
                let message = format!("/skill:{name} is taken as it is: {message}");
                cx.emit(Event::Warning { message });
            }
        }
    }
}

/// The folders of the skills that a model may load, also of those that are shadowed.
#[cfg(feature = "tools")]
fn folders(catalogue: &Catalogue) -> Arc<[PathBuf]> {
    let usable = catalogue.entries().iter().filter(|entry| {
        matches!(entry.status, Status::Active | Status::Shadowed { .. })
            && entry.skill.is_for_models()
    });
    let folders = usable.filter_map(|entry| entry.skill.directory());
    folders.map(Into::into).collect()
}

/// The tools for skills.
pub(crate) fn tools(view: &Arc<SkillView>) -> Vec<ToolRef> {
    vec![ToolRef::new(LoadSkill::new(Arc::clone(view)))]
}

/// What had no room in the list, for people.
fn shortage(formatted: &FormattedSkills) -> Option<String> {
    let of = |names: &[String], what: &str| {
        let count = names.len();
        (count > 0).then(|| format!("{count} {what} ({})", some_of(names)))
    };
    let omitted = of(&formatted.omitted, "are not listed to the model at all");
    let bare = of(
        &formatted.names_only,
        "are listed without their description",
    );
    let parts: Vec<String> = [omitted, bare].into_iter().flatten().collect();
    (!parts.is_empty()).then(|| format!("too many skills for their list: {}", parts.join("; ")))
}

/// A few names, and how many there are beside them.
fn some_of(names: &[String]) -> String {
    const SHOWN: usize = 5;
    let shown = names.iter().take(SHOWN).cloned().collect::<Vec<_>>();
    match names.len().saturating_sub(SHOWN) {
        0 => shown.join(", "),
        more => format!("{} and {more} more", shown.join(", ")),
    }
}

#[async_trait]
impl Middleware for SkillsMiddleware {
    fn name(&self) -> &'static str {
        "skills"
    }

    fn hooks(&self) -> HookSet {
        HookSet::SYSTEM_PROMPT | HookSet::CONTEXT | HookSet::AGENT
    }

    /// Without them the agent knows less, and nothing wrong.
    fn on_failure(&self) -> FailurePolicy {
        FailurePolicy::FailOpen
    }

    async fn on_agent(
        &self,
        cx: &RunContext,
        mut input: RunInput,
        next: NextAgent<'_>,
    ) -> RunOutcome {
        for message in &mut input.messages {
            self.expand(cx, message);
        }
        next.run(cx, input).await
    }

    async fn on_system_prompt(
        &self,
        cx: &RunContext,
        prompt: SystemPrompt,
    ) -> Result<SystemPrompt, MiddlewareError> {
        let told = self.told()?;
        #[cfg(feature = "tools")]
        Loaded::of(cx).let_read(cx, told.folders);
        if !told.warnings.is_empty() {
            let warned = cx.attributes().get_or_insert_with(Warned::default);
            let mut warned = warned.0.lock().unwrap_or_else(PoisonError::into_inner);
            for message in told.warnings {
                if warned.insert(message.clone()) {
                    cx.emit(Event::Warning { message });
                }
            }
        }
        Ok(match told.section {
            Some(section) => prompt.with(section),
            None => prompt,
        })
    }

    async fn on_context(
        &self,
        cx: &RunContext,
        messages: Vec<MessageRef>,
    ) -> Result<Vec<MessageRef>, MiddlewareError> {
        Loaded::of(cx).look_at(&messages);
        Ok(messages)
    }
}

impl std::fmt::Debug for SkillsMiddleware {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.debug_struct("SkillsMiddleware")
            .field("view", &self.view)
            .field("access", &self.access)
            .finish_non_exhaustive()
    }
}
