//! The three protocols, from the service's side: replies as streams of events, and what must hold of a
//! request.

use serde_json::{Value, json};

/// A protocol.
#[derive(Clone, Copy, Debug, PartialEq)]
pub(crate) enum Wire {
    Chat,
    Responses,
    Messages,
}

/// Why a model stopped.
#[derive(Clone, Copy, Debug, Default)]
pub(crate) enum Stop {
    /// Because it was done, or wants its calls carried out.
    #[default]
    Done,
    Length,
    Filter,
    /// For a reason that no client knows.
    Strange,
}

/// What a model says.
#[derive(Clone, Debug, Default)]
pub(crate) struct Reply {
    text: String,
    /// Ids, names and arguments.
    calls: Vec<(String, String, String)>,
    stop: Stop,
}

/// What each reply reports as used.
pub(crate) const INPUT_TOKENS: u64 = 1000;
pub(crate) const OUTPUT_TOKENS: u64 = 20;

impl Reply {
    pub(crate) fn says(text: &str) -> Self {
        Self {
            text: text.to_owned(),
            ..Self::default()
        }
    }

    pub(crate) fn calls(id: &str, tool: &str, arguments: &Value) -> Self {
        Self::default().and_calls(id, tool, arguments)
    }

    pub(crate) fn and_calls(self, id: &str, tool: &str, arguments: &Value) -> Self {
        self.and_calls_raw(id, tool, &arguments.to_string())
    }

    /// Arguments as they are, valid or not.
    pub(crate) fn and_calls_raw(mut self, id: &str, tool: &str, arguments: &str) -> Self {
        let call = (id.to_owned(), tool.to_owned(), arguments.to_owned());
        self.calls.push(call);
        self
    }

    pub(crate) fn stops(mut self, stop: Stop) -> Self {
        self.stop = stop;
        self
    }
}

/// A text in two pieces, cut at a character.
fn pieces(text: &str) -> [&str; 2] {
    let (front, back) = text.split_at(text.floor_char_boundary(text.len() / 2));
    [front, back]
}

impl Wire {
    pub(crate) const ALL: [Self; 3] = [Self::Chat, Self::Responses, Self::Messages];

    /// As `--api` has it.
    pub(crate) fn api(self) -> &'static str {
        match self {
            Self::Chat => "openai-chat",
            Self::Responses => "openai-responses",
            Self::Messages => "anthropic",
        }
    }

    pub(crate) fn path(self) -> &'static str {
        match self {
            Self::Chat => "/v1/chat/completions",
            Self::Responses => "/v1/responses",
            Self::Messages => "/v1/messages",
        }
    }

    /// A reply, as the service streams it.
    pub(crate) fn stream(self, reply: &Reply) -> String {
        match self {
            Self::Chat => chat(reply),
            Self::Responses => responses(reply),
            Self::Messages => messages(reply),
        }
    }

    /// The system prompt of a request.
    pub(crate) fn system(self, body: &Value) -> String {
        let text = match self {
            Self::Chat => &body["messages"][0]["content"],
            Self::Responses => &body["instructions"],
            Self::Messages => &body["system"],
        };
        shown(text)
    }

    /// The names of the tools of a request.
    pub(crate) fn tools(self, body: &Value) -> Vec<String> {
        let name = match self {
            Self::Chat => "/function/name",
            Self::Responses | Self::Messages => "/name",
        };
        let tools = list(&body["tools"]).iter();
        tools
            .filter_map(|tool| Some(tool.pointer(name)?.as_str()?.to_owned()))
            .collect()
    }

    /// The last message of the user.
    pub(crate) fn prompt(self, body: &Value) -> String {
        let messages = match self {
            Self::Chat | Self::Messages => &body["messages"],
            Self::Responses => &body["input"],
        };
        let mut messages = list(messages).iter().rev();
        let last = messages.find(|message| message["role"] == "user");
        last.map_or_else(String::new, |message| shown(&message["content"]))
    }

    /// All results in a request: the ids of their calls, and their texts.
    pub(crate) fn results(self, body: &Value) -> Vec<(String, String)> {
        let pair = |id: &Value, text: &Value| (id.as_str().unwrap().to_owned(), shown(text));
        match self {
            Self::Chat => list(&body["messages"])
                .iter()
                .filter(|message| message["role"] == "tool")
                .map(|message| pair(&message["tool_call_id"], &message["content"]))
                .collect(),
            Self::Responses => list(&body["input"])
                .iter()
                .filter(|item| item["type"] == "function_call_output")
                .map(|item| pair(&item["call_id"], &item["output"]))
                .collect(),
            Self::Messages => list(&body["messages"])
                .iter()
                .flat_map(|message| list(&message["content"]))
                .filter(|block| block["type"] == "tool_result")
                .map(|block| pair(&block["tool_use_id"], &block["content"]))
                .collect(),
        }
    }

    /// What services refuse: calls without exactly one result each, in order and at once; messages
    /// and texts that are empty.
    pub(crate) fn check(self, body: &Value) -> Result<(), String> {
        if body["stream"] != true || body["model"].as_str().is_none_or(str::is_empty) {
            return Err("no model, or no stream is asked for".to_owned());
        }
        let steps = match self {
            Self::Chat => chat_steps(body),
            Self::Responses => responses_steps(body),
            Self::Messages => messages_steps(body),
        }?;
        let mut open: Vec<String> = Vec::new();
        for step in &steps {
            match step {
                Step::Call(id) if id.is_empty() => return Err("a call without an id".to_owned()),
                Step::Call(id) => open.push(id.clone()),
                Step::Result(id) if open.first() == Some(id) => drop(open.remove(0)),
                Step::Result(id) => {
                    return Err(format!("the result of {id} is not next: {open:?}"));
                }
                Step::Reply | Step::User if open.is_empty() => {}
                Step::Reply | Step::User => return Err(format!("no results for {open:?}")),
            }
        }
        match steps.last() {
            _ if !open.is_empty() => Err(format!("no results for {open:?}")),
            Some(Step::User | Step::Result(_)) => Ok(()),
            _ => Err("it does not end with the user's side".to_owned()),
        }
    }
}

