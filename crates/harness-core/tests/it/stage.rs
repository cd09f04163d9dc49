//! What most tests stand on: a configuration without a real clock, tools, and a run from its first
//! event to its last, checked against what holds for every run.

use std::sync::Arc;
use std::sync::atomic::{AtomicBool, AtomicU32, Ordering};

use futures::executor::block_on;
use harness_core::test_support::{CountingEntropy, ManualClock, Reply, ScriptedModel};
use harness_core::{
    DynamicTool, Event, Limits, LoopConfig, LoopConfigBuilder, Message, MessageRef, Model,
    ModelRequest, RunHandle, RunInput, RunOutcome, ToolError, ToolOutcome, ToolOutput, ToolRef,
    ToolResult, protocol, run,
};
use serde_json::{Value, json};

/// A model that gives these answers.
pub(crate) fn scripted(replies: impl IntoIterator<Item = Reply>) -> Arc<ScriptedModel> {
    Arc::new(ScriptedModel::new(replies))
}

/// A configuration without a real clock or real chance.
pub(crate) fn builder(model: &Arc<impl Model>) -> LoopConfigBuilder {
    let model: Arc<dyn Model> = Arc::clone(model) as _;
    LoopConfig::builder(model)
        .clock(Arc::new(ManualClock::new()))
        .entropy(Arc::new(CountingEntropy::default()))
}

/// Bounds with one thing changed.
pub(crate) fn limits(change: impl FnOnce(&mut Limits)) -> Limits {
    let mut limits = Limits::default();
    change(&mut limits);
    limits
}

/// A tool that takes any object.
pub(crate) fn tool(
    name: &str,
    handler: impl Fn(Value) -> Result<ToolOutput, ToolError> + Send + Sync + 'static,
) -> DynamicTool {
    DynamicTool::new(
        name,
        "A tool for tests.",
        json!({"type": "object"}),
        move |_, arguments| {
            let result = handler(arguments);
            Box::pin(std::future::ready(result))
        },
    )
}

/// A tool that gives its `text` back.
pub(crate) fn echo() -> ToolRef {
    let schema = json!({
        "type": "object",
        "properties": {"text": {"type": "string"}},
        "required": ["text"],
    });
    DynamicTool::new("echo", "Gives its text back.", schema, |_, arguments| {
        let text = arguments["text"].as_str().unwrap_or_default().to_owned();
        Box::pin(std::future::ready(Ok(text.into())))
    })
    .into()
}

/// A tool that counts its runs.
pub(crate) fn counting(name: &str, count: &Arc<AtomicU32>) -> DynamicTool {
    let count = Arc::clone(count);
    tool(name, move |_| {
        count.fetch_add(1, Ordering::Relaxed);
        Ok("counted".into())
    })
}

/// A tool that never ends, whatever it is told; `dropped` tells that it was dropped.
pub(crate) fn hanging(name: &str, dropped: &Arc<AtomicBool>) -> DynamicTool {
    let dropped = Arc::clone(dropped);
    DynamicTool::new(name, "Hangs.", json!({"type": "object"}), move |_, _| {
        let guard = SetOnDrop(Arc::clone(&dropped));
        Box::pin(async move {
            let _guard = guard;
            std::future::pending().await
        })
    })
}

struct SetOnDrop(Arc<AtomicBool>);

impl Drop for SetOnDrop {
    fn drop(&mut self) {
        self.0.store(true, Ordering::Relaxed);
    }
}

/// A run that has ended.
pub(crate) struct Ran {
    pub(crate) events: Vec<Event>,
    pub(crate) outcome: RunOutcome,
}

impl Ran {
    /// How it ended, as a word.
    pub(crate) fn word(&self) -> &'static str {
        self.outcome.status.word()
    }

    /// How it ended, in full.
    pub(crate) fn status(&self) -> String {
        format!("{:?}", self.outcome.status)
    }

    /// The types of its events.
    pub(crate) fn types(&self) -> Vec<String> {
        self.events.iter().map(type_of).collect()
    }

    /// Its warnings.
    pub(crate) fn warnings(&self) -> Vec<&str> {
        let warnings = self.events.iter().filter_map(|event| match event {
            Event::Warning { message } => Some(message.as_str()),
            _ => None,
        });
        warnings.collect()
    }

    /// The results in its history, in order.
    pub(crate) fn results(&self) -> Vec<ToolResult> {
        results(&self.outcome.history)
    }

    /// What the model is shown of its results.
    pub(crate) fn shown(&self) -> Vec<String> {
        let results = self.results();
        results.iter().map(|r| r.outcome.shown_text()).collect()
    }
}

