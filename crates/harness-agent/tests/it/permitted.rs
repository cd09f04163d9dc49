//! The built-in tools under permissions: what was looked at is what runs; and plan mode.

use std::path::{Path, PathBuf};
use std::sync::Arc;

use harness_agent::core::test_support::{ManualClock, ScriptedModel};
use harness_agent::core::{Caller, CancellationToken, Middleware, ToolOutcome, from_fn};
use harness_agent::middlewares::{PlanModeMiddleware, PlanState};
use harness_agent::{AgentHarness, AgentHarnessBuilder, Workspace, default_tools};
use harness_trust::test_support::ScriptedApprover;
use harness_trust::{
    Answer, Layer, Permissions, PlaceOfRuns, Question, Rule, Rules, Scope, Verdict,
};
use serde_json::{Value, json};
use tempfile::TempDir;

pub(crate) const ONCE: Answer = Answer::Yes(Scope::Once);

/// A workspace that is not trusted, and a folder outside of it with a file `f`.
pub(crate) struct Place {
    folder: TempDir,
}

impl Place {
    pub(crate) fn new() -> Self {
        let folder = tempfile::tempdir().unwrap();
        std::fs::create_dir(folder.path().join("ws")).unwrap();
        std::fs::create_dir(folder.path().join("outside")).unwrap();
        std::fs::write(folder.path().join("outside/f"), "canary\n").unwrap();
        Self { folder }
    }

    pub(crate) fn ws(&self) -> PathBuf {
        self.folder.path().canonicalize().unwrap().join("ws")
    }

    pub(crate) fn outside(&self) -> PathBuf {
        self.folder.path().canonicalize().unwrap().join("outside")
    }

    /// Permissions by rules of the user's.
    pub(crate) fn permissions(
        &self,
        rules: &[(Verdict, &str)],
        approver: &Arc<ScriptedApprover>,
    ) -> Permissions {
        let rules = rules.iter().fold(Rules::new(), |rules, (verdict, text)| {
            rules.with(Layer::User, Rule::parse(*verdict, text).unwrap())
        });
        Permissions::new(rules, PlaceOfRuns::new(self.ws())).approver(approver.clone())
    }

    pub(crate) fn builder(&self) -> AgentHarnessBuilder {
        AgentHarness::builder()
            .model(ScriptedModel::new([]))
            .clock(Arc::new(ManualClock::new()))
            .tools(default_tools(&Workspace::new(self.ws())))
    }

    pub(crate) fn agent(
        &self,
        rules: &[(Verdict, &str)],
        approver: &Arc<ScriptedApprover>,
    ) -> AgentHarness {
        let permissions = self.permissions(rules, approver);
        self.builder().middleware(permissions).build().unwrap()
    }
}

pub(crate) async fn call(agent: &AgentHarness, tool: &str, arguments: &Value) -> ToolOutcome {
    let never = CancellationToken::new();
    let arguments = arguments.to_string();
    agent
        .call_tool(Caller::default(), tool, &arguments, never)
        .await
        .unwrap()
}

pub(crate) fn answers(answers: impl IntoIterator<Item = Answer>) -> Arc<ScriptedApprover> {
    Arc::new(ScriptedApprover::new(answers))
}

pub(crate) fn is_done(outcome: &ToolOutcome) -> bool {
    matches!(outcome, ToolOutcome::Done(_))
}

fn read(path: &Path) -> String {
    std::fs::read_to_string(path).unwrap()
}

