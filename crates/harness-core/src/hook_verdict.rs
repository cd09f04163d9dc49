//! What a hook of the user's says of a call.

/// What a hook of the user's said of a call: a [value](crate::RunContext::with_value) of its context, put there
/// by whoever ran the hook, for the policy inside.
///
/// [`Allow`](HookDecision::Allow) spares a question; it opens nothing that a rule denies. A hook that refuses a
/// call need not put it there: it does not run what is inside.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct HookVerdict {
    /// What it said.
    pub decision: HookDecision,
    /// Why.
    pub reason: Option<String>,
}

/// What a hook decided.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum HookDecision {
    /// The call may run without a question.
    Allow,
    /// Somebody is to be asked, whatever the rules say.
    Ask,
}
