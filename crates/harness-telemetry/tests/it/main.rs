//! The integration tests.
#![cfg(test)]

#[cfg(feature = "trace-file")]
mod trace_file_chrome;
#[cfg(feature = "trace-file")]
mod trace_file_hostile;
#[cfg(feature = "trace-file")]
mod trace_file_otlp;
#[cfg(feature = "trace-file")]
mod trace_file_spans;
#[cfg(feature = "trace-file")]
mod trace_file_write;
