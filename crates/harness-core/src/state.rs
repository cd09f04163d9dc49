//! What changes from turn to turn.

use std::collections::HashSet;
use std::sync::Arc;

use harness_prompt::{Fitted, SystemPrompt};

use crate::compaction::{Compaction, ContextUse};
use crate::config::{LoopConfig, ToolSet};
use crate::context::RunContext;
use crate::error::Error;
use crate::event::{Event, PromptReport};
use crate::limits::Limits;
use crate::message::{AssistantMessage, AssistantPart, Message, MessageRef};
use crate::model::{Model, ThinkingLevel};
use crate::outcome::{RunOutcome, RunStatus};
use crate::repetition::Repetition;
use crate::reply::{make_unique, tidy};
use crate::spending::Expense;
use crate::token_count::{LEAST_TOKENS_PER_BYTE, TokenCounter, UNKNOWN_TOKENS_PER_BYTE};
use crate::usage::Usage;

/// The conversation and the counts of one pass of a run.
pub(crate) struct State {
    pub(crate) messages: Arc<Vec<MessageRef>>,
    before: usize,
    /// Estimated bytes of all messages.
    pub(crate) bytes: usize,
    call_ids: HashSet<String>,
    pub(crate) usage: Usage,
    pub(crate) cost: Option<f64>,
    pub(crate) turns: u32,
    /// Turns of the runs that were started within this one. What they used is in the sums above.
    turns_of_others: u32,
    pub(crate) compactions: u32,
    pub(crate) cut_replies: u32,
    pub(crate) model: Arc<dyn Model>,
    pub(crate) tools: ToolSet,
    pub(crate) thinking: ThinkingLevel,
    /// The system prompt of the last turn.
    system: Option<Sent>,
    /// Estimated bytes of the last request, and the part of them that is not the conversation.
    asked_bytes: usize,
    fixed_bytes: usize,
    tokens_per_byte: f64,
    /// What the provider counted of the last request that it answered.
    counted: Option<Counted>,
    /// Whether somebody was told that a limit cannot be kept.
    warned: bool,
    /// Whether queued messages were delivered at the end of the last turn.
    pub(crate) delivered: bool,
    pub(crate) repetition: Repetition,
}

/// What a provider counted.
#[derive(Clone, Copy)]
struct Counted {
    tokens: u64,
    /// The estimated bytes of that request.
    bytes: usize,
    /// How many messages the conversation had.
    messages: usize,
}

/// A system prompt that was sent.
struct Sent {
    /// As the middlewares made it.
    made: SystemPrompt,
    budget: usize,
    /// As it was sent.
    fitted: SystemPrompt,
    text: Arc<str>,
}

impl State {
    pub(crate) fn new(config: &LoopConfig, history: Vec<MessageRef>) -> Self {
        let mut call_ids = HashSet::new();
        for message in &history {
            if let Message::Assistant(reply) = &**message {
                call_ids.extend(reply.tool_calls().map(|call| call.id.clone()));
            }
        }
        Self {
            before: history.len(),
            bytes: history
                .iter()
                .map(|message| message.approximate_bytes())
                .sum(),
            messages: Arc::new(history),
            call_ids,
            usage: Usage::default(),
            cost: Some(0.0),
            turns: 0,
            turns_of_others: 0,
            compactions: 0,
            cut_replies: 0,
            model: Arc::clone(&config.inner.model),
            tools: config.inner.tools.clone(),
            thinking: config.inner.thinking,
            system: None,
            asked_bytes: 0,
            fixed_bytes: 0,
            tokens_per_byte: UNKNOWN_TOKENS_PER_BYTE,
            counted: None,
            warned: false,
            delivered: false,
            repetition: Repetition::default(),
        }
    }

    pub(crate) fn push(&mut self, message: MessageRef) {
        self.bytes += message.approximate_bytes();
        // One that the run goes on from has not been accepted here.
        if let Message::Assistant(reply) = &*message {
            self.call_ids
                .extend(reply.tool_calls().map(|call| call.id.clone()));
        }
        // Copies only while somebody still holds an earlier request.
        Arc::make_mut(&mut self.messages).push(message);
    }

    pub(crate) fn has_something_to_answer(&self) -> bool {
        self.messages
            .last()
            .is_some_and(|last| !matches!(&**last, Message::Assistant(_)))
    }

