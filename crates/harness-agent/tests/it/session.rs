//! A conversation over several runs.

use std::sync::Arc;

use harness_agent::core::test_support::{ManualClock, Reply, ScriptedModel};
use harness_agent::core::{
    CancellationToken, Event, Limits, Message, ModelError, RetryPolicy, RunStatus, from_fn,
    protocol,
};
use harness_agent::{AgentHarness, DefaultOptions, Workspace, default_harness};
use harness_tools::ShellOptions;
use serde_json::json;

fn agent(model: &Arc<ScriptedModel>) -> harness_agent::AgentHarnessBuilder {
    AgentHarness::builder()
        .shared_model(model.clone())
        .clock(Arc::new(ManualClock::new()))
}

#[tokio::test]
async fn a_conversation_goes_on() {
    let model = Arc::new(ScriptedModel::new([
        Reply::text("Hello."),
        Reply::text("Ada."),
    ]));
    let mut session = agent(&model).build().unwrap().session();
    session.prompt("I am Ada.").outcome().await.unwrap();
    let outcome = session.prompt("Who am I?").outcome().await.unwrap();
    assert_eq!(outcome.answer(), "Ada.");
    assert_eq!(outcome.new_messages().len(), 2);
    assert_eq!(session.history().len(), 4);
    assert_eq!(model.requests()[1].messages.len(), 3);
}

#[tokio::test]
async fn a_failed_run_is_gone_on_from() {
    let message = "no".to_owned();
    let refused = ModelError::InvalidRequest {
        status: Some(400),
        message,
    };
    let model = Arc::new(ScriptedModel::new([
        Reply::error(refused),
        Reply::text("Here I am again."),
    ]));
    let mut session = agent(&model)
        .retry(RetryPolicy::never())
        .build()
        .unwrap()
        .session();
    assert!(session.prompt("Hello?").outcome().await.is_err());
    assert_eq!(session.history().len(), 1);
    let outcome = session.go_on().outcome().await.unwrap();
    assert_eq!(outcome.answer(), "Here I am again.");
    assert_eq!(session.history().len(), 2);
}

#[tokio::test]
async fn a_run_at_its_limit_is_gone_on_from() {
    let model = Arc::new(ScriptedModel::new([
        Reply::call("1", "nothing", "{}"),
        Reply::text("Then not."),
    ]));
    let mut limits = Limits::default();
    limits.max_turns = 1;
    let mut session = agent(&model).limits(limits).build().unwrap().session();
    let outcome = session.prompt("Go.").outcome().await.unwrap();
    assert!(matches!(outcome.status, RunStatus::Limit(_)));
    assert_eq!(
        session.go_on().outcome().await.unwrap().answer(),
        "Then not."
    );
    assert!(protocol::check_messages(&session.history()[..3]).is_ok());
}

/// LOOP-29: what could not be delivered comes first in the next run, and once.
#[tokio::test]
async fn loop_29_an_undelivered_message_is_delivered_by_the_next_run() {
    let model = Arc::new(ScriptedModel::new([Reply::text("Yes, tea.")]));
    let mut session = agent(&model).build().unwrap().session();
    let cancel = CancellationToken::new();
    cancel.cancel();
    let run = session.prompt_with("Hello.", cancel);
    run.control().steer("And tea.").unwrap();
    let outcome = run.outcome().await.unwrap();
    assert!(matches!(outcome.status, RunStatus::Cancelled));
    assert_eq!(session.undelivered().len(), 1);
    session.go_on().outcome().await.unwrap();
    assert!(session.undelivered().is_empty());
    let told = format!("{:?}", model.requests()[0].messages);
    assert_eq!(told.matches("And tea.").count(), 1);
}

