//! Asks a model for a summary, and takes only one that is whole.

use std::sync::Arc;
use std::time::Duration;

use futures::FutureExt;
use harness_core::{
    AssistantMessage, Message, Model, ModelError, ModelRequest, ModelResult, RetryPolicy,
    RunContext, Spent, StopReason, ThinkingLevel, Usage,
};
use harness_prompt::{Keep, Library, cut_to_tokens};
use harness_telemetry::middleware::ask;

use crate::error::Error;
use crate::extension::Extension;
use crate::loaded_skills::LoadedSkill;
use crate::measure::Measure;
use crate::summary::{Room, SummaryDraft, SummaryKind, SummaryRequest};

/// How often the conversation is halved when the provider says that the request is too long.
const MAX_HALVINGS: u32 = 2;

/// The most time for one request.
const ATTEMPT_TIME: Duration = Duration::from_mins(15);

/// Makes summaries with one model.
#[derive(Clone)]
pub(crate) struct Summariser {
    pub(crate) model: Arc<dyn Model>,
    /// The model's window, or what is taken for it.
    pub(crate) window: u64,
    /// The most tokens of a summary.
    pub(crate) output: u64,
    pub(crate) measure: Measure,
    /// The most requests for one summary.
    pub(crate) attempts: u32,
    pub(crate) retry: RetryPolicy,
    pub(crate) library: Arc<Library>,
    pub(crate) extensions: Vec<Arc<dyn Extension>>,
}

/// A summary.
pub(crate) struct Written {
    pub(crate) text: String,
    pub(crate) skills: Vec<LoadedSkill>,
}

/// What requests for summaries used, also those that led to none.
#[derive(Clone, Copy, Debug, Default)]
pub(crate) struct Bill {
    requests: u32,
    usage: Usage,
    unknown_cost: bool,
    cost: f64,
}

impl Bill {
    pub(crate) fn add(&mut self, other: &Self) {
        self.requests += other.requests;
        self.usage.add(&other.usage);
        self.unknown_cost |= other.unknown_cost;
        self.cost += other.cost;
    }

    /// What a reply cost. One that the provider did not count costs nobody knows what.
    fn take(&mut self, reply: &AssistantMessage, model: &dyn Model) {
        self.requests += 1;
        let info = model.info();
        let prices = info.prices.filter(|_| info.id == reply.model);
        if let Some(usage) = &reply.usage {
            self.usage.add(usage);
        }
        match (prices, &reply.usage) {
            (Some(prices), Some(usage)) => self.cost += prices.cost(usage),
            _ => self.unknown_cost = true,
        }
    }

    /// `None` if no model was asked.
    pub(crate) fn spent(&self, model: &dyn Model) -> Option<Spent> {
        (self.requests > 0).then(|| Spent {
            model: model.info().id.clone(),
            usage: self.usage,
            cost: (!self.unknown_cost).then_some(self.cost),
        })
    }
}

impl Summariser {
    /// Makes a summary: an extension's, or else the model's. What was asked is on the bill, whatever comes
    /// of it.
    pub(crate) async fn write(
        &self,
        cx: &RunContext,
        kind: SummaryKind,
        request: SummaryRequest,
        bill: &mut Bill,
    ) -> Result<Written, Error> {
        let mut request = request;
        // One that was made for a larger window must not take the room of what is new.
        if let Some(previous) = &mut request.previous
            && self.measure.text(previous) > self.window / 4
        {
            let most = (self.window / 4) as usize;
            let marker = |kept, all| format!("[cut: {kept} of {all} bytes]");
            if let Some(cut) = cut_to_tokens(previous, most, Keep::Start, marker) {
                *previous = cut.text;
            }
        }
        let mut output = self.output;
        let mut halved = 0;
        let mut draft = self.draft(kind, &request, output, halved).await?;
        let mut attempt = 0;
        let mut waited = Duration::ZERO;
        loop {
            if let Some(summary) = draft.summary {
                let text = summary.trim().to_owned();
                if text.is_empty() {
                    return Err(failed("the extension gave a blank summary"));
                }
                let skills = draft.skills;
                return Ok(Written { text, skills });
            }
            attempt += 1;
            let problem = match self.ask(cx, &draft.instructions, output).await {
                Ok(reply) => {
                    bill.take(&reply, &*self.model);
                    match sound(&reply) {
                        Ok(text) => {
                            let skills = draft.skills;
                            return Ok(Written { text, skills });
                        }
                        Err(refused) => refused,
                    }
                }
                Err(ModelError::Cancelled) => return Err(Error::Cancelled),
                Err(ModelError::ContextOverflow { .. }) if halved < MAX_HALVINGS => {
                    halved += 1;
                    attempt -= 1;
                    draft = self.draft(kind, &request, output, halved).await?;
                    continue;
                }
                Err(error) => {
                    let retry = RetryPolicy {
                        max_attempts: self.attempts.min(self.retry.max_attempts),
                        ..self.retry.clone()
                    };
                    let Some(delay) = retry.delay(&error, attempt, waited, 0) else {
                        return Err(failed(error));
                    };
                    self.wait(cx, delay).await?;
                    waited = waited.saturating_add(delay);
                    continue;
                }
            };
            if attempt >= self.attempts || problem == Refused::Filtered {
                return Err(failed(problem));
            }
            if problem == Refused::Cut {
                // It may have needed the room to think.
                output = output.saturating_mul(2).min(self.window / 4).max(output);
                draft = self.draft(kind, &request, output, halved).await?;
            }
        }
    }

