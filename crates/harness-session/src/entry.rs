//! What a session is made of.

use std::borrow::Cow;
use std::sync::Arc;
use std::time::Duration;

use harness_core::{
    Message, MessageRef, ModelId, Replay, StopReason, ThinkingLevel, ToolOutcome, ToolResult,
    Usage, UserMessage,
};
use serde::{Deserialize, Serialize};
use serde_json::value::RawValue;

use crate::id::{EntryId, Timestamp};

/// One entry of a session: one line of its file.
///
/// Its parent is the entry that it follows. What follows nothing is a root. Whatever is appended follows
/// the leaf, and is then the leaf; so the leaf of a session is always its last entry.
#[derive(Clone, Debug)]
#[non_exhaustive]
pub struct Entry {
    /// Its id.
    pub id: EntryId,
    /// The entry that it follows.
    pub parent: Option<EntryId>,
    /// When it was appended.
    pub time: Timestamp,
    /// What it says.
    pub body: Body,
}

/// What an entry says.
#[derive(Clone, Debug)]
#[non_exhaustive]
pub enum Body {
    /// `message`: a message entered the conversation.
    Message(MessageBody),
    /// `results`: the results of a batch entered the conversation.
    Results(ResultsBody),
    /// `custom_message`: a program put a message into the conversation, as the user's side.
    CustomMessage(CustomMessageBody),
    /// `compaction`: from here on, a summary stands for the beginning of the conversation.
    Compaction(CompactionBody),
    /// `branch_summary`: what was done on a branch that was left.
    BranchSummary(BranchSummaryBody),
    /// `model_change`: another model from here on.
    ModelChange(ModelChangeBody),
    /// `thinking_change`: another thinking level from here on.
    ThinkingChange(ThinkingChangeBody),
    /// `leaf`: the conversation goes on from this entry's parent.
    Leaf(LeafBody),
    /// `label`: a name for an entry.
    Label(LabelBody),
    /// `name`: a name for the session.
    Name(NameBody),
    /// `custom`: something of a program's own. Never in the conversation.
    Custom(CustomBody),
    /// `usage`: tokens that were spent beside the conversation.
    Usage(UsageBody),
    /// `queued`: a message that waits to be delivered.
    Queued(QueuedBody),
    /// `intent`: something is about to be done.
    Intent(Intent),
    /// `settlement`: it was done, and this came of it.
    Settlement(Settlement),
    /// `decision`: what was decided about a call: whether it may run, and by whose rule or yes.
    Decision(DecisionBody),
    /// An entry of a type that this version does not know. Kept, and passed over.
    Unknown(UnknownBody),
}

/// A message.
#[derive(Clone, Debug, Serialize, Deserialize)]
pub struct MessageBody {
    /// The message.
    pub message: MessageRef,
    /// The [`QueuedBody`] that this delivers.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub queued: Option<EntryId>,
}

/// The results of one batch, in call order.
#[derive(Clone, Debug, Serialize, Deserialize)]
pub struct ResultsBody {
    /// The results.
    pub results: Vec<StoredResult>,
}

/// The result of one call.
#[derive(Clone, Debug, Serialize, Deserialize)]
pub struct StoredResult {
    /// The call.
    pub call_id: String,
    /// The tool.
    pub name: String,
    /// How the call ended, unless a settlement says it.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub outcome: Option<Arc<ToolOutcome>>,
    /// The settlement that says how it ended.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub settlement: Option<EntryId>,
}

impl From<ToolResult> for StoredResult {
    fn from(result: ToolResult) -> Self {
        Self {
            call_id: result.call_id,
            name: result.name,
            outcome: Some(result.outcome),
            settlement: None,
        }
    }
}

/// A message that a program put in.
#[derive(Clone, Debug, Serialize, Deserialize)]
pub struct CustomMessageBody {
    /// Whose it is.
    pub kind: String,
    /// The message.
    pub message: UserMessage,
    /// Whether people are shown it.
    #[serde(default = "yes")]
    pub display: bool,
}

fn yes() -> bool {
    true
}

