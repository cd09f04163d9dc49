//! Runs as spans: the whole tree, with retries, parallel calls, runs within runs, refusals and early ends.

use std::sync::Arc;
use std::task::Poll;

use futures::executor::block_on;
use harness_core::test_support::{CountingEntropy, ManualClock, Reply, ScriptedModel};
use harness_core::{
    Caller, DynamicTool, LoopConfig, LoopConfigBuilder, Middleware, ModelError, RunError, RunInput,
    RunOptions, RunOutcome, SystemPrompt, ToolOutcome, ToolOutput, from_fn, run, run_with,
};
use harness_telemetry::Schemas;
use harness_telemetry::middleware::{ParentSpan, Telemetry, ask};
use harness_telemetry::test_support::Recording;
use serde_json::json;

/// A configuration that is recorded, without a real clock or real chance.
pub(crate) fn recorded(model: &Arc<ScriptedModel>, telemetry: &Telemetry) -> LoopConfigBuilder {
    let model: Arc<dyn harness_core::Model> = Arc::clone(model) as _;
    let config = LoopConfig::builder(model)
        .clock(Arc::new(ManualClock::new()))
        .entropy(Arc::new(CountingEntropy::default()));
    with(config, telemetry.middlewares())
}

pub(crate) fn with(
    config: LoopConfigBuilder,
    middlewares: impl IntoIterator<Item = Arc<dyn Middleware>>,
) -> LoopConfigBuilder {
    middlewares.into_iter().fold(config, |config, middleware| {
        config.shared_middleware(middleware)
    })
}

/// A tool that says `ok`.
pub(crate) fn tool(name: &str) -> DynamicTool {
    DynamicTool::new(
        name,
        "A tool for tests.",
        json!({"type": "object"}),
        |_, _| {
            Box::pin(async {
                // The other calls of the batch get their turn meanwhile.
                let mut waited = false;
                std::future::poll_fn(|cx| {
                    if std::mem::replace(&mut waited, true) {
                        return Poll::Ready(());
                    }
                    cx.waker().wake_by_ref();
                    Poll::Pending
                })
                .await;
                Ok(ToolOutput::text("ok"))
            })
        },
    )
}

pub(crate) async fn finish(mut handle: harness_core::RunHandle<'_>) -> RunOutcome {
    while handle.next().await.is_some() {}
    handle
        .outcome()
        .await
        .unwrap_or_else(RunError::into_outcome)
}

pub(crate) fn scripted(replies: impl IntoIterator<Item = Reply>) -> Arc<ScriptedModel> {
    Arc::new(ScriptedModel::new(replies))
}

pub(crate) fn recording() -> Recording {
    Recording::new(&Schemas::built_in())
}

/// What the trees below show beside names.
fn shown(key: &str) -> bool {
    [
        "error.type",
        "gen_ai.tool.call.id",
        "gen_ai.usage.input_tokens",
        "harness.attempt",
        "harness.run.outcome",
        "harness.tool.outcome",
        "harness.turn",
        "harness.turn.outcome",
    ]
    .contains(&key)
}

