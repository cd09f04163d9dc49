//! What is sent.

use std::sync::Arc;

use harness_core::{
    Message, MessageRef, Model, ModelId, ModelInfo, ModelRequest, ThinkingLevel, ToolChoice,
    ToolOutcome,
};
use harness_providers::{
    CallIds, Dialect, EmptyContent, HttpModel, MaxTokensField, ReasoningControl, ReasoningEcho,
    SystemRole, ThinkingStyle,
};
use serde_json::Value;

use crate::conversation::{call, everything, picture, results, said, text, thinking, tools};
use crate::line::{anthropic, chat, complete, responses, run};
use crate::server::{Answer, Server};

type Client = fn(&Server) -> HttpModel;

const SIGNATURE: &str =
    r#"{"type":"reasoning","id":"rs_1","summary":[],"encrypted_content":"ZW5j"}"#;

fn id() -> ModelId {
    ModelId::new("p", "m")
}

fn info() -> ModelInfo {
    let mut info = ModelInfo::new(id());
    info.images = true;
    info.thinking = vec![ThinkingLevel::Low, ThinkingLevel::High];
    info
}

/// The bodies of requests that are all answered with an error.
fn sent(model: impl Fn(&Server) -> HttpModel, requests: Vec<ModelRequest>) -> Vec<String> {
    let answers = requests
        .iter()
        .map(|_| Answer::status(500, "", ""))
        .collect();
    let server = Server::start(answers);
    let model: Arc<dyn Model> = Arc::new(model(&server));
    for request in requests {
        let request = request.with_model(&model);
        assert!(run(complete(request)).is_err());
    }
    server.seen().into_iter().map(|seen| seen.body).collect()
}

fn nobody() -> Arc<dyn Model> {
    Arc::new(harness_providers::Scripted::from_json(r#"{"turns":[]}"#).unwrap())
}

fn request(messages: Vec<MessageRef>) -> ModelRequest {
    ModelRequest::new(nobody(), messages)
}

/// `with_model` fits the thinking level; this sets the wished one after.
fn full(messages: Vec<MessageRef>) -> ModelRequest {
    let mut request = request(messages);
    request.system = Some("You are helpful.".into());
    request.tools = tools();
    request.max_output_tokens = Some(500);
    request.temperature = Some(0.2);
    request.cache_key = Some("conversation-1".into());
    request.thinking = ThinkingLevel::Low;
    request
}

fn one(model: impl Fn(&Server) -> HttpModel, request: ModelRequest) -> Value {
    serde_json::from_str(&sent(model, vec![request])[0]).unwrap()
}

fn pretty(body: &Value) -> String {
    serde_json::to_string_pretty(body).unwrap()
}

#[test]
fn chat_body() {
    let client = |server: &Server| chat(server).info(info());
    insta::assert_snapshot!(pretty(&one(client, full(everything(&id(), "s")))));
}

#[test]
fn responses_body() {
    let client = |server: &Server| responses(server).info(info());
    insta::assert_snapshot!(pretty(&one(client, full(everything(&id(), SIGNATURE)))));
}

#[test]
fn messages_body() {
    let client = |server: &Server| anthropic(server).info(info());
    let mut request = full(everything(&id(), "c2ln"));
    request.max_output_tokens = Some(20_000);
    insta::assert_snapshot!(pretty(&one(client, request)));
}

/// The array of messages, as it stands in a body.
fn array<'b>(body: &'b str, name: &str) -> &'b str {
    let start = body.find(&format!("\"{name}\":[")).unwrap() + name.len() + 4;
    body[start..].strip_suffix("]}").unwrap()
}

#[test]
fn a_request_begins_like_the_one_before_it() {
    let clients: [(Client, &str, &str); 3] = [
        (chat, "messages", "s"),
        (responses, "input", SIGNATURE),
        (anthropic, "messages", "c2ln"),
    ];
    for (client, name, signature) in clients {
        let all = everything(&id(), signature);
        let model = move |server: &Server| client(server).info(info());
        let requests = [1, 3, 5].map(|count| full(all[..count].to_vec())).to_vec();
        let bodies = sent(model, requests.clone());
        let mark = r#","cache_control":{"type":"ephemeral"}"#;
        let arrays: Vec<String> = bodies
            .iter()
            .map(|body| array(body, name).replace(mark, ""))
            .collect();
        assert!(
            arrays[1].starts_with(&arrays[0]),
            "{}\n{}",
            arrays[0],
            arrays[1]
        );
        assert!(
            arrays[2].starts_with(&arrays[1]),
            "{}\n{}",
            arrays[1],
            arrays[2]
        );
        // The same again, from kept bytes.
        assert_eq!(sent(model, requests), bodies);
        // And the same without anything kept.
        let fresh = everything(&id(), signature);
        assert_eq!(sent(model, vec![full(fresh)])[0], bodies[2]);
    }
}

