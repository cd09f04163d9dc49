//! What is said of a tool, or by a hook, or by somebody else's approver, beside the rules.

use std::sync::Arc;

use harness_core::{Attributes, Caller, HookDecision, HookVerdict, from_fn};
use harness_trust::test_support::ScriptedApprover;
use harness_trust::{Answer, Layer, Scope, SharedApprover, Verdict};

use crate::permissions::ONCE;
use crate::stage::{Stage, calling, ran};

use Layer::{Managed, Run, User};
use Verdict::{Allow, Ask, Deny};

const DENIED: &str = "the tool `look` is denied here.";
const NO: Answer = Answer::No { reason: None };

type OfTool<'a> = (
    &'a [(Layer, Verdict, &'a str)],
    Verdict,
    (&'a str, &'a str),
    &'a str,
    &'a str,
);

/// Rules, a verdict about the tool, a call, the audit, why it was refused.
const TOOLS: &[OfTool<'_>] = &[
    (&[], Deny, ("look", "a"), "deny rule - - -", DENIED),
    (
        &[(Run, Allow, "read")],
        Deny,
        ("look", "a"),
        "deny rule - - -",
        DENIED,
    ),
    (
        &[],
        Allow,
        ("look", ".env"),
        "allow rule - built-in read(/**/.env)",
        "",
    ),
    (
        &[],
        Allow,
        ("sh", "make $(id)"),
        "allow rule - built-in commands that only read",
        "",
    ),
    (
        &[(User, Deny, "run(make *)")],
        Allow,
        ("sh", "make x"),
        "deny rule - user run(make *)",
        "`deny run(make *)` (user) is about a call that runs make x.",
    ),
    (
        &[(Managed, Ask, "run(make *)")],
        Allow,
        ("sh", "make x"),
        "allow rule - managed run(make *)",
        "",
    ),
];

#[test]
fn a_verdict_about_a_tool_stands_over_its_effects() {
    for (rules, verdict, call, audit, refusal) in TOOLS {
        let stage = Stage::new([]);
        let permissions = stage
            .permissions(rules)
            .tool(call.0, *verdict)
            .tool("other", Deny);
        let ran = stage.run(permissions, &[&[*call]]);
        assert_eq!(ran.audit(), [*audit], "{verdict} {call:?}");
        assert_eq!(ran.refusals(), [*refusal], "{verdict} {call:?}");
    }
    // A tool that is asked about is asked about each time, whatever rules allow.
    let stage = Stage::new([Answer::Yes(Scope::Run), ONCE]);
    let permissions = stage.permissions(&[(Run, Allow, "read")]).tool("look", Ask);
    let ran = stage.run(permissions, &[&[("look", "a")], &[("look", "a")]]);
    assert_eq!(ran.refusals(), ["", ""]);
    let questions = stage.approver.questions();
    assert_eq!(questions.len(), 2);
    assert_eq!(
        questions[0].reasons,
        ["the tool `look` is asked about here"]
    );
    assert_eq!(questions[0].scopes, [Scope::Once]);
    assert_eq!(ran.reports()[0].scope.as_deref(), Some("once"));
}

type OfHook<'a> = (
    HookDecision,
    &'a [(Layer, Verdict, &'a str)],
    (&'a str, &'a str),
    &'a [Answer],
    &'a str,
);

/// What a hook said, rules, a call, answers, and the audit.
const HOOKS: &[OfHook<'_>] = &[
    (
        HookDecision::Allow,
        &[],
        ("put", "a"),
        &[],
        "allow hook - - -",
    ),
    (
        HookDecision::Allow,
        &[(User, Ask, "write")],
        ("put", "a"),
        &[],
        "allow hook - user write",
    ),
    (
        HookDecision::Allow,
        &[(User, Deny, "write")],
        ("put", "a"),
        &[],
        "deny rule - user write",
    ),
    (
        HookDecision::Allow,
        &[(User, Allow, "write")],
        ("put", "a"),
        &[],
        "allow rule - user write",
    ),
    (
        HookDecision::Ask,
        &[],
        ("look", "a"),
        &[ONCE],
        "allow person once - -",
    ),
    (
        HookDecision::Ask,
        &[(User, Deny, "read")],
        ("look", "a"),
        &[],
        "deny rule - user read",
    ),
    (
        HookDecision::Ask,
        &[(Managed, Allow, "read")],
        ("look", "a"),
        &[NO],
        "deny person - - -",
    ),
];

#[test]
fn what_a_hook_says_spares_a_question_or_makes_one() {
    for (decision, rules, call, answers, audit) in HOOKS {
        let stage = Stage::new(answers.iter().cloned());
        let verdict = HookVerdict {
            decision: *decision,
            reason: Some("because\u{200b}".to_owned()),
        };
        let hook = from_fn::on_tool_call("hook", move |cx, call, next| {
            let cx = cx.with_value(verdict.clone());
            Box::pin(async move { next.run(&cx, call).await })
        });
        let config = stage
            .config(calling(&[&[*call]]))
            .middleware(hook.order(i32::MAX - 1))
            .middleware(stage.permissions(rules));
        let ran = ran(&config.build().unwrap(), Caller::default());
        assert_eq!(ran.audit(), [*audit], "{decision:?} {rules:?} {call:?}");
        let questions = stage.approver.questions();
        assert_eq!(questions.len(), answers.len(), "{decision:?} {rules:?}");
        for question in questions {
            assert_eq!(
                question.reasons.last().unwrap(),
                r"a hook says: because\u{200b}"
            );
            assert_eq!(question.scopes, [Scope::Once]);
        }
    }
}

/// A hook that says that a tool's calls need no question cannot take back what was said of the tool.
#[test]
fn the_stricter_of_hook_and_tool_counts() {
    let hook = || {
        from_fn::on_tool_call("hook", |cx, call, next| {
            let cx = cx.with_value(HookVerdict {
                decision: HookDecision::Allow,
                reason: None,
            });
            Box::pin(async move { next.run(&cx, call).await })
        })
        .order(i32::MAX - 1)
    };
    for (verdict, audit) in [(Deny, "deny rule - - -"), (Ask, "deny nobody - - -")] {
        let stage = Stage::new([]);
        let permissions = stage.permissions(&[]).tool("look", verdict);
        let config = stage.config(calling(&[&[("look", "a")]]));
        let config = config.middleware(hook()).middleware(permissions);
        let ran = ran(&config.build().unwrap(), Caller::default());
        assert_eq!(ran.audit(), [audit]);
        assert!(stage.done().is_empty());
    }
}

#[test]
fn the_approver_of_a_caller_comes_first() {
    let parent = Arc::new(ScriptedApprover::new([ONCE]));
    let stage = Stage::new([]);
    let attributes = Attributes::default();
    attributes.insert(SharedApprover(parent.clone()));
    let caller = Caller {
        attributes,
        ..Caller::default()
    };
    let config = stage
        .config(calling(&[&[("put", "a")]]))
        .middleware(stage.permissions(&[]));
    let ran = ran(&config.build().unwrap(), caller);
    assert_eq!(ran.audit(), ["allow person once - -"]);
    assert_eq!(parent.questions().len(), 1);
    assert!(stage.approver.questions().is_empty());
}