#[test]
fn a_run_as_a_tree() {
    let telemetry = Telemetry::new("coder");
    // The child of a call: another agent, which the tool runs.
    let child = scripted([Reply::text("found").usage(5, 1)]);
    let child = recorded(&child, &Telemetry::new("finder")).build().unwrap();
    let delegate = DynamicTool::new(
        "delegate",
        "Asks another.",
        json!({"type": "object"}),
        move |_, _| {
            let child = child.clone();
            Box::pin(async move {
                let outcome = finish(run(&child, RunInput::prompt("find it"))).await;
                Ok(ToolOutput::text(outcome.answer()))
            })
        },
    );
    let model = scripted([
        Reply::call("a", "slow", "{}")
            .and_call("b", "fast", "{}")
            .usage(10, 2),
        Reply::busy(),
        Reply::call("c", "delegate", "{}").usage(20, 2),
        Reply::text("done").usage(30, 2),
    ]);
    let config = recorded(&model, &telemetry)
        .system_prompt(SystemPrompt::new("Be good."))
        .tool(tool("slow"))
        .tool(tool("fast"))
        .tool(delegate)
        .build()
        .unwrap();
    let recording = recording();
    let outcome = tracing::subscriber::with_default(recording.subscriber(), || {
        block_on(finish(run(&config, RunInput::prompt("go"))))
    });
    assert_eq!(outcome.status.word(), "finished");
    let expected = r#"harness.run harness.run.outcome="finished" +harness.started +harness.progress +harness.progress +harness.progress
  harness.run.started
  invoke_agent coder gen_ai.usage.input_tokens=60
    harness.turn harness.turn=1 harness.turn.outcome="continues"
      harness.prompt
      harness.attempt harness.attempt=1
        chat scripted gen_ai.usage.input_tokens=10
      harness.tool_call gen_ai.tool.call.id="a" harness.tool.outcome="done"
        execute_tool slow gen_ai.tool.call.id="a" harness.tool.outcome="done"
      harness.tool_call gen_ai.tool.call.id="b" harness.tool.outcome="done"
        execute_tool fast gen_ai.tool.call.id="b" harness.tool.outcome="done"
    harness.turn harness.turn=2 harness.turn.outcome="continues"
      harness.prompt
      harness.attempt error.type="unavailable" harness.attempt=1
        chat scripted error.type="unavailable"
      harness.retry harness.attempt=1
      harness.attempt harness.attempt=2
        chat scripted gen_ai.usage.input_tokens=20
      harness.tool_call gen_ai.tool.call.id="c" harness.tool.outcome="done"
        execute_tool delegate gen_ai.tool.call.id="c" harness.tool.outcome="done"
          harness.run harness.run.outcome="finished" +harness.started +harness.progress
            harness.run.started
            invoke_agent finder gen_ai.usage.input_tokens=5
              harness.turn harness.turn=1 harness.turn.outcome="ended"
                harness.prompt
                harness.attempt harness.attempt=1
                  chat scripted gen_ai.usage.input_tokens=5
    harness.turn harness.turn=3 harness.turn.outcome="ended"
      harness.prompt
      harness.attempt harness.attempt=1
        chat scripted gen_ai.usage.input_tokens=30
"#;
    assert_eq!(recording.tree(shown), expected);
    assert_eq!(recording.problems(), [""; 0]);
    let chat = &recording.of("gen_ai.chat")[0];
    let expected = json!({
        "gen_ai.operation.name": "chat",
        "gen_ai.provider.name": "test",
        "gen_ai.request.model": "scripted",
        "gen_ai.request.stream": true,
        "gen_ai.response.finish_reasons": ["tool_calls"],
        "gen_ai.usage.input_tokens": 10,
        "gen_ai.usage.output_tokens": 2,
        "otel.kind": "client",
    });
    let mut attributes = json!(chat.attributes);
    let first = attributes
        .as_object_mut()
        .unwrap()
        .remove("gen_ai.response.time_to_first_chunk");
    assert!(first.unwrap().as_f64().unwrap() >= 0.0);
    assert_eq!(attributes, expected);
}

/// The digest of the prompt stays the same as long as what is stable in it does.
#[test]
fn a_prompt_is_compared_by_its_digest() {
    let telemetry = Telemetry::new("coder");
    let model = scripted([
        Reply::call("a", "slow", "{}"),
        Reply::call("b", "slow", "{}"),
        Reply::text("done"),
    ]);
    let turns = std::sync::atomic::AtomicU32::new(0);
    let sections = from_fn::on_system_prompt("sections", move |_, prompt| {
        let turn = turns.fetch_add(1, std::sync::atomic::Ordering::Relaxed);
        let stable = if turn == 2 { "other rules" } else { "rules" };
        let prompt = prompt
            .with_section("rules", stable, "sections")
            .with_volatile_section("time", format!("it is {turn}"), "sections");
        Box::pin(async { Ok(prompt) })
    });
    let config = recorded(&model, &telemetry)
        .tool(tool("slow"))
        .middleware(sections)
        .build()
        .unwrap();
    let recording = recording();
    tracing::subscriber::with_default(recording.subscriber(), || {
        block_on(finish(run(&config, RunInput::prompt("go"))))
    });
    let prompts = recording.of("harness.prompt");
    let get = |turn: usize, key: &str| prompts[turn].attributes[key].clone();
    let hash = |turn| get(turn, "harness.prompt.prefix_hash");
    assert_eq!(hash(0), hash(1));
    assert_ne!(hash(1), hash(2));
    assert_eq!(hash(0).as_str().unwrap().len(), 16);
    assert_eq!(get(0, "harness.prompt.prefix_bytes"), 5);
    assert_eq!(get(0, "harness.prompt.sections"), 2);
}

