//! What was looked at is what runs.

use std::path::PathBuf;
use std::sync::{Arc, OnceLock};

use harness_core::test_support::Reply;
use harness_core::{ActiveCall, Caller, DynamicTool, Middleware, ToolEffects, from_fn};
use harness_trust::test_support::ScriptedApprover;
use harness_trust::{Answer, Layer, Question, Scope, Verdict};
use serde_json::{Value, json};

use crate::stage::{Ran, Stage, calling, ran};

const ONCE: Answer = Answer::Yes(Scope::Once);

#[test]
fn a_file_that_changes_while_the_question_stands_is_asked_about_again() {
    let file = Arc::new(OnceLock::<PathBuf>::new());
    let path = Arc::clone(&file);
    let change = move |_: &Question| std::fs::write(path.get().unwrap(), "of the person").unwrap();
    let approver = ScriptedApprover::default()
        .then_after(change, ONCE)
        .then(ONCE);
    let stage = Stage::asking(approver);
    file.set(stage.root().join("a")).unwrap();
    std::fs::write(stage.root().join("a"), "old").unwrap();
    let ran = stage.run(stage.permissions(&[]), &[&[("put", "a")]]);
    let questions = stage.approver.questions();
    assert_eq!(questions.len(), 2);
    assert_eq!((questions[0].again, questions[1].again), (false, true));
    assert_eq!(questions[0].preview.as_deref(), Some("-old\n+"));
    assert_eq!(questions[1].preview.as_deref(), Some("-of the person\n+"));
    assert_eq!(ran.audit(), ["allow person once - -"]);
    assert_eq!(stage.done(), ["put a"]);
}

#[test]
fn one_that_keeps_changing_is_given_up() {
    let file = Arc::new(OnceLock::<PathBuf>::new());
    let mut approver = ScriptedApprover::default();
    for number in 0..5 {
        let file = Arc::clone(&file);
        let change = move |_: &Question| {
            std::fs::write(file.get().unwrap(), format!("{number}")).unwrap();
        };
        approver = approver.then_after(change, Answer::Yes(Scope::Run));
    }
    let stage = Stage::asking(approver);
    file.set(stage.root().join("a")).unwrap();
    let ran = stage.run(stage.permissions(&[]), &[&[("put", "a")]]);
    assert_eq!(stage.approver.questions().len(), 3);
    assert_eq!(stage.approver.left(), 2);
    assert!(ran.refusals()[0].contains("keeps changing"), "{ran:?}");
    assert!(stage.done().is_empty());
    assert_eq!(
        std::fs::read_to_string(stage.root().join("a")).unwrap(),
        "2"
    );
    assert_eq!(ran.reports().len(), 1);
    assert_eq!(ran.reports()[0].scope, None);
}

/// A middleware further in that makes something else of the call.
fn inner(change: impl Fn(ActiveCall) -> ActiveCall + Send + Sync + 'static) -> impl Middleware {
    from_fn::on_tool_call("inner", move |cx, call, next| {
        let call = change(call);
        next.run(cx, call)
    })
}

fn with_inner(
    stage: &Stage,
    rules: &[(Layer, Verdict, &str)],
    replies: Vec<Reply>,
    inner: impl Middleware,
) -> Ran {
    let config = stage
        .config(replies)
        .middleware(inner)
        .middleware(stage.permissions(rules));
    ran(&config.build().unwrap(), Caller::default())
}

/// Rules, the call, what becomes of its arguments, and whether it runs.
type Row<'a> = (
    &'a [(Layer, Verdict, &'a str)],
    (&'a str, &'a str),
    Value,
    bool,
);

#[test]
fn a_call_that_is_rewritten_further_in_is_refused() {
    let of = |what: &str| json!({ "of": what });
    let rows: [Row<'_>; 9] = [
        // Allowed by a rule: what leads to the same effects may stand.
        (&[], ("look", "a"), of("a"), true),
        (&[], ("look", "a"), of("./a"), true),
        (&[], ("look", "a"), of("b"), false),
        (&[], ("look", "a"), of("/etc/passwd"), false),
        (
            &[(Layer::User, Verdict::Allow, "write")],
            ("put", "a"),
            json!({"of": "a", "text": "x"}),
            true,
        ),
        // By a yes: these very arguments.
        (&[], ("put", "a"), json!({"of": "a"}), true),
        (&[], ("put", "a"), json!({"of": "a", "text": "x"}), false),
        (&[], ("sh", "make"), of("make install"), false),
        (&[], ("reach", "a.com"), of("b.com"), false),
    ];
    for (rules, call, becomes, runs) in rows {
        let stage = Stage::new([ONCE]);
        let (named, arguments) = (call.0.to_owned(), becomes.clone());
        let rewrite = inner(move |call| {
            assert_eq!(call.name, named);
            call.with_arguments(arguments.clone())
        });
        let ran = with_inner(&stage, rules, calling(&[&[call]]), rewrite);
        assert_eq!(stage.done().len(), usize::from(runs), "{call:?} {becomes}");
        let is_refused = ran.refusals()[0].contains("was changed after it had been allowed");
        assert_eq!(is_refused, !runs, "{call:?} {becomes} {ran:?}");
    }
}

