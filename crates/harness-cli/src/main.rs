//! The `harness` command: a coding agent for the terminal and for scripts.
//!
//! This crate reads the command line, the environment and configuration files, puts an agent of
//! `harness-agent` together, and shows what it does. It holds no logic that a library user would
//! miss. What it promises to scripts — options, output, exit statuses — is in its README.

mod agent_list;
mod agent_page;
mod agent_roots;
mod agent_settings;
mod agents_arguments;
mod agents_command;
mod arguments;
mod command_sandbox;
mod config_file;
mod conversation;
mod demo;
mod doctor;
mod environment;
mod failure;
mod hook_files;
mod json_output;
mod model_choice;
mod named_file;
mod new_skill;
mod otel_variables;
mod permission_arguments;
mod permission_report;
mod permission_settings;
mod plan;
mod progress;
mod project_contents;
mod project_trust;
mod prompt_command;
mod prompt_input;
mod prompt_library;
mod prompt_record;
mod quantity;
mod run_command;
mod run_permissions;
mod run_session;
mod services;
mod session_decision;
mod session_delete;
mod session_export;
mod session_facts;
mod session_list;
mod session_page;
mod session_place;
mod session_repair;
mod session_report;
mod session_search;
mod session_sent;
mod session_subagents;
mod session_tree;
mod session_words;
mod sessions_arguments;
mod sessions_command;
mod settings;
mod setup;
mod short_ids;
mod signals;
mod skill_diagnostics;
mod skill_list;
mod skill_name;
mod skill_page;
mod skill_report;
mod skill_repository;
mod skill_roots;
mod skill_settings;
mod skill_validation;
mod skills_command;
mod stderr;
mod stdout;
mod subagents;
mod telemetry;
mod telemetry_command;
mod terminal;
mod terminal_approver;
mod tools_command;
mod trace_command;
mod trace_rows;
mod trace_sums;
mod trace_view;
mod trace_words;
mod trust_arguments;
mod trust_command;
mod trust_question;
mod tty;
mod typed_path;

use std::ffi::OsString;
use std::process::ExitCode;

use clap::Parser;
use clap::error::ErrorKind;

use crate::arguments::{
    Arguments, Command, Output, PromptCommand, SkillsCommand, SkillsListArguments,
    SkillsShowArguments, SkillsValidateArguments, ToolsCommand,
};
use crate::failure::Failure;
use crate::trust_arguments::TrustCommand;

fn main() -> ExitCode {
    let arguments = match Arguments::try_parse() {
        Ok(arguments) => arguments,
        Err(error) => return usage(&error),
    };
    let json = wants_json(&arguments);
    match start(arguments) {
        Ok(code) => code,
        Err(failure) => fail(&failure, json),
    }
}

/// Tells what went wrong, and gives the exit status.
fn fail(failure: &Failure, json: bool) -> ExitCode {
    if json {
        // What is wrong is said on standard error, too.
        let _ = stdout::print(&failure.json());
    }
    stderr::error(failure);
    failure.exit.into()
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
            // As a task, not as the runtime's root: the root is polled between two looks at the
            // system's events, a task in turn with those of the HTTP client that it works with.
            Command::Run(arguments) => match tokio::spawn(run_command::run(*arguments)).await {
                Ok(code) => code,
                Err(error) => match error.try_into_panic() {
                    Ok(panic) => std::panic::resume_unwind(panic),
                    Err(error) => Err(Failure::failed(error.to_string())),
                },
            },
            Command::Prompt {
                command: PromptCommand::Show(arguments),
            } => prompt_command::show(arguments).await,
            Command::Prompt {
                command: PromptCommand::List(arguments),
            } => prompt_command::list(&arguments),
            Command::Prompt {
                command: PromptCommand::Render(arguments),
            } => prompt_command::render(&arguments),
            Command::Prompt {
                command: PromptCommand::Template(arguments),
            } => prompt_command::template(&arguments),
            Command::Tools {
                command: ToolsCommand::List(arguments),
            } => tools_command::list(&arguments),
            Command::Tools {
                command: ToolsCommand::Call(arguments),
            } => tools_command::call(arguments).await,
            Command::Skills {
                command: SkillsCommand::List(arguments),
            } => skills_command::list(&arguments),
            Command::Skills {
                command: SkillsCommand::Show(arguments),
            } => skills_command::show(&arguments),
            Command::Skills {
                command: SkillsCommand::Validate(arguments),
            } => skill_validation::validate(&arguments),
            Command::Skills {
                command: SkillsCommand::New(arguments),
            } => new_skill::create(&arguments),
            Command::Skills {
                command: SkillsCommand::Update,
            } => skills_command::update(),
            Command::Agents { command } => agents_command::run(&command),
            Command::Sessions { command } => sessions_command::run(&command),
            Command::Trace(arguments) => trace_command::run(&arguments),
            Command::Telemetry(arguments) => telemetry_command::run(&arguments),
            Command::Trust { command } => trust_command::run(&command),
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
        Command::Prompt {
            command: PromptCommand::Show(arguments),
        } if arguments.json => Output::Json,
        Command::Prompt {
            command: PromptCommand::Show(arguments),
        } => arguments.output,
        Command::Prompt {
            command: PromptCommand::List(arguments),
        } => arguments.output,
        Command::Tools {
            command: ToolsCommand::List(arguments),
        } => arguments.output,
        Command::Tools {
            command: ToolsCommand::Call(arguments),
        } => arguments.output,
        Command::Skills {
            command:
                SkillsCommand::List(SkillsListArguments { format, .. })
                | SkillsCommand::Show(SkillsShowArguments { format, .. })
                | SkillsCommand::Validate(SkillsValidateArguments { format, .. }),
        } => return format.wants_json(),
        Command::Agents { command } => return command.wants_json(),
        Command::Sessions { command } => return command.wants_json(),
        Command::Trace(arguments) => arguments.output,
        Command::Telemetry(arguments) => arguments.output,
        Command::Trust {
            command: TrustCommand::List(list),
        } => list.output,
        Command::Trust { .. }
        | Command::Doctor(_)
        | Command::Prompt {
            command: PromptCommand::Render(_) | PromptCommand::Template(_),
        }
        | Command::Skills {
            command: SkillsCommand::New(_) | SkillsCommand::Update,
        } => Output::Text,
    };
    output == Output::Json
}

