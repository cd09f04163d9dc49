//! A model that answers from a list.

use std::collections::VecDeque;
use std::sync::{Mutex, PoisonError};

use async_trait::async_trait;
use futures::StreamExt;
use tokio_util::sync::CancellationToken;

use crate::error::ModelError;
use crate::message::StopReason;
use crate::model::{Model, ModelEvent, ModelId, ModelInfo, ModelRequest, ModelStream};
use crate::protocol;
use crate::usage::Usage;

/// One answer of a [`ScriptedModel`], built part by part.
#[derive(Clone, Debug, Default)]
pub struct Reply {
    events: Vec<ModelEvent>,
    blocks: u32,
    calls: u32,
    stop: Option<StopReason>,
    error: Option<ModelError>,
    refuse: Option<ModelError>,
}

impl Reply {
    /// An answer with nothing in it yet.
    pub fn new() -> Self {
        Self::default()
    }

    /// An answer of one text.
    pub fn text(text: &str) -> Self {
        Self::new().and_text(text)
    }

    /// An answer of one call.
    pub fn call(id: &str, tool: &str, arguments: &str) -> Self {
        Self::new().and_call(id, tool, arguments)
    }

    /// An answer that fails before it begins.
    pub fn error(error: ModelError) -> Self {
        Self {
            refuse: Some(error),
            ..Self::default()
        }
    }

    /// An answer that the provider is too busy to give: retryable.
    pub fn busy() -> Self {
        let message = "busy".to_owned();
        Self::error(ModelError::Unavailable {
            status: Some(503),
            message,
            retry_after: None,
        })
    }

    /// Adds a text, in two deltas.
    pub fn and_text(mut self, text: &str) -> Self {
        let block = self.block();
        let middle = text.floor_char_boundary(text.len() / 2);
        for delta in [&text[..middle], &text[middle..]] {
            self.events.push(ModelEvent::Text {
                block,
                delta: delta.to_owned(),
            });
        }
        self
    }

    /// Adds thinking, signed or not.
    pub fn and_thinking(mut self, text: &str, signature: Option<&str>) -> Self {
        let block = self.block();
        self.events.push(ModelEvent::Thinking {
            block,
            delta: text.to_owned(),
        });
        if let Some(signature) = signature {
            let signature = signature.to_owned();
            let redacted = false;
            self.events.push(ModelEvent::ThinkingSignature {
                block,
                signature,
                redacted,
            });
        }
        self
    }

    /// Adds a call; its arguments come in two deltas.
    pub fn and_call(mut self, id: &str, tool: &str, arguments: &str) -> Self {
        let block = self.block();
        self.calls += 1;
        self.events.push(ModelEvent::ToolCall {
            block,
            id: id.to_owned(),
            name: tool.to_owned(),
        });
        let middle = arguments.floor_char_boundary(arguments.len() / 2);
        for delta in [&arguments[..middle], &arguments[middle..]] {
            self.events.push(ModelEvent::ToolArguments {
                block,
                delta: delta.to_owned(),
            });
        }
        self
    }

    /// Adds what the provider reports of tokens.
    pub fn usage(mut self, input_tokens: u64, output_tokens: u64) -> Self {
        let usage = Usage {
            input_tokens,
            output_tokens,
            ..Usage::default()
        };
        self.events.push(ModelEvent::Usage(usage));
        self
    }

    /// Ends with this reason, instead of the one that fits.
    pub fn stop(mut self, stop: StopReason) -> Self {
        self.stop = Some(stop);
        self
    }

    /// Ends with an error after all that was added.
    pub fn then_error(mut self, error: ModelError) -> Self {
        self.error = Some(error);
        self
    }

    /// Ends as if the connection had been cut.
    pub fn then_cut(self) -> Self {
        self.then_error(ModelError::StreamCut {
            message: "cut by the script".to_owned(),
        })
    }

    fn block(&mut self) -> u32 {
        self.blocks += 1;
        self.blocks - 1
    }
}

/// A model that gives its answers one after another, whatever it is asked.
///
/// Panics on a request that breaks a rule of [`protocol`](crate::protocol), and when it is asked more
/// often than it has answers.
#[derive(Debug)]
pub struct ScriptedModel {
    info: ModelInfo,
    replies: Mutex<VecDeque<Reply>>,
    last_forever: bool,
    requests: Mutex<Vec<ModelRequest>>,
}

impl ScriptedModel {
    /// A model with these answers.
    pub fn new(replies: impl IntoIterator<Item = Reply>) -> Self {
        Self {
            info: ModelInfo::new(ModelId::new("test", "scripted")),
            replies: Mutex::new(replies.into_iter().collect()),
            last_forever: false,
            requests: Mutex::default(),
        }
    }

    /// Gives the last answer again and again.
    pub fn last_forever(mut self) -> Self {
        self.last_forever = true;
        self
    }

    /// Sets what is known about the model.
    pub fn info(mut self, info: ModelInfo) -> Self {
        self.info = info;
        self
    }

    /// Sets the model's name.
    pub fn named(mut self, name: &str) -> Self {
        name.clone_into(&mut self.info.id.name);
        self
    }

    /// The requests so far.
    pub fn requests(&self) -> Vec<ModelRequest> {
        self.requests
            .lock()
            .unwrap_or_else(PoisonError::into_inner)
            .clone()
    }

    #[expect(clippy::panic, reason = "a fake fails the test that breaks a rule")]
    fn check(request: &ModelRequest) {
        if let Err(problem) = protocol::check_request(request) {
            panic!("the request breaks a rule: {problem}\n{request:#?}");
        }
    }
}

#[async_trait]
impl Model for ScriptedModel {
    fn info(&self) -> &ModelInfo {
        &self.info
    }

    #[expect(clippy::panic, reason = "a fake fails the test that asks too often")]
    async fn stream(
        &self,
        request: ModelRequest,
        _cancel: CancellationToken,
    ) -> Result<ModelStream, ModelError> {
        Self::check(&request);
        self.requests
            .lock()
            .unwrap_or_else(PoisonError::into_inner)
            .push(request);
        let reply = {
            let mut replies = self.replies.lock().unwrap_or_else(PoisonError::into_inner);
            match replies.pop_front() {
                Some(reply) => {
                    if self.last_forever && replies.is_empty() {
                        replies.push_front(reply.clone());
                    }
                    reply
                }
                None => panic!("the script has no more answers"),
            }
        };
        if let Some(error) = reply.refuse {
            return Err(error);
        }
        let mut events = vec![Ok(ModelEvent::Start { response_id: None })];
        events.extend(reply.events.into_iter().map(Ok));
        events.push(match reply.error {
            Some(error) => Err(error),
            None => Ok(ModelEvent::Stop(reply.stop.unwrap_or(if reply.calls > 0 {
                StopReason::ToolCalls
            } else {
                StopReason::EndTurn
            }))),
        });
        Ok(futures::stream::iter(events).boxed())
    }
}
