//! What a command is told that the sandbox probably refused something.

use std::fmt::Write as _;

use crate::command::CommandReport;
use crate::workspace::Workspace;

/// What programs say when the kernel refuses them something, in lower case. A guess: the words have other
/// causes, too, and a notice then does little harm.
const WORDS: [&str; 15] = [
    "permission denied",
    "permissionerror",
    "operation not permitted",
    "invalid cross-device link",
    "read-only file system",
    "eacces",
    "eperm",
    "could not resolve host",
    "couldn't resolve host",
    "temporary failure in name resolution",
    "name or service not known",
    "eai_again",
    "failed to lookup address",
    "dns error",
    "network is unreachable",
];

/// Adds what the sandbox allows to a result that looks as if it had refused something.
pub(crate) fn tell(text: &mut String, report: &CommandReport, workspace: &Workspace) {
    let Some(policy) = workspace.sandbox() else {
        return;
    };
    if report.is_zero() || !looks_refused(&report.output) {
        return;
    }
    let policy = policy.clone().with_writable(workspace.root());
    let _ = write!(
        text,
        "\n[this ran in the sandbox `{}`: {policy}]",
        policy.profile()
    );
}

fn looks_refused(output: &str) -> bool {
    let output = output.to_lowercase();
    WORDS.iter().any(|words| output.contains(words))
}
