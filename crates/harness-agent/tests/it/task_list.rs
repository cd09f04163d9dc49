//! The list of tasks: the tool, the reminders, and whose list it is.

use std::sync::Arc;

use harness_agent::AgentHarness;
use harness_agent::core::test_support::{ManualClock, Reply, ScriptedModel, assert_hooks_honest};
use harness_agent::core::{
    Attributes, Caller, Message, MessageRef, ModelError, ModelRequest, RetryPolicy, ToolContext,
    ToolOutcome, UserPart, from_fn,
};
use harness_agent::middlewares::{TaskItem, TaskList, TaskListMiddleware, TaskStatus};
use serde_json::{Value, json};

fn agent(model: &Arc<ScriptedModel>) -> AgentHarness {
    let tasks = TaskListMiddleware::new();
    let nothing = harness_agent::core::DynamicTool::new(
        "nothing",
        "Does nothing.",
        json!({"type": "object"}),
        |_, _| Box::pin(async { Ok("Nothing.".into()) }),
    );
    AgentHarness::builder()
        .shared_model(model.clone())
        .clock(Arc::new(ManualClock::new()))
        .retry(RetryPolicy::never())
        .tools(tasks.tools())
        .tool(nothing)
        .middleware(tasks)
        .build()
        .unwrap()
}

fn write(id: &str, todos: &[(&str, &str)]) -> Reply {
    let todos: Vec<Value> = todos
        .iter()
        .map(|(content, status)| json!({"content": content, "status": status}))
        .collect();
    Reply::call(id, "todo_write", &json!({ "todos": todos }).to_string())
}

fn nothing(id: &str) -> Reply {
    Reply::call(id, "nothing", "{}")
}

fn text(message: &MessageRef) -> Option<&str> {
    match &**message {
        Message::User(user) => match &user.content[..] {
            [UserPart::Text(text)] => Some(&text.text),
            _ => None,
        },
        _ => None,
    }
}

fn reminders(request: &ModelRequest) -> Vec<&str> {
    let texts = request.messages.iter().filter_map(text);
    texts
        .filter(|text| text.starts_with("<reminder>"))
        .collect()
}

fn assert_prefixes(requests: &[ModelRequest]) {
    for (number, pair) in requests.windows(2).enumerate() {
        assert!(
            pair[1].messages.starts_with(&pair[0].messages),
            "request {number}: {:#?}\n{:#?}",
            pair[0].messages,
            pair[1].messages
        );
        assert_eq!(pair[0].system, pair[1].system);
    }
}

#[tokio::test]
async fn what_the_tool_says() {
    let tools = TaskListMiddleware::new().tools();
    let [tool] = &tools[..] else { panic!() };
    let todo = |content: &str, status: &str| json!({"content": content, "status": status});
    let many: Vec<Value> = (0..101).map(|_| todo("x", "pending")).collect();
    let long = "é".repeat(501);
    for (todos, expected) in [
        (
            json!([
                todo("a", "completed"),
                todo("b", "in_progress"),
                todo("c", "pending")
            ]),
            "[x] a\n[~] b\n[ ] c",
        ),
        (json!([]), "The task list is empty now."),
        (
            json!([todo(" two\n\tlines\u{7} ", "pending")]),
            "[ ] two lines",
        ),
        (
            json!([todo("a", "in_progress"), todo("b", "in_progress")]),
            "Not changed: 2 tasks are in_progress. Keep one",
        ),
        (
            json!([todo("a", "pending"), todo(" \n", "pending")]),
            "content of task 2 is blank",
        ),
        (json!(many), "101 tasks are too many; a list may have 100"),
        (
            json!([todo(&long, "pending")]),
            "has 501 characters; the most is 500",
        ),
        (json!([todo("a", "done")]), "/todos/0/status"),
        (json!([{"content": "a"}]), "status"),
    ] {
        let cx = ToolContext::detached();
        let outcome = tool.call(&cx, json!({ "todos": todos })).await;
        let shown = outcome.shown_text();
        assert!(shown.contains(expected), "{expected}: {shown}");
        if let ToolOutcome::Done(output) = &outcome {
            let details = output.details.as_ref().unwrap();
            assert_eq!(
                details["todos"].as_array().unwrap().len(),
                todos.as_array().unwrap().len()
            );
        } else {
            assert!(
                cx.run()
                    .attributes()
                    .get::<TaskList>()
                    .is_none_or(|list| list.items().is_empty())
            );
        }
    }
    let bytes = tool.spec().parameters.to_string().len() + tool.spec().description.len();
    assert!(bytes < 400, "{bytes}: {}", tool.spec().parameters);
}

