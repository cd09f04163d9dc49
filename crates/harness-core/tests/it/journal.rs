//! The journal: a run is recorded, and recovered from wherever it stopped.

use std::sync::Arc;
use std::sync::atomic::{AtomicU32, AtomicUsize, Ordering};
use std::time::Duration;

use futures::executor::block_on;
use harness_core::test_support::{PushedModel, Reply, ScriptedModel};
use harness_core::{
    CancellationToken, Effect, Event, Execution, Journal, JournalError, MemoryJournal, ModelError,
    Record, RecordedStep, Replay, RunInput, RunOptions, Step, ToolOutcome, async_trait, run_with,
};

use crate::stage::{Ran, builder, counting, finish_async, limits, outline, scripted};

/// A run with everything in it: a retry, an empty reply, a parallel batch, a cut call, a steering
/// message and a follow-up.
fn script() -> Vec<Reply> {
    vec![
        Reply::busy(),
        Reply::new(),
        Reply::text("both")
            .and_call("c1", "safe", "{}")
            .and_call("c2", "unsafe", "{}")
            .usage(10, 2),
        Reply::call("c3", "unsafe", "{}").then_cut(),
        Reply::call("c3", "unsafe", "{")
            .and_call("c4", "none", "{}")
            .and_call("c5", "unsafe", "{}"),
        Reply::text("done").usage(20, 3),
        Reply::text("and more"),
    ]
}

struct Played {
    ran: Ran,
    requests: Vec<String>,
    /// How often each of the two tools ran.
    safe: u32,
    not_safe: u32,
}

/// Plays the script under a journal, as if the steps in `recorded` had been done by a process before.
fn play(journal: &dyn Journal, recorded: &[RecordedStep]) -> Played {
    let has = |name: &str| {
        recorded
            .iter()
            .any(|step| step.name == name && step.record.is_some())
    };
    let asked = recorded
        .iter()
        .filter(|step| matches!(step.record, Some(Record::Model(_))));
    let model = scripted(script().into_iter().skip(asked.count()));
    let (safe, not_safe) = (Arc::new(AtomicU32::new(0)), Arc::new(AtomicU32::new(0)));
    let config = builder(&model)
        .tool(counting("safe", &safe).replay(Replay::Safe))
        .tool(counting("unsafe", &not_safe))
        .build()
        .unwrap();
    let options = RunOptions {
        journal: Some(journal),
        ..RunOptions::default()
    };
    let handle = run_with(&config, RunInput::prompt("go"), options);
    // What was taken from a queue before is on record; the rest is said again.
    if !has("t1/steer") {
        handle.steer("look here").unwrap();
    }
    if !has("t3/more") {
        handle.follow_up("and then").unwrap();
    }
    let ran = block_on(finish_async(handle));
    Played {
        ran,
        requests: model.requests().iter().map(outline).collect(),
        safe: safe.load(Ordering::Relaxed),
        not_safe: not_safe.load(Ordering::Relaxed),
    }
}

fn recorded() -> (Played, Vec<RecordedStep>) {
    let journal = MemoryJournal::new();
    let played = play(&journal, &[]);
    (played, journal.steps())
}

fn assert_same_outcome(now: &Ran, before: &Ran, what: &str) {
    assert_eq!(now.status(), before.status(), "{what}");
    let (now, before) = (&now.outcome, &before.outcome);
    assert_eq!(now.run_id, before.run_id, "{what}");
    assert_eq!(now.history, before.history, "{what}");
    assert_eq!(
        (now.turns, now.usage),
        (before.turns, before.usage),
        "{what}"
    );
    assert_eq!(now.undelivered, before.undelivered, "{what}");
}

