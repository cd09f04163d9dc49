//! OTLP over HTTP.

use std::time::Duration;

use http::HeaderMap;
use http::header::{CONTENT_TYPE, HeaderValue, RETRY_AFTER};
use opentelemetry_proto::tonic::collector::metrics::v1::ExportMetricsServiceResponse;
use opentelemetry_proto::tonic::collector::trace::v1::ExportTraceServiceResponse;
use reqwest::{Client, Response, StatusCode, redirect};
use serde::Serialize;
use serde::de::DeserializeOwned;

use super::client::{ANSWER_LIMIT, Failure, Message, USER_AGENT, headers, root_cause};
use super::{ExportError, OtlpTarget, Protocol, tls};

/// Sends by HTTP POST.
pub(super) struct HttpClient {
    client: Client,
    endpoint: String,
    headers: HeaderMap,
    json: bool,
}

impl HttpClient {
    pub(super) fn new(target: &OtlpTarget) -> Result<Self, ExportError> {
        let json = target.protocol == Protocol::HttpJson;
        let mut headers = headers(&target.headers)?;
        headers.insert(
            CONTENT_TYPE,
            HeaderValue::from_static(if json {
                "application/json"
            } else {
                "application/x-protobuf"
            }),
        );
        let client = Client::builder()
            .tls_backend_preconfigured(tls::config(target)?)
            .http1_only()
            // To another place, the headers would go along.
            .redirect(redirect::Policy::none())
            .referer(false)
            .user_agent(USER_AGENT)
            // Without this the client would read the proxies of the environment.
            .no_proxy()
            .build()
            .map_err(|error| ExportError::Certificate(root_cause(&error.without_url())))?;
        Ok(Self {
            client,
            endpoint: target.endpoint.clone(),
            headers,
            json,
        })
    }

    pub(super) async fn send(&self, message: &Message) -> Result<u64, Failure> {
        let body = match message {
            Message::Spans(request) => self.encode(request)?,
            Message::Metrics(request) => self.encode(request)?,
        };
        let request = self.client.post(&self.endpoint);
        let request = request.headers(self.headers.clone()).body(body);
        let response = request.send().await.map_err(failure)?;
        let status = response.status();
        if !status.is_success() {
            return Err(refusal(status, response.headers()));
        }
        let answer = read(response).await?;
        Ok(match message {
            Message::Spans(_) => self
                .decode::<ExportTraceServiceResponse>(&answer)
                .and_then(|answer| answer.partial_success)
                .map_or(0, |partial| partial.rejected_spans),
            Message::Metrics(_) => self
                .decode::<ExportMetricsServiceResponse>(&answer)
                .and_then(|answer| answer.partial_success)
                .map_or(0, |partial| partial.rejected_data_points),
        }
        .try_into()
        .unwrap_or(0))
    }

    fn encode(&self, message: &(impl prost::Message + Serialize)) -> Result<Vec<u8>, Failure> {
        if self.json {
            serde_json::to_vec(message).map_err(|error| Failure::lasting(error.to_string()))
        } else {
            Ok(message.encode_to_vec())
        }
    }

    /// An answer that is not understood refuses nothing: the status was good.
    fn decode<T: prost::Message + Default + DeserializeOwned>(&self, answer: &[u8]) -> Option<T> {
        if self.json {
            serde_json::from_slice(answer).ok()
        } else {
            T::decode(answer).ok()
        }
    }
}

async fn read(mut response: Response) -> Result<Vec<u8>, Failure> {
    let mut answer = Vec::new();
    while let Some(chunk) = response.chunk().await.map_err(failure)? {
        if answer.len() + chunk.len() > ANSWER_LIMIT {
            return Err(Failure::lasting("answers without an end"));
        }
        answer.extend_from_slice(&chunk);
    }
    Ok(answer)
}

/// What the specification says of statuses: these four pass, all others do not.
fn refusal(status: StatusCode, headers: &HeaderMap) -> Failure {
    let seconds = headers
        .get(RETRY_AFTER)
        .and_then(|value| value.to_str().ok());
    let seconds = seconds.and_then(|value| value.trim().parse().ok());
    Failure {
        passing: [429, 502, 503, 504].contains(&status.as_u16()),
        pause: seconds.map(Duration::from_secs),
        reason: format!("HTTP status {status}"),
    }
}

fn failure(error: reqwest::Error) -> Failure {
    let passing = !error.is_builder();
    let reason = root_cause(&error.without_url());
    if passing {
        Failure::passing(reason)
    } else {
        Failure::lasting(reason)
    }
}
