//! `harness doctor`: what would be used, where it came from, what is wrong.

use std::fmt::Write;
use std::path::PathBuf;
use std::process::ExitCode;

use harness_agent::middlewares::PlanState;
use harness_core::{Caller, Limits};
use harness_telemetry::export::OtlpTarget;
use harness_trust::Verdict;

use crate::arguments::DoctorArguments;
use crate::demo::DemoProject;
use crate::environment::{Environment, VARIABLES};
use crate::failure::{Exit, Failure};
use crate::model_choice::{Choice, Target, secret_variables};
use crate::otel_variables::OtelVariables;
use crate::plan::Plan;
use crate::services::LocalServers;
use crate::session_report::SessionReport;
use crate::settings::{FileState, Setting, Settings};
use crate::setup::Setup;
use crate::terminal::one_line;
use crate::tools_command::no_model;
use crate::{permission_report, run_permissions, skill_report, stdout};

/// A report in the making.
#[derive(Default)]
struct Report {
    text: String,
    problems: Vec<String>,
}

impl Report {
    fn heading(&mut self, heading: &str) {
        if !self.text.is_empty() {
            self.text.push('\n');
        }
        self.text.push_str(heading);
        self.text.push('\n');
    }

    fn line(&mut self, name: &str, value: &str) {
        let _ = writeln!(self.text, "  {name:<14} {value}");
    }

    fn setting<T>(
        &mut self,
        name: &str,
        setting: Option<&Setting<T>>,
        show: impl Fn(&T) -> String,
    ) {
        match setting {
            Some(setting) => {
                let value = format!("{}  (from {})", show(&setting.value), setting.origin);
                self.line(name, &value);
            }
            None => self.line(name, "not set"),
        }
    }

    fn problem(&mut self, failure: &Failure) {
        let text = failure.text();
        self.problems
            .push(text.strip_prefix("error: ").unwrap_or(&text).to_owned());
    }
}

/// Reports. Exit status 0 if a run could begin, 2 if not; about effects, by the worst of what would be decided.
pub(crate) async fn run(arguments: DoctorArguments) -> Result<ExitCode, Failure> {
    if arguments.asks_about_effects() {
        let setup = Setup::permitted(&arguments.model, &arguments.agent, &arguments.permissions)?;
        let (text, verdict) = permission_report::decisions(&setup, &arguments)?;
        stdout::print(&text)?;
        return Ok(match verdict {
            Verdict::Allow => Exit::Finished,
            Verdict::Ask => Exit::Asked,
            Verdict::Deny => Exit::Denied,
        }
        .into());
    }
    let mut report = Report::default();
    report.heading("harness");
    report.line("version", env!("CARGO_PKG_VERSION"));
    report.line(
        "platform",
        &format!("{} {}", std::env::consts::OS, std::env::consts::ARCH),
    );
    match Setup::permitted(&arguments.model, &arguments.agent, &arguments.permissions) {
        Err(failure) => report.problem(&failure),
        Ok(setup) => {
            report.line("folder", &setup.folder.display().to_string());
            report_settings(&mut report, &setup.settings);
            report_environment(&mut report, &setup.environment, &setup.settings);
            report_model(&mut report, &setup).await;
            let tools = report_tools(&mut report, &setup, &arguments);
            report_permissions(&mut report, &setup, &tools);
            report_hooks(&mut report, &setup, &arguments);
            report_prompts(&mut report, &setup, &arguments).await;
            report_skills(&mut report, &setup);
            report_agents(&mut report, &setup);
            report_sessions(&mut report, &setup.environment);
            report_telemetry(&mut report, &setup.environment);
        }
    }
    report.heading("problems");
    let exit = if report.problems.is_empty() {
        report.line("none", "");
        Exit::Finished
    } else {
        for problem in std::mem::take(&mut report.problems) {
            let _ = writeln!(report.text, "  - {problem}");
        }
        Exit::Usage
    };
    let lines: Vec<&str> = report.text.lines().map(str::trim_end).collect();
    stdout::print(&lines.join("\n"))?;
    Ok(exit.into())
}

