//! The step `deny`: what this workspace may depend on. The rules are in `deny.toml`.

use xshell::cmd;

use crate::failure::Failure;
use crate::step::Remark;
use crate::tool::{Build, Tool};
use crate::workspace::Workspace;

const CARGO_DENY: Tool = Tool {
    name: "cargo-deny",
    version: "0.20.2",
    program: "cargo-deny",
    build: Build::Quick,
};

/// The advisory database is a repository somewhere else. When it is out of reach, the rest is
/// checked all the same.
const NO_DATABASE: &str = "advisories skipped: database out of reach";

pub(crate) fn run(workspace: &Workspace) -> Result<Remark, Failure> {
    let sh = &workspace.shell;
    let deny = CARGO_DENY.path(workspace)?;
    workspace.run(cmd!(sh, "{deny} --locked check bans licenses sources"))?;

    let fetch = cmd!(sh, "{deny} fetch db");
    if workspace
        .run_with(&[("GIT_TERMINAL_PROMPT", "0")], fetch)
        .is_err()
    {
        println!("{NO_DATABASE}");
        return Ok(Some(NO_DATABASE));
    }
    workspace.run(cmd!(sh, "{deny} --locked check --disable-fetch advisories"))?;
    Ok(None)
}
