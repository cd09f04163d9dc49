//! What tests of compactions stand on: a small window, two tools, a conversation that is too long.

use std::sync::Arc;

use harness_agent::core::test_support::{ManualClock, Reply, ScriptedModel};
use harness_agent::core::{
    AssistantMessage, AssistantPart, Caller, DynamicTool, Event, Message, MessageRef, ModelError,
    ModelId, ModelInfo, RunInput, RunOptions, RunOutcome, StopReason, Text, ToolEffects, ToolError,
};
use harness_agent::middlewares::CompactionOptions;
use harness_agent::{AgentHarness, AgentHarnessBuilder, CompactionSummary, SystemPromptSource};
use serde_json::json;

use crate::strict_model::text_of;

pub(crate) const WINDOW: u64 = 8_192;

pub(crate) fn info(window: Option<u64>) -> ModelInfo {
    let mut info = ModelInfo::new(ModelId::new("test", "small"));
    info.context_window = window;
    info.max_output_tokens = Some(1_024);
    info
}

pub(crate) fn model(replies: impl IntoIterator<Item = Reply>) -> Arc<ScriptedModel> {
    Arc::new(ScriptedModel::new(replies).info(info(Some(WINDOW))))
}

/// A tool that says that it reads, or writes, the file of its argument.
fn touch(name: &'static str) -> DynamicTool {
    let schema = json!({"type": "object"});
    let tool = DynamicTool::new(name, "Touches a file.", schema, |_, arguments| {
        Box::pin(async move {
            match arguments["fail"].as_bool() {
                Some(true) => Err(ToolError::failed("no")),
                _ => Ok("line of text\n".repeat(150).into()),
            }
        })
    });
    tool.effects(move |_, arguments| {
        let path = arguments["path"].as_str().unwrap_or_default();
        if name == "get" {
            ToolEffects::read(path)
        } else {
            ToolEffects::write(path)
        }
    })
}

pub(crate) fn builder() -> AgentHarnessBuilder {
    let mut options = CompactionOptions::default();
    options.background_tokens = None;
    AgentHarness::builder()
        .clock(Arc::new(ManualClock::new()))
        .system_prompt(SystemPromptSource::Text("Work.".to_owned()))
        .without_workspace_context()
        .tool(touch("get"))
        .tool(touch("put"))
        .compaction(options)
}

pub(crate) fn agent(model: &Arc<ScriptedModel>) -> AgentHarness {
    builder().shared_model(model.clone()).build().unwrap()
}

/// A conversation of so many exchanges of about 250 tokens, after a goal.
pub(crate) fn talk(exchanges: usize) -> Vec<MessageRef> {
    let mut history = vec![Message::user("GOAL-1 is to mend the build.").into()];
    for number in 0..exchanges {
        let said = format!("Step {number}. {}", "Some words. ".repeat(60));
        history.push(reply(&said));
        history.push(Message::user(format!("Go on with {number}.")).into());
    }
    history.pop();
    history
}

pub(crate) fn reply(text: &str) -> MessageRef {
    Message::Assistant(AssistantMessage {
        content: vec![AssistantPart::Text(Text {
            text: text.to_owned(),
        })],
        model: ModelId::new("test", "small"),
        stop: StopReason::EndTurn,
        usage: None,
        response_id: None,
    })
    .into()
}

pub(crate) struct Ran {
    pub(crate) outcome: RunOutcome,
    pub(crate) events: Vec<Event>,
}

impl Ran {
    /// The events of compactions, in short: `start threshold`, `end threshold`, `failed threshold: why`.
    pub(crate) fn compactions(&self) -> Vec<String> {
        let line = |event: &Event| match event {
            Event::CompactionStart {
                reason, background, ..
            } => Some(format!(
                "start {}{}",
                reason.word(),
                if *background { " early" } else { "" }
            )),
            Event::CompactionEnd { reason, error, .. } => Some(match error {
                None => format!("end {}", reason.word()),
                Some(error) => format!("failed {}: {error}", reason.word()),
            }),
            _ => None,
        };
        self.events.iter().filter_map(line).collect()
    }

    pub(crate) fn warnings(&self) -> Vec<&str> {
        let warning = |event: &'_ Event| matches!(event, Event::Warning { .. });
        let warnings = self.events.iter().filter(|event| warning(event));
        warnings
            .filter_map(|event| match event {
                Event::Warning { message } => Some(message.as_str()),
                _ => None,
            })
            .collect()
    }

    pub(crate) fn summary(&self) -> CompactionSummary {
        CompactionSummary::of(&self.outcome.history[0]).expect("it was not made shorter")
    }
}

pub(crate) async fn run_as(agent: &AgentHarness, input: RunInput, caller: Caller) -> Ran {
    let options = RunOptions {
        caller,
        ..RunOptions::default()
    };
    let mut handle = agent.run(input, options);
    let mut events = Vec::new();
    while let Some(event) = handle.next().await {
        events.push(event);
    }
    let outcome = match handle.outcome().await {
        Ok(outcome) => outcome,
        Err(error) => error.into_outcome(),
    };
    Ran { outcome, events }
}

pub(crate) async fn run(agent: &AgentHarness, history: Vec<MessageRef>, prompt: &str) -> Ran {
    let input = RunInput::prompt(prompt).with_history(history);
    run_as(agent, input, Caller::default()).await
}

pub(crate) fn texts(model: &ScriptedModel) -> Vec<String> {
    let requests = model.requests();
    requests.iter().map(|it| text_of(&it.messages)).collect()
}

pub(crate) fn overflow() -> Reply {
    Reply::error(ModelError::ContextOverflow {
        message: "too long".to_owned(),
    })
}
