//! The HTTP client: made at the first request, shared by all that follow.

use std::sync::OnceLock;
use std::time::Duration;

use reqwest::{Client, Url, redirect};

use crate::error::ConfigError;
use crate::proxy::ProxyOptions;
use crate::sse;
use crate::tls;

/// How requests are sent. Values only: nothing is read from the environment.
#[derive(Clone, Debug, PartialEq, Eq)]
#[non_exhaustive]
pub struct HttpOptions {
    /// Proxies; `None`: requests go out directly.
    pub proxy: Option<ProxyOptions>,
    /// Certificates to trust beside those of this machine, each as PEM text. They count for the
    /// address itself, also behind a proxy.
    pub extra_ca_pem: Vec<String>,
    /// The longest time to a connection, TLS included: 10 s.
    pub connect_timeout: Duration,
    /// The longest time without a byte, before the answer and within it: 300 s.
    pub idle_timeout: Duration,
    /// The `User-Agent`.
    pub user_agent: String,
    /// The most bytes of one line of a stream: 10 MB.
    pub max_line_bytes: usize,
}

impl Default for HttpOptions {
    fn default() -> Self {
        Self {
            proxy: None,
            extra_ca_pem: Vec::new(),
            connect_timeout: Duration::from_secs(10),
            idle_timeout: Duration::from_mins(5),
            user_agent: concat!("harness/", env!("CARGO_PKG_VERSION")).to_owned(),
            max_line_bytes: sse::MAX_LINE_BYTES,
        }
    }
}

impl HttpOptions {
    /// Sets the proxies.
    pub fn proxy(mut self, proxy: ProxyOptions) -> Self {
        self.proxy = Some(proxy);
        self
    }

    /// Adds a certificate to trust, as PEM text.
    pub fn extra_ca_pem(mut self, pem: impl Into<String>) -> Self {
        self.extra_ca_pem.push(pem.into());
        self
    }

    /// Sets the longest time to a connection.
    pub fn connect_timeout(mut self, timeout: Duration) -> Self {
        self.connect_timeout = timeout;
        self
    }

    /// Sets the longest time without a byte.
    pub fn idle_timeout(mut self, timeout: Duration) -> Self {
        self.idle_timeout = timeout;
        self
    }

    /// Sets the `User-Agent`.
    pub fn user_agent(mut self, user_agent: impl Into<String>) -> Self {
        self.user_agent = user_agent.into();
        self
    }

    /// Sets the most bytes of one line of a stream.
    pub fn max_line_bytes(mut self, max_bytes: usize) -> Self {
        self.max_line_bytes = max_bytes;
        self
    }
}

/// One pool of connections, made when it is first needed.
#[derive(Debug, Default)]
pub(crate) struct Pool(OnceLock<Result<Client, ConfigError>>);

impl Pool {
    /// The client for `url`. One pool serves one address and one set of options.
    pub(crate) fn client(&self, options: &HttpOptions, url: &Url) -> Result<&Client, ConfigError> {
        self.0
            .get_or_init(|| build(options, url))
            .as_ref()
            .map_err(Clone::clone)
    }
}

fn build(options: &HttpOptions, url: &Url) -> Result<Client, ConfigError> {
    let proxy = match &options.proxy {
        Some(proxies) => proxies.proxy_for(url)?,
        None => None,
    };
    let to_proxy = proxy.as_ref().is_some_and(|(_, secure)| *secure);
    let secure = url.scheme() == "https" || to_proxy;
    let mut builder = Client::builder()
        .tls_backend_preconfigured(tls::config(secure, &options.extra_ca_pem)?)
        .redirect(redirect::Policy::none())
        .referer(false)
        .tcp_nodelay(true)
        .tcp_keepalive(Duration::from_secs(30))
        .connect_timeout(options.connect_timeout)
        .user_agent(&options.user_agent)
        // Without this the client would read the proxies of the environment.
        .no_proxy();
    if let Some((proxy, _)) = proxy {
        builder = builder.proxy(proxy);
    }
    builder
        .build()
        .map_err(|error| ConfigError::Client(chain(&error)))
}

/// An error with its causes, each once.
pub(crate) fn chain(error: &dyn std::error::Error) -> String {
    let mut text = error.to_string();
    let mut source = error.source();
    while let Some(cause) = source {
        let cause_text = cause.to_string();
        if !text.contains(&cause_text) {
            text.push_str(": ");
            text.push_str(&cause_text);
        }
        source = cause.source();
    }
    text
}
