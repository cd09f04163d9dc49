//! What a compaction is made with, in a run and between runs.

use std::sync::Arc;

use harness_core::{
    Compaction, CompactionReason, ContextUse, Message, MessageRef, Model, RetryPolicy, RunContext,
    TokenCounter, ToolRef,
};
use harness_prompt::Library;
use serde_json::json;

use super::cut::{Cut, NoCut, Piece, PieceKind, cut, new_from, tokens_from, unanswered_from};
use super::options::{Bounds, CompactionOptions};
use super::short_results::short_form;
use crate::error::Error;
use crate::extension::Extension;
use crate::file_lists::FileLists;
use crate::loaded_skills::{LoadedSkill, loaded_skills};
use crate::measure::Measure;
use crate::middlewares::{TaskItem, TaskList, pending_errands, restored_tasks};
use crate::summariser::{Bill, Summariser};
use crate::summary::{SummaryKind, SummaryRequest};
use crate::summary_message::{CompactionSummary, subagents_part, tasks_part};

/// The least that a summary may have.
const LEAST_SUMMARY: u64 = 128;

/// The window that is taken for that of a model whose window nobody knows.
pub(crate) const UNKNOWN_WINDOW: u64 = 32_768;

/// The heading of the summary of a task's beginning, behind that of what came before.
const TASK_HEADING: &str = "# The beginning of the task at hand";

/// What a compaction is made with. Cheap to clone.
#[derive(Clone)]
pub(crate) struct Compactor {
    pub(crate) options: CompactionOptions,
    pub(crate) library: Arc<Library>,
    pub(crate) extensions: Vec<Arc<dyn Extension>>,
    pub(crate) tools: Vec<ToolRef>,
    pub(crate) retry: RetryPolicy,
    pub(crate) counter: Option<Arc<dyn TokenCounter>>,
}

/// A compaction that is worth making: what is summarised, and how.
pub(crate) struct Plan {
    pub(crate) cut: Cut,
    /// What is summarised.
    messages: Vec<MessageRef>,
    focus: Option<String>,
    files: FileLists,
    summariser: Summariser,
    window: u64,
    measure: Measure,
}

/// Why there is none.
#[derive(Clone, Copy, Debug, PartialEq, Eq, thiserror::Error)]
pub(crate) enum NoPlan {
    #[error(
        "the system prompt and the tools take about {fixed} tokens of a context window of {window}: a \
         shorter conversation would not make enough room"
    )]
    NoRoom { fixed: u64, window: u64 },
    #[error(
        "what was said last takes so much of the context window that nothing else fits beside it"
    )]
    PromptTooLong,
    #[error("there is nothing in the conversation that a summary could stand for")]
    Nothing,
    #[error("the context window is almost full, and a summary would not make enough room")]
    TooLittle,
}

/// A summary that was written.
pub(crate) struct Made {
    text: String,
    skills: Vec<LoadedSkill>,
    files: FileLists,
    model: Arc<dyn Model>,
    split_turn: bool,
    pub(crate) cut: Cut,
}

impl Compactor {
    pub(crate) fn measure(&self, used: &ContextUse) -> Measure {
        Measure::new(self.counter.clone(), used.tokens_per_byte)
    }

