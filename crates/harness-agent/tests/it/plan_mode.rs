//! Plan mode: how it is entered and left, and what the model is told of it.

use std::path::Path;
use std::sync::{Arc, Mutex};

use harness_agent::core::test_support::{ManualClock, Reply, ScriptedModel, assert_hooks_honest};
use harness_agent::core::{
    Attributes, Caller, CancellationToken, Event, Message, ToolContext, ToolOutcome, UserPart,
    async_trait,
};
use harness_agent::middlewares::{
    PlanApproval, PlanApprover, PlanDecision, PlanMode, PlanModeMiddleware, PlanState, ProposedPlan,
};
use harness_agent::{AgentHarness, AgentHarnessBuilder, Workspace, default_tools};
use serde_json::{Value, json};
use tempfile::TempDir;

pub(crate) fn builder(
    model: &Arc<ScriptedModel>,
    folder: &Path,
    plan: PlanModeMiddleware,
) -> AgentHarnessBuilder {
    AgentHarness::builder()
        .shared_model(model.clone())
        .clock(Arc::new(ManualClock::new()))
        .working_dir(folder)
        .tools(default_tools(&Workspace::new(folder)))
        .tools(plan.tools())
        .middleware(plan)
}

pub(crate) fn scripted(replies: impl IntoIterator<Item = Reply>) -> Arc<ScriptedModel> {
    Arc::new(ScriptedModel::new(replies))
}

/// An agent whose tools are called by hand, for one session.
pub(crate) struct Hands {
    pub(crate) agent: AgentHarness,
    pub(crate) caller: Caller,
    pub(crate) mode: Arc<PlanMode>,
}

impl Hands {
    pub(crate) fn new(folder: &Path, session: Option<&str>, plan: PlanModeMiddleware) -> Self {
        let caller = Caller {
            session: session.map(str::to_owned),
            working_dir: Some(folder.to_owned()),
            ..Caller::default()
        };
        let mode = plan.mode(&caller);
        let agent = builder(&scripted([]), folder, plan).build().unwrap();
        Self {
            agent,
            caller,
            mode,
        }
    }

    pub(crate) async fn call(&self, tool: &str, arguments: Value) -> ToolOutcome {
        let never = CancellationToken::new();
        let arguments = arguments.to_string();
        let call = self
            .agent
            .call_tool(self.caller.clone(), tool, &arguments, never);
        call.await.unwrap()
    }

    pub(crate) async fn says(&self, tool: &str, arguments: Value, expected: &str) {
        let outcome = self.call(tool, arguments).await;
        let shown = outcome.shown_text();
        assert!(shown.contains(expected), "{tool}: {expected}: {outcome:?}");
    }

    pub(crate) async fn plan(&self) {
        self.says("plan_enter", json!({}), "Plan mode is on").await;
        self.says(
            "plan_write",
            json!({"content": "# Plan\n"}),
            "The plan is in",
        )
        .await;
    }

    pub(crate) fn at(&self, state: PlanState) {
        assert_eq!(self.mode.state(), state);
    }
}

pub(crate) fn is_denied(outcome: &ToolOutcome) -> bool {
    matches!(outcome, ToolOutcome::Denied { by, .. } if by == "plan-mode")
}

pub(crate) fn plan_md(folder: &TempDir) -> std::path::PathBuf {
    folder.path().join(".harness/plans/plan.md")
}

