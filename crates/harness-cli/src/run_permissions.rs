//! What a run may do: from settings and trust to the policy of an agent.

use std::path::{Path, PathBuf};
use std::sync::Arc;

use harness_agent::AgentHarness;
use harness_agent::middlewares::{PlanModeMiddleware, UserHooksMiddleware};
use harness_core::Caller;
use harness_trust::{
    Always, Approver, Layer, Never, Permissions, PlaceOfRuns, Rule, Rules, Verdict,
};

use crate::failure::Failure;
use crate::project_trust::shell_word;
use crate::settings::Origin;
use crate::setup::Setup;
use crate::stderr;
use crate::terminal_approver::TerminalApprover;
use crate::tty::Tty;

/// What watches over the calls of a run.
#[derive(Clone)]
pub(crate) struct Guards {
    /// Who is asked about what no rule allows.
    pub(crate) approver: Arc<dyn Approver>,
    /// The user's hooks.
    pub(crate) hooks: Option<UserHooksMiddleware>,
}

impl Guards {
    /// The person at the terminal, if there is one, and the user's hooks. The demonstration has no hooks: nothing
    /// in it is the user's.
    pub(crate) fn of(setup: &Setup, is_demo: bool) -> Result<Self, Failure> {
        let hooks = if is_demo { None } else { setup.user_hooks()? };
        let approver: Arc<dyn Approver> = match Tty::open() {
            Some(tty) => Arc::new(TerminalApprover::new(tty)),
            // All is allowed then, what a hook asks about as well.
            None if setup.settings.permissions.allow_all => Arc::new(Always),
            None => Arc::new(Never),
        };
        Ok(Self { approver, hooks })
    }

    /// Tells the hooks that the session is over, as far as this program is concerned.
    pub(crate) async fn end_session(&self, caller: &Caller) {
        let Some(hooks) = &self.hooks else {
            return;
        };
        for note in hooks.end_session(caller, "other").await {
            stderr::note(&note);
        }
    }
}

/// The rules that count in a folder, each with where it stands, those of the settings first.
pub(crate) fn rules(setup: &Setup) -> Result<Vec<(Layer, Rule, Origin)>, Failure> {
    let mut rules = setup.settings.permissions.rules.clone();
    let trust = &setup.settings.trust;
    if let Some(store) = trust.store() {
        let origin = Origin::Trust(store.path().to_owned());
        for (verdict, rule) in &trust.found().rules {
            let rule = Rule::parse(*verdict, rule)
                .map_err(|error| Failure::configuration(format!("{origin}: {error}")))?;
            rules.push((Layer::Granted, rule, origin.clone()));
        }
    }
    for (verdict, subject) in own_folders(setup) {
        // A path that no rule can name is asked about.
        if let Ok(rule) = Rule::parse(verdict, &subject) {
            rules.push((Layer::BuiltIn, rule, Origin::Program));
        }
    }
    Ok(rules)
}

/// What is to be said once of a folder that is no project, if it is none.
pub(crate) fn width(setup: &Setup) -> Option<String> {
    let what = setup.settings.trust.width()?;
    if setup.settings.permissions.allow_all {
        return None;
    }
    Some(format!(
        "{} is no project: {what} is in it, so that everything but reading is asked about, whatever is trusted; \
         work in the folder of a project (-C)",
        setup.folder.display()
    ))
}

/// The names of all tools, on offer or not.
pub(crate) fn tools(agent: &AgentHarness) -> Vec<String> {
    let on_offer = agent.loop_config().tools().iter();
    let on_offer = on_offer.map(|tool| tool.spec().name.clone());
    let decided = agent.assembly().tools.iter().map(|it| it.tool.clone());
    on_offer.chain(decided).collect()
}

/// What rules and words for tools likely do not mean as they are written, each in one sentence.
pub(crate) fn doubts(setup: &Setup, tools: &[String]) -> Result<Vec<String>, Failure> {
    let mut doubts = Vec::new();
    for (_, rule, origin) in rules(setup)? {
        let doubt = rule.subject.doubt();
        doubts.extend(doubt.map(|doubt| format!("{origin}: {doubt}")));
        let named: Vec<&String> = tools
            .iter()
            .filter(|tool| rule.subject.names_tool(tool) == Some(true))
            .collect();
        let is_of_tool = rule.subject.names_tool("").is_some();
        if is_of_tool && named.is_empty() {
            doubts.push(format!("{origin}: `{rule}` is about no tool that there is"));
        } else if let Some(tool) = named.iter().find(|tool| TELLING.contains(&tool.as_str())) {
            doubts.push(format!(
                "{origin}: `{rule}` is not about `{tool}`, which says what it does; `harness trust {} --tool \
                 {tool}` is",
                rule.verdict
            ));
        }
    }
    for (tool, (verdict, folder)) in &setup.settings.trust.found().tools {
        if !tools.contains(tool) {
            let folder = folder.display();
            doubts.push(format!(
                "{verdict} the tool {tool} (by what was said of {folder}): there is no such tool"
            ));
        }
    }
    Ok(doubts)
}

