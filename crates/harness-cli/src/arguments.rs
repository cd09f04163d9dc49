//! The command line, as it was typed.

use std::path::PathBuf;
use std::time::Duration;

use clap::{Args, Parser, Subcommand, ValueEnum};
use harness_core::ThinkingLevel;
use harness_providers::Api;
use harness_telemetry::trace_file::TraceFormat;

use crate::agents_arguments::AgentsCommand;
use crate::permission_arguments::PermissionFlags;
use crate::sessions_arguments::SessionsCommand;
use crate::trust_arguments::{TrustCommand, TrustFlags};

/// A coding agent for the terminal and for scripts.
#[derive(Debug, Parser)]
#[command(name = "harness", version, disable_help_subcommand = true)]
pub(crate) struct Arguments {
    #[command(subcommand)]
    pub(crate) command: Command,
}

#[derive(Debug, Subcommand)]
pub(crate) enum Command {
    /// Carry out one task, and print the answer.
    Run(Box<RunArguments>),
    /// Look at the system prompt.
    Prompt {
        #[command(subcommand)]
        command: PromptCommand,
    },
    /// Look at the tools, or call one.
    Tools {
        #[command(subcommand)]
        command: ToolsCommand,
    },
    /// Look at the skills, check them, or begin a new one.
    Skills {
        #[command(subcommand)]
        command: SkillsCommand,
    },
    /// Look at the agents that work can be handed to.
    Agents {
        #[command(subcommand)]
        command: AgentsCommand,
    },
    /// Say which projects may change how the agent works.
    Trust {
        #[command(subcommand)]
        command: TrustCommand,
    },
    /// Look at the sessions that are kept, fork, export or delete them.
    Sessions {
        #[command(subcommand)]
        command: SessionsCommand,
    },
    /// Draw a trace file: what a run did, when, and what it cost.
    Trace(TraceArguments),
    /// List what can be recorded of runs: spans, their attributes, metrics.
    Telemetry(TelemetryArguments),
    /// Show what would be used, where it came from, and what is wrong.
    Doctor(DoctorArguments),
}

#[derive(Debug, Subcommand)]
pub(crate) enum PromptCommand {
    /// Show the assembled system prompt: its sections, who wrote them, bytes and tokens.
    Show(PromptShowArguments),
    /// List the templates and slash commands that there are, and where they come from.
    List(PromptListArguments),
    /// Show the prompt that a slash command stands for.
    Render(PromptRenderArguments),
    /// Show the text of a template that counts, and the values that it is given.
    Template(PromptTemplateArguments),
}

#[derive(Debug, Subcommand)]
pub(crate) enum ToolsCommand {
    /// List the tools on offer.
    List(ToolsListArguments),
    /// Call a tool by hand, as a model would.
    Call(ToolsCallArguments),
}

#[derive(Debug, Subcommand)]
pub(crate) enum SkillsCommand {
    /// List the skills.
    List(SkillsListArguments),
    /// Show a skill: what it says of itself, where it comes from, its instructions.
    Show(SkillsShowArguments),
    /// Hold skills against the standard, to the letter.
    Validate(SkillsValidateArguments),
    /// Begin a new skill.
    New(SkillsNewArguments),
    /// Fetch the repositories that are configured.
    Update,
}

#[derive(Args, Debug)]
#[command(
    after_long_help = "Exit status: 0 the run finished; 1 it failed; 2 wrong usage or \
    configuration; 3 a limit ended it; 130 and 143 SIGINT and SIGTERM ended it."
)]
pub(crate) struct RunArguments {
    /// The task. Piped standard input is joined to it.
    pub(crate) prompt: Vec<String>,
    #[command(flatten)]
    pub(crate) model: ModelArguments,
    #[command(flatten)]
    pub(crate) agent: AgentArguments,
    #[command(flatten)]
    pub(crate) permissions: PermissionFlags,
    /// What goes to standard output: the answer, or one JSON event a line. What subagents do is in events of the type
    /// `subagent`, which hold its id and the event.
    #[arg(long, value_enum, default_value_t = Output::Text)]
    pub(crate) output: Output,
    /// The most turns; at least 1.
    #[arg(long, value_name = "N", value_parser = turns)]
    pub(crate) max_turns: Option<u32>,
    /// The most time, such as 90s, 10m or 1h30m.
    #[arg(long, value_name = "DURATION", value_parser = duration)]
    pub(crate) timeout: Option<Duration>,
    #[command(flatten)]
    pub(crate) session: SessionArguments,
    #[command(flatten)]
    pub(crate) trace: TraceTo,
}

