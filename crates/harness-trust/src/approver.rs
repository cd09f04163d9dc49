//! Who is asked when no rule decides.

use std::fmt;

use async_trait::async_trait;
use harness_core::RunContext;

/// Somebody who can say yes or no to a call.
///
/// One question at a time is asked of it within a run. While it waits it must watch
/// [`RunContext::cancellation`]: the answer does not count then.
#[async_trait]
pub trait Approver: Send + Sync + 'static {
    /// Asks.
    async fn ask(&self, cx: &RunContext, question: &Question) -> Answer;
}

/// What is asked.
#[derive(Clone, Debug, PartialEq, Eq)]
#[non_exhaustive]
pub struct Question {
    /// The tool.
    pub tool: String,
    /// The call's id.
    pub call_id: String,
    /// The subagent that makes the call, if one does, with those around it:
    /// [`SubagentName::path`](harness_core::SubagentName::path). Escape it before it is shown.
    pub agent: Option<String>,
    /// What the call would do, one effect each. Characters that cannot be seen are escaped.
    pub effects: Vec<String>,
    /// Why it is asked, one reason each.
    pub reasons: Vec<String>,
    /// What would change in files, as a diff; or the whole of a command line that the effects do not tell all of
    /// (what is opaque in it, what it is given as input). Of text from anywhere, so escape it before it is shown.
    pub preview: Option<String>,
    /// The rules that a yes for more than once would allow. Empty if this can be allowed only once.
    pub rules: Vec<String>,
    /// How far a yes may go.
    pub scopes: Vec<Scope>,
    /// Whether it is asked again because a file changed while the last answer was waited for.
    pub again: bool,
}

/// How far a yes goes.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub enum Scope {
    /// For this call.
    Once,
    /// For all that is alike in this run.
    Run,
    /// For all that is alike in this project, from now on.
    Project,
}

impl Scope {
    /// The word for it.
    pub fn word(self) -> &'static str {
        match self {
            Self::Once => "once",
            Self::Run => "run",
            Self::Project => "project",
        }
    }
}

impl fmt::Display for Scope {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(self.word())
    }
}

/// What was answered.
#[derive(Clone, Debug, PartialEq, Eq)]
#[non_exhaustive]
pub enum Answer {
    /// Yes, this far. More than was [offered](Question::scopes) counts as once.
    Yes(Scope),
    /// No.
    No {
        /// Why, in words for the model, if a reason was given.
        reason: Option<String>,
    },
    /// Nobody is there to be asked.
    Nobody,
}

/// Nobody is there: what would have to be asked is refused.
#[derive(Clone, Copy, Debug, Default)]
pub struct Never;

#[async_trait]
impl Approver for Never {
    async fn ask(&self, _: &RunContext, _: &Question) -> Answer {
        Answer::Nobody
    }
}

/// Says yes to everything, once each: for a container that may be lost. Rules that deny are not asked about,
/// and still deny.
#[derive(Clone, Copy, Debug, Default)]
pub struct Always;

#[async_trait]
impl Approver for Always {
    async fn ask(&self, _: &RunContext, _: &Question) -> Answer {
        Answer::Yes(Scope::Once)
    }
}

/// Who is asked in one caller's runs, in its [attributes](harness_core::Caller), and in all runs that are started
/// within those, unless their own callers have another: an agent that works for another one asks through that one.
#[derive(Clone)]
pub struct SharedApprover(pub std::sync::Arc<dyn Approver>);

impl fmt::Debug for SharedApprover {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str("SharedApprover")
    }
}
