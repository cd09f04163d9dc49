//! From a turn of a script to the events of a reply.

use harness_core::{
    AssistantMessage, Message, MessageRef, ModelError, ModelEvent, ModelId, ModelRequest,
};

use super::script::Turn;
use super::wrong;

const RESPONSE_ID: &str = "scripted-";

type Events = Vec<Result<ModelEvent, ModelError>>;

/// The number of the turn after the last reply of `model`.
pub(super) fn position(messages: &[MessageRef], model: &ModelId) -> usize {
    messages
        .iter()
        .fold(0, |position, message| match &**message {
            Message::Assistant(reply) if reply.model == *model => {
                number(reply).map_or(position, |number| number) + 1
            }
            _ => position,
        })
}

fn number(reply: &AssistantMessage) -> Option<usize> {
    reply
        .response_id
        .as_deref()?
        .strip_prefix(RESPONSE_ID)?
        .parse()
        .ok()
}

/// The events of a turn; `place` is its number and which repetition it is, `None` for one that is not
/// counted.
pub(super) fn turn(
    turn: &Turn,
    place: Option<(usize, usize)>,
    request: &ModelRequest,
) -> Result<Events, ModelError> {
    let mut events: Vec<ModelEvent> = Vec::new();
    let mut block = 0;
    let response_id = place.map(|(number, _)| format!("{RESPONSE_ID}{number}"));
    events.push(ModelEvent::Start { response_id });
    if !turn.thinking.is_empty() {
        for delta in words(&turn.thinking) {
            events.push(ModelEvent::Thinking {
                block,
                delta: delta.to_owned(),
            });
        }
        block += 1;
    }
    if !turn.text.is_empty() {
        let text = quote_results(&turn.text, &request.messages)?;
        for delta in words(&text) {
            events.push(ModelEvent::Text {
                block,
                delta: delta.to_owned(),
            });
        }
        block += 1;
    }
    for (at, call) in turn.calls.iter().enumerate() {
        let id = match (&call.id, place) {
            (Some(id), Some((_, copy))) if copy > 0 => format!("{id}_{copy}"),
            (Some(id), _) => id.clone(),
            (None, Some((number, _))) => format!("call_{number}_{at}"),
            (None, None) => format!("call_side_{at}"),
        };
        let mut delta = call.arguments();
        if turn.cut && at + 1 == turn.calls.len() {
            let half = delta.floor_char_boundary(delta.len() / 2);
            delta.truncate(half);
        }
        events.push(ModelEvent::ToolCall {
            block,
            id,
            name: call.tool.clone(),
        });
        events.push(ModelEvent::ToolArguments { block, delta });
        block += 1;
    }
    let error = match &turn.error {
        Some(error) => Some(error.error().map_err(wrong)?),
        None => None,
    };
    if error.is_some() && events.len() == 1 {
        events.clear();
    }
    if error.is_none() && !turn.cut {
        events.extend(turn.usage.map(ModelEvent::Usage));
        events.push(ModelEvent::Stop(turn.stop()));
    }
    Ok(events.into_iter().map(Ok).chain(error.map(Err)).collect())
}

/// A text in the pieces in which a model would write it.
fn words(text: &str) -> impl Iterator<Item = &str> {
    text.split_inclusive([' ', '\n'])
}

/// Replaces each `${result:ID}` by the text of that call's result.
fn quote_results(text: &str, messages: &[MessageRef]) -> Result<String, ModelError> {
    let mut quoted = String::new();
    let mut rest = text;
    while let Some((before, after)) = rest.split_once("${result:") {
        let Some((id, after)) = after.split_once('}') else {
            break;
        };
        let found = messages.iter().rev().find_map(|message| match &**message {
            Message::ToolResults(results) => {
                results.results.iter().find(|result| result.call_id == id)
            }
            _ => None,
        });
        let Some(result) = found else {
            return Err(wrong(format!(
                "the script quotes the result of `{id}`, which is not there"
            )));
        };
        quoted.push_str(before);
        quoted.push_str(&result.outcome.shown_text());
        rest = after;
    }
    quoted.push_str(rest);
    Ok(quoted)
}