#[derive(Args, Clone, Debug, Default)]
pub(crate) struct TraceTo {
    /// Write the run's trace to this file; `harness trace FILE` draws it.
    #[arg(long, value_name = "FILE")]
    pub(crate) trace: Option<PathBuf>,
    /// How: otlp, or chrome for Perfetto. By default, chrome if the name ends in .chrome.json,
    /// .perfetto.json or .trace, else otlp.
    #[arg(long, value_name = "FORMAT", requires = "trace")]
    pub(crate) trace_format: Option<TraceFormat>,
}

#[derive(Args, Clone, Debug, Default)]
pub(crate) struct SessionArguments {
    /// Go on with the folder's last session.
    #[arg(long = "continue", conflicts_with_all = ["session", "fork", "no_session"])]
    pub(crate) go_on: bool,
    /// Go on with this session: its id, or its beginning or end.
    #[arg(long, value_name = "ID", conflicts_with_all = ["fork", "no_session"])]
    pub(crate) session: Option<String>,
    /// Go on in a copy of this session.
    #[arg(long, value_name = "ID", conflicts_with = "no_session")]
    pub(crate) fork: Option<String>,
    /// Go on from this entry of the session: its id, or its beginning or end, or its label. What is left
    /// behind is summarised.
    #[arg(long, value_name = "ENTRY")]
    pub(crate) at: Option<String>,
    /// With --at: leave it behind without a summary.
    #[arg(long, requires = "at")]
    pub(crate) no_summary: bool,
    /// Keep no session.
    #[arg(long)]
    pub(crate) no_session: bool,
}

#[derive(Args, Clone, Debug, Default)]
pub(crate) struct ModelArguments {
    /// The model: PROVIDER/MODEL, `demo` (built in, offline), or `scripted:FILE`.
    #[arg(short, long, value_name = "PROVIDER/MODEL")]
    pub(crate) model: Option<String>,
    /// The wire protocol: openai-chat, openai-responses or anthropic.
    #[arg(long, value_name = "API")]
    pub(crate) api: Option<Api>,
    /// The service's address. Without --api-key-env, no key is sent there.
    #[arg(long, value_name = "URL")]
    pub(crate) base_url: Option<String>,
    /// The name of the variable that holds the key.
    #[arg(long, value_name = "NAME")]
    pub(crate) api_key_env: Option<String>,
    /// How much to think: off, minimal, low, medium, high, xhigh or max.
    #[arg(long, value_name = "LEVEL")]
    pub(crate) thinking: Option<ThinkingLevel>,
}

#[derive(Args, Clone, Debug, Default)]
pub(crate) struct AgentArguments {
    /// The folder to work in.
    #[arg(short = 'C', long, value_name = "DIR")]
    pub(crate) cwd: Option<PathBuf>,
    /// The tools on offer, separated by commas.
    #[arg(
        long,
        value_name = "LIST",
        value_delimiter = ',',
        conflicts_with = "no_tools"
    )]
    pub(crate) tools: Option<Vec<String>>,
    /// Offer no tools.
    #[arg(long)]
    pub(crate) no_tools: bool,
    /// A system prompt in the place of the default one; @FILE reads it from a file.
    #[arg(long, value_name = "TEXT|@FILE")]
    pub(crate) system_prompt: Option<String>,
    /// More for the end of the system prompt; @FILE reads it from a file. Can be given more than once.
    #[arg(long, value_name = "TEXT|@FILE")]
    pub(crate) append_system_prompt: Vec<String>,
    /// Read no AGENTS.md, memory, knowledge or other files into the prompt.
    #[arg(long)]
    pub(crate) no_context: bool,
    /// Plan first: until a plan is approved, nothing can be changed. The same as `/plan` before the task.
    #[arg(long)]
    pub(crate) plan: bool,
    #[command(flatten)]
    pub(crate) skills: SkillFlags,
    #[command(flatten)]
    pub(crate) trust: TrustFlags,
}

#[derive(Args, Clone, Debug, Default)]
pub(crate) struct SkillFlags {
    /// A skill to use, or a folder of skills; before all others. Can be given more than once.
    #[arg(long = "skill", value_name = "PATH")]
    pub(crate) paths: Vec<PathBuf>,
    /// Use no skills but those of --skill.
    #[arg(long = "no-skills")]
    pub(crate) none: bool,
}

