//! Writing entries.

use std::sync::Arc;

use harness_core::{
    AssistantMessage, AssistantPart, Message, ModelId, Replay, StopReason, Text, ThinkingLevel,
    ToolOutcome, ToolOutput, Usage, UserMessage,
};

use crate::entry::{
    Body, BranchSummaryBody, CompactionBody, CustomBody, CustomMessageBody, Entry, Intent,
    LabelBody, LeafBody, MessageBody, ModelChangeBody, NameBody, Queue, QueuedBody, ResultsBody,
    Settled, Settlement, StoredResult, ThinkingChangeBody, UnknownBody, UsageBody,
};
use crate::id::{EntryId, Timestamp};
use crate::store::Log;

/// Makes entries for tests: their ids ascend, and so does their time, from a time of its own.
#[derive(Clone, Debug)]
pub struct Author {
    last: Option<EntryId>,
    time: u64,
}

impl Default for Author {
    fn default() -> Self {
        Self::new()
    }
}

impl Author {
    /// An author who begins at some time.
    pub fn new() -> Self {
        Self {
            last: None,
            time: 1_700_000_000_000,
        }
    }

    /// An author who goes on behind an entry.
    pub fn after(last: Option<EntryId>) -> Self {
        let new = Self::new();
        let time = last.map_or(new.time, |last| last.time().0.max(new.time));
        Self { last, time }
    }

    /// What the user says behind an entry.
    pub fn said(&mut self, text: &str, parent: Option<EntryId>) -> Entry {
        self.entry(user(text), parent)
    }

    /// An entry that says this, and follows that.
    pub fn entry(&mut self, body: Body, parent: Option<EntryId>) -> Entry {
        self.time += 1;
        let time = Timestamp(self.time);
        let id = EntryId::after(self.last, time);
        self.last = Some(id);
        Entry {
            id,
            parent,
            time,
            body,
        }
    }

    /// Appends what the user says behind the last entry.
    pub fn say(&mut self, log: &mut dyn Log, text: &str) -> Entry {
        self.append(log, user(text))
    }

    /// Appends an entry behind the last one.
    pub fn append(&mut self, log: &mut dyn Log, body: Body) -> Entry {
        let last = log.len().checked_sub(1);
        let parent = last.map(|last| log.node(last).expect("the last entry has a node").id);
        let entry = self.entry(body, parent);
        log.append(&entry, last).expect("an entry can be appended");
        entry
    }

    /// An entry of a type that this version does not know: `rest` is the JSON behind what all have.
    pub fn unknown(&mut self, kind: &str, parent: Option<EntryId>, rest: &str) -> Entry {
        let mut entry = self.entry(Body::Leaf(LeafBody {}), parent);
        let parent = serde_json::to_string(&parent).expect("an id is JSON");
        let line = format!(
            r#"{{ "id":"{}" ,"parent":{parent},"type":"{kind}","time":{}{rest}}}"#,
            entry.id, entry.time.0
        );
        let line = serde_json::from_str(&line).expect("what was given is JSON");
        entry.body = Body::Unknown(UnknownBody {
            kind: kind.to_owned(),
            line,
        });
        entry
    }
}

/// What the user says.
pub(crate) fn user(text: &str) -> Body {
    Body::Message(MessageBody {
        message: Message::user(text).into(),
        queued: None,
    })
}

/// A name for the session.
pub(crate) fn name(name: Option<&str>) -> Body {
    Body::Name(NameBody {
        name: name.map(str::to_owned),
    })
}

/// What a tool gave back.
pub(crate) fn output(intent: EntryId, text: &str) -> Body {
    Body::Settlement(Settlement {
        intent,
        what: Settled::Tool {
            call_id: "call-1".to_owned(),
            outcome: Arc::new(ToolOutcome::Done(ToolOutput::text(text))),
            elapsed: std::time::Duration::from_millis(7),
        },
    })
}

/// A body of each type that this version knows.
pub(crate) fn all_bodies(other: EntryId) -> Vec<Body> {
    let model = || ModelId::new("provider", "model");
    let said = || UserMessage::text("said");
    let reply = AssistantMessage {
        content: vec![AssistantPart::Text(Text {
            text: "reply".to_owned(),
        })],
        model: model(),
        stop: StopReason::EndTurn,
        usage: None,
        response_id: None,
    };
    let mut bodies = vec![
        user("text"),
        Body::Message(MessageBody {
            message: Message::Assistant(reply).into(),
            queued: Some(other),
        }),
        Body::Results(ResultsBody {
            results: vec![StoredResult {
                call_id: "call-1".to_owned(),
                name: "read".to_owned(),
                outcome: None,
                settlement: Some(other),
            }],
        }),
        Body::CustomMessage(CustomMessageBody {
            kind: "a-program".to_owned(),
            message: said(),
            display: false,
        }),
        Body::Compaction(CompactionBody {
            messages: vec![Message::user("summary").into()],
            first_kept: Some(other),
            tokens_before: 12,
            reason: "manual".to_owned(),
            model: Some(model()),
            thinking: Some(ThinkingLevel::High),
            run: None,
            queued: vec![other],
            details: serde_json::json!({"files": ["a", "b"]}),
        }),
        Body::BranchSummary(BranchSummaryBody {
            from: other,
            message: Message::user("summary").into(),
            details: serde_json::Value::Null,
        }),
        Body::ModelChange(ModelChangeBody { model: model() }),
        Body::ThinkingChange(ThinkingChangeBody {
            thinking: ThinkingLevel::Low,
        }),
        Body::Leaf(LeafBody {}),
        Body::Label(LabelBody {
            target: other,
            label: Some("label".to_owned()),
        }),
        name(Some("name")),
        name(None),
        Body::Custom(CustomBody {
            kind: "a-program".to_owned(),
            data: serde_json::json!([1, -2.5, null, "text"]),
        }),
        Body::Usage(UsageBody {
            purpose: "compaction".to_owned(),
            model: model(),
            usage: Usage::default(),
            cost: Some(0.25),
        }),
        Body::Queued(QueuedBody {
            queue: Queue::FollowUp,
            message: said(),
        }),
    ];
    bodies.extend(effects(other, model()));
    bodies
}

/// What is written around effects.
fn effects(other: EntryId, model: ModelId) -> Vec<Body> {
    vec![
        Body::Intent(Intent::Run {
            run: "run-1".to_owned(),
            model: model.clone(),
        }),
        Body::Intent(Intent::Model {
            step: "turn-1/attempt-1".to_owned(),
            model,
            thinking: ThinkingLevel::Off,
            messages: 3,
            max_output_tokens: None,
        }),
        Body::Intent(Intent::Tool {
            step: "turn-1/call-1".to_owned(),
            call_id: "call-1".to_owned(),
            name: "bash".to_owned(),
            arguments: Arc::new(serde_json::json!({"command": "true"})),
            replay: Replay::Never,
        }),
        output(other, "output"),
        Body::Settlement(Settlement {
            intent: other,
            what: Settled::Model {
                stop: Some(StopReason::EndTurn),
                usage: Some(Usage::default()),
                cost: None,
                error: None,
            },
        }),
        Body::Settlement(Settlement {
            intent: other,
            what: Settled::Run {
                outcome: "finished".to_owned(),
                error: None,
                turns: 2,
                usage: Usage::default(),
                cost: None,
            },
        }),
    ]
}
