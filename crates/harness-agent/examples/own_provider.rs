//! A model client of one's own: `cargo run -p harness-agent --example own_provider`
//!
//! One method is required: it turns a request into a stream of events. This "model" answers with the
//! last thing that it was told, word by word.

#![expect(clippy::print_stdout, reason = "an example shows what it does")]

use futures::StreamExt;
use harness_agent::AgentHarness;
use harness_agent::core::{
    CancellationToken, Event, Message, Model, ModelError, ModelEvent, ModelId, ModelInfo,
    ModelRequest, ModelStream, StopReason, Usage, UserPart, async_trait,
};

struct Echo {
    info: ModelInfo,
}

#[async_trait]
impl Model for Echo {
    fn info(&self) -> &ModelInfo {
        &self.info
    }

    async fn stream(
        &self,
        request: ModelRequest,
        _cancel: CancellationToken,
    ) -> Result<ModelStream, ModelError> {
        let said = request
            .messages
            .iter()
            .rev()
            .find_map(|message| match &**message {
                Message::User(user) => user.content.iter().find_map(|part| match part {
                    UserPart::Text(text) => Some(text.text.clone()),
                    _ => None,
                }),
                _ => None,
            });
        let mut events: Vec<_> = said
            .unwrap_or_default()
            .split_inclusive(' ')
            .map(|word| ModelEvent::Text {
                block: 0,
                delta: word.to_owned(),
            })
            .collect();
        let output_tokens = events.len() as u64;
        events.push(ModelEvent::Usage(Usage {
            output_tokens,
            ..Usage::default()
        }));
        // A stream that ends without this is one that was cut.
        events.push(ModelEvent::Stop(StopReason::EndTurn));
        Ok(futures::stream::iter(events.into_iter().map(Ok)).boxed())
    }
}

#[tokio::main(flavor = "current_thread")]
async fn main() -> Result<(), Box<dyn std::error::Error>> {
    let echo = Echo {
        info: ModelInfo::new(ModelId::new("example", "echo")),
    };
    let agent = AgentHarness::builder().model(echo).build()?;
    let mut run = agent.prompt("Say this again, please.");
    while let Some(event) = run.next().await {
        if let Event::TextDelta(text) = event {
            print!("[{text}]");
        }
    }
    println!();
    run.outcome().await?;
    Ok(())
}
