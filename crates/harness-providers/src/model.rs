//! A model behind HTTP.

use std::borrow::Cow;
use std::fmt;
use std::sync::{Arc, OnceLock};
use std::time::Duration;

use async_trait::async_trait;
use bytes::Bytes;
use harness_core::{
    CancellationToken, Model, ModelError, ModelId, ModelInfo, ModelRequest, ModelStream, Secret,
    Secrets,
};
use reqwest::header::{HeaderMap, HeaderValue, LOCATION};
use reqwest::{Response, Url};

use crate::address;
use crate::api::Api;
use crate::body::{Encoding, encoding_key};
use crate::dialect::Dialect;
use crate::endpoint::Endpoint;
use crate::error::ConfigError;
use crate::http::{HttpOptions, chain};
use crate::refusal::{MAX_ERROR_BYTES, Refusal};
use crate::reply_stream::{Origin, ReplyStream};
use crate::{chat, messages, parse, responses};

/// The headers of W3C's Trace Context.
const TRACEPARENT: &str = "traceparent";
const TRACESTATE: &str = "tracestate";

/// Models that are served over OpenAI's APIs, by OpenAI or by anyone else.
#[derive(Debug)]
pub enum OpenAi {}

impl OpenAi {
    /// A model over the Chat Completions API.
    pub fn chat(model: impl Into<String>, key: impl Into<Secret>) -> HttpModel {
        HttpModel::with_key(Api::OpenAiChat, model, key)
    }

    /// A model over the Responses API.
    pub fn responses(model: impl Into<String>, key: impl Into<Secret>) -> HttpModel {
        HttpModel::with_key(Api::OpenAiResponses, model, key)
    }
}

/// Models that are served over Anthropic's API, by Anthropic or by anyone else.
#[derive(Debug)]
pub enum Anthropic {}

impl Anthropic {
    /// A model over the Messages API.
    pub fn messages(model: impl Into<String>, key: impl Into<Secret>) -> HttpModel {
        HttpModel::with_key(Api::Anthropic, model, key)
    }
}

/// A model behind HTTP: usable as it is, and changed by its setters.
///
/// Nothing is opened or read before the first request.
pub struct HttpModel {
    endpoint: Endpoint,
    info: ModelInfo,
    ready: OnceLock<Result<Ready, ConfigError>>,
}

/// What all requests share.
struct Ready {
    url: Url,
    shown_url: Arc<str>,
    headers: HeaderMap,
    secrets: Secrets,
    dialect: Dialect,
    key: u64,
}

/// The headers of one request: those of all, and its place in a trace unless they name one themselves.
fn headers(ready: &Ready, request: &ModelRequest) -> HeaderMap {
    let mut headers = ready.headers.clone();
    let Some(trace) = &request.trace else {
        return headers;
    };
    if headers.contains_key(TRACEPARENT) {
        return headers;
    }
    // Both are printable, so that this does not fail.
    if let Ok(value) = HeaderValue::from_str(trace.traceparent()) {
        headers.insert(TRACEPARENT, value);
    }
    headers.remove(TRACESTATE);
    if let Some(Ok(value)) = trace.tracestate().map(HeaderValue::from_str) {
        headers.insert(TRACESTATE, value);
    }
    headers
}

impl HttpModel {
    pub(crate) fn new(endpoint: Endpoint, info: ModelInfo) -> Self {
        Self {
            endpoint,
            info,
            ready: OnceLock::new(),
        }
    }

    fn with_key(api: Api, model: impl Into<String>, key: impl Into<Secret>) -> Self {
        let endpoint = Endpoint::new(api).api_key(Some(key.into()));
        let id = ModelId::new(endpoint.provider_name(), model);
        Self::new(endpoint, ModelInfo::new(id))
    }

    fn change(mut self, change: impl FnOnce(Endpoint) -> Endpoint) -> Self {
        self.endpoint = change(self.endpoint);
        self.ready = OnceLock::new();
        self
    }

    /// Sets the base URL; see [`Endpoint::base_url`].
    pub fn base_url(self, base_url: impl Into<String>) -> Self {
        self.change(|endpoint| endpoint.base_url(base_url))
    }

    /// Sends no key, as local servers want it.
    pub fn no_key(self) -> Self {
        self.change(|endpoint| endpoint.api_key(None))
    }

    /// Adds a header to every request; see [`Endpoint::header`].
    pub fn header(self, name: impl Into<String>, value: impl Into<String>) -> Self {
        self.change(|endpoint| endpoint.header(name, value))
    }

    /// Sets what is known about the model. An info without a name keeps the model's id.
    pub fn info(mut self, info: ModelInfo) -> Self {
        let id = std::mem::take(&mut self.info.id);
        self.info = info;
        if self.info.id.name.is_empty() {
            self.info.id = id;
        }
        self.change(|endpoint| endpoint)
    }

    /// Sets the provider's name in the model's id.
    pub fn provider_name(mut self, provider: impl Into<String>) -> Self {
        let provider = provider.into();
        self.info.id.provider.clone_from(&provider);
        self.change(|endpoint| endpoint.provider(provider))
    }

    /// Sets how the service speaks the API; unset: [`Dialect::guess`].
    pub fn dialect(self, dialect: Dialect) -> Self {
        self.change(|endpoint| endpoint.dialect(dialect))
    }

    /// Sets how requests are sent.
    pub fn http(self, http: HttpOptions) -> Self {
        self.change(|endpoint| endpoint.http(http))
    }

