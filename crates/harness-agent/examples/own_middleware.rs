//! A middleware of one's own: `cargo run -p harness-agent --example own_middleware`
//!
//! When the model fails in a way that may pass, it asks a second one. Two scripts stand in for the
//! models: the first is always overloaded.

#![expect(clippy::print_stdout, reason = "an example shows what it does")]

use std::sync::Arc;

use harness_agent::AgentHarness;
use harness_agent::core::{
    HookSet, Middleware, Model, ModelRequest, ModelResult, NextModel, RunContext, async_trait,
};
use harness_providers::Scripted;

struct Fallback {
    backup: Arc<dyn Model>,
}

#[async_trait]
impl Middleware for Fallback {
    fn name(&self) -> &'static str {
        "fallback"
    }

    // Leaving this out would be correct too, and a little slower.
    fn hooks(&self) -> HookSet {
        HookSet::MODEL_CALL
    }

    async fn on_model_call(
        &self,
        cx: &RunContext,
        request: ModelRequest,
        next: NextModel<'_>,
    ) -> ModelResult {
        match next.clone().run(cx, request.clone()).await {
            Err(error) if error.is_retryable() => {
                println!("first model: {error}");
                next.run(cx, request.with_model(&self.backup)).await
            }
            reply => reply,
        }
    }
}

const OVERLOADED: &str = r#"{ "turns": [
    { "error": { "kind": "unavailable", "status": 529, "message": "overloaded" }, "repeat": "forever" }
] }"#;
const BACKUP: &str = r#"{ "turns": [{ "text": "The second model answers." }] }"#;

#[tokio::main(flavor = "current_thread")]
async fn main() -> Result<(), Box<dyn std::error::Error>> {
    let agent = AgentHarness::builder()
        .model(Scripted::from_json(OVERLOADED)?)
        .middleware(Fallback {
            backup: Arc::new(Scripted::from_json(BACKUP)?),
        })
        .build()?;
    let outcome = agent.prompt("Is anybody there?").outcome().await?;
    println!("{}", outcome.answer());
    Ok(())
}
