//! Decisions on record: nobody is asked twice about one call, and what has changed is judged anew.

use std::sync::Arc;

use harness_core::{Caller, LoopConfig, MemoryJournal, Record, RecordedStep};
use harness_trust::{Answer, Layer, Permissions, Scope, Verdict};
use serde_json::json;

use crate::stage::{Ran, Stage, calling, ran};

const ONCE: Answer = Answer::Yes(Scope::Once);

/// A run of one call under this journal, from its beginning or from where it was cut off.
fn under(
    stage: &Stage,
    permissions: Permissions,
    call: (&str, &str),
    journal: &Arc<MemoryJournal>,
) -> Ran {
    let mut replies = calling(&[&[call]]);
    if !journal.steps().is_empty() {
        // That it made the call is on record.
        replies.remove(0);
    }
    let config = stage.config(replies).middleware(permissions);
    let config: LoopConfig = config.journal(journal.clone()).build().unwrap();
    ran(&config, Caller::default())
}

/// What is on record of a run that was cut off behind its last decision; the call had begun, or had not.
fn cut_off(journal: &MemoryJournal, has_begun: bool) -> Arc<MemoryJournal> {
    let mut steps = journal.steps();
    let last = steps
        .iter()
        .rposition(|step| step.name.contains("/permission"))
        .unwrap();
    let tool = steps.get(last + 1).map(|step| step.name.clone());
    steps.truncate(last + 1);
    if has_begun {
        let name = tool.unwrap();
        steps.push(RecordedStep { name, record: None });
    }
    Arc::new(MemoryJournal::from_steps(steps))
}

#[test]
fn nobody_is_asked_again_about_a_call_that_was_decided() {
    let stage = Stage::new([ONCE]);
    let journal = Arc::new(MemoryJournal::new());
    under(&stage, stage.permissions(&[]), ("put", "a"), &journal);
    assert_eq!(stage.done(), ["put a"]);
    std::fs::remove_file(stage.root().join("a")).unwrap();

    let cut = cut_off(&journal, false);
    let ran = under(&stage, stage.permissions(&[]), ("put", "a"), &cut);
    assert_eq!(stage.approver.questions().len(), 1);
    assert_eq!(stage.done(), ["put a", "put a"]);
    assert_eq!(ran.audit(), ["allow person once - -"]);
    // A call that had begun and must not run twice does not, though it was allowed.
    let cut = cut_off(&journal, true);
    let ran = under(&stage, stage.permissions(&[]), ("put", "a"), &cut);
    assert_eq!(stage.done().len(), 2);
    assert!(ran.outcomes()[0].is_error());
    // Nor one whose end is on record, whatever would be decided of it now.
    let deny = [(Layer::User, Verdict::Deny, "write")];
    let ran = under(&stage, stage.permissions(&deny), ("put", "a"), &journal);
    assert_eq!(stage.done().len(), 2);
    assert_eq!(ran.outcomes()[0].shown_text(), "ok");
    assert_eq!(stage.approver.questions().len(), 1);
}

/// The rules before, the rules now, what is said of the tool now, the audit, whether it runs.
type Case<'a> = (
    &'a [(Layer, Verdict, &'a str)],
    &'a [(Layer, Verdict, &'a str)],
    Option<Verdict>,
    &'a str,
    bool,
);

/// A rule that denies and was added since counts for more than a yes on record, whoever gave that; one that asks
/// does not take back a person's word.
#[test]
fn a_yes_on_record_opens_nothing_that_is_denied_now() {
    use Verdict::{Allow, Ask, Deny};

    let write_a = ("put", "a");
    let cases: &[Case<'_>] = &[
        (
            &[],
            &[(Layer::Run, Deny, "write(a)")],
            None,
            "deny rule - run write(a)",
            false,
        ),
        (
            &[(Layer::User, Allow, "write")],
            &[(Layer::User, Allow, "write"), (Layer::Run, Deny, "write")],
            None,
            "deny rule - run write",
            false,
        ),
        (&[], &[], Some(Deny), "deny rule - - -", false),
        (
            &[],
            &[(Layer::Managed, Ask, "write")],
            Some(Ask),
            "allow person once - -",
            true,
        ),
        (
            &[],
            &[(Layer::Run, Deny, "write(b)")],
            None,
            "allow person once - -",
            true,
        ),
    ];
    for (before, now, of_tool, audit, runs) in cases {
        let stage = Stage::new([ONCE]);
        let journal = Arc::new(MemoryJournal::new());
        under(&stage, stage.permissions(before), write_a, &journal);
        std::fs::remove_file(stage.root().join("a")).unwrap();
        let questions = stage.approver.questions().len();
        let mut permissions = stage.permissions(now);
        if let Some(verdict) = of_tool {
            permissions = permissions.tool("put", *verdict);
        }
        let cut = cut_off(&journal, false);
        let ran = under(&stage, permissions.clone(), write_a, &cut);
        assert_eq!(ran.audit(), [*audit], "{now:?} {of_tool:?}");
        assert_eq!(stage.done().len(), 1 + usize::from(*runs), "{now:?}");
        assert_eq!(ran.refusals()[0].is_empty(), *runs, "{ran:?}");
        // Both decisions are on record then, and the later one counts.
        if !runs {
            let again = under(&stage, permissions, write_a, &cut_off(&cut, false));
            assert_eq!(again.refusals(), ran.refusals());
        }
        assert_eq!(stage.approver.questions().len(), questions);
    }
}

