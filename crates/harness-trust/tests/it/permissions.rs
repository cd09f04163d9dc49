//! What becomes of calls in whole runs: allowed, refused, asked about, and what is told of that.

use std::sync::Arc;
use std::sync::atomic::{AtomicU32, Ordering};

use futures::executor::block_on;
use harness_core::test_support::{Reply, assert_hooks_honest};
use harness_core::{
    Caller, CancellationToken, Event, FailurePolicy, Middleware, PermissionDecision,
    PermissionSource, RunInput, RunOptions, ToolEffects, ToolOutcome, call_tool, from_fn,
};
use harness_trust::test_support::ScriptedApprover;
use harness_trust::{Always, Answer, Layer, Permissions, PlaceOfRuns, Rules, Scope, Verdict};
use serde_json::json;

use crate::stage::{Stage, calling, ran, ran_with};

use Layer::{Managed, Project, Run, User};
use Verdict::{Allow, Ask, Deny};

pub(crate) const ONCE: Answer = Answer::Yes(Scope::Once);

pub(crate) fn no(reason: Option<&str>) -> Answer {
    Answer::No {
        reason: reason.map(str::to_owned),
    }
}

/// Rules, a call, what the audit says, and whether the tool ran. Nobody is there.
type Row<'a> = (
    &'a [(Layer, Verdict, &'a str)],
    (&'a str, &'a str),
    &'a str,
    bool,
);

/// What each layer decides.
const LAYERS: &[Row<'_>] = &[
    (&[], ("look", "a"), "allow rule - built-in read(**)", true),
    (
        &[],
        ("look", ".env"),
        "deny nobody - built-in read(/**/.env)",
        false,
    ),
    (&[], ("put", "a"), "deny nobody - - -", false),
    (
        &[],
        ("note", "x"),
        "allow rule - built-in conversation",
        true,
    ),
    (&[], ("mystery", "x"), "deny nobody - - -", false),
    (&[], ("reach", "example.com"), "deny nobody - - -", false),
    (
        &[],
        ("sh", "ls -l"),
        "allow rule - built-in commands that only read, read(**)",
        true,
    ),
    (&[], ("sh", "make"), "deny nobody - - -", false),
    (&[], ("sh", "echo $(id)"), "deny nobody - - -", false),
    (
        &[(User, Allow, "write(a)")],
        ("put", "a"),
        "allow rule - user write(a)",
        true,
    ),
    (
        &[(User, Allow, "write(a)")],
        ("put", "b"),
        "deny nobody - - -",
        false,
    ),
    (
        &[(User, Deny, "read(a)")],
        ("look", "a"),
        "deny rule - user read(a)",
        false,
    ),
    (
        &[(User, Ask, "read(a)")],
        ("look", "a"),
        "deny nobody - user read(a)",
        false,
    ),
    (
        &[(Project, Allow, "run(make *)")],
        ("sh", "make x"),
        "allow rule - project run(make *)",
        true,
    ),
    (
        &[(Project, Ask, "read")],
        ("look", "a"),
        "deny nobody - project read",
        false,
    ),
    (
        &[(Run, Allow, "net(example.com)")],
        ("reach", "example.com"),
        "allow rule - run net(example.com)",
        true,
    ),
    (
        &[(Run, Allow, "tool(mystery)")],
        ("mystery", "x"),
        "allow rule - run tool(mystery)",
        true,
    ),
    (
        &[(Run, Allow, "read(.env)")],
        ("look", ".env"),
        "allow rule - run read(.env)",
        true,
    ),
    (
        &[(Run, Allow, "opaque"), (Run, Allow, "run")],
        ("sh", "make $(id)"),
        "allow rule - run run, opaque",
        true,
    ),
    (
        &[(Managed, Deny, "write")],
        ("put", "a"),
        "deny rule - managed write",
        false,
    ),
    (
        &[(Managed, Allow, "write"), (User, Deny, "write(a)")],
        ("put", "a"),
        "deny rule - user write(a)",
        false,
    ),
    (
        &[(User, Deny, "write(a)"), (Run, Allow, "write")],
        ("put", "b"),
        "allow rule - run write",
        true,
    ),
    (
        &[(Run, Allow, "write")],
        ("both", "a"),
        "allow rule - built-in, run read(**), write",
        true,
    ),
    (
        &[(Run, Allow, "write"), (User, Deny, "read(a)")],
        ("both", "a"),
        "deny rule - user read(a)",
        false,
    ),
    (
        &[(User, Allow, "run(ls *)")],
        ("sh", "ls; cat /etc/shadow"),
        "deny nobody - built-in read(/etc/shadow*)",
        false,
    ),
];