    /// What of a conversation is to be summarised.
    pub(crate) fn plan(
        &self,
        cx: &RunContext,
        history: &[MessageRef],
        used: &ContextUse,
        bounds: &Bounds,
        reason: CompactionReason,
        focus: Option<String>,
    ) -> Result<Plan, NoPlan> {
        let measure = self.measure(used);
        let window = bounds.window;
        let piece = |message: &MessageRef| piece(message, window, &measure);
        let pieces: Vec<Piece> = history.iter().map(piece).collect();
        let files = FileLists::of(history, &self.tools, cx).within(window / 16, &measure);
        let carried = carried(cx, history, &files, window, &measure);
        let fixed = used.fixed_tokens;
        // What the conversation and its summary may have.
        let room = bounds.threshold.saturating_sub(fixed + carried);
        // A summary is measured from its bytes later, on the high side.
        let mut summary = bounds.summary.min(room / 3);
        if summary < LEAST_SUMMARY {
            return Err(NoPlan::NoRoom { fixed, window });
        }
        let most = room - 2 * summary;
        // Not all of it: otherwise the next turn would lead here again.
        let mut keep = bounds.keep.min(most / 2);
        if reason == CompactionReason::Manual {
            let all: u64 = pieces.iter().map(|piece| piece.tokens).sum();
            keep = keep.min(all / 3);
        }
        let found = match cut(&pieces, keep, most) {
            Err(NoCut::TooMuchStays) => {
                // A long prompt takes from the room of the reply and of the summary.
                let stays = tokens_from(&pieces, unanswered_from(&pieces));
                let left = (window - window / 16).saturating_sub(fixed + carried + stays);
                summary = summary.min(left / 3);
                if summary < LEAST_SUMMARY {
                    return Err(NoPlan::PromptTooLong);
                }
                cut(&pieces, stays, stays)
            }
            found => found,
        };
        let found = found.map_err(|_| NoPlan::Nothing)?;
        let new = new_from(&pieces);
        let gone = pieces.get(new..found.at).unwrap_or_default();
        let gone: u64 = gone.iter().map(|piece| piece.tokens).sum();
        if reason == CompactionReason::Threshold && gone < window / 32 && used.tokens < window {
            return Err(NoPlan::TooLittle);
        }
        let messages = history.get(..found.at).unwrap_or_default().to_vec();
        Ok(Plan {
            cut: found,
            files: FileLists::of(&messages, &self.tools, cx).within(window / 16, &measure),
            messages,
            focus,
            summariser: self.summariser(&used.model, window, summary, &measure),
            window,
            measure,
        })
    }

    pub(crate) fn summariser(
        &self,
        model: &Arc<dyn Model>,
        window: u64,
        output: u64,
        measure: &Measure,
    ) -> Summariser {
        let (model, window, measure) = match &self.options.model {
            Some(own) => {
                let window = own.info().context_window.unwrap_or(UNKNOWN_WINDOW);
                let measure = Measure::unknown(self.counter.clone());
                (own, window, measure)
            }
            None => (model, window, measure.clone()),
        };
        Summariser {
            model: Arc::clone(model),
            window,
            output: output.min(window / 4),
            measure,
            attempts: self.options.max_attempts.max(1),
            retry: self.retry.clone(),
            library: Arc::clone(&self.library),
            extensions: self.extensions.clone(),
        }
    }
}

impl Plan {
    /// Writes the summary.
    pub(crate) async fn write(self, cx: &RunContext, bill: &mut Bill) -> Result<Made, Error> {
        let task = self.cut.task;
        let split = task.unwrap_or(self.messages.len());
        let (before, beginning) = self.messages.split_at(split);
        let earlier = before
            .first()
            .and_then(|first| CompactionSummary::of(first));
        let new = before.get(usize::from(earlier.is_some())..);
        let (previous, earlier) = match earlier {
            Some(summary) => (Some(summary.text), summary.skills),
            None => (None, Vec::new()),
        };
        let request = SummaryRequest {
            messages: new.unwrap_or_default().to_vec(),
            focus: self.focus.clone(),
            previous,
            read_files: self.files.read.iter().cloned().collect(),
            changed_files: self.files.modified.iter().cloned().collect(),
            split_turn: false,
        };
        let summariser = &self.summariser;
        let kind = SummaryKind::Compaction;
        let mut written = summariser.write(cx, kind, request, bill).await?;
        if task.is_some() {
            let request = SummaryRequest {
                messages: beginning.to_vec(),
                focus: self.focus,
                split_turn: true,
                ..SummaryRequest::default()
            };
            let half = Summariser {
                output: (summariser.output / 2).max(LEAST_SUMMARY),
                ..summariser.clone()
            };
            let task = half.write(cx, kind, request, bill).await?;
            written.text = format!("{}\n\n{TASK_HEADING}\n\n{}", written.text, task.text);
            written.skills.extend(task.skills);
        }
        let skills = each_once(earlier.into_iter().chain(written.skills));
        Ok(Made {
            text: written.text,
            skills: skills_within(skills, self.window, &self.measure),
            files: self.files,
            model: Arc::clone(&summariser.model),
            split_turn: task.is_some(),
            cut: self.cut,
        })
    }

