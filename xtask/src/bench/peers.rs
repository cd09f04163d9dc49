//! The programs that a person would use by hand, beside which our tools are measured. The versions
//! are pinned, so that two runs of the benchmark have the same rivals.

use crate::tool::{Build, Tool};

pub(crate) const RIPGREP: Tool = Tool {
    name: "ripgrep",
    version: "15.2.0",
    program: "rg",
    build: Build::Optimised,
};

pub(crate) const FD: Tool = Tool {
    name: "fd-find",
    version: "10.5.0",
    program: "fd",
    build: Build::Optimised,
};
