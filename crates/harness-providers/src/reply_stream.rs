//! The answer of a service as a stream of events.

use std::pin::Pin;
use std::sync::Arc;
use std::task::{Context, Poll};
use std::time::Duration;

use bytes::Bytes;
use futures::{Stream, StreamExt};
use harness_core::{CancellationToken, MAX_REPLY_BYTES, ModelError, ModelEvent, Secrets};
use reqwest::Response;
use reqwest::header::CONTENT_TYPE;
use tokio::time::{Instant, Sleep};

use crate::http::{HttpOptions, chain};
use crate::model::scrubbed;
use crate::parse::{Failure, Found, Parse, cut};
use crate::refusal::{Refusal, html_title, one_line};
use crate::sse;
use crate::wire::excerpt;

/// How long to wait for what may still come, such as the usage, when a reply is complete.
const TAIL: Duration = Duration::from_secs(5);

/// How long, after a reply, to wait for the end of the answer, so that its connection serves the
/// next request.
const DRAIN: Duration = Duration::from_secs(1);

/// A piece this long behind a complete reply is not waited out; its connection is given up.
const MAX_REST: usize = 64 * 1024;

type Body = Pin<Box<dyn Stream<Item = reqwest::Result<Bytes>> + Send>>;

/// Where an answer comes from, as far as errors need to know.
pub(crate) struct Origin {
    pub(crate) url: Arc<str>,
    pub(crate) secrets: Secrets,
}

/// What kind of answer this is. Several servers say one content type and send another.
enum Form {
    /// Nothing has come but blanks.
    Unknown,
    Events,
    /// One document: a whole reply, an error, or a page of HTML.
    Document(Vec<u8>),
}

/// One reply, as it comes in.
pub(crate) struct ReplyStream {
    body: Option<Body>,
    form: Form,
    content_type: String,
    decoder: sse::Decoder,
    parser: Box<dyn Parse>,
    /// Events that were found and not yet given out: a chunk holds many.
    found: Found,
    /// Given out after them; then the stream is over.
    failure: Option<ModelError>,
    over: bool,
    origin: Origin,
    cancelled: Pin<Box<dyn Future<Output = ()> + Send>>,
    idle: Pin<Box<Sleep>>,
    idle_timeout: Duration,
    /// When nothing more is waited for. The timer is set anew only when it fires before: a fast
    /// stream does not pay for it with each piece.
    deadline: Instant,
}

impl ReplyStream {
    pub(crate) fn new(
        answer: Response,
        parser: Box<dyn Parse>,
        origin: Origin,
        options: &HttpOptions,
        cancel: CancellationToken,
    ) -> Self {
        let content_type = answer
            .headers()
            .get(CONTENT_TYPE)
            .and_then(|value| value.to_str().ok())
            .unwrap_or_default()
            .to_owned();
        Self {
            body: Some(Box::pin(answer.bytes_stream())),
            form: Form::Unknown,
            content_type,
            decoder: sse::Decoder::new().max_line_bytes(options.max_line_bytes),
            parser,
            found: Found::new(),
            failure: None,
            over: false,
            origin,
            cancelled: Box::pin(cancel.cancelled_owned()),
            idle: Box::pin(tokio::time::sleep(options.idle_timeout)),
            idle_timeout: options.idle_timeout,
            deadline: Instant::now() + options.idle_timeout,
        }
    }

    /// Takes in one piece of the answer.
    fn chunk(&mut self, chunk: &[u8]) {
        if matches!(self.form, Form::Unknown) {
            let Some(first) = chunk.iter().find(|byte| !byte.is_ascii_whitespace()) else {
                return;
            };
            self.form = match first {
                b'{' | b'[' | b'<' => Form::Document(Vec::new()),
                _ => Form::Events,
            };
        }
        match &mut self.form {
            Form::Document(document) => {
                if document.len() + chunk.len() > MAX_REPLY_BYTES {
                    self.fail(ModelError::ReplyTooLarge {
                        max_bytes: MAX_REPLY_BYTES,
                    });
                } else {
                    document.extend_from_slice(chunk);
                }
            }
            Form::Events | Form::Unknown => {
                let Self {
                    decoder,
                    parser,
                    found,
                    ..
                } = self;
                if let Err(failure) = decoder.feed(chunk, |event| parser.event(event, found)) {
                    let error = self.error(failure);
                    self.fail(error);
                }
            }
        }
        if self.parser.is_stopped() {
            self.over = true;
        }
    }

    /// The answer has ended, well or not.
    fn end(&mut self, broken: Option<ModelError>) {
        self.over = true;
        self.body = None;
        if let Form::Document(document) = &mut self.form {
            let document = std::mem::take(document);
            let result = match broken {
                Some(error) => Err(error),
                None => self.document(&document),
            };
            if let Err(error) = result {
                self.fail(error);
            }
            return;
        }
        let Self {
            decoder,
            parser,
            found,
            ..
        } = self;
        // An event without its end counts if it can be read; if not, it was cut off.
        if let Err(Failure::Refused(refusal)) = decoder.finish(|event| parser.event(event, found)) {
            let error = self.error(Failure::Refused(refusal));
            self.fail(error);
        } else if !self.parser.end(&mut self.found) {
            let error = broken.unwrap_or_else(|| self.ended_early());
            self.fail(error);
        }
    }