    async fn draft(
        &self,
        kind: SummaryKind,
        request: &SummaryRequest,
        output: u64,
        halved: u32,
    ) -> Result<SummaryDraft, Error> {
        let room = Room {
            // The provider may count a little more.
            tokens: self.window.saturating_sub(output + self.window / 16),
            halved,
            measure: &self.measure,
        };
        let templates = self.library.templates();
        SummaryDraft::make(
            kind,
            request.clone(),
            templates,
            &self.extensions,
            Some(room),
        )
        .await
    }

    /// One request.
    async fn ask(&self, cx: &RunContext, instructions: &str, output: u64) -> ModelResult {
        if cx.cancellation().is_cancelled() {
            return Err(ModelError::Cancelled);
        }
        let message = Message::user(instructions).into();
        let mut request = ModelRequest::new(Arc::clone(&self.model), vec![message]);
        let cap = self.model.info().max_output_tokens;
        request.max_output_tokens = Some(cap.map_or(output, |cap| output.min(cap)));
        request.thinking = self.model.info().nearest_thinking(ThinkingLevel::Off);
        let token = cx.cancellation().child_token();
        // Whatever way this ends, the client learns of it.
        let _guard = token.clone().drop_guard();
        let asking = ask(cx, request, |request| self.model.complete(request, token));
        futures::pin_mut!(asking);
        let result = futures::select_biased! {
            () = cx.cancellation().cancelled().fuse() => return Err(ModelError::Cancelled),
            result = asking.fuse() => result,
            () = cx.clock().sleep(ATTEMPT_TIME).fuse() => Err(ModelError::Timeout {
                seconds: ATTEMPT_TIME.as_secs(),
            }),
        };
        if cx.cancellation().is_cancelled() {
            return Err(ModelError::Cancelled);
        }
        result
    }

    async fn wait(&self, cx: &RunContext, delay: Duration) -> Result<(), Error> {
        futures::select_biased! {
            () = cx.cancellation().cancelled().fuse() => Err(Error::Cancelled),
            () = cx.clock().sleep(delay).fuse() => Ok(()),
        }
    }
}

impl std::fmt::Debug for Summariser {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.debug_struct("Summariser")
            .field("model", &self.model.info().id)
            .field("window", &self.window)
            .field("output", &self.output)
            .finish_non_exhaustive()
    }
}

fn failed(problem: impl std::fmt::Display) -> Error {
    Error::Summary(problem.to_string())
}

/// Why a reply is not taken for a summary.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
enum Refused {
    #[error("the model's summary was cut off by its output limit")]
    Cut,
    #[error("the model's summary was stopped by the provider's content filter")]
    Filtered,
    #[error("the model stopped for an unknown reason: {0}")]
    Stopped(String),
    #[error("the model asked for tools instead of writing a summary")]
    Calls,
    #[error("the model's summary is empty")]
    Empty,
}

/// The text of a reply that is a whole summary.
fn sound(reply: &AssistantMessage) -> Result<String, Refused> {
    if reply.tool_calls().next().is_some() {
        return Err(Refused::Calls);
    }
    match &reply.stop {
        StopReason::EndTurn => {}
        StopReason::Length => return Err(Refused::Cut),
        StopReason::ContentFilter => return Err(Refused::Filtered),
        other => return Err(Refused::Stopped(other.to_string())),
    }
    let text = reply.text();
    let text = without_thinking(&text).trim();
    if text.is_empty() {
        return Err(Refused::Empty);
    }
    Ok(text.to_owned())
}

/// The text behind thinking that a model without a place for it wrote at the beginning.
fn without_thinking(text: &str) -> &str {
    let inside = text.trim_start().strip_prefix("<think>");
    inside.map_or(text, |inside| {
        inside.split_once("</think>").map_or("", |(_, text)| text)
    })
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn thinking_is_no_part_of_a_summary() {
        for (text, expected) in [
            ("a <think>b</think>", "a <think>b</think>"),
            ("\n<think>x</think>\nsummary", "\nsummary"),
            ("<think>never ended", ""),
        ] {
            assert_eq!(without_thinking(text), expected, "{text}");
        }
    }
}