/// A call that is refused does not get as far as its tool; one that the model made up has no name of its own.
#[test]
fn refusals_and_unknown_tools() {
    let model = scripted([
        Reply::call("a", "slow", "{}")
            .and_call("b", "canary", "{}")
            .and_call("c", "slow", "not json"),
        Reply::text("done"),
    ]);
    let deny = from_fn::on_tool_call("deny", |cx, call, next| {
        Box::pin(async move {
            if call.id == "a" {
                let (by, reason) = ("policy".to_owned(), "canary".to_owned());
                return ToolOutcome::Denied { by, reason };
            }
            next.run(cx, call).await
        })
    });
    let config = recorded(&model, &Telemetry::new("coder"))
        .tool(tool("slow"))
        .middleware(deny)
        .build()
        .unwrap();
    let recording = recording();
    tracing::subscriber::with_default(recording.subscriber(), || {
        block_on(finish(run(&config, RunInput::prompt("go"))))
    });
    let calls: Vec<_> = recording
        .of("harness.tool_call")
        .into_iter()
        .map(|span| {
            let get = |key: &str| {
                span.attributes
                    .get(key)
                    .and_then(|value| value.as_str())
                    .map(str::to_owned)
            };
            (
                get("gen_ai.tool.name"),
                get("harness.tool.outcome"),
                get("harness.tool.denied_by"),
                get("error.type"),
            )
        })
        .collect();
    let row = |tool: &str, outcome: &str, by: Option<&str>| {
        (
            Some(tool.to_owned()),
            Some(outcome.to_owned()),
            by.map(str::to_owned),
            Some(outcome.to_owned()),
        )
    };
    let expected = [
        row("slow", "denied", Some("policy")),
        row("unknown", "failed", None),
        row("slow", "failed", None),
    ];
    assert_eq!(calls, expected);
    assert_eq!(recording.of("gen_ai.execute_tool").len(), 0);
    assert_eq!(recording.problems(), [""; 0]);
    assert!(!format!("{:?}", recording.spans()).contains("canary"));
}

/// A middleware that asks another model leaves two requests in one attempt.
#[test]
fn a_fallback_is_two_requests_of_one_attempt() {
    let backup: Arc<dyn harness_core::Model> =
        Arc::new(ScriptedModel::new([Reply::text("from the backup")]).named("backup"));
    let fallback = from_fn::on_model_call("fallback", move |cx, request, next| {
        let backup = Arc::clone(&backup);
        Box::pin(async move {
            match next.clone().run(cx, request.clone()).await {
                Err(error) if error.is_retryable() => {
                    next.run(cx, request.with_model(&backup)).await
                }
                reply => reply,
            }
        })
    });
    let model = scripted([Reply::busy()]);
    let config = recorded(&model, &Telemetry::new("coder"))
        .middleware(fallback)
        .build()
        .unwrap();
    let recording = recording();
    tracing::subscriber::with_default(recording.subscriber(), || {
        block_on(finish(run(&config, RunInput::prompt("go"))))
    });
    let tree = recording.tree(|key| key == "error.type");
    let attempt: Vec<&str> = tree
        .lines()
        .skip_while(|line| !line.contains("attempt"))
        .collect();
    let expected = [
        "      harness.attempt",
        "        chat scripted error.type=\"unavailable\"",
        "        chat backup",
    ];
    assert_eq!(attempt, expected);
}