/// A step of a conversation, whatever the protocol.
#[derive(Debug)]
enum Step {
    User,
    Reply,
    Call(String),
    Result(String),
}

fn id(value: &Value) -> String {
    value.as_str().unwrap_or_default().to_owned()
}

fn list(value: &Value) -> &[Value] {
    value.as_array().map_or(&[], Vec::as_slice)
}

/// The text of a content: itself, or its parts'.
fn shown(content: &Value) -> String {
    let parts = list(content).iter();
    let texts = parts.filter_map(|part| part["text"].as_str());
    match content.as_str() {
        Some(text) => text.to_owned(),
        None => texts.collect(),
    }
}

fn not_blank(content: &Value) -> Result<(), String> {
    let blank_part = list(content).iter().any(|part| {
        part["text"]
            .as_str()
            .is_some_and(|text| text.trim().is_empty())
    });
    if blank_part || content.as_str().is_some_and(|text| text.trim().is_empty()) {
        return Err(format!("a blank text: {content}"));
    }
    Ok(())
}

fn chat_steps(body: &Value) -> Result<Vec<Step>, String> {
    let mut steps = Vec::new();
    for message in list(&body["messages"]) {
        not_blank(&message["content"])?;
        let calls = list(&message["tool_calls"]);
        match message["role"].as_str() {
            Some("system" | "developer") if steps.is_empty() => {}
            Some("user") => steps.push(Step::User),
            Some("assistant") => {
                if shown(&message["content"]).is_empty() && calls.is_empty() {
                    return Err("an empty reply".to_owned());
                }
                steps.push(Step::Reply);
                steps.extend(calls.iter().map(|call| Step::Call(id(&call["id"]))));
            }
            Some("tool") => {
                if shown(&message["content"]).is_empty() {
                    return Err("an empty result".to_owned());
                }
                steps.push(Step::Result(id(&message["tool_call_id"])));
            }
            role => return Err(format!("a message of {role:?}")),
        }
    }
    Ok(steps)
}

fn responses_steps(body: &Value) -> Result<Vec<Step>, String> {
    let mut steps = Vec::new();
    for item in list(&body["input"]) {
        not_blank(&item["content"])?;
        steps.push(match (item["type"].as_str(), item["role"].as_str()) {
            (Some("function_call"), _) => Step::Call(id(&item["call_id"])),
            (Some("function_call_output"), _) => Step::Result(id(&item["call_id"])),
            (_, Some("user")) => Step::User,
            (_, Some("assistant")) | (Some("reasoning"), _) => Step::Reply,
            other => return Err(format!("an item of {other:?}")),
        });
    }
    Ok(steps)
}

