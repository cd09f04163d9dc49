//! The address of a collector.

use std::fmt;
use std::time::Duration;

use super::ExportError;

/// How a collector is spoken to.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
#[non_exhaustive]
pub enum Protocol {
    /// OTLP over gRPC: needs the feature `otlp-grpc`. The usual port is 4317.
    Grpc,
    /// OTLP over HTTP, in protobuf: needs the feature `otlp-http`. The usual port is 4318.
    HttpProtobuf,
    /// OTLP over HTTP, in JSON: needs the feature `otlp-http`.
    HttpJson,
}

/// A collector for spans or for metrics. Its `Debug` shows no header's value, and of the address only scheme,
/// host and port.
#[derive(Clone, PartialEq, Eq)]
#[non_exhaustive]
pub struct OtlpTarget {
    /// How it is spoken to.
    pub protocol: Protocol,
    /// Its address, which begins with `http://` or `https://`. Over HTTP, the whole address of what is sent
    /// there: [`for_traces`](Self::for_traces) and [`for_metrics`](Self::for_metrics) make one of a
    /// collector's base address. A user name and a password before the host are sent as basic authentication.
    pub endpoint: String,
    /// What is sent with each request, such as `authorization`.
    pub headers: Vec<(String, String)>,
    /// The longest time that one batch takes, with all attempts: 10 s. More than a day counts as a day.
    pub timeout: Duration,
    /// Certificates to trust beside those of this machine, each as PEM text.
    pub certificates: Vec<String>,
}

impl OtlpTarget {
    /// A collector at exactly this address.
    pub fn new(protocol: Protocol, endpoint: impl Into<String>) -> Self {
        Self {
            protocol,
            endpoint: endpoint.into(),
            headers: Vec::new(),
            timeout: Duration::from_secs(10),
            certificates: Vec::new(),
        }
    }

    /// A collector of spans at this base address: over HTTP, `/v1/traces` is appended.
    pub fn for_traces(protocol: Protocol, base: &str) -> Self {
        Self::below(protocol, base, "v1/traces")
    }

    /// A collector of metrics at this base address: over HTTP, `/v1/metrics` is appended.
    pub fn for_metrics(protocol: Protocol, base: &str) -> Self {
        Self::below(protocol, base, "v1/metrics")
    }

    fn below(protocol: Protocol, base: &str, path: &str) -> Self {
        match protocol {
            Protocol::Grpc => Self::new(protocol, base),
            Protocol::HttpProtobuf | Protocol::HttpJson => {
                Self::new(protocol, format!("{}/{path}", base.trim_end_matches('/')))
            }
        }
    }

    /// Adds a header.
    pub fn header(mut self, name: impl Into<String>, value: impl Into<String>) -> Self {
        self.headers.push((name.into(), value.into()));
        self
    }

    /// Sets the longest time that one batch takes, with all attempts.
    pub fn timeout(mut self, timeout: Duration) -> Self {
        self.timeout = timeout;
        self
    }

    /// Adds a certificate to trust, as PEM text.
    pub fn certificate(mut self, pem: impl Into<String>) -> Self {
        self.certificates.push(pem.into());
        self
    }

    /// Scheme, host and port. The rest of an address may be secret.
    pub(super) fn place(&self) -> Result<String, ExportError> {
        let wrong = |reason| Err(ExportError::Endpoint(reason));
        let Some((scheme, rest)) = self.endpoint.split_once("://") else {
            return wrong("must begin with `http://` or `https://`");
        };
        if !["http", "https"].contains(&scheme) {
            return wrong("must begin with `http://` or `https://`");
        }
        let authority = rest.split(['/', '?', '#', '\\']).next().unwrap_or(rest);
        let (user, host) = match authority.rsplit_once('@') {
            Some((user, host)) => (Some(user), host),
            None => (None, authority),
        };
        if user.is_some() && self.protocol == Protocol::Grpc {
            return wrong("has a user name, which gRPC cannot send: use a header");
        }
        if !is_host(host) {
            return wrong("has no valid host and port");
        }
        Ok(format!("{scheme}://{host}"))
    }