    /// What is summarised.
    pub(crate) fn messages(&self) -> &[MessageRef] {
        &self.messages
    }
}

impl Made {
    /// The compaction of a conversation that still begins with what was summarised.
    pub(crate) fn compaction(
        mut self,
        cx: &RunContext,
        history: &[MessageRef],
        reason: CompactionReason,
        bill: &Bill,
    ) -> Compaction {
        let tasks = tasks(cx, history);
        // What was loaded again since is in the conversation anyway.
        let again = loaded_skills(history.get(self.cut.at..).unwrap_or_default());
        self.skills.retain(|skill| !again.contains(skill));
        let errands = pending_errands(history);
        let message =
            CompactionSummary::message(&self.text, &self.files, &self.skills, &tasks, &errands);
        let kept = history.len().saturating_sub(self.cut.at);
        let is_open = tasks_part(&tasks).is_some();
        let details = json!({
            "read_files": self.files.read,
            "modified_files": self.files.modified,
            "tasks": if is_open { tasks } else { Vec::new() },
            "model": self.model.info().id.to_string(),
            "split_turn": self.split_turn,
            "summarised": self.cut.at,
        });
        let compaction = Compaction::new(vec![message.into()], kept, reason).with_details(details);
        match bill.spent(&*self.model) {
            Some(spent) => compaction.with_spent(spent),
            None => compaction,
        }
    }
}

/// About what goes along with a summary, in tokens.
fn carried(
    cx: &RunContext,
    history: &[MessageRef],
    files: &FileLists,
    window: u64,
    measure: &Measure,
) -> u64 {
    /// The sentences and elements around it all.
    const AROUND: u64 = 192;
    let paths: u64 = files
        .read
        .iter()
        .chain(&files.modified)
        .map(|path| measure.text(path) + 1)
        .sum();
    let skills: u64 = skills_within(loaded_skills(history), window, measure)
        .iter()
        .map(|skill| measure.text(&skill.text))
        .sum();
    let tasks = tasks_part(&tasks(cx, history)).map_or(0, |text| measure.text(&text));
    let lead = CompactionSummary::message("", &FileLists::default(), &[], &[], &[]);
    let lead = measure.message(&lead).min(AROUND);
    let errands = subagents_part(&pending_errands(history));
    let errands = errands.map_or(0, |text| measure.text(&text));
    lead + paths + skills + tasks + errands
}

/// The newest tasks: the session's list, or what the conversation tells of it.
fn tasks(cx: &RunContext, history: &[MessageRef]) -> Vec<TaskItem> {
    match cx.attributes().get::<TaskList>() {
        Some(list) => list.items(),
        None => restored_tasks(history),
    }
}

fn piece(message: &MessageRef, window: u64, measure: &Measure) -> Piece {
    let kind = match &**message {
        Message::User(_) if CompactionSummary::of(message).is_some() => PieceKind::Summary,
        Message::User(_) => PieceKind::User,
        Message::Assistant(_) => PieceKind::Reply,
        _ => PieceKind::Results,
    };
    // As it is shown.
    let short = short_form(message, window);
    let tokens = measure.message(short.as_ref().unwrap_or(message));
    Piece { kind, tokens }
}

fn each_once(skills: impl IntoIterator<Item = LoadedSkill>) -> Vec<LoadedSkill> {
    let mut once: Vec<LoadedSkill> = Vec::new();
    for skill in skills {
        let is_it =
            |known: &&mut LoadedSkill| known.name == skill.name && known.location == skill.location;
        match once.iter_mut().find(is_it) {
            Some(known) => *known = skill,
            None => once.push(skill),
        }
    }
    once
}

/// The skills that a quarter of the window holds, those that were loaded last first.
fn skills_within(skills: Vec<LoadedSkill>, window: u64, measure: &Measure) -> Vec<LoadedSkill> {
    let mut left = window / 4;
    let mut kept: Vec<LoadedSkill> = Vec::new();
    for skill in skills.into_iter().rev() {
        let needs = measure.text(&skill.text);
        if needs <= left {
            left -= needs;
            kept.push(skill);
        }
    }
    kept.reverse();
    kept
}
