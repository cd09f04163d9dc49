//! Where a model is served, and how it is asked there.

use std::fmt;
use std::sync::Arc;

use harness_core::{Model, ModelInfo, Secret, Secrets};
use reqwest::Url;
use reqwest::header::{HeaderMap, HeaderName, HeaderValue};

use crate::address;
use crate::api::Api;
use crate::dialect::Dialect;
use crate::error::ConfigError;
use crate::http::{HttpOptions, Pool};
use crate::model::HttpModel;

/// The version of the Messages API that this crate speaks.
const ANTHROPIC_VERSION: &str = "2023-06-01";

/// Parts of the names of headers whose values are secrets.
const SECRET_HEADERS: &[&str] = &["auth", "key", "token", "secret", "cookie", "password"];

/// A service of language models: an API at an address, with a key.
///
/// All models of one endpoint share one pool of connections, which is made at the first request.
///
/// ```
/// use harness_core::{ModelId, ModelInfo};
/// use harness_providers::{Api, Endpoint};
///
/// let local = Endpoint::new(Api::OpenAiChat).provider("local").base_url("http://127.0.0.1:8080");
/// let model = local.model(ModelInfo::new(ModelId::new("local", "qwen3")));
/// assert_eq!(model.info().id.to_string(), "local/qwen3");
/// ```
#[derive(Clone)]
pub struct Endpoint {
    api: Api,
    provider: String,
    base_url: String,
    api_key: Option<Secret>,
    headers: Vec<(String, String)>,
    dialect: Option<Dialect>,
    http: HttpOptions,
    pool: Arc<Pool>,
}

impl Endpoint {
    /// The API where the company that made it serves it, without a key.
    pub fn new(api: Api) -> Self {
        Self {
            api,
            provider: api.default_provider().to_owned(),
            base_url: String::new(),
            api_key: None,
            headers: Vec::new(),
            dialect: None,
            http: HttpOptions::default(),
            pool: Arc::default(),
        }
    }

    /// Sets the name under which models of this endpoint are known.
    pub fn provider(mut self, provider: impl Into<String>) -> Self {
        self.provider = provider.into();
        self
    }

    /// Sets the base URL; blank: the API's own.
    ///
    /// Blanks around it and slashes at its end do not matter. Without a path it gets `/v1`; with one
    /// it is taken as it is (`/v1`, `/api/paas/v4`), but for Anthropic, where `/v1` is added unless
    /// the path ends in a version. The endpoint's own path (`/chat/completions`, `/responses`,
    /// `/messages`) is added if it is not there.
    pub fn base_url(mut self, base_url: impl Into<String>) -> Self {
        self.base_url = base_url.into();
        self.pool = Arc::default();
        self
    }

    /// Sets the key; `None` or blank: none is sent.
    pub fn api_key(mut self, key: Option<Secret>) -> Self {
        self.api_key = key;
        self
    }

    /// Adds a header to every request. One of the same name replaces what would be sent.
    pub fn header(mut self, name: impl Into<String>, value: impl Into<String>) -> Self {
        self.headers.push((name.into(), value.into()));
        self
    }

    /// Sets how the service speaks the API; unset: [`Dialect::guess`].
    pub fn dialect(mut self, dialect: Dialect) -> Self {
        self.dialect = Some(dialect);
        self
    }

    /// Sets how requests are sent.
    pub fn http(mut self, http: HttpOptions) -> Self {
        self.http = http;
        self.pool = Arc::default();
        self
    }

    /// A model of this endpoint.
    pub fn model(&self, info: ModelInfo) -> Arc<dyn Model> {
        Arc::new(HttpModel::new(self.clone(), info))
    }

    /// The address that requests go to, without what may be secret in it.
    pub fn url(&self) -> Result<String, ConfigError> {
        address::endpoint(self.api, &self.base_url).map(|url| address::shown(&url))
    }

    /// Whether requests could be made at all, as far as that shows without one.
    pub fn check(&self) -> Result<(), ConfigError> {
        self.headers()?;
        self.client(&self.address()?).map(drop)
    }

    /// What its requests hold that must never be shown: the key, the values of headers whose names speak of
    /// secrets, the password of the address. Without them where the endpoint cannot be [used](Self::check).
    pub fn secrets(&self) -> Secrets {
        self.headers()
            .map(|(_, secrets)| secrets)
            .unwrap_or_default()
    }

    pub(crate) fn api(&self) -> Api {
        self.api
    }

    pub(crate) fn provider_name(&self) -> &str {
        &self.provider
    }

    pub(crate) fn options(&self) -> &HttpOptions {
        &self.http
    }

    pub(crate) fn client(&self, url: &Url) -> Result<&reqwest::Client, ConfigError> {
        self.pool.client(&self.http, url)
    }

    pub(crate) fn address(&self) -> Result<Url, ConfigError> {
        address::endpoint(self.api, &self.base_url)
    }

    pub(crate) fn dialect_for(&self, model: &str) -> Dialect {
        let guess = || Dialect::guess(self.api, &self.base_url, model);
        self.dialect.clone().unwrap_or_else(guess)
    }

    /// The headers of every request, and what in them must never be shown.
    pub(crate) fn headers(&self) -> Result<(HeaderMap, Secrets), ConfigError> {
        let mut headers = HeaderMap::new();
        let mut secrets = Secrets::default();
        headers.insert("accept", HeaderValue::from_static("text/event-stream"));
        headers.insert("content-type", HeaderValue::from_static("application/json"));
        if self.api == Api::Anthropic {
            headers.insert(
                "anthropic-version",
                HeaderValue::from_static(ANTHROPIC_VERSION),
            );
        }
        if let Some(key) = self.api_key.as_ref().filter(|key| !key.is_blank()) {
            secrets.add(key.clone());
            let (name, value) = match self.api {
                Api::Anthropic => ("x-api-key", key.expose().to_owned()),
                Api::OpenAiChat | Api::OpenAiResponses => {
                    ("authorization", format!("Bearer {}", key.expose()))
                }
            };
            let mut value = HeaderValue::try_from(value).map_err(|_| ConfigError::Key)?;
            value.set_sensitive(true);
            headers.insert(name, value);
        }
        for (name, value) in &self.headers {
            let refuse = |reason| ConfigError::Header {
                name: name.clone(),
                reason,
            };
            let header =
                HeaderName::try_from(name.trim()).map_err(|_| refuse("its name is not valid"))?;
            let trimmed = value.trim();
            let mut value =
                HeaderValue::try_from(trimmed).map_err(|_| refuse("its value is not valid"))?;
            if SECRET_HEADERS
                .iter()
                .any(|part| header.as_str().contains(part))
            {
                value.set_sensitive(true);
                secrets.add(trimmed);
                if let Some((_, token)) = trimmed.split_once(' ') {
                    secrets.add(token);
                }
            }
            headers.insert(header, value);
        }
        let url = self.address()?;
        if let Some(password) = url.password() {
            secrets.add(password);
        }
        Ok((headers, secrets))
    }
}

impl fmt::Debug for Endpoint {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let names: Vec<&str> = self.headers.iter().map(|(name, _)| name.as_str()).collect();
        f.debug_struct("Endpoint")
            .field("api", &self.api)
            .field("provider", &self.provider)
            .field("url", &self.url())
            .field("api_key", &self.api_key)
            .field("headers", &names)
            .field("dialect", &self.dialect)
            .finish_non_exhaustive()
    }
}
