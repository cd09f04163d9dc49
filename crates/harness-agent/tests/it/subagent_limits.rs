//! A subagent that tries to have more than its parent gives it.

use std::sync::Arc;
use std::sync::atomic::{AtomicUsize, Ordering};

use harness_agent::core::test_support::{Reply, ScriptedModel};
use harness_agent::core::{
    DynamicTool, Event, LimitReached, Limits, Model, ModelInfo, Prices, RunOutcome, RunStatus,
    ToolOutput,
};
use harness_agent::middlewares::SubagentOptions;
use harness_agent::{AgentDeclaration, AgentHarness, ModelSource};
use serde_json::json;

use crate::subagent_stage::{Act, Cast, agents, background, builder, options, task};

/// A tool that counts its calls.
fn counted(name: &str, calls: &Arc<AtomicUsize>) -> DynamicTool {
    let calls = Arc::clone(calls);
    DynamicTool::new(name, "Does it.", json!({"type": "object"}), move |_, _| {
        let calls = Arc::clone(&calls);
        Box::pin(async move {
            calls.fetch_add(1, Ordering::Relaxed);
            Ok(ToolOutput::text("did it"))
        })
    })
}

/// All events of a run, those of subagents with the ids of these before them; and its outcome.
async fn watched(agent: &AgentHarness, prompt: &str) -> (Vec<String>, RunOutcome) {
    fn tell(event: &Event, depth: usize, told: &mut Vec<String>) {
        match event {
            Event::Subagent(inner) => tell(&inner.event, depth + 1, told),
            Event::ToolEnd { name, outcome, .. } => {
                told.push(format!("{depth} {name}: {}", outcome.shown_text()));
            }
            Event::RunEnd(end) => told.push(format!(
                "{depth} end: {} {}",
                end.outcome,
                end.error.as_ref().map_or("", |error| &error.message)
            )),
            _ => {}
        }
    }
    let mut run = agent.prompt(prompt);
    let mut told = Vec::new();
    while let Some(event) = run.next().await {
        tell(&event, 0, &mut told);
    }
    (told, run.outcome().await.unwrap())
}

fn has(told: &[String], start: &str, part: &str) -> bool {
    told.iter()
        .any(|line| line.starts_with(start) && line.contains(part))
}

#[tokio::test]
async fn wider_tools_are_not_there() {
    let (look, touch) = (Arc::default(), Arc::default());
    let cast =
        Arc::new(
            Cast::new()
                .actor(
                    "go",
                    [
                        Reply::call("1", "agent_spawn", &task("looker", "look and touch"))
                            .and_call("2", "agent_spawn", &task("wide", "touch all")),
                        Reply::text("done"),
                    ],
                )
                .actor(
                    "look and touch",
                    [
                        Reply::call("1", "look", "{}")
                            .and_call("2", "touch", "{}")
                            .and_call("3", "agent_spawn", &task("helper", "touch it")),
                        Reply::text("no"),
                    ],
                )
                .actor(
                    "touch all",
                    [
                        Reply::call("1", "touch", "{}").and_call("2", "hidden", "{}"),
                        Reply::text("no"),
                    ],
                ),
        );
    let wide = AgentDeclaration::new("wide", "Wants more.", "You want more.")
        .tools(["touch", "hidden", "look"]);
    let agent = builder(&cast, SubagentOptions::new(agents().with(wide)))
        .tool(counted("look", &look))
        .tool(counted("touch", &touch))
        .tool(counted("hidden", &touch))
        .only_tools([
            "look",
            "agent_spawn",
            "agent_send",
            "agent_list",
            "agent_stop",
        ])
        .build()
        .unwrap();
    let (told, outcome) = watched(&agent, "go").await;
    assert_eq!(outcome.answer(), "done");
    assert_eq!(look.load(Ordering::Relaxed), 1);
    assert_eq!(touch.load(Ordering::Relaxed), 0);
    assert!(has(&told, "1 touch", "no tool"), "{told:#?}");
    assert!(has(&told, "1 agent_spawn", "no tool"), "{told:#?}");
    let request = &cast.requests_of("look and touch")[0];
    let names: Vec<&str> = request
        .tools
        .iter()
        .map(|tool| tool.name.as_str())
        .collect();
    assert_eq!(names, ["look"]);
}

