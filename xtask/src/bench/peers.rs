//! The programs that a person would use by hand, beside which our tools are measured.

use std::path::PathBuf;

use crate::failure::Failure;
use crate::tool::{Build, Tool};
use crate::workspace::Workspace;

const RIPGREP: Tool = Tool {
    name: "ripgrep",
    version: "15.2.0",
    program: "rg",
    build: Build::Optimised,
};

const FD: Tool = Tool {
    name: "fd-find",
    version: "10.5.0",
    program: "fd",
    build: Build::Optimised,
};

/// Programs of pinned versions, so that two runs of the benchmark have the same rival.
#[derive(Debug)]
pub(crate) struct Peers {
    pub(crate) rg: PathBuf,
    pub(crate) fd: PathBuf,
}

impl Peers {
    /// Builds those that are missing.
    pub(crate) fn install(workspace: &Workspace) -> Result<Peers, Failure> {
        Ok(Peers {
            rg: RIPGREP.path(workspace)?,
            fd: FD.path(workspace)?,
        })
    }
}
