//! A middleware for each hook: `cargo run -p harness-agent --example every_hook`
//!
//! A script stands in for the model: it calls `note` twice, and then answers. Nine middlewares stand
//! around it, one for each hook, and each does something that real ones do.

#![expect(clippy::print_stdout, reason = "an example shows what it does")]

use std::sync::Arc;
use std::sync::atomic::{AtomicUsize, Ordering};

use harness_agent::AgentHarness;
use harness_agent::core::{
    ActiveCall, Event, Message, MessageRef, Middleware, MiddlewareError, ModelRequest, ModelResult,
    NextActing, NextAgent, NextModel, NextReasoning, NextTool, NextTurn, RunContext, RunInput,
    RunOutcome, SystemPrompt, Text, Tool, ToolContext, ToolEffects, ToolError, ToolOutcome,
    ToolOutput, TurnDecision, TurnEnd, TurnReport, UserPart, async_trait,
};
use harness_providers::Scripted;
use schemars::JsonSchema;
use serde::Deserialize;

const SCRIPT: &str = r#"{ "turns": [
    { "calls": [
        { "tool": "note", "arguments": { "text": "remember the milk" } },
        { "tool": "note", "arguments": { "text": "the password is hunter2" } }
    ] },
    { "text": "Noted." }
] }"#;

/// `on_system_prompt`: a section of one's own.
struct HouseRules;

#[async_trait]
impl Middleware for HouseRules {
    fn name(&self) -> &'static str {
        "house-rules"
    }

    async fn on_system_prompt(
        &self,
        _: &RunContext,
        prompt: SystemPrompt,
    ) -> Result<SystemPrompt, MiddlewareError> {
        Ok(prompt.with_section("house-rules", "Answer in one word.", self.name()))
    }
}

/// `on_context`: what the model is shown is not what is stored.
struct Redaction;

#[async_trait]
impl Middleware for Redaction {
    fn name(&self) -> &'static str {
        "redaction"
    }

    async fn on_context(
        &self,
        _: &RunContext,
        messages: Vec<MessageRef>,
    ) -> Result<Vec<MessageRef>, MiddlewareError> {
        // Messages that are passed on as they are keep what the client made of them.
        let redacted = |message: MessageRef| match &*message {
            Message::User(user) => {
                let mut user = user.clone();
                let mut found = false;
                for part in &mut user.content {
                    if let UserPart::Text(Text { text }) = part
                        && text.contains("42")
                    {
                        *text = text.replace("42", "[number]");
                        found = true;
                    }
                }
                if found {
                    MessageRef::new(Message::User(user))
                } else {
                    message
                }
            }
            _ => message,
        };
        Ok(messages.into_iter().map(redacted).collect())
    }
}

/// `on_agent`: around the whole run, whatever way it ends.
struct Report;

#[async_trait]
impl Middleware for Report {
    fn name(&self) -> &'static str {
        "report"
    }

    async fn on_agent(&self, cx: &RunContext, input: RunInput, next: NextAgent<'_>) -> RunOutcome {
        let outcome = next.run(cx, input).await;
        println!(
            "on_agent: {} after {} turns",
            outcome.status.word(),
            outcome.turns
        );
        outcome
    }
}

/// `on_turn`: around one turn; `on_reasoning`: around its reply, retries included.
struct Turns;

#[async_trait]
impl Middleware for Turns {
    fn name(&self) -> &'static str {
        "turns"
    }

    async fn on_turn(&self, cx: &RunContext, turn: u32, next: NextTurn<'_>) -> TurnEnd {
        let end = next.run(cx, turn).await;
        println!("on_turn: {turn} {}", end.status().word());
        end
    }

    async fn on_reasoning(
        &self,
        cx: &RunContext,
        request: ModelRequest,
        next: NextReasoning<'_>,
    ) -> ModelResult {
        println!("on_reasoning: {} messages", request.messages.len());
        next.run(cx, request).await
    }
}

/// `on_model_call`: around one attempt.
struct Careful;

