//! What sends to a collector, by whichever protocol.

use std::error::Error;
use std::time::Duration;

use http::{HeaderMap, HeaderName, HeaderValue};
use opentelemetry_proto::tonic::collector::metrics::v1::ExportMetricsServiceRequest;
use opentelemetry_proto::tonic::collector::trace::v1::ExportTraceServiceRequest;

#[cfg(feature = "otlp-grpc")]
use super::grpc_client::GrpcClient;
#[cfg(feature = "otlp-http")]
use super::http_client::HttpClient;
use super::{ExportError, OtlpTarget, Protocol};

/// The most bytes of a collector's answer. A good one has a few dozen.
pub(super) const ANSWER_LIMIT: usize = 64 * 1024;

pub(super) const USER_AGENT: &str = concat!("harness-telemetry/", env!("CARGO_PKG_VERSION"));

/// What is sent.
#[derive(Debug)]
pub(super) enum Message {
    Spans(ExportTraceServiceRequest),
    Metrics(ExportMetricsServiceRequest),
}

/// Why an attempt failed. Nothing that the collector wrote is in it: that may repeat what it was sent.
#[derive(Debug)]
pub(super) struct Failure {
    /// Whether a later attempt may succeed.
    pub(super) passing: bool,
    /// How long the collector wants to be left alone.
    pub(super) pause: Option<Duration>,
    pub(super) reason: String,
}

impl Failure {
    pub(super) fn lasting(reason: impl Into<String>) -> Self {
        Self {
            passing: false,
            pause: None,
            reason: reason.into(),
        }
    }

    pub(super) fn passing(reason: impl Into<String>) -> Self {
        Self {
            passing: true,
            ..Self::lasting(reason)
        }
    }
}

/// A connection to one collector, made when it is first needed.
pub(super) enum Client {
    #[cfg(feature = "otlp-http")]
    Http(HttpClient),
    #[cfg(feature = "otlp-grpc")]
    Grpc(GrpcClient),
}

impl Client {
    pub(super) fn new(target: &OtlpTarget) -> Result<Self, ExportError> {
        match target.protocol {
            #[cfg(feature = "otlp-http")]
            Protocol::HttpProtobuf | Protocol::HttpJson => HttpClient::new(target).map(Self::Http),
            #[cfg(feature = "otlp-grpc")]
            Protocol::Grpc => GrpcClient::new(target).map(Self::Grpc),
            #[cfg(not(feature = "otlp-http"))]
            _ => Err(ExportError::NotBuiltIn("otlp-http")),
            #[cfg(not(feature = "otlp-grpc"))]
            _ => Err(ExportError::NotBuiltIn("otlp-grpc")),
        }
    }

    /// One attempt. Returns how many spans (or values) of it the collector refused.
    pub(super) async fn send(&self, message: &Message) -> Result<u64, Failure> {
        match self {
            #[cfg(feature = "otlp-http")]
            Self::Http(client) => client.send(message).await,
            #[cfg(feature = "otlp-grpc")]
            Self::Grpc(client) => client.send(message).await,
        }
    }
}

/// The headers that a collector is sent with each request. Their values are marked as secret.
pub(super) fn headers(all: &[(String, String)]) -> Result<HeaderMap, ExportError> {
    let mut headers = HeaderMap::new();
    for (name, value) in all {
        let wrong = |reason| ExportError::Header {
            name: name.clone(),
            reason,
        };
        let key = HeaderName::try_from(name.as_str()).map_err(|_| wrong("has no valid name"))?;
        if key.as_str().ends_with("-bin") {
            return Err(wrong("is a binary one of gRPC"));
        }
        let mut value =
            HeaderValue::try_from(value.as_str()).map_err(|_| wrong("has no valid value"))?;
        if value.to_str().is_err() {
            return Err(wrong("has no valid value"));
        }
        value.set_sensitive(true);
        headers.append(key, value);
    }
    Ok(headers)
}

/// The cause of an error that has no other cause: what the system or the TLS library says.
pub(super) fn root_cause(error: &(dyn Error + 'static)) -> String {
    let mut root = error;
    while let Some(cause) = root.source() {
        root = cause;
    }
    root.to_string()
}
