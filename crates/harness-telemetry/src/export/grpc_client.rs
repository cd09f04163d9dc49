//! OTLP over gRPC.

use http::HeaderMap;
use opentelemetry_proto::tonic::collector::metrics::v1::metrics_service_client::MetricsServiceClient;
use opentelemetry_proto::tonic::collector::trace::v1::trace_service_client::TraceServiceClient;
use tonic::metadata::MetadataMap;
use tonic::transport::{Channel, ClientTlsConfig, Endpoint};
use tonic::{Code, Extensions, Request, Status};

use super::client::{ANSWER_LIMIT, Failure, Message, USER_AGENT, headers, root_cause};
use super::{ExportError, OtlpTarget, tls};

/// Sends by gRPC.
pub(super) struct GrpcClient {
    channel: Channel,
    headers: HeaderMap,
}

impl GrpcClient {
    pub(super) fn new(target: &OtlpTarget) -> Result<Self, ExportError> {
        let not_valid = |_| ExportError::Endpoint("is not valid");
        let mut endpoint = Endpoint::from_shared(target.endpoint.clone())
            .and_then(|endpoint| endpoint.user_agent(USER_AGENT))
            .map_err(not_valid)?
            .connect_timeout(target.timeout.min(super::exporter::LONGEST));
        if target.is_secure() {
            let config = ClientTlsConfig::new().trust_anchors(tls::roots(target)?.roots);
            endpoint = endpoint
                .tls_config(config)
                .map_err(|error| ExportError::Certificate(root_cause(&error)))?;
        }
        Ok(Self {
            channel: endpoint.connect_lazy(),
            headers: headers(&target.headers)?,
        })
    }

    pub(super) async fn send(&self, message: &Message) -> Result<u64, Failure> {
        let channel = self.channel.clone();
        let refused = match message {
            Message::Spans(request) => TraceServiceClient::new(channel)
                .max_decoding_message_size(ANSWER_LIMIT)
                .export(self.request(request.clone()))
                .await
                .map_err(|status| failure(&status))?
                .into_inner()
                .partial_success
                .map_or(0, |partial| partial.rejected_spans),
            Message::Metrics(request) => MetricsServiceClient::new(channel)
                .max_decoding_message_size(ANSWER_LIMIT)
                .export(self.request(request.clone()))
                .await
                .map_err(|status| failure(&status))?
                .into_inner()
                .partial_success
                .map_or(0, |partial| partial.rejected_data_points),
        };
        Ok(refused.try_into().unwrap_or(0))
    }

    fn request<T>(&self, message: T) -> Request<T> {
        let headers = MetadataMap::from_headers(self.headers.clone());
        Request::from_parts(headers, Extensions::default(), message)
    }
}

fn failure(status: &Status) -> Failure {
    // A cause is there if the status was made here: there is no collector, or it does not speak gRPC.
    if let Some(cause) = std::error::Error::source(status) {
        return Failure::passing(root_cause(cause));
    }
    let reason = format!("gRPC status {:?}", status.code());
    match status.code() {
        Code::Cancelled
        | Code::DeadlineExceeded
        | Code::Aborted
        | Code::OutOfRange
        | Code::Unavailable
        | Code::DataLoss => Failure::passing(reason),
        _ => Failure::lasting(reason),
    }
}
