//! The command line of `harness agents`.

use std::path::PathBuf;

use clap::{Args, Subcommand};

use crate::arguments::FormatArguments;

#[derive(Debug, Subcommand)]
pub(crate) enum AgentsCommand {
    /// List the agents that work can be handed to.
    List(AgentsListArguments),
    /// Show an agent: what it is told, what it may use, and where it is declared.
    Show(AgentsShowArguments),
}

#[derive(Args, Debug)]
pub(crate) struct AgentsListArguments {
    /// Also those that are shadowed, held back or invalid, in the order of precedence, with the reason.
    #[arg(long)]
    pub(crate) all: bool,
    /// The folder to work in.
    #[arg(short = 'C', long, value_name = "DIR")]
    pub(crate) cwd: Option<PathBuf>,
    #[command(flatten)]
    pub(crate) format: FormatArguments,
}

#[derive(Args, Debug)]
#[command(after_long_help = "Exit status: 0 it is shown; 2 there is none of that name.")]
pub(crate) struct AgentsShowArguments {
    /// Its name, also with its layer, `NAME@project`.
    #[arg(value_name = "NAME[@LAYER]")]
    pub(crate) name: String,
    /// The folder to work in.
    #[arg(short = 'C', long, value_name = "DIR")]
    pub(crate) cwd: Option<PathBuf>,
    #[command(flatten)]
    pub(crate) format: FormatArguments,
}

impl AgentsCommand {
    pub(crate) fn wants_json(&self) -> bool {
        match self {
            Self::List(AgentsListArguments { format, .. })
            | Self::Show(AgentsShowArguments { format, .. }) => format.wants_json(),
        }
    }
}
