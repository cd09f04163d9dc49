//! Which files a conversation read and changed.

use std::collections::BTreeSet;
use std::panic::{AssertUnwindSafe, catch_unwind};
use std::path::Path;

use harness_core::{
    AssistantMessage, Message, MessageRef, RunContext, ToolCall, ToolContext, ToolEffect,
    ToolEffects, ToolOutcome, ToolRef, ToolResults,
};
use serde_json::Value;

use crate::measure::Measure;
use crate::summary_message::{BranchSummaryText, CompactionSummary};

/// Files that were read, and files that were changed. Sorted, each once: what was changed is not among
/// what was read.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub(crate) struct FileLists {
    pub(crate) read: BTreeSet<String>,
    pub(crate) modified: BTreeSet<String>,
}

impl FileLists {
    /// What the calls in these messages did that ended well, as their tools declare it; and what earlier
    /// summaries among them tell. A command may have changed anything: that is not known.
    pub(crate) fn of(messages: &[MessageRef], tools: &[ToolRef], cx: &RunContext) -> Self {
        let mut lists = Self::default();
        let mut asked: Option<&AssistantMessage> = None;
        for message in messages {
            match &**message {
                Message::Assistant(reply) => asked = Some(reply),
                Message::ToolResults(results) => {
                    if let Some(reply) = asked.take() {
                        lists.add_batch(reply, results, tools, cx);
                    }
                }
                Message::User(_) => {
                    if let Some(summary) = CompactionSummary::of(message) {
                        lists.add(summary.read_files, summary.modified_files);
                    } else if let Some(summary) = BranchSummaryText::of(message) {
                        lists.add(summary.read_files, summary.modified_files);
                    }
                }
                _ => {}
            }
        }
        lists.tidy();
        lists
    }

    /// As much of it as so many tokens hold; changed files first, since they matter more.
    pub(crate) fn within(mut self, tokens: u64, measure: &Measure) -> Self {
        let mut left = tokens;
        let mut fits = |path: &String| {
            let needs = measure.text(path) + 1;
            let has_room = needs <= left;
            left = left.saturating_sub(needs);
            has_room
        };
        self.modified.retain(&mut fits);
        self.read.retain(&mut fits);
        self
    }

    fn add(
        &mut self,
        read: impl IntoIterator<Item = String>,
        modified: impl IntoIterator<Item = String>,
    ) {
        self.read.extend(read);
        self.modified.extend(modified);
    }

    fn tidy(&mut self) {
        let modified = &self.modified;
        self.read.retain(|path| !modified.contains(path));
    }

    fn add_batch(
        &mut self,
        reply: &AssistantMessage,
        results: &ToolResults,
        tools: &[ToolRef],
        cx: &RunContext,
    ) {
        for (call, result) in reply.tool_calls().zip(&results.results) {
            if !matches!(*result.outcome, ToolOutcome::Done(_)) {
                continue;
            }
            for effect in &effects(call, tools, cx) {
                match effect {
                    // A folder was looked through; no file of it need have been read.
                    ToolEffect::Read(path) if !path.is_dir() => {
                        self.read.insert(shown(path, cx));
                    }
                    ToolEffect::Write(path) => {
                        self.modified.insert(shown(path, cx));
                    }
                    _ => {}
                }
            }
        }
    }
}

/// What a call did, as its tool declares it. Unknown if the tool is not there any more, or panics.
fn effects(call: &ToolCall, tools: &[ToolRef], cx: &RunContext) -> ToolEffects {
    let tool = tools.iter().find(|tool| tool.spec().name == call.name);
    let arguments: Option<Value> = serde_json::from_str(&call.arguments).ok();
    let (Some(tool), Some(arguments)) = (tool, arguments) else {
        return ToolEffects::unknown();
    };
    let cx = ToolContext::new(cx.clone(), call.id.clone());
    let declare = AssertUnwindSafe(|| tool.effects(&cx, &arguments));
    catch_unwind(declare).unwrap_or_else(|_| ToolEffects::unknown())
}

/// A path within the working folder is told from there.
fn shown(path: &Path, cx: &RunContext) -> String {
    let inside = cx
        .working_dir()
        .and_then(|folder| path.strip_prefix(folder).ok())
        .filter(|inside| !inside.as_os_str().is_empty());
    inside.unwrap_or(path).to_string_lossy().into_owned()
}