#[derive(Args, Debug)]
pub(crate) struct PromptShowArguments {
    #[command(flatten)]
    pub(crate) model: ModelArguments,
    #[command(flatten)]
    pub(crate) agent: AgentArguments,
    /// Show what changed since the last run in this folder.
    #[arg(long)]
    pub(crate) diff: bool,
    /// As one JSON object: the same as --output json.
    #[arg(long)]
    pub(crate) json: bool,
    /// As text, or as one JSON object.
    #[arg(long, value_enum, default_value_t = Output::Text)]
    pub(crate) output: Output,
}

impl PromptShowArguments {
    /// Whether JSON is asked for.
    pub(crate) fn wants_json(&self) -> bool {
        self.json || self.output == Output::Json
    }
}

#[derive(Args, Debug)]
pub(crate) struct PromptListArguments {
    /// The folder to work in.
    #[arg(short = 'C', long, value_name = "DIR")]
    pub(crate) cwd: Option<PathBuf>,
    /// As text, or as one JSON object a line.
    #[arg(long, value_enum, default_value_t = Output::Text)]
    pub(crate) output: Output,
}

#[derive(Args, Debug)]
pub(crate) struct PromptTemplateArguments {
    /// Its name: `system-prompt/role`.
    pub(crate) name: String,
    /// The folder to work in.
    #[arg(short = 'C', long, value_name = "DIR")]
    pub(crate) cwd: Option<PathBuf>,
}

#[derive(Args, Debug)]
pub(crate) struct PromptRenderArguments {
    /// The command as it would be typed: `/NAME ARGUMENTS`.
    #[arg(required = true)]
    pub(crate) prompt: Vec<String>,
    /// The folder to work in.
    #[arg(short = 'C', long, value_name = "DIR")]
    pub(crate) cwd: Option<PathBuf>,
}

#[derive(Args, Debug)]
pub(crate) struct ToolsListArguments {
    /// Also the tools that are not offered; and of each, why it is or is not.
    #[arg(long)]
    pub(crate) all: bool,
    #[command(flatten)]
    pub(crate) agent: AgentArguments,
    /// As text, or as one JSON object a tool.
    #[arg(long, value_enum, default_value_t = Output::Text)]
    pub(crate) output: Output,
}

#[derive(Args, Debug)]
pub(crate) struct ToolsCallArguments {
    /// The tool.
    pub(crate) name: String,
    /// Its arguments as a JSON object; `-` reads them from standard input.
    #[arg(default_value = "{}")]
    pub(crate) arguments: String,
    /// The folder to work in.
    #[arg(short = 'C', long, value_name = "DIR")]
    pub(crate) cwd: Option<PathBuf>,
    /// The output as text, or the outcome as one JSON object.
    #[arg(long, value_enum, default_value_t = Output::Text)]
    pub(crate) output: Output,
}

#[derive(Args, Debug)]
pub(crate) struct SkillsListArguments {
    /// Also those that are shadowed, held back or invalid, in the order of precedence.
    #[arg(long)]
    pub(crate) all: bool,
    /// The folder to work in.
    #[arg(short = 'C', long, value_name = "DIR")]
    pub(crate) cwd: Option<PathBuf>,
    #[command(flatten)]
    pub(crate) skills: SkillFlags,
    #[command(flatten)]
    pub(crate) format: FormatArguments,
}

#[derive(Args, Debug)]
#[command(
    after_long_help = "Exit status: 0 it is shown; 2 there is none of that name, or several."
)]
pub(crate) struct SkillsShowArguments {
    /// Its name, also with its layer, `NAME@project`; or the path of a SKILL.md or of its folder.
    #[arg(value_name = "NAME[@LAYER]|PATH")]
    pub(crate) name: String,
    /// The folder to work in.
    #[arg(short = 'C', long, value_name = "DIR")]
    pub(crate) cwd: Option<PathBuf>,
    #[command(flatten)]
    pub(crate) skills: SkillFlags,
    #[command(flatten)]
    pub(crate) format: FormatArguments,
}

#[derive(Args, Debug)]
#[command(
    after_long_help = "Exit status: 0 all are valid; 1 an error was found; 2 there is nothing to check."
)]
pub(crate) struct SkillsValidateArguments {
    /// A SKILL.md, its folder, or a folder of skills.
    #[arg(required = true, value_name = "PATH")]
    pub(crate) paths: Vec<PathBuf>,
    /// An error that does not count, by its code: UNKNOWN-FIELD. Can be given more than once.
    #[arg(long, value_name = "CODE")]
    pub(crate) allow: Vec<String>,
    #[command(flatten)]
    pub(crate) format: FormatArguments,
}

