//! A compaction between runs.

use std::sync::Arc;

use harness_core::{
    Compaction, CompactionReason, ContextUse, LoopConfig, MessageRef, RunContext, ToolRef,
};

use crate::compaction_span::CompactionSpan;
use crate::error::Error;
use crate::harness::AgentHarness;
use crate::measure::{Measure, UNKNOWN_TOKENS_PER_BYTE};
use crate::middlewares::{Bounds, Compactor, NoPlan, UNKNOWN_WINDOW};
use crate::summariser::Bill;

impl AgentHarness {
    /// Makes a conversation shorter between runs: what stands in the place of its beginning, and how many
    /// messages at its end stay. `None` if there is nothing that a summary could stand for.
    ///
    /// `config` is that of the session, and its model is asked, unless the
    /// [options](crate::middlewares::CompactionOptions::model) name another. Ends with [`Error::Cancelled`]
    /// when the context's cancellation fires. During a run, ask for it with
    /// [`CompactionRequests`](crate::middlewares::CompactionRequests).
    pub async fn summarise_history(
        &self,
        cx: &RunContext,
        config: &LoopConfig,
        history: &[MessageRef],
        focus: Option<&str>,
    ) -> Result<Option<Compaction>, Error> {
        let compactor = self.compactor(config);
        let measure = Measure::unknown(compactor.counter.clone());
        let specs = config.tools().iter().map(ToolRef::spec);
        let tools: u64 = specs
            .map(|spec| {
                measure.text(&spec.description) + measure.text(&spec.parameters.to_string())
            })
            .sum();
        let fixed = tools + measure.text(&config.system_prompt().text());
        let messages: u64 = history.iter().map(|it| measure.message(it)).sum();
        let mut used = ContextUse::new(Arc::clone(config.model()), fixed + messages);
        used.fixed_tokens = fixed;
        used.tokens_per_byte = UNKNOWN_TOKENS_PER_BYTE;
        let window = used.window().unwrap_or(used.tokens.max(UNKNOWN_WINDOW));
        let bounds = Bounds::of(&compactor.options, window);
        let focus = focus.map(str::to_owned);
        let reason = CompactionReason::Manual;
        let plan = match compactor.plan(cx, history, &used, &bounds, reason, focus) {
            Ok(plan) => plan,
            Err(NoPlan::Nothing) => return Ok(None),
            Err(why) => return Err(Error::Summary(why.to_string())),
        };
        let mut bill = Bill::default();
        let span = CompactionSpan {
            reason: reason.word(),
            tokens: Some(used.tokens),
            messages: plan.messages().len(),
            background: None,
        };
        let made = span.around(plan.write(cx, &mut bill)).await?;
        Ok(Some(made.compaction(cx, history, reason, &bill)))
    }

    /// What compactions of a session are made with.
    pub(crate) fn compactor(&self, config: &LoopConfig) -> Compactor {
        let parts = self.parts();
        Compactor {
            options: parts.compaction.clone().unwrap_or_default(),
            library: Arc::clone(&parts.library),
            extensions: parts.extensions.clone(),
            tools: config.tools().to_vec(),
            retry: parts.retry.clone(),
            counter: parts.token_counter.clone(),
        }
    }
}