#[tokio::test]
async fn every_transition_by_tool() {
    let folder = tempfile::tempdir().unwrap();
    let hands = Hands::new(folder.path(), None, PlanModeMiddleware::new());
    let summary = || json!({"summary": "It is short."});
    hands.says("plan_exit", summary(), "Plan mode is off").await;
    hands
        .says("plan_write", json!({"content": "x"}), "Plan mode is off")
        .await;
    hands.at(PlanState::Off);
    hands.says("plan_enter", json!({}), "Plan mode is on").await;
    hands.at(PlanState::Planning);
    hands
        .says("plan_exit", summary(), "No plan is written")
        .await;
    hands
        .says("plan_write", json!({"content": " \n"}), "The plan is blank")
        .await;
    hands
        .says(
            "plan_write",
            json!({"content": "# Plan\n"}),
            ".harness/plans/plan.md",
        )
        .await;
    hands.at(PlanState::Planning);
    hands
        .says("plan_exit", summary(), "End your turn now")
        .await;
    hands.at(PlanState::Proposed);
    // Another plan is not the one that was proposed.
    hands
        .says(
            "plan_write",
            json!({"content": "# Plan B\n"}),
            "The plan is in",
        )
        .await;
    hands.at(PlanState::Planning);
    hands
        .says("plan_exit", summary(), "End your turn now")
        .await;
    hands.says("plan_enter", json!({}), "Plan mode is on").await;
    hands.at(PlanState::Planning);
    hands
        .says("plan_exit", summary(), "End your turn now")
        .await;
    hands.mode.approve().unwrap();
    hands.at(PlanState::Approved);
    let text = std::fs::read_to_string(plan_md(&folder)).unwrap();
    assert_eq!(text, "---\nstatus: approved\n---\n\n# Plan B\n");
    hands
        .says(
            "plan_write",
            json!({"content": "x"}),
            "The plan is approved",
        )
        .await;
    hands
        .says("plan_exit", summary(), "The plan is ended")
        .await;
    hands.at(PlanState::Off);
    let text = std::fs::read_to_string(plan_md(&folder)).unwrap();
    assert_eq!(text, "# Plan B\n");
    // What is left there is not the next plan.
    hands.says("plan_enter", json!({}), "Plan mode is on").await;
    hands
        .says("plan_exit", summary(), "No plan is written")
        .await;
    hands.mode.approve().unwrap_err();
    hands
        .says(
            "plan_write",
            json!({"content": "# Plan C\n"}),
            "The plan is in",
        )
        .await;
    hands.mode.approve().unwrap();
    hands.says("plan_enter", json!({}), "Plan mode is on").await;
    hands.at(PlanState::Planning);
    hands.mode.leave().unwrap();
    hands.at(PlanState::Off);
}

#[tokio::test]
async fn approval_at_once() {
    let folder = tempfile::tempdir().unwrap();
    let plan = PlanModeMiddleware::new().approval(PlanApproval::Always);
    let hands = Hands::new(folder.path(), None, plan);
    hands.plan().await;
    hands
        .says(
            "plan_exit",
            json!({"summary": ""}),
            "is approved. Carry it out",
        )
        .await;
    hands.at(PlanState::Approved);
    let write = json!({"path": "a", "content": "x"});
    assert!(matches!(
        hands.call("write", write).await,
        ToolOutcome::Done(_)
    ));
}

type Before = Box<dyn Fn(&ToolContext) + Send + Sync>;

/// Answers with what it is given, and does something before.
struct Approver {
    decision: PlanDecision,
    before: Before,
    asked: Mutex<Vec<ProposedPlan>>,
}

#[async_trait]
impl PlanApprover for Approver {
    async fn decide(&self, cx: &ToolContext, plan: &ProposedPlan) -> PlanDecision {
        self.asked.lock().unwrap().push(plan.clone());
        (self.before)(cx);
        if cx.cancellation().is_cancelled() {
            std::future::pending::<()>().await;
        }
        self.decision.clone()
    }
}

#[tokio::test]
async fn somebody_is_asked() {
    let reason = "too long".to_owned();
    let nothing = |_: &ToolContext| {};
    let cancels = |cx: &ToolContext| cx.cancellation().cancel();
    let changes = |cx: &ToolContext| {
        let mode = cx.run().attributes().get::<PlanMode>().unwrap();
        std::fs::write(
            mode.path().unwrap(),
            "---\nstatus: proposed\n---\n\nEvil.\n",
        )
        .unwrap();
    };
    let leaves = |cx: &ToolContext| {
        let mode = cx.run().attributes().get::<PlanMode>().unwrap();
        mode.leave().unwrap();
    };
    let cases: [(PlanDecision, Before, &str, PlanState); 5] = [
        (
            PlanDecision::Approved,
            Box::new(nothing),
            "is approved. Carry",
            PlanState::Approved,
        ),
        (
            PlanDecision::Rejected { reason },
            Box::new(nothing),
            "rejected: too long\n",
            PlanState::Planning,
        ),
        (
            PlanDecision::Approved,
            Box::new(changes),
            "changed while",
            PlanState::Proposed,
        ),
        (
            PlanDecision::Approved,
            Box::new(leaves),
            "changed while",
            PlanState::Off,
        ),
        (
            PlanDecision::Approved,
            Box::new(cancels),
            "",
            PlanState::Proposed,
        ),
    ];
    for (decision, before, expected, state) in cases {
        let folder = tempfile::tempdir().unwrap();
        let approver = Arc::new(Approver {
            decision,
            before,
            asked: Mutex::default(),
        });
        let plan = PlanModeMiddleware::new().approval(PlanApproval::Ask(approver.clone()));
        let hands = Hands::new(folder.path(), None, plan);
        hands.plan().await;
        hands
            .says("plan_exit", json!({"summary": "Short."}), expected)
            .await;
        hands.at(state);
        let asked = approver.asked.lock().unwrap();
        assert_eq!(asked[0].text, "# Plan\n");
        assert_eq!(asked[0].summary, "Short.");
    }
}

