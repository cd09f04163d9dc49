//! What stands around a model call, without a run.

use std::sync::Arc;

use futures::future::BoxFuture;

use crate::context::RunContext;
use crate::middleware::Middleware;
use crate::model::{ModelRequest, ModelResult};
use crate::next::{Chains, ModelEnd, NextModel};

/// The chain of a configuration around one attempt, with an answer that is there at once.
///
/// Sorted and filtered as a configuration does it. For tests of one middleware, and for measuring.
pub struct ModelCallChain {
    chain: Arc<[Arc<dyn Middleware>]>,
    end: Ready,
}

struct Ready(ModelResult);

impl ModelEnd for Ready {
    fn run<'f>(&'f self, _: &'f RunContext, _: ModelRequest) -> BoxFuture<'f, ModelResult> {
        Box::pin(async { self.0.clone() })
    }
}

impl ModelCallChain {
    /// The chain that `middlewares` form around `answer`.
    pub fn new(middlewares: Vec<Arc<dyn Middleware>>, answer: ModelResult) -> Self {
        Self {
            chain: Chains::new(middlewares).model_call,
            end: Ready(answer),
        }
    }

    /// How many middlewares are in the chain.
    pub fn layers(&self) -> usize {
        self.chain.len()
    }

    /// Runs the chain.
    pub async fn run(&self, cx: &RunContext, request: ModelRequest) -> ModelResult {
        NextModel::new(&self.chain, &self.end)
            .run(cx, request)
            .await
    }
}

impl std::fmt::Debug for ModelCallChain {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.debug_struct("ModelCallChain")
            .field("layers", &self.layers())
            .finish_non_exhaustive()
    }
}