    /// Whether the configuration can be used at all, as far as that shows without a request.
    pub fn check(&self) -> Result<(), ConfigError> {
        let ready = self.ready()?;
        self.endpoint.client(&ready.url).map(drop)
    }

    fn ready(&self) -> Result<&Ready, ConfigError> {
        let ready = self.ready.get_or_init(|| {
            let url = self.endpoint.address()?;
            let (headers, secrets) = self.endpoint.headers()?;
            let dialect = self.endpoint.dialect_for(&self.info.id.name);
            let key = encoding_key(self.endpoint.api(), &dialect, &self.info);
            let shown_url = address::shown(&url).into();
            Ok(Ready {
                url,
                shown_url,
                headers,
                secrets,
                dialect,
                key,
            })
        });
        ready.as_ref().map_err(Clone::clone)
    }

    fn body(&self, ready: &Ready, request: &ModelRequest) -> Bytes {
        let encoding = Encoding {
            info: &self.info,
            dialect: &ready.dialect,
            key: ready.key,
        };
        match self.endpoint.api() {
            Api::OpenAiChat => chat::body(request, &encoding),
            Api::OpenAiResponses => responses::body(request, &encoding),
            Api::Anthropic => messages::body(request, &encoding),
        }
    }

    /// Sends the request and waits for the head of the answer.
    async fn send(&self, ready: &Ready, request: &ModelRequest) -> Result<Response, ModelError> {
        let body = self.body(ready, request);
        let client = self
            .endpoint
            .client(&ready.url)
            .map_err(|error| misconfigured(&error))?;
        let sending = client
            .post(ready.url.clone())
            .headers(headers(ready, request))
            .body(body)
            .send();
        let idle = self.endpoint.options().idle_timeout;
        let answer = match tokio::time::timeout(idle, sending).await {
            Ok(Ok(answer)) => answer,
            Ok(Err(error)) => return Err(self.unreachable(ready, error)),
            Err(_) => {
                return Err(ModelError::Timeout {
                    seconds: idle.as_secs(),
                });
            }
        };
        if answer.status().is_success() {
            return Ok(answer);
        }
        Err(refused(answer, &ready.secrets, &ready.shown_url, idle).await)
    }

    fn unreachable(&self, ready: &Ready, error: reqwest::Error) -> ModelError {
        let message = if error.is_timeout() {
            let seconds = self.endpoint.options().connect_timeout.as_secs_f64();
            format!("no connection within {seconds} s")
        } else {
            // The address is said beside the message, in the form that may be shown.
            scrubbed(&ready.secrets, chain(&error.without_url()))
        };
        ModelError::Connection {
            url: ready.shown_url.to_string(),
            message,
        }
    }
}

#[async_trait]
impl Model for HttpModel {
    fn info(&self) -> &ModelInfo {
        &self.info
    }

    async fn stream(
        &self,
        request: ModelRequest,
        cancel: CancellationToken,
    ) -> Result<ModelStream, ModelError> {
        let ready = self.ready().map_err(|error| misconfigured(&error))?;
        let sent = cancel.run_until_cancelled(self.send(ready, &request)).await;
        let answer = sent.ok_or(ModelError::Cancelled)??;
        let origin = Origin {
            url: Arc::clone(&ready.shown_url),
            secrets: ready.secrets.clone(),
        };
        let parser = parse::parser(self.endpoint.api());
        Ok(Box::pin(ReplyStream::new(
            answer,
            parser,
            origin,
            self.endpoint.options(),
            cancel,
        )))
    }
}

impl From<HttpModel> for Arc<dyn Model> {
    fn from(model: HttpModel) -> Self {
        Arc::new(model)
    }
}

impl fmt::Debug for HttpModel {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("HttpModel")
            .field("endpoint", &self.endpoint)
            .field("info", &self.info)
            .finish_non_exhaustive()
    }
}

/// A wrong configuration, at the place where it can no longer be passed over.
fn misconfigured(error: &ConfigError) -> ModelError {
    ModelError::Other {
        message: error.to_string(),
        retryable: false,
    }
}

/// A text that came from a request, without what must not show: also without the beginning of a secret at which
/// it was cut.
pub(crate) fn scrubbed(secrets: &Secrets, text: String) -> String {
    match secrets.mask_excerpt(&text) {
        Cow::Owned(masked) => masked,
        Cow::Borrowed(_) => text,
    }
}

/// The error for an answer whose status is none of success. Its body is read as far as it may matter.
pub(crate) async fn refused(
    mut answer: Response,
    secrets: &Secrets,
    shown_url: &str,
    idle: Duration,
) -> ModelError {
    let (status, headers) = (answer.status().as_u16(), answer.headers().clone());
    let mut body = Vec::new();
    while body.len() < MAX_ERROR_BYTES
        && let Ok(Ok(Some(chunk))) = tokio::time::timeout(idle, answer.chunk()).await
    {
        body.extend_from_slice(&chunk[..chunk.len().min(MAX_ERROR_BYTES - body.len())]);
    }
    let body = scrubbed(secrets, String::from_utf8_lossy(&body).into_owned());
    let mut refusal = Refusal::from_body(status, &headers, body.as_bytes());
    if (300..400).contains(&status)
        && let Some(target) = headers
            .get(LOCATION)
            .and_then(|target| target.to_str().ok())
    {
        refusal.message = format!("{shown_url} redirects to {target}");
    }
    refusal.message = scrubbed(secrets, refusal.message);
    refusal.into_error(shown_url)
}
