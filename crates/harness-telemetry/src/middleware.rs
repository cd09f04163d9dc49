//! Spans of an agent's runs, from the hooks of `harness-core`.
//!
//! [`Telemetry`] gives two middlewares. The outer one stands outside all others and makes the spans of what a
//! run, a turn, an attempt and a call become with them: `harness.run`, `harness.turn`, `harness.attempt`,
//! `harness.tool_call`. The inner one stands inside all others and makes the spans of what is done in the end:
//! `invoke_agent`, `chat`, `execute_tool`. So a refused call has the first and not the second, and a middleware
//! that asks another model leaves two `chat` in one attempt.
//!
//! Each span is entered while what it is about goes on, so that spans which are started inside, by anybody, are
//! its children: in parallel calls, in concurrent runs, in runs that a tool starts. A run becomes a child of the
//! span in which its handle is polled; or of the one that the caller names by a [`ParentSpan`] in its attributes;
//! or, if it is in no recorded span, goes on from a [`TraceContext`] in them.

mod content;
mod digest;
mod hooks;
mod inner;
mod outer;
mod request;
mod run_trace;
mod secret_shapes;
mod settings;

pub use content::{ContentCapture, Redactor};
pub use request::ask;
pub use run_trace::{ParentSpan, agent_name, run_span};
pub use secret_shapes::SecretShapes;
pub use settings::{Propagation, Telemetry};

#[cfg(doc)]
use harness_core::TraceContext;
