//! What middlewares are for, each as one: retry, fallback, cache, redaction, approval, rewriting.

use std::sync::Arc;
use std::sync::Mutex;
use std::sync::atomic::{AtomicU32, Ordering};

use harness_core::test_support::{Reply, ScriptedModel};
use harness_core::{
    Delta, DynamicTool, Event, Message, Middleware, Model, ModelRequest, ModelResult, NextModel,
    RunContext, ToolEffects, ToolOutcome, async_trait, from_fn,
};
use serde_json::json;

use crate::stage::{Ran, assert_error, builder, counting, echo, outline, ran, scripted};

const HI: &str = r#"{"text": "hi"}"#;

/// Runs one reply, then `done`, with a middleware and the tool `echo`.
fn with(reply: Reply, middleware: impl Middleware) -> Ran {
    let model = scripted([reply, Reply::text("done")]);
    let config = builder(&model)
        .tool(echo())
        .middleware(middleware)
        .build()
        .unwrap();
    ran(&config, "go")
}

struct Fallback {
    backup: Arc<dyn Model>,
}

#[async_trait]
impl Middleware for Fallback {
    fn name(&self) -> &'static str {
        "fallback"
    }

    async fn on_model_call(
        &self,
        cx: &RunContext,
        request: ModelRequest,
        next: NextModel<'_>,
    ) -> ModelResult {
        match next.clone().run(cx, request.clone()).await {
            Err(error) if error.is_retryable() => {
                next.run(cx, request.with_model(&self.backup)).await
            }
            reply => reply,
        }
    }
}

#[test]
fn fallback() {
    let model = scripted([Reply::busy(), Reply::busy()]);
    let backup = Arc::new(
        ScriptedModel::new([Reply::call("c", "echo", HI), Reply::text("done")]).named("backup"),
    );
    let fallback = Fallback {
        backup: Arc::clone(&backup) as _,
    };
    let config = builder(&model)
        .tool(echo())
        .middleware(fallback)
        .build()
        .unwrap();
    let ran = ran(&config, "go");
    assert_eq!(ran.word(), "finished");
    assert_eq!((model.requests().len(), backup.requests().len()), (2, 2));
    let Message::Assistant(reply) = &*ran.outcome.history[1] else {
        unreachable!()
    };
    assert_eq!(reply.model.to_string(), "test/backup");
    // Its prices are not the model's: no cost is made up.
    assert_eq!(ran.outcome.cost, None);
}

#[test]
fn retry() {
    let tried = Arc::new(AtomicU32::new(0));
    let count = Arc::clone(&tried);
    let retry = from_fn::on_tool_call("retry", |cx, call, next| {
        Box::pin(async move {
            let first = next.clone().run(cx, call.clone()).await;
            if first.is_error() {
                next.run(cx, call).await
            } else {
                first
            }
        })
    });
    let flaky = crate::stage::tool("flaky", move |_| {
        match count.fetch_add(1, Ordering::Relaxed) {
            0 => Err(harness_core::ToolError::failed("not yet")),
            _ => Ok("now".into()),
        }
    });
    let model = scripted([Reply::call("c", "flaky", "{}"), Reply::text("done")]);
    let ran = ran(
        &builder(&model)
            .tool(flaky)
            .middleware(retry)
            .build()
            .unwrap(),
        "go",
    );
    assert_eq!(ran.shown(), ["now"]);
    assert_eq!(tried.load(Ordering::Relaxed), 2);
}

/// Not calling `next` is an answer too.
#[test]
fn cache() {
    let kept: Arc<Mutex<Option<ModelResult>>> = Arc::default();
    let cache = from_fn::on_reasoning("cache", move |cx, request, next| {
        let kept = Arc::clone(&kept);
        Box::pin(async move {
            if let Some(reply) = &*kept.lock().unwrap() {
                return reply.clone();
            }
            let reply = next.run(cx, request).await;
            *kept.lock().unwrap() = Some(reply.clone());
            reply
        })
    });
    let model = scripted([Reply::text("once")]);
    let config = builder(&model).middleware(cache).build().unwrap();
    for _ in 0..3 {
        assert_eq!(ran(&config, "go").outcome.answer(), "once");
    }
    assert_eq!(model.requests().len(), 1);
}

/// What is streamed and what is kept, both without the secret.
#[test]
fn redaction() {
    let hide = |text: &str| text.replace("sec", "***").replace("ret", "***");
    let redact = from_fn::on_model_call("redact", move |cx, request, next| {
        let tapped = cx.tapped(move |event| match event {
            Event::TextDelta(delta) => Some(Event::TextDelta(Delta {
                text: hide(&delta.text),
            })),
            Event::ThinkingDelta(_) => None,
            event => Some(event),
        });
        Box::pin(async move {
            let mut reply = next.run(&tapped, request).await?;
            for part in &mut reply.content {
                if let harness_core::AssistantPart::Text(text) = part {
                    text.text = hide(&text.text);
                }
            }
            Ok(reply)
        })
    });
    let model = scripted([Reply::new().and_thinking("hm", None).and_text("secret")]);
    let ran = ran(&builder(&model).middleware(redact).build().unwrap(), "go");
    let streamed: String = ran
        .events
        .iter()
        .filter_map(|event| match event {
            Event::TextDelta(delta) | Event::ThinkingDelta(delta) => Some(delta.text.as_str()),
            _ => None,
        })
        .collect();
    assert_eq!(
        (streamed.as_str(), ran.outcome.answer().as_str()),
        ("******", "******")
    );
}