#[async_trait]
impl Middleware for Careful {
    fn name(&self) -> &'static str {
        "careful"
    }

    async fn on_model_call(
        &self,
        cx: &RunContext,
        mut request: ModelRequest,
        next: NextModel<'_>,
    ) -> ModelResult {
        request.temperature = Some(0.0);
        let reply = next.run(cx, request).await;
        println!(
            "on_model_call: {}",
            if reply.is_ok() { "a reply" } else { "an error" }
        );
        reply
    }
}

/// `on_acting`: around the calls of one turn.
struct Batches;

#[async_trait]
impl Middleware for Batches {
    fn name(&self) -> &'static str {
        "batches"
    }

    async fn on_acting(
        &self,
        cx: &RunContext,
        batch: Vec<ActiveCall>,
        next: NextActing<'_>,
    ) -> Vec<ToolOutcome> {
        println!("on_acting: {} calls", batch.len());
        next.run(cx, batch).await
    }
}

/// `on_tool_call`: around one call. It decides by what the call would do, not by its name.
struct NoSecrets;

#[async_trait]
impl Middleware for NoSecrets {
    fn name(&self) -> &'static str {
        "no-secrets"
    }

    async fn on_tool_call(
        &self,
        cx: &RunContext,
        call: ActiveCall,
        next: NextTool<'_>,
    ) -> ToolOutcome {
        let secret = call.arguments.to_string().contains("password");
        if secret || !call.effects(cx).is_read_only() {
            println!("on_tool_call: denied");
            return ToolOutcome::Denied {
                by: self.name().to_owned(),
                reason: "Passwords are not noted.".to_owned(),
            };
        }
        next.run(cx, call).await
    }
}

/// `after_turn`: goes on, stops, or changes something for the next turn.
struct FewTurns;

#[async_trait]
impl Middleware for FewTurns {
    fn name(&self) -> &'static str {
        "few-turns"
    }

    async fn after_turn(
        &self,
        _: &RunContext,
        turn: &TurnReport,
    ) -> Result<TurnDecision, MiddlewareError> {
        println!("after_turn: {}", turn.turn);
        Ok(if turn.turn < 10 {
            TurnDecision::go_on()
        } else {
            TurnDecision::stop("ten turns are enough")
        })
    }
}

/// `on_event`: sees everything, and changes nothing.
#[derive(Clone, Default)]
struct Events(Arc<AtomicUsize>);

impl Middleware for Events {
    fn name(&self) -> &'static str {
        "events"
    }

    fn on_event(&self, _: &RunContext, event: &Event) {
        if let Event::ToolEnd { .. } = event {
            self.0.fetch_add(1, Ordering::Relaxed);
        }
    }
}

/// Notes a text down.
#[derive(Deserialize, JsonSchema)]
struct NoteArgs {
    /// The text.
    text: String,
}

struct Note;

#[async_trait]
impl Tool for Note {
    type Args = NoteArgs;

    fn name(&self) -> std::borrow::Cow<'_, str> {
        "note".into()
    }

    fn effects(&self, _: &ToolContext, _: &NoteArgs) -> ToolEffects {
        ToolEffects::conversation()
    }

    async fn call(&self, _: &ToolContext, args: NoteArgs) -> Result<ToolOutput, ToolError> {
        Ok(format!("noted: {}", args.text).into())
    }
}

#[tokio::main(flavor = "current_thread")]
async fn main() -> Result<(), Box<dyn std::error::Error>> {
    let events = Events::default();
    let agent = AgentHarness::builder()
        .model(Scripted::from_json(SCRIPT)?)
        .tool(Note)
        .middleware(HouseRules)
        .middleware(Redaction)
        .middleware(Report)
        .middleware(Turns)
        .middleware(Careful)
        .middleware(Batches)
        .middleware(NoSecrets)
        .middleware(FewTurns)
        .middleware(events.clone())
        .build()?;
    let outcome = agent.prompt("Note 42 things.").outcome().await?;
    println!("on_event: {} calls ended", events.0.load(Ordering::Relaxed));
    println!("{}", outcome.answer());
    Ok(())
}
