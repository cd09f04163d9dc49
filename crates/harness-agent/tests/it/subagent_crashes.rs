//! Subagents whose parent's process dies: each result is told once, and nothing is done twice.

use std::collections::BTreeMap;
use std::fmt::Write as _;
use std::path::Path;
use std::sync::Arc;

use harness_agent::core::test_support::Reply;
use harness_agent::core::{Event, Message, MessageRef, ModelError, ModelRequest, UserPart};
use harness_agent::sessions::{
    Access, Body, Filter, Header, JsonlStore, Session, SessionId, Store,
};
use harness_agent::telemetry::Schemas;
use harness_agent::telemetry::middleware::Telemetry;
use harness_agent::telemetry::test_support::Recording;
use harness_agent::{AgentHarness, AgentSession};
use tokio::sync::Semaphore;

use crate::subagent_stage::{Act, Cast, background, builder, id_of, options, task};

fn refused() -> ModelError {
    ModelError::InvalidRequest {
        status: Some(400),
        message: "no such model".to_owned(),
    }
}

/// A parent with three parallel children that it waits for or not: one is well, one fails, one is cancelled; and one
/// is in the background all along.
fn piece(slow: &Arc<Semaphore>) -> Cast {
    let stop = |request: &ModelRequest| {
        let id = id_of(request, "hang");
        Reply::call(
            "stop",
            "agent_stop",
            &serde_json::json!({ "id": id }).to_string(),
        )
    };
    // It is at work when it is stopped.
    let hung = Arc::new(Semaphore::new(0));
    Cast::new()
        .actor(
            "go",
            [
                Act::from(
                    Reply::call("well", "agent_spawn", &task("helper", "be well"))
                        .and_call("bad", "agent_spawn", &task("helper", "be bad"))
                        .and_call("hang", "agent_spawn", &background("helper", "hang"))
                        .and_call("slow", "agent_spawn", &background("helper", "be slow")),
                ),
                Act::When(Arc::clone(&hung), Reply::call("list", "agent_list", "{}")),
                Act::Fitting(stop),
                Act::from(Reply::text("I wait.")),
                Act::from(Reply::text("I still wait.")),
                Act::from(Reply::text("That was all.")),
            ],
        )
        .actor(
            "be well",
            [
                Reply::call("l", "agent_list", "{}"),
                Reply::call("deep", "agent_spawn", &task("looker", "be deep")),
                Reply::text("well done"),
            ],
        )
        .actor("be deep", [Reply::text("deep enough")])
        .actor("be bad", [Reply::error(refused())])
        .actor("hang", [Act::HangAndRelease(hung)])
        .actor(
            "be slow",
            [
                Act::from(Reply::call("l", "agent_list", "{}")),
                Act::When(Arc::clone(slow), Reply::text("slowly")),
            ],
        )
}

fn agent(cast: &Arc<Cast>, folder: &Path) -> AgentHarness {
    let store = JsonlStore::new(folder);
    builder(cast, options().store(Arc::new(store)))
        .telemetry(Telemetry::new("coder"))
        .build()
        .unwrap()
}

fn open(agent: &AgentHarness, folder: &Path, id: SessionId) -> AgentSession {
    let store = JsonlStore::new(folder);
    let session = Session::open(&store, id, Access::Write).unwrap();
    agent.session_in(session).unwrap()
}

fn begin(agent: &AgentHarness, folder: &Path) -> AgentSession {
    let store = JsonlStore::new(folder);
    let session = Session::create(&store, Header::new(None)).unwrap();
    agent.session_in(session).unwrap()
}

/// How often each call's result stands in a conversation: as the result of the call, or as a message.
fn told(history: &[MessageRef]) -> BTreeMap<String, usize> {
    let mut told = BTreeMap::new();
    for message in history {
        match &**message {
            Message::ToolResults(results) => {
                for result in &results.results {
                    let text = result.outcome.shown_text();
                    for call in text.split("<subagent-result call=\"").skip(1) {
                        let call = call.split('"').next().unwrap();
                        *told.entry(call.to_owned()).or_default() += 1;
                    }
                }
            }
            Message::User(user) => {
                for part in &user.content {
                    if let UserPart::Text(text) = part
                        && let Some(call) = text.text.strip_prefix("<subagent-result call=\"")
                    {
                        let call = call.split('"').next().unwrap();
                        *told.entry(call.to_owned()).or_default() += 1;
                    }
                }
            }
            _ => {}
        }
    }
    told
}

/// The sessions below one, by the tasks that they were given, each with its status.
fn tree(store: &JsonlStore, root: SessionId) -> String {
    let listed = store.list(&Filter::default()).unwrap();
    let mut text = String::new();
    below(store, &listed, root, 0, &mut text);
    text
}

fn below(
    store: &JsonlStore,
    listed: &[harness_agent::sessions::Listed],
    id: SessionId,
    depth: usize,
    text: &mut String,
) {
    let session = Session::open(store, id, Access::Read).unwrap();
    let context = session.context().unwrap();
    let first = context
        .messages
        .iter()
        .find_map(|message| match &**message {
            Message::User(user) => user.content.iter().find_map(|part| match part {
                UserPart::Text(text) => Some(text.text.clone()),
                _ => None,
            }),
            _ => None,
        });
    let mut states = Vec::new();
    for number in session.branch().unwrap() {
        if let Body::Custom(custom) = session.log().read(number).unwrap().body {
            let end = &custom.data["subagent"]["end"]["status"];
            states.push(end.as_str().unwrap_or("begun").to_owned());
        }
    }
    let _ = writeln!(
        text,
        "{}{}: {}",
        "  ".repeat(depth),
        first.unwrap_or_default(),
        states.join(", ")
    );
    let mut children: Vec<_> = listed
        .iter()
        .filter(|it| it.header.parent.as_ref().is_some_and(|of| of.session == id))
        .map(|it| (it.first_prompt.clone(), it.header.id))
        .collect();
    children.sort();
    for (_, child) in children {
        below(store, listed, child, depth + 1, text);
    }
}

