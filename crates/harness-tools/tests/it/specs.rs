use harness_core::{Execution, Replay};
use harness_tools::{Workspace, default_tools};
use serde_json::json;

/// What the seven tools may cost in every request, as function tools of `OpenAI`'s chat API in compact JSON.
const BUDGET: usize = 4_200;

#[test]
fn the_specs_stay_within_their_budget() {
    let tools: Vec<_> = default_tools(&Workspace::new("/ws"))
        .iter()
        .map(|tool| {
            let spec = tool.spec();
            json!({"type": "function", "function": {
                "name": spec.name,
                "description": spec.description,
                "parameters": spec.parameters,
            }})
        })
        .collect();
    let text = serde_json::to_string(&tools).expect("JSON");
    println!("{} bytes of {BUDGET}", text.len());
    assert!(text.len() <= BUDGET, "{} bytes: {text}", text.len());
}

#[test]
fn the_specs() {
    let tools = default_tools(&Workspace::new("/ws"));
    let specs: Vec<_> = tools.iter().map(|tool| &**tool.spec()).collect();
    insta::assert_snapshot!(serde_json::to_string_pretty(&specs).expect("JSON"));
}

#[test]
fn what_may_run_beside_others_and_again() {
    let kinds: Vec<_> = default_tools(&Workspace::new("/ws"))
        .iter()
        .map(|tool| {
            (
                tool.spec().name.clone(),
                tool.spec().execution,
                tool.spec().replay,
            )
        })
        .collect();
    let reads = (Execution::Parallel, Replay::Safe);
    let acts = (Execution::Sequential, Replay::Never);
    let expected = [
        ("read", reads),
        ("write", acts),
        ("edit", acts),
        ("bash", acts),
        ("grep", reads),
        ("find", reads),
        ("ls", reads),
    ];
    let expected: Vec<_> = expected
        .iter()
        .map(|(name, kind)| ((*name).to_owned(), kind.0, kind.1))
        .collect();
    assert_eq!(kinds, expected);
}
