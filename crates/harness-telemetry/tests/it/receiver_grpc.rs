//! A collector that speaks gRPC.

use std::net::SocketAddr;
use std::sync::mpsc;
use std::thread;

use opentelemetry_proto::tonic::collector::metrics::v1::metrics_service_server::{
    MetricsService, MetricsServiceServer,
};
use opentelemetry_proto::tonic::collector::metrics::v1::{
    ExportMetricsServiceRequest, ExportMetricsServiceResponse,
};
use opentelemetry_proto::tonic::collector::trace::v1::trace_service_server::{
    TraceService, TraceServiceServer,
};
use opentelemetry_proto::tonic::collector::trace::v1::{
    ExportTraceServiceRequest, ExportTraceServiceResponse,
};
use tonic::transport::server::TcpIncoming;
use tonic::transport::{Identity, Server, ServerTlsConfig};
use tonic::{Code, Request, Response, Status};

use crate::received::Received;

/// A collector on a port of this machine.
pub(crate) struct GrpcReceiver {
    pub(crate) address: SocketAddr,
    pub(crate) received: Received,
}

/// Takes what comes, or answers with a status and all that it was sent as the text.
#[derive(Clone)]
struct Service {
    received: Received,
    status: Option<Code>,
}

impl GrpcReceiver {
    /// One of spans.
    pub(crate) fn start(status: Option<Code>) -> Self {
        Self::serve(status, |service, incoming| async move {
            let service = TraceServiceServer::new(service);
            let server = Server::builder().serve_with_incoming(service, incoming);
            server.await.unwrap();
        })
    }

    /// One of spans that speaks TLS, and the certificate to trust.
    pub(crate) fn start_tls() -> (Self, String) {
        let own = rcgen::generate_simple_self_signed(["localhost".to_owned()]).unwrap();
        let identity = Identity::from_pem(own.cert.pem(), own.signing_key.serialize_pem());
        let receiver = Self::serve(None, |service, incoming| async move {
            let service = TraceServiceServer::new(service);
            let config = ServerTlsConfig::new().identity(identity);
            let server = Server::builder().tls_config(config).unwrap();
            server.serve_with_incoming(service, incoming).await.unwrap();
        });
        (receiver, own.cert.pem())
    }

    /// One of metrics.
    pub(crate) fn start_metrics() -> Self {
        Self::serve(None, |service, incoming| async move {
            let service = MetricsServiceServer::new(service);
            let server = Server::builder().serve_with_incoming(service, incoming);
            server.await.unwrap();
        })
    }

    fn serve<F: Future<Output = ()>>(
        status: Option<Code>,
        serve: impl FnOnce(Service, TcpIncoming) -> F + Send + 'static,
    ) -> Self {
        let received = Received::default();
        let service = Service {
            received: received.clone(),
            status,
        };
        let (sender, address) = mpsc::channel();
        thread::spawn(move || {
            let mut builder = tokio::runtime::Builder::new_current_thread();
            builder.enable_all().build().unwrap().block_on(async {
                let incoming = TcpIncoming::bind(([127, 0, 0, 1], 0).into()).unwrap();
                sender.send(incoming.local_addr().unwrap()).unwrap();
                serve(service, incoming).await;
            });
        });
        let address = address.recv().unwrap();
        Self { address, received }
    }

    pub(crate) fn base(&self) -> String {
        format!("http://{}", self.address)
    }
}

impl Service {
    fn answer<T>(&self, request: &Request<T>) -> Result<(), Status> {
        let text = format!("{:?}", request.metadata());
        self.received.add_request(text.clone());
        self.status
            .map_or(Ok(()), |code| Err(Status::new(code, text)))
    }
}

#[tonic::async_trait]
impl TraceService for Service {
    async fn export(
        &self,
        request: Request<ExportTraceServiceRequest>,
    ) -> Result<Response<ExportTraceServiceResponse>, Status> {
        self.answer(&request)?;
        self.received.add_spans(request.into_inner());
        Ok(Response::new(ExportTraceServiceResponse::default()))
    }
}

#[tonic::async_trait]
impl MetricsService for Service {
    async fn export(
        &self,
        request: Request<ExportMetricsServiceRequest>,
    ) -> Result<Response<ExportMetricsServiceResponse>, Status> {
        self.answer(&request)?;
        self.received.add_metrics(request.into_inner());
        Ok(Response::new(ExportMetricsServiceResponse::default()))
    }
}