#[tokio::test]
async fn deeper_subagents_are_not_there() {
    let cast = Arc::new(
        Cast::new()
            .actor(
                "one",
                [
                    Reply::call("1", "agent_spawn", &task("helper", "two")),
                    Reply::text("1"),
                ],
            )
            .actor(
                "two",
                [
                    Reply::call("1", "agent_spawn", &task("helper", "three")),
                    Reply::text("2"),
                ],
            )
            .actor(
                "three",
                [
                    Reply::call("1", "agent_spawn", &task("helper", "four")).and_call(
                        "2",
                        "agent_send",
                        r#"{"id":"x","message":"y"}"#,
                    ),
                    Reply::text("3"),
                ],
            ),
    );
    let agent = builder(&cast, options()).build().unwrap();
    let (told, outcome) = watched(&agent, "one").await;
    assert_eq!(outcome.answer(), "1");
    assert!(has(&told, "2 agent_spawn", "no tool"), "{told:#?}");
    assert!(has(&told, "2 agent_send", "no tool"), "{told:#?}");
    assert!(cast.requests_of("three")[0].tools.is_empty());
}

/// A subagent that is asked again and again, each time for 60 tokens.
fn spender() -> Vec<Act> {
    (0..9)
        .map(|turn| Act::from(Reply::call(&format!("c{turn}"), "look", "{}").usage(50, 10)))
        .collect()
}

#[tokio::test]
async fn more_tokens_than_there_are_cannot_be_used_by_many_together() {
    let calls = Arc::default();
    let three = Reply::call("1", "agent_spawn", &task("helper", "spend a"))
        .and_call("2", "agent_spawn", &task("helper", "spend b"))
        .and_call("3", "agent_spawn", &task("helper", "spend c"))
        .usage(5, 5);
    let cast = Arc::new(
        Cast::new()
            .actor("go", [three])
            .actor("spend a", spender())
            .actor("spend b", spender())
            .actor("spend c", spender()),
    );
    let mut limits = Limits::default();
    limits.max_tokens = Some(300);
    let agent = builder(&cast, options())
        .tool(counted("look", &calls))
        .limits(limits)
        .build()
        .unwrap();
    let (told, outcome) = watched(&agent, "go").await;
    let RunStatus::Limit(LimitReached::Tokens { max: 300, used }) = outcome.status else {
        panic!("{:?}", outcome.status);
    };
    // Looked at before each turn: each that is at work can be one turn over.
    assert!((300..300 + 3 * 60).contains(&used), "{used}");
    assert_eq!(outcome.usage.total(), used);
    assert_eq!(outcome.turns, 1);
    let ended = |line: &&String| line.starts_with("1 end: limit");
    assert_eq!(told.iter().filter(ended).count(), 3, "{told:#?}");
    assert!(has(
        &told,
        "1 end: limit",
        "in the run that started this one"
    ));
}

