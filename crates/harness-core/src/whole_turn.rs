//! A turn as the middlewares are around it: prompt, reply and calls.

use std::sync::{Mutex, MutexGuard, PoisonError};

use futures::future::BoxFuture;

use crate::agent_loop::{Flow, is_cancelled};
use crate::context::RunContext;
use crate::engine::Engine;
use crate::error::{Error, ModelError};
use crate::next::{NextTurn, TurnLayer};
use crate::state::State;
use crate::turn_end::{TurnEnd, TurnStatus};

impl Engine<'_> {
    /// One turn, through the middlewares around it.
    pub(crate) async fn turn_layers(
        &self,
        cx: &RunContext,
        state: &mut State,
        name: &str,
    ) -> Result<Flow, Error> {
        let number = state.turns + 1;
        let turn = WholeTurn {
            engine: self,
            name,
            state: Mutex::new(Some(state)),
            result: Mutex::default(),
        };
        NextTurn::new(&self.config.inner.chains.turn, &turn)
            .run(cx, number)
            .await;
        // Who is around it has its end from elsewhere, from another turn, say. Then it is made without them.
        turn.make(cx).await;
        let result = turn
            .result
            .into_inner()
            .unwrap_or_else(PoisonError::into_inner);
        result.unwrap_or(Err(Error::Model {
            error: ModelError::Cancelled,
            attempts: 0,
        }))
    }
}

/// A turn, as the middlewares are around it.
struct WholeTurn<'a> {
    engine: &'a Engine<'a>,
    name: &'a str,
    state: Mutex<Option<&'a mut State>>,
    result: Mutex<Option<Result<Flow, Error>>>,
}

impl WholeTurn<'_> {
    /// Makes it, unless that was begun before.
    async fn make(&self, cx: &RunContext) {
        let state = lock(&self.state).take();
        if let Some(state) = state {
            let result = self.engine.turn_inner(cx, state, self.name).await;
            *lock(&self.result) = Some(result);
        }
    }
}

impl TurnLayer for WholeTurn<'_> {
    fn run<'f>(&'f self, cx: &'f RunContext, _: u32) -> BoxFuture<'f, TurnEnd> {
        Box::pin(async move {
            self.make(cx).await;
            TurnEnd::new(match &*lock(&self.result) {
                Some(Ok(Flow::Continue)) => TurnStatus::Continues,
                Some(Ok(Flow::End(_))) => TurnStatus::Ended,
                Some(Err(error)) if is_cancelled(error) => TurnStatus::Cancelled,
                Some(Err(error)) => TurnStatus::Failed(error.word()),
                // Given up before its end, and begun again.
                None => TurnStatus::Cancelled,
            })
        })
    }
}

fn lock<T>(mutex: &Mutex<T>) -> MutexGuard<'_, T> {
    mutex.lock().unwrap_or_else(PoisonError::into_inner)
}