#[test]
fn each_layer_decides_in_a_whole_run() {
    for (rules, call, audit, runs) in LAYERS {
        let stage = Stage::new([Answer::Nobody]);
        let ran = stage.run(stage.permissions(rules), &[&[*call]]);
        assert_eq!(ran.audit(), [*audit], "{rules:?} {call:?}");
        assert_eq!(stage.done().len(), usize::from(*runs), "{rules:?} {call:?}");
        assert_eq!(ran.refusals()[0].is_empty(), *runs, "{ran:?}");
        let is_asked = audit.contains("nobody");
        assert_eq!(stage.approver.questions().len(), usize::from(is_asked));
    }
}

#[test]
fn sec_02_a_deny_or_a_question_wins_over_what_allows_the_first_command() {
    let stage = Stage::new([]);
    let rules = [(User, Allow, "run(ls*)"), (User, Deny, "read(/etc/passwd)")];
    let call = ("sh", "ls; cat /etc/passwd");
    let ran = stage.run(stage.permissions(&rules), &[&[call]]);
    assert_eq!(ran.audit(), ["deny rule - user read(/etc/passwd)"]);
    assert!(stage.done().is_empty());
    assert!(stage.approver.questions().is_empty());
}

#[test]
fn a_denial_names_the_rule_and_asks_nobody() {
    let stage = Stage::new([]);
    let rules = [(User, Deny, "read(a)"), (Managed, Deny, "write")];
    let ran = stage.run(stage.permissions(&rules), &[&[("both", "a")]]);
    let file = stage.root().join("a");
    let file = file.display();
    let expected = format!(
        "`deny read(a)` (user) is about a call that reads {file}; `deny write` (managed) is about a call that writes {file}."
    );
    assert_eq!(ran.refusals(), [expected.as_str()]);
    let report = &ran.reports()[0];
    assert_eq!(report.reason.as_deref(), Some(expected.as_str()));
    assert_eq!((report.id.as_str(), report.tool.as_str()), ("1", "both"));
    let effects = [format!("reads {file}"), format!("writes {file}")];
    assert_eq!(report.effects, effects);
    assert!(stage.approver.questions().is_empty());
}

#[test]
fn where_nobody_is_the_advice_names_what_would_allow_it() {
    let advice =
        |rules: &[String], _: bool| format!("Say --allow '{}'.", rules.join("' --allow '"));
    let rows = [
        (("put", "a b"), "writes ", "Say --allow 'write(a b)'."),
        (
            ("reach", "example.com:443"),
            "connects to example.com:443",
            "Say --allow 'net(example.com:443)'.",
        ),
        (
            ("mystery", "x"),
            "uses the tool mystery",
            "Say --allow 'tool(mystery)'.",
        ),
        (
            ("sh", "make -C 'a b'"),
            "runs make -C 'a b'",
            "Say --allow 'run(make -C 'a b')'.",
        ),
        (("look", ".env"), "reads ", "Say --allow 'read(.env)'."),
    ];
    for (call, what, said) in rows {
        let stage = Stage::new([]);
        let permissions = stage
            .permissions(&[])
            .approver(Arc::new(harness_trust::Never))
            .advice(advice);
        let ran = stage.run(permissions, &[&[call]]);
        let refusal = &ran.refusals()[0];
        assert!(refusal.starts_with("a call that "), "{refusal}");
        assert!(refusal.contains(what), "{refusal}");
        assert!(
            refusal.ends_with(&format!("needs a yes, and nobody is there to ask. {said}")),
            "{refusal}"
        );
        assert_eq!(ran.reports()[0].by, PermissionSource::Nobody);
    }
    // Without advice of the program's own.
    let stage = Stage::new([]);
    let ran = stage.run(
        stage.permissions(&[]),
        &[&[("put", "a"), ("sh", "echo `id`")]],
    );
    assert!(
        ran.refusals()[0].ends_with("by: write(a). So it would be in a project that is trusted."),
        "{ran:?}"
    );
    assert!(
        ran.refusals()[1].ends_with("It would be allowed by: run, opaque."),
        "{ran:?}"
    );
}

/// What asks is the tool, and no rule would help.
#[test]
fn where_a_tool_is_asked_about_no_rule_is_advised() {
    let stage = Stage::new([]);
    let permissions = stage.permissions(&[]).tool("look", Ask);
    let ran = stage.run(permissions, &[&[("look", "a")]]);
    let refusal = &ran.refusals()[0];
    assert!(
        refusal.contains("the tool `look` is asked about here"),
        "{refusal}"
    );
    assert!(!refusal.contains("opaque"), "{refusal}");
}