/// A summary that stands for the beginning of the conversation.
#[derive(Clone, Debug, Serialize, Deserialize)]
pub struct CompactionBody {
    /// What stands in the place of what came before: the messages as the model is shown them.
    pub messages: Vec<MessageRef>,
    /// The first entry of the conversation that is kept as it was; none if nothing is kept.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub first_kept: Option<EntryId>,
    /// The estimated tokens of the request before.
    pub tokens_before: u64,
    /// What it was made for: `threshold`, `overflow`, `manual`.
    pub reason: String,
    /// The model that counts from here on, if it was changed before.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub model: Option<ModelId>,
    /// The thinking level that counts from here on, if it was changed before.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub thinking: Option<ThinkingLevel>,
    /// The messages that wait.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub queued: Vec<EntryId>,
    /// The intent of the run that is going on.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub run: Option<EntryId>,
    /// Facts for programs.
    #[serde(default, skip_serializing_if = "serde_json::Value::is_null")]
    pub details: serde_json::Value,
}

/// What was done on a branch that was left.
#[derive(Clone, Debug, Serialize, Deserialize)]
pub struct BranchSummaryBody {
    /// The leaf of the branch that was left.
    pub from: EntryId,
    /// The summary, as the model is shown it.
    pub message: MessageRef,
    /// Facts for programs.
    #[serde(default, skip_serializing_if = "serde_json::Value::is_null")]
    pub details: serde_json::Value,
}

/// Another model.
#[derive(Clone, Debug, Serialize, Deserialize)]
pub struct ModelChangeBody {
    /// The model.
    pub model: ModelId,
}

/// Another thinking level.
#[derive(Clone, Debug, Serialize, Deserialize)]
pub struct ThinkingChangeBody {
    /// The level.
    pub thinking: ThinkingLevel,
}

/// The conversation goes on elsewhere.
#[derive(Clone, Copy, Debug, Default, Serialize, Deserialize)]
pub struct LeafBody {}

/// A name for an entry.
#[derive(Clone, Debug, Serialize, Deserialize)]
pub struct LabelBody {
    /// The entry.
    pub target: EntryId,
    /// The name; none takes it away.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub label: Option<String>,
}

/// A name for the session.
#[derive(Clone, Debug, Serialize, Deserialize)]
pub struct NameBody {
    /// The name; none takes it away.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub name: Option<String>,
}

/// Something of a program's own.
#[derive(Clone, Debug, Serialize, Deserialize)]
pub struct CustomBody {
    /// Whose it is.
    pub kind: String,
    /// What it is.
    pub data: serde_json::Value,
}

/// What was decided about a call before it was made, or refused.
#[derive(Clone, Debug, Serialize, Deserialize)]
pub struct DecisionBody {
    /// The call.
    pub call_id: String,
    /// What was decided: `permission`.
    pub kind: String,
    /// How.
    pub decision: serde_json::Value,
}

/// Tokens that were spent beside the conversation.
#[derive(Clone, Debug, Serialize, Deserialize)]
pub struct UsageBody {
    /// What for: `compaction`, `branch_summary`.
    pub purpose: String,
    /// The model.
    pub model: ModelId,
    /// How many.
    pub usage: Usage,
    /// US dollars, where the prices are known.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub cost: Option<f64>,
}

/// A message that waits to be delivered.
#[derive(Clone, Debug, Serialize, Deserialize)]
pub struct QueuedBody {
    /// Where it waits.
    pub queue: Queue,
    /// The message.
    pub message: UserMessage,
}

/// Where a message waits.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum Queue {
    /// For the next request.
    Steer,
    /// For when the model is done.
    FollowUp,
}

/// Something that is about to be done.
#[derive(Clone, Debug, Serialize, Deserialize)]
#[serde(tag = "of", rename_all = "snake_case")]
#[non_exhaustive]
pub enum Intent {
    /// A run.
    Run {
        /// Its id.
        run: String,
        /// The model that it begins with.
        model: ModelId,
    },
    /// A model request.
    Model {
        /// The step's name in the run.
        step: String,
        /// The model.
        model: ModelId,
        /// How much it is to think.
        thinking: ThinkingLevel,
        /// How many messages it is sent.
        messages: usize,
        /// The most tokens of the reply.
        #[serde(default, skip_serializing_if = "Option::is_none")]
        max_output_tokens: Option<u64>,
    },
    /// A tool call.
    Tool {
        /// The step's name in the run.
        step: String,
        /// The call, which its result will name.
        call_id: String,
        /// The tool.
        name: String,
        /// The arguments, exactly.
        arguments: Arc<serde_json::Value>,
        /// Whether it may run again.
        replay: Replay,
    },
}

/// What came of something.
#[derive(Clone, Debug, Serialize, Deserialize)]
pub struct Settlement {
    /// The intent that it settles.
    pub intent: EntryId,
    /// What came of it.
    #[serde(flatten)]
    pub what: Settled,
}

