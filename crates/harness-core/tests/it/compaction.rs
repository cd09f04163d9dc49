//! The hook that makes a conversation shorter, and what the loop makes of what it gives.

use std::sync::atomic::{AtomicU32, Ordering};
use std::sync::{Arc, Mutex};

use futures::executor::block_on;
use harness_core::test_support::{Reply, ScriptedModel};
use harness_core::{
    Compaction, CompactionReason, ContextUse, FailurePolicy, MemoryJournal, Message, MessageRef,
    MiddlewareError, ModelError, Record, RunInput, RunOptions, from_fn, run, run_with,
};

use crate::stage::{
    Ran, builder, echo, finish, finish_async, limits, outline, outline_of, ran, scripted,
};

const HI: &str = r#"{"text": "hi"}"#;

fn overflow() -> Reply {
    Reply::error(ModelError::ContextOverflow {
        message: "too long".to_owned(),
    })
}

fn shorter(kept: usize) -> Compaction {
    let summary = vec![Message::user("in short").into()];
    Compaction::new(summary, kept, CompactionReason::Threshold)
}

type Given = Result<Option<Compaction>, MiddlewareError>;

/// A middleware that gives this, and notes what it was asked with.
fn giving(
    asked: &Arc<Mutex<Vec<(usize, ContextUse)>>>,
    give: impl Fn(&[MessageRef], &ContextUse) -> Given + Send + Sync + 'static,
) -> from_fn::FromFn<from_fn::CompactionFn> {
    let asked = Arc::clone(asked);
    from_fn::on_compaction("shorter", move |_, history, used| {
        asked.lock().unwrap().push((history.len(), used.clone()));
        let given = give(history, used);
        Box::pin(std::future::ready(given))
    })
}

#[test]
fn the_request_is_made_of_the_shorter_conversation() {
    let model = scripted([
        Reply::call("c", "echo", HI),
        Reply::text("done").usage(9, 1),
    ]);
    let asked = Arc::default();
    let middleware = giving(&asked, |history, _| {
        Ok((history.len() == 3).then(|| shorter(2)))
    });
    let config = builder(&model).tool(echo()).middleware(middleware).build();
    let ran = ran(&config.unwrap(), "a long story");
    assert_eq!(ran.word(), "finished");
    let requests: Vec<String> = model.requests().iter().map(outline).collect();
    assert!(requests[1].contains("in short") && !requests[1].contains("a long story"));
    assert!(requests[1].contains("result c"), "{}", requests[1]);
    let history = outline_of(&ran.outcome.history);
    assert!(history.starts_with("user: in short"), "{history}");
    assert_eq!(
        (ran.outcome.compactions, ran.outcome.history_before),
        (1, 1)
    );
    assert_eq!(ran.outcome.new_messages().len(), 3);
    assert_eq!(ran.outcome.answer(), "done");
    let types = ran.types();
    let at = |what: &str| types.iter().position(|it| it == what).unwrap();
    assert!(at("compaction_end") > at("tool_end"), "{types:?}");
    assert_eq!(asked.lock().unwrap().len(), 2, "once a turn");
}

/// What was there before the run stays told from what the run added.
#[test]
fn what_is_old_and_kept_is_not_new() {
    for (kept, before) in [(0, 1), (1, 1), (2, 2), (3, 3)] {
        let model = scripted([Reply::text("done")]);
        let middleware = giving(&Arc::default(), move |_, _| Ok(Some(shorter(kept))));
        let config = builder(&model).middleware(middleware).build().unwrap();
        let history: Vec<MessageRef> = ["one", "two", "three"]
            .map(|text| Message::user(text).into())
            .to_vec();
        let input = RunInput::prompt("four").with_history(history);
        let ran = finish(run(&config, input));
        assert_eq!(ran.outcome.history_before, before, "{kept} kept");
        assert_eq!(ran.outcome.history.len(), kept + 2, "{kept} kept");
        assert_eq!(ran.outcome.new_messages().len(), kept + 2 - before);
    }
}

#[test]
fn an_overflow_is_tried_again_once_and_only_if_something_was_given() {
    for (given, replies, word, requests) in [
        (true, vec![overflow(), Reply::text("done")], "finished", 2),
        (true, vec![overflow(), overflow()], "failed", 2),
        (false, vec![overflow()], "failed", 1),
    ] {
        let model = scripted(replies);
        let asked = Arc::default();
        let middleware = giving(&asked, move |_, used| {
            Ok((used.overflow && given).then(|| shorter(0)))
        });
        let config = builder(&model).middleware(middleware).build().unwrap();
        let ran = ran(&config, "go");
        assert_eq!(ran.word(), word);
        assert_eq!(model.requests().len(), requests);
        let asked = asked.lock().unwrap();
        let overflows: Vec<bool> = asked.iter().map(|(_, used)| used.overflow).collect();
        assert_eq!(overflows, [false, true]);
        if word == "failed" {
            assert!(ran.status().contains("ContextOverflow"), "{}", ran.status());
        }
    }
}