    #[cfg(any(feature = "otlp-http", feature = "otlp-grpc"))]
    pub(super) fn is_secure(&self) -> bool {
        self.endpoint.starts_with("https://")
    }

    /// Checks everything that can be checked without reading a file or sending a byte: what
    /// [`start`](super::ExporterBuilder::start) would refuse.
    pub fn check(&self) -> Result<(), ExportError> {
        let (built, feature) = match self.protocol {
            Protocol::Grpc => (cfg!(feature = "otlp-grpc"), "otlp-grpc"),
            Protocol::HttpProtobuf | Protocol::HttpJson => {
                (cfg!(feature = "otlp-http"), "otlp-http")
            }
        };
        if !built {
            return Err(ExportError::NotBuiltIn(feature));
        }
        if self.timeout.is_zero() {
            return Err(ExportError::Timeout);
        }
        self.place()?;
        #[cfg(any(feature = "otlp-http", feature = "otlp-grpc"))]
        {
            super::client::headers(&self.headers)?;
            super::tls::own_roots(&self.certificates)?;
        }
        Ok(())
    }
}

/// Whether this is a host, with a port or without.
fn is_host(text: &str) -> bool {
    let (host, port) = match text.rsplit_once(':') {
        Some((host, port)) if !port.ends_with(']') => (host, Some(port)),
        _ => (text, None),
    };
    let port_is_one = port.is_none_or(|port| port.parse::<u16>().is_ok());
    let inside = match host.strip_prefix('[') {
        Some(address) => address.strip_suffix(']').unwrap_or_default(),
        None if host.contains(':') => return false,
        None => host,
    };
    let fits = |c: char| c.is_alphanumeric() || ['.', '-', '_', ':', '%'].contains(&c);
    port_is_one && !inside.is_empty() && inside.chars().all(fits)
}

impl fmt::Debug for OtlpTarget {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let place = self.place();
        let names: Vec<&str> = self.headers.iter().map(|(name, _)| name.as_str()).collect();
        f.debug_struct("OtlpTarget")
            .field("protocol", &self.protocol)
            .field("endpoint", &place.as_deref().unwrap_or("not valid"))
            .field("headers", &names)
            .field("timeout", &self.timeout)
            .field("certificates", &self.certificates.len())
            .finish()
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn an_address_is_told_without_its_secrets() {
        let cases = [
            (
                "http://localhost:4318/v1/traces",
                Some("http://localhost:4318"),
            ),
            (
                "https://me:hush@example.org/hush?key=hush",
                Some("https://example.org"),
            ),
            (
                "https://me:hu@sh@example.org:443",
                Some("https://example.org:443"),
            ),
            ("http://[::1]:4318/v1", Some("http://[::1]:4318")),
            ("http://me:hu/sh@example.org", None),
            ("localhost:4318", None),
            ("ftp://example.org", None),
            ("http://", None),
            ("http://:80", None),
            ("http://host:99999", None),
        ];
        for (endpoint, place) in cases {
            let target = OtlpTarget::new(Protocol::HttpProtobuf, endpoint);
            assert_eq!(target.place().ok().as_deref(), place, "{endpoint}");
            assert!(!format!("{target:?}").contains("hu"), "{target:?}");
        }
    }

    #[test]
    fn a_base_address_gets_the_signal_s_path() {
        let spans = OtlpTarget::for_traces(Protocol::HttpJson, "http://localhost:4318/");
        assert_eq!(spans.endpoint, "http://localhost:4318/v1/traces");
        let metrics = OtlpTarget::for_metrics(Protocol::HttpProtobuf, "http://localhost/otlp");
        assert_eq!(metrics.endpoint, "http://localhost/otlp/v1/metrics");
        let grpc = OtlpTarget::for_metrics(Protocol::Grpc, "http://localhost:4317");
        assert_eq!(grpc.endpoint, "http://localhost:4317");
    }
}