fn messages_steps(body: &Value) -> Result<Vec<Step>, String> {
    if body["max_tokens"].as_u64().is_none_or(|max| max == 0) {
        return Err("no max_tokens".to_owned());
    }
    let mut steps = Vec::new();
    let mut last = None;
    for message in list(&body["messages"]) {
        let (role, content) = (message["role"].as_str(), list(&message["content"]));
        if role == last || content.is_empty() {
            return Err("roles do not alternate, or a message is empty".to_owned());
        }
        last = role;
        not_blank(&message["content"])?;
        if role == Some("assistant") {
            steps.push(Step::Reply);
        }
        for block in content {
            match block["type"].as_str() {
                Some("tool_use") => steps.push(Step::Call(id(&block["id"]))),
                Some("tool_result") => steps.push(Step::Result(id(&block["tool_use_id"]))),
                _ if role == Some("user") => steps.push(Step::User),
                _ => {}
            }
        }
    }
    Ok(steps)
}

/// An event without a name.
fn data(value: &Value) -> String {
    format!("data: {value}\n\n")
}

/// An event that is named like its type.
fn named(value: &Value) -> String {
    format!(
        "event: {}\ndata: {value}\n\n",
        value["type"].as_str().unwrap()
    )
}

fn chat(reply: &Reply) -> String {
    let mut events = String::new();
    let mut chunk = |delta: &Value, finish: Option<&str>| {
        events += &data(&json!({
            "id": "chatcmpl-1", "object": "chat.completion.chunk", "model": "m",
            "choices": [{ "index": 0, "delta": delta, "finish_reason": finish }],
        }));
    };
    chunk(&json!({ "role": "assistant", "content": "" }), None);
    if !reply.text.is_empty() {
        for piece in pieces(&reply.text) {
            chunk(&json!({ "content": piece }), None);
        }
    }
    for (index, (id, name, arguments)) in reply.calls.iter().enumerate() {
        let function = json!({ "name": name, "arguments": "" });
        let call = json!({ "index": index, "id": id, "type": "function", "function": function });
        chunk(&json!({ "tool_calls": [call] }), None);
        for piece in pieces(arguments) {
            let call = json!({ "index": index, "function": { "arguments": piece } });
            chunk(&json!({ "tool_calls": [call] }), None);
        }
    }
    let finish = match reply.stop {
        Stop::Done if reply.calls.is_empty() => "stop",
        Stop::Done => "tool_calls",
        Stop::Length => "length",
        Stop::Filter => "content_filter",
        Stop::Strange => "strange",
    };
    chunk(&json!({}), Some(finish));
    let usage = json!({ "prompt_tokens": INPUT_TOKENS, "completion_tokens": OUTPUT_TOKENS });
    events += &data(&json!({ "id": "chatcmpl-1", "choices": [], "usage": usage }));
    events + "data: [DONE]\n\n"
}

fn responses(reply: &Reply) -> String {
    let mut output = Vec::new();
    let response = json!({ "id": "resp_1", "status": "in_progress" });
    let mut events = named(&json!({ "type": "response.created", "response": response }));
    if !reply.text.is_empty() {
        let content = json!([{ "type": "output_text", "text": reply.text }]);
        let item =
            json!({ "type": "message", "id": "msg_1", "role": "assistant", "content": content });
        let begun = json!({ "type": "message", "id": "msg_1", "role": "assistant", "content": [] });
        let at = output.len();
        events += &named(
            &json!({ "type": "response.output_item.added", "output_index": at, "item": begun }),
        );
        for piece in pieces(&reply.text) {
            events += &named(&json!({
                "type": "response.output_text.delta",
                "output_index": at, "content_index": 0, "delta": piece,
            }));
        }
        events += &named(
            &json!({ "type": "response.output_item.done", "output_index": at, "item": item }),
        );
        output.push(item);
    }
    for (id, name, arguments) in &reply.calls {
        let item = |arguments: &str| {
            json!({
                "type": "function_call", "id": format!("fc_{id}"), "call_id": id,
                "name": name, "arguments": arguments,
            })
        };
        let at = output.len();
        events += &named(
            &json!({ "type": "response.output_item.added", "output_index": at, "item": item("") }),
        );
        for piece in pieces(arguments) {
            events += &named(&json!({
                "type": "response.function_call_arguments.delta",
                "output_index": at, "delta": piece,
            }));
        }
        let item = item(arguments);
        events += &named(
            &json!({ "type": "response.output_item.done", "output_index": at, "item": item }),
        );
        output.push(item);
    }
    let (status, reason) = match reply.stop {
        Stop::Done => ("completed", None),
        Stop::Length => ("incomplete", Some("max_output_tokens")),
        Stop::Filter => ("incomplete", Some("content_filter")),
        Stop::Strange => ("incomplete", Some("strange")),
    };
    let response = json!({
        "id": "resp_1", "object": "response", "status": status, "output": output,
        "incomplete_details": reason.map(|reason| json!({ "reason": reason })),
        "usage": { "input_tokens": INPUT_TOKENS, "output_tokens": OUTPUT_TOKENS },
    });
    events + &named(&json!({ "type": format!("response.{status}"), "response": response }))
}

