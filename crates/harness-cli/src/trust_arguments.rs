//! The arguments of `harness trust`, and of trust for one command.

use std::path::PathBuf;

use clap::{Args, Subcommand};

use crate::arguments::Output;

#[derive(Args, Clone, Copy, Debug, Default)]
pub(crate) struct TrustFlags {
    /// Trust the project for this command: use its configuration, prompts, skills, agents and hooks.
    #[arg(long, conflicts_with = "no_trust")]
    pub(crate) trust: bool,
    /// Use nothing of the project's own, also if it is trusted.
    #[arg(long)]
    pub(crate) no_trust: bool,
}

#[derive(Debug, Subcommand)]
pub(crate) enum TrustCommand {
    /// List the folders of which something is said.
    List(TrustList),
    /// Trust a project; or allow a tool, or what a rule speaks of, in it.
    Allow(TrustChange),
    /// Trust a project not; or refuse a tool, or what a rule speaks of, in it.
    Deny(TrustChange),
    /// Ask about a tool, or about what a rule speaks of, in a project.
    Ask(TrustAsk),
    /// Forget all that was said of a folder, or a rule or a tool of it.
    Forget(TrustForget),
}

#[derive(Args, Debug)]
pub(crate) struct TrustList {
    /// As text, or as one JSON object a line.
    #[arg(long, value_enum, default_value_t = Output::Text)]
    pub(crate) output: Output,
}

#[derive(Args, Debug)]
pub(crate) struct TrustChange {
    /// The folder; unless given, the repository that one stands in, or the working folder.
    #[arg(value_name = "DIR")]
    pub(crate) folder: Option<PathBuf>,
    /// Only this tool, whatever it would do. Can be given more than once.
    #[arg(long = "tool", value_name = "NAME")]
    pub(crate) tools: Vec<String>,
    /// Only what this rule speaks of, such as 'run(cargo test *)'. Can be given more than once.
    #[arg(long = "rule", value_name = "RULE")]
    pub(crate) rules: Vec<String>,
}

impl TrustChange {
    /// Whether the whole project is meant.
    pub(crate) fn names_nothing(&self) -> bool {
        self.tools.is_empty() && self.rules.is_empty()
    }
}

#[derive(Args, Debug)]
#[group(required = true, multiple = true, args = ["tools", "rules"])]
pub(crate) struct TrustAsk {
    /// The folder; unless given, the repository that one stands in, or the working folder.
    #[arg(value_name = "DIR")]
    pub(crate) folder: Option<PathBuf>,
    /// This tool, whatever it would do. Can be given more than once.
    #[arg(long = "tool", value_name = "NAME")]
    pub(crate) tools: Vec<String>,
    /// What this rule speaks of, such as 'net'. Can be given more than once.
    #[arg(long = "rule", value_name = "RULE")]
    pub(crate) rules: Vec<String>,
}

#[derive(Args, Debug)]
pub(crate) struct TrustForget {
    /// The folder, which need not be there any more; unless given, the repository that one stands in, or the
    /// working folder.
    #[arg(value_name = "DIR")]
    pub(crate) folder: Option<PathBuf>,
    /// Only what was said of this tool. Can be given more than once.
    #[arg(long = "tool", value_name = "NAME")]
    pub(crate) tools: Vec<String>,
    /// Only this rule, as `harness trust list` shows it. Can be given more than once.
    #[arg(long = "rule", value_name = "RULE")]
    pub(crate) rules: Vec<String>,
}