#[test]
fn bytes_kept_for_one_model_are_not_sent_to_another() {
    let all = everything(&id(), "c2ln");
    let own = sent(
        |server| anthropic(server).info(info()),
        vec![full(all.clone())],
    );
    assert!(own[0].contains("I should look."));
    let mut other = info();
    other.id.name = "other".to_owned();
    let foreign = sent(
        move |server| anthropic(server).info(other.clone()),
        vec![full(all.clone())],
    );
    assert!(!foreign[0].contains("I should look."));
    let chat = sent(|server| chat(server).info(info()), vec![full(all)]);
    assert!(chat[0].contains("tool_call_id"));
}

#[test]
fn prov_12_reasoning_goes_back_only_where_it_must() {
    let history = || {
        vec![
            Message::user("q").into(),
            said(
                &id(),
                vec![thinking("deep", None, false), call("c1", "ls", "{}")],
            ),
            results(vec![("c1", "ls", ToolOutcome::done("x"))]),
        ]
    };
    let with = |echo| {
        let mut dialect = Dialect::PLAIN;
        dialect.reasoning_echo = echo;
        one(
            move |server| chat(server).info(info()).dialect(dialect.clone()),
            request(history()),
        )
    };
    let off = with(ReasoningEcho::Off);
    assert!(!off.to_string().contains("deep"), "{off}");
    assert_eq!(
        with(ReasoningEcho::ReasoningContent)["messages"][1]["reasoning_content"],
        "deep"
    );
    assert_eq!(
        with(ReasoningEcho::Reasoning)["messages"][1]["reasoning"],
        "deep"
    );
    for echo in [ReasoningEcho::ReasoningContent, ReasoningEcho::Reasoning] {
        assert_eq!(with(echo)["messages"][1]["content"], Value::Null);
    }
}

#[test]
fn prov_21_reasoning_items_go_back_in_order_next_to_their_calls() {
    let second = SIGNATURE.replace("rs_1", "rs_2");
    let history = vec![
        Message::user("q").into(),
        said(
            &id(),
            vec![
                thinking("a", Some(SIGNATURE), false),
                call("c1", "ls", "{}"),
                thinking("b", Some(&second), false),
                call("c2", "ls", "{}"),
            ],
        ),
        results(vec![
            ("c1", "ls", ToolOutcome::done("x")),
            ("c2", "ls", ToolOutcome::done("y")),
        ]),
    ];
    let body = one(|server| responses(server).info(info()), request(history));
    let kinds: Vec<String> = body["input"]
        .as_array()
        .unwrap()
        .iter()
        .map(|item| {
            let which = item["id"]
                .as_str()
                .or(item["call_id"].as_str())
                .unwrap_or_default();
            format!("{} {which}", item["type"].as_str().unwrap())
        })
        .collect();
    assert_eq!(
        kinds,
        [
            "message ",
            "reasoning rs_1",
            "function_call c1",
            "reasoning rs_2",
            "function_call c2",
            "function_call_output c1",
            "function_call_output c2"
        ]
    );
    assert_eq!(body["store"], false);
    assert_eq!(body["include"][0], "reasoning.encrypted_content");
}

#[test]
fn loop_22_thinking_of_others_or_without_signature_is_left_out_and_never_made_up() {
    let other = ModelId::new("p", "other");
    let history = vec![
        Message::user("q").into(),
        said(&other, vec![thinking("foreign", Some("c2ln"), false)]),
        Message::user("go on").into(),
        said(
            &id(),
            vec![thinking("unsigned", None, false), call("c1", "ls", "{}")],
        ),
        results(vec![("c1", "ls", ToolOutcome::done("x"))]),
    ];
    let mut asked = request(history);
    asked.thinking = ThinkingLevel::High;
    asked.tools = tools();
    let body = one(|server| anthropic(server).info(info()), asked);
    let text = body.to_string();
    assert!(
        !text.contains("foreign") && !text.contains("unsigned"),
        "{text}"
    );
    // Skipped as a whole, its neighbours joined; and this batch goes on without thinking.
    let roles: Vec<&str> = body["messages"]
        .as_array()
        .unwrap()
        .iter()
        .map(|message| message["role"].as_str().unwrap())
        .collect();
    assert_eq!(roles, ["user", "assistant", "user"]);
    assert_eq!(body["messages"][0]["content"].as_array().unwrap().len(), 2);
    assert_eq!(body["thinking"], Value::Null);
}