#[test]
fn a_question_shows_what_would_happen() {
    let stage = Stage::new([no(None), no(Some("not now"))]);
    std::fs::write(stage.root().join("a"), "old").unwrap();
    let ran = stage.run(
        stage.permissions(&[(User, Ask, "run(make *)")]),
        &[&[("put", "a")], &[("sh", "make x\u{202e}y")]],
    );
    assert_eq!(
        ran.refusals(),
        ["the user said no.", "the user said no: not now"]
    );
    assert_eq!(
        ran.audit(),
        ["deny person - - -", "deny person - user run(make *)"]
    );
    let questions = stage.approver.questions();
    let file = stage.root().join("a");
    let (put, make) = (&questions[0], &questions[1]);
    assert_eq!((put.tool.as_str(), put.call_id.as_str()), ("put", "1"));
    assert_eq!(put.effects, [format!("writes {}", file.display())]);
    assert_eq!(
        put.reasons,
        [format!(
            "no rule is about a call that writes {}",
            file.display()
        )]
    );
    assert_eq!(put.preview.as_deref(), Some("-old\n+"));
    assert_eq!(put.rules, ["write(a)"]);
    assert_eq!(put.scopes, [Scope::Once, Scope::Run]);
    assert!(!put.again);
    // SEC-13: what cannot be seen is escaped, and is allowed only once.
    let shown = format!("{:?} {:?}", make.effects, make.reasons);
    assert!(!shown.contains('\u{202e}'), "{shown}");
    assert!(
        make.effects.iter().any(|it| it.contains(r"\u{202e}")),
        "{shown}"
    );
    assert_eq!((make.rules.len(), &*make.scopes), (0, &[Scope::Once][..]));
    // The whole line stands there as it is, for whoever shows it to escape.
    assert_eq!(make.preview.as_deref(), Some("make x\u{202e}y"));
    assert!(stage.done().is_empty());
}

#[test]
fn every_decision_is_told_once_and_before_the_call() {
    let stage = Stage::new([ONCE, no(None)]);
    let calls: &[(&str, &str)] = &[
        ("look", "a"),
        ("put", "b"),
        ("reach", "x"),
        ("mystery", "y"),
    ];
    let ran = stage.run(stage.permissions(&[]), &[calls]);
    let reports = ran.reports();
    let mut ids: Vec<_> = reports.iter().map(|it| it.id.as_str()).collect();
    ids.sort_unstable();
    assert_eq!(ids, ["1", "2", "3", "4"]);
    assert_eq!(stage.done(), ["look a", "put b"]);
    assert_eq!(stage.approver.unexpected(), 1);
    for report in &reports {
        let at = |is: &dyn Fn(&Event) -> bool| ran.events.iter().position(is).unwrap();
        let told = at(&|it| matches!(it, Event::Permission(told) if told.id == report.id));
        let start = at(&|it| matches!(it, Event::ToolStart { id, .. } if *id == report.id));
        let end = at(&|it| matches!(it, Event::ToolEnd { id, .. } if *id == report.id));
        assert!(start < told && told < end);
    }
}