/// A write and an edit of the file `x`, which holds `one`.
fn changes() -> [(&'static str, Value); 2] {
    let edits = json!([{"old_text": "one", "new_text": "ONE"}]);
    [
        ("write", json!({"path": "x", "content": "ONE\n"})),
        ("edit", json!({"path": "x", "edits": edits})),
    ]
}

#[tokio::test]
async fn a_file_that_changes_while_the_question_stands_is_asked_about_again() {
    for (tool, arguments) in changes() {
        let place = Place::new();
        let file = place.ws().join("x");
        std::fs::write(&file, "one\n").unwrap();
        let path = file.clone();
        let change = move |_: &Question| std::fs::write(&path, "one\nand two\n").unwrap();
        let approver = ScriptedApprover::default()
            .then_after(change, ONCE)
            .then(ONCE);
        let approver = Arc::new(approver);
        let agent = place.agent(&[], &approver);
        let outcome = call(&agent, tool, &arguments).await;
        assert!(is_done(&outcome), "{tool}: {outcome:?}");
        let questions = approver.questions();
        assert_eq!(questions.len(), 2, "{tool}");
        assert_eq!((questions[0].again, questions[1].again), (false, true));
        let [first, second] = [0, 1].map(|at| questions[at].preview.clone().unwrap());
        assert!(first.contains("-one\n+ONE"), "{first}");
        assert!(
            !first.contains("two") && second.contains("and two"),
            "{first}{second}"
        );
        let expected = if tool == "edit" {
            "ONE\nand two\n"
        } else {
            "ONE\n"
        };
        assert_eq!(read(&file), expected);
    }
}

#[tokio::test]
async fn one_that_keeps_changing_is_left_alone_after_three_questions() {
    for (tool, arguments) in changes() {
        let place = Place::new();
        let file = place.ws().join("x");
        std::fs::write(&file, "one\n").unwrap();
        let mut approver = ScriptedApprover::default();
        for number in 0..4 {
            let path = file.clone();
            let change =
                move |_: &Question| std::fs::write(&path, format!("one {number}\n")).unwrap();
            approver = approver.then_after(change, ONCE);
        }
        let approver = Arc::new(approver);
        let outcome = call(&place.agent(&[], &approver), tool, &arguments).await;
        assert!(
            outcome.shown_text().contains("keeps changing"),
            "{tool}: {outcome:?}"
        );
        assert_eq!(approver.questions().len(), 3);
        assert_eq!(read(&file), "one 2\n");
    }
}

/// An edit that could not be made when it was asked about, and could by the time of the yes, has not been seen.
#[tokio::test]
async fn a_change_that_was_not_shown_is_asked_about_again() {
    let place = Place::new();
    let file = place.ws().join("x");
    std::fs::write(&file, "nothing\n").unwrap();
    let path = file.clone();
    let change = move |_: &Question| std::fs::write(&path, "one\n").unwrap();
    let no = Answer::No { reason: None };
    let approver = Arc::new(
        ScriptedApprover::default()
            .then_after(change, ONCE)
            .then(no),
    );
    let [_, (tool, arguments)] = changes();
    let outcome = call(&place.agent(&[], &approver), tool, &arguments).await;
    assert!(matches!(outcome, ToolOutcome::Denied { .. }), "{outcome:?}");
    let questions = approver.questions();
    assert_eq!(questions[0].preview, None);
    assert!(questions[1].preview.as_ref().unwrap().contains("+ONE"));
    assert_eq!(read(&file), "one\n");
}

/// Something that happens after the yes, and before the tool.
fn meanwhile(act: impl Fn() + Send + Sync + 'static) -> impl Middleware {
    from_fn::on_tool_call("meanwhile", move |cx, call, next| {
        act();
        next.run(cx, call)
    })
}

#[tokio::test]
async fn a_file_that_changes_between_the_yes_and_the_write_is_not_written() {
    for (tool, arguments) in changes() {
        for there in [true, false] {
            if tool == "edit" && !there {
                continue;
            }
            let place = Place::new();
            let file = place.ws().join("x");
            if there {
                std::fs::write(&file, "one\n").unwrap();
            }
            let approver = answers([ONCE]);
            let path = file.clone();
            let change = meanwhile(move || std::fs::write(&path, "one, by the person\n").unwrap());
            let agent = place.builder().middleware(change);
            let agent = agent
                .middleware(place.permissions(&[], &approver))
                .build()
                .unwrap();
            let outcome = call(&agent, tool, &arguments).await;
            let shown = outcome.shown_text();
            assert!(
                shown.contains("changed after the change had been approved"),
                "{tool} {there}: {shown}"
            );
            assert_eq!(read(&file), "one, by the person\n");
            assert_eq!(approver.questions().len(), 1);
        }
    }
}

#[tokio::test]
async fn a_file_that_goes_between_the_yes_and_the_write_is_not_made_again() {
    let place = Place::new();
    let file = place.ws().join("x");
    std::fs::write(&file, "one\n").unwrap();
    let approver = answers([ONCE]);
    let path = file.clone();
    let remove = meanwhile(move || std::fs::remove_file(&path).unwrap());
    let agent = place.builder().middleware(remove);
    let agent = agent
        .middleware(place.permissions(&[], &approver))
        .build()
        .unwrap();
    let [(tool, arguments), _] = changes();
    let outcome = call(&agent, tool, &arguments).await;
    assert!(outcome.is_error(), "{outcome:?}");
    assert!(!file.exists());
}

#[tokio::test]
async fn sec_07_a_link_that_is_put_there_after_the_decision_leads_nowhere() {
    let edits = json!([{"old_text": "canary", "new_text": "evil"}]);
    for (tool, arguments) in [
        ("read", json!({"path": "x"})),
        ("write", json!({"path": "x", "content": "evil"})),
        ("edit", json!({"path": "x", "edits": edits})),
        ("grep", json!({"pattern": "canary", "path": "x"})),
        ("write", json!({"path": "d/new", "content": "evil"})),
        ("read", json!({"path": "d/f"})),
        ("ls", json!({"path": "d"})),
        ("find", json!({"pattern": "*", "path": "d"})),
        ("grep", json!({"pattern": "canary", "path": "d"})),
    ] {
        let place = Place::new();
        let (ws, outside) = (place.ws(), place.outside());
        std::fs::write(ws.join("x"), "canary, of the workspace").unwrap();
        std::fs::create_dir(ws.join("d")).unwrap();
        let approver = answers([]);
        let swap = meanwhile(move || {
            std::fs::remove_file(ws.join("x")).unwrap();
            std::os::unix::fs::symlink(outside.join("f"), ws.join("x")).unwrap();
            std::fs::remove_dir_all(ws.join("d")).unwrap();
            std::os::unix::fs::symlink(&outside, ws.join("d")).unwrap();
        });
        let rules = [
            (Verdict::Allow, "write(x)"),
            (Verdict::Allow, "write(d/new)"),
        ];
        let agent = place.builder().middleware(swap);
        let agent = agent
            .middleware(place.permissions(&rules, &approver))
            .build()
            .unwrap();
        let outcome = call(&agent, tool, &arguments).await;
        assert!(
            matches!(outcome, ToolOutcome::Denied { .. }),
            "{tool} {arguments}: {outcome:?}"
        );
        assert_eq!(read(&place.outside().join("f")), "canary\n", "{tool}");
        assert!(!place.outside().join("new").exists(), "{tool}");
        assert!(
            !outcome.shown_text().contains("canary"),
            "{tool}: {outcome:?}"
        );
        assert!(approver.questions().is_empty());
    }
}

/// Nobody is asked about what plan mode refuses anyway; and what it allows is still asked about.
#[tokio::test]
async fn plan_mode_refuses_before_anybody_is_asked() {
    let place = Place::new();
    std::fs::write(place.ws().join("x"), "one\n").unwrap();
    let approver = answers([ONCE]);
    let plan = PlanModeMiddleware::new();
    let caller = Caller {
        working_dir: Some(place.ws()),
        ..Caller::default()
    };
    let mode = plan.mode(&caller);
    let refuses = plan.clone();
    let rules = [(Verdict::Allow, "write(.harness/plans/*)")];
    let permissions = place
        .permissions(&rules, &approver)
        .refused_by(move |cx, effects| refuses.refuses(cx, effects));
    let agent = place
        .builder()
        .working_dir(place.ws())
        .tools(plan.tools())
        .middleware(plan)
        .middleware(permissions)
        .build()
        .unwrap();
    let call = async |tool: &str, arguments: Value| {
        let never = CancellationToken::new();
        let arguments = arguments.to_string();
        agent
            .call_tool(caller.clone(), tool, &arguments, never)
            .await
            .unwrap()
    };
    call("plan_enter", json!({})).await;
    assert_eq!(mode.state(), PlanState::Planning);
    let mut all = changes().to_vec();
    all.push(("bash", json!({"command": "make"})));
    for (tool, arguments) in &all {
        let outcome = call(tool, arguments.clone()).await;
        let by_plan = matches!(&outcome, ToolOutcome::Denied { by, .. } if by == "plan-mode");
        assert!(by_plan, "{tool}: {outcome:?}");
    }
    assert!(approver.questions().is_empty());
    // Reading is allowed by both; a file that usually holds secrets is asked about all the same.
    assert!(is_done(&call("read", json!({"path": "x"})).await));
    std::fs::write(place.ws().join(".env"), "A=1\n").unwrap();
    assert!(is_done(&call("read", json!({"path": ".env"})).await));
    assert_eq!(approver.questions().len(), 1);
    assert_eq!(read(&place.ws().join("x")), "one\n");
}
