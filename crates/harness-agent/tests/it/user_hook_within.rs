//! Hooks in runs of subagents.

use std::sync::Arc;

use harness_agent::core::test_support::{Reply, ScriptedModel};
use harness_agent::core::{Caller, RunContext, RunInput, RunOptions, SubagentName, run_with};
use harness_agent::middlewares::TranscriptPath;
use serde_json::{Value, json};

use crate::user_hook_stage::Stage;

const ALL: [&str; 6] = [
    "SessionStart",
    "UserPromptSubmit",
    "PreToolUse",
    "PostToolUse",
    "Stop",
    "SessionEnd",
];

/// What the hooks are given in a run that calls `ls` once.
async fn heard(parent: Option<RunContext>, caller: Caller) -> Vec<Value> {
    let hooks: serde_json::Map<_, _> = ALL
        .into_iter()
        .map(|event| {
            let hook = json!([{ "hooks": [{ "command": "cat >> heard" }] }]);
            (event.to_owned(), hook)
        })
        .collect();
    let stage = Stage::new(&Value::Object(hooks));
    let model = Arc::new(ScriptedModel::new([
        Reply::call("c1", "ls", "{}"),
        Reply::text("Done."),
    ]));
    let config = stage.config(&model);
    let options = RunOptions {
        caller: Caller {
            working_dir: stage.caller.working_dir.clone(),
            ..caller
        },
        parent,
        ..RunOptions::default()
    };
    let run = run_with(&config, RunInput::prompt("go"), options);
    run.outcome().await.unwrap();
    let lines = stage.text("heard");
    let lines = lines.lines().map(serde_json::from_str);
    lines.collect::<Result<_, _>>().unwrap()
}

fn events(heard: &[Value]) -> Vec<&str> {
    let names = heard.iter().map(|it| it["hook_event_name"].as_str());
    names.map(Option::unwrap).collect()
}

#[tokio::test]
async fn sub_a_child_has_the_hooks_of_calls_and_no_others() {
    let caller = Caller {
        session: Some("users".to_owned()),
        ..Caller::default()
    };
    caller
        .attributes
        .insert(TranscriptPath("/home/user/users.jsonl".into()));
    let alone = heard(None, caller.clone()).await;
    let (calls, others) = (["PreToolUse", "PostToolUse"], &ALL[..2]);
    assert_eq!(events(&alone), [others, &calls, &["Stop"]].concat());
    assert!(alone.iter().all(|it| it.get("agent_id").is_none()));

    let childs = Caller {
        session: Some("childs".to_owned()),
        ..Caller::default()
    };
    childs
        .attributes
        .insert(TranscriptPath("/home/user/childs.jsonl".into()));
    childs.attributes.insert(SubagentName {
        id: "explore-3f9a1c02".to_owned(),
        agent: "explore".to_owned(),
    });
    let within = heard(Some(RunContext::detached(caller)), childs).await;
    assert_eq!(events(&within), calls);
    for input in within {
        assert_eq!(input["session_id"], "users");
        assert_eq!(input["transcript_path"], "/home/user/users.jsonl");
        assert_eq!(input["agent_id"], "explore-3f9a1c02");
        assert_eq!(input["agent_type"], "explore");
    }
}