/// The results in a conversation, in order.
pub(crate) fn results(history: &[MessageRef]) -> Vec<ToolResult> {
    let results = |message: &MessageRef| match &**message {
        Message::ToolResults(results) => results.results.clone(),
        _ => Vec::new(),
    };
    history.iter().flat_map(results).collect()
}

/// An event's type, as JSON has it.
pub(crate) fn type_of(event: &Event) -> String {
    let value = serde_json::to_value(event).unwrap();
    value["type"].as_str().unwrap().to_owned()
}

/// Runs a prompt to its end.
pub(crate) fn ran(config: &LoopConfig, prompt: &str) -> Ran {
    finish(run(config, RunInput::prompt(prompt)))
}

/// Runs to the end.
pub(crate) fn finish(handle: RunHandle<'_>) -> Ran {
    block_on(finish_async(handle))
}

/// Runs to the end, and checks what holds for every run.
pub(crate) async fn finish_async(mut handle: RunHandle<'_>) -> Ran {
    let mut events = Vec::new();
    while let Some(event) = handle.next().await {
        events.push(event);
    }
    let outcome = match handle.outcome().await {
        Ok(outcome) => outcome,
        Err(error) => error.into_outcome(),
    };
    let ran = Ran { events, outcome };
    check_ran(&ran);
    ran
}

fn check_ran(ran: &Ran) {
    let types = ran.types();
    assert_eq!(types.first().map(String::as_str), Some("run_start"));
    let ends = types.iter().filter(|name| *name == "run_end").count();
    assert_eq!(
        (ends, types.last().map(String::as_str)),
        (1, Some("run_end"))
    );
    let Some(Event::RunEnd(end)) = ran.events.last() else {
        panic!("the last event is not the run's end");
    };
    assert_eq!(end.outcome, ran.word());
    assert_eq!(end.answer, ran.outcome.answer());

    // Each call is told of once: its start, then its end.
    let mut started = Vec::new();
    let mut ended = Vec::new();
    for event in &ran.events {
        match event {
            Event::ToolStart { id, .. } => started.push(id.clone()),
            Event::ToolEnd { id, .. } => {
                assert!(started.contains(id), "{id} ended before it started");
                ended.push(id.clone());
            }
            _ => {}
        }
    }
    started.sort();
    ended.sort();
    assert_eq!(started, ended, "each call starts and ends");

    check_can_go_on(&ran.outcome.history);
}

/// Whether somebody can say something more in this conversation.
pub(crate) fn check_can_go_on(history: &[MessageRef]) {
    let mut next = history.to_vec();
    next.push(Message::user("go on").into());
    if let Err(problem) = protocol::check_messages(&next) {
        panic!("the history cannot be gone on from: {problem}\n{history:#?}");
    }
}

/// What a request's messages are, in short: `user: hi | assistant: text, call c1 | results: c1`.
pub(crate) fn outline(request: &ModelRequest) -> String {
    outline_of(&request.messages)
}

/// The same for a conversation.
pub(crate) fn outline_of(messages: &[MessageRef]) -> String {
    let one = |message: &MessageRef| {
        let value = serde_json::to_value(message).unwrap();
        let parts = |name: &str| value[name].as_array().cloned().unwrap_or_default();
        let part = |part: &Value| match part["type"].as_str() {
            Some("tool_call") => format!("call {}", part["id"].as_str().unwrap()),
            Some("thinking") => format!("thinking {}", part["text"].as_str().unwrap()),
            Some("text") => part["text"].as_str().unwrap().to_owned(),
            _ => format!("result {}", part["call_id"].as_str().unwrap()),
        };
        let mut all: Vec<String> = parts("content").iter().map(part).collect();
        all.extend(parts("results").iter().map(part));
        format!("{}: {}", value["role"].as_str().unwrap(), all.join(", "))
    };
    messages.iter().map(one).collect::<Vec<_>>().join(" | ")
}

/// The texts that a failed or refused call shows must help the model: never blank.
pub(crate) fn assert_error(outcome: &ToolOutcome, part: &str) {
    assert!(outcome.is_error(), "{outcome:?}");
    let shown = outcome.shown_text();
    assert!(shown.contains(part), "{shown:?} should contain {part:?}");
}
