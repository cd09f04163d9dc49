//! The system prompt of a run: within its budget, and told of when it changes.

use std::sync::Arc;
use std::sync::atomic::{AtomicU32, Ordering};

use harness_core::test_support::{Reply, ScriptedModel};
use harness_core::{
    Event, Limits, LoopConfig, LoopConfigBuilder, Model, ModelId, ModelInfo, PromptReport, Section,
    SystemPrompt, from_fn,
};

use crate::stage::{echo, ran};

fn config(model: Arc<ScriptedModel>, prompt: SystemPrompt) -> LoopConfigBuilder {
    let model: Arc<dyn Model> = model;
    LoopConfig::builder(model)
        .system_prompt(prompt)
        .tool(echo())
}

fn turns(count: usize) -> Arc<ScriptedModel> {
    let calls = (1..count).map(|turn| Reply::call(&format!("c{turn}"), "echo", r#"{"text":"x"}"#));
    Arc::new(ScriptedModel::new(calls.chain([Reply::text("done")])))
}

fn reports(events: &[Event]) -> Vec<&PromptReport> {
    let mut reports: Vec<&PromptReport> = Vec::new();
    for event in events {
        if let Event::SystemPrompt(report) = event {
            reports.push(report);
        }
    }
    reports
}

#[test]
fn it_is_told_of_once_while_it_stays_the_same() {
    let model = turns(4);
    let ran = ran(
        &config(model.clone(), "Role.".into()).build().unwrap(),
        "go",
    );
    let reports = reports(&ran.events);
    assert_eq!(reports.len(), 1);
    assert_eq!((reports[0].turn, reports[0].diff.shared_bytes), (1, 0));
    let systems: Vec<_> = model
        .requests()
        .into_iter()
        .map(|r| r.system.unwrap())
        .collect();
    // The same in memory, not only equal.
    assert!(
        systems
            .windows(2)
            .all(|pair| Arc::ptr_eq(&pair[0], &pair[1]))
    );
    let json = serde_json::to_string(&Event::SystemPrompt(Box::new(reports[0].clone()))).unwrap();
    assert_eq!(
        json,
        r#"{"type":"system_prompt","turn":1,"bytes":5,"tokens":2,"shared_bytes":0,"sections":[{"bytes":5,"name":"role","source":"base","stable":true,"tokens":2}],"changes":[{"change":"added","section":"role"}],"cuts":[]}"#
    );
}

#[test]
fn a_change_is_told_with_what_stayed() {
    let turn = Arc::new(AtomicU32::new(0));
    let counted = from_fn::on_system_prompt("count", move |_, prompt| {
        // Another text from the third turn on.
        let late = turn.fetch_add(1, Ordering::Relaxed) >= 2;
        let text = if late { "late" } else { "early" };
        Box::pin(async move { Ok(prompt.with_volatile_section("when", text, "count")) })
    });
    let config = config(turns(4), "Role.".into())
        .middleware(counted)
        .build()
        .unwrap();
    let ran = ran(&config, "go");
    let told: Vec<_> = reports(&ran.events)
        .iter()
        .map(|report| {
            (
                report.turn,
                report.diff.shared_bytes,
                report.diff.sections.len(),
            )
        })
        .collect();
    assert_eq!(told, [(1, 0, 2), (3, "Role.\n\n".len(), 1)]);
}

#[test]
fn what_is_too_large_gives_way_with_a_marker_and_an_event() {
    let large = || {
        SystemPrompt::new("You are an agent.")
            .with(Section::new("files", "A line of a file.\n".repeat(200), "x").with_rank(1))
            .with(Section::new("rules", "Be brief.", "x"))
    };
    let mut limits = Limits::default();
    limits.system_prompt_tokens = Some(200);
    let model = turns(2);
    let config = config(model.clone(), large())
        .limits(limits)
        .build()
        .unwrap();
    let outcome = ran(&config, "go");
    let system = model.requests()[0].system.clone().unwrap();
    assert!(harness_core::estimate_tokens(&system) <= 200);
    assert!(system.starts_with("You are an agent.\n\nA line of a file.\n"));
    assert!(system.contains("[section `files` cut, ") && system.ends_with("Be brief."));
    let reports = reports(&outcome.events);
    assert_eq!(reports.len(), 1, "not on each turn");
    assert_eq!(reports[0].cuts.len(), 1);
    assert_eq!(
        (&*reports[0].cuts[0].section, reports[0].cuts[0].bytes),
        ("files", 3_599)
    );

    // Without a limit of its own, it may have half of the model's window.
    for (window, cut) in [(1_000, true), (100_000, false)] {
        let mut info = ModelInfo::new(ModelId::new("test", "small"));
        info.context_window = Some(window);
        let model = Arc::new(ScriptedModel::new([Reply::text("ok")]).info(info));
        let config = crate::prompt::config(model.clone(), large())
            .build()
            .unwrap();
        ran(&config, "go");
        let system = model.requests()[0].system.clone().unwrap();
        assert_eq!(system.contains("cut, "), cut, "{window}");
    }
}

#[test]
fn a_limit_of_nothing_is_refused() {
    let mut limits = Limits::default();
    limits.system_prompt_tokens = Some(0);
    let error = config(turns(1), "Role.".into())
        .limits(limits)
        .build()
        .unwrap_err();
    assert!(error.to_string().contains("at least 1 token"), "{error}");
}