/// Taps nest: the innermost sees an event first, and what it swallows nobody else sees.
#[test]
fn taps_nest() {
    let tag = |name: &'static str, order| {
        from_fn::on_model_call(name, move |cx, request, next| {
            let tapped = cx.tapped(move |event| match event {
                Event::TextDelta(delta) if delta.text.starts_with(name) => None,
                Event::TextDelta(delta) => Some(Event::TextDelta(Delta {
                    text: format!("{name}({})", delta.text),
                })),
                event => Some(event),
            });
            Box::pin(async move { next.run(&tapped, request).await })
        })
        .order(order)
    };
    let model = scripted([Reply::text("ab")]);
    let config = builder(&model)
        .middleware(tag("outer", 1))
        .middleware(tag("b", 0))
        .build()
        .unwrap();
    let ran = ran(&config, "go");
    let texts: Vec<String> = ran
        .events
        .iter()
        .filter_map(|event| match event {
            Event::TextDelta(delta) => Some(delta.text.clone()),
            _ => None,
        })
        .collect();
    assert_eq!(texts, ["outer(b(a))"]);
}

#[test]
fn approval() {
    let count = Arc::default();
    let deny = from_fn::on_tool_call("guard", |cx, call, next| {
        Box::pin(async move {
            if call.name == "danger" {
                let (by, reason) = ("guard".to_owned(), "not here".to_owned());
                return ToolOutcome::Denied { by, reason };
            }
            next.run(cx, call).await
        })
    });
    let reply = Reply::call("c1", "danger", "{}").and_call("c2", "echo", HI);
    let model = scripted([reply, Reply::text("done")]);
    let config = builder(&model)
        .tool(counting("danger", &count))
        .tool(echo())
        .middleware(deny)
        .build()
        .unwrap();
    let ran = ran(&config, "go");
    assert_eq!(ran.shown(), ["Denied by guard: not here", "hi"]);
    assert_eq!(count.load(Ordering::Relaxed), 0);
}

/// Rewritten arguments are what the tool gets, validated after the rewriting.
#[test]
fn rewritten_arguments() {
    let cases = [
        (json!({"text": "rewritten"}), "rewritten", false),
        (json!({"text": 7}), "at /text", true),
        (json!({}), "\"text\" is a required property", true),
        (json!([]), "not of type \"object\"", true),
    ];
    for (arguments, shown, is_error) in cases {
        // The original may even be unreadable: then this is a repair.
        for original in [HI, "{broken", r#"{"text": []}"#] {
            let arguments = arguments.clone();
            let rewrite = from_fn::on_tool_call("rewrite", move |cx, call, next| {
                let call = call.with_arguments(arguments.clone());
                Box::pin(async move { next.run(cx, call).await })
            });
            let ran = with(Reply::call("c", "echo", original), rewrite);
            let outcome = &ran.results()[0].outcome;
            assert!(outcome.shown_text().contains(shown), "{outcome:?}");
            assert_eq!(outcome.is_error(), is_error);
            // The conversation keeps what the model said.
            let Message::Assistant(reply) = &*ran.outcome.history[1] else {
                unreachable!()
            };
            assert_eq!(reply.tool_calls().next().unwrap().arguments, original);
        }
    }
}

/// A call that a middleware renamed runs another tool, whose effects are not those that it was read with.
#[test]
fn a_renamed_call_is_of_unknown_effect() {
    let harmless = DynamicTool::new("look", "", json!({"type": "object"}), |_, _| {
        Box::pin(async { Ok("looked".into()) })
    });
    let harmless = harmless.effects(|_, _| ToolEffects::conversation());
    let policy = from_fn::on_tool_call("policy", |cx, mut call, next| {
        Box::pin(async move {
            assert!(call.effects(cx).is_read_only());
            call.name = "echo".to_owned();
            assert_eq!(call.effects(cx), ToolEffects::unknown());
            next.run(cx, call).await
        })
    });
    let model = scripted([Reply::call("c", "look", HI), Reply::text("done")]);
    let config = builder(&model)
        .tool(harmless)
        .tool(echo())
        .middleware(policy)
        .build()
        .unwrap();
    assert_eq!(ran(&config, "go").shown(), ["hi"]);
}