#[test]
fn what_is_on_record() {
    let (played, steps) = recorded();
    assert_eq!(played.ran.word(), "finished");
    assert_eq!((played.safe, played.not_safe), (1, 2));
    let names: Vec<&str> = steps.iter().map(|step| step.name.as_str()).collect();
    insta::assert_snapshot!(names.join("\n"), @r"
    run
    begin
    in0
    start
    t1/time
    t1/steer
    t1/steer0
    t1/a1/model0
    t1/a1/jitter
    t1/a1/wait
    t1/a2/model1
    t1/a3/model2
    t1/reply
    t1/call0/tool0
    t1/call1/tool0
    t1/results
    t2/time
    t2/steer
    t2/a1/model0
    t2/a1/jitter
    t2/a1/wait
    t2/a2/model1
    t2/reply
    t2/call2/tool0
    t2/results
    t3/time
    t3/steer
    t3/a1/model0
    t3/reply
    t3/more
    t3/more0
    t4/time
    t4/steer
    t4/a1/model0
    t4/reply
    t4/more
    end
    ");
    assert!(steps.iter().all(|step| step.record.is_some()));
}

/// From each step on: nothing that is on record is done again, and the outcome is the same.
#[test]
fn a_run_is_recovered_from_each_of_its_steps() {
    let (whole, steps) = recorded();
    for n in 0..=steps.len() {
        let before = &steps[..n];
        // Through its written form, as a journal on disk would have it.
        let text = serde_json::to_string(before).unwrap();
        let before: Vec<RecordedStep> = serde_json::from_str(&text).unwrap();
        assert_eq!(before, steps[..n]);

        let journal = MemoryJournal::from_steps(before.clone());
        let now = play(&journal, &before);
        assert_same_outcome(&now.ran, &whole.ran, &format!("after {n} steps"));
        let asked = whole.requests.len() - now.requests.len();
        assert_eq!(now.requests, whole.requests[asked..], "after {n} steps");
        // What is read live may differ: the time, and chance.
        let after = journal.steps();
        assert_eq!(after[..n], steps[..n], "after {n} steps");
        let names =
            |steps: &[RecordedStep]| steps.iter().map(|s| s.name.clone()).collect::<Vec<_>>();
        assert_eq!(names(&after), names(&steps), "after {n} steps");
    }
}

/// A crash within each step: it had begun, and its end is not on record.
#[test]
fn a_crash_in_each_step() {
    let (whole, steps) = recorded();
    for n in 0..steps.len() {
        let mut before = steps[..=n].to_vec();
        before[n].record = None;
        let name = &steps[n].name;
        let journal = MemoryJournal::from_steps(before.clone());
        let now = play(&journal, &before);
        assert_eq!(now.ran.word(), "finished", "in {name}");

        let is_unsafe = ["t1/call1/tool0", "t2/call2/tool0"].contains(&name.as_str());
        if !is_unsafe {
            assert_same_outcome(&now.ran, &whole.ran, &format!("in {name}"));
            continue;
        }
        // Its effect is not known: it does not run again, and the model is told.
        let place = if name.starts_with("t1") { 1 } else { 4 };
        let results = now.ran.results();
        assert_eq!(
            *results[place].outcome,
            ToolOutcome::Interrupted,
            "in {name}"
        );
        assert_eq!(now.not_safe, u32::from(place == 1), "in {name}");
        let others = whole.ran.results();
        for other in (0..5).filter(|other| *other != place) {
            assert_eq!(results[other], others[other], "in {name}");
        }
    }
}

/// A journal whose write fails at one step: before its effect, or after it.
struct Failing {
    inner: MemoryJournal,
    at: usize,
    after: bool,
    begun: AtomicUsize,
}

#[async_trait]
impl Journal for Failing {
    async fn run<'a>(&'a self, step: Step<'a>, effect: Effect<'a>) -> Result<Record, JournalError> {
        let number = self.begun.fetch_add(1, Ordering::Relaxed);
        if number != self.at {
            return self.inner.run(step, effect).await;
        }
        let error = JournalError {
            step: step.name.to_owned(),
            message: "disk full".to_owned(),
        };
        if self.after {
            effect.await;
        }
        Err(error)
    }
}

/// A failed write ends the run with its error, and nothing is done after it.
#[test]
fn a_failed_write_ends_the_run() {
    let (whole, steps) = recorded();
    for at in 0..steps.len() {
        for after in [false, true] {
            let name = &steps[at].name;
            let begun = AtomicUsize::new(0);
            let journal = Failing {
                inner: MemoryJournal::new(),
                at,
                after,
                begun,
            };
            let played = play(&journal, &[]);
            let status = played.ran.status();
            let expected = format!("Failed(Journal(JournalError {{ step: {name:?}");
            assert!(status.starts_with(&expected), "at {name}: {status}");
            assert_eq!(
                journal.begun.load(Ordering::Relaxed),
                at + 1,
                "no step after {name}"
            );
            let asks = |step: &RecordedStep| matches!(step.record, Some(Record::Model(_)));
            let before = steps[..at].iter().filter(|step| asks(step)).count();
            let asked = before + usize::from(after && asks(&steps[at]));
            assert_eq!(played.requests, whole.requests[..asked], "at {name}");
            // What was queued and not delivered is given back, also if it had been taken.
            let history = crate::stage::outline_of(&played.ran.outcome.history);
            for said in ["look here", "and then"] {
                let back = played.ran.outcome.undelivered.contains(&said.into());
                assert!(
                    history.contains(said) != back,
                    "at {name}: {said:?} {history}"
                );
            }
            assert!(history.starts_with("user: go"), "at {name}: {history}");
        }
    }
}

/// A middleware that makes something else of every error does not cover a broken journal.
#[test]
fn a_failed_write_is_not_papered_over() {
    for at in 0..6 {
        let again = harness_core::from_fn::on_reasoning("again", |cx, request, next| {
            Box::pin(async move {
                for _ in 0..3 {
                    if let Ok(reply) = next.clone().run(cx, request.clone()).await {
                        return Ok(reply);
                    }
                }
                next.run(cx, request).await
            })
        });
        let begun = AtomicUsize::new(0);
        let journal = Failing {
            inner: MemoryJournal::new(),
            at,
            after: false,
            begun,
        };
        let model = scripted([Reply::busy(), Reply::text("done")]);
        let config = builder(&model).middleware(again).build().unwrap();
        let options = RunOptions {
            journal: Some(&journal),
            ..RunOptions::default()
        };
        let ran = block_on(finish_async(run_with(
            &config,
            RunInput::prompt("go"),
            options,
        )));
        assert!(
            ran.status().contains("disk full"),
            "at {at}: {}",
            ran.status()
        );
        assert_eq!(journal.begun.load(Ordering::Relaxed), at + 1);
    }
}

