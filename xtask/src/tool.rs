//! Programs that a step needs and that Rust does not come with. A missing one is built under
//! `target/tools`.

use std::env::consts::EXE_SUFFIX;
use std::path::{Path, PathBuf};

use xshell::cmd;

use crate::failure::Failure;
use crate::workspace::Workspace;

/// A program from crates.io, at the one version that everybody runs.
#[derive(Debug)]
pub(crate) struct Tool {
    pub(crate) name: &'static str,
    pub(crate) version: &'static str,
    /// What the package installs.
    pub(crate) program: &'static str,
    pub(crate) build: Build,
}

/// How a missing program is built.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Build {
    /// Optimised it would build for twice as long, and run for a second less.
    Quick,
    /// It is there to be measured.
    Optimised,
}

impl Tool {
    /// The path of the program: ours, or one on the `PATH` of the same version, or a new one, built
    /// now.
    pub(crate) fn path(&self, workspace: &Workspace) -> Result<PathBuf, Failure> {
        let home = workspace.root.join("target").join("tools");
        let ours = home
            .join("bin")
            .join(format!("{}{EXE_SUFFIX}", self.program));
        if workspace.shell.path_exists(&ours) && self.is_at(&ours, workspace) {
            return Ok(ours);
        }
        let elsewhere = PathBuf::from(self.program);
        if self.is_at(&elsewhere, workspace) {
            return Ok(elsewhere);
        }
        println!(
            "{} {} is not installed; building it",
            self.name, self.version
        );
        self.install(&home, workspace)?;
        Ok(ours)
    }

    fn is_at(&self, program: &Path, workspace: &Workspace) -> bool {
        let version = workspace
            .shell
            .cmd(program)
            .arg("--version")
            .ignore_stderr();
        workspace
            .read(version)
            .is_ok_and(|answer| self.wrote(&answer))
    }

    fn wrote(&self, answer: &str) -> bool {
        answer.split_whitespace().nth(1) == Some(self.version)
    }

    fn install(&self, home: &Path, workspace: &Workspace) -> Result<(), Failure> {
        let sh = &workspace.shell;
        let Tool { name, version, .. } = self;
        let target = home.join("build");
        let profile: &[&str] = match self.build {
            Build::Quick => &["--debug"],
            Build::Optimised => &[],
        };
        let built = workspace.run_with(
            &[("CARGO_PROFILE_DEV_DEBUG", "0")],
            cmd!(
                sh,
                "cargo install {name} --version ={version} --locked --force {profile...}"
            )
            .args([
                Path::new("--root"),
                home,
                Path::new("--target-dir"),
                &target,
            ]),
        );
        if let Err(failure) = built {
            return Err(Failure::new(format!(
                "{name} {version} is missing and could not be built here ({failure}); \
                 put it on the PATH, as with `cargo install --locked {name} --version {version}`"
            )));
        }
        // Hundreds of megabytes that nothing reads again.
        sh.remove_path(target)?;
        Ok(())
    }
}

#[cfg(test)]
mod tests {
    use super::{Build, Tool};

    #[test]
    fn only_the_pinned_version_will_do() {
        let tool = Tool {
            name: "cargo-deny",
            version: "0.20.2",
            program: "cargo-deny",
            build: Build::Quick,
        };
        assert!(tool.wrote("cargo-deny 0.20.2"));
        assert!(!tool.wrote("cargo-deny 0.20.1"));
        assert!(!tool.wrote("cargo-deny 0.20.20"));
        assert!(!tool.wrote(""));
    }
}