#[test]
fn a_call_that_cannot_be_executed_is_told_why_and_asks_nobody() {
    let stage = Stage::new([]);
    let replies = vec![
        Reply::call("1", "put", r#"{"of": "#)
            .and_call("2", "put", r#"{"of": 5}"#)
            .and_call("3", "fly", "{}"),
        Reply::text("done"),
    ];
    let config = stage.config(replies).middleware(stage.permissions(&[]));
    let ran = ran(&config.build().unwrap(), Caller::default());
    for outcome in ran.outcomes() {
        assert!(matches!(outcome, ToolOutcome::Failed(_)), "{outcome:?}");
    }
    assert!(ran.reports().is_empty());
    assert!(stage.approver.questions().is_empty());
}

#[test]
fn an_approver_that_panics_refuses_the_call_and_the_next_one_is_asked() {
    let approver = ScriptedApprover::default()
        .then_after(|_| panic!("the terminal is gone"), ONCE)
        .then(ONCE);
    let stage = Stage::asking(approver);
    let ran = stage.run(stage.permissions(&[]), &[&[("put", "a")], &[("put", "b")]]);
    let outcomes = ran.outcomes();
    assert!(
        outcomes[0].shown_text().contains("the terminal is gone"),
        "{outcomes:?}"
    );
    assert!(outcomes[0].is_error());
    assert_eq!(stage.done(), ["put b"]);
    assert_eq!(ran.audit(), ["allow person once - -"]);
    assert_eq!(
        stage.permissions(&[]).on_failure(),
        FailurePolicy::FailClosed
    );
}

#[test]
fn a_yes_after_the_run_was_cancelled_does_not_count() {
    let cancel = CancellationToken::new();
    let cancelled = cancel.clone();
    let approver = ScriptedApprover::default().then_after(move |_| cancelled.cancel(), ONCE);
    let stage = Stage::asking(approver);
    let config = stage
        .config(calling(&[&[("put", "a")]]))
        .middleware(stage.permissions(&[]));
    let options = RunOptions {
        cancellation: Some(cancel),
        ..RunOptions::default()
    };
    let ran = ran_with(&config.build().unwrap(), RunInput::prompt("go"), options);
    assert_eq!(ran.outcome.status.word(), "cancelled");
    assert!(stage.done().is_empty());
}

#[test]
fn always_says_yes_to_what_is_asked_and_to_nothing_else() {
    let stage = Stage::new([]);
    let permissions = stage
        .permissions(&[(User, Deny, "write(b)")])
        .approver(Arc::new(Always));
    let ran = stage.run(permissions, &[&[("put", "a"), ("put", "b")]]);
    let mut audit = ran.audit();
    audit.sort();
    assert_eq!(
        audit,
        ["allow person once - -", "deny rule - user write(b)"]
    );
    assert_eq!(stage.done(), ["put a"]);
}

#[test]
fn what_is_refused_further_in_is_asked_of_nobody() {
    let stage = Stage::new([]);
    let refusal = |_: &harness_core::RunContext, effects: &ToolEffects| {
        let refused = ToolOutcome::Denied {
            by: "plan".to_owned(),
            reason: "not now".to_owned(),
        };
        (!effects.is_read_only()).then_some(refused)
    };
    let permissions = stage.permissions(&[]).refused_by(refusal);
    let ran = stage.run(permissions, &[&[("put", "a"), ("look", "a")]]);
    let denied = matches!(&ran.outcomes()[0], ToolOutcome::Denied { by, .. } if by == "plan");
    assert!(denied, "{ran:?}");
    assert_eq!(stage.done(), ["look a"]);
    assert!(stage.approver.questions().is_empty());
    assert_eq!(ran.reports().len(), 1);
}

/// Every path goes through it: also a call by hand, outside of any run.
#[test]
fn a_call_outside_of_a_run_is_decided_too() {
    let stage = Stage::new([no(None)]);
    let config = stage
        .config(vec![])
        .middleware(stage.permissions(&[]))
        .build()
        .unwrap();
    for (tool, runs) in [("look", true), ("put", false)] {
        let arguments = json!({"of": "a"}).to_string();
        let never = CancellationToken::new();
        let outcome = block_on(call_tool(
            &config,
            Caller::default(),
            tool,
            &arguments,
            never,
        ));
        assert_eq!(!outcome.unwrap().is_error(), runs, "{tool}");
    }
    assert_eq!(stage.done(), ["look a"]);
}

#[test]
fn a_run_in_a_folder_of_its_own_has_that_as_its_workspace() {
    let stage = Stage::new([]);
    std::fs::create_dir(stage.root().join("inner")).unwrap();
    let config = stage
        .config(calling(&[&[("look", "a"), ("look", "inner/a")]]))
        .middleware(stage.permissions(&[]));
    let caller = Caller {
        working_dir: Some("inner".into()),
        ..Caller::default()
    };
    let ran = ran(&config.build().unwrap(), caller);
    assert_eq!(stage.done(), ["look inner/a"]);
    assert_eq!(ran.reports().len(), 2);
}

#[test]
fn deciding_without_asking() {
    let place = PlaceOfRuns::new("/");
    let permissions = Permissions::new(Rules::new(), place).tool("mystery", Allow);
    let decided = |tool, effects| permissions.decide(tool, &effects, None).verdict;
    assert_eq!(decided("look", ToolEffects::read("/nowhere/x")), Allow);
    assert_eq!(decided("put", ToolEffects::write("/nowhere/x")), Ask);
    assert_eq!(decided("mystery", ToolEffects::unknown()), Allow);
}

#[test]
fn its_hooks_are_all_it_implements() {
    let stage = Stage::new([]);
    block_on(assert_hooks_honest(stage.permissions(&[])));
}

/// An observer inside of the call sees the decision, and who decided.
#[test]
fn an_observer_sees_each_decision() {
    let stage = Stage::new([]);
    let seen = Arc::new(AtomicU32::new(0));
    let count = Arc::clone(&seen);
    let observer = from_fn::on_event("observer", move |_, event| {
        if let Event::Permission(report) = event {
            assert_eq!(report.decision, PermissionDecision::Allow);
            count.fetch_add(1, Ordering::Relaxed);
        }
    });
    let config = stage
        .config(calling(&[&[("look", "a"), ("look", "b")]]))
        .middleware(observer)
        .middleware(stage.permissions(&[]));
    ran(&config.build().unwrap(), Caller::default());
    assert_eq!(seen.load(Ordering::Relaxed), 2);
}