#[tokio::test]
async fn a_run_that_is_dropped_leaves_what_it_has_recorded() {
    let model = Arc::new(ScriptedModel::new([Reply::text("Here I am.")]));
    let mut session = agent(&model).build().unwrap().session();
    let mut run = session.prompt("Hello.");
    while let Some(event) = run.next().await {
        if matches!(event, Event::UserMessage { .. }) {
            break;
        }
    }
    drop(run);
    assert_eq!(session.history().len(), 1);
    assert!(session.was_cut_off());
    let outcome = session.go_on().outcome().await.unwrap();
    assert_eq!(outcome.answer(), "Here I am.");
    assert!(!session.was_cut_off());
    let told: Vec<_> = model.requests()[0].messages.to_vec();
    assert_eq!(told, [Message::user("Hello.").into()]);
}

/// EDIT-24: what a person changes while an edit waits for approval is not lost.
#[tokio::test]
async fn edit_24_a_change_during_an_approval_survives() {
    let folder = tempfile::tempdir().unwrap();
    let file = folder.path().join("f");
    std::fs::write(&file, "one\ntwo\n").unwrap();
    let edit = r#"{"path": "f", "edits": [{"old_text": "one", "new_text": "ONE"}]}"#;
    let model = Arc::new(ScriptedModel::new([
        Reply::call("1", "read", r#"{"path": "f"}"#),
        Reply::call("2", "edit", edit),
        Reply::text("Done."),
    ]));
    let changed = file.clone();
    let approval = from_fn::on_tool_call("approval", move |cx, call, next| {
        let changed = changed.clone();
        Box::pin(async move {
            if call.name == "edit" {
                std::fs::write(&changed, "one\ntwo, as the person has it\n").unwrap();
            }
            next.run(cx, call).await
        })
    });
    let workspace = harness_agent::Workspace::new(folder.path());
    let mut session = agent(&model)
        .tools(harness_agent::default_tools(&workspace))
        .middleware(approval)
        .build()
        .unwrap()
        .session();
    session.prompt("Edit.").outcome().await.unwrap();
    let now = std::fs::read_to_string(&file).unwrap();
    assert_eq!(now, "ONE\ntwo, as the person has it\n");
}

/// What `bash` keeps between calls lasts over the runs of a session, and ends with it.
#[tokio::test]
async fn folder_and_jobs_last_as_long_as_the_session() {
    let bash =
        |id: &str, arguments: serde_json::Value| Reply::call(id, "bash", &arguments.to_string());
    let model = Arc::new(ScriptedModel::new([
        bash("1", json!({"command": "mkdir a; cd a"})),
        bash(
            "2",
            json!({"command": "pwd; sleep 600", "background": true}),
        ),
        Reply::text("One."),
        bash("3", json!({"command": "pwd"})),
        bash("4", json!({"job": 1})),
        Reply::text("Two."),
    ]));
    let folder = tempfile::tempdir().unwrap();
    let mut shell = ShellOptions::default();
    shell.output_folder = folder.path().to_owned();
    let workspace = Workspace::new(folder.path()).with_shell(shell);
    let options = DefaultOptions::new(model.clone(), workspace);
    let mut session = default_harness(options).unwrap().session();
    session.prompt("Go.").outcome().await.unwrap();
    session.prompt("Go on.").outcome().await.unwrap();

    let results: Vec<String> = session
        .history()
        .iter()
        .map(|message| serde_json::to_string(message).unwrap())
        .filter(|text| text.contains("[exit code") || text.contains("[job 1"))
        .collect();
    let [moved, started, at, asked] = &results[..] else {
        panic!("{results:#?}")
    };
    assert!(moved.contains("[working directory: a]"), "{moved}");
    assert!(at.contains("/a\\n[exit code 0]"), "{at}");
    for text in [started, asked] {
        assert!(text.contains("[job 1 runs, pid "), "{text}");
    }
    let pid: u32 = asked
        .split("pid ")
        .nth(1)
        .and_then(|rest| rest.split(';').next()?.parse().ok())
        .unwrap();
    let runs = || {
        let stat = std::fs::read_to_string(format!("/proc/{pid}/stat"));
        stat.is_ok_and(|stat| !stat.contains(") Z "))
    };
    assert!(runs());
    session.end().await;
    assert!(!runs());
}
