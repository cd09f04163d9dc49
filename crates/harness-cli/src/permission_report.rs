//! What may be done, and why: for `harness doctor`.

use std::fmt::Write as _;
use std::sync::Arc;

use harness_core::{CommandEffect, ToolEffect, ToolEffects};
use harness_trust::{Never, Rule, Verdict};

use crate::arguments::DoctorArguments;
use crate::command_sandbox::CommandSandbox;
use crate::failure::Failure;
use crate::run_permissions;
use crate::setup::Setup;
use crate::terminal::one_line;

/// Lines of the report: a name and a value each.
pub(crate) type Lines = Vec<(String, String)>;

/// Trust, rules and the sandbox.
pub(crate) fn lines(setup: &Setup) -> Result<Lines, Failure> {
    let trust = &setup.settings.trust;
    let mut lines = Vec::new();
    let mut line = |name: &str, value: String| lines.push((name.to_owned(), one_line(&value)));
    line("project", trust.project().display().to_string());
    line("trust", trust.explain());
    if let Some(store) = trust.store() {
        line("kept in", store.path().display().to_string());
    }
    for (tool, (verdict, folder)) in &trust.found().tools {
        line(
            "tool",
            format!(
                "{verdict} {tool}  (by what was said of {})",
                folder.display()
            ),
        );
    }
    for (layer, rule, origin) in run_permissions::rules(setup)? {
        line("rule", format!("{rule}  ({layer}, from {origin})"));
    }
    line(
        "built-in rules",
        "see docs/security.md; `harness doctor --run COMMAND` shows which rule decides".to_owned(),
    );
    if let Some(note) = run_permissions::width(setup) {
        line("note", note);
    }
    let sandbox = CommandSandbox::of(setup, &setup.folder)?;
    for note in sandbox.absent() {
        line("note", note);
    }
    match &sandbox.policy {
        Some(policy) => line("sandbox", policy.to_string()),
        None if sandbox.missing.is_empty() => line("sandbox", "off".to_owned()),
        None => line(
            "sandbox",
            format!(
                "not possible here, so commands are asked about: {}",
                sandbox.missing.join("; ")
            ),
        ),
    }
    if sandbox.policy.is_some() {
        for missing in &sandbox.missing {
            line("sandbox lacks", missing.clone());
        }
    }
    Ok(lines)
}

/// What would be decided about the effects that were asked about, and the worst of it.
pub(crate) fn decisions(
    setup: &Setup,
    arguments: &DoctorArguments,
) -> Result<(String, Verdict), Failure> {
    let mut worst = Verdict::Allow;
    let sandbox = CommandSandbox::of(setup, &setup.folder)?;
    let place = run_permissions::place(setup, &setup.folder, false, sandbox.policy.is_some());
    let permissions = run_permissions::permissions(setup, place, false, Arc::new(Never), None)?;
    let trust = &setup.settings.trust;
    let mut text = String::new();
    let mut tell = |title: String, tool: &str, effect: ToolEffect| {
        let effects = ToolEffects::new([effect]);
        let decisions = permissions.decide(tool, &effects, None);
        worst = worst.max(decisions.verdict);
        let _ = writeln!(text, "{}: {}", decisions.verdict, one_line(&title));
        if let Some((verdict, folder)) = trust.found().tools.get(tool) {
            let folder = folder.display();
            let _ = writeln!(
                text,
                "  {verdict:<5} the tool {tool}  (by what was said of {folder})"
            );
        }
        for (atom, decision) in &decisions.each {
            let by = match &decision.rule {
                Some(rule) => format!("by {rule}"),
                None if decision.verdict == Verdict::Ask => "there is no rule".to_owned(),
                None => "by what was said of the tool".to_owned(),
            };
            let _ = writeln!(text, "  {:<5} {atom}  ({by})", decision.verdict.as_str());
        }
    };
    for command in &arguments.run {
        let effect = CommandEffect::new(command).in_folder(&setup.folder);
        tell(command.clone(), "bash", ToolEffect::Run(effect));
    }
    for path in &arguments.read {
        let real = setup.folder.join(setup.environment.expand_home(path));
        tell(
            format!("read {}", path.display()),
            "read",
            ToolEffect::Read(real),
        );
    }
    for path in &arguments.write {
        let real = setup.folder.join(setup.environment.expand_home(path));
        tell(
            format!("write {}", path.display()),
            "write",
            ToolEffect::Write(real),
        );
    }
    for host in &arguments.net {
        if let Err(error) = Rule::parse(Verdict::Ask, &format!("net({host})")) {
            return Err(Failure::usage(format!("--net: {error}")));
        }
        tell(
            format!("connect to {host}"),
            "net",
            ToolEffect::Network(host.clone()),
        );
    }
    Ok((text, worst))
}
