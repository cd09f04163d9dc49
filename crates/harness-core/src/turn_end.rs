//! How a turn ended, as middlewares around it are told.

/// The end of a turn. Only running a turn gives one. A middleware that returns that of another turn does not leave
/// its own out: it is made all the same, inside of no layer.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct TurnEnd {
    status: TurnStatus,
}

/// What comes of a turn.
#[derive(Clone, Debug, PartialEq, Eq)]
#[non_exhaustive]
pub enum TurnStatus {
    /// Another turn follows.
    Continues,
    /// The run ends with it: the model is done, or a limit is reached.
    Ended,
    /// It was given up, because the run was cancelled or its time is over.
    Cancelled,
    /// It failed, and the run with it. The word is [`Error::word`](crate::Error::word).
    Failed(&'static str),
}

impl TurnEnd {
    pub(crate) fn new(status: TurnStatus) -> Self {
        Self { status }
    }

    /// What comes of it.
    pub fn status(&self) -> &TurnStatus {
        &self.status
    }
}

impl TurnStatus {
    /// The word for it: `continues`, `ended`, `cancelled`, `failed`.
    pub fn word(&self) -> &'static str {
        match self {
            Self::Continues => "continues",
            Self::Ended => "ended",
            Self::Cancelled => "cancelled",
            Self::Failed(_) => "failed",
        }
    }
}
