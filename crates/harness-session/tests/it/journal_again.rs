//! Runs that begin again or go on with something that has changed: nothing is lost, and nothing done twice.

use std::sync::Arc;
use std::sync::atomic::Ordering;

use futures::executor::block_on;
use harness_core::test_support::{Reply, ScriptedModel};
use harness_core::{
    CancellationToken, Compaction, CompactionReason, DynamicTool, LoopConfig, Message, Middleware,
    Model, RunInput, RunOptions, RunOutcome, ToolOutcome, from_fn, protocol, run, run_with,
};
use harness_session::{Access, Context, Header, Queue, Session, SessionJournal, Store};
use serde_json::json;

use crate::journal::Stage;
use crate::place::Place;

/// A session that was cut off at its first tool call: it began, or it has ended.
fn cut_off(tool: &str, has_ended: bool) -> Stage {
    let whole = Stage::new();
    let replies = vec![
        Reply::call("a", tool, "{}").and_call("b", "safe", "{}"),
        Reply::text("done"),
    ];
    whole.run(u64::MAX, replies, &["go"]);
    let kinds = whole.kinds();
    let settled = |it: &&usize| kinds[**it] == "settlement";
    let places: Vec<usize> = (0..kinds.len()).collect();
    let call = *places.iter().filter(settled).nth(1).unwrap();
    let on_record = call + usize::from(has_ended);
    let stage = Stage::new();
    let from = Session::open(&whole.store, whole.id, Access::Read).unwrap();
    let mut log = stage.store.open(stage.id, Access::Write).unwrap();
    for number in 0..on_record as u64 {
        let entry = from.log().read(number).unwrap();
        log.append(&entry, number.checked_sub(1)).unwrap();
    }
    drop(log);
    assert!(stage.context().is_open());
    stage
}

fn resumed(context: &Context) -> RunInput {
    let mut input = RunInput::default().with_history(context.messages.clone());
    input.resume = context.is_open();
    input
}

fn outcomes(history: &[harness_core::MessageRef]) -> Vec<ToolOutcome> {
    let results = history.iter().filter_map(|message| match &**message {
        Message::ToolResults(results) => Some(&results.results),
        _ => None,
    });
    results
        .flatten()
        .map(|it| it.outcome.as_ref().clone())
        .collect()
}

fn twice() -> impl Middleware {
    from_fn::on_agent("twice", |cx, input, next| {
        Box::pin(async move {
            next.clone().run(cx, input.clone()).await;
            next.run(cx, input).await
        })
    })
}

fn with(
    model: &Arc<ScriptedModel>,
    journal: &Arc<SessionJournal>,
    one: impl Middleware,
) -> LoopConfig {
    let model: Arc<dyn Model> = model.clone();
    LoopConfig::builder(model)
        .middleware(one)
        .journal(journal.clone())
        .build()
        .unwrap()
}

fn model(texts: &[&str]) -> Arc<ScriptedModel> {
    Arc::new(ScriptedModel::new(texts.iter().map(|it| Reply::text(it))))
}

#[test]
fn a_message_that_waited_is_delivered_once_by_a_run_that_begins_again() {
    let stage = Stage::new();
    let (journal, _) = stage.open(u64::MAX);
    journal.enqueue(Queue::Steer, &"look".into()).unwrap();
    drop(journal);
    stage.run(u64::MAX, vec![Reply::text("hello")], &["hi"]);
    let (journal, context) = stage.open(u64::MAX);
    assert_eq!(context.queued.len(), 1);
    let model = model(&["one", "two"]);
    let config = with(&model, &journal, twice());
    let input = RunInput::prompt("look").with_history(context.messages);
    block_on(run(&config, input).outcome()).unwrap();
    assert!(journal.queued().is_empty());
    drop((config, journal));
    let context = stage.context();
    assert_eq!(context.messages.len(), 4);
    assert_eq!(context.queued, []);
}

#[test]
fn a_message_that_waits_while_a_run_begins_again_is_on_record() {
    let stage = Stage::new();
    let (journal, context) = stage.open(u64::MAX);
    let model = model(&["one", "two"]);
    let says = Arc::clone(&journal);
    let between = from_fn::on_agent("between", move |cx, input, next| {
        let says = Arc::clone(&says);
        Box::pin(async move {
            next.clone().run(cx, input.clone()).await;
            says.enqueue(Queue::FollowUp, &"later".into()).unwrap();
            next.run(cx, input).await
        })
    });
    let config = with(&model, &journal, between);
    let input = RunInput::prompt("go").with_history(context.messages);
    block_on(run(&config, input).outcome()).unwrap();
    let known = journal.queued();
    assert_eq!(known.len(), 1);
    drop((config, journal));
    assert_eq!(stage.context().queued, known);
}