    /// The system prompt's text, within a number of tokens; shared with the last turn's if it did not
    /// change, and told of if it did.
    pub(crate) fn system(
        &mut self,
        cx: &RunContext,
        prompt: SystemPrompt,
        budget: usize,
    ) -> Option<Arc<str>> {
        let turn = self.turns + 1;
        let sent = match self.system.take() {
            Some(sent) if sent.made == prompt && sent.budget == budget => sent,
            last => {
                let Fitted {
                    prompt: fitted,
                    cuts,
                    ..
                } = prompt.fit(budget);
                let text = fitted.text();
                let (last, last_text) =
                    last.map_or_else(Default::default, |sent| (sent.fitted, sent.text));
                if text != *last_text {
                    cx.emit(Event::SystemPrompt(Box::new(PromptReport {
                        turn,
                        diff: fitted.diff_from(&last),
                        prompt: fitted.clone(),
                        cuts,
                    })));
                }
                Sent {
                    made: prompt,
                    budget,
                    fitted,
                    text: if text == *last_text {
                        last_text
                    } else {
                        text.into()
                    },
                }
            }
        };
        let text = Arc::clone(&self.system.insert(sent).text);
        (!text.trim().is_empty()).then_some(text)
    }

    /// How many tokens a reply may have, so that it fits the window beside what the model is shown.
    ///
    /// `None` leaves it to the provider: there is room for all that the model can write.
    pub(crate) fn output_budget(
        &mut self,
        fixed_bytes: usize,
        shown_bytes: usize,
        wanted: Option<u64>,
    ) -> Result<Option<u64>, Error> {
        /// The least that a reply is worth asking for. If there is no room for it, the provider says
        /// so, and the conversation can be made shorter; a reply of a few tokens helps nobody.
        const LEAST: u64 = 1_024;
        self.asked_bytes = fixed_bytes.saturating_add(shown_bytes);
        self.fixed_bytes = fixed_bytes;
        let info = self.model.info();
        let most = match (wanted, info.max_output_tokens) {
            (Some(wanted), Some(cap)) => Some(wanted.min(cap)),
            (wanted, cap) => wanted.or(cap),
        };
        let asked = wanted.and(most);
        let Some(window) = info.context_window else {
            return Ok(asked);
        };
        let fixed = self.tokens(fixed_bytes);
        if fixed >= window {
            return Err(Error::Config(format!(
                "the system prompt and the tools alone need about {fixed} tokens, and the context \
                 window of {} has {window}",
                info.id
            )));
        }
        let Some(most) = most else {
            return Ok(None);
        };
        // The estimate must not be too small: the provider would refuse the request.
        let used = self.tokens(self.asked_bytes);
        let used = used.saturating_add(used / 16);
        let room = window.saturating_sub(used).max(LEAST.min(window / 4 + 1));
        Ok(if room < most { Some(room) } else { asked })
    }

    /// About how many tokens some bytes are, as the provider counted the last request.
    fn tokens(&self, bytes: usize) -> u64 {
        (bytes as f64 * self.tokens_per_byte) as u64
    }

    /// How full the window will be with the request that was put together last.
    pub(crate) fn context_use(
        &self,
        counter: Option<Arc<dyn TokenCounter>>,
        overflow: bool,
    ) -> ContextUse {
        let count = |new: &[MessageRef]| -> Option<u64> {
            let counter = counter.as_ref()?;
            Some(new.iter().map(|it| it.count_tokens(&**counter)).sum())
        };
        let tokens = match self.counted {
            // What is new is counted, or estimated on the high side.
            Some(last) if self.asked_bytes >= last.bytes => {
                let new = count(self.messages.get(last.messages..).unwrap_or_default());
                let new = new.unwrap_or_else(|| {
                    let bytes = self.asked_bytes - last.bytes;
                    (bytes as f64 * self.tokens_per_byte.max(LEAST_TOKENS_PER_BYTE)) as u64
                });
                last.tokens.saturating_add(new)
            }
            Some(_) => self.tokens(self.asked_bytes),
            None => match count(&self.messages) {
                Some(shown) => shown.saturating_add(self.tokens(self.fixed_bytes)),
                None => self.tokens(self.asked_bytes),
            },
        };
        ContextUse {
            turn: self.turns + 1,
            model: Arc::clone(&self.model),
            tokens,
            fixed_tokens: self.tokens(self.fixed_bytes),
            tokens_per_byte: self.tokens_per_byte.max(LEAST_TOKENS_PER_BYTE),
            overflow,
            counter,
        }
    }

