//! `harness-tools` knows nothing of prompts, skills, sessions or models: neither the crates, nor
//! the core's types.
//!
//! The rule reads code alone. Descriptions and documentation may say "model", since models read
//! them.

use crate::search::names;
use crate::source::Source;
use crate::workspace::sources_of;
use crate::{assert_clean, assert_found};

/// How names begin that belong to the rest of the house.
const FOREIGN: &[&str] = &[
    "Agent",
    "Middleware",
    "Model",
    "Prompt",
    "Session",
    "Skill",
    "SystemPrompt",
    "harness_agent",
    "harness_prompt",
    "harness_providers",
    "harness_session",
    "harness_skills",
];

fn check(source: &Source) -> Vec<String> {
    names(source.code())
        .filter(|(_, name)| {
            FOREIGN
                .iter()
                .any(|foreign| begins_with_words(name, foreign))
        })
        .map(|(at, name)| source.problem(at, &format!("tools know nothing of {name}")))
        .collect()
}

/// Whether `name` begins with `words` and not just with their letters: `ModelInfo` does, `Modeled`
/// does not.
fn begins_with_words(name: &str, words: &str) -> bool {
    name.strip_prefix(words).is_some_and(|rest| {
        let rest = rest.strip_prefix('s').unwrap_or(rest);
        !rest.starts_with(|next: char| next.is_ascii_lowercase())
    })
}

#[test]
fn tools_know_no_prompt_skill_session_or_model() {
    let problems: Vec<_> = sources_of("harness-tools").iter().flat_map(check).collect();
    assert_clean(&problems);
}

#[test]
fn finds_a_tool_that_knows_too_much() {
    let found = |text: &str, expected: &[&str]| {
        assert_found(
            &check(&Source::new("crates/harness-tools/src/x.rs", text)),
            expected,
        );
    };
    found(
        "use harness_core::{ModelInfo, Tool};",
        &["x.rs:1: tools know nothing of ModelInfo"],
    );
    found("use harness_prompt::x;", &["harness_prompt"]);
    found(
        "fn f(skills: Skills, s: &SessionId) {}",
        &["Skills", "SessionId"],
    );
    found(
        "/// Shown to the Model.\nfn f() -> &str { \"the Model\" } struct Modeled;",
        &[],
    );
}