/// Whether JSON was asked for on a command line that could not be read as a whole.
fn asks_for_json(mut arguments: impl Iterator<Item = OsString>) -> bool {
    let mut json = false;
    while let Some(argument) = arguments.next() {
        match argument.to_str() {
            Some("--") => break,
            Some("--json") => json = true,
            Some("--output") => json = arguments.next().is_some_and(|value| value == "json"),
            Some(argument) => {
                if let Some(value) = argument.strip_prefix("--output=") {
                    json = value == "json";
                }
            }
            None => {}
        }
    }
    json
}

/// What clap has to say: help and version go to standard output, errors to standard error.
fn usage(error: &clap::Error) -> ExitCode {
    match error.kind() {
        ErrorKind::DisplayHelp
        | ErrorKind::DisplayVersion
        | ErrorKind::DisplayHelpOnMissingArgumentOrSubcommand => {
            let _ = error.print();
            ExitCode::from(u8::try_from(error.exit_code()).unwrap_or(2))
        }
        _ => {
            let failure = usage_failure(&error.render().to_string());
            fail(&failure, asks_for_json(std::env::args_os()))
        }
    }
}

/// Clap's words in one line. It writes paragraphs: the error, tips, the usage, a pointer to `--help`.
fn usage_failure(text: &str) -> Failure {
    let mut paragraphs = text.split("\n\n").map(|paragraph| {
        paragraph
            .lines()
            .map(str::trim)
            .collect::<Vec<_>>()
            .join(" ")
    });
    let message = paragraphs.next().unwrap_or_default();
    let message = message.strip_prefix("error: ").unwrap_or(&message);
    let tips: Vec<String> = paragraphs
        .filter_map(|paragraph| Some(paragraph.strip_prefix("tip: ")?.replace(" tip: ", "; ")))
        .collect();
    let failure = Failure::usage(message);
    if tips.is_empty() {
        failure.hint("`--help` tells what there is")
    } else {
        failure.hint(tips.join("; "))
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn json_is_asked_for_in_both_spellings() {
        let checks: [(&[&str], bool); 7] = [
            (&["run", "--output", "json", "--wrong"], true),
            (&["run", "--output=json"], true),
            (&["run", "--output", "text"], false),
            (&["run", "--output=json", "--output", "text"], false),
            (&["run", "--", "--output=json"], false),
            (&["run", "--output"], false),
            (&["run", "json"], false),
        ];
        for (arguments, expected) in checks {
            let arguments = arguments.iter().map(OsString::from);
            assert_eq!(asks_for_json(arguments), expected);
        }
    }

    #[test]
    fn clap_is_told_in_one_line() {
        let checks = [
            (
                "error: unexpected argument '--modle' found\n\n  tip: a similar argument exists: \
                 '--model'\n\nUsage: harness run --model <M>\n\nFor more information, try '--help'.\n",
                "error: unexpected argument '--modle' found; a similar argument exists: '--model'",
            ),
            (
                "error: the following required arguments were not provided:\n  <NAME>\n\nUsage: x\n",
                "error: the following required arguments were not provided: <NAME>; `--help` tells \
                 what there is",
            ),
        ];
        for (text, expected) in checks {
            assert_eq!(usage_failure(text).text(), expected);
        }
    }
}