fn report_settings(report: &mut Report, settings: &Settings) {
    report.heading("configuration files");
    for file in &settings.files {
        let state = match file.state {
            FileState::Read => "read",
            FileState::Missing => "not there",
            FileState::Untrusted => "not read: its project is not trusted",
        };
        let _ = writeln!(report.text, "  {}: {state}", file.path.display());
    }
    report.heading("settings");
    report.setting("model", settings.model.as_ref(), Clone::clone);
    report.setting("api", settings.api.as_ref(), ToString::to_string);
    report.setting("base_url", settings.base_url.as_ref(), |address| {
        shown_address(address)
    });
    report.setting("api_key_env", settings.api_key_env.as_ref(), Clone::clone);
    report.setting("thinking", settings.thinking.as_ref(), |level| {
        level.as_str().to_owned()
    });
    report.setting(
        "max_turns",
        settings.max_turns.as_ref(),
        ToString::to_string,
    );
    report.setting("timeout", settings.timeout.as_ref(), |time| {
        humantime::format_duration(*time).to_string()
    });
    report.setting("tools", settings.tools.as_ref(), |tools| {
        if tools.is_empty() {
            "none".to_owned()
        } else {
            tools.join(", ")
        }
    });
    let yes_or_no = |on: &bool| if *on { "yes" } else { "no" }.to_owned();
    report.setting("task_list", settings.task_list.as_ref(), yes_or_no);
    report.setting("plan_mode", settings.plan_mode.as_ref(), yes_or_no);
    report.setting("context", settings.context.as_ref(), yes_or_no);
    report.setting(
        "context tokens",
        settings.context_tokens.as_ref(),
        ToString::to_string,
    );
    let joined = |paths: &Vec<PathBuf>| {
        let paths = paths.iter().map(|path| path.display().to_string());
        paths.collect::<Vec<_>>().join(", ")
    };
    report.setting("context files", settings.context_files.as_ref(), joined);
    let skills = &settings.skills;
    report.setting("skills", skills.enabled.as_ref(), yes_or_no);
    report.setting("--skill", skills.named.as_ref(), joined);
    report.setting("skills paths", skills.paths.as_ref(), joined);
    report.setting("skills policy", skills.policy.as_ref(), ToString::to_string);
    report.setting("skills claude", skills.claude.as_ref(), yes_or_no);
    report.setting("skills pi", skills.pi.as_ref(), yes_or_no);
    let agents = &settings.agents;
    report.setting("agents", agents.enabled.as_ref(), yes_or_no);
    report.setting("agents paths", agents.paths.as_ref(), joined);
    report.setting("agents claude", agents.claude.as_ref(), yes_or_no);
    report.setting("ca_file", settings.ca_file.as_ref(), |path| {
        path.display().to_string()
    });
    if let Some(repositories) = &skills.repositories {
        for repository in &repositories.value {
            let trusted = if repository.trusted { ", trusted" } else { "" };
            let address = shown_address(&repository.url);
            let origin = &repositories.origin;
            report.line("skills of", &format!("{address}{trusted}  (from {origin})"));
        }
    }
    for (name, provider) in &settings.providers {
        let address = match &provider.value.base_url {
            Some(address) => shown_address(address),
            None => "its usual address".to_owned(),
        };
        report.line(
            "provider",
            &format!("{name} at {address}  (from {})", provider.origin),
        );
    }
}

/// An address without what may be secret in it: user, password and query.
fn shown_address(address: &str) -> String {
    let address = address.split(['?', '#']).next().unwrap_or_default();
    let (scheme, rest) = match address.find("://") {
        Some(at) => address.split_at(at + 3),
        None => ("", address),
    };
    let host = rest.rsplit('@').next().unwrap_or_default();
    format!("{scheme}{host}")
}