#[test]
fn a_denial_on_record_stays_one() {
    let no = Answer::No {
        reason: Some("never".to_owned()),
    };
    let stage = Stage::new([no, ONCE]);
    let journal = Arc::new(MemoryJournal::new());
    under(&stage, stage.permissions(&[]), ("put", "a"), &journal);
    let allow = [(Layer::Managed, Verdict::Allow, "write")];
    let ran = under(
        &stage,
        stage.permissions(&allow),
        ("put", "a"),
        &cut_off(&journal, false),
    );
    assert_eq!(ran.refusals(), ["the user said no: never"]);
    assert_eq!(ran.audit(), ["deny person - - -"]);
    assert_eq!(stage.approver.questions().len(), 1);
    assert!(stage.done().is_empty());
}

#[test]
fn a_file_that_changed_since_the_yes_is_not_written() {
    let stage = Stage::new([ONCE]);
    let journal = Arc::new(MemoryJournal::new());
    under(&stage, stage.permissions(&[]), ("put", "a"), &journal);
    std::fs::write(stage.root().join("a"), "of the person").unwrap();
    let ran = under(
        &stage,
        stage.permissions(&[]),
        ("put", "a"),
        &cut_off(&journal, false),
    );
    assert_eq!(ran.outcomes()[0].shown_text(), "it has changed");
    assert_eq!(
        std::fs::read_to_string(stage.root().join("a")).unwrap(),
        "of the person"
    );
}

#[test]
fn a_path_that_leads_elsewhere_now_is_judged_anew() {
    let stage = Stage::new([ONCE, ONCE]);
    let root = stage.root();
    let lead_to = |file: &str| {
        let _ = std::fs::remove_file(root.join("link"));
        std::fs::write(root.join(file), "").unwrap();
        std::os::unix::fs::symlink(root.join(file), root.join("link")).unwrap();
    };
    lead_to("a");
    let journal = Arc::new(MemoryJournal::new());
    under(&stage, stage.permissions(&[]), ("put", "link"), &journal);
    let effects = |ran: &Ran| ran.reports()[0].effects.clone();

    // By somebody's word.
    lead_to("b");
    let cut = cut_off(&journal, false);
    let again = under(&stage, stage.permissions(&[]), ("put", "link"), &cut);
    assert_eq!(stage.approver.questions().len(), 2);
    assert_eq!(
        effects(&again),
        [format!("writes {}", root.join("b").display())]
    );
    assert_eq!(again.audit(), ["allow person once - -"]);
    assert_eq!(stage.done().len(), 2);
    // Both are on record; the one that is still so counts.
    let ran = under(
        &stage,
        stage.permissions(&[]),
        ("put", "link"),
        &cut_off(&cut, false),
    );
    assert_eq!(effects(&ran), effects(&again));
    assert_eq!(stage.approver.questions().len(), 2);

    // And by a rule.
    lead_to("c");
    let deny = [(Layer::User, Verdict::Deny, "write(c)")];
    let ran = under(
        &stage,
        stage.permissions(&deny),
        ("put", "link"),
        &cut_off(&journal, false),
    );
    assert_eq!(ran.audit(), ["deny rule - user write(c)"]);
    // However often it changed, what is on record of other places opens nothing.
    let done = stage.done().len();
    let ran = under(
        &stage,
        stage.permissions(&deny),
        ("put", "link"),
        &cut_off(&cut, false),
    );
    assert!(!ran.refusals()[0].is_empty(), "{ran:?}");
    assert_eq!(stage.done().len(), done);
}

/// A record that somebody else wrote, or an older program: it is as if there was none.
#[test]
fn what_cannot_be_read_decides_nothing() {
    let stage = Stage::new([ONCE, Answer::Nobody]);
    let journal = Arc::new(MemoryJournal::new());
    under(&stage, stage.permissions(&[]), ("put", "a"), &journal);
    for strange in [
        json!(null),
        json!({"decision": "allow"}),
        json!("allow"),
        json!({}),
    ] {
        let mut steps = cut_off(&journal, false).steps();
        steps.last_mut().unwrap().record = Some(Record::Decision(strange.clone()));
        let cut = Arc::new(MemoryJournal::from_steps(steps));
        let ran = under(&stage, stage.permissions(&[]), ("put", "a"), &cut);
        assert!(!ran.refusals()[0].is_empty(), "{strange}: {ran:?}");
    }
    assert_eq!(stage.done().len(), 1);
}

#[test]
fn what_is_on_record_of_a_decision() {
    let stage = Stage::new([Answer::Yes(Scope::Run)]);
    std::fs::write(stage.root().join("a"), "old").unwrap();
    let journal = Arc::new(MemoryJournal::new());
    let rules = [(Layer::User, Verdict::Ask, "write")];
    under(&stage, stage.permissions(&rules), ("put", "a"), &journal);
    let decided = journal
        .steps()
        .into_iter()
        .find_map(|step| match step.record {
            Some(Record::Decision(value)) => Some(value),
            _ => None,
        });
    let mut decided = decided.unwrap();
    assert!(decided["preview"].is_u64());
    decided.as_object_mut().unwrap().remove("preview");
    let expected = json!({
        "id": "1",
        "tool": "put",
        "decision": "allow",
        "by": "person",
        "rule": "write",
        "layer": "user",
        "scope": "run",
        "effects": [format!("writes {}", stage.root().join("a").display())],
        "exact": true,
    });
    assert_eq!(decided, expected);
}
