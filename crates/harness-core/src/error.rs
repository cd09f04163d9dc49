//! What can go wrong.

use std::time::Duration;

use serde::{Deserialize, Serialize};

use crate::outcome::{RunOutcome, RunStatus};

/// Why a run, or the building of a configuration, failed.
#[derive(Clone, Debug, thiserror::Error)]
#[non_exhaustive]
pub enum Error {
    /// A model request failed, after all attempts that the policy allows.
    #[error("{error}{}", attempts_note(*.attempts))]
    Model {
        /// The error of the last attempt.
        error: ModelError,
        /// How many requests were made in this turn.
        attempts: u32,
    },
    /// The model kept answering with nothing.
    #[error("the model sent {replies} empty replies in a row")]
    EmptyReplies {
        /// How many.
        replies: u32,
    },
    /// The provider's filter stopped the reply, or the model refused.
    #[error("the reply was stopped by the provider's content filter")]
    ContentFilter,
    /// A tool reported that the run cannot go on.
    #[error("the tool `{tool}` ended the run: {message}")]
    Tool {
        /// The tool.
        tool: String,
        /// What it said.
        message: String,
    },
    /// A middleware that must not be passed over failed.
    #[error("the middleware `{middleware}` failed in `{hook}`: {message}")]
    Middleware {
        /// The middleware.
        middleware: String,
        /// The hook.
        hook: &'static str,
        /// What it said.
        message: String,
    },
    /// The journal could not be written or read, so nothing more may be done.
    #[error(transparent)]
    Journal(#[from] JournalError),
    /// A configuration that cannot be run.
    #[error("{0}")]
    Config(String),
    /// There was nothing to answer: no message, or only blank ones.
    #[error("there is no message to answer")]
    EmptyInput,
}

fn attempts_note(attempts: u32) -> String {
    if attempts > 1 {
        format!(" (after {attempts} attempts)")
    } else {
        String::new()
    }
}

impl Error {
    /// Whether the same run may succeed later, unchanged.
    pub fn is_retryable(&self) -> bool {
        match self {
            Self::Model { error, .. } => error.is_retryable(),
            Self::EmptyReplies { .. } => true,
            Self::ContentFilter
            | Self::Tool { .. }
            | Self::Middleware { .. }
            | Self::Journal(_)
            | Self::Config(_)
            | Self::EmptyInput => false,
        }
    }

    /// The word for it in events and in JSON.
    pub fn word(&self) -> &'static str {
        match self {
            Self::Model { error, .. } => error.word(),
            Self::EmptyReplies { .. } => "empty_replies",
            Self::ContentFilter => "content_filter",
            Self::Tool { .. } => "tool",
            Self::Middleware { .. } => "middleware",
            Self::Journal(_) => "journal",
            Self::Config(_) => "config",
            Self::EmptyInput => "empty_input",
        }
    }
}

/// Why one model request failed.
///
/// Messages never hold a key: clients take care of that before they make one of these.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize, thiserror::Error)]
#[serde(tag = "kind", rename_all = "snake_case")]
#[non_exhaustive]
pub enum ModelError {
    /// No connection, or it broke before the reply began.
    #[error("cannot reach {url}: {message}")]
    Connection {
        /// Whom the client tried to reach.
        url: String,
        /// What the network said.
        message: String,
    },
    /// Nothing came for too long.
    #[error("no answer from the model for {seconds} s")]
    Timeout {
        /// How long the client waited.
        seconds: u64,
    },
    /// The reply ended before the provider said that it was complete.
    #[error("the model's reply was cut off by the connection: {message}")]
    StreamCut {
        /// What was seen.
        message: String,
    },
    /// The reply could not be read.
    #[error("the model's reply could not be read: {message}")]
    StreamInvalid {
        /// What was seen.
        message: String,
    },
    /// The reply grew past a bound.
    #[error("the model's reply is larger than {max_bytes} bytes")]
    ReplyTooLarge {
        /// The bound.
        max_bytes: usize,
    },
    /// Too many requests for now.
    #[error("the provider limits the rate of requests{}: {message}", status_note(*.status))]
    RateLimited {
        /// The HTTP status, where there was one.
        status: Option<u16>,
        /// What the provider said.
        message: String,
        /// How long the provider asks to wait.
        retry_after: Option<Duration>,
    },
    /// The provider failed or is overloaded (5xx, 529, 408).
    #[error("the provider failed{}: {message}", status_note(*.status))]
    Unavailable {
        /// The HTTP status, where there was one.
        status: Option<u16>,
        /// What the provider said.
        message: String,
        /// How long the provider asks to wait.
        retry_after: Option<Duration>,
    },
    /// The account's quota or credit is used up; waiting does not help.
    #[error("the account's quota or credit is used up{}: {message}", status_note(*.status))]
    Quota {
        /// The HTTP status, where there was one.
        status: Option<u16>,
        /// What the provider said.
        message: String,
    },
    /// The key is missing, wrong or not allowed to do this (401, 403).
    #[error("the provider refused the key (status {status}): {message}")]
    Authentication {
        /// The HTTP status.
        status: u16,
        /// What the provider said.
        message: String,
    },
    /// There is no such model or no such address (404).
    #[error("not found at {url} (status 404): {message}")]
    NotFound {
        /// The full address that was asked.
        url: String,
        /// What the provider said.
        message: String,
    },
    /// The conversation is longer than the model's context window.
    #[error("the conversation does not fit the model's context window: {message}")]
    ContextOverflow {
        /// What the provider said.
        message: String,
    },
    /// The request's body is too large, whatever its tokens (413): usually a picture.
    #[error("the request is too large for the provider (status 413): {message}")]
    RequestTooLarge {
        /// What the provider said.
        message: String,
    },
    /// The provider refused the request as it is (any other 4xx).
    #[error("the provider refused the request{}: {message}", status_note(*.status))]
    InvalidRequest {
        /// The HTTP status, where there was one.
        status: Option<u16>,
        /// What the provider said.
        message: String,
    },
    /// The request was cancelled by its caller.
    #[error("cancelled")]
    Cancelled,
    /// Anything else; a client's own words.
    #[error("{message}")]
    Other {
        /// What happened.
        message: String,
        /// Whether the same request may succeed later.
        retryable: bool,
    },
}