#[derive(Args, Debug)]
pub(crate) struct SkillsNewArguments {
    /// Its name: lower-case letters, digits and hyphens.
    pub(crate) name: String,
    /// The folder of skills to put it in, instead of .harness/skills.
    #[arg(long, value_name = "DIR", conflicts_with = "user")]
    pub(crate) path: Option<PathBuf>,
    /// Put it into your own folder, for all projects.
    #[arg(long)]
    pub(crate) user: bool,
    /// The folder to work in.
    #[arg(short = 'C', long, value_name = "DIR")]
    pub(crate) cwd: Option<PathBuf>,
}

#[derive(Args, Debug)]
pub(crate) struct FormatArguments {
    /// As JSON: the same as --output json.
    #[arg(long)]
    pub(crate) json: bool,
    /// As text, or as JSON in one piece.
    #[arg(long, value_enum, default_value_t = Output::Text)]
    pub(crate) output: Output,
}

impl FormatArguments {
    /// Whether JSON is asked for.
    pub(crate) fn wants_json(&self) -> bool {
        self.json || self.output == Output::Json
    }
}

#[derive(Args, Debug)]
#[command(after_long_help = "Exit status: 0 it is shown; 2 it is not there, or no trace.")]
pub(crate) struct TraceArguments {
    /// The file: OTLP as JSON, or trace events as Chrome and Perfetto have them.
    pub(crate) file: PathBuf,
    /// The width in characters, at least 40; unless given, that of the terminal, or 100.
    #[arg(long, value_name = "N", value_parser = clap::value_parser!(u16).range(40..))]
    pub(crate) width: Option<u16>,
    /// Show every span, and what happened within it.
    #[arg(long)]
    pub(crate) all: bool,
    /// As text, or as one JSON object.
    #[arg(long, value_enum, default_value_t = Output::Text)]
    pub(crate) output: Output,
}

#[derive(Args, Debug)]
pub(crate) struct TelemetryArguments {
    /// As tables in Markdown, or as one line of JSON.
    #[arg(long, value_enum, default_value_t = Output::Text)]
    pub(crate) output: Output,
}

#[derive(Args, Debug)]
#[command(
    after_long_help = "Exit status: 0 a run could begin, 2 it could not. With --run, --read, --write or --net: 0 all \
    is allowed, 4 something would be asked about, 5 something is denied; 2 wrong usage or configuration."
)]
pub(crate) struct DoctorArguments {
    #[command(flatten)]
    pub(crate) model: ModelArguments,
    #[command(flatten)]
    pub(crate) agent: AgentArguments,
    #[command(flatten)]
    pub(crate) permissions: PermissionFlags,
    /// Say what would be decided about this command line, and by which rules, instead of all else. So also the
    /// next three; each can be given more than once.
    #[arg(long, value_name = "COMMAND")]
    pub(crate) run: Vec<String>,
    /// About reading this file or folder.
    #[arg(long, value_name = "PATH")]
    pub(crate) read: Vec<PathBuf>,
    /// About writing this file.
    #[arg(long, value_name = "PATH")]
    pub(crate) write: Vec<PathBuf>,
    /// About connecting to this host.
    #[arg(long, value_name = "HOST")]
    pub(crate) net: Vec<String>,
}

impl DoctorArguments {
    /// Whether it is asked about what may be done.
    pub(crate) fn asks_about_effects(&self) -> bool {
        !(self.run.is_empty()
            && self.read.is_empty()
            && self.write.is_empty()
            && self.net.is_empty())
    }
}

#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, ValueEnum)]
pub(crate) enum Output {
    /// Text for people.
    #[default]
    Text,
    /// JSON for programs.
    Json,
}

/// Reads a number of turns.
pub(crate) fn turns(text: &str) -> Result<u32, String> {
    match text.trim().parse::<u32>() {
        Ok(turns) if turns > 0 => Ok(turns),
        _ => Err("it must be a whole number of at least 1".to_owned()),
    }
}

/// Reads `90s`, `10m`, `1h30m`; a bare number counts seconds.
pub(crate) fn duration(text: &str) -> Result<Duration, String> {
    let text = text.trim();
    let duration = match text.parse::<u64>() {
        Ok(seconds) => Duration::from_secs(seconds),
        Err(_) => humantime::parse_duration(text)
            .map_err(|error| format!("{error}; write it as 90s, 10m or 1h30m"))?,
    };
    if duration.is_zero() {
        return Err("it must be more than zero".to_owned());
    }
    Ok(duration)
}
