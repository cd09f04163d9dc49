//! What each crate must have: a README that is its charter, an essay that opens its `lib.rs`, the
//! workspace's lints, a description, and at most one integration binary, `tests/it`.

use std::fs;

use cargo_metadata::{Package, TargetKind};

use crate::workspace::{crates, metadata, relative, root};
use crate::{assert_clean, assert_found};

/// What the rules read of one package.
struct Crate<'a> {
    name: &'a str,
    manifest: &'a str,
    readme: Option<&'a str>,
    /// The first lines of `src/lib.rs`, or of `src/main.rs` where there is no library.
    entry: &'a str,
    /// The root files of its integration tests, relative to its folder.
    tests: Vec<String>,
}

fn check(it: &Crate<'_>) -> Vec<String> {
    let mut problems = Vec::new();
    let mut report = |what: &str| problems.push(format!("{}: {what}", it.name));
    if it.readme.is_none_or(|text| text.trim().is_empty()) {
        report("has no README.md");
    }
    if !it.entry.starts_with("//!") {
        report("its root module must open with an essay: `//!`");
    }
    if !has_workspace_lints(it.manifest) {
        report("its manifest must say `[lints] workspace = true`");
    }
    for test in &it.tests {
        if test != "tests/it/main.rs" {
            report(&format!(
                "{test} must be a module of tests/it, the one integration binary"
            ));
        }
    }
    problems
}

fn has_workspace_lints(manifest: &str) -> bool {
    let mut section = "";
    for line in manifest.lines().map(str::trim) {
        let line = line.split('#').next().unwrap_or_default().trim();
        if line.starts_with('[') {
            section = line;
        }
        let line: String = line.split_whitespace().collect();
        if (section == "[lints]" && line == "workspace=true")
            || (section.is_empty() && line == "lints.workspace=true")
        {
            return true;
        }
    }
    false
}

fn read(package: &Package) -> Vec<String> {
    let folder = package.manifest_path.parent().unwrap();
    let manifest = fs::read_to_string(&package.manifest_path).unwrap();
    let readme = fs::read_to_string(folder.join("README.md")).ok();
    let entry = fs::read_to_string(folder.join("src/lib.rs"))
        .or_else(|_| fs::read_to_string(folder.join("src/main.rs")))
        .unwrap_or_default();
    let tests = package
        .targets
        .iter()
        .filter(|target| target.kind.contains(&TargetKind::Test));
    let tests = tests
        .map(|it| it.src_path.strip_prefix(folder).unwrap().to_string())
        .collect();
    check(&Crate {
        name: &package.name,
        manifest: &manifest,
        readme: readme.as_deref(),
        entry: &entry,
        tests,
    })
}

/// What a package says of itself on a registry.
fn introduction(package: &Package) -> Vec<String> {
    let mut problems = Vec::new();
    let mut want = |is_right: bool, what: &str| {
        if !is_right {
            problems.push(format!("{}: its manifest {what}", package.name));
        }
    };
    let workspace = "must inherit from [workspace.package]:";
    want(
        package
            .description
            .as_ref()
            .is_some_and(|it| !it.is_empty()),
        "has no description",
    );
    want(
        package.license.as_deref() == Some("MIT OR Apache-2.0"),
        &format!("{workspace} license"),
    );
    want(
        package.edition.as_str() == "2024",
        &format!("{workspace} edition"),
    );
    want(
        package.rust_version.is_some(),
        &format!("{workspace} rust-version"),
    );
    problems
}

#[test]
fn every_crate_has_its_charter() {
    assert_clean(&crates().flat_map(read).collect::<Vec<_>>());
}

#[test]
fn every_package_introduces_itself() {
    assert_clean(
        &metadata()
            .packages
            .iter()
            .flat_map(introduction)
            .collect::<Vec<_>>(),
    );
}

#[test]
fn folders_are_named_like_their_crates() {
    for package in crates() {
        let folder = relative(package.manifest_path.parent().unwrap());
        assert_eq!(
            folder,
            std::path::Path::new("crates").join(package.name.as_str())
        );
    }
}

/// A folder that was begun and has no manifest is no crate, and cargo passes over it in silence.
#[test]
fn every_folder_under_crates_is_a_crate() {
    for entry in fs::read_dir(root().join("crates")).into_iter().flatten() {
        let path = entry.unwrap().path();
        assert!(
            path.join("Cargo.toml").is_file(),
            "{} has no Cargo.toml",
            path.display()
        );
    }
}

#[test]
fn finds_a_crate_without_charter() {
    let good = || Crate {
        name: "x",
        manifest: "[package]\nname = \"x\"\n\n[lints]\nworkspace = true\n",
        readme: Some("# x"),
        entry: "//! An essay.\n",
        tests: vec!["tests/it/main.rs".into()],
    };
    assert_clean(&check(&good()));
    assert_found(
        &check(&Crate {
            readme: None,
            ..good()
        }),
        &["x: has no README.md"],
    );
    assert_found(
        &check(&Crate {
            readme: Some("\n"),
            ..good()
        }),
        &["has no README.md"],
    );
    assert_found(
        &check(&Crate {
            entry: "mod a;",
            ..good()
        }),
        &["must open with an essay"],
    );
    assert_found(
        &check(&Crate {
            manifest: "[package]",
            ..good()
        }),
        &["workspace = true"],
    );
    let tests = vec!["tests/it/main.rs".into(), "tests/other.rs".into()];
    assert_found(
        &check(&Crate { tests, ..good() }),
        &["tests/other.rs must be a module"],
    );
}

#[test]
fn knows_both_spellings_of_workspace_lints() {
    assert!(has_workspace_lints(
        "lints.workspace = true\n[package]\nname = 'x'"
    ));
    assert!(has_workspace_lints(
        "[package]\n[lints]\nworkspace=true # all of them"
    ));
    assert!(!has_workspace_lints("[lints]\n# workspace = true"));
    assert!(!has_workspace_lints("[package]\nworkspace = true"));
}
