//! Asks a model one question: `cargo run --example ask -- openai-chat http://127.0.0.1:8080 qwen3 "Hello"`.
//!
//! No key is sent, as local servers want it.

#![expect(clippy::print_stdout, reason = "an example's answer is what it prints")]

use std::sync::Arc;

use futures::StreamExt;
use harness_core::{CancellationToken, Message, ModelEvent, ModelId, ModelInfo, ModelRequest};
use harness_providers::{Api, Endpoint};

#[tokio::main(flavor = "current_thread")]
async fn main() -> Result<(), Box<dyn std::error::Error>> {
    let mut arguments = std::env::args().skip(1);
    let mut next = |name: &str| arguments.next().ok_or(format!("{name} is missing"));
    let api: Api = next("the API")?.parse()?;
    let endpoint = Endpoint::new(api)
        .provider("local")
        .base_url(next("the base URL")?);
    let model = endpoint.model(ModelInfo::new(ModelId::new("local", next("the model")?)));
    let question = Message::user(next("the question")?).into();
    let request = ModelRequest::new(Arc::clone(&model), vec![question]);
    let mut events = model.stream(request, CancellationToken::new()).await?;
    while let Some(event) = events.next().await {
        match event? {
            ModelEvent::Text { delta, .. } => print!("{delta}"),
            ModelEvent::Stop(reason) => println!("\n[{reason}]"),
            _ => {}
        }
    }
    Ok(())
}
