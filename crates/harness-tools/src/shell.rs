//! Which shell runs the commands, and with which environment.

use std::ffi::OsString;
use std::path::{Path, PathBuf};

use crate::error::Error;

/// How the `bash` tool runs commands.
///
/// The shell is the first that is there of: the one given here (which must be there, and must
/// understand POSIX shell syntax), `/bin/bash`, `bash` in one of the folders given here, `/bin/sh`.
/// A person's login shell is never used: it may be fish.
///
/// Commands inherit the environment of the process, without the variables named here. Not so `BASH_ENV`:
/// the tool has a use of its own for it, so a file that bash should read before each command is named in
/// [`variables`](Self::variables).
#[derive(Clone, Debug)]
#[non_exhaustive]
pub struct ShellOptions {
    /// The shell to use.
    pub shell: Option<PathBuf>,
    /// Folders in which `bash` is looked for: the parts of `PATH`.
    pub search: Vec<PathBuf>,
    /// Names of variables that commands do not get: the keys of model providers.
    pub hidden_variables: Vec<OsString>,
    /// Variables that commands get in addition. They override everything else.
    pub variables: Vec<(OsString, OsString)>,
    /// The folder for files with the output that does not fit a result; mode 0600 each. `/tmp` by
    /// default. The files are left there for the system to clear away.
    pub output_folder: PathBuf,
}

impl Default for ShellOptions {
    fn default() -> Self {
        Self {
            shell: None,
            search: Vec::new(),
            hidden_variables: Vec::new(),
            variables: Vec::new(),
            output_folder: PathBuf::from("/tmp"),
        }
    }
}

/// What every command finds in its environment: nothing here waits for a person. Editors fail, so
/// that `git rebase -i` stops with an error instead of rewriting history unseen.
pub(crate) const VARIABLES: &[(&str, &str)] = &[
    ("PAGER", "cat"),
    ("GIT_PAGER", "cat"),
    ("MANPAGER", "cat"),
    ("EDITOR", "false"),
    ("VISUAL", "false"),
    ("GIT_EDITOR", "false"),
    ("GIT_SEQUENCE_EDITOR", "false"),
    ("GIT_TERMINAL_PROMPT", "0"),
    ("TERM", "dumb"),
];

impl ShellOptions {
    /// The shell to use.
    pub fn find_shell(&self) -> Result<PathBuf, Error> {
        if let Some(shell) = &self.shell {
            return if is_program(shell) {
                Ok(shell.clone())
            } else {
                Err(Error::Command(format!(
                    "The shell that was configured, `{}`, is not there or not executable.",
                    shell.display()
                )))
            };
        }
        let bash = PathBuf::from("/bin/bash");
        let found = self.search.iter().map(|folder| folder.join("bash"));
        let all = std::iter::once(bash).chain(found).chain(["/bin/sh".into()]);
        all.into_iter()
            .find(|path| is_program(path))
            .ok_or_else(|| {
                Error::Command(
                "No shell: neither /bin/bash, nor bash in the search path, nor /bin/sh is there."
                    .to_owned(),
            )
            })
    }
}

fn is_program(path: &Path) -> bool {
    use std::os::unix::fs::PermissionsExt;
    path.is_absolute()
        && std::fs::metadata(path)
            .is_ok_and(|found| found.is_file() && found.permissions().mode() & 0o111 != 0)
}
