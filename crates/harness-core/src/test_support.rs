//! Fakes for tests, which check the rules themselves.
//!
//! [`ScriptedModel`] answers from a list and checks every request it gets against
//! [`protocol`](crate::protocol); [`PushedModel`] is pushed by hand, event by event; [`Recorder`] notes
//! which hooks ran; [`ManualClock`] never waits; [`assert_hooks_honest`] proves a narrowed
//! [`HookSet`](crate::HookSet); [`ModelCallChain`] is what stands around a model call, without a run.
//!
//! The fakes panic when a rule is broken, so that the test which broke it fails.

mod chain;
mod clock;
mod honest;
mod pushed;
mod recorder;
mod scripted;

pub use chain::ModelCallChain;
pub use clock::{CountingEntropy, ManualClock};
pub use honest::assert_hooks_honest;
pub use pushed::{Exchange, PushedModel};
pub use recorder::Recorder;
pub use scripted::{Reply, ScriptedModel};