/// Rewriting every call's arguments does not bring a refused call to life.
#[test]
fn a_cut_call_cannot_be_rewritten_into_life() {
    let count = Arc::default();
    let rewrite = || {
        from_fn::on_tool_call("rewrite", |cx, call, next| {
            let mut call = call.with_arguments(json!({}));
            call.problem = None;
            Box::pin(async move { next.run(cx, call).await })
        })
    };
    let cases = [
        (
            harness_core::StopReason::Length,
            99,
            "cut off by the output limit",
        ),
        (
            harness_core::StopReason::ContentFilter,
            99,
            "content filter",
        ),
        (harness_core::StopReason::ToolCalls, 0, "at most 1 calls"),
    ];
    for (stop, calls, text) in cases {
        let reply = Reply::call("c0", "echo", HI)
            .and_call("c1", "danger", "{}")
            .stop(stop);
        let model = scripted([reply, Reply::text("done")]);
        let config = builder(&model)
            .tool(counting("danger", &count))
            .tool(echo())
            .limits(crate::stage::limits(|l| l.calls_per_turn = 1.max(calls)))
            .middleware(rewrite())
            .build()
            .unwrap();
        let ran = ran(&config, "go");
        assert_error(&ran.results()[1].outcome, text);
        assert_eq!(count.load(Ordering::Relaxed), 0);
    }
}

#[test]
fn rewritten_outcomes() {
    let rewrite = from_fn::on_tool_call("rewrite", |cx, call, next| {
        Box::pin(async move {
            let outcome = next.run(cx, call).await;
            ToolOutcome::done(format!("<{}>", outcome.shown_text()))
        })
    });
    let ran = with(Reply::call("c", "echo", HI), rewrite);
    assert_eq!(ran.shown(), ["<hi>"]);
    // What is told is what is kept.
    let told = ran.events.iter().find_map(|event| match event {
        Event::ToolEnd { outcome, .. } => Some(outcome.shown_text()),
        _ => None,
    });
    assert_eq!(told.as_deref(), Some("<hi>"));
}

/// A hook may send a call to another tool; the result still answers the call that was made.
#[test]
fn redirected_calls() {
    let redirect = from_fn::on_tool_call("redirect", |cx, mut call, next| {
        call.name = "echo".to_owned();
        call.problem = None;
        Box::pin(async move { next.run(cx, call).await })
    });
    let ran = with(Reply::call("c", "shout", HI), redirect);
    assert_eq!(ran.shown(), ["hi"]);
    assert_eq!(ran.results()[0].name, "shout");
}

#[test]
fn what_is_shown_and_what_is_kept() {
    let prompt = from_fn::on_system_prompt("prompt", |_, prompt| {
        Box::pin(async { Ok(prompt.with_section("rules", "Be brief.", "prompt")) })
    });
    let context = from_fn::on_context("context", |_, messages| {
        Box::pin(async move {
            let mut shown = vec![Message::user("a summary").into()];
            shown.extend(messages.into_iter().skip(1));
            Ok(shown)
        })
    });
    let model = scripted([Reply::call("c", "echo", HI), Reply::text("done")]);
    let config = builder(&model)
        .system_prompt("You are a test.")
        .tool(echo())
        .middleware(prompt)
        .middleware(context)
        .build()
        .unwrap();
    let ran = ran(&config, "go");
    let requests = model.requests();
    for request in &requests {
        // It starts from the configured prompt every time, and is shared while it stays the same.
        assert_eq!(
            request.system.as_deref(),
            Some("You are a test.\n\nBe brief.")
        );
        assert!(Arc::ptr_eq(
            request.system.as_ref().unwrap(),
            requests[0].system.as_ref().unwrap()
        ));
    }
    assert_eq!(
        outline(&requests[1]),
        "user: a summary | assistant: call c | tool_results: result c"
    );
    assert!(requests[1].messages[1].same(&ran.outcome.history[1]));
    assert_eq!(
        crate::stage::outline_of(&ran.outcome.history[..1]),
        "user: go"
    );
}

/// Asks twice at a time and takes the first answer; both requests are on record, under names of
/// their own.
#[test]
fn hedging() {
    let hedge = from_fn::on_model_call("hedge", |cx, request, next| {
        Box::pin(async move {
            let first = next.clone().run(cx, request.clone());
            let (first, second) = futures::join!(first, next.run(cx, request));
            first.or(second)
        })
    });
    let journal = Arc::new(harness_core::MemoryJournal::new());
    let model = scripted([Reply::busy(), Reply::text("second")]);
    let config = builder(&model)
        .journal(Arc::clone(&journal) as _)
        .middleware(hedge)
        .build()
        .unwrap();
    assert_eq!(ran(&config, "go").outcome.answer(), "second");
    let steps = journal.steps();
    let asked = steps.iter().filter(|step| step.name.contains("/model"));
    let names: Vec<&str> = asked.map(|step| step.name.as_str()).collect();
    assert_eq!(names, ["t1/a1/model0", "t1/a1/model1"]);
}
