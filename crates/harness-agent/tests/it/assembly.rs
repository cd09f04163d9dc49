//! `build_loop_config`: what goes into a run, and in which order.

use std::sync::Arc;

use harness_agent::core::test_support::{Recorder, Reply, ScriptedModel};
use harness_agent::core::{
    Caller, CancellationToken, Message, Model, ThinkingLevel, ToolOutcome, from_fn,
};
use harness_agent::{
    AgentHarness, DefaultOptions, Error, LoopContext, SystemPromptSource, Workspace,
    default_harness, default_tools,
};

fn scripted(replies: impl IntoIterator<Item = Reply>) -> Arc<ScriptedModel> {
    Arc::new(ScriptedModel::new(replies))
}

#[test]
fn an_agent_needs_a_model() {
    assert!(matches!(
        AgentHarness::builder().build(),
        Err(Error::NoModel)
    ));
}

#[test]
fn two_tools_of_one_name_are_refused() {
    let workspace = Workspace::new(".");
    let twice = AgentHarness::builder()
        .shared_model(scripted([]))
        .tools(default_tools(&workspace))
        .tools(default_tools(&workspace))
        .build();
    assert!(twice.unwrap_err().to_string().contains("two tools"));
}

#[tokio::test]
async fn the_users_middleware_sees_the_bare_prompt_and_the_folder_follows() {
    let model = scripted([Reply::text("Done.")]);
    let agent = AgentHarness::builder()
        .shared_model(model.clone())
        .system_prompt(SystemPromptSource::Text("Base.".to_owned()))
        .append_system_prompt("Appended.")
        .working_dir("/srv/project")
        .middleware(from_fn::on_system_prompt("mine", |_, prompt| {
            assert!(!prompt.text().contains("/srv/project"));
            Box::pin(async move { Ok(prompt.with_section("mine", "Mine.", "mine")) })
        }))
        .build()
        .unwrap();
    agent.prompt("Go.").outcome().await.unwrap();
    let system = model.requests()[0].system.clone().unwrap();
    let order: Vec<usize> = ["Base.", "Appended.", "Mine.", "/srv/project"]
        .into_iter()
        .map(|part| {
            system
                .find(part)
                .unwrap_or_else(|| panic!("{part} is not in {system}"))
        })
        .collect();
    assert!(order.is_sorted(), "{system}");
}

#[tokio::test]
async fn the_prompt_has_the_same_bytes_on_each_turn() {
    let model = scripted([
        Reply::call("1", "ls", "{}"),
        Reply::call("2", "ls", "{}"),
        Reply::text("Done."),
    ]);
    let folder = tempfile::tempdir().unwrap();
    let options = DefaultOptions::new(model.clone(), Workspace::new(folder.path()));
    let agent = default_harness(options).unwrap();
    agent.prompt("Go.").outcome().await.unwrap();
    let requests = model.requests();
    assert_eq!(requests.len(), 3);
    for pair in requests.windows(2) {
        assert_eq!(pair[0].system, pair[1].system);
        assert!(Arc::ptr_eq(&pair[0].tools, &pair[1].tools));
        assert!(pair[1].messages.starts_with(&pair[0].messages));
    }
}

#[tokio::test]
async fn a_run_may_have_a_folder_of_its_own() {
    let agent = AgentHarness::builder()
        .shared_model(scripted([]))
        .working_dir("/srv/usual")
        .build()
        .unwrap();
    let caller = Caller {
        working_dir: Some("/srv/other".into()),
        ..Caller::default()
    };
    let text = agent
        .system_prompt(caller)
        .await
        .unwrap()
        .fitted
        .prompt
        .text();
    assert!(
        text.contains("/srv/other") && !text.contains("/srv/usual"),
        "{text}"
    );
    let text = agent
        .system_prompt(Caller::default())
        .await
        .unwrap()
        .fitted
        .prompt
        .text();
    assert!(text.contains("/srv/usual"), "{text}");
}