/// What came of it.
#[derive(Clone, Debug, Serialize, Deserialize)]
#[serde(tag = "of", rename_all = "snake_case")]
#[non_exhaustive]
pub enum Settled {
    /// A run ended.
    Run {
        /// `finished`, `limit`, `stopped`, `cancelled`, `failed`.
        outcome: String,
        /// What ended it, in one line, unless it finished.
        #[serde(default, skip_serializing_if = "Option::is_none")]
        error: Option<String>,
        /// Turns that were completed.
        turns: u32,
        /// Tokens of all replies that were kept.
        usage: Usage,
        /// US dollars, where the prices are known.
        #[serde(default, skip_serializing_if = "Option::is_none")]
        cost: Option<f64>,
    },
    /// A model request ended.
    Model {
        /// Why the model stopped, if there is a reply. The reply itself is a message, if it was kept.
        #[serde(default, skip_serializing_if = "Option::is_none")]
        stop: Option<StopReason>,
        /// What it used.
        #[serde(default, skip_serializing_if = "Option::is_none")]
        usage: Option<Usage>,
        /// What it cost, where the prices are known.
        #[serde(default, skip_serializing_if = "Option::is_none")]
        cost: Option<f64>,
        /// Why there is no reply.
        #[serde(default, skip_serializing_if = "Option::is_none")]
        error: Option<String>,
    },
    /// A tool call ended.
    Tool {
        /// The call.
        call_id: String,
        /// How it ended.
        outcome: Arc<ToolOutcome>,
        /// How long it took, in milliseconds.
        #[serde(with = "milliseconds")]
        elapsed: Duration,
    },
}

mod milliseconds {
    use std::time::Duration;

    use serde::{Deserialize, Deserializer, Serializer};

    pub(super) fn serialize<S: Serializer>(
        duration: &Duration,
        serializer: S,
    ) -> Result<S::Ok, S::Error> {
        serializer.serialize_f64((duration.as_secs_f64() * 1e6).round() / 1e3)
    }

    pub(super) fn deserialize<'de, D: Deserializer<'de>>(
        deserializer: D,
    ) -> Result<Duration, D::Error> {
        let milliseconds = f64::deserialize(deserializer)?;
        Ok(Duration::try_from_secs_f64(milliseconds / 1e3).unwrap_or_default())
    }
}

/// An entry that this version does not know.
#[derive(Clone, Debug)]
pub struct UnknownBody {
    /// Its type.
    pub kind: String,
    /// The whole line.
    pub line: Box<RawValue>,
}

/// What all entries have.
#[derive(Deserialize)]
pub(crate) struct Envelope<'a> {
    #[serde(rename = "type", borrow)]
    pub(crate) kind: Cow<'a, str>,
    pub(crate) id: EntryId,
    #[serde(default)]
    pub(crate) parent: Option<EntryId>,
    #[serde(default)]
    pub(crate) time: Option<Timestamp>,
}

#[derive(Serialize)]
struct Head<'a> {
    #[serde(rename = "type")]
    kind: &'a str,
    id: EntryId,
    parent: Option<EntryId>,
    time: Timestamp,
}

/// A message that is read when it is known whose it is.
#[derive(Deserialize)]
struct RawMessage<'a> {
    #[serde(borrow)]
    message: &'a RawValue,
    #[serde(default)]
    queued: Option<EntryId>,
}

/// The message of a line. Where its role comes first, as it is written, nothing has to be set aside until
/// the role is known, which takes twice as long.
fn parse_message(line: &[u8]) -> Result<MessageBody, serde_json::Error> {
    let RawMessage { message, queued } = serde_json::from_slice(line)?;
    let json = message.get();
    let message = if json.starts_with(r#"{"role":"user","#) {
        Message::User(serde_json::from_str(json)?)
    } else if json.starts_with(r#"{"role":"assistant","#) {
        Message::Assistant(serde_json::from_str(json)?)
    } else {
        serde_json::from_str(json)?
    };
    Ok(MessageBody {
        message: message.into(),
        queued,
    })
}

impl Entry {
    /// Reads a line.
    pub fn parse(line: &[u8]) -> Result<Self, serde_json::Error> {
        let Envelope {
            kind,
            id,
            parent,
            time,
        } = serde_json::from_slice(line)?;
        Ok(Self {
            id,
            parent,
            time: time.unwrap_or_else(|| id.time()),
            body: Body::parse(&kind, line)?,
        })
    }

