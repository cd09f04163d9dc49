//! What can be wrong with a configuration, before any request.

/// Why a model cannot be asked as it is configured.
///
/// None of these gets better by trying again. Models are built without a `Result`, so that a wrong
/// value shows at the first request, as [`ModelError::Other`](harness_core::ModelError::Other) with
/// these words; [`HttpModel::check`](crate::HttpModel::check) tells it earlier.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
#[non_exhaustive]
pub enum ConfigError {
    /// No such API.
    #[error("unknown API `{name}`; the APIs are {known}")]
    UnknownApi {
        /// What was asked for.
        name: String,
        /// Those that there are.
        known: String,
    },
    /// No such preset of a dialect.
    #[error("unknown dialect `{name}`; the dialects are {known}")]
    UnknownDialect {
        /// What was asked for.
        name: String,
        /// Those that there are.
        known: String,
    },
    /// A base URL that cannot be used.
    #[error("the base URL `{url}` cannot be used: {reason}")]
    BaseUrl {
        /// The URL, without what may be secret in it.
        url: String,
        /// What is wrong with it.
        reason: String,
    },
    /// A header that HTTP does not allow. The value is not shown: it may be a secret.
    #[error("the header `{name}` cannot be sent: {reason}")]
    Header {
        /// Its name.
        name: String,
        /// What is wrong with it.
        reason: &'static str,
    },
    /// A key with characters that a header cannot carry.
    #[error("the API key holds characters that cannot be sent, such as a line break")]
    Key,
    /// A proxy that cannot be used.
    #[error("the proxy cannot be used: {0}")]
    Proxy(String),
    /// A certificate that cannot be read, or none at all.
    #[error("{0}")]
    Certificate(String),
    /// The HTTP client could not be made.
    #[error("the HTTP client cannot be made: {0}")]
    Client(String),
    /// A script that cannot be read.
    #[error("the script {origin} cannot be used: {reason}")]
    Script {
        /// Where it came from.
        origin: String,
        /// What is wrong with it.
        reason: String,
    },
}
