//! Long runs against a strict model, with compaction at every possible budget.

use std::sync::Arc;

use harness_agent::core::test_support::ManualClock;
use harness_agent::core::{Event, RunInput, RunOptions, RunOutcome};
use harness_agent::middlewares::CompactionOptions;
use harness_agent::{AgentHarness, SystemPromptSource};

use crate::strict_model::{StrictModel, work};

const TURNS: u64 = 9;

fn agent(model: &Arc<StrictModel>, early: bool) -> AgentHarness {
    let mut options = CompactionOptions::default();
    if !early {
        options.background_tokens = None;
    }
    let prompt = SystemPromptSource::Text("Work.".to_owned());
    AgentHarness::builder()
        .shared_model(model.clone())
        .clock(Arc::new(ManualClock::new()))
        .system_prompt(prompt)
        .without_workspace_context()
        .tool(work())
        .compaction(options)
        .build()
        .unwrap()
}

struct Ran {
    outcome: RunOutcome,
    problems: Vec<String>,
    starts: usize,
    ends: usize,
}

async fn run(agent: &AgentHarness, input: RunInput) -> Ran {
    let mut handle = agent.run(input, RunOptions::default());
    let (mut problems, mut starts, mut ends) = (Vec::new(), 0, 0);
    while let Some(event) = handle.next().await {
        match event {
            Event::Warning { message } => problems.push(message),
            Event::CompactionStart { .. } => starts += 1,
            Event::CompactionEnd { error, .. } => {
                ends += 1;
                problems.extend(error);
            }
            _ => {}
        }
    }
    let outcome = match handle.outcome().await {
        Ok(outcome) => outcome,
        Err(error) => panic!("{error}: {problems:?} {starts} {ends}"),
    };
    Ran {
        outcome,
        problems,
        starts,
        ends,
    }
}

/// Two runs in one conversation. Returns how often it was made shorter.
async fn two_runs(model: StrictModel, early: bool, what: &str) -> u32 {
    let is_foreseen = model.is_foreseen();
    let model = Arc::new(model);
    let agent = agent(&model, early);
    let mut history = Vec::new();
    let mut compactions = 0;
    for number in 0..2 {
        let prompt = format!("GOAL-{number} is to mend the build.");
        let ran = run(&agent, RunInput::prompt(prompt).with_history(history)).await;
        let (status, problems) = (ran.outcome.status.word(), &ran.problems);
        assert_eq!(status, "finished", "{what}: {problems:?}");
        assert_eq!(ran.starts, ran.ends, "{what}: {problems:?}");
        compactions += ran.outcome.compactions;
        history = ran.outcome.history;
    }
    let asked = model.asked();
    // Where the estimate is right, nothing is refused.
    let refused = asked.iter().filter(|asked| asked.refused).count();
    assert!(!is_foreseen || refused == 0, "{what}: {refused} refused");
    // Two requests for one summary at most, and now and then one that was begun too early.
    let summaries = asked.iter().filter(|asked| asked.is_summary).count();
    assert!(
        summaries as u32 <= 4 * compactions + 4,
        "{what}: {summaries} for {compactions}"
    );
    assert!(u64::from(compactions) <= 2 * TURNS, "{what}: {compactions}");
    compactions
}

#[tokio::test]
async fn every_window() {
    let mut compactions = 0;
    for window in (3_072..=65_536).step_by(256) {
        let early = window % 512 == 0;
        let model = StrictModel::new(window, window, TURNS);
        compactions += two_runs(model, early, &format!("{window}, early {early}")).await;
    }
    assert!(compactions > 200, "{compactions}");
}

#[tokio::test]
async fn small_windows_with_many_seeds() {
    for window in (3_000..8_000).step_by(500) {
        for seed in 0..8 {
            let model = StrictModel::new(window, seed, TURNS);
            let what = format!("{window}, seed {seed}");
            two_runs(model, seed % 2 == 0, &what).await;
        }
    }
}

/// The provider counts more than is expected, or its window is not known: it refuses now and then, and is
/// asked again with less.
#[tokio::test]
async fn refused_requests_are_made_shorter() {
    for window in (6_000..60_000).step_by(6_000) {
        for seed in 0..4 {
            let model = StrictModel::new(window, seed, TURNS).bytes_per_token(2.5);
            two_runs(model, true, &format!("{window}, seed {seed}, dense")).await;
            let model = StrictModel::new(window, seed, TURNS).unknown();
            two_runs(model, true, &format!("{window}, seed {seed}, unknown")).await;
        }
    }
}