fn messages(reply: &Reply) -> String {
    let message = json!({
        "id": "msg_1", "type": "message", "role": "assistant", "content": [], "model": "m",
        "usage": { "input_tokens": INPUT_TOKENS, "output_tokens": 1 },
    });
    let mut events = named(&json!({ "type": "message_start", "message": message }));
    let mut index = 0;
    let mut block = |start: &Value, kind: &str, field: &str, text: &str| {
        events += &named(
            &json!({ "type": "content_block_start", "index": index, "content_block": start }),
        );
        for piece in pieces(text) {
            let delta = json!({ "type": kind, field: piece });
            events +=
                &named(&json!({ "type": "content_block_delta", "index": index, "delta": delta }));
        }
        events += &named(&json!({ "type": "content_block_stop", "index": index }));
        index += 1;
    };
    if !reply.text.is_empty() {
        block(
            &json!({ "type": "text", "text": "" }),
            "text_delta",
            "text",
            &reply.text,
        );
    }
    for (id, name, arguments) in &reply.calls {
        let start = json!({ "type": "tool_use", "id": id, "name": name, "input": {} });
        block(&start, "input_json_delta", "partial_json", arguments);
    }
    let stop = match reply.stop {
        Stop::Done if reply.calls.is_empty() => "end_turn",
        Stop::Done => "tool_use",
        Stop::Length => "max_tokens",
        Stop::Filter => "refusal",
        Stop::Strange => "strange",
    };
    events += &named(&json!({
        "type": "message_delta",
        "delta": { "stop_reason": stop }, "usage": { "output_tokens": OUTPUT_TOKENS },
    }));
    events + &named(&json!({ "type": "message_stop" }))
}

/// The check itself is checked: one that finds nothing would be worth nothing.
#[test]
fn a_conversation_that_services_refuse_is_found() {
    let user = json!({ "role": "user", "content": "hi" });
    let call = |id: &str| json!({ "id": id, "type": "function", "function": {} });
    let calls =
        json!({ "role": "assistant", "content": null, "tool_calls": [call("a"), call("b")] });
    let result = |id: &str| json!({ "role": "tool", "tool_call_id": id, "content": "done" });
    let check = |messages: Vec<&Value>, expected: &str| {
        let body = json!({ "model": "m", "stream": true, "messages": messages });
        let problem = Wire::Chat.check(&body).err().unwrap_or_default();
        assert!(
            problem.contains(expected),
            "{expected:?} is not in {problem:?}"
        );
        assert_eq!(problem.is_empty(), expected.is_empty(), "{problem}");
    };
    let (a, b) = (result("a"), result("b"));
    check(vec![&user, &calls, &a, &b], "");
    check(vec![&user, &calls, &a, &b, &user], "");
    check(vec![&user, &calls, &b, &a], "b is not next");
    check(vec![&user, &calls, &a], "no results for [\"b\"]");
    check(vec![&user, &calls, &a, &user], "no results for [\"b\"]");
    check(vec![&user, &calls, &a, &b, &b], "b is not next");
    check(vec![&user, &a], "a is not next");
    check(
        vec![&user, &json!({ "role": "assistant", "content": "" })],
        "blank",
    );
    check(
        vec![&user, &json!({ "role": "assistant", "content": null })],
        "empty reply",
    );
    check(
        vec![&user, &json!({ "role": "assistant", "content": "x" })],
        "user's side",
    );
    check(
        vec![&json!({ "role": "user", "content": [{ "type": "text", "text": " " }] })],
        "blank",
    );
}