/// What cannot be sent is not taken: the run goes on as it was, or fails, as the middleware says.
#[test]
fn what_breaks_a_rule_is_not_taken() {
    type Case = (&'static str, fn() -> Compaction);
    let cases: [Case; 5] = [
        ("keeps more messages than there are", || shorter(9)),
        ("takes nothing away", || shorter(3)),
        ("do not answer", || shorter(1)),
        ("is blank", || {
            Compaction::new(vec![Message::user(" ").into()], 2, CompactionReason::Manual)
        }),
        ("there are no messages", || {
            Compaction::new(Vec::new(), 0, CompactionReason::Manual)
        }),
    ];
    for (rule, give) in cases {
        for policy in [FailurePolicy::FailOpen, FailurePolicy::FailClosed] {
            let model = scripted([Reply::call("c", "echo", HI), Reply::text("done")]);
            let middleware = giving(&Arc::default(), move |history, _| {
                Ok((history.len() == 3).then(give))
            });
            let config = builder(&model)
                .tool(echo())
                .middleware(middleware.on_failure(policy))
                .build();
            let ran = ran(&config.unwrap(), "go");
            if policy == FailurePolicy::FailOpen {
                assert_eq!(ran.word(), "finished", "{rule}");
                assert!(ran.warnings()[0].contains(rule), "{:?}", ran.warnings());
                assert_eq!(ran.outcome.history.len(), 4);
            } else {
                assert!(ran.status().contains(rule), "{rule}: {}", ran.status());
            }
        }
    }
}

#[test]
fn how_often_is_bounded_and_the_bound_is_told() {
    let model = Arc::new(ScriptedModel::new([Reply::call("c", "echo", HI)]).last_forever());
    let middleware = giving(&Arc::default(), |history, _| {
        Ok((history.len() > 2).then(|| shorter(0)))
    });
    let config = builder(&model)
        .tool(echo())
        .middleware(middleware)
        .limits(limits(|limits| limits.max_compactions = 3))
        .build()
        .unwrap();
    let ran = ran(&config, "go");
    assert_eq!(ran.word(), "limit");
    assert!(
        ran.status().contains("Compactions { max: 3 }"),
        "{}",
        ran.status()
    );
}

/// What the provider counted, and the new messages on top of it.
#[test]
fn the_use_is_what_was_counted_and_an_estimate_of_the_rest() {
    let model = scripted([
        Reply::call(
            "c",
            "echo",
            &format!(r#"{{"text": "{}"}}"#, "x".repeat(4_000)),
        )
        .usage(900, 7),
        Reply::text("done"),
    ]);
    let asked: Arc<Mutex<Vec<(usize, ContextUse)>>> = Arc::default();
    let middleware = giving(&asked, |_, _| Ok(None));
    let config = builder(&model).tool(echo()).middleware(middleware).build();
    assert_eq!(ran(&config.unwrap(), &"y".repeat(3_000)).word(), "finished");
    let asked = asked.lock().unwrap();
    let second = &asked[1].1;
    // The arguments of the call, its result, and what is around them.
    let new = second.tokens - 900;
    assert!((2_000..3_000).contains(&new), "{new}");
    assert!(second.fixed_tokens < 200, "{}", second.fixed_tokens);
}

/// A replay takes what is on record, and does not ask again.
#[test]
fn what_was_given_is_on_record() {
    let times = Arc::new(AtomicU32::new(0));
    let play = |journal: &MemoryJournal, replies: Vec<Reply>| -> Ran {
        let counted = Arc::clone(&times);
        let middleware = giving(&Arc::default(), move |history, _| {
            counted.fetch_add(1, Ordering::Relaxed);
            Ok((history.len() == 3).then(|| shorter(0)))
        });
        let model = scripted(replies);
        let config = builder(&model).tool(echo()).middleware(middleware).build();
        let options = RunOptions {
            journal: Some(journal),
            ..RunOptions::default()
        };
        let handle = run_with(&config.unwrap(), RunInput::prompt("go"), options);
        block_on(finish_async(handle))
    };
    let journal = MemoryJournal::new();
    let whole = play(
        &journal,
        vec![Reply::call("c", "echo", HI), Reply::text("done")],
    );
    assert_eq!(times.load(Ordering::Relaxed), 2);
    let steps = journal.steps();
    let taken = |record: &Option<Record>| matches!(record, Some(Record::Compacted(Some(_))));
    let at = steps.iter().position(|step| taken(&step.record)).unwrap();
    assert_eq!(steps[at].name, "t2/compaction");
    let text = serde_json::to_string(&steps[..=at]).unwrap();
    let again = MemoryJournal::from_steps(serde_json::from_str(&text).unwrap());
    let now = play(&again, vec![Reply::text("done")]);
    assert_eq!(times.load(Ordering::Relaxed), 2, "nothing was asked again");
    assert_eq!(now.outcome.history, whole.outcome.history);
}