#[test]
fn a_message_that_waited_is_delivered_once_whatever_a_middleware_makes_of_it() {
    let stage = Stage::new();
    let (journal, context) = stage.open(u64::MAX);
    journal.enqueue(Queue::Steer, &"@one".into()).unwrap();
    journal.begin_with(&journal.queued());
    let model = model(&["done"]);
    let expand = from_fn::on_agent("expand", |cx, mut input, next| {
        Box::pin(async move {
            for message in &mut input.messages {
                *message = "expanded".into();
            }
            next.run(cx, input).await
        })
    });
    let config = with(&model, &journal, expand);
    let mut input = RunInput::prompt("@one").with_history(context.messages);
    input.messages.push("go".into());
    block_on(run(&config, input).outcome()).unwrap();
    drop((config, journal));
    assert_eq!(stage.context().queued, []);
    assert_eq!(stage.context().messages.len(), 3);
}

#[test]
fn calls_of_a_run_that_was_cut_off_are_made_once_by_one_that_begins_again() {
    for has_ended in [false, true] {
        let stage = cut_off("unsafe", has_ended);
        let (journal, context) = stage.open(u64::MAX);
        let model = model(&["one", "two"]);
        let config = stage.builder(&model, &journal);
        let config = config.middleware(twice()).build().unwrap();
        let outcome = block_on(run(&config, resumed(&context)).outcome()).unwrap();
        assert_eq!(outcome.answer(), "two");
        assert_eq!(stage.not_safe.load(Ordering::SeqCst), 0);
        assert_eq!(stage.safe.load(Ordering::SeqCst), 1);
        drop((config, journal));
        assert_eq!(stage.context().messages, outcome.history);
    }
}

#[test]
fn what_a_middleware_changes_in_the_outcome_is_on_record() {
    type Change = fn(&mut RunOutcome);
    let changes: [Change; 3] = [
        |outcome| *outcome.history.last_mut().unwrap() = Message::user("[gone]").into(),
        |outcome| {
            outcome.history[0] = Message::user("[secret]").into();
            outcome.history.push(Message::user("more").into());
        },
        |outcome| drop(outcome.history.pop()),
    ];
    for change in changes {
        let stage = Stage::new();
        let (journal, context) = stage.open(u64::MAX);
        let model = model(&["done"]);
        let changing = from_fn::on_agent("changing", move |cx, input, next| {
            Box::pin(async move {
                let mut outcome = next.run(cx, input).await;
                change(&mut outcome);
                outcome
            })
        });
        let config = with(&model, &journal, changing);
        let input = RunInput::prompt("go").with_history(context.messages);
        let outcome = block_on(run(&config, input).outcome()).unwrap();
        drop((config, journal));
        let context = stage.context();
        assert_eq!(context.messages, outcome.history);
        assert!(!context.is_open());
    }
}

/// A run that was cut off in a batch is still to be gone on with after its conversation was made shorter.
#[test]
fn a_compaction_between_runs_leaves_a_run_that_was_cut_off_open() {
    let stage = cut_off("unsafe", true);
    let (journal, context) = stage.open(u64::MAX);
    let summary = vec![Message::user("what was said").into()];
    let compaction = Compaction::new(summary, 1, CompactionReason::Manual);
    assert_eq!(context.messages.len(), 2);
    journal.compact(&compaction, 10).unwrap();
    let (outcome, _) = {
        drop(journal);
        assert!(stage.context().is_open());
        stage.run(u64::MAX, vec![Reply::text("done")], &[])
    };
    assert_eq!(outcome.status.word(), "finished", "{:?}", outcome.status);
    let counted = ToolOutcome::done("counted");
    assert_eq!(outcomes(&outcome.history), [counted.clone(), counted]);
    assert_eq!(stage.not_safe.load(Ordering::SeqCst), 0);
}

