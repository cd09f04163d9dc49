//! Why an exporter cannot be set up.

/// Why an exporter cannot be set up. No text of it has a header's value or more of an address than scheme,
/// host and port.
#[derive(Clone, Debug, PartialEq, thiserror::Error)]
#[non_exhaustive]
pub enum ExportError {
    /// The collector's address is not one.
    #[error("the collector's address {0}")]
    Endpoint(&'static str),
    /// A header cannot be sent.
    #[error("the header {name:?} for the collector {reason}")]
    Header {
        /// The header's name.
        name: String,
        /// What is wrong.
        reason: &'static str,
    },
    /// A certificate cannot be used, or there are none to trust.
    #[error("{0}")]
    Certificate(String),
    /// The protocol's code is not part of this build.
    #[error("this program was built without the feature `{0}`, which sends to such a collector")]
    NotBuiltIn(&'static str),
    /// No time at all was given for a collector's answer.
    #[error("a collector needs more than no time to answer")]
    Timeout,
    /// A part of all traces is less than none or more than all.
    #[error("the ratio of sampled traces is {0}; it must be between 0 and 1")]
    Ratio(f64),
}
