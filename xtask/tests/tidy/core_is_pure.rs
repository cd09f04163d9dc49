//! `harness-core` does no I/O, has no clock and no chance that a test cannot set, and names no
//! provider and no tool.
//!
//! Comments and documentation may name them, to say why a rule is there; code and strings may not.
//! `test_support` is a kit for tests and may, say, call a tool by its name.

use crate::search::{names, occurrences};
use crate::source::Source;
use crate::workspace::sources_of;
use crate::{assert_clean, assert_found};

/// Modules that reach outside the process, whoever's they are: `std::fs`, `tokio::fs`.
const OUTSIDE: &[&str] = &["env", "fs", "net", "process"];

/// What gives a time or a random number that no test has set. One file may name them: the one that
/// lets a test set both.
const CLOCK: &[&str] = &[
    "SystemTime::now",
    "Instant::now",
    "SystemTime::UNIX_EPOCH",
    "UNIX_EPOCH",
];
const CHANCE: &[&str] = &[
    "RandomState",
    "fastrand",
    "getrandom",
    "rand",
    "thread_rng",
    "uuid",
];
const CLOCK_FILE: &str = "crates/harness-core/src/clock.rs";

/// Parts of names that belong to one provider.
const PROVIDERS: &[&str] = &[
    "anthropic",
    "claude",
    "deepseek",
    "gemini",
    "gpt",
    "llama",
    "mistral",
    "ollama",
    "openai",
    "openrouter",
    "vllm",
];

/// Names of tools, as they would stand in a string of their own.
const TOOLS: &[&str] = &["bash", "edit", "find", "grep", "ls", "read", "write"];

fn check(source: &Source) -> Vec<String> {
    let mut problems = Vec::new();
    let mut report = |at, what: String| problems.push(source.problem(at, &what));
    let code = source.code();
    for module in OUTSIDE {
        for at in occurrences(code, &format!("{module}::")) {
            report(at, format!("the core does no I/O, but names {module}::"));
        }
        for at in occurrences(code, &format!("std::{module}")) {
            report(at, format!("the core does no I/O, but names std::{module}"));
        }
    }
    if source.path != CLOCK_FILE {
        for &name in CLOCK {
            for at in occurrences(code, name) {
                report(at, format!("{name} outside {CLOCK_FILE}"));
            }
        }
        for (at, name) in names(code).filter(|(_, name)| CHANCE.contains(name)) {
            report(at, format!("{name} outside {CLOCK_FILE}"));
        }
    }
    for view in [code, source.literals()] {
        for (at, name) in names(view) {
            let lower = name.to_lowercase();
            if let Some(provider) = PROVIDERS.iter().find(|it| lower.contains(*it)) {
                report(
                    at,
                    format!("the core names no provider, but says {provider} in {name}"),
                );
            }
        }
    }
    for tool in TOOLS {
        for (at, _) in source.literals().match_indices(&format!("\"{tool}\"")) {
            report(at, format!("the core names no tool, but says \"{tool}\""));
        }
    }
    problems
}

#[test]
fn the_core_is_pure() {
    let is_kit = |source: &&Source| source.path.contains("/test_support");
    let sources = sources_of("harness-core");
    let problems: Vec<_> = sources
        .iter()
        .filter(|it| !is_kit(it))
        .flat_map(check)
        .collect();
    assert_clean(&problems);
}

#[test]
fn finds_what_is_impure() {
    let found = |text: &str, expected: &[&str]| {
        assert_found(
            &check(&Source::new("crates/harness-core/src/x.rs", text)),
            expected,
        );
    };
    found(
        "let x = tokio::fs::read(y);",
        &["x.rs:1: the core does no I/O, but names fs::"],
    );
    found("use std::process;", &["names std::process"]);
    found(
        "\nfn f() { std::env::var(x) }",
        &["x.rs:2: the core does no I/O, but names env::", "std"],
    );
    found(
        "let t = std::time::Instant::now();",
        &["Instant::now outside"],
    );
    found(
        "use std::collections::hash_map::RandomState;",
        &["RandomState outside"],
    );
    found("struct OpenAiError;", &["says openai in OpenAiError"]);
    found("if model.starts_with(\"gpt-5\") {}", &["says gpt in gpt"]);
    found("if name == \"bash\" {}", &["says \"bash\""]);
    found(
        "// like \"bash\" of OpenAI, see std::fs\nfn read() -> &str { \"read only\" }",
        &[],
    );
    assert_clean(&check(&Source::new(
        CLOCK_FILE,
        "Instant::now(); RandomState::new();",
    )));
}
