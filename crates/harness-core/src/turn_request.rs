//! The request of a turn, put together anew each time.

use std::sync::Arc;

use crate::config::{caught, hook_failed};
use crate::context::RunContext;
use crate::engine::Engine;
use crate::error::{Error, MiddlewareError};
use crate::message::MessageRef;
use crate::model::{ModelRequest, ToolChoice};
use crate::protocol;
use crate::state::State;

impl Engine<'_> {
    /// The request of the coming turn.
    pub(crate) async fn request(
        &self,
        cx: &RunContext,
        state: &mut State,
    ) -> Result<ModelRequest, Error> {
        let inner = &self.config.inner;
        let prompt = self.config.compose_system_prompt(cx).await?;
        let mut messages = Arc::clone(&state.messages);
        for middleware in &*inner.chains.context {
            let before = messages.as_ref().clone();
            let after = caught(async { middleware.on_context(cx, before).await }).await;
            match after.and_then(|after| sendable(&messages, after)) {
                Ok(Some(after)) => messages = Arc::new(after),
                Ok(None) => {}
                Err(error) => hook_failed(cx, &**middleware, "on_context", error.0)?,
            }
        }
        let shown_bytes = if Arc::ptr_eq(&messages, &state.messages) {
            state.bytes
        } else {
            messages.iter().map(|shown| shown.approximate_bytes()).sum()
        };
        let budget = self.config.system_prompt_budget(&*state.model);
        let system = state.system(cx, prompt, budget);
        let mut request = ModelRequest::new(Arc::clone(&state.model), Vec::new());
        request.messages = messages;
        request.tools = Arc::clone(&state.tools.specs);
        request.tool_choice = ToolChoice::Auto;
        request.thinking = state.thinking;
        request.temperature = inner.temperature;
        request.cache_key = Some(cx.session().map_or_else(|| cx.run_id().into(), Into::into));
        let fixed_bytes =
            system.as_ref().map_or(0, |s| s.len()) + request.tools.approximate_bytes();
        request.max_output_tokens =
            state.output_budget(fixed_bytes, shown_bytes, inner.max_output_tokens)?;
        request.system = system;
        Ok(request)
    }
}

/// What a hook made of the messages, if it changed them and the result may be sent.
fn sendable(
    before: &[MessageRef],
    after: Vec<MessageRef>,
) -> Result<Option<Vec<MessageRef>>, MiddlewareError> {
    let unchanged = before.len() == after.len()
        && before
            .iter()
            .zip(&after)
            .all(|(before, after)| before.same(after));
    if unchanged {
        return Ok(None);
    }
    match protocol::check_messages(&after) {
        Ok(()) => Ok(Some(after)),
        Err(rule) => Err(MiddlewareError(format!(
            "the conversation it gave cannot be sent: {rule}"
        ))),
    }
}
