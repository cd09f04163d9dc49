//! What can go wrong when an agent is put together.

use std::path::PathBuf;

/// Why an agent could not be put together.
#[derive(Debug, thiserror::Error)]
#[non_exhaustive]
pub enum Error {
    /// No model was given.
    #[error("an agent needs a model")]
    NoModel,
    /// A configuration that the loop cannot run.
    #[error(transparent)]
    Config(#[from] harness_core::Error),
    /// An extension failed.
    #[error("the extension `{extension}` failed in {hook}: {message}")]
    Extension {
        /// The extension.
        extension: String,
        /// Its hook.
        hook: &'static str,
        /// What it says.
        message: String,
    },
    /// A template could not be rendered.
    #[error("a prompt cannot be rendered: {0}")]
    Prompt(#[from] harness_prompt::Error),
    /// A session could not be read or written.
    #[error(transparent)]
    Session(#[from] harness_session::Error),
    /// A summary could not be made.
    #[error("the summary could not be made: {0}")]
    Summary(String),
    /// It was cancelled.
    #[error("cancelled")]
    Cancelled,
    /// Plan mode could not be changed, or not saved.
    #[error("plan mode: {0}")]
    Plan(String),
    /// A file with hooks could not be read, or what is in it cannot be used.
    #[error("the hook file `{path}` cannot be used: {problem}")]
    HookFile {
        /// The file.
        path: PathBuf,
        /// What is wrong with it; with line and column, if it is in the text.
        problem: String,
    },
}