/// Tools that say what they do: rules about tools are not about them.
pub(crate) const TELLING: &[&str] = &["bash", "read", "write", "edit", "grep", "find", "ls"];

/// What the program's own tools need outside of the workspace: skills are read, plans are written. Its settings, and
/// what it holds to be trusted, are asked about also where the workspace is around them, as a home is.
fn own_folders(setup: &Setup) -> Vec<(Verdict, String)> {
    let environment = &setup.environment;
    let folder = |folder: PathBuf| {
        let real = folder.canonicalize().unwrap_or(folder);
        Some(format!("{}/**", real.to_str()?))
    };
    let skills = [
        environment.config_folder().map(|it| it.join("skills")),
        environment.cache_folder().map(|it| it.join("skills")),
        Some(environment.managed_skills()),
    ];
    let named = setup.settings.skills.named.iter();
    let named = named.flat_map(|named| named.value.clone()).map(Some);
    let skills = skills.into_iter().chain(named).flatten();
    let own = [environment.config_folder(), environment.data_folder()];
    let own = own.into_iter().flatten().filter_map(folder);
    let own = own.map(|it| (Verdict::Ask, format!("write({it})")));
    let read = skills.filter_map(folder).map(|it| format!("read({it})"));
    let plans = environment.state_folder().map(|it| it.join("plans"));
    let plans = plans.and_then(folder);
    let write = plans.map(|it| format!("write({it})"));
    let needed = read.chain(write).map(|it| (Verdict::Allow, it));
    needed.chain(own).collect()
}

/// Where runs take place.
pub(crate) fn place(setup: &Setup, folder: &Path, is_demo: bool, sandboxed: bool) -> PlaceOfRuns {
    let mut place = PlaceOfRuns::new(folder);
    place.home = setup.environment.home();
    place.temp = Some(setup.environment.temporary_folder());
    // The demonstration's project is the program's own.
    place.is_trusted = is_demo || setup.settings.trust.is_full();
    place.is_sandboxed = sandboxed;
    place
}

/// The policy of an agent that works in a folder.
pub(crate) fn permissions(
    setup: &Setup,
    place: PlaceOfRuns,
    is_demo: bool,
    approver: Arc<dyn Approver>,
    plan: Option<&PlanModeMiddleware>,
) -> Result<Permissions, Failure> {
    let mut all = Rules::new();
    for (layer, rule, _) in rules(setup)? {
        all.add(layer, rule);
    }
    if is_demo {
        // What it does is known, and it cannot wait for a yes.
        for subject in ["run", "opaque"] {
            if let Ok(rule) = Rule::parse(Verdict::Allow, subject) {
                all.add(Layer::BuiltIn, rule);
            }
        }
    }
    let trust = &setup.settings.trust;
    let mut permissions = Permissions::new(all, place).approver(approver);
    for (tool, (verdict, _)) in &trust.found().tools {
        permissions = permissions.tool(tool, *verdict);
    }
    // What is kept for a home holds in all that is in it: it is no project.
    let can_be_kept = !is_demo && trust.can_be_kept();
    if let Some(store) = trust.store().cloned().filter(|_| can_be_kept) {
        let project = trust.project().to_owned();
        permissions = permissions.remember(move |rules| {
            for rule in rules {
                store
                    .add_rule(&project, rule.verdict, &rule.subject.to_string())
                    .map_err(|error| error.to_string())?;
            }
            Ok(())
        });
    }
    permissions = permissions.advice(advice);
    if let Some(plan) = plan {
        let plan = plan.clone();
        permissions = permissions.refused_by(move |cx, effects| plan.refuses(cx, effects));
    }
    Ok(permissions)
}

/// What to do about a call that nobody could be asked about.
fn advice(rules: &[String], trust_helps: bool) -> String {
    if rules.is_empty() {
        return "The user can allow it with `harness run --allow-all`, or say yes at a terminal."
            .to_owned();
    }
    let flags: Vec<String> = rules
        .iter()
        .map(|rule| format!("--allow {}", shell_word(rule)))
        .collect();
    let mut text = format!(
        "The user can allow it with `harness run {}`",
        flags.join(" ")
    );
    text.push_str(if trust_helps {
        ", or trust the project with `harness trust allow` or --trust."
    } else {
        "."
    });
    if rules.iter().any(|rule| rule == "opaque") {
        text.push_str(" What cannot be read cannot be denied either.");
    }
    text
}