/// Whatever a tool is that does not say what it does: other arguments are another call.
#[test]
fn with_unknown_effects_the_arguments_are_held_fast() {
    for rules in [&[][..], &[(Layer::User, Verdict::Allow, "tool(mystery)")]] {
        for (becomes, runs) in [("x", true), ("y", false)] {
            let stage = Stage::new([ONCE]);
            let rewrite = inner(move |call| call.with_arguments(json!({"of": becomes})));
            let ran = with_inner(&stage, rules, calling(&[&[("mystery", "x")]]), rewrite);
            assert_eq!(stage.done().len(), usize::from(runs), "{rules:?} {ran:?}");
        }
    }
}

#[test]
fn a_call_that_is_renamed_further_in_is_refused() {
    // (the tool, what it is renamed to)
    for (from, to) in [
        ("look", "put"),
        ("look", "mystery"),
        ("mystery", "put"),
        ("note", "sh"),
        ("look", "both"),
    ] {
        let stage = Stage::new([ONCE]);
        let rename = inner(move |mut call| {
            call.name = to.to_owned();
            call
        });
        let ran = with_inner(&stage, &[], calling(&[&[(from, "a")]]), rename);
        assert!(stage.done().is_empty(), "{from} as {to}: {ran:?}");
        assert!(ran.outcomes()[0].is_error(), "{from} as {to}: {ran:?}");
    }
}

#[test]
fn arguments_that_are_repaired_further_in_are_refused() {
    let broken = [
        (r#"{"of": "a""#, "put"),
        (r#"{"of": 5}"#, "put"),
        ("{}", "mystery"),
        ("nothing", "look"),
    ];
    for (arguments, tool) in broken {
        let stage = Stage::new([ONCE]);
        let repair = inner(|call| call.with_arguments(json!({"of": "a"})));
        let replies = vec![Reply::call("1", tool, arguments), Reply::text("done")];
        let ran = with_inner(
            &stage,
            &[(Layer::Run, Verdict::Allow, "write")],
            replies,
            repair,
        );
        assert!(stage.done().is_empty(), "{tool} {arguments}: {ran:?}");
        assert!(ran.outcomes()[0].is_error(), "{tool} {arguments}: {ran:?}");
        assert!(stage.approver.questions().is_empty());
    }
}

/// Further out, it is what is judged.
#[test]
fn what_is_rewritten_further_out_is_judged_as_it_is() {
    let stage = Stage::new([]);
    let rewrite = from_fn::on_tool_call("hook", |cx, call, next| {
        next.run(cx, call.with_arguments(json!({"of": ".env"})))
    });
    let ran = with_inner(
        &stage,
        &[],
        calling(&[&[("look", "a")]]),
        rewrite.order(i32::MAX - 1),
    );
    assert_eq!(ran.audit(), ["deny nobody - built-in read(/**/.env)"]);
    assert!(stage.done().is_empty());
}

/// SEC-07, as a rule sees it: a yes to a path that has come to lead elsewhere is none.
#[test]
fn sec_07_a_link_that_is_swapped_while_the_question_stands() {
    let outside = tempfile::tempdir().unwrap();
    let target = outside.path().canonicalize().unwrap().join("target");
    std::fs::write(&target, "outside").unwrap();
    let place = Arc::new(OnceLock::<PathBuf>::new());
    let (file, to) = (Arc::clone(&place), target.clone());
    let swap = move |_: &Question| {
        let file = file.get().unwrap();
        std::fs::remove_file(file).unwrap();
        std::os::unix::fs::symlink(&to, file).unwrap();
    };
    let stage = Stage::asking(ScriptedApprover::default().then_after(swap, ONCE));
    place.set(stage.root().join("x")).unwrap();
    std::fs::write(stage.root().join("x"), "inside").unwrap();
    // A tool that follows links when it says what it would do.
    let real = DynamicTool::new(
        "real",
        "Follows links.",
        json!({"type": "object"}),
        |_, _| Box::pin(async { Ok("ran".into()) }),
    );
    let root = stage.root();
    let real = real.effects(move |_, it| {
        let path = root.join(it["of"].as_str().unwrap());
        ToolEffects::write(path.canonicalize().unwrap())
    });
    let config = stage
        .config(calling(&[&[("real", "x")]]))
        .tool(real)
        .middleware(stage.permissions(&[]));
    let ran = ran(&config.build().unwrap(), Caller::default());
    assert!(ran.refusals()[0].contains("leads to"), "{ran:?}");
    // What stood in the question is not so any more: it is not asked again.
    assert_eq!(stage.approver.questions().len(), 1);
    assert_eq!(ran.audit(), ["deny person - - -"]);
}
