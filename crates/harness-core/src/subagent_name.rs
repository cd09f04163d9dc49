//! What a subagent is called.

use crate::context::RunContext;

/// What a subagent is called, among the attributes of the [caller](crate::Caller) of its runs: put there by
/// whoever starts it.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct SubagentName {
    /// Its id, one of a kind in the session that started it: `explore-3f9a1c02`.
    pub id: String,
    /// What kind of agent it is.
    pub agent: String,
}

impl SubagentName {
    /// The ids of the subagents that a run is within, the outermost first, with ` › ` between; `None` for a run of
    /// no subagent. A run that was started within one of a subagent belongs to that one, if it has no name of its
    /// own.
    pub fn path(cx: &RunContext) -> Option<String> {
        let runs = std::iter::successors(Some(cx), |run| run.parent());
        let name = |run: &RunContext| Some(run.attributes().get::<Self>()?.id.clone());
        let mut ids: Vec<String> = runs.filter_map(name).collect();
        ids.reverse();
        (!ids.is_empty()).then(|| ids.join(" › "))
    }
}
