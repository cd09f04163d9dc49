//! Plan mode in runs of subagents: it is that of the outermost run.

use std::path::Path;
use std::sync::{Arc, Mutex};

use harness_agent::core::test_support::Reply;
use harness_agent::core::{
    Caller, DynamicTool, Message, ModelRequest, RunContext, ToolEffects, ToolOutcome,
};
use harness_agent::middlewares::{PlanModeMiddleware, PlanState};
use serde_json::{Value, json};

use crate::plan_mode::{Hands, builder, plan_md, scripted};

/// What a child did.
struct Seen {
    outcomes: Vec<ToolOutcome>,
    requests: Vec<ModelRequest>,
    history: Vec<Message>,
    /// The context of its run.
    cx: RunContext,
}

/// A run within another one, that makes these calls.
async fn child(
    parent: &RunContext,
    folder: &Path,
    task: &str,
    calls: &[(&str, Value)],
    between: impl Fn(usize) + Send + Sync + 'static,
) -> Seen {
    let contexts = Arc::new(Mutex::new(Vec::new()));
    let kept = Arc::clone(&contexts);
    // Between two calls, the parent's run goes on.
    let meanwhile = DynamicTool::new("meanwhile", "Waits.", json!({}), move |cx, _| {
        let mut kept = kept.lock().unwrap();
        between(kept.len());
        kept.push(cx.run().clone());
        Box::pin(std::future::ready(Ok("ok".into())))
    })
    .effects(|_, _| ToolEffects::conversation());
    let mut replies = Vec::new();
    for (number, (tool, arguments)) in calls.iter().enumerate() {
        replies.push(Reply::call(&format!("m{number}"), "meanwhile", "{}"));
        replies.push(Reply::call(
            &format!("c{number}"),
            tool,
            &arguments.to_string(),
        ));
    }
    replies.push(Reply::call("m", "meanwhile", "{}"));
    replies.push(Reply::text("Done."));
    let model = scripted(replies);
    let agent = builder(&model, folder, PlanModeMiddleware::new())
        .tool(meanwhile)
        .build()
        .unwrap();
    let mut session = agent.session().within(parent.clone());
    let outcome = session.prompt(task).outcome().await.unwrap();
    let results = outcome
        .history
        .iter()
        .filter_map(|message| match &**message {
            Message::ToolResults(results) => Some(&results.results),
            _ => None,
        });
    let own = results
        .flatten()
        .filter(|result| result.call_id.starts_with('c'));
    Seen {
        outcomes: own.map(|result| result.outcome.as_ref().clone()).collect(),
        requests: model.requests(),
        history: outcome
            .history
            .iter()
            .map(|it| Message::clone(it))
            .collect(),
        cx: contexts.lock().unwrap().pop().unwrap(),
    }
}

fn changes() -> Vec<(&'static str, Value)> {
    let bash = |command: &str| ("bash", json!({ "command": command }));
    vec![
        bash("echo x > f"),
        bash("python3 -c \"open('f','w')\""),
        bash("git init -q . && git commit --allow-empty -m x"),
        ("write", json!({"path": "f", "content": "x"})),
        (
            "write",
            json!({"path": ".harness/plans/plan.md", "content": "x"}),
        ),
    ]
}

fn denied(outcomes: &[ToolOutcome]) -> Vec<bool> {
    let is_denied =
        |it: &ToolOutcome| matches!(it, ToolOutcome::Denied { by, .. } if by == "plan-mode");
    outcomes.iter().map(is_denied).collect()
}

#[tokio::test]
async fn sub_01_nothing_changes_in_a_child_while_the_parent_plans() {
    let folder = tempfile::tempdir().unwrap();
    let hands = Hands::new(folder.path(), None, PlanModeMiddleware::new());
    hands.plan().await;
    let parent = RunContext::detached(hands.caller.clone());
    let plan = std::fs::read_to_string(plan_md(&folder)).unwrap();
    for state in [PlanState::Planning, PlanState::Proposed] {
        if state == PlanState::Proposed {
            hands.call("plan_exit", json!({"summary": "s"})).await;
        }
        hands.at(state);
        let seen = child(&parent, folder.path(), "Go.", &changes(), |_| {}).await;
        assert_eq!(denied(&seen.outcomes), [true; 5], "{:?}", seen.outcomes);
        // And in a child of the child.
        let seen = child(&seen.cx, folder.path(), "Go.", &changes(), |_| {}).await;
        assert_eq!(denied(&seen.outcomes), [true; 5], "{:?}", seen.outcomes);
        assert_eq!(seen.cx.depth(), 2);
        hands.at(state);
    }
    assert!(!folder.path().join("f").exists());
    assert!(!folder.path().join(".git").exists());
    let now = std::fs::read_to_string(plan_md(&folder)).unwrap();
    assert_eq!(now, plan.replace("planning", "proposed"));
    // What reads, runs.
    let look = [
        ("ls", json!({})),
        ("read", json!({"path": ".harness/plans/plan.md"})),
    ];
    let seen = child(&parent, folder.path(), "Look.", &look, |_| {}).await;
    let all = seen.outcomes.iter();
    assert!(all.into_iter().all(|it| matches!(it, ToolOutcome::Done(_))));
}

