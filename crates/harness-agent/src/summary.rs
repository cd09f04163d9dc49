//! How a conversation is summarised, before a model is asked for it.

use std::panic::AssertUnwindSafe;
use std::sync::Arc;

use futures::FutureExt;
use harness_core::MessageRef;
use harness_prompt::Templates;
use serde_json::json;

use crate::error::Error;
use crate::extension::{Extension, ExtensionResult, failed, panic_text};
use crate::loaded_skills::{LoadedSkill, loaded_skills};
use crate::measure::Measure;
use crate::transcript::{transcript, transcript_within};

/// The least that a conversation is worth writing down in, in tokens.
const LEAST_ROOM: u64 = 96;

/// What a summary is for.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
#[non_exhaustive]
pub enum SummaryKind {
    /// The conversation became too long: the summary takes the place of its beginning.
    Compaction,
    /// The conversation goes on elsewhere: the summary says what was done on the branch that is left.
    Branch,
}

/// What is summarised.
#[derive(Clone, Debug, Default)]
pub struct SummaryRequest {
    /// The messages.
    pub messages: Vec<MessageRef>,
    /// What the summary should look at most, in the user's words.
    pub focus: Option<String>,
    /// The summary that an earlier compaction made, which this one goes on from.
    pub previous: Option<String>,
    /// Paths of files that were read in it.
    pub read_files: Vec<String>,
    /// Paths of files that were changed in it.
    pub changed_files: Vec<String>,
    /// Whether the messages are the beginning of the task at hand, whose later part stays as it is. Such a
    /// beginning has a summary of its own, behind that of what came before the task.
    pub split_turn: bool,
}

/// How long the instructions of a summary may be.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Room<'m> {
    /// The most tokens of all.
    pub(crate) tokens: u64,
    /// How often the part of it that is the conversation is halved: the provider counts otherwise.
    pub(crate) halved: u32,
    pub(crate) measure: &'m Measure,
}

/// A summary on its way, as extensions see it.
#[derive(Clone, Debug)]
#[non_exhaustive]
pub struct SummaryDraft {
    /// What it is for.
    pub kind: SummaryKind,
    /// What is summarised.
    pub request: SummaryRequest,
    /// What a model is asked to do: the template `compact-summary`, `compact-turn-summary` or
    /// `branch-summary`, rendered.
    pub instructions: String,
    /// The summary, if an extension gives it; then no model need be asked.
    pub summary: Option<String>,
    /// The skills that were loaded. Their texts go on behind the summary as they are: the model is in the
    /// middle of following them.
    pub skills: Vec<LoadedSkill>,
}

impl SummaryDraft {
    /// Renders the template, and passes the draft through the extensions.
    pub(crate) async fn make(
        kind: SummaryKind,
        request: SummaryRequest,
        templates: &Templates,
        extensions: &[Arc<dyn Extension>],
        room: Option<Room<'_>>,
    ) -> Result<Self, Error> {
        let mut draft = Self {
            kind,
            instructions: instructions(kind, &request, templates, room)?,
            skills: loaded_skills(&request.messages),
            request,
            summary: None,
        };
        for extension in extensions {
            let hook = AssertUnwindSafe(kind.hook(&**extension, draft)).catch_unwind();
            draft = match hook.await {
                Ok(Ok(draft)) => draft,
                Ok(Err(error)) => {
                    return Err(failed(&**extension, kind.hook_name(), error.to_string()));
                }
                Err(panic) => {
                    let message = format!("it panicked: {}", panic_text(&*panic));
                    return Err(failed(&**extension, kind.hook_name(), message));
                }
            };
        }
        Ok(draft)
    }
}

/// What a model is asked to do.
fn instructions(
    kind: SummaryKind,
    request: &SummaryRequest,
    templates: &Templates,
    room: Option<Room<'_>>,
) -> Result<String, Error> {
    let render = |conversation: &str| {
        let values = json!({
            "conversation": conversation,
            "focus": request.focus,
            "previous_summary": request.previous,
            "read_files": request.read_files,
            "changed_files": request.changed_files,
        });
        let template = kind.template(request.split_turn);
        Ok::<_, Error>(templates.render(template, &values)?)
    };
    let Some(room) = room else {
        return render(&transcript(&request.messages));
    };
    let around = room.measure.text(&render("")?);
    let left = room.tokens.saturating_sub(around) >> room.halved;
    if left < LEAST_ROOM {
        let message = "the context window has no room for the conversation beside what is asked";
        return Err(Error::Summary(message.to_owned()));
    }
    render(&transcript_within(&request.messages, left, room.measure))
}

impl SummaryKind {
    fn template(self, split_turn: bool) -> &'static str {
        match self {
            Self::Compaction if split_turn => "compact-turn-summary",
            Self::Compaction => "compact-summary",
            Self::Branch => "branch-summary",
        }
    }

    fn hook_name(self) -> &'static str {
        match self {
            Self::Compaction => "on_compaction",
            Self::Branch => "on_branch_summary",
        }
    }

    async fn hook(
        self,
        extension: &dyn Extension,
        draft: SummaryDraft,
    ) -> ExtensionResult<SummaryDraft> {
        match self {
            Self::Compaction => extension.on_compaction(draft).await,
            Self::Branch => extension.on_branch_summary(draft).await,
        }
    }
}