#[test]
fn a_context_replaces_model_tools_and_thinking() {
    let agent = AgentHarness::builder()
        .shared_model(scripted([]))
        .tools(default_tools(&Workspace::new(".")))
        .build()
        .unwrap();
    assert_eq!(agent.loop_config().tools().len(), 7);
    let other: Arc<dyn Model> = Arc::new(ScriptedModel::new([]).named("other"));
    let context = LoopContext {
        model: Some(other),
        tools: Some(Vec::new()),
        thinking: Some(ThinkingLevel::High),
        ..LoopContext::default()
    };
    let config = agent.build_loop_config(&context).unwrap().config;
    assert_eq!(config.model().info().id.name, "other");
    assert!(config.tools().is_empty());
    assert!(config.system_prompt().text().contains("You have no tools"));
}

#[tokio::test]
async fn the_default_agent_offers_seven_tools_and_runs_them() {
    let folder = tempfile::tempdir().unwrap();
    std::fs::write(folder.path().join("a.txt"), "alpha\n").unwrap();
    let model = scripted([
        Reply::call("1", "read", r#"{"path":"a.txt"}"#).and_call("2", "ls", "{}"),
        Reply::text("It says alpha."),
    ]);
    let options = DefaultOptions::new(model.clone(), Workspace::new(folder.path()));
    let agent = default_harness(options).unwrap();
    let names: Vec<String> = agent
        .loop_config()
        .tools()
        .iter()
        .map(|tool| tool.spec().name.clone())
        .collect();
    assert_eq!(
        names,
        ["read", "write", "edit", "bash", "grep", "find", "ls"]
    );
    let outcome = agent
        .prompt("What does a.txt say?")
        .outcome()
        .await
        .unwrap();
    assert_eq!(outcome.answer(), "It says alpha.");
    let Message::ToolResults(results) = &*outcome.history[2] else {
        panic!("no results")
    };
    assert!(results.results[0].outcome.shown_text().contains("alpha"));
    assert!(results.results[1].outcome.shown_text().contains("a.txt"));
}

#[test]
fn a_tool_that_is_not_there_is_named() {
    let mut options = DefaultOptions::new(scripted([]), Workspace::new("."));
    options.tools = Some(vec!["read".to_owned(), "fly".to_owned()]);
    assert!(
        default_harness(options)
            .unwrap_err()
            .to_string()
            .contains("`fly`")
    );
}

#[tokio::test]
async fn a_call_by_hand_passes_the_middlewares() {
    let folder = tempfile::tempdir().unwrap();
    let recorder = Recorder::new("mine");
    let agent = AgentHarness::builder()
        .shared_model(scripted([]))
        .tools(default_tools(&Workspace::new(folder.path())))
        .middleware(recorder.clone())
        .middleware(from_fn::on_tool_call("no-bash", |cx, call, next| {
            Box::pin(async move {
                if call.name == "bash" {
                    let (by, reason) = ("no-bash".to_owned(), "not here".to_owned());
                    return ToolOutcome::Denied { by, reason };
                }
                next.run(cx, call).await
            })
        }))
        .build()
        .unwrap();
    let call = |name: &'static str, arguments: &'static str| {
        agent.call_tool(Caller::default(), name, arguments, CancellationToken::new())
    };
    assert!(matches!(
        call("ls", "{}").await.unwrap(),
        ToolOutcome::Done(_)
    ));
    assert!(matches!(
        call("bash", r#"{"command":"true"}"#).await.unwrap(),
        ToolOutcome::Denied { .. }
    ));
    assert!(matches!(
        call("ls", "not json").await.unwrap(),
        ToolOutcome::Failed(_)
    ));
    assert!(matches!(
        call("fly", "{}").await.unwrap(),
        ToolOutcome::Failed(_)
    ));
    assert_eq!(
        recorder
            .log()
            .iter()
            .filter(|line| *line == "mine:tool_call>")
            .count(),
        4
    );
}

/// PROMPT-14: nothing of a template is left in what a model is sent.
#[tokio::test]
async fn prompt_14_no_placeholder_is_left() {
    let options = DefaultOptions::new(scripted([]), Workspace::new("/srv/project"));
    let text = default_harness(options)
        .unwrap()
        .system_prompt(Caller::default())
        .await
        .unwrap();
    assert!(
        !text.fitted.prompt.text().contains(['{', '}']),
        "{}",
        text.fitted.prompt.text()
    );
}