    /// Writes it as a line, with its end.
    pub fn write(&self, line: &mut Vec<u8>) -> Result<(), serde_json::Error> {
        match &self.body {
            Body::Message(body) => self.write_line(line, body),
            Body::Results(body) => self.write_line(line, body),
            Body::CustomMessage(body) => self.write_line(line, body),
            Body::Compaction(body) => self.write_line(line, body),
            Body::BranchSummary(body) => self.write_line(line, body),
            Body::ModelChange(body) => self.write_line(line, body),
            Body::ThinkingChange(body) => self.write_line(line, body),
            Body::Leaf(body) => self.write_line(line, body),
            Body::Label(body) => self.write_line(line, body),
            Body::Name(body) => self.write_line(line, body),
            Body::Custom(body) => self.write_line(line, body),
            Body::Decision(body) => self.write_line(line, body),
            Body::Usage(body) => self.write_line(line, body),
            Body::Queued(body) => self.write_line(line, body),
            Body::Intent(body) => self.write_line(line, body),
            Body::Settlement(body) => self.write_line(line, body),
            Body::Unknown(body) => {
                // Between tokens, JSON may have line ends; within a string it has none.
                let bytes = body.line.get().bytes();
                line.extend(bytes.map(|byte| match byte {
                    b'\n' | b'\r' => b' ',
                    byte => byte,
                }));
                line.push(b'\n');
                Ok(())
            }
        }
    }

    /// What all have comes first, so that the beginning of a line tells what it is.
    fn write_line(
        &self,
        line: &mut Vec<u8>,
        body: &impl Serialize,
    ) -> Result<(), serde_json::Error> {
        let head = Head {
            kind: self.body.kind(),
            id: self.id,
            parent: self.parent,
            time: self.time,
        };
        serde_json::to_writer(&mut *line, &head)?;
        // Both are objects: without the end of one and the beginning of the other, they are one.
        line.pop();
        let joint = line.len();
        serde_json::to_writer(&mut *line, body)?;
        if line.ends_with(b"{}") && line.len() == joint + 2 {
            line.remove(joint);
        } else {
            line[joint] = b',';
        }
        line.push(b'\n');
        Ok(())
    }
}

impl Body {
    fn parse(kind: &str, line: &[u8]) -> Result<Self, serde_json::Error> {
        Ok(match kind {
            "message" => Self::Message(parse_message(line)?),
            "results" => Self::Results(serde_json::from_slice(line)?),
            "custom_message" => Self::CustomMessage(serde_json::from_slice(line)?),
            "compaction" => Self::Compaction(serde_json::from_slice(line)?),
            "branch_summary" => Self::BranchSummary(serde_json::from_slice(line)?),
            "model_change" => Self::ModelChange(serde_json::from_slice(line)?),
            "thinking_change" => Self::ThinkingChange(serde_json::from_slice(line)?),
            "leaf" => Self::Leaf(serde_json::from_slice(line)?),
            "label" => Self::Label(serde_json::from_slice(line)?),
            "name" => Self::Name(serde_json::from_slice(line)?),
            "custom" => Self::Custom(serde_json::from_slice(line)?),
            "decision" => Self::Decision(serde_json::from_slice(line)?),
            "usage" => Self::Usage(serde_json::from_slice(line)?),
            "queued" => Self::Queued(serde_json::from_slice(line)?),
            "intent" => Self::Intent(serde_json::from_slice(line)?),
            "settlement" => Self::Settlement(serde_json::from_slice(line)?),
            _ => Self::Unknown(UnknownBody {
                kind: kind.to_owned(),
                line: serde_json::from_slice(line)?,
            }),
        })
    }

    /// The word for its type.
    pub fn kind(&self) -> &str {
        match self {
            Self::Message(_) => "message",
            Self::Results(_) => "results",
            Self::CustomMessage(_) => "custom_message",
            Self::Compaction(_) => "compaction",
            Self::BranchSummary(_) => "branch_summary",
            Self::ModelChange(_) => "model_change",
            Self::ThinkingChange(_) => "thinking_change",
            Self::Leaf(_) => "leaf",
            Self::Label(_) => "label",
            Self::Name(_) => "name",
            Self::Custom(_) => "custom",
            Self::Decision(_) => "decision",
            Self::Usage(_) => "usage",
            Self::Queued(_) => "queued",
            Self::Intent(_) => "intent",
            Self::Settlement(_) => "settlement",
            Self::Unknown(body) => &body.kind,
        }
    }
}
