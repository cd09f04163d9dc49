//! Decisions about calls in a session: nobody is asked again, and they are there to be looked at.

use std::sync::Arc;

use harness_agent::core::test_support::{CountingEntropy, ManualClock, Reply, ScriptedModel};
use harness_agent::core::{
    Event, LoopConfig, Message, Model, PermissionReport, RunError, RunInput, RunOutcome,
    ToolOutcome, ToolRef, run,
};
use harness_agent::sessions::{
    Access, Body, Error, Header, Log, MemoryStore, Session, SessionId, SessionJournal, Store,
    export_html, export_jsonl, export_markdown,
};
use harness_agent::{Workspace, default_tools};
use harness_trust::test_support::ScriptedApprover;
use harness_trust::{Answer, Verdict};
use serde_json::json;

use crate::permitted::{ONCE, Place, answers};

/// A session, and a place whose files its calls change.
struct Stage {
    place: Place,
    store: MemoryStore,
    id: SessionId,
}

/// What came of a run.
struct Ran {
    outcome: RunOutcome,
    reports: Vec<PermissionReport>,
}

impl Ran {
    /// The outcome of the only call.
    fn call(&self) -> ToolOutcome {
        let results = self
            .outcome
            .history
            .iter()
            .filter_map(|message| match &**message {
                Message::ToolResults(results) => Some(results.results.clone()),
                _ => None,
            });
        let all: Vec<_> = results.flatten().collect();
        assert_eq!(all.len(), 1);
        all[0].outcome.as_ref().clone()
    }
}

impl Stage {
    fn new() -> Self {
        let store = MemoryStore::default();
        let id = Session::create(&store, Header::new(None)).unwrap().id();
        Self {
            place: Place::new(),
            store,
            id,
        }
    }

    fn run(
        &self,
        rules: &[(Verdict, &str)],
        approver: &Arc<ScriptedApprover>,
        replies: Vec<Reply>,
        said: &[&str],
    ) -> Ran {
        let session = Session::open(&self.store, self.id, Access::Write).unwrap();
        let (journal, context) = SessionJournal::new(session).unwrap();
        let mut input = RunInput::default().with_history(context.messages.clone());
        input.resume = context.is_open();
        input.messages = said.iter().map(|text| (*text).into()).collect();
        let model: Arc<dyn Model> = Arc::new(ScriptedModel::new(replies));
        let tools: Vec<ToolRef> = default_tools(&Workspace::new(self.place.ws()));
        let config = LoopConfig::builder(model)
            .clock(Arc::new(ManualClock::new()))
            .entropy(Arc::new(CountingEntropy::default()))
            .tools(tools)
            .middleware(self.place.permissions(rules, approver))
            .journal(Arc::new(journal))
            .build()
            .unwrap();
        let runtime = tokio::runtime::Builder::new_current_thread()
            .build()
            .unwrap();
        runtime.block_on(async {
            let mut handle = run(&config, input);
            let mut reports = Vec::new();
            while let Some(event) = handle.next().await {
                if let Event::Permission(report) = event {
                    reports.push(*report);
                }
            }
            let outcome = handle
                .outcome()
                .await
                .unwrap_or_else(RunError::into_outcome);
            assert_eq!(outcome.status.word(), "finished", "{:?}", outcome.status);
            Ran { outcome, reports }
        })
    }

    fn kinds(&self) -> Vec<String> {
        let session = Session::open(&self.store, self.id, Access::Read).unwrap();
        let kind = |number| session.log().read(number).unwrap().body.kind().to_owned();
        (0..session.log().len()).map(kind).collect()
    }

    /// As if the process had died when so many entries behind the first decision were written.
    fn cut_off(self, behind_the_decision: usize) -> Self {
        let kinds = self.kinds();
        let decision = kinds.iter().position(|kind| kind == "decision").unwrap();
        self.keep(decision + 1 + behind_the_decision)
    }

    fn keep(self, entries: usize) -> Self {
        let store = MemoryStore::default();
        let id = Session::create(&store, Header::new(None)).unwrap().id();
        let from = Session::open(&self.store, self.id, Access::Read).unwrap();
        let mut log = store.open(id, Access::Write).unwrap();
        for number in 0..entries as u64 {
            log.append(&from.log().read(number).unwrap(), number.checked_sub(1))
                .unwrap();
        }
        Self {
            place: self.place,
            store,
            id,
        }
    }
}

fn write() -> Vec<Reply> {
    let arguments = json!({"path": "x", "content": "new\n"}).to_string();
    vec![Reply::call("1", "write", &arguments), done()]
}

fn done() -> Reply {
    Reply::text("done")
}

fn no() -> Answer {
    Answer::No {
        reason: Some("never".to_owned()),
    }
}

const ASK: &[(Verdict, &str)] = &[(Verdict::Ask, "write")];
const DENY: &[(Verdict, &str)] = &[(Verdict::Deny, "write")];
const ALLOW: &[(Verdict, &str)] = &[(Verdict::Allow, "write")];

