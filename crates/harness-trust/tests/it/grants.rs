//! How far a yes goes: this call, this run, this project.

use std::sync::{Arc, Mutex};

use futures::executor::block_on;
use harness_core::{Caller, Event, RunInput, run};
use harness_trust::test_support::ScriptedApprover;
use harness_trust::{Answer, Layer, Permissions, Scope, Verdict};

use crate::stage::{Stage, calling, ran};

const ONCE: Answer = Answer::Yes(Scope::Once);
const RUN: Answer = Answer::Yes(Scope::Run);
const PROJECT: Answer = Answer::Yes(Scope::Project);

/// Answers, turns, what ran, how many were asked, the scopes on record.
type Row<'a> = (
    &'a [Answer],
    &'a [&'a [(&'a str, &'a str)]],
    &'a [&'a str],
    usize,
    &'a [&'a str],
);

#[test]
fn a_yes_is_for_what_it_was_said_to() {
    let rows: &[Row<'_>] = &[
        // Once is once.
        (
            &[ONCE],
            &[&[("put", "a")], &[("put", "a")]],
            &["put a"],
            2,
            &["once", "-"],
        ),
        // For the run: what is alike, and nothing else.
        (
            &[RUN],
            &[
                &[("put", "a")],
                &[("put", "a")],
                &[("put", "b")],
                &[("look", ".env")],
            ],
            &["put a", "put a"],
            3,
            &["run", "-", "-", "-"],
        ),
        (
            &[RUN],
            &[
                &[("sh", "make x")],
                &[("sh", "make 'x'")],
                &[("sh", "make x y")],
                &[("sh", "make x; make z")],
            ],
            &["sh make x", "sh make 'x'"],
            3,
            &["run", "-", "-", "-"],
        ),
        (
            &[RUN],
            &[
                &[("reach", "a.com:443")],
                &[("reach", "a.com:443")],
                &[("reach", "a.com:80")],
                &[("reach", "b.com:443")],
            ],
            &["reach a.com:443", "reach a.com:443"],
            3,
            &["run", "-", "-", "-"],
        ),
        (
            &[RUN],
            &[&[("mystery", "x")], &[("mystery", "y")], &[("put", "a")]],
            &["mystery x", "mystery y"],
            2,
            &["run", "-", "-"],
        ),
        // A line of several commands: each of them is granted.
        (
            &[RUN],
            &[
                &[("sh", "make x && make y > out")],
                &[("sh", "make y; make x")],
                &[("put", "out")],
            ],
            &["sh make x && make y > out", "sh make y; make x", "put out"],
            1,
            &["run", "-", "-"],
        ),
        // What cannot be vouched for is granted once, whatever is answered.
        (
            &[RUN],
            &[&[("sh", "make $(id)")], &[("sh", "make $(id)")]],
            &["sh make $(id)"],
            2,
            &["once", "-"],
        ),
        // Nobody offered to keep it.
        (
            &[PROJECT],
            &[&[("put", "a")], &[("put", "a")]],
            &["put a"],
            2,
            &["once", "-"],
        ),
    ];
    for (answers, turns, done, asked, scopes) in rows {
        let stage = Stage::new(answers.iter().cloned());
        let ran = stage.run(stage.permissions(&[]), turns);
        assert_eq!(stage.done(), *done, "{turns:?}");
        assert_eq!(stage.approver.questions().len(), *asked, "{turns:?}");
        let reports = ran.reports().into_iter();
        let found: Vec<_> = reports
            .map(|it| it.scope.unwrap_or_else(|| "-".to_owned()))
            .collect();
        assert_eq!(found, *scopes, "{turns:?}");
    }
}

#[test]
fn what_was_granted_for_a_run_is_a_rule_of_it() {
    let stage = Stage::new([RUN]);
    let ran = stage.run(stage.permissions(&[]), &[&[("put", "a")], &[("put", "a")]]);
    assert_eq!(
        ran.audit(),
        ["allow person run - -", "allow rule - run write(a)"]
    );
    // And one that denies, or that stands higher, is stronger.
    let stage = Stage::new([RUN]);
    let rules = [(Layer::Managed, Verdict::Ask, "write(a)")];
    let ran = stage.run(
        stage.permissions(&rules),
        &[&[("put", "a")], &[("put", "a")]],
    );
    assert_eq!(
        ran.audit(),
        [
            "allow person run managed write(a)",
            "deny nobody - managed write(a)"
        ]
    );
}

/// What a program was given to keep, each time.
type Kept = Arc<Mutex<Vec<Vec<String>>>>;

fn remembering(permissions: Permissions, outcome: Result<(), String>) -> (Permissions, Kept) {
    let kept = Kept::default();
    let keep = Arc::clone(&kept);
    let permissions = permissions.remember(move |rules| {
        let rules = rules.iter().map(ToString::to_string);
        keep.lock().unwrap().push(rules.collect());
        outcome.clone()
    });
    (permissions, kept)
}

