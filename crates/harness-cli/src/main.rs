//! The `harness` command: a coding agent for the terminal and for scripts.
//!
//! This crate reads the command line, the environment and configuration files, puts an agent of
//! `harness-agent` together, and shows what it does. It holds no logic that a library user would
//! miss. What it promises to scripts — options, output, exit statuses — is in its README.

mod arguments;
mod config_file;
mod demo;
mod doctor;
mod environment;
mod failure;
mod json_output;
mod model_choice;
mod progress;
mod prompt_command;
mod prompt_input;
mod run_command;
mod services;
mod settings;
mod setup;
mod signals;
mod stderr;
mod stdout;
mod terminal;
mod tools_command;

use std::process::ExitCode;

use clap::Parser;

use crate::arguments::{Arguments, Command, Output, PromptCommand, ToolsCommand};
use crate::failure::Failure;

fn main() -> ExitCode {
    let arguments = match Arguments::try_parse() {
        Ok(arguments) => arguments,
        Err(error) => return usage(&error),
    };
    let json = wants_json(&arguments);
    match start(arguments) {
        Ok(code) => code,
        Err(failure) => {
            if json {
                stdout::print(&failure.json());
            }
            stderr::error(&failure);
            failure.exit.into()
        }
    }
}

fn start(arguments: Arguments) -> Result<ExitCode, Failure> {
    // One thread: a run is one future, and what blocks goes to threads of its own.
    let runtime = tokio::runtime::Builder::new_current_thread()
        .enable_all()
        .max_blocking_threads(16)
        .build()
        .map_err(|error| Failure::failed(format!("the runtime cannot be started: {error}")))?;
    let code = runtime.block_on(async {
        match arguments.command {
            Command::Run(arguments) => run_command::run(*arguments).await,
            Command::Prompt { command: PromptCommand::Show(arguments) } => {
                prompt_command::show(arguments).await
            }
            Command::Tools { command: ToolsCommand::List(arguments) } => {
                tools_command::list(&arguments)
            }
            Command::Tools { command: ToolsCommand::Call(arguments) } => {
                tools_command::call(arguments).await
            }
            Command::Doctor(arguments) => doctor::run(arguments).await,
        }
    });
    // A blocking call that hangs (a read of a dead network file system) must not hold the end up.
    runtime.shutdown_background();
    code
}

fn wants_json(arguments: &Arguments) -> bool {
    let output = match &arguments.command {
        Command::Run(arguments) => arguments.output,
        Command::Prompt { command: PromptCommand::Show(arguments) } => arguments.output,
        Command::Tools { command: ToolsCommand::List(arguments) } => arguments.output,
        Command::Tools { command: ToolsCommand::Call(arguments) } => arguments.output,
        Command::Doctor(_) => Output::Text,
    };
    output == Output::Json
}

/// What clap has to say: help and version go to standard output, errors to standard error.
fn usage(error: &clap::Error) -> ExitCode {
    let _ = error.print();
    ExitCode::from(u8::try_from(error.exit_code()).unwrap_or(2))
}
