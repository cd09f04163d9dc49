//! What is worth knowing of a branch of a conversation that is left.

use harness_core::{LoopConfig, Message, MessageRef, RunContext, Spent, UserPart};
use serde_json::{Value, json};

use crate::compaction_span::CompactionSpan;
use crate::error::Error;
use crate::file_lists::FileLists;
use crate::harness::AgentHarness;
use crate::measure::Measure;
use crate::middlewares::{Bounds, UNKNOWN_WINDOW};
use crate::summariser::Bill;
use crate::summary::{SummaryKind, SummaryRequest};
use crate::summary_message::BranchSummaryText;

/// A summary of a branch that is left, for the conversation that goes on elsewhere.
#[derive(Clone, Debug, PartialEq)]
#[non_exhaustive]
pub struct BranchSummary {
    /// What to put where the conversation goes on, of the user's side; see [`BranchSummaryText::of`].
    pub message: MessageRef,
    /// Facts for programs: `{"read_files": […], "modified_files": […], "model": …, "summarised": …}`.
    pub details: Value,
    /// What it cost; `None` if no model was asked.
    pub spent: Option<Spent>,
}

impl AgentHarness {
    /// Summarises a branch of a conversation that is left for another one: its messages since the point
    /// where the conversation goes on, oldest first. `None` if nothing was said on it.
    ///
    /// `config` is that of the session, and its model is asked, unless the
    /// [options](crate::middlewares::CompactionOptions::model) name another. Ends with [`Error::Cancelled`]
    /// when the context's cancellation fires.
    pub async fn summarise_branch(
        &self,
        cx: &RunContext,
        config: &LoopConfig,
        messages: &[MessageRef],
        focus: Option<&str>,
    ) -> Result<Option<BranchSummary>, Error> {
        if !messages.iter().any(|message| says_something(message)) {
            return Ok(None);
        }
        let compactor = self.compactor(config);
        let model = config.model();
        let window = model.info().context_window.unwrap_or(UNKNOWN_WINDOW);
        let measure = Measure::unknown(compactor.counter.clone());
        let bounds = Bounds::of(&compactor.options, window);
        let files = FileLists::of(messages, &compactor.tools, cx).within(window / 16, &measure);
        let request = SummaryRequest {
            messages: messages.to_vec(),
            focus: focus.map(str::to_owned),
            read_files: files.read.iter().cloned().collect(),
            changed_files: files.modified.iter().cloned().collect(),
            ..SummaryRequest::default()
        };
        let summariser = compactor.summariser(model, window, bounds.summary, &measure);
        let mut bill = Bill::default();
        let kind = SummaryKind::Branch;
        let span = CompactionSpan {
            reason: "branch",
            tokens: None,
            messages: messages.len(),
            background: None,
        };
        let writing = summariser.write(cx, kind, request, &mut bill);
        let written = span.around(writing).await?;
        Ok(Some(BranchSummary {
            message: BranchSummaryText::message(&written.text, &files).into(),
            details: json!({
                "read_files": files.read,
                "modified_files": files.modified,
                "model": summariser.model.info().id.to_string(),
                "summarised": messages.len(),
            }),
            spent: bill.spent(&*summariser.model),
        }))
    }
}

/// Whether there is text of the user or of the model in a message.
fn says_something(message: &Message) -> bool {
    match message {
        Message::User(user) => user
            .content
            .iter()
            .any(|part| matches!(part, UserPart::Text(text) if !text.text.trim().is_empty())),
        Message::Assistant(reply) => !reply.text().trim().is_empty(),
        _ => false,
    }
}