#[test]
fn loop_23_thinking_keeps_its_signature_and_its_text() {
    let history = vec![
        Message::user("q").into(),
        said(
            &id(),
            vec![
                thinking("one ", Some("c2ln"), false),
                thinking("", Some("ZW5j"), true),
                text("a"),
                thinking("last", Some("eA=="), false),
            ],
        ),
        Message::user("r").into(),
    ];
    let body = one(|server| anthropic(server).info(info()), request(history));
    let content = &body["messages"][1]["content"];
    assert_eq!(content[0]["thinking"], "one ");
    assert_eq!(content[0]["signature"], "c2ln");
    assert_eq!(content[1]["data"], "ZW5j");
    // What no text or call follows was thought about nothing that was said.
    assert_eq!(content.as_array().unwrap().len(), 3);
}

#[test]
fn nothing_empty_is_sent() {
    let history = || {
        vec![
            Message::user("q").into(),
            said(&id(), vec![text(" \n"), thinking("x", None, false)]),
            Message::user("").into(),
            Message::user("r").into(),
        ]
    };
    let clients: [(Client, &str, usize); 3] = [
        (chat, "messages", 2),
        (responses, "input", 2),
        (anthropic, "messages", 1),
    ];
    for (client, name, count) in clients {
        let mut asked = request(history());
        asked.system = Some("  ".into());
        let body = one(move |server| client(server).info(info()), asked);
        assert_eq!(body[name].as_array().unwrap().len(), count, "{body}");
        assert!(!body.to_string().contains(r#""text":"""#), "{body}");
    }
}

#[test]
fn pictures_become_notes_for_models_that_take_none() {
    let clients: [Client; 3] = [chat, responses, anthropic];
    for client in clients {
        let body = one(client, request(everything(&id(), SIGNATURE)));
        let text = body.to_string();
        assert_eq!(
            text.matches("[A picture (image/png) was left out").count(),
            2,
            "{text}"
        );
        assert!(!text.contains(&*picture().data), "{text}");
    }
}

#[test]
fn chat_dialects() {
    let mut dialect = Dialect::PLAIN;
    dialect.max_tokens_field = MaxTokensField::MaxCompletionTokens;
    dialect.stream_usage = false;
    dialect.system_role = SystemRole::Developer;
    dialect.empty_content = EmptyContent::Omit;
    dialect.call_ids = CallIds::Exactly9;
    dialect.tool_result_name = true;
    dialect.user_after_tools = true;
    dialect.store = Some(false);
    dialect.strict_tools = Some(true);
    dialect.parallel_tool_calls = Some(false);
    dialect.prompt_cache_key = true;
    let history = vec![
        Message::user("q").into(),
        said(&id(), vec![call("call_1", "ls", "{}")]),
        results(vec![("call_1", "ls", ToolOutcome::done("x"))]),
    ];
    let mut asked = full(history);
    asked.tool_choice = ToolChoice::Tool("ls".to_owned());
    let client = move |server: &Server| chat(server).info(info()).dialect(dialect.clone());
    insta::assert_snapshot!(pretty(&one(client, asked)));
}

#[test]
fn how_a_chat_service_is_told_to_think() {
    use ReasoningControl as Control;
    use ThinkingLevel::{High, Max, Off};

    let told = |control, level| {
        let mut dialect = Dialect::PLAIN;
        dialect.reasoning_control = control;
        let mut asked = request(vec![Message::user("q").into()]);
        asked.thinking = level;
        let body = one(
            move |server| chat(server).info(info()).dialect(dialect.clone()),
            asked,
        );
        let mut body = body.as_object().unwrap().clone();
        for common in ["model", "stream", "stream_options", "messages"] {
            body.remove(common);
        }
        Value::Object(body).to_string()
    };
    for (control, on, off) in [
        (Control::None, "{}", "{}"),
        (Control::Effort, r#"{"reasoning_effort":"high"}"#, "{}"),
        (
            Control::EffortObject,
            r#"{"reasoning":{"effort":"high"}}"#,
            r#"{"reasoning":{"enabled":false}}"#,
        ),
        (
            Control::EnableThinking,
            r#"{"enable_thinking":true}"#,
            r#"{"enable_thinking":false}"#,
        ),
        (
            Control::ThinkingType,
            r#"{"thinking":{"type":"enabled"}}"#,
            r#"{"thinking":{"type":"disabled"}}"#,
        ),
        (
            Control::TemplateArguments,
            r#"{"chat_template_kwargs":{"enable_thinking":true}}"#,
            r#"{"chat_template_kwargs":{"enable_thinking":false}}"#,
        ),
    ] {
        assert_eq!(told(control, High), on);
        // Fitted to what the model knows.
        assert_eq!(told(control, Max), on);
        assert_eq!(told(control, Off), off);
    }
}

#[test]
fn how_an_anthropic_model_is_told_to_think() {
    use ThinkingLevel::{High, Low, Off};
    use ThinkingStyle::{Adaptive, Budget};
    use ToolChoice::{Auto, Required};

    let told = |style, level, max_tokens: Option<u64>, cap: Option<u64>, choice| {
        let mut dialect = Dialect::PLAIN;
        dialect.thinking_style = style;
        let mut known = info();
        known.max_output_tokens = cap;
        let mut asked = request(vec![Message::user("q").into()]);
        asked.thinking = level;
        asked.temperature = Some(0.5);
        asked.max_output_tokens = max_tokens;
        asked.tools = tools();
        asked.tool_choice = choice;
        let client = move |server: &Server| {
            anthropic(server)
                .info(known.clone())
                .dialect(dialect.clone())
        };
        let body = one(client, asked);
        let shown = |name: &str| body.get(name).map_or("-".to_owned(), Value::to_string);
        ["max_tokens", "thinking", "output_config", "temperature"]
            .map(shown)
            .join(" ")
    };
    for (got, expected) in [
        (told(Budget, Off, None, None, Auto), "8192 - - 0.5"),
        (told(Budget, Off, None, Some(64_000), Auto), "64000 - - 0.5"),
        (
            told(Budget, Off, Some(100_000), Some(64_000), Auto),
            "64000 - - 0.5",
        ),
        (
            told(Budget, Low, None, None, Auto),
            r#"12288 {"budget_tokens":4096,"type":"enabled"} - -"#,
        ),
        (
            told(Budget, High, None, Some(64_000), Auto),
            r#"64000 {"budget_tokens":16384,"type":"enabled"} - -"#,
        ),
        (
            told(Budget, High, Some(3_000), None, Auto),
            r#"3000 {"budget_tokens":1976,"type":"enabled"} - -"#,
        ),
        (told(Budget, High, Some(1_500), None, Auto), "1500 - - 0.5"),
        (told(Budget, High, None, None, Required), "8192 - - 0.5"),
        (
            told(Adaptive, High, None, Some(64_000), Auto),
            r#"64000 {"type":"adaptive"} {"effort":"high"} -"#,
        ),
    ] {
        assert_eq!(got, expected);
    }
}

#[test]
fn at_most_four_cache_marks_and_none_where_they_are_not_wanted() {
    let history = everything(&id(), "c2ln");
    let body = one(
        |server| anthropic(server).info(info()),
        full(history.clone()),
    );
    assert_eq!(body.to_string().matches("cache_control").count(), 4);
    assert_eq!(body["tools"][1]["cache_control"]["type"], "ephemeral");
    assert_eq!(body["system"][0]["cache_control"]["type"], "ephemeral");
    let turns = body["messages"].as_array().unwrap();
    let marked = |turn: &Value| {
        turn["content"]
            .as_array()
            .unwrap()
            .last()
            .unwrap()
            .get("cache_control")
            .is_some()
    };
    assert_eq!(
        turns.iter().map(marked).collect::<Vec<_>>(),
        [false, false, true, false, true]
    );
    let mut plain = Dialect::PLAIN;
    plain.cache_control = false;
    let client = move |server: &Server| anthropic(server).info(info()).dialect(plain.clone());
    assert!(
        !one(client, full(history))
            .to_string()
            .contains("cache_control")
    );
}

#[test]
fn the_head_of_a_request() {
    let events =
        "data: {\"choices\":[{\"delta\":{\"content\":\"a\"},\"finish_reason\":\"stop\"}]}\n\n";
    let server = Server::start(vec![Answer::events(events), Answer::status(500, "", "")]);
    let model: Arc<dyn Model> = Arc::new(chat(&server).header("X-Extra", "1"));
    let request = ModelRequest::new(model, vec![Message::user("é").into()]);
    run(complete(request)).unwrap();
    let model: Arc<dyn Model> = Arc::new(anthropic(&server));
    let request = ModelRequest::new(model, vec![Message::user("é").into()]);
    run(complete(request)).unwrap_err();
    let seen = server.seen();
    assert_eq!(seen[0].line, "POST /v1/chat/completions HTTP/1.1");
    assert_eq!(seen[0].header("authorization"), Some("Bearer sk-test-key"));
    assert_eq!(seen[0].header("content-type"), Some("application/json"));
    assert_eq!(
        seen[0].header("content-length"),
        Some(&*seen[0].body.len().to_string())
    );
    assert_eq!(seen[0].header("x-extra"), Some("1"));
    assert!(
        seen[0]
            .header("user-agent")
            .unwrap()
            .starts_with("harness/")
    );
    assert_eq!(seen[0].json()["messages"][0]["content"], "é");
    assert_eq!(seen[1].line, "POST /v1/messages HTTP/1.1");
    assert_eq!(seen[1].header("x-api-key"), Some("sk-test-key"));
    assert_eq!(seen[1].header("anthropic-version"), Some("2023-06-01"));
    assert_eq!(seen[1].header("authorization"), None);
}