fn report_environment(report: &mut Report, environment: &Environment, settings: &Settings) {
    report.heading("variables that are set");
    for (name, purpose) in VARIABLES {
        if environment.is_set(name) {
            report.line(name, purpose);
        }
    }
    let mut variables = secret_variables(settings);
    variables.sort();
    variables.dedup();
    for variable in variables {
        // Whether, never what.
        if environment.key(&variable).is_some() {
            report.line(
                &variable,
                "a key; commands that the agent runs do not see it",
            );
        }
    }
}

async fn report_model(report: &mut Report, setup: &Setup) {
    report.heading("model");
    let choice =
        match Choice::make(&setup.settings, &setup.environment, &LocalServers::usual()).await {
            Ok(choice) => choice,
            Err(failure) => {
                report.line("model", "none");
                report.problem(&failure);
                return;
            }
        };
    match &choice.target {
        Target::Demo => report.line("model", "demo, built in"),
        Target::Idle => report.line("model", "none"),
        Target::Scripted(path) => {
            report.line("model", &format!("scripted by {}", path.display()));
        }
        Target::Service(service) => {
            report.line("model", &service.info.id.to_string());
            report.line("protocol", service.api.as_str());
            report.line("address", &service.endpoint.url().unwrap_or_default());
            match &service.key_variable {
                Some(variable) => report.line("key", &format!("from {variable}")),
                None => report.line("key", "none is sent"),
            }
            let known = |number: Option<u64>| {
                number.map_or_else(
                    || "not known".to_owned(),
                    |number| format!("{number} tokens"),
                )
            };
            report.line("window", &known(service.info.context_window));
            report.line("output cap", &known(service.info.max_output_tokens));
            let prices = match service.info.prices {
                Some(prices) => format!("${} in, ${} out, a million", prices.input, prices.output),
                None => "not known: cost is not counted".to_owned(),
            };
            report.line("prices", &prices);
        }
    }
    report.line("because", &choice.because);
    let is_usable = match choice.target {
        Target::Demo => DemoProject::check(&setup.environment),
        Target::Scripted(_) | Target::Service(_) | Target::Idle => choice.model().map(drop),
    };
    if let Err(failure) = is_usable {
        report.problem(&failure);
    }
}

/// Gives the names of all tools, on offer or not.
fn report_tools(report: &mut Report, setup: &Setup, arguments: &DoctorArguments) -> Vec<String> {
    report.heading("tools");
    match setup.workspace(&setup.folder).shell().find_shell() {
        Ok(shell) => report.line("shell", &shell.display().to_string()),
        Err(error) => report.problem(&Failure::configuration(error.to_string())),
    }
    match setup.agent(&no_model(), &arguments.agent, Limits::default(), None, None) {
        Ok((agent, _)) => {
            let names: Vec<&str> = agent
                .loop_config()
                .tools()
                .iter()
                .map(|tool| tool.spec().name.as_str())
                .collect();
            let names = if names.is_empty() {
                "none".to_owned()
            } else {
                names.join(", ")
            };
            report.line("on offer", &names);
            for left_out in agent.assembly().tools.iter().filter(|tool| !tool.offered) {
                report.line(
                    "not on offer",
                    &format!("{}: {}", left_out.tool, left_out.why),
                );
            }
            report.line("batches", &agent.assembly().batches.why);
            return run_permissions::tools(&agent);
        }
        Err(failure) => report.problem(&failure),
    }
    Vec::new()
}

fn report_permissions(report: &mut Report, setup: &Setup, tools: &[String]) {
    report.heading("permissions");
    match permission_report::lines(setup) {
        Ok(lines) => {
            for (name, value) in lines {
                report.line(&name, &value);
            }
        }
        Err(failure) => report.problem(&failure),
    }
    for doubt in run_permissions::doubts(setup, tools).unwrap_or_default() {
        report.line("note", &one_line(&doubt));
    }
}