#[test]
fn a_yes_on_record_is_not_asked_for_again() {
    let stage = Stage::new();
    stage.run(&[], &answers([ONCE]), write(), &["go"]);
    let file = stage.place.ws().join("x");
    std::fs::remove_file(&file).unwrap();
    let stage = stage.cut_off(0);
    let approver = answers([]);
    // Whatever the rules would ask now.
    let ran = stage.run(ASK, &approver, vec![done()], &[]);
    assert!(approver.questions().is_empty());
    assert_eq!(std::fs::read_to_string(&file).unwrap(), "new\n");
    assert_eq!(ran.reports.len(), 1);
    assert_eq!(ran.reports[0].scope.as_deref(), Some("once"));
    // It is there once, and not written again.
    assert_eq!(
        stage
            .kinds()
            .iter()
            .filter(|kind| *kind == "decision")
            .count(),
        1
    );
}

/// A rule that denies by then is stronger than the yes.
#[test]
fn a_yes_on_record_opens_nothing_that_is_denied_since() {
    let stage = Stage::new();
    stage.run(&[], &answers([ONCE]), write(), &["go"]);
    let file = stage.place.ws().join("x");
    std::fs::remove_file(&file).unwrap();
    let stage = stage.cut_off(0);
    let approver = answers([]);
    let ran = stage.run(DENY, &approver, vec![done()], &[]);
    assert!(approver.questions().is_empty());
    assert!(!file.exists());
    assert_eq!(ran.reports.len(), 1);
    assert_eq!(ran.reports[0].decision.word(), "deny");
}

#[test]
fn a_yes_on_record_is_for_the_file_as_it_was() {
    let stage = Stage::new();
    stage.run(&[], &answers([ONCE]), write(), &["go"]);
    let file = stage.place.ws().join("x");
    std::fs::write(&file, "by the person\n").unwrap();
    let stage = stage.cut_off(0);
    let ran = stage.run(&[], &answers([]), vec![done()], &[]);
    assert!(
        ran.call()
            .shown_text()
            .contains("changed after the change had been approved"),
        "{:?}",
        ran.call()
    );
    assert_eq!(std::fs::read_to_string(&file).unwrap(), "by the person\n");
}

#[test]
fn a_call_that_had_begun_is_neither_asked_about_nor_made_again() {
    for rules in [&[][..], ALLOW, DENY] {
        let stage = Stage::new();
        stage.run(&[], &answers([ONCE]), write(), &["go"]);
        std::fs::remove_file(stage.place.ws().join("x")).unwrap();
        let stage = stage.cut_off(1);
        assert_eq!(stage.kinds().last().unwrap(), "intent");
        let approver = answers([]);
        let ran = stage.run(rules, &approver, vec![done()], &[]);
        assert_eq!(ran.call(), ToolOutcome::Interrupted);
        assert!(approver.questions().is_empty() && ran.reports.is_empty());
        assert!(!stage.place.ws().join("x").exists());
    }
}

#[test]
fn what_a_call_did_is_not_hidden_by_a_policy_that_would_deny_it_now() {
    for (rules, made_by) in [(DENY, ALLOW), (&[][..], ALLOW), (DENY, &[][..])] {
        let stage = Stage::new();
        let made = stage
            .run(made_by, &answers([ONCE]), write(), &["go"])
            .call();
        let stage = stage.cut_off(2);
        assert_eq!(stage.kinds().last().unwrap(), "settlement");
        let approver = answers([]);
        let ran = stage.run(rules, &approver, vec![done()], &[]);
        assert_eq!(ran.call(), made);
        assert!(matches!(made, ToolOutcome::Done(_)), "{made:?}");
        assert!(approver.questions().is_empty());
    }
}

#[test]
fn a_denial_on_record_stays_one() {
    let stage = Stage::new();
    stage.run(&[], &answers([no()]), write(), &["go"]);
    let stage = stage.cut_off(0);
    let approver = answers([]);
    let ran = stage.run(ALLOW, &approver, vec![done()], &[]);
    let shown = ran.call().shown_text();
    assert!(shown.contains("the user said no: never"), "{shown}");
    assert!(approver.questions().is_empty());
    assert!(!stage.place.ws().join("x").exists());
}

#[test]
fn a_question_without_an_answer_is_asked_again() {
    let stage = Stage::new();
    stage.run(&[], &answers([ONCE]), write(), &["go"]);
    std::fs::remove_file(stage.place.ws().join("x")).unwrap();
    let before = stage
        .kinds()
        .iter()
        .position(|kind| kind == "decision")
        .unwrap();
    let stage = stage.keep(before);
    let approver = answers([ONCE]);
    stage.run(&[], &approver, vec![done()], &[]);
    assert_eq!(approver.questions().len(), 1);
    assert!(stage.place.ws().join("x").exists());
}

