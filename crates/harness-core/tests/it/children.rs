//! Runs that are started within a run.

use std::sync::Arc;

use futures::executor::block_on;
use harness_core::test_support::{Reply, ScriptedModel};
use harness_core::{
    CancellationToken, DynamicTool, LimitReached, Limits, LoopConfig, MemoryJournal, Record,
    RunInput, RunOptions, RunOutcome, RunStatus, ToolOutput, run_with,
};
use serde_json::json;

/// A tool whose call is a run of another agent.
fn delegate(child: LoopConfig) -> DynamicTool {
    DynamicTool::new(
        "delegate",
        "Asks another.",
        json!({"type": "object"}),
        move |cx, _| {
            let child = child.clone();
            Box::pin(async move {
                let options = RunOptions {
                    cancellation: Some(cx.cancellation().clone()),
                    parent: Some(cx.run().clone()),
                    ..RunOptions::default()
                };
                let outcome = run_with(&child, RunInput::prompt("do it"), options)
                    .outcome()
                    .await
                    .unwrap();
                let depth = cx.run().depth() + 1;
                let status = outcome.status.word();
                Ok(ToolOutput::text(format!(
                    "{depth} {status} {}",
                    outcome.answer()
                )))
            })
        },
    )
}

fn config(replies: Vec<Reply>, tools: Vec<DynamicTool>, limits: Limits) -> LoopConfig {
    let mut builder = LoopConfig::builder(Arc::new(ScriptedModel::new(replies))).limits(limits);
    for tool in tools {
        builder = builder.tool(tool);
    }
    builder.build().unwrap()
}

fn play(config: &LoopConfig, journal: &MemoryJournal) -> RunOutcome {
    let options = RunOptions {
        journal: Some(journal),
        ..RunOptions::default()
    };
    block_on(run_with(config, RunInput::prompt("go"), options).outcome()).unwrap()
}

#[test]
fn what_a_child_uses_counts_in_all_runs_around_it() {
    let grandchild = config(
        vec![Reply::text("deep").usage(100, 1)],
        Vec::new(),
        Limits::default(),
    );
    let child = config(
        vec![
            Reply::call("c", "delegate", "{}").usage(10, 1),
            Reply::text("found").usage(10, 1),
        ],
        vec![delegate(grandchild)],
        Limits::default(),
    );
    let parent = config(
        vec![
            Reply::call("p", "delegate", "{}").usage(1, 1),
            Reply::text("done").usage(1, 1),
        ],
        vec![delegate(child)],
        Limits::default(),
    );
    let journal = MemoryJournal::new();
    let outcome = play(&parent, &journal);
    assert_eq!(outcome.usage.input_tokens, 2 + 20 + 100);
    assert_eq!(outcome.usage.output_tokens, 2 + 2 + 1);
    assert_eq!(outcome.turns, 2);

    // On a replay no child runs, and the same is counted.
    let nobody = config(
        Vec::new(),
        vec![delegate(config(Vec::new(), Vec::new(), Limits::default()))],
        Limits::default(),
    );
    let again = MemoryJournal::from_steps(journal.steps());
    let replayed = play(&nobody, &again);
    assert_eq!(replayed.usage, outcome.usage);
    assert_eq!(replayed.history, outcome.history);
    assert_eq!(again.steps(), journal.steps());
}

#[test]
fn a_limit_of_the_run_around_it_ends_a_child() {
    for (tokens, turns) in [(Some(50), 1_000), (None, 3)] {
        let busy = (0..9).map(|n| Reply::call(&format!("c{n}"), "none", "{}").usage(20, 0));
        let child = config(busy.collect(), Vec::new(), Limits::default());
        let mut limits = Limits::default();
        limits.max_tokens = tokens;
        limits.max_turns = turns;
        let parent = config(
            vec![Reply::call("p", "delegate", "{}").usage(1, 1)],
            vec![delegate(child)],
            limits.clone(),
        );
        let journal = MemoryJournal::new();
        let outcome = play(&parent, &journal);
        match &outcome.status {
            RunStatus::Limit(LimitReached::Tokens { used, .. }) => assert_eq!(*used, 62),
            RunStatus::Limit(LimitReached::Turns { max }) => assert_eq!(*max, 3),
            other => panic!("{other:?}"),
        }
        let steps = journal.steps();
        let seen = steps.iter().any(|step| {
            matches!(
                step.record,
                Some(Record::TurnTime {
                    children: Some(_),
                    ..
                })
            )
        });
        assert!(seen, "{steps:#?}");
        // What ended it is on record, too.
        let nobody = config(
            Vec::new(),
            vec![delegate(config(Vec::new(), Vec::new(), Limits::default()))],
            limits,
        );
        let replayed = play(&nobody, &MemoryJournal::from_steps(steps));
        assert_eq!(replayed.status.word(), "limit");
        assert_eq!(replayed.usage, outcome.usage);
    }
}

#[test]
fn a_child_knows_what_was_in_force_where_it_was_started() {
    struct Word(&'static str);
    let seen = Arc::new(std::sync::Mutex::new(Vec::new()));
    let told = Arc::clone(&seen);
    let look = DynamicTool::new("look", "Looks.", json!({"type": "object"}), move |cx, _| {
        let told = Arc::clone(&told);
        Box::pin(async move {
            let run = cx.run();
            let parent = run.parent().unwrap();
            told.lock().unwrap().push((
                run.depth(),
                run.value::<Word>().is_none(),
                parent.value::<Word>().map(|word| word.0),
                run.secrets().mask("my hunter2-hunter2").into_owned(),
            ));
            Ok(ToolOutput::text("seen"))
        })
    });
    let child = config(
        vec![Reply::call("c", "look", "{}"), Reply::text("done")],
        vec![look],
        Limits::default(),
    );
    let parent = harness_core::RunContext::detached(harness_core::Caller::default())
        .with_value(Word("in force"))
        .with_secrets(
            &[harness_core::Secret::new("hunter2-hunter2")]
                .into_iter()
                .collect(),
        );
    let options = RunOptions {
        cancellation: Some(CancellationToken::new()),
        parent: Some(parent),
        ..RunOptions::default()
    };
    block_on(run_with(&child, RunInput::prompt("go"), options).outcome()).unwrap();
    let seen = seen.lock().unwrap();
    let (depth, is_none, word, masked) = &seen[0];
    assert_eq!((*depth, *is_none, *word), (1, true, Some("in force")));
    assert!(!masked.contains("hunter2"), "{masked}");
}
