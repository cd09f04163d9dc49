//! The integration tests.
#![cfg(test)]

#[cfg(all(feature = "otlp-http", feature = "otlp-grpc"))]
mod otlp_context;
#[cfg(all(feature = "otlp-http", feature = "otlp-grpc"))]
mod otlp_delivery;
#[cfg(all(feature = "otlp-http", feature = "otlp-grpc"))]
mod otlp_faults;
#[cfg(all(feature = "otlp-http", feature = "otlp-grpc"))]
mod otlp_gate;
#[cfg(all(feature = "otlp-http", feature = "otlp-grpc"))]
mod otlp_metrics;
#[cfg(all(feature = "otlp-http", feature = "otlp-grpc"))]
mod otlp_secrets;
#[cfg(all(feature = "otlp-http", feature = "otlp-grpc"))]
mod received;
#[cfg(all(feature = "otlp-http", feature = "otlp-grpc"))]
mod receiver_grpc;
#[cfg(all(feature = "otlp-http", feature = "otlp-grpc"))]
mod receiver_http;
#[cfg(feature = "export")]
mod sinks;