    /// Puts a summary in the place of the beginning of the conversation.
    pub(crate) fn replace(&mut self, cx: &RunContext, compaction: Compaction, used: &ContextUse) {
        let cut = self.messages.len().saturating_sub(compaction.kept);
        let gone = self.messages.get(..cut).unwrap_or_default();
        let gone: usize = gone.iter().map(|message| message.approximate_bytes()).sum();
        let summary = compaction.summary;
        let new: usize = summary
            .iter()
            .map(|message| message.approximate_bytes())
            .sum();
        // What was there before the run and is kept, and the summary, which stands for what was.
        self.before = self.before.saturating_sub(cut) + summary.len();
        self.bytes = self.bytes.saturating_sub(gone) + new;
        self.asked_bytes = self.asked_bytes.saturating_sub(gone) + new;
        Arc::make_mut(&mut self.messages).splice(..cut, summary);
        self.counted = None;
        self.compactions += 1;
        if let Some(spent) = compaction.spent {
            self.spend(
                cx,
                &Expense {
                    turns: 0,
                    usage: spent.usage,
                    cost: spent.cost,
                },
            );
        }
        let after = self.tokens(self.asked_bytes);
        if after >= used.tokens && !used.overflow {
            let message =
                "the conversation was made shorter, and its request did not become smaller";
            cx.emit(Event::Warning {
                message: message.to_owned(),
            });
        }
    }

    /// Adds up what a reply used.
    pub(crate) fn count(&mut self, cx: &RunContext, reply: &AssistantMessage, limits: &Limits) {
        if let Some(usage) = &reply.usage
            && usage.input_tokens > 0
            && self.asked_bytes > 0
        {
            let measured = usage.input_tokens as f64 / self.asked_bytes as f64;
            self.tokens_per_byte = measured.clamp(0.1, 1.0);
            self.counted = Some(Counted {
                tokens: usage.input_tokens,
                bytes: self.asked_bytes,
                messages: self.messages.len(),
            });
        }
        // A fallback may have answered, whose prices are not at hand: then the cost is not known.
        let prices = Some(self.model.info()).filter(|info| info.id == reply.model);
        let cost = match (prices.and_then(|info| info.prices), &reply.usage) {
            (Some(prices), Some(usage)) => Some(prices.cost(usage)).filter(|cost| cost.is_finite()),
            _ => None,
        };
        self.spend(
            cx,
            &Expense {
                turns: 0,
                usage: reply.usage.unwrap_or_default(),
                cost,
            },
        );
        let blind = (limits.max_tokens.is_some() && reply.usage.is_none())
            || (limits.max_cost.is_some() && self.cost.is_none());
        if blind && !self.warned {
            self.warned = true;
            let message = format!(
                "{} does not tell what a reply used or cost, so the run's limit of it cannot be kept",
                reply.model
            );
            cx.emit(Event::Warning { message });
        }
    }

    /// Counts a turn that is over.
    pub(crate) fn complete_turn(&mut self, cx: &RunContext) {
        self.turns += 1;
        cx.spend(&Expense {
            turns: 1,
            ..Expense::default()
        });
    }

    /// What this run used, and those that were started within it.
    pub(crate) fn expense(&self) -> Expense {
        Expense {
            turns: self.turns.saturating_add(self.turns_of_others),
            usage: self.usage,
            cost: self.cost,
        }
    }

    /// Adds what runs used that were started within this one.
    pub(crate) fn add(&mut self, children: Option<Expense>) {
        let Some(children) = children else { return };
        let mut sum = self.expense();
        sum.add(&children);
        self.turns_of_others = sum.turns.saturating_sub(self.turns);
        self.usage = sum.usage;
        self.cost = sum.cost;
    }

    /// Adds what this run used itself.
    fn spend(&mut self, cx: &RunContext, expense: &Expense) {
        self.usage.add(&expense.usage);
        self.cost = self.cost.zip(expense.cost).map(|(sum, cost)| sum + cost);
        cx.spend(expense);
    }

    /// Makes a reply fit for the conversation: a middleware may have written it. Its call ids become
    /// unique there.
    pub(crate) fn accept(&mut self, reply: &mut AssistantMessage) {
        reply.content = tidy(std::mem::take(&mut reply.content));
        for part in &mut reply.content {
            if let AssistantPart::ToolCall(call) = part {
                make_unique(&mut call.id, &mut self.call_ids);
            }
        }
    }

    pub(crate) fn end(self, cx: &RunContext, status: RunStatus) -> RunOutcome {
        RunOutcome {
            run_id: cx.run_id().to_owned(),
            status,
            history_before: self.before,
            usage: self.usage,
            cost: self.cost,
            turns: self.turns,
            compactions: self.compactions,
            undelivered: Vec::new(),
            history: Arc::unwrap_or_clone(self.messages),
        }
    }
}