#[tokio::test]
async fn more_turns_and_declared_limits() {
    let calls = Arc::default();
    let few = AgentDeclaration::new("few", "Few.", "You are few.").max_turns(2);
    let many = AgentDeclaration::new("many", "Many.", "You are many.").max_turns(1_000_000);
    let cast = Arc::new(
        Cast::new()
            .actor(
                "go",
                [
                    Reply::call("1", "agent_spawn", &task("few", "spend a")),
                    Reply::call("2", "agent_spawn", &task("many", "spend b")),
                ],
            )
            .actor("spend a", spender())
            .actor("spend b", spender()),
    );
    let mut limits = Limits::default();
    limits.max_turns = 8;
    let agent = builder(&cast, SubagentOptions::new(agents().with(few).with(many)))
        .tool(counted("look", &calls))
        .limits(limits)
        .build()
        .unwrap();
    let (told, outcome) = watched(&agent, "go").await;
    assert!(
        has(&told, "1 end: limit", "its limit of 2 turns"),
        "{told:#?}"
    );
    // One of its own, two of the first: five are left for the second, and none for itself.
    assert_eq!(calls.load(Ordering::Relaxed), 2 + 5);
    assert!(matches!(
        outcome.status,
        RunStatus::Limit(LimitReached::Turns { max: 8 })
    ));
    assert_eq!(outcome.turns, 2);
}

struct Shop(Arc<Cast>);

impl ModelSource for Shop {
    fn model(&self, name: &str) -> Result<Arc<dyn Model>, String> {
        match name {
            "dear" => Ok(self.0.clone()),
            "unpriced" => Ok(Arc::new(ScriptedModel::new([Reply::text("free?")]))),
            _ => Err("there is no such model".to_owned()),
        }
    }
}

fn priced() -> ModelInfo {
    let mut info = Model::info(&ScriptedModel::new([])).clone();
    info.prices = Some(Prices {
        input: 1_000_000.0,
        output: 1_000_000.0,
        ..Prices::default()
    });
    info
}

#[tokio::test]
async fn more_money_cannot_be_spent() {
    let calls = Arc::default();
    let declared = |name: &str| {
        AgentDeclaration::new(name, "Spends.", "You spend.")
            .model(name)
            .max_cost(1e9)
    };
    let all = agents()
        .with(declared("dear"))
        .with(declared("unpriced"))
        .with(declared("unknown"))
        .with(declared("sonnet"));
    let cast = Arc::new(
        Cast::new()
            .info(priced())
            .actor(
                "go",
                [
                    Reply::call("1", "agent_spawn", &task("unpriced", "x"))
                        .and_call("2", "agent_spawn", &task("unknown", "x"))
                        .and_call("3", "agent_spawn", &task("sonnet", "cheap"))
                        .usage(1, 1),
                    Reply::call("4", "agent_spawn", &task("dear", "spend a")).usage(1, 1),
                ],
            )
            .actor("cheap", [Reply::text("it is").usage(1, 1)])
            .actor("spend a", spender()),
    );
    let mut limits = Limits::default();
    limits.max_cost = Some(100.0);
    let shop = Arc::new(Shop(cast.clone()));
    let agent = builder(&cast, SubagentOptions::new(all).models(shop))
        .tool(counted("look", &calls))
        .limits(limits)
        .build()
        .unwrap();
    let (told, outcome) = watched(&agent, "go").await;
    assert!(
        has(&told, "0 agent_spawn", "prices are not known"),
        "{told:#?}"
    );
    assert!(
        has(&told, "0 agent_spawn", "there is no such model"),
        "{told:#?}"
    );
    // A short name of another program's is no reason to fail.
    assert!(has(&told, "0 agent_spawn", "it is"), "{told:#?}");
    assert_eq!(calls.load(Ordering::Relaxed), 2);
    assert!(matches!(
        outcome.status,
        RunStatus::Limit(LimitReached::Cost { .. })
    ));
    assert_eq!(outcome.cost, Some(126.0));
}

