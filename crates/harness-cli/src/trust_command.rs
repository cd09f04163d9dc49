//! `harness trust`: which projects may change how the agent works, and what was granted for them.

use std::fmt::Write as _;
use std::path::{Path, PathBuf};
use std::process::ExitCode;

use harness_trust::{Rule, Trust, TrustEntry, TrustStore, Verdict};

use crate::arguments::Output;
use crate::environment::Environment;
use crate::failure::{Exit, Failure};
use crate::project_contents;
use crate::project_trust::{self, shell_word};
use crate::run_permissions::TELLING;
use crate::settings::repository_root;
use crate::setup::working_folder;
use crate::terminal::one_line;
use crate::trust_arguments::{TrustAsk, TrustChange, TrustCommand, TrustForget, TrustList};
use crate::{stderr, stdout};

/// Carries out one of the commands.
pub(crate) fn run(command: &TrustCommand) -> Result<ExitCode, Failure> {
    let environment = Environment::read();
    let store = project_trust::store(&environment).ok_or_else(|| {
        Failure::configuration("there is no place for what is trusted")
            .hint("set HOME or XDG_DATA_HOME")
    })?;
    match command {
        TrustCommand::List(arguments) => list(&store, arguments),
        TrustCommand::Allow(change) => allow(&store, &environment, change),
        TrustCommand::Deny(change) => deny(&store, change),
        TrustCommand::Ask(change) => ask(&store, change),
        TrustCommand::Forget(arguments) => forget(&store, arguments),
    }
}

fn list(store: &TrustStore, arguments: &TrustList) -> Result<ExitCode, Failure> {
    let all = store.list().map_err(failed)?;
    let mut text = String::new();
    if arguments.output == Output::Json {
        for (folder, entry) in &all {
            let mut object = serde_json::to_value(entry).unwrap_or_default();
            if let Some(object) = object.as_object_mut() {
                object.insert("folder".to_owned(), folder.display().to_string().into());
            }
            let _ = writeln!(text, "{object}");
        }
    } else {
        for (folder, entry) in &all {
            text.push_str(&described(folder, entry));
        }
        if all.is_empty() {
            stderr::note("nothing is said of any folder; `harness trust allow` trusts this one");
        }
    }
    stdout::print(&text)?;
    Ok(Exit::Finished.into())
}

/// A folder and what is said of it.
fn described(folder: &Path, entry: &TrustEntry) -> String {
    let word = entry.trust.map_or("", Trust::word);
    let gone = if folder.is_dir() { "" } else { "  (not there)" };
    let path = one_line(&folder.display().to_string());
    let mut text = format!("{word:<5} {path}{gone}\n");
    for (tool, verdict) in &entry.tools {
        let _ = writeln!(text, "      {} tool {}", verdict.as_str(), one_line(tool));
    }
    let rules = [
        (Verdict::Deny, &entry.deny),
        (Verdict::Ask, &entry.ask),
        (Verdict::Allow, &entry.allow),
    ];
    for (verdict, rules) in rules {
        for rule in rules {
            let _ = writeln!(text, "      {} {}", verdict.as_str(), one_line(rule));
        }
    }
    text
}

fn allow(
    store: &TrustStore,
    environment: &Environment,
    change: &TrustChange,
) -> Result<ExitCode, Failure> {
    let folder = folder(change.folder.as_deref())?;
    if change.names_nothing() {
        check_width(&folder, environment)?;
        let folder = store.set(&folder, Trust::Full).map_err(failed)?;
        let told = told(&format!(
            "{} is trusted: its configuration, prompts, skills, agents and hooks are used, and commands run in the \
             sandbox without a question",
            folder.display()
        ));
        for rule in project_contents::allowed(&folder) {
            stderr::note(&format!("its configuration {rule}"));
        }
        return Ok(told);
    }
    one_by_one(store, &folder, &change.tools, &change.rules, Verdict::Allow)
}

fn deny(store: &TrustStore, change: &TrustChange) -> Result<ExitCode, Failure> {
    let folder = folder(change.folder.as_deref())?;
    if change.names_nothing() {
        let folder = store.set(&folder, Trust::None).map_err(failed)?;
        return Ok(told(&format!(
            "{} is not trusted: nothing of its own is used",
            folder.display()
        )));
    }
    one_by_one(store, &folder, &change.tools, &change.rules, Verdict::Deny)
}

fn ask(store: &TrustStore, change: &TrustAsk) -> Result<ExitCode, Failure> {
    let folder = folder(change.folder.as_deref())?;
    one_by_one(store, &folder, &change.tools, &change.rules, Verdict::Ask)
}