fn report_hooks(report: &mut Report, setup: &Setup, arguments: &DoctorArguments) {
    report.heading("hooks");
    match setup.hook_files() {
        Ok(files) => {
            if files.hooks.is_empty() && !files.is_off {
                let yours = setup.environment.config_folder();
                let yours = yours.map(|it| it.join("hooks.json").display().to_string());
                report.line("none", &format!("(yours: {})", yours.unwrap_or_default()));
            }
            let agent = (!files.hooks.is_empty())
                .then(|| setup.agent(&no_model(), &arguments.agent, Limits::default(), None, None));
            let agent = agent.and_then(Result::ok);
            for (name, line) in files.lines(agent.as_ref().map(|(agent, _)| agent)) {
                report.line(name, &line);
            }
        }
        Err(failure) => report.problem(&failure),
    }
}

async fn report_prompts(report: &mut Report, setup: &Setup, arguments: &DoctorArguments) {
    report.heading("prompts");
    let prompts = &setup.prompts;
    if let Some(config) = setup.environment.config_folder() {
        report.line("yours", &config.join("prompts").display().to_string());
    }
    if let Some(folder) = &prompts.untrusted {
        let state = "not read: its project is not trusted";
        report.line("project", &format!("{}: {state}", folder.display()));
    }
    for problem in &prompts.problems {
        report.line("note", problem);
    }
    let plan = Plan::of(setup, &Caller::default());
    if plan.state() != PlanState::Off {
        report.line("plan", &format!("{}, {}", plan.state().word(), plan.path()));
    }
    let Ok((agent, _)) = setup.agent(&no_model(), &arguments.agent, Limits::default(), None, None)
    else {
        return;
    };
    if let Ok(shown) = agent.system_prompt(Caller::default()).await {
        for warning in &shown.warnings {
            report.line("note", warning);
        }
    }
}

fn report_skills(report: &mut Report, setup: &Setup) {
    report.heading("skills");
    if let Some(enabled) = &setup.settings.skills.enabled
        && !enabled.value
    {
        let off = format!("but for those of --skill  (from {})", enabled.origin);
        report.line("off", &off);
        if setup.settings.skills.named.is_none() {
            return;
        }
    }
    let none = "`harness skills new NAME` makes one";
    match setup.skills() {
        Ok(skills) => {
            for (name, value) in skill_report::lines(&skills.catalogue(), none) {
                report.line(name, &one_line(&value));
            }
        }
        Err(failure) => report.problem(&failure),
    }
}

fn report_agents(report: &mut Report, setup: &Setup) {
    report.heading("agents");
    if let Some(enabled) = &setup.settings.agents.enabled
        && !enabled.value
    {
        report.line("off", &format!("(from {})", enabled.origin));
        return;
    }
    for (name, value) in skill_report::lines(&setup.agents().catalogue(), "") {
        report.line(name, &one_line(&value));
    }
}

fn report_sessions(report: &mut Report, environment: &Environment) {
    report.heading("sessions");
    let sessions = SessionReport::of(environment);
    for (name, value) in sessions.lines {
        report.line(name, &one_line(&value));
    }
    for problem in &sessions.problems {
        report.problem(problem);
    }
}

fn report_telemetry(report: &mut Report, environment: &Environment) {
    report.heading("telemetry");
    let variables = OtelVariables::read(environment);
    if let Some(problem) = variables
        .problem
        .as_ref()
        .filter(|_| variables.wants_collector)
    {
        let problem = format!("nothing is sent to a collector: {problem}");
        report.problem(&Failure::configuration(problem));
    }
    let target = |target: &Option<OtlpTarget>| match target {
        Some(target) => one_line(&shown_address(&target.endpoint)),
        None => "nowhere".to_owned(),
    };
    report.line("spans go to", &target(&variables.traces));
    report.line("metrics go to", &target(&variables.metrics));
    let yes = |is: bool| if is { "yes" } else { "no" };
    report.line("content is recorded", yes(variables.content));
    report.line("services and commands are told", yes(variables.propagate));
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn an_address_is_shown_without_secrets() {
        let checks = [
            ("http://h:1/v1", "http://h:1/v1"),
            ("http://u:pw@h/v1?key=k#f", "http://h/v1"),
            ("u:p/w@h", "h"),
            ("", ""),
        ];
        for (address, expected) in checks {
            assert_eq!(shown_address(address), expected);
        }
    }
}