/// Runs that are dropped half-way, and concurrent ones: each span ends, and nothing is kept.
#[test]
fn tel_08_dropped_and_concurrent_runs_end_all_their_spans() {
    const RUNS: usize = 1000;
    let recording = recording();
    tracing::subscriber::with_default(recording.subscriber(), || {
        block_on(async {
            let forever = DynamicTool::new("wait", "Waits.", json!({"type": "object"}), |_, _| {
                Box::pin(std::future::pending())
            });
            let model =
                Arc::new(ScriptedModel::new([Reply::call("a", "wait", "{}")]).last_forever());
            let config = recorded(&model, &Telemetry::new("coder"))
                .tool(forever)
                .build()
                .unwrap();
            let mut handles: Vec<_> = (0..RUNS)
                .map(|_| run(&config, RunInput::prompt("go")))
                .collect();
            for handle in &mut handles {
                while let Some(event) = handle.next().await {
                    if matches!(event, harness_core::Event::ToolStart { .. }) {
                        break;
                    }
                }
                // Once more, so that the tool has begun.
                let _ = futures::poll!(std::pin::pin!(handle.next()));
            }
            drop(handles);
        });
    });
    let spans = recording.spans();
    assert_eq!(recording.of("harness.run").len(), RUNS);
    assert!(spans.iter().all(|span| span.closed));
    assert_eq!(recording.problems(), [""; 0]);
    let dropped = spans
        .iter()
        .filter(|span| span.attributes.get("error.type") == Some(&json!("dropped")));
    // run, invoke_agent, turn, tool_call, execute_tool
    assert_eq!(dropped.count(), RUNS * 5);
    // Concurrent runs do not become each other's children.
    for (place, span) in spans.iter().enumerate() {
        let expected = match span.id.as_str() {
            "harness.run" => None,
            "gen_ai.invoke_agent" | "harness.run_started" => Some("harness.run"),
            "harness.turn" => Some("gen_ai.invoke_agent"),
            "harness.attempt" | "harness.tool_call" | "harness.prompt" => Some("harness.turn"),
            "gen_ai.chat" => Some("harness.attempt"),
            "gen_ai.execute_tool" => Some("harness.tool_call"),
            other => panic!("{other} at {place}"),
        };
        let parent = span.parent.map(|parent| spans[parent].id.as_str());
        assert_eq!(parent, expected, "{} at {place}", span.id);
    }
}

#[test]
fn how_runs_end() {
    let cases: [(&str, Vec<Reply>, Option<&str>); 3] = [
        (
            "limit",
            vec![Reply::call("a", "slow", "{}"), Reply::text("late")],
            None,
        ),
        (
            "failed",
            vec![Reply::error(ModelError::Quota {
                status: None,
                message: "canary".to_owned(),
            })],
            Some("quota"),
        ),
        ("finished", vec![Reply::text("done")], None),
    ];
    for (word, replies, error) in cases {
        let mut limits = harness_core::Limits::default();
        limits.max_turns = 1;
        let model = scripted(replies);
        let config = recorded(&model, &Telemetry::new("coder"))
            .tool(tool("slow"))
            .limits(limits)
            .build()
            .unwrap();
        let recording = recording();
        tracing::subscriber::with_default(recording.subscriber(), || {
            block_on(finish(run(&config, RunInput::prompt("go"))))
        });
        for id in ["harness.run", "gen_ai.invoke_agent"] {
            let span = &recording.of(id)[0];
            let found = span
                .attributes
                .get("error.type")
                .and_then(|value| value.as_str());
            assert_eq!(found, error, "{id}: {word}");
        }
        let run = &recording.of("harness.run")[0];
        assert_eq!(run.attributes["harness.run.outcome"], word);
        assert_eq!(
            run.attributes.get("harness.run.limit"),
            (word == "limit").then(|| json!("turns")).as_ref()
        );
        assert!(!format!("{:?}", recording.spans()).contains("canary"));
        assert_eq!(recording.problems(), [""; 0]);
    }
}

