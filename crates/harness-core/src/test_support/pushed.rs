//! A model that a test pushes by hand.

use async_trait::async_trait;
use futures::StreamExt;
use futures::channel::mpsc::{self, UnboundedReceiver, UnboundedSender};
use tokio_util::sync::CancellationToken;

use crate::error::ModelError;
use crate::model::{Model, ModelEvent, ModelId, ModelInfo, ModelRequest, ModelStream};
use crate::protocol;

/// A model whose every event comes from the test.
///
/// Each request arrives at the receiver as an [`Exchange`]; what the test sends there, the loop
/// receives. Dropping the exchange ends the stream.
#[derive(Debug)]
pub struct PushedModel {
    info: ModelInfo,
    exchanges: UnboundedSender<Exchange>,
}

/// One request, and the means to answer it.
#[derive(Debug)]
pub struct Exchange {
    /// The request.
    pub request: ModelRequest,
    /// Fires when the loop gives the request up.
    pub cancel: CancellationToken,
    events: UnboundedSender<Result<ModelEvent, ModelError>>,
}

impl PushedModel {
    /// The model, and where its requests arrive.
    pub fn new() -> (Self, UnboundedReceiver<Exchange>) {
        let (exchanges, requests) = mpsc::unbounded();
        (
            Self {
                info: ModelInfo::new(ModelId::new("test", "pushed")),
                exchanges,
            },
            requests,
        )
    }
}

impl Exchange {
    /// Sends an event. Whether the loop still listens.
    pub fn send(&self, event: ModelEvent) -> bool {
        self.events.unbounded_send(Ok(event)).is_ok()
    }

    /// Sends an error. Whether the loop still listens.
    pub fn fail(&self, error: ModelError) -> bool {
        self.events.unbounded_send(Err(error)).is_ok()
    }
}

#[async_trait]
impl Model for PushedModel {
    fn info(&self) -> &ModelInfo {
        &self.info
    }

    #[expect(clippy::panic, reason = "a fake fails the test that breaks a rule")]
    async fn stream(
        &self,
        request: ModelRequest,
        cancel: CancellationToken,
    ) -> Result<ModelStream, ModelError> {
        if let Err(problem) = protocol::check_request(&request) {
            panic!("the request breaks a rule: {problem}\n{request:#?}");
        }
        let (events, stream) = mpsc::unbounded();
        self.exchanges
            .unbounded_send(Exchange {
                request,
                cancel,
                events,
            })
            .map_err(|_| ModelError::Other {
                message: "the test has gone".to_owned(),
                retryable: false,
            })?;
        Ok(stream.boxed())
    }
}