fn status_note(status: Option<u16>) -> String {
    status.map_or_else(String::new, |status| format!(" (status {status})"))
}

impl ModelError {
    /// Whether the same request may succeed later, unchanged. No wildcard: a new kind has to decide.
    pub fn is_retryable(&self) -> bool {
        match self {
            Self::Connection { .. }
            | Self::Timeout { .. }
            | Self::StreamCut { .. }
            | Self::StreamInvalid { .. }
            | Self::RateLimited { .. }
            | Self::Unavailable { .. } => true,
            Self::Other { retryable, .. } => *retryable,
            Self::ReplyTooLarge { .. }
            | Self::Quota { .. }
            | Self::Authentication { .. }
            | Self::NotFound { .. }
            | Self::ContextOverflow { .. }
            | Self::RequestTooLarge { .. }
            | Self::InvalidRequest { .. }
            | Self::Cancelled => false,
        }
    }

    /// How long the provider asks to wait before the next try.
    pub fn retry_after(&self) -> Option<Duration> {
        match self {
            Self::RateLimited { retry_after, .. } | Self::Unavailable { retry_after, .. } => {
                *retry_after
            }
            _ => None,
        }
    }

    /// The word for it in events and in JSON.
    pub fn word(&self) -> &'static str {
        match self {
            Self::Connection { .. } => "connection",
            Self::Timeout { .. } => "timeout",
            Self::StreamCut { .. } => "stream_cut",
            Self::StreamInvalid { .. } => "stream_invalid",
            Self::ReplyTooLarge { .. } => "reply_too_large",
            Self::RateLimited { .. } => "rate_limited",
            Self::Unavailable { .. } => "unavailable",
            Self::Quota { .. } => "quota",
            Self::Authentication { .. } => "authentication",
            Self::NotFound { .. } => "not_found",
            Self::ContextOverflow { .. } => "context_overflow",
            Self::RequestTooLarge { .. } => "request_too_large",
            Self::InvalidRequest { .. } => "invalid_request",
            Self::Cancelled => "cancelled",
            Self::Other { .. } => "other",
        }
    }
}

/// Why a journal could not do its work.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
#[error("the journal failed at step `{step}`: {message}")]
pub struct JournalError {
    /// The step's name.
    pub step: String,
    /// What happened.
    pub message: String,
}

/// What a middleware's hook reports when it cannot do its work.
///
/// Any error converts into it, so `?` works in hooks.
#[derive(Debug)]
pub struct MiddlewareError(pub String);

impl<E: std::error::Error> From<E> for MiddlewareError {
    fn from(error: E) -> Self {
        Self(error.to_string())
    }
}

/// A run that failed: the reason, and the outcome with the conversation as far as it came.
#[derive(Debug)]
pub struct RunError {
    error: Error,
    outcome: Box<RunOutcome>,
}

impl RunError {
    pub(crate) fn new(outcome: RunOutcome) -> Self {
        let error = match &outcome.status {
            RunStatus::Failed(error) => error.clone(),
            other => Error::Config(format!("the run ended as `{}`", other.word())),
        };
        Self {
            error,
            outcome: Box::new(outcome),
        }
    }

    /// The reason.
    pub fn error(&self) -> &Error {
        &self.error
    }

    /// The outcome; its history can be gone on from.
    pub fn outcome(&self) -> &RunOutcome {
        &self.outcome
    }

    /// The outcome, by value.
    pub fn into_outcome(self) -> RunOutcome {
        *self.outcome
    }
}

impl std::fmt::Display for RunError {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        self.error.fmt(f)
    }
}

impl std::error::Error for RunError {
    fn source(&self) -> Option<&(dyn std::error::Error + 'static)> {
        Some(&self.error)
    }
}
