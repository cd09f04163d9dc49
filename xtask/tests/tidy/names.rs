//! Names of files and modules. A thing lives where its noun lives, so no module is called after
//! having none.

use crate::search::occurrences;
use crate::source::Source;
use crate::workspace::{sources, text_files};
use crate::{assert_clean, assert_found};

const NOUNLESS: &[&str] = &["common", "helper", "helpers", "misc", "util", "utils"];

/// Problems with a path: a folder or file without a noun, or the old spelling of a module's root.
fn check_path(path: &str) -> Vec<String> {
    let mut problems = Vec::new();
    for part in path.split('/') {
        let stem = part.split('.').next().unwrap_or(part);
        if NOUNLESS.contains(&stem) {
            problems.push(format!(
                "{path}: {stem} says nothing; name the file after its noun"
            ));
        }
        if part == "mod.rs" {
            problems.push(format!(
                "{path}: no mod.rs; the module `x` is `x.rs`, its parts `x/…`"
            ));
        }
    }
    problems
}

/// Problems with a module that has no file of its own.
fn check_modules(source: &Source) -> Vec<String> {
    let declared = |name: &str| occurrences(source.code(), &format!("mod {name}"));
    let problem = |name, at| source.problem(at, &format!("a module called {name} has no noun"));
    NOUNLESS
        .iter()
        .flat_map(|name| declared(name).into_iter().map(move |at| problem(name, at)))
        .collect()
}

fn is_ours(path: &str) -> bool {
    ["crates/", "xtask/", "examples/"]
        .iter()
        .any(|folder| path.starts_with(folder))
        && !path.contains("/fixtures/")
}

#[test]
fn files_are_named_after_nouns() {
    let paths = text_files()
        .iter()
        .map(|(path, _)| path.as_str())
        .filter(|path| is_ours(path));
    assert_clean(&paths.flat_map(check_path).collect::<Vec<_>>());
}

#[test]
fn modules_are_named_after_nouns() {
    assert_clean(&sources().iter().flat_map(check_modules).collect::<Vec<_>>());
}

#[test]
fn finds_names_without_a_noun() {
    assert_found(
        &check_path("crates/x/src/utils.rs"),
        &["utils says nothing"],
    );
    assert_found(
        &check_path("crates/x/tests/it/common/server.rs"),
        &["common says nothing"],
    );
    assert_found(&check_path("crates/x/src/a/mod.rs"), &["no mod.rs"]);
    assert_clean(&check_path("crates/x/src/utility_bill.rs"));
    let source = |text| Source::new("crates/x/src/a.rs", text);
    assert_found(
        &check_modules(&source("\npub mod  helpers { }")),
        &["a.rs:2: a module called"],
    );
    assert_clean(&check_modules(&source("// mod utils\nmod utils_of_trade;")));
}
