//! The integration tests of `harness-telemetry`: starters, runs as trees, content, export to real receivers.

#![cfg(test)]

mod content;
mod content_bounds;
mod otlp_context;
mod otlp_delivery;
mod otlp_extremes;
mod otlp_faults;
mod otlp_gate;
mod otlp_metrics;
mod otlp_runs;
mod otlp_secrets;
mod permissions;
mod propagation;
mod received;
mod receiver_grpc;
mod receiver_http;
mod runs;
mod runs_elsewhere;
mod schemas;
mod sinks;
mod starters;
mod trace_file_chrome;
mod trace_file_hostile;
mod trace_file_otlp;
mod trace_file_spans;
mod trace_file_write;