#[test]
fn a_yes_for_the_project_is_kept() {
    let stage = Stage::new([PROJECT]);
    let (permissions, kept) = remembering(stage.permissions(&[]), Ok(()));
    let turns: &[&[(&str, &str)]] = &[
        &[("sh", "make x && make 'y z' > out; ls -l")],
        &[("sh", "make x")],
        &[("put", "other")],
    ];
    let ran = stage.run(permissions, turns);
    // Exactly what was asked: nothing of `ls`, which needs no yes.
    let rules = [
        "allow run(make x)",
        "allow run(make 'y z')",
        "allow write(out)",
    ];
    assert_eq!(*kept.lock().unwrap(), [rules]);
    let questions = stage.approver.questions();
    assert_eq!(questions.len(), 2);
    assert_eq!(
        questions[0].rules,
        ["run(make x)", "run(make 'y z')", "write(out)"]
    );
    assert_eq!(
        questions[0].scopes,
        [Scope::Once, Scope::Run, Scope::Project]
    );
    assert_eq!(ran.reports()[0].scope.as_deref(), Some("project"));
    assert_eq!(ran.audit()[1], "allow rule - run run(make x)");
}

#[test]
fn a_yes_for_less_keeps_nothing() {
    for answer in [ONCE, RUN] {
        let stage = Stage::new([answer]);
        let (permissions, kept) = remembering(stage.permissions(&[]), Ok(()));
        stage.run(permissions, &[&[("put", "a")]]);
        assert_eq!(stage.done(), ["put a"]);
        assert!(kept.lock().unwrap().is_empty());
    }
}

#[test]
fn what_cannot_be_kept_is_said_and_holds_for_the_run() {
    let stage = Stage::new([PROJECT]);
    let problem = Err("the disk is full".to_owned());
    let (permissions, _) = remembering(stage.permissions(&[]), problem);
    let ran = stage.run(permissions, &[&[("put", "a")], &[("put", "a")]]);
    assert_eq!(stage.done(), ["put a", "put a"]);
    assert_eq!(
        ran.audit(),
        ["allow person run - -", "allow rule - run write(a)"]
    );
    let warns = |event: &Event| matches!(event, Event::Warning { message } if message.contains("the disk is full"));
    assert!(ran.events.iter().any(warns));
}

#[test]
fn calls_of_one_batch_ask_one_at_a_time_and_the_first_answer_counts_for_the_second() {
    let calls: &[(&str, &str)] = &[("sh", "make"), ("sh", "make"), ("put", "a"), ("sh", "make")];
    let stage = Stage::new([RUN, ONCE]);
    let ran = stage.run(stage.permissions(&[]), &[calls]);
    assert_eq!(stage.approver.most_open(), 1);
    assert_eq!(stage.approver.questions().len(), 2);
    assert_eq!(stage.approver.unexpected(), 0);
    assert_eq!(ran.refusals(), [""; 4]);
    assert_eq!(stage.done().len(), 4);
    // Said once, it holds for one.
    let stage = Stage::new([ONCE, ONCE]);
    let ran = stage.run(
        stage.permissions(&[]),
        &[&[("sh", "make"), ("sh", "make"), ("sh", "make")]],
    );
    assert_eq!(stage.approver.most_open(), 1);
    assert_eq!(stage.approver.questions().len(), 3);
    assert_eq!(stage.done().len(), 2);
    assert_eq!(ran.refusals().iter().filter(|it| !it.is_empty()).count(), 1);
}

#[test]
fn what_one_run_was_granted_is_not_granted_to_another() {
    let stage = Stage::new([RUN, RUN]);
    let turns: &[&[(&str, &str)]] = &[&[("put", "a")], &[("put", "a")]];
    // One after the other, of one agent.
    let permissions = stage.permissions(&[]);
    for _ in 0..2 {
        let config = stage.config(calling(turns)).middleware(permissions.clone());
        ran(&config.build().unwrap(), Caller::default());
    }
    assert_eq!(stage.approver.questions().len(), 2);

    // And at the same time: the second run asks while the first one has its yes already.
    let approver = ScriptedApprover::new([RUN, RUN]);
    let stage = Stage::asking(approver);
    let config = || {
        let config = stage
            .config(calling(turns))
            .middleware(stage.permissions(&[]));
        config.build().unwrap()
    };
    let (first, second) = (config(), config());
    block_on(async {
        let one = run(&first, RunInput::prompt("go")).outcome();
        let two = run(&second, RunInput::prompt("go")).outcome();
        let (one, two) = futures::join!(one, two);
        one.unwrap();
        two.unwrap();
    });
    assert_eq!(stage.approver.questions().len(), 2);
    assert_eq!(stage.done().len(), 4);
}