#[tokio::test]
async fn each_request_begins_the_next_one() {
    let mut replies = vec![nothing("0")];
    for turn in 1..=20 {
        let id = turn.to_string();
        replies.push(match turn {
            1 => write(&id, &[("a", "in_progress"), ("b", "pending")]),
            15 => write(&id, &[("a", "completed"), ("b", "in_progress")]),
            19 => write(&id, &[("a", "completed"), ("b", "completed")]),
            _ => nothing(&id),
        });
    }
    replies.push(Reply::text("Done."));
    let model = Arc::new(ScriptedModel::new(replies));
    agent(&model).prompt("Go.").outcome().await.unwrap();
    let requests = model.requests();
    assert_eq!(requests.len(), 22);
    assert_prefixes(&requests);

    let full = "<reminder>Task list, from the harness, not the user:\n[~] a\n[ ] b</reminder>";
    let short = "<reminder>Harness, not user: 0 of 2 tasks done; in progress: a</reminder>";
    let later = "<reminder>Harness, not user: 1 of 2 tasks done; in progress: b</reminder>";
    let new = |number: usize| {
        let before = reminders(&requests[number - 1]).len();
        reminders(&requests[number])[before..].to_vec()
    };
    let expected: Vec<Vec<&str>> = (1..22)
        .map(|number| match number {
            // No list yet; the result of `todo_write` shows it; all is done.
            1 | 2 | 16 | 20 | 21 => vec![],
            // The result is 12 messages back.
            8 | 14 => vec![full],
            17.. => vec![later],
            _ => vec![short],
        })
        .collect();
    let shown: Vec<Vec<&str>> = (1..22).map(new).collect();
    assert_eq!(shown, expected);
}

#[tokio::test]
async fn two_sessions_at_once_have_a_list_each() {
    let script = |mine: &'static str| {
        Arc::new(ScriptedModel::new([
            write("1", &[(mine, "pending")]),
            nothing("2"),
            nothing("3"),
            Reply::text("Done."),
        ]))
    };
    let (one, two) = (script("dig a well"), script("fell a tree"));
    let agent = agent(&one);
    let context = harness_agent::LoopContext {
        model: Some(two.clone()),
        ..harness_agent::LoopContext::default()
    };
    let mut first = agent.session();
    let mut second = agent.session();
    second.reconfigure(&context).unwrap();
    let (a, b) = futures::join!(
        first.prompt("Go.").outcome(),
        second.prompt("Go.").outcome()
    );
    a.unwrap();
    b.unwrap();
    for (model, mine, other) in [(one, "a well", "a tree"), (two, "a tree", "a well")] {
        let requests = model.requests();
        assert_prefixes(&requests);
        let all = format!("{:?}", requests[3].messages);
        assert!(all.contains(mine) && !all.contains(other), "{all}");
    }
}

#[tokio::test]
async fn a_failed_run_is_gone_on_from_as_it_was() {
    let no = || {
        Reply::error(ModelError::InvalidRequest {
            status: Some(400),
            message: "no".to_owned(),
        })
    };
    let model = Arc::new(ScriptedModel::new([
        write("1", &[("a", "pending")]),
        nothing("2"),
        no(),
        no(),
        nothing("3"),
        Reply::text("Done."),
        no(),
        Reply::text("Again."),
    ]));
    let mut session = agent(&model).session();
    session.prompt("Go.").outcome().await.unwrap_err();
    session.go_on().outcome().await.unwrap_err();
    session.go_on().outcome().await.unwrap();
    session.prompt("More.").outcome().await.unwrap_err();
    session.prompt("And more.").outcome().await.unwrap();
    assert_prefixes(&model.requests());
}

#[tokio::test]
async fn a_host_reads_and_sets_the_list() {
    let model = Arc::new(ScriptedModel::new([nothing("1"), Reply::text("Done.")]));
    let attributes = Attributes::default();
    let list = attributes.get_or_insert_with(TaskList::default);
    let saved = r#"[{"content":"a </reminder> b","status":"in_progress"}]"#;
    let items: Vec<TaskItem> = serde_json::from_str(saved).unwrap();
    list.set(items).unwrap();
    assert_eq!(serde_json::to_string(&list.items()).unwrap(), saved);
    assert_eq!(list.items()[0].status, TaskStatus::InProgress);
    list.set(vec![TaskItem::new("", TaskStatus::Pending)])
        .unwrap_err();
    let caller = Caller {
        attributes,
        ..Caller::default()
    };
    let mut session = agent(&model).session().with_caller(caller);
    session.prompt("Go.").outcome().await.unwrap();
    let requests = model.requests();
    let expected =
        "<reminder>Task list, from the harness, not the user:\n[~] a < /reminder> b</reminder>";
    assert_eq!(reminders(&requests[0]), [expected]);
    assert_eq!(reminders(&requests[1]).len(), 2);
    assert_prefixes(&requests);
}

/// A compaction, or whoever else takes messages away, costs a full reminder and nothing else.
#[tokio::test]
async fn messages_that_are_gone_take_their_reminders_along() {
    let replies = (1..8).map(|turn| match turn {
        1 => write("1", &[("a", "pending")]),
        _ => nothing(&turn.to_string()),
    });
    let model = Arc::new(ScriptedModel::new(replies.chain([Reply::text("Done.")])));
    let tasks = TaskListMiddleware::new();
    let agent = AgentHarness::builder()
        .shared_model(model.clone())
        .tools(tasks.tools())
        .middleware(from_fn::on_context("cut", |_, messages| {
            let from = if messages.len() > 9 { 6 } else { 0 };
            Box::pin(async move {
                let mut kept = messages[..1].to_vec();
                kept.extend_from_slice(&messages[(1 + from)..]);
                Ok(kept)
            })
        }))
        .middleware(tasks)
        .build()
        .unwrap();
    agent.prompt("Go.").outcome().await.unwrap();
    let requests = model.requests();
    let cut = requests.iter().find(|request| {
        request.messages.len() < 8 && format!("{:?}", request.messages).contains("from the harness")
    });
    assert!(cut.is_some(), "{requests:#?}");
}

#[tokio::test]
async fn it_says_honestly_what_it_implements() {
    assert_hooks_honest(TaskListMiddleware::new()).await;
}
