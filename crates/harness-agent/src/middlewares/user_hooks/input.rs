//! What a hook is given on its standard input.

use std::path::{Path, PathBuf};

use harness_core::{Caller, RunContext, SubagentName, Text, ToolOutcome, UserMessage, UserPart};
use serde_json::{Map, Value, json};

use super::hook_event::HookEvent;

/// Where the conversation is kept, for the hooks of its session: among the attributes of its caller. Hooks are
/// given it as `transcript_path`; without one, that is `null`.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct TranscriptPath(pub PathBuf);

/// Who asks, and from where.
pub(super) struct Asker {
    session: Option<String>,
    transcript: Option<PathBuf>,
    agent: Option<SubagentName>,
    pub(super) folder: PathBuf,
}

impl Asker {
    /// The session is the user's: that of the outermost run. A subagent is told beside it.
    pub(super) fn of_run(cx: &RunContext) -> Self {
        let outermost = cx.outermost();
        let session = outermost.session().unwrap_or(outermost.run_id());
        let transcript = outermost.attributes().get::<TranscriptPath>();
        let mut runs = std::iter::successors(Some(cx), |run| run.parent());
        let agent = runs.find_map(|run| run.attributes().get::<SubagentName>());
        Self {
            session: Some(session.to_owned()),
            transcript: transcript.map(|it| it.0.clone()),
            agent: agent.map(|it| SubagentName::clone(&it)),
            folder: absolute(cx.working_dir()),
        }
    }

    pub(super) fn of_caller(caller: &Caller) -> Self {
        let transcript = caller.attributes.get::<TranscriptPath>();
        Self {
            session: caller.session.clone(),
            transcript: transcript.map(|it| it.0.clone()),
            agent: None,
            folder: absolute(caller.working_dir.as_deref()),
        }
    }

    /// One object: what every hook is given, and what belongs to the event.
    pub(super) fn input(&self, event: HookEvent, fields: Map<String, Value>) -> Vec<u8> {
        let mut input = Map::new();
        input.insert("session_id".to_owned(), json!(self.session));
        let transcript = self.transcript.as_ref().map(|path| path.to_string_lossy());
        input.insert("transcript_path".to_owned(), json!(transcript));
        input.insert("cwd".to_owned(), json!(self.folder.to_string_lossy()));
        input.insert("hook_event_name".to_owned(), json!(event.name()));
        if let Some(SubagentName { id, agent }) = &self.agent {
            input.insert("agent_id".to_owned(), json!(id));
            input.insert("agent_type".to_owned(), json!(agent));
        }
        input.extend(fields);
        let mut bytes = Value::Object(input).to_string().into_bytes();
        bytes.push(b'\n');
        bytes
    }
}

fn absolute(folder: Option<&Path>) -> PathBuf {
    let folder = folder.unwrap_or(Path::new("."));
    std::path::absolute(folder).unwrap_or_else(|_| folder.to_owned())
}

/// The fields of an event.
pub(super) fn fields<const N: usize>(fields: [(&str, Value); N]) -> Map<String, Value> {
    let fields = fields.into_iter();
    fields.map(|(key, value)| (key.to_owned(), value)).collect()
}

/// How a tool ended, for a hook.
pub(super) fn response(outcome: &ToolOutcome) -> Value {
    let details = match outcome {
        ToolOutcome::Done(output) | ToolOutcome::Failed(output) => output.details.clone(),
        _ => None,
    };
    json!({
        "success": !outcome.is_error(),
        "text": outcome.shown_text(),
        "details": details,
    })
}

/// The text of a message.
pub(super) fn text_of(message: &UserMessage) -> String {
    let texts = message.content.iter().filter_map(|part| match part {
        UserPart::Text(Text { text }) => Some(text.as_str()),
        _ => None,
    });
    texts.collect::<Vec<_>>().join("\n")
}