/// Cancelled before it could do anything: a call that ended has its outcome, one that began may have run.
#[test]
fn a_run_that_goes_on_and_is_cancelled_keeps_what_is_on_record() {
    for (tool, has_ended, expected) in [
        ("unsafe", true, ToolOutcome::done("counted")),
        ("unsafe", false, ToolOutcome::Interrupted),
        ("safe", true, ToolOutcome::done("counted")),
        ("safe", false, ToolOutcome::Cancelled),
    ] {
        let stage = cut_off(tool, has_ended);
        let (journal, context) = stage.open(u64::MAX);
        let config = stage.config(&model(&[]), &journal);
        let cancel = CancellationToken::new();
        cancel.cancel();
        let options = RunOptions {
            cancellation: Some(cancel),
            ..RunOptions::default()
        };
        let outcome = block_on(run_with(&config, resumed(&context), options).outcome()).unwrap();
        assert_eq!(outcome.status.word(), "cancelled");
        let all = outcomes(&outcome.history);
        assert_eq!(
            all,
            [expected, ToolOutcome::Cancelled],
            "{tool} {has_ended}"
        );
        drop((config, journal));
        assert_eq!(stage.context().messages, outcome.history);
    }
}

/// The program that goes on has other tools than the one that was cut off.
#[test]
fn what_ended_keeps_its_outcome_when_its_tool_is_gone() {
    for (has_ended, expected) in [
        (true, ToolOutcome::done("counted")),
        (false, ToolOutcome::Interrupted),
    ] {
        let stage = cut_off("unsafe", has_ended);
        let (journal, context) = stage.open(u64::MAX);
        let model = model(&["done"]);
        let none = from_fn::on_agent("none", |cx, input, next| {
            Box::pin(async move { next.run(cx, input).await })
        });
        let config = with(&model, &journal, none);
        let outcome = block_on(run(&config, resumed(&context)).outcome()).unwrap();
        let all = outcomes(&outcome.history);
        assert_eq!(all[0], expected);
        assert!(matches!(all[1], ToolOutcome::Failed(_)), "it never began");
        protocol::check_messages(&model.requests()[0].messages).unwrap();
        drop((config, journal));
        assert_eq!(stage.context().messages, outcome.history);
    }
}

/// A tool that may not run again any more is not run again, and neither is one that might not.
#[test]
fn a_call_runs_again_only_if_both_programs_allow_it() {
    let stage = cut_off("unsafe", false);
    let (journal, context) = stage.open(u64::MAX);
    let model: Arc<dyn Model> = model(&["done"]);
    let now_safe = DynamicTool::new("unsafe", "Counts.", json!({"type": "object"}), |_, _| {
        Box::pin(std::future::ready(Ok("again".into())))
    });
    let config = LoopConfig::builder(model)
        .tool(now_safe.replay(harness_core::Replay::Safe))
        .journal(journal.clone())
        .build()
        .unwrap();
    let outcome = block_on(run(&config, resumed(&context)).outcome()).unwrap();
    assert_eq!(outcomes(&outcome.history)[0], ToolOutcome::Interrupted);
}

/// Arguments or outcomes that no line can hold: the model is told, and the session can be gone on with.
#[test]
fn what_cannot_be_put_on_record_does_not_end_a_session() {
    let place = Place::new();
    let session = Session::create(&place.store, Header::new(None)).unwrap();
    let id = session.id();
    let (journal, _) = SessionJournal::new(session).unwrap();
    let deep = |depth: usize| (0..depth).fold(json!(null), |inner, _| json!([inner]));
    let arguments = json!({ "deep": deep(122) }).to_string();
    let model: Arc<dyn Model> = Arc::new(ScriptedModel::new([
        Reply::call("a", "echo", &arguments).and_call("b", "deep", "{}"),
        Reply::text("done"),
    ]));
    let echo = DynamicTool::new("echo", "Echoes.", json!({"type": "object"}), |_, _| {
        Box::pin(std::future::ready(Ok("echoed".into())))
    });
    let answer = deep(150);
    let deep = DynamicTool::new("deep", "Deep.", json!({"type": "object"}), move |_, _| {
        let mut output = harness_core::ToolOutput::text("here");
        output.details = Some(answer.clone());
        Box::pin(std::future::ready(Ok(output)))
    });
    let config = LoopConfig::builder(model)
        .tool(echo)
        .tool(deep)
        .journal(Arc::new(journal))
        .build()
        .unwrap();
    let outcome = block_on(run(&config, RunInput::prompt("go")).outcome()).unwrap();
    assert_eq!(outcome.answer(), "done");
    for one in outcomes(&outcome.history) {
        assert!(matches!(one, ToolOutcome::Failed(_)), "{one:?}");
    }
    drop(config);
    let session = Session::open(&place.store, id, Access::Read).unwrap();
    assert_eq!(session.context().unwrap().messages, outcome.history);
}
