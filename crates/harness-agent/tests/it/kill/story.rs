//! The model and the tools of a story that is told to its end by whatever process is there.

use std::io::Write;
use std::path::{Path, PathBuf};
use std::sync::Arc;

use harness_core::{
    CancellationToken, Compaction, CompactionReason, DynamicTool, Message, MessageRef, Model,
    ModelError, ModelEvent, ModelId, ModelInfo, ModelRequest, ModelStream, Replay, StopReason,
    ToolRef, UserPart, async_trait, from_fn, protocol,
};
use serde_json::json;

use crate::kill::victim::{EFFECTS, Points};

/// How many replies with calls there are, before the last one without.
const LAST_STEP: usize = 5;

/// The calls of a step: their ids, and whether they have an effect that must not happen twice.
fn calls_of(step: usize) -> Vec<(String, bool)> {
    let counted = (0..=step % 3).map(|number| (format!("s{step}c{number}"), true));
    let looked = (0..step % 2).map(|_| (format!("s{step}look"), false));
    counted.chain(looked).collect()
}

/// All of them.
pub(crate) fn all_calls() -> Vec<(String, bool)> {
    (1..=LAST_STEP).flat_map(calls_of).collect()
}

/// The texts of a user's message or of a reply.
pub(crate) fn texts(message: &Message) -> String {
    match message {
        Message::User(user) => {
            let texts = user.content.iter().filter_map(|part| match part {
                UserPart::Text(text) => Some(text.text.as_str()),
                _ => None,
            });
            texts.collect()
        }
        Message::Assistant(reply) => reply.text(),
        _ => String::new(),
    }
}

/// How far the story is: each reply tells its step, and a summary the last of those that it stands for.
fn step_of(messages: &[MessageRef]) -> usize {
    let steps = messages.iter().filter_map(|message| {
        let text = texts(message);
        text.strip_prefix("step ")?.parse().ok()
    });
    steps.max().unwrap_or_default()
}

/// Says what comes next, by what it is sent alone. Refuses a malformed request.
pub(crate) struct Storyteller {
    info: ModelInfo,
    points: Arc<Points>,
}

impl Storyteller {
    pub(crate) fn new(points: &Arc<Points>) -> Self {
        Self {
            info: ModelInfo::new(ModelId::new("test", "storyteller")),
            points: Arc::clone(points),
        }
    }
}

#[async_trait]
impl Model for Storyteller {
    fn info(&self) -> &ModelInfo {
        &self.info
    }

    async fn stream(
        &self,
        request: ModelRequest,
        _: CancellationToken,
    ) -> Result<ModelStream, ModelError> {
        if let Err(rule) = protocol::check_request(&request) {
            panic!("a malformed request: {rule}\n{:#?}", request.messages);
        }
        self.points.pass();
        let step = step_of(&request.messages) + 1;
        let mut events = vec![ModelEvent::Start { response_id: None }];
        let text = |delta: String| ModelEvent::Text { block: 0, delta };
        if step > LAST_STEP {
            events.push(text("done".to_owned()));
            events.push(ModelEvent::Stop(StopReason::EndTurn));
        } else {
            events.push(text(format!("step {step}")));
            for (block, (id, is_counted)) in (1..).zip(calls_of(step)) {
                let name = if is_counted { "count" } else { "look" };
                events.push(ModelEvent::ToolCall {
                    block,
                    id: id.clone(),
                    name: name.to_owned(),
                });
                let delta = json!({ "marker": id, "padding": "x".repeat(step * 100) }).to_string();
                events.push(ModelEvent::ToolArguments { block, delta });
            }
            events.push(ModelEvent::Stop(StopReason::ToolCalls));
        }
        let points = Arc::clone(&self.points);
        let stream = futures::stream::iter(events).map(move |event| {
            points.pass();
            Ok(event)
        });
        Ok(Box::pin(stream))
    }
}

use futures::StreamExt;

/// The tools: one counts its effects in a file, one may run as often as it likes.
pub(crate) fn tools(folder: &Path, points: &Arc<Points>) -> Vec<ToolRef> {
    let file: PathBuf = folder.join(EFFECTS);
    let tool = |name: &str, is_counted: bool| {
        let (file, points) = (file.clone(), Arc::clone(points));
        let schema = json!({ "type": "object" });
        DynamicTool::new(name, "Counts.", schema, move |_, arguments| {
            points.pass();
            let marker = arguments["marker"].as_str().unwrap().to_owned();
            if is_counted {
                append(&file, &marker);
            }
            points.pass();
            Box::pin(std::future::ready(Ok(format!("{marker} was done").into())))
        })
    };
    vec![
        tool("count", true).into(),
        tool("look", false).replay(Replay::Safe).into(),
    ]
}

/// Makes the conversation shorter now and then.
pub(crate) fn forgetful(points: &Arc<Points>) -> from_fn::FromFn<from_fn::CompactionFn> {
    let points = Arc::clone(points);
    from_fn::on_compaction("forgetful", move |_, history, _| {
        let last = |message: &MessageRef| matches!(**message, Message::Assistant(_));
        let at = history.iter().rposition(last).filter(|at| *at >= 5);
        let compaction = at.map(|at| {
            points.pass();
            let step = step_of(&history[..at]);
            let summary = vec![Message::user(format!("step {step}")).into()];
            Compaction::new(summary, history.len() - at, CompactionReason::Threshold)
        });
        Box::pin(std::future::ready(Ok(compaction)))
    })
}

/// Appends a line with one write.
pub(crate) fn append(file: &Path, line: &str) {
    let mut open = std::fs::OpenOptions::new();
    let mut file = open.create(true).append(true).open(file).unwrap();
    file.write_all(format!("{line}\n").as_bytes()).unwrap();
}