/// A caller may name the span whose child its run becomes.
#[test]
fn the_caller_names_the_parent() {
    let schemas = Schemas::built_in().with(&crate::schemas::SHOP).unwrap();
    let recording = Recording::new(&schemas);
    let model = scripted([Reply::text("done"), Reply::text("done")]);
    let config = recorded(&model, &Telemetry::new("coder")).build().unwrap();
    tracing::subscriber::with_default(recording.subscriber(), || {
        use crate::schemas::shop;
        let order = shop::order(shop::Order {
            item: "tea",
            count: None,
        })
        .start();
        let caller = Caller::default();
        caller.attributes.insert(ParentSpan(order.span().clone()));
        let options = RunOptions {
            caller,
            ..RunOptions::default()
        };
        block_on(finish(run_with(&config, RunInput::prompt("go"), options)));
        order
            .span()
            .in_scope(|| block_on(finish(run(&config, RunInput::prompt("go")))));
        order.end(shop::Ordered { result: "sold" });
    });
    let parents: Vec<_> = recording
        .of("harness.run")
        .iter()
        .map(|run| run.parent)
        .collect();
    assert_eq!(parents, [Some(0), Some(0)]);
    assert_eq!(recording.problems(), [""; 0]);
}

/// The hooks of the others, when that is on: with what is inside an onion as its children.
#[test]
fn hooks_of_other_middlewares() {
    for on in [false, true] {
        let telemetry = Telemetry::new("coder").hooks(on);
        let stamp = from_fn::on_context("stamp", |_, messages| Box::pin(async { Ok(messages) }));
        let around = from_fn::on_turn("around", |cx, turn, next| Box::pin(next.run(cx, turn)));
        let others: [Arc<dyn Middleware>; 2] = [Arc::new(stamp), Arc::new(around)];
        let model = scripted([Reply::text("done")]);
        let others = others.map(|middleware| telemetry.wrap(middleware));
        let config = with(recorded(&model, &telemetry), others).build().unwrap();
        let recording = recording();
        tracing::subscriber::with_default(recording.subscriber(), || {
            block_on(finish(run(&config, RunInput::prompt("go"))))
        });
        let tree = recording.tree(|_| false);
        let expected = "    harness.turn
      harness.hook around.on_turn
        harness.prompt
        harness.hook stamp.on_context
        harness.attempt
          chat scripted
";
        assert_eq!(tree.contains(expected), on, "{tree}");
        assert_eq!(recording.problems(), [""; 0]);
    }
}

/// Who asks a model outside the chain, in a hook, is recorded as the run's own requests are.
#[test]
fn requests_outside_the_chain() {
    let other: Arc<dyn harness_core::Model> =
        Arc::new(ScriptedModel::new([Reply::text("aside").usage(7, 1)]).named("small"));
    let aside = from_fn::on_context("aside", move |cx, messages| {
        let request = harness_core::ModelRequest::new(
            Arc::clone(&other),
            vec![harness_core::Message::user("hm").into()],
        );
        Box::pin(async move {
            ask(cx, request, |request| async move {
                Arc::clone(&request.model)
                    .complete(request, harness_core::CancellationToken::new())
                    .await
            })
            .await
            .unwrap();
            Ok(messages)
        })
    });
    let model = scripted([Reply::text("done")]);
    let config = recorded(&model, &Telemetry::new("coder"))
        .middleware(aside)
        .build()
        .unwrap();
    let recording = recording();
    tracing::subscriber::with_default(recording.subscriber(), || {
        block_on(finish(run(&config, RunInput::prompt("go"))))
    });
    let chats = recording.of("gen_ai.chat");
    let spans = recording.spans();
    assert_eq!(chats[0].name, "chat small");
    assert_eq!(chats[0].attributes["gen_ai.usage.input_tokens"], 7);
    assert_eq!(spans[chats[0].parent.unwrap()].id, "harness.turn");
    assert_eq!(recording.problems(), [""; 0]);
}

/// Outside and inside of all others, whatever their order.
#[test]
fn they_are_the_first_and_the_last() {
    let [outer, inner] = Telemetry::new("coder").middlewares();
    assert_eq!((outer.order(), inner.order()), (i32::MAX, i32::MIN));
}