#[test]
fn a_path_that_leads_elsewhere_now_is_judged_anew() {
    for (answer, is_written) in [(Some(ONCE), true), (Some(no()), false), (None, false)] {
        let stage = Stage::new();
        stage.run(&[], &answers([ONCE]), write(), &["go"]);
        let (x, target) = (stage.place.ws().join("x"), stage.place.outside().join("f"));
        std::fs::remove_file(&x).unwrap();
        std::os::unix::fs::symlink(&target, &x).unwrap();
        let stage = stage.cut_off(0);
        let approver = answers(answer.clone());
        let ran = stage.run(&[], &approver, vec![done()], &[]);
        let questions = approver.questions();
        assert_eq!(questions.len(), 1);
        assert_eq!(
            questions[0].effects,
            [format!("writes {}", target.display())]
        );
        let expected = if is_written { "new\n" } else { "canary\n" };
        assert_eq!(std::fs::read_to_string(&target).unwrap(), expected);
        assert_eq!(ran.reports.len(), 1);
        assert_eq!(
            stage
                .kinds()
                .iter()
                .filter(|kind| *kind == "decision")
                .count(),
            2
        );
    }
}

/// What was said of one call is not said of another one, though the model gives it the same id and the same
/// effect.
#[test]
fn a_decision_is_of_its_own_call_alone() {
    let stage = Stage::new();
    stage.run(&[], &answers([ONCE]), write(), &["go"]);
    let file = stage.place.ws().join("x");
    std::fs::remove_file(&file).unwrap();
    let stage = stage.cut_off(0);
    let approver = answers([no()]);
    let other = json!({"path": "x", "content": "something else\n"}).to_string();
    let replies = vec![Reply::call("1", "write", &other), done()];
    let ran = stage.run(&[], &approver, replies, &["and now"]);
    assert_eq!(approver.questions().len(), 1);
    assert_eq!(ran.reports.len(), 2);
    assert_eq!(std::fs::read_to_string(&file).unwrap(), "new\n");
}

type Export = fn(&dyn Log, &mut dyn std::io::Write) -> Result<(), Error>;

#[test]
fn a_decision_is_an_entry_of_the_session() {
    let stage = Stage::new();
    stage.run(&[], &answers([ONCE]), write(), &["go"]);
    let session = Session::open(&stage.store, stage.id, Access::Read).unwrap();
    let entries = (0..session.log().len()).map(|number| session.log().read(number).unwrap());
    let decisions: Vec<_> = entries
        .filter_map(|entry| match entry.body {
            Body::Decision(body) => Some(body),
            _ => None,
        })
        .collect();
    assert_eq!(decisions.len(), 1);
    assert_eq!(
        (&*decisions[0].call_id, &*decisions[0].kind),
        ("1", "permission")
    );
    let decision = &decisions[0].decision;
    assert_eq!(decision["decision"], "allow");
    assert_eq!(decision["by"], "person");
    // Not what was shown of the file.
    assert!(!decision.to_string().contains("new"), "{decision}");

    // A fork has it, and goes on from there.
    let fork = session.fork(&stage.store, None).unwrap();
    let kinds: Vec<_> = (0..fork.log().len())
        .map(|at| fork.log().read(at).unwrap().body.kind().to_owned())
        .collect();
    assert!(kinds.iter().any(|kind| kind == "decision"));
    assert_eq!(
        fork.context().unwrap().messages,
        session.context().unwrap().messages
    );

    // And so have exports.
    let exported = |export: Export| {
        let mut out = Vec::new();
        export(session.log(), &mut out).unwrap();
        String::from_utf8(out).unwrap()
    };
    assert!(exported(export_html).contains("Decision about a call: permission"));
    let line = exported(export_jsonl)
        .lines()
        .find(|line| line.contains("\"decision\""))
        .map(str::to_owned);
    let line: serde_json::Value = serde_json::from_str(&line.unwrap()).unwrap();
    assert_eq!(
        (&line["type"], &line["call_id"]),
        (&json!("decision"), &json!("1"))
    );
    assert!(exported(export_markdown).contains("done"));
}

/// A fork of a run that was cut off behind a yes does not make the call, and knows nothing of the yes.
#[test]
fn a_fork_does_not_make_what_the_other_was_allowed() {
    let stage = Stage::new();
    stage.run(&[], &answers([ONCE]), write(), &["go"]);
    std::fs::remove_file(stage.place.ws().join("x")).unwrap();
    let stage = stage.cut_off(0);
    let session = Session::open(&stage.store, stage.id, Access::Read).unwrap();
    let fork = session.fork(&stage.store, None).unwrap();
    let id = fork.id();
    drop((fork, session));
    let stage = Stage { id, ..stage };
    let approver = answers([]);
    stage.run(&[], &approver, vec![done()], &["go on"]);
    assert!(!stage.place.ws().join("x").exists());
}