/// A journal that belongs to somebody else, for as long as the run lasts.
struct Lent<'a>(&'a MemoryJournal);

#[async_trait]
impl Journal for Lent<'_> {
    async fn run<'a>(&'a self, step: Step<'a>, effect: Effect<'a>) -> Result<Record, JournalError> {
        self.0.run(step, effect).await
    }
}

#[test]
fn a_journal_may_be_borrowed() {
    let memory = MemoryJournal::new();
    let first = play(&Lent(&memory), &[]);
    let (whole, steps) = recorded();
    assert_same_outcome(&first.ran, &whole.ran, "lent");
    assert_eq!(memory.steps(), steps);
}

/// A record from another run is an error, not a guess.
#[test]
fn a_foreign_record_is_an_error() {
    let (_, steps) = recorded();
    for n in 0..steps.len() {
        let mut foreign = steps[..=n].to_vec();
        foreign[n].record = Some(match foreign[n].record {
            Some(Record::Random(_)) => Record::Slept,
            _ => Record::Random(4),
        });
        let journal = MemoryJournal::from_steps(foreign.clone());
        let now = play(&journal, &foreign);
        let status = now.ran.status();
        assert!(
            status.contains("of another kind"),
            "{}: {status}",
            steps[n].name
        );
    }
}

/// A run that ended early, replayed: without the cancel and with another clock it ends the same way,
/// and does nothing more.
#[test]
fn a_run_that_was_ended_is_replayed_to_the_same_end() {
    let limited = ModelError::RateLimited {
        status: Some(429),
        message: String::new(),
        retry_after: None,
    };
    let minute = Some(Duration::from_mins(1));
    let and_count = |tool| Reply::call("c1", tool, "{}").and_call("c2", "count", "{}");
    let out_of_time = "Limit(Time { max_seconds: 60.0 })";
    let cases = [
        ("in a tool", and_count("stop"), None, "Cancelled"),
        (
            "in a tool that has no time left",
            and_count("stop"),
            minute,
            "Cancelled",
        ),
        ("while waiting", Reply::error(limited), None, "Cancelled"),
        (
            "out of time in a tool",
            and_count("hang"),
            minute,
            out_of_time,
        ),
    ];
    for (name, reply, max_time, status) in cases {
        let journal = MemoryJournal::new();
        let count = Arc::new(AtomicU32::new(0));
        let play = |model: Arc<ScriptedModel>| {
            let token = CancellationToken::new();
            let stop = token.clone();
            let stop = crate::stage::tool("stop", move |_| {
                stop.cancel();
                Ok("stopped".into())
            });
            let discarded = token.clone();
            let discarded = harness_core::from_fn::on_event("stop", move |_, event| {
                if let Event::AttemptDiscarded { .. } = event {
                    discarded.cancel();
                }
            });
            let mut config = builder(&model)
                .tool(stop)
                .tool(counting("count", &count))
                .tool(crate::stage::hanging("hang", &Arc::default()))
                .execution(Execution::Sequential)
                .limits(limits(|l| l.max_time = max_time));
            let replayed = !journal.steps().is_empty();
            if !replayed {
                config = config.middleware(discarded);
            }
            let options = RunOptions {
                journal: Some(&journal),
                cancellation: Some(token),
                ..RunOptions::default()
            };
            let config = config.build().unwrap();
            block_on(finish_async(run_with(
                &config,
                RunInput::prompt("go"),
                options,
            )))
        };
        let first = play(scripted([reply]));
        assert_eq!(first.status(), status, "{name}");
        let steps = journal.steps();
        let again = play(scripted([]));
        assert_same_outcome(&again, &first, name);
        assert_eq!(journal.steps(), steps, "{name}");
        assert_eq!(count.load(Ordering::Relaxed), 0, "{name}");
    }
}

/// Out of time within a model request: the replay says so too, and not that somebody cancelled.
#[test]
fn a_request_that_ran_out_of_time_is_replayed() {
    let journal = MemoryJournal::new();
    let (model, requests) = PushedModel::new();
    let model = Arc::new(model);
    let config = builder(&model)
        .limits(limits(|l| l.max_time = Some(Duration::from_mins(1))))
        .build()
        .unwrap();
    for _ in 0..2 {
        let options = RunOptions {
            journal: Some(&journal),
            ..RunOptions::default()
        };
        let ran = block_on(finish_async(run_with(
            &config,
            RunInput::prompt("go"),
            options,
        )));
        assert_eq!(ran.status(), "Limit(Time { max_seconds: 60.0 })");
        let names = journal.steps().into_iter().map(|step| step.name);
        assert!(
            names
                .collect::<Vec<_>>()
                .ends_with(&["t1/ended".into(), "end".into()])
        );
    }
    drop(requests);
}