#[tokio::test]
async fn no_more_at_once_and_no_more_in_all_than_may_be() {
    let cast = Arc::new(
        Cast::new()
            .actor(
                "go",
                [
                    Reply::call("1", "agent_spawn", &background("helper", "a"))
                        .and_call("2", "agent_spawn", &background("helper", "b"))
                        .and_call("3", "agent_spawn", &background("helper", "c")),
                    Reply::text("wait"),
                    Reply::call("4", "agent_spawn", &task("helper", "d")).and_call(
                        "5",
                        "agent_spawn",
                        &task("helper", "e"),
                    ),
                    Reply::text("done"),
                ],
            )
            .actor("a", [Reply::text("a")])
            .actor("b", [Reply::text("b")])
            .actor("d", [Reply::text("d")]),
    );
    let options = options().max_at_once(2).max_errands(3);
    let agent = builder(&cast, options).build().unwrap();
    let (told, outcome) = watched(&agent, "go").await;
    assert_eq!(outcome.answer(), "done");
    assert!(
        has(&told, "0 agent_spawn", "2 subagents are at work"),
        "{told:#?}"
    );
    assert!(
        has(&told, "0 agent_spawn", "3 tasks were given"),
        "{told:#?}"
    );
}

#[tokio::test]
async fn a_task_is_text_and_no_command() {
    let folder = tempfile::tempdir().unwrap();
    std::fs::write(folder.path().join("key"), "canary").unwrap();
    for words in ["look at @key", "/plan off", "/skill:x go"] {
        let cast = Arc::new(
            Cast::new()
                .actor(
                    "go",
                    [
                        Reply::call("1", "agent_spawn", &task("helper", words)),
                        Reply::text("done"),
                    ],
                )
                .actor(words, [Reply::text("read")]),
        );
        let workspace = harness_agent::Workspace::new(folder.path());
        let agent = builder(&cast, options())
            .workspace(&workspace)
            .plan_mode(harness_agent::middlewares::PlanModeMiddleware::new())
            .build()
            .unwrap();
        agent.prompt("go").outcome().await.unwrap();
        let request = &cast.requests_of(words)[0];
        let said = crate::subagent_stage::said(request).join("\n");
        assert_eq!(said, words);
        let tools: Vec<&str> = request.tools.iter().map(|it| it.name.as_str()).collect();
        assert!(
            tools.iter().all(|name| !name.starts_with("plan_")),
            "{tools:?}"
        );
    }
}

/// SUB-01, for a subagent: while its parent plans, it changes nothing, whatever it tries.
#[tokio::test]
async fn sub_01_plan_mode_cannot_be_left_by_a_subagent() {
    let folder = tempfile::tempdir().unwrap();
    let write = json!({ "path": "a.txt", "content": "x" }).to_string();
    let bash = json!({ "command": "echo x > b.txt" }).to_string();
    let cast = Arc::new(
        Cast::new()
            .actor(
                "go",
                [
                    Reply::call("1", "agent_spawn", &task("helper", "/plan off")),
                    Reply::text("done"),
                ],
            )
            .actor(
                "/plan off",
                [
                    Reply::call("1", "plan_exit", "{}")
                        .and_call("2", "write", &write)
                        .and_call("3", "bash", &bash)
                        .and_call("4", "agent_spawn", &task("helper", "deeper")),
                    Reply::text("I tried."),
                ],
            )
            .actor(
                "deeper",
                [Reply::call("1", "write", &write), Reply::text("So did I.")],
            ),
    );
    let workspace = harness_agent::Workspace::new(folder.path());
    let plans = harness_agent::middlewares::PlanModeMiddleware::new();
    let agent = builder(&cast, options())
        .tools(harness_agent::default_tools(&workspace))
        .workspace(&workspace)
        .clock(Arc::new(harness_agent::core::SystemClock))
        .plan_mode(plans)
        .build()
        .unwrap();
    let (told, outcome) = watched(&agent, "/plan go").await;
    assert_eq!(outcome.answer(), "done");
    assert!(has(&told, "1 write", "Denied by plan-mode"), "{told:#?}");
    assert!(has(&told, "1 bash", "Denied by plan-mode"), "{told:#?}");
    assert!(has(&told, "2 write", "Denied by plan-mode"), "{told:#?}");
    assert!(!folder.path().join("a.txt").exists());
    assert!(!folder.path().join("b.txt").exists());
    let system = cast.requests_of("/plan off")[0].system.clone();
    assert!(system.unwrap().contains("Plan mode is on"));
}