/// The piece with a crash while one works in the background: results, sessions and spans, compared whole.
#[tokio::test]
async fn three_parallel_children_and_one_over_a_crash() {
    let folder = tempfile::tempdir().unwrap();
    let slow = Arc::new(Semaphore::new(0));
    let cast = Arc::new(piece(&slow));
    let recording = Recording::new(&Schemas::built_in());
    let _seen = tracing::subscriber::set_default(recording.subscriber());
    let first = agent(&cast, folder.path());
    let mut session = begin(&first, folder.path());
    let id = session.id();
    let mut run = session.prompt("go");
    // The process dies when the parent has nothing else to do than to wait.
    while let Some(event) = run.next().await {
        if let Event::TurnEnd { turn: 4, .. } = event {
            break;
        }
    }
    drop(run);
    drop(session);
    drop(first);

    slow.add_permits(1);
    let second = agent(&cast, folder.path());
    let mut session = open(&second, folder.path(), id);
    let outcome = session.prompt("Go on.").outcome().await.unwrap();
    assert_eq!(outcome.answer(), "That was all.");
    let once = ["bad", "hang", "slow", "well"].map(|call| (call.to_owned(), 1));
    assert_eq!(told(session.history()), BTreeMap::from(once));
    // What was done is not done again.
    for (task, requests) in [("be well", 3), ("be deep", 1), ("be bad", 1), ("hang", 1)] {
        assert_eq!(cast.requests_of(task).len(), requests, "{task}");
    }
    let store = JsonlStore::new(folder.path());
    insta::assert_snapshot!("subagent_sessions", tree(&store, id));
    let shown = |key: &str| {
        let kept = [
            "harness.run.outcome",
            "harness.run.turns",
            "harness.turn.outcome",
        ];
        kept.contains(&key)
    };
    insta::assert_snapshot!("subagent_spans", recording.tree(shown));
    assert_eq!(recording.problems(), Vec::<String>::new());
}

/// The same, with a crash at each event of the run in turn.
#[tokio::test]
async fn a_crash_at_any_moment_loses_nothing_and_tells_nothing_twice() {
    let mut moment = 0;
    loop {
        moment += 1;
        let folder = tempfile::tempdir().unwrap();
        let slow = Arc::new(Semaphore::new(1_000));
        let cast = Arc::new(piece(&slow));
        let first = agent(&cast, folder.path());
        let mut session = begin(&first, folder.path());
        let id = session.id();
        let mut run = session.prompt("go");
        let mut seen = 0;
        while seen < moment && run.next().await.is_some() {
            seen += 1;
        }
        let is_over = seen < moment;
        drop(run);
        drop(session);
        drop(first);
        let second = agent(&cast, folder.path());
        let mut session = open(&second, folder.path(), id);
        if session.has_something_to_answer() {
            let outcome = session.go_on().outcome().await;
            let outcome = outcome.unwrap_or_else(|error| panic!("{moment}: {error}"));
            assert_eq!(outcome.status.word(), "finished", "{moment}");
        }
        let told = told(session.history());
        for call in ["bad", "hang", "slow", "well"] {
            assert_eq!(
                told.get(call),
                Some(&1),
                "moment {moment}, {call}: {told:?}"
            );
        }
        let store = JsonlStore::new(folder.path());
        for listed in store.list(&Filter::default()).unwrap() {
            let session = Session::open(&store, listed.header.id, Access::Read).unwrap();
            let context = session.context().unwrap();
            let tasks = context.messages.iter().filter(|message| {
                matches!(&***message, Message::User(user) if user.content.iter().any(|part| {
                    matches!(part, UserPart::Text(text) if !text.text.starts_with("<subagent-result"))
                }))
            });
            assert_eq!(tasks.count(), 1, "moment {moment}: {listed:?}");
        }
        if is_over {
            break;
        }
    }
    assert!(moment > 40, "{moment}");
}

/// What is waited for is not lost with the beginning of a conversation.
#[tokio::test]
async fn sub_10_a_summary_takes_along_who_is_at_work() {
    let folder = tempfile::tempdir().unwrap();
    let slow = Arc::new(Semaphore::new(0));
    let words = "words ".repeat(4_000);
    let cast = Cast::new()
        .actor(
            "go",
            [
                Reply::call("slow", "agent_spawn", &background("helper", "be slow")),
                Reply::text(&words),
            ],
        )
        .actor(
            "be slow",
            [Act::When(Arc::clone(&slow), Reply::text("slowly"))],
        )
        .actor(
            "*",
            [
                Reply::text("A summary."),
                Reply::text("I have it."),
                Reply::text("So it is."),
            ],
        );
    let cast = Arc::new(cast);
    let agent = agent(&cast, folder.path());
    let mut session = begin(&agent, folder.path());
    let mut run = session.prompt("go");
    while let Some(event) = run.next().await {
        if let Event::TurnEnd { turn: 2, .. } = event {
            break;
        }
    }
    drop(run);
    let compacted = session
        .compact(None, harness_agent::core::CancellationToken::new())
        .await
        .unwrap();
    assert!(compacted.is_some());
    let shown: Vec<String> = session
        .history()
        .iter()
        .map(|message| format!("{message:?}"))
        .collect();
    let shown = shown.join("\n");
    assert!(shown.contains("subagents-at-work"), "{shown}");
    slow.add_permits(1);
    session.prompt("Well?").outcome().await.unwrap();
    assert_eq!(told(session.history()).get("slow"), Some(&1));
}