fn one_by_one(
    store: &TrustStore,
    folder: &Path,
    tools: &[String],
    rules: &[String],
    verdict: Verdict,
) -> Result<ExitCode, Failure> {
    for rule in rules {
        let rule = Rule::parse(verdict, rule).map_err(|error| Failure::usage(error.to_string()))?;
        if let Some(doubt) = rule.subject.doubt() {
            stderr::note(&doubt);
        }
    }
    for tool in tools {
        let lower = tool.to_lowercase();
        if *tool != lower && TELLING.contains(&lower.as_str()) {
            let hint = format!("the tool is called {lower}");
            return Err(Failure::usage(format!("there is no tool {tool}")).hint(hint));
        }
        store
            .set_tool(folder, tool, Some(verdict))
            .map_err(failed)?;
    }
    for rule in rules {
        store.add_rule(folder, verdict, rule).map_err(failed)?;
    }
    let tools = tools.iter().map(|tool| format!("the tool {tool}"));
    let rules = rules.iter().map(|rule| format!("`{rule}`"));
    let all: Vec<String> = tools.chain(rules).collect();
    Ok(told(&format!(
        "in {}: {} {}",
        folder.display(),
        verdict.as_str(),
        all.join(", ")
    )))
}

fn forget(store: &TrustStore, arguments: &TrustForget) -> Result<ExitCode, Failure> {
    let folder = match &arguments.folder {
        // It need not be there any more.
        Some(folder) => std::path::absolute(folder).unwrap_or_else(|_| folder.clone()),
        None => folder(None)?,
    };
    if !(arguments.tools.is_empty() && arguments.rules.is_empty()) {
        return forget_only(store, &folder, &arguments.rules, &arguments.tools);
    }
    if store.forget(&folder).map_err(failed)? {
        return Ok(told(&format!(
            "nothing is said of {} any more",
            folder.display()
        )));
    }
    let failure = Failure::usage(format!("nothing is said of {}", folder.display()));
    Err(failure.hint("`harness trust list` shows of which folders something is"))
}

/// Takes back single rules and tools; if one is not there, nothing.
fn forget_only(
    store: &TrustStore,
    folder: &Path,
    rules: &[String],
    tools: &[String],
) -> Result<ExitCode, Failure> {
    let (was_there, said) = store.forget_only(folder, rules, tools).map_err(failed)?;
    let named = |rule: &String| format!("`{rule}`");
    let of_tool = |tool: &String| format!("the tool {tool}");
    let joined = |rules: Vec<&String>, tools: Vec<&String>| {
        let tools = tools.into_iter().map(of_tool);
        let all: Vec<String> = tools.chain(rules.into_iter().map(named)).collect();
        all.join(", ")
    };
    let all: Vec<&String> = [&said.deny, &said.ask, &said.allow]
        .into_iter()
        .flatten()
        .collect();
    if was_there {
        let forgotten = joined(rules.iter().collect(), tools.iter().collect());
        return Ok(told(&format!(
            "nothing is said of {forgotten} in {} any more",
            folder.display()
        )));
    }
    let absent_rules = rules.iter().filter(|rule| !all.contains(rule)).collect();
    let absent_tools = tools.iter().filter(|it| !said.tools.contains_key(*it));
    let failure = Failure::usage(format!(
        "in {} nothing is said of {}",
        folder.display(),
        joined(absent_rules, absent_tools.collect())
    ));
    let there = joined(all, said.tools.keys().collect());
    Err(failure.hint(match there.as_str() {
        "" => "no rule and no tool is there".to_owned(),
        there => format!("there is: {there}"),
    }))
}

/// The folder that is meant: the one that is named, else the repository that one stands in.
fn folder(given: Option<&Path>) -> Result<PathBuf, Failure> {
    let folder = working_folder(given).map_err(|failure| Failure {
        hint: Some("name a folder that is there".to_owned()),
        ..failure
    })?;
    Ok(match given {
        Some(_) => folder,
        None => repository_root(&folder).unwrap_or(&folder).to_owned(),
    })
}

/// Trust in everything is none.
fn check_width(folder: &Path, environment: &Environment) -> Result<(), Failure> {
    let Some(what) = project_trust::width(folder, environment.home().as_deref()) else {
        return Ok(());
    };
    Err(Failure::usage(format!(
        "{} would trust {what}",
        shell_word(&folder.display().to_string())
    ))
    .hint("name the folder of a project; --trust is for one command"))
}

fn told(what: &str) -> ExitCode {
    stderr::note(what);
    Exit::Finished.into()
}

#[expect(
    clippy::needless_pass_by_value,
    reason = "so it can be given to map_err"
)]
fn failed(error: harness_trust::Error) -> Failure {
    Failure::failed(error.to_string())
}
