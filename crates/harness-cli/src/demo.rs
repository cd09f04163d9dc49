//! The project that the demonstration works on: a copy of the one in `examples/`.

use std::path::{Path, PathBuf};

use tempfile::TempDir;

use crate::environment::Environment;
use crate::failure::Failure;

/// The files of the project, as they are in `examples/roman-numerals`.
const FILES: &[(&str, &str)] = &[
    ("Cargo.toml", include_str!("../demo/Cargo.toml")),
    ("Cargo.lock", include_str!("../demo/Cargo.lock")),
    ("README.md", include_str!("../demo/README.md")),
    ("src/lib.rs", include_str!("../demo/src/lib.rs")),
    (
        "tests/numerals.rs",
        include_str!("../demo/tests/numerals.rs"),
    ),
];

/// A copy of the project in a temporary folder, which goes away with the value.
pub(crate) struct DemoProject {
    _temporary: TempDir,
    folder: PathBuf,
}

impl DemoProject {
    /// Whether the demonstration can be given here.
    pub(crate) fn check(environment: &Environment) -> Result<(), Failure> {
        let search = environment.path().unwrap_or_default();
        if std::env::split_paths(&search).any(|folder| folder.join("cargo").is_file()) {
            return Ok(());
        }
        let message = "the built-in demonstration needs cargo, which is not on PATH";
        Err(Failure::configuration(message)
            .hint("install Rust from https://rustup.rs, or name a model with --model"))
    }

    /// Makes the copy.
    pub(crate) fn create(environment: &Environment) -> Result<Self, Failure> {
        Self::check(environment)?;
        let failed = |error: std::io::Error| {
            Failure::failed(format!(
                "the demonstration's project cannot be copied: {error}"
            ))
        };
        let temporary = tempfile::Builder::new()
            .prefix("harness-demo-")
            .tempdir_in(environment.temporary_folder())
            .map_err(failed)?;
        let folder = temporary.path().join("roman-numerals");
        for (name, text) in FILES {
            let path = folder.join(name);
            if let Some(parent) = path.parent() {
                std::fs::create_dir_all(parent).map_err(failed)?;
            }
            std::fs::write(path, text).map_err(failed)?;
        }
        let folder = folder.canonicalize().map_err(failed)?;
        Ok(Self {
            _temporary: temporary,
            folder,
        })
    }

    /// Where it is.
    pub(crate) fn folder(&self) -> &Path {
        &self.folder
    }
}
