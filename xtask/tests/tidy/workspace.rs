//! The workspace under test: its packages and the files that git tracks.

use std::path::{Path, PathBuf};
use std::process::Command;
use std::sync::OnceLock;
use std::{env, fs};

use cargo_metadata::{Metadata, MetadataCommand, Package};

use crate::source::Source;

pub(crate) fn root() -> &'static Path {
    Path::new(env!("CARGO_MANIFEST_DIR")).parent().unwrap()
}

/// What the manifests say. Without the graph of foreign dependencies, so that nothing is fetched
/// for it.
pub(crate) fn metadata() -> &'static Metadata {
    static METADATA: OnceLock<Metadata> = OnceLock::new();
    METADATA.get_or_init(|| {
        MetadataCommand::new()
            .current_dir(root())
            .no_deps()
            .exec()
            .expect("cargo metadata answers")
    })
}

/// The packages under `crates/`.
pub(crate) fn crates() -> impl Iterator<Item = &'static Package> {
    metadata()
        .packages
        .iter()
        .filter(|package| relative(&package.manifest_path).starts_with("crates"))
}

/// A path below the root, as git shows it.
pub(crate) fn relative(path: impl AsRef<Path>) -> PathBuf {
    path.as_ref().strip_prefix(root()).unwrap().to_path_buf()
}

/// Every text file that is tracked, or would be: new files count, ignored ones do not.
pub(crate) fn text_files() -> &'static [(String, String)] {
    static FILES: OnceLock<Vec<(String, String)>> = OnceLock::new();
    FILES.get_or_init(|| {
        let paths = run(
            "git",
            &[
                "ls-files",
                "-z",
                "--cached",
                "--others",
                "--exclude-standard",
            ],
        );
        let mut paths: Vec<_> = paths.split_terminator('\0').map(str::to_owned).collect();
        paths.sort();
        paths.dedup();
        // A file that was deleted and not yet committed cannot be read, a picture is not text.
        paths
            .into_iter()
            .filter_map(|path| {
                let text = fs::read_to_string(root().join(&path)).ok()?;
                Some((path, text))
            })
            .collect()
    })
}

/// The Rust sources among them. Files in a folder `fixtures` are test data, whatever they end in.
pub(crate) fn sources() -> &'static [Source] {
    static SOURCES: OnceLock<Vec<Source>> = OnceLock::new();
    SOURCES.get_or_init(|| {
        text_files()
            .iter()
            .filter(|(path, _)| is_rust(path) && !path.contains("/fixtures/"))
            .map(|(path, text)| Source::new(path, text))
            .collect()
    })
}

fn is_rust(path: &str) -> bool {
    Path::new(path)
        .extension()
        .is_some_and(|extension| extension == "rs")
}

/// The sources of one crate's library or program, without its tests, as a user compiles them.
pub(crate) fn sources_of(name: &str) -> Vec<Source> {
    let folder = format!("crates/{name}/src/");
    sources()
        .iter()
        .filter(|it| it.path.starts_with(&folder))
        .map(Source::outside_tests)
        .collect()
}

/// Runs a program at the root and returns what it printed.
pub(crate) fn run(program: &str, arguments: &[&str]) -> String {
    let output = Command::new(program)
        .args(arguments)
        .current_dir(root())
        .output();
    let output = output.unwrap_or_else(|error| panic!("{program} does not start: {error}"));
    let stderr = String::from_utf8_lossy(&output.stderr);
    assert!(
        output.status.success(),
        "{program} {arguments:?} failed: {stderr}"
    );
    String::from_utf8(output.stdout).unwrap()
}

/// The cargo that runs these tests.
pub(crate) fn cargo() -> String {
    env::var("CARGO").unwrap_or_else(|_| "cargo".to_owned())
}

#[test]
fn sees_itself() {
    assert!(
        metadata()
            .packages
            .iter()
            .any(|package| package.name == "xtask")
    );
    assert!(
        sources()
            .iter()
            .any(|source| source.path == "xtask/tests/tidy/workspace.rs")
    );
    assert!(text_files().iter().any(|(path, _)| path == "Cargo.toml"));
}
