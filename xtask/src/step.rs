//! The steps of `cargo xtask ci`, as data.

use xshell::cmd;

use crate::failure::Failure;
use crate::workspace::Workspace;
use crate::{browser, deny, features};

/// One check. [`Step::ALL`] is the order in which they run: what is quick and fails often comes
/// first.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Step {
    Fmt,
    Tidy,
    Lint,
    Test,
    Doctest,
    Doc,
    Features,
    Deny,
}

/// What a step that did not fail has to say: nothing, or a remark for the closing table.
pub(crate) type Remark = Option<&'static str>;

impl Step {
    pub(crate) const ALL: [Step; 8] = [
        Step::Fmt,
        Step::Tidy,
        Step::Lint,
        Step::Test,
        Step::Doctest,
        Step::Doc,
        Step::Features,
        Step::Deny,
    ];

    /// The name on the command line and in the closing table.
    pub(crate) const fn name(self) -> &'static str {
        match self {
            Step::Fmt => "fmt",
            Step::Tidy => "tidy",
            Step::Lint => "lint",
            Step::Test => "test",
            Step::Doctest => "doctest",
            Step::Doc => "doc",
            Step::Features => "features",
            Step::Deny => "deny",
        }
    }

    /// What the step checks, in a few words.
    pub(crate) const fn about(self) -> &'static str {
        match self {
            Step::Fmt => "the formatting",
            Step::Tidy => "the house rules: what each crate may not know, names, lengths",
            Step::Lint => "clippy over all targets and features; a warning is an error",
            Step::Test => "unit and integration tests; the examples are built and run",
            Step::Doctest => "the examples in the documentation",
            Step::Doc => "the documentation builds without a warning",
            Step::Features => "each crate with none and with each one of its features",
            Step::Deny => "dependencies: bans, licences, sources, advisories",
        }
    }

    /// Runs the step's commands, up to the first that fails.
    pub(crate) fn run(self, workspace: &Workspace) -> Result<Remark, Failure> {
        let sh = &workspace.shell;
        match self {
            Step::Fmt => {
                workspace.run(cmd!(sh, "cargo fmt --all -- --check"))?;
                // A workspace of its own, which needs another toolchain for all but this.
                let fuzz = "fuzz/Cargo.toml";
                workspace.run(cmd!(sh, "cargo fmt --manifest-path {fuzz} -- --check"))?;
            }
            // The tidy rules are tests of this package, so `test` leaves it out.
            Step::Tidy => workspace.run(cmd!(sh, "cargo test --package xtask"))?,
            Step::Lint => workspace.run(cmd!(
                sh,
                "cargo clippy --workspace --all-targets --all-features -- -D warnings"
            ))?,
            // The examples first: tests run them, and with targets named `cargo test` builds none.
            // Without benchmarks: `lint` compiles them, and a debug build measures nothing.
            Step::Test => {
                workspace.run(
                    cmd!(sh, "cargo build --workspace --exclude xtask --all-features")
                        .arg("--examples"),
                )?;
                let tests = cmd!(sh, "cargo test --workspace --exclude xtask --all-features")
                    .args(["--lib", "--bins", "--tests"]);
                let (environment, remark) = browser::environment();
                workspace.run_with(environment, tests)?;
                return Ok(remark);
            }
            Step::Doctest => workspace.run(cmd!(
                sh,
                "cargo test --workspace --exclude xtask --all-features --doc"
            ))?,
            Step::Doc => workspace.run_with(
                &[("RUSTDOCFLAGS", "-Dwarnings")],
                cmd!(sh, "cargo doc --workspace --all-features --no-deps"),
            )?,
            Step::Features => features::run(workspace)?,
            Step::Deny => return deny::run(workspace),
        }
        Ok(None)
    }
}

#[cfg(test)]
mod tests {
    use super::Step;

    #[test]
    fn names_are_lower_case_and_differ() {
        for (i, step) in Step::ALL.iter().enumerate() {
            assert_eq!(step.name(), format!("{step:?}").to_lowercase());
            assert!(!Step::ALL[..i].contains(step), "{step:?} is listed twice");
        }
    }
}
