//! The workspace that the steps run in: its root folder, and how a command is run there.

use std::env;
use std::ffi::OsString;
use std::path::{Path, PathBuf};

use xshell::{Cmd, Shell};

use crate::failure::Failure;

#[derive(Debug)]
pub(crate) struct Workspace {
    pub(crate) root: PathBuf,
    /// A shell whose working folder is the root.
    pub(crate) shell: Shell,
    /// What `cargo run` told `xtask` about itself. Passed on, it would be part of the key under
    /// which cargo caches build scripts, and the same build from a terminal would start again from
    /// nothing.
    own_variables: Vec<OsString>,
}

impl Workspace {
    pub(crate) fn open() -> Result<Workspace, Failure> {
        let manifest = Path::new(env!("CARGO_MANIFEST_DIR"));
        let root = manifest
            .parent()
            .ok_or_else(|| Failure::new("xtask must lie in a folder of the workspace"))?
            .to_path_buf();
        let shell = Shell::new()?;
        shell.change_dir(&root);
        let own_variables = env::vars_os()
            .map(|(name, _)| name)
            .filter(|name| name.to_str().is_some_and(describes_the_running_package))
            .collect();
        Ok(Workspace {
            root,
            shell,
            own_variables,
        })
    }

    /// Prints `command`, then runs it with its output going where ours goes.
    pub(crate) fn run(&self, command: Cmd<'_>) -> Result<(), Failure> {
        self.run_with(&[], command)
    }

    /// As [`Workspace::run`], with environment variables set, which are printed too.
    pub(crate) fn run_with(
        &self,
        variables: &[(&str, &str)],
        command: Cmd<'_>,
    ) -> Result<(), Failure> {
        println!("$ {}", self.as_typed(variables, &command));
        let command = variables
            .iter()
            .fold(self.cleaned(command), |cmd, &(k, v)| cmd.env(k, v));
        command
            .quiet()
            .run()
            .map_err(|error| Failure::new(self.below_root(&error.to_string())))
    }

    /// Runs `command` and returns what it writes to standard output.
    pub(crate) fn read(&self, command: Cmd<'_>) -> Result<String, Failure> {
        Ok(self.cleaned(command).quiet().read()?)
    }

    fn cleaned<'a>(&self, command: Cmd<'a>) -> Cmd<'a> {
        self.own_variables.iter().fold(command, Cmd::env_remove)
    }

    /// The command as one would type it at the root.
    fn as_typed(&self, variables: &[(&str, &str)], command: &Cmd<'_>) -> String {
        let mut line = String::new();
        for (name, value) in variables {
            line.push_str(name);
            line.push('=');
            line.push_str(value);
            line.push(' ');
        }
        line.push_str(&self.below_root(&command.to_string()));
        line
    }

    /// The text with the paths in it relative to the root.
    fn below_root(&self, text: &str) -> String {
        text.replace(&format!("{}/", self.root.display()), "")
    }
}

fn describes_the_running_package(variable: &str) -> bool {
    variable.starts_with("CARGO_PKG_")
        || variable.starts_with("CARGO_MANIFEST_")
        || matches!(
            variable,
            "CARGO_BIN_NAME" | "CARGO_CRATE_NAME" | "CARGO_PRIMARY_PACKAGE"
        )
}

#[cfg(test)]
mod tests {
    use super::{Workspace, describes_the_running_package};
    use xshell::cmd;

    #[test]
    fn a_command_is_shown_as_typed_at_the_root() {
        let workspace = Workspace::open().unwrap();
        let sh = &workspace.shell;
        let tool = workspace.root.join("target/tools/bin/x");
        let shown = workspace.as_typed(&[("A", "b")], &cmd!(sh, "{tool} check --all"));
        assert_eq!(shown, "A=b target/tools/bin/x check --all");
    }

    #[test]
    fn only_what_names_this_package_is_kept_from_children() {
        assert!(describes_the_running_package("CARGO_PKG_NAME"));
        assert!(describes_the_running_package("CARGO_MANIFEST_DIR"));
        for kept in [
            "CARGO",
            "CARGO_HOME",
            "CARGO_TARGET_DIR",
            "CARGO_BUILD_JOBS",
            "PATH",
        ] {
            assert!(!describes_the_running_package(kept), "{kept}");
        }
    }
}