    fn ended_early(&self) -> ModelError {
        if self.found.is_empty() && !self.content_type.starts_with("text/event-stream") {
            return self.no_reply("an empty answer");
        }
        cut("it ended without saying that it was complete")
    }

    /// A reply that came as one document, because the server does not stream.
    fn document(&mut self, document: &[u8]) -> Result<(), ModelError> {
        let text = String::from_utf8_lossy(document);
        if let Some(page) = html_title(&text) {
            return Err(self.no_reply(&one_line(&page)));
        }
        if let Ok(value) = serde_json::from_str(&text)
            && Refusal::is_in(&value)
        {
            return Err(self.error(Failure::Refused(Refusal::from_json(&value))));
        }
        match self.parser.whole(&text, &mut self.found) {
            Ok(true) => Ok(()),
            Ok(false) => Err(self.no_reply(&one_line(&excerpt(&text)))),
            Err(failure) => Err(self.error(failure)),
        }
    }

    fn no_reply(&self, what: &str) -> ModelError {
        let kind = match self.content_type.as_str() {
            "" => "no content type",
            kind => kind,
        };
        let message = format!(
            "{} answered with {kind} instead of a reply: {what}",
            self.origin.url
        );
        ModelError::StreamInvalid {
            message: scrubbed(&self.origin.secrets, message),
        }
    }

    fn error(&self, failure: Failure) -> ModelError {
        let secrets = &self.origin.secrets;
        match failure {
            Failure::Refused(mut refusal) => {
                refusal.message = scrubbed(secrets, refusal.message);
                if refusal.message.is_empty() {
                    "the service gave no reason".clone_into(&mut refusal.message);
                }
                refusal.into_error(&self.origin.url)
            }
            Failure::Invalid(message) => ModelError::StreamInvalid {
                message: scrubbed(secrets, message),
            },
        }
    }

    /// Takes in the end of the answer, if it is there: it usually came with the last event, and it
    /// frees the connection for the next request.
    fn release(&mut self, cx: &mut Context<'_>) {
        if !self.parser.is_stopped() {
            return;
        }
        while let Some(body) = &mut self.body {
            match body.as_mut().poll_next(cx) {
                Poll::Ready(Some(Ok(rest))) if rest.len() < MAX_REST => {}
                Poll::Ready(_) => self.body = None,
                Poll::Pending => return,
            }
        }
    }

    fn fail(&mut self, error: ModelError) {
        self.over = true;
        self.body = None;
        self.failure = Some(error);
    }
}

impl Stream for ReplyStream {
    type Item = Result<ModelEvent, ModelError>;

    fn poll_next(self: Pin<&mut Self>, cx: &mut Context<'_>) -> Poll<Option<Self::Item>> {
        let this = self.get_mut();
        loop {
            if let Some(event) = this.found.pop_front() {
                return Poll::Ready(Some(Ok(event)));
            }
            if let Some(error) = this.failure.take() {
                return Poll::Ready(Some(Err(error)));
            }
            if this.over {
                this.release(cx);
                return Poll::Ready(None);
            }
            let Some(body) = &mut this.body else {
                this.over = true;
                continue;
            };
            match body.as_mut().poll_next(cx) {
                Poll::Ready(Some(Ok(chunk))) => {
                    this.chunk(&chunk);
                    this.deadline = Instant::now() + this.idle_timeout;
                    if this.parser.is_complete() {
                        this.deadline = Instant::now() + this.idle_timeout.min(TAIL);
                        this.idle.as_mut().reset(this.deadline);
                    }
                }
                Poll::Ready(Some(Err(error))) => {
                    let message = scrubbed(&this.origin.secrets, chain(&error.without_url()));
                    this.end(Some(ModelError::StreamCut { message }));
                }
                Poll::Ready(None) => this.end(None),
                Poll::Pending => {
                    if this.cancelled.as_mut().poll(cx).is_ready() {
                        this.fail(ModelError::Cancelled);
                        continue;
                    }
                    if this.idle.as_mut().poll(cx).is_pending() {
                        return Poll::Pending;
                    }
                    if Instant::now() < this.deadline {
                        this.idle.as_mut().reset(this.deadline);
                        continue;
                    }
                    this.end(Some(ModelError::Timeout {
                        seconds: this.idle_timeout.as_secs(),
                    }));
                }
            }
        }
    }
}

impl Drop for ReplyStream {
    /// Reads what is left after a complete reply, usually a few bytes: a connection whose answer was
    /// not read to its end cannot be used again.
    fn drop(&mut self) {
        if !self.parser.is_stopped() {
            return;
        }
        if let (Some(mut body), Ok(runtime)) =
            (self.body.take(), tokio::runtime::Handle::try_current())
        {
            runtime.spawn(tokio::time::timeout(DRAIN, async move {
                while let Some(Ok(_)) = body.next().await {}
            }));
        }
    }
}
