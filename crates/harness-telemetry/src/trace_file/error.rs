//! Why a file is no trace.

use std::io;

/// Why a trace could not be read.
#[derive(Debug, thiserror::Error)]
#[non_exhaustive]
pub enum TraceFileError {
    /// The file cannot be read.
    #[error("{0}")]
    Io(#[from] io::Error),
    /// There is nothing in it.
    #[error("it is empty")]
    Empty,
    /// It is larger than what is read.
    #[error("it is larger than {limit} bytes")]
    TooLarge {
        /// The most bytes that are read.
        limit: u64,
    },
    /// It has more spans than what is read.
    #[error("it has more than {limit} spans")]
    TooManySpans {
        /// The most spans that are read.
        limit: usize,
    },
    /// It is no JSON, or one in which something is not what it should be.
    #[error("{0}")]
    Json(#[from] serde_json::Error),
    /// It is cut off before its first span ends.
    #[error("it is cut off before its first span")]
    CutOff,
    /// It is JSON, but no trace.
    #[error("it has neither `resourceSpans` (OTLP) nor trace events (Chrome)")]
    NotATrace,
    /// There is no format of that name.
    #[error("there is no trace format {0:?}: there are otlp and chrome")]
    UnknownFormat(String),
}
