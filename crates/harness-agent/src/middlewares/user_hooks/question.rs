//! What a hook is asked.

use std::sync::Arc;

use harness_core::{ActiveCall, RunContext};
use serde_json::{Map, Value};

use super::hook::Hook;
use super::hook_event::HookEvent;
use super::input::Asker;
use super::matcher::Fit;
use super::shown_call::ShownCall;

/// One hook, and what it is given on its standard input.
pub(super) struct Question<'h> {
    pub(super) hook: &'h Hook,
    pub(super) input: Arc<[u8]>,
    /// The call that it is about, as it is shown.
    pub(super) call: Option<ShownCall>,
}

impl<'h> Question<'h> {
    /// Hooks that are all given the same, of what is no call.
    pub(super) fn all(hooks: &[&'h Hook], input: Vec<u8>) -> Vec<Self> {
        let input: Arc<[u8]> = input.into();
        let questions = hooks.iter().map(|hook| Self {
            hook,
            input: Arc::clone(&input),
            call: None,
        });
        questions.collect()
    }

    /// Hooks that are asked about a call, each under the name that its matcher has for the tool; with `more`
    /// fields.
    pub(super) fn of_call(
        hooks: &[(&'h Hook, Fit)],
        cx: &RunContext,
        call: &ActiveCall,
        asker: &Asker,
        event: HookEvent,
        more: &Map<String, Value>,
    ) -> Vec<Self> {
        let questions = hooks.iter().map(|(hook, fit)| {
            let theirs = match fit {
                Fit::Ours => None,
                Fit::Theirs(theirs) => Some(*theirs),
            };
            let shown = ShownCall::new(cx, call, &asker.folder, theirs);
            let mut fields = shown.fields();
            fields.extend(more.clone());
            Self {
                hook,
                input: asker.input(event, fields).into(),
                call: Some(shown),
            }
        });
        questions.collect()
    }
}