#[tokio::test]
async fn every_transition_by_command() {
    let folder = tempfile::tempdir().unwrap();
    let planned = [
        Reply::call("1", "plan_write", r##"{"content": "# Plan"}"##),
        Reply::call("2", "plan_exit", r#"{"summary": "s"}"#),
        Reply::text("Here it is."),
    ];
    let done = || Reply::text("Done.");
    let replies = [done(), done(), done()]
        .into_iter()
        .chain(planned.clone())
        .chain([done(), done(), done(), done(), done(), done()]);
    let model = scripted(replies);
    let attributes = Attributes::default();
    let caller = Caller {
        attributes: attributes.clone(),
        ..Caller::default()
    };
    let agent = builder(&model, folder.path(), PlanModeMiddleware::new())
        .build()
        .unwrap();
    let mut session = agent.session().with_caller(caller);
    let steps = [
        ("/planet earth", "/planet earth", PlanState::Off, ""),
        (
            "/plan approve",
            "There is no plan to approve.",
            PlanState::Off,
            "no plan to approve",
        ),
        (
            "/plan approve Do it.",
            "There is no plan to approve.\n\nDo it.",
            PlanState::Off,
            "no plan to approve",
        ),
        ("/plan A new door.", "A new door.", PlanState::Proposed, ""),
        ("/plan", "Plan mode is on.", PlanState::Planning, ""),
        (
            "/plan approve",
            "The plan is approved. Carry it out.",
            PlanState::Approved,
            "",
        ),
        ("/plan approve Now.", "Now.", PlanState::Approved, ""),
        ("/plan off", "Plan mode is off.", PlanState::Off, ""),
        ("/plan off Go on.", "Go on.", PlanState::Off, ""),
        (
            "/plan approve",
            "There is no plan to approve.",
            PlanState::Off,
            "no plan to approve",
        ),
    ];
    for (said, told, state, warning) in steps {
        let mut run = session.prompt(said);
        let mut warnings = Vec::new();
        while let Some(event) = run.next().await {
            if let Event::Warning { message } = event {
                warnings.push(message);
            }
        }
        run.outcome().await.unwrap();
        let mode = attributes.get::<PlanMode>().unwrap();
        assert_eq!(mode.state(), state, "{said}");
        let told_last = session
            .history()
            .iter()
            .rev()
            .find_map(|message| match &**message {
                Message::User(user) => match &user.content[0] {
                    UserPart::Text(text) => Some(text.text.clone()),
                    _ => None,
                },
                _ => None,
            });
        assert_eq!(told_last.as_deref(), Some(told), "{said}");
        assert_eq!(
            warnings.is_empty(),
            warning.is_empty(),
            "{said}: {warnings:?}"
        );
        assert!(
            warnings.iter().all(|text| text.contains(warning)),
            "{warnings:?}"
        );
    }
    let banners: Vec<bool> = model
        .requests()
        .iter()
        .map(|request| request.system.as_ref().unwrap().contains("lan mode is on"))
        .collect();
    let expected = [false, false, false, true, true, true, true];
    assert_eq!(banners[..7], expected);
}

#[tokio::test]
async fn the_banner_changes_with_the_next_turn() {
    let folder = tempfile::tempdir().unwrap();
    let model = scripted([
        Reply::call("1", "plan_enter", "{}"),
        Reply::call("2", "plan_write", r##"{"content": "# Plan"}"##),
        Reply::call("3", "plan_exit", r#"{"summary": "s"}"#),
        Reply::text("Please approve."),
    ]);
    let plan = PlanModeMiddleware::new();
    let agent = builder(&model, folder.path(), plan).build().unwrap();
    agent.prompt("Go.").outcome().await.unwrap();
    let requests = model.requests();
    let systems: Vec<&str> = requests
        .iter()
        .map(|r| r.system.as_deref().unwrap())
        .collect();
    assert!(!systems[0].contains("lan mode"), "{}", systems[0]);
    for (number, expected) in [
        (1, "nothing but the plan"),
        (2, "nothing but the plan"),
        (3, "waits for the user"),
    ] {
        let banner = systems[number].rsplit("\n\n").next().unwrap();
        assert!(banner.contains(expected), "{banner}");
        assert!(banner.contains(".harness/plans/plan.md"), "{banner}");
        assert!(
            !banner.contains(folder.path().to_str().unwrap()),
            "{banner}"
        );
        assert!(systems[number].starts_with(systems[0]));
    }
    for pair in requests.windows(2) {
        assert!(pair[1].messages.starts_with(&pair[0].messages));
    }
}

#[tokio::test]
async fn without_a_folder_there_is_no_plan() {
    let plan = PlanModeMiddleware::new();
    let mode = plan.mode(&Caller::default());
    // A host may ask for it all the same.
    assert!(mode.enter().is_err());
    assert_eq!(mode.state(), PlanState::Planning);
    mode.leave().unwrap();

    let model = scripted([
        Reply::call("1", "plan_enter", "{}"),
        Reply::text("Then not."),
    ]);
    let agent = AgentHarness::builder()
        .shared_model(model.clone())
        .tools(plan.tools())
        .middleware(plan)
        .build()
        .unwrap();
    let outcome = agent.prompt("Go.").outcome().await.unwrap();
    let said = format!("{:?}", outcome.history);
    assert!(said.contains("no folder to keep a plan in"), "{said}");
    assert!(!format!("{:?}", model.requests()[1].system).contains("lan mode"));
}

#[tokio::test]
async fn a_host_may_enter_before_the_first_run() {
    for asked in [false, true] {
        let folder = tempfile::tempdir().unwrap();
        let model = scripted([
            Reply::call("1", "bash", r#"{"command": "touch a"}"#),
            Reply::text("Then not."),
        ]);
        let plan = PlanModeMiddleware::new();
        let agent = builder(&model, folder.path(), plan.clone())
            .build()
            .unwrap();
        let caller = Caller::default();
        let mode = if asked {
            // It cannot be saved yet, and holds all the same.
            let mode = plan.mode(&caller);
            mode.enter().unwrap_err();
            mode
        } else {
            let mode = caller.attributes.get_or_insert_with(PlanMode::default);
            mode.enter().unwrap();
            mode
        };
        mode.approve().unwrap_err();
        // An old plan lies there.
        std::fs::create_dir_all(plan_md(&folder).parent().unwrap()).unwrap();
        std::fs::write(plan_md(&folder), "# Old\n").unwrap();
        let mut session = agent.session().with_caller(caller);
        let outcome = session.prompt("Go.").outcome().await.unwrap();
        assert!(!folder.path().join("a").exists(), "{:?}", outcome.history);
        let text = std::fs::read_to_string(plan_md(&folder)).unwrap();
        assert_eq!(text, "---\nstatus: planning\n---\n\n# Old\n");
        mode.approve().unwrap_err();
    }
}

/// What cannot be saved holds, is told of once, and is saved when it can be.
#[tokio::test]
async fn a_state_that_cannot_be_saved() {
    let folder = tempfile::tempdir().unwrap();
    let file = plan_md(&folder);
    std::fs::create_dir_all(&file).unwrap();
    let bash = |id: &str| Reply::call(id, "bash", r#"{"command": "touch a"}"#);
    let model = scripted([bash("1"), bash("2"), Reply::text("No."), Reply::text("No.")]);
    let agent = builder(&model, folder.path(), PlanModeMiddleware::new())
        .build()
        .unwrap();
    let mut session = agent.session();
    let mut run = session.prompt("/plan It.");
    let mut warnings = Vec::new();
    while let Some(event) = run.next().await {
        if let Event::Warning { message } = event {
            warnings.push(message);
        }
    }
    run.outcome().await.unwrap();
    assert!(!folder.path().join("a").exists());
    assert!((1..=2).contains(&warnings.len()), "{warnings:?}");
    std::fs::remove_dir(&file).unwrap();
    session.prompt("Go on.").outcome().await.unwrap();
    let text = std::fs::read_to_string(&file).unwrap();
    assert_eq!(text, "---\nstatus: planning\n---\n\n");
}

#[tokio::test]
async fn it_says_honestly_what_it_implements() {
    assert_hooks_honest(PlanModeMiddleware::new()).await;
}