#[tokio::test]
async fn sub_01_what_the_parents_plan_mode_is_counts_at_the_moment_of_the_call() {
    let folder = tempfile::tempdir().unwrap();
    let hands = Hands::new(folder.path(), None, PlanModeMiddleware::new());
    hands.plan().await;
    let parent = RunContext::detached(hands.caller.clone());
    let mode = Arc::clone(&hands.mode);
    // The parent leaves plan mode before the second call, and plans again before the third.
    let between = move |number| match number {
        1 => mode.leave().unwrap(),
        2 => mode.enter().unwrap(),
        3 => mode.approve().unwrap_or_else(|_| mode.leave().unwrap()),
        _ => {}
    };
    let write = |name: &str| ("bash", json!({ "command": format!("echo x > {name}") }));
    let calls = ["a", "b", "c", "d"].map(write);
    let seen = child(&parent, folder.path(), "Go.", &calls, between).await;
    assert_eq!(denied(&seen.outcomes), [true, false, true, false]);
    let is_there = |name: &&str| folder.path().join(name).exists();
    let written: Vec<_> = ["a", "b", "c", "d"].into_iter().filter(is_there).collect();
    assert_eq!(written, ["b", "d"]);
    // It is told so, each turn anew.
    let told = |request: &ModelRequest| {
        request
            .system
            .as_deref()
            .unwrap_or_default()
            .contains("Plan mode is on: a plan is being made")
    };
    let told: Vec<_> = seen.requests.iter().map(told).collect();
    let expected = [
        true, true, true, false, false, true, true, false, false, false,
    ];
    assert_eq!(told, expected);
}

#[tokio::test]
async fn a_policy_further_out_sees_that_a_childs_call_is_refused() {
    let folder = tempfile::tempdir().unwrap();
    let plan = PlanModeMiddleware::new();
    let hands = Hands::new(folder.path(), None, plan.clone());
    let parent = RunContext::detached(hands.caller.clone());
    let seen = child(&parent, folder.path(), "Go.", &[], |_| {}).await;
    let writes = |path: &Path| ToolEffects::write(path);
    for is_planning in [true, false] {
        if is_planning {
            hands.plan().await;
        } else {
            hands.mode.leave().unwrap();
        }
        for path in [folder.path().join("f"), plan_md(&folder)] {
            let refused = plan.refuses(&seen.cx, &writes(&path)).is_some();
            assert_eq!(refused, is_planning, "{path:?}");
        }
    }
}

#[tokio::test]
async fn a_child_neither_plans_nor_leads_out_of_plan_mode() {
    let summary = || json!({"summary": "s"});
    let content = || json!({"content": "# Mine\n"});
    let tools = [
        ("plan_enter", json!({})),
        ("plan_write", content()),
        ("plan_exit", summary()),
    ];
    for state in [
        PlanState::Off,
        PlanState::Planning,
        PlanState::Proposed,
        PlanState::Approved,
    ] {
        let folder = tempfile::tempdir().unwrap();
        let hands = Hands::new(folder.path(), None, PlanModeMiddleware::new());
        match state {
            PlanState::Off => {}
            PlanState::Planning => hands.plan().await,
            _ => {
                hands.plan().await;
                hands.call("plan_exit", summary()).await;
            }
        }
        if state == PlanState::Approved {
            hands.mode.approve().unwrap();
        }
        let before = std::fs::read_to_string(plan_md(&folder)).ok();
        let parent = RunContext::detached(hands.caller.clone());
        for task in ["/plan off", "/plan approve\nNow.", "/plan a door"] {
            let seen = child(&parent, folder.path(), task, &tools, |_| {}).await;
            assert_eq!(denied(&seen.outcomes), [true; 3], "{:?}", seen.outcomes);
            let Message::User(said) = &seen.history[0] else {
                panic!("{:?}", seen.history[0]);
            };
            assert_eq!(*said, task.into());
            hands.at(state);
            let prompt = seen.requests[0].system.as_deref().unwrap_or_default();
            assert_eq!(prompt.contains("Plan mode is on"), state.is_read_only());
            assert!(!prompt.contains("plan_exit"), "{prompt}");
        }
        let caller: &Caller = &hands.caller;
        assert_eq!(PlanModeMiddleware::new().mode(caller).state(), state);
        assert_eq!(std::fs::read_to_string(plan_md(&folder)).ok(), before);
    }
}
