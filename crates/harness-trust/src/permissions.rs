//! The middleware that decides about each call.

use std::collections::BTreeMap;
use std::fmt;
use std::path::{Path, PathBuf};
use std::pin::pin;
use std::sync::Arc;

use async_trait::async_trait;
use futures::FutureExt;
use futures::future::{Either, select};
use harness_core::{
    ActiveCall, Event, FailurePolicy, HookDecision, HookSet, HookVerdict, Middleware, NextAgent,
    NextTool, PermissionDecision, PermissionReport, PermissionSource, Permit, RunContext, RunInput,
    RunOutcome, SubagentName, ToolEffects, ToolOutcome,
};

use crate::approver::{Answer, Approver, Never, Scope, SharedApprover};
use crate::atom::Atom;
use crate::atoms::Atoms;
use crate::decision::Decisions;
use crate::judgement::{Asked, Judgement, Report};
use crate::place_of_runs::PlaceOfRuns;
use crate::rule::{Rule, Verdict};
use crate::rules::Rules;
use crate::run_state::RunState;

/// How often somebody is asked again about a call because what it leads to has changed meanwhile.
const MAX_QUESTIONS: usize = 3;

/// The name of the middleware: who refuses a call, as the model is told.
const NAME: &str = "permissions";

/// Decides about each call by what it would do, before anything else sees it: `allow`, `deny` or `ask`.
///
/// What a rule or a yes lets through is handed on as a [`Permit`]: the call is held to it. What has to be asked
/// is asked of the [`Approver`], one question at a time; without one it is refused, with the rule that would
/// allow it. Each decision goes through the journal, so that nobody is asked twice about one call, and is told
/// of as [`Event::Permission`].
///
/// It stands outside all other middlewares but those that [record](harness_core::Middleware::order) runs and
/// the user's own hooks: a middleware that changes a call's arguments must stand further out than
/// [`Permissions::ORDER`], or the changed call is refused.
///
/// Nothing of a run is kept in it: what was granted for a run lies in the run's context. A run that was started
/// [within another](RunContext::parent) has that in common with it, and one question at a time stands open in all
/// of them. Its working folder is the place that decides if it lies in that of the run around it, and what rules
/// say of that place counts as well; any other folder does not count, and the place is that of the run around it.
#[derive(Clone)]
pub struct Permissions {
    settings: Arc<Settings>,
}

#[derive(Clone)]
struct Settings {
    rules: Rules,
    place: PlaceOfRuns,
    tools: BTreeMap<String, Verdict>,
    approver: Arc<dyn Approver>,
    remember: Option<Remember>,
    advice: Advice,
    refusals: Vec<Refusal>,
}

type Remember = Arc<dyn Fn(&[Rule]) -> Result<(), String> + Send + Sync>;
type Advice = Arc<dyn Fn(&[String], bool) -> String + Send + Sync>;
type Refusal = Arc<dyn Fn(&RunContext, &ToolEffects) -> Option<ToolOutcome> + Send + Sync>;

impl Permissions {
    /// Where it stands among middlewares.
    pub const ORDER: i32 = i32::MAX - 2;

    /// By these rules, in this place. What has to be asked is refused until there is an
    /// [approver](Self::approver).
    pub fn new(rules: Rules, place: PlaceOfRuns) -> Self {
        Self {
            settings: Arc::new(Settings {
                rules,
                place,
                tools: BTreeMap::new(),
                approver: Arc::new(Never),
                remember: None,
                advice: Arc::new(advice),
                refusals: Vec::new(),
            }),
        }
    }

    /// Who is asked. A run whose caller has a [`SharedApprover`] among its attributes asks that one; so does a run
    /// that was started within it, unless its own caller has another.
    pub fn approver(self, approver: Arc<dyn Approver>) -> Self {
        self.with(|settings| settings.approver = approver)
    }

    /// What is decided of a tool whatever it would do: `allow` opens all that no rule denies.
    pub fn tool(self, name: impl Into<String>, verdict: Verdict) -> Self {
        self.with(|settings| {
            settings.tools.insert(name.into(), verdict);
        })
    }

    /// Keeps rules that somebody said yes to for the whole project. Without it, that is not offered.
    pub fn remember(
        self,
        remember: impl Fn(&[Rule]) -> Result<(), String> + Send + Sync + 'static,
    ) -> Self {
        self.with(|settings| settings.remember = Some(Arc::new(remember)))
    }

    /// What to do about a call that nobody could be asked about: a sentence, from the rules that would allow
    /// it, and whether trust in the project would. There are none where a hook or a word for the tool asks.
    pub fn advice(
        self,
        advice: impl Fn(&[String], bool) -> String + Send + Sync + 'static,
    ) -> Self {
        self.with(|settings| settings.advice = Arc::new(advice))
    }

    /// What refuses a call further in, whatever is answered: so that nobody is asked for nothing.
    pub fn refused_by(
        self,
        refusal: impl Fn(&RunContext, &ToolEffects) -> Option<ToolOutcome> + Send + Sync + 'static,
    ) -> Self {
        self.with(|settings| settings.refusals.push(Arc::new(refusal)))
    }

    fn with(mut self, change: impl FnOnce(&mut Settings)) -> Self {
        change(Arc::make_mut(&mut self.settings));
        self
    }

    /// What would be decided about these effects, without asking anybody.
    pub fn decide(&self, tool: &str, effects: &ToolEffects, root: Option<&Path>) -> Decisions {
        let surroundings = self.settings.place.surroundings(root);
        let atoms = Atoms::of(tool, effects, &surroundings);
        let run = RunState::alone(Arc::new(surroundings));
        self.settings.decide(tool, &atoms, &run, None).0
    }
}

impl fmt::Debug for Permissions {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("Permissions")
            .field("rules", &self.settings.rules)
            .field("place", &self.settings.place)
            .field("tools", &self.settings.tools)
            .finish_non_exhaustive()
    }
}

#[async_trait]
impl Middleware for Permissions {
    fn name(&self) -> &'static str {
        NAME
    }

    fn order(&self) -> i32 {
        Self::ORDER
    }

    fn hooks(&self) -> HookSet {
        HookSet::AGENT | HookSet::TOOL_CALL
    }

    fn on_failure(&self) -> FailurePolicy {
        FailurePolicy::FailClosed
    }

    async fn on_agent(&self, cx: &RunContext, input: RunInput, next: NextAgent<'_>) -> RunOutcome {
        let cx = cx.with_value(RunState::new(&self.settings.place, cx));
        next.run(&cx, input).await
    }

    async fn on_tool_call(
        &self,
        cx: &RunContext,
        call: ActiveCall,
        next: NextTool<'_>,
    ) -> ToolOutcome {
        let effects = call.effects(cx);
        // What cannot be executed is told why, and by nobody else; but it must stay as it is.
        if call.check().is_err() {
            let permit = Permit::new(effects)
                .for_tool(&call.name)
                .with_arguments(Arc::clone(&call.arguments));
            return next.run(&cx.with_value(permit), call).await;
        }
        for refusal in &self.settings.refusals {
            if let Some(outcome) = refusal(cx, &effects) {
                return outcome;
            }
        }
        let outside;
        let run = if let Some(run) = cx.value::<RunState>() {
            run
        } else {
            outside = RunState::new(&self.settings.place, cx);
            &outside
        };
        let atoms = Atoms::of(&call.name, &effects, &run.surroundings);
        let asked = Asked {
            agent: SubagentName::path(cx),
            secrets: cx.secrets(),
            call: &call,
            effects: &effects,
            atoms: &atoms,
            surroundings: &run.surroundings,
            hook: cx.value(),
        };
        let words = asked.words();
        let mut judged = None;
        // What is on record may have been decided when a path led elsewhere.
        for _ in 0..2 {
            let judge = self.settings.judge(cx, &asked, run);
            let on_record = async { serde_json::to_value(judge.await).unwrap_or_default() };
            let Some(value) = next.decide(&call, "permission", on_record.boxed()).await else {
                return ToolOutcome::Interrupted;
            };
            let judgement: Option<Judgement> = serde_json::from_value(value).ok();
            judged = judgement.filter(|judgement| judgement.report.effects == words);
            if judged.is_some() {
                break;
            }
        }
        let Some(Judgement {
            report,
            exact,
            preview,
        }) = judged
        else {
            return denied("what the call would do has changed. Make it again.");
        };
        if report.decision == PermissionDecision::Deny {
            let reason = report.reason.clone();
            cx.emit(Event::Permission(Box::new(report)));
            return denied(reason.as_deref().unwrap_or("it is not allowed"));
        }
        let mut permit = Permit::new(effects.clone())
            .for_tool(&call.name)
            .except(self.settings.withheld(&atoms, run));
        if exact || !effects.is_known() {
            permit = permit.with_arguments(Arc::clone(&call.arguments));
        }
        if let Some(state) = preview {
            permit = permit.with_preview(state);
        }
        // A yes on record can be older than a rule that denies.
        let Some(denial) = self.settings.denial(&asked, run) else {
            cx.emit(Event::Permission(Box::new(report)));
            return next.run(&cx.with_value(permit), call).await;
        };
        let reason = denial.reason.clone().unwrap_or_default();
        permit = permit.withdrawn(reason.as_str());
        let outcome = next.run(&cx.with_value(permit), call.clone()).await;
        let is_refused = matches!(&outcome, ToolOutcome::Denied { by, reason: why } if by == NAME && *why == reason);
        let report = if is_refused { denial } else { report };
        cx.emit(Event::Permission(Box::new(report)));
        outcome
    }
}

impl Settings {
    /// What is decided, and whether the tool's verdict or a hook spared a question that rules would ask.
    fn decide(
        &self,
        tool: &str,
        atoms: &Atoms,
        run: &RunState,
        hook: Option<&HookVerdict>,
    ) -> (Decisions, bool) {
        let mut decisions = run.decide(&self.rules, atoms);
        let of_tool = self.tools.get(tool).copied();
        // The stricter one of both.
        let of_hook = hook.map(|hook| match hook.decision {
            HookDecision::Allow => Verdict::Allow,
            HookDecision::Ask => Verdict::Ask,
        });
        let mut is_opened = false;
        match of_tool.max(of_hook) {
            None => {}
            Some(Verdict::Allow) => {
                is_opened = decisions.verdict == Verdict::Ask;
                for (_, decision) in &mut decisions.each {
                    if decision.verdict == Verdict::Ask {
                        decision.verdict = Verdict::Allow;
                    }
                }
                let verdicts = decisions.each.iter().map(|(_, it)| it.verdict);
                decisions.verdict = verdicts.max().unwrap_or(Verdict::Allow);
            }
            Some(worse) => decisions.verdict = decisions.verdict.max(worse),
        }
        (decisions, is_opened)
    }

    /// The refusal of a call that the rules of this run deny, whatever was decided of it before.
    fn denial(&self, asked: &Asked<'_>, run: &RunState) -> Option<PermissionReport> {
        let (decisions, is_opened) = self.decide(&asked.call.name, asked.atoms, run, asked.hook);
        (decisions.verdict == Verdict::Deny).then(|| {
            let of_tool = self.tools.get(&asked.call.name).copied();
            Report {
                asked,
                decisions,
                of_tool,
                is_opened,
            }
            .by_rule()
            .report
        })
    }

    /// Whether the call would be allowed if the project were trusted.
    fn would_trust_help(&self, report: &Report<'_>, run: &RunState) -> bool {
        if self.place.is_trusted {
            return false;
        }
        let run = run.trusted(&self.place);
        run.decide(&self.rules, report.asked.atoms).verdict == Verdict::Allow
    }

    /// Which files of a folder a search leaves out, although the folder may be read.
    fn withheld(
        &self,
        atoms: &Atoms,
        run: &RunState,
    ) -> impl Fn(&Path) -> bool + Send + Sync + use<> {
        let (rules, run) = (self.rules.clone(), run.clone());
        let read = atoms.iter().filter_map(|atom| match atom {
            Atom::Read(path) => Some(path),
            _ => None,
        });
        // A folder that is itself such a file was let through as a whole.
        let opened: Vec<PathBuf> = read
            .filter(|path| run.withholds(&rules, path))
            .cloned()
            .collect();
        move |path| {
            if opened.iter().any(|folder| path.starts_with(folder)) {
                return run.denies(&rules, path);
            }
            run.withholds(&rules, path)
        }
    }

    /// Decides about a call: by rules, or by somebody's word.
    async fn judge(&self, cx: &RunContext, asked: &Asked<'_>, run: &RunState) -> Judgement {
        let decide = || self.decide(&asked.call.name, asked.atoms, run, asked.hook);
        let report = |(decisions, is_opened)| Report {
            asked,
            decisions,
            of_tool: self.tools.get(&asked.call.name).copied(),
            is_opened,
        };
        let decided = decide();
        if decided.0.verdict != Verdict::Ask {
            return report(decided).by_rule();
        }
        // One question at a time; and what the one before was answered may answer this one. The one before may be
        // of another run, which is not cancelled with this one.
        let asking = pin!(run.asking());
        let cancelled = pin!(cx.cancellation().cancelled());
        let Either::Left((_asking, _)) = select(asking, cancelled).await else {
            return report(decided).cancelled();
        };
        let decided = decide();
        if decided.0.verdict != Verdict::Ask {
            return report(decided).by_rule();
        }
        self.ask(cx, &report(decided), run).await
    }

    async fn ask(&self, cx: &RunContext, report: &Report<'_>, run: &RunState) -> Judgement {
        let Asked { call, effects, .. } = *report.asked;
        let mut runs = std::iter::successors(Some(cx), |run| run.parent());
        let shared = runs.find_map(|run| run.attributes().get::<SharedApprover>());
        let approver = shared.as_ref().map_or(&self.approver, |shared| &shared.0);
        let rules = report.rules();
        let mut again = false;
        for _ in 0..MAX_QUESTIONS {
            let preview = call.preview(cx).await;
            let shown = preview.as_ref().map(|preview| preview.text.clone());
            let shown = shown.or_else(|| report.asked.lines());
            let question = report.question(
                shown.map(|text| cx.secrets().mask(&text).into_owned()),
                rules.as_deref(),
                self.remember.is_some(),
                again,
            );
            let answer = approver.ask(cx, &question).await;
            if cx.cancellation().is_cancelled() {
                return report.cancelled();
            }
            let scope = match answer {
                Answer::Yes(scope) if question.scopes.contains(&scope) => scope,
                Answer::Yes(_) => Scope::Once,
                Answer::No { reason } => {
                    let reason = match reason {
                        Some(reason) => format!("the user said no: {reason}"),
                        None => "the user said no.".to_owned(),
                    };
                    return report.denied(PermissionSource::Person, &reason);
                }
                Answer::Nobody => {
                    let trust_helps = self.would_trust_help(report, run);
                    return report.nobody(&*self.advice, trust_helps);
                }
            };
            // What was looked at is what runs.
            if call.effects(cx) != *effects {
                let reason =
                    "what it leads to changed while it was asked about. Make the call again.";
                return report.denied(PermissionSource::Person, reason);
            }
            let now = call.preview(cx).await;
            let is_same = now.as_ref().map(|now| now.state) == preview.as_ref().map(|it| it.state);
            if !is_same {
                again = true;
                continue;
            }
            // A command line is the same text when a link in it leads elsewhere by now.
            let surroundings = report.asked.surroundings;
            if Atoms::of(&call.name, effects, surroundings) != *report.asked.atoms {
                let reason =
                    "what the call would do has changed while it was asked about. Make it again.";
                return report.denied(PermissionSource::Person, reason);
            }
            let rules = rules.unwrap_or_default();
            let mut judgement = report.allowed(scope);
            if scope >= Scope::Run {
                run.grant(&rules);
            }
            if scope == Scope::Project
                && let Some(remember) = &self.remember
                && let Err(problem) = remember(&rules)
            {
                let message = format!("what was allowed could not be kept: {problem}");
                cx.emit(Event::Warning { message });
                judgement.report.scope = Some(Scope::Run.word().to_owned());
            }
            judgement.preview = preview.map(|preview| preview.state);
            return judgement;
        }
        let reason = "what it would change keeps changing while it is asked about.";
        report.denied(PermissionSource::Person, reason)
    }
}

fn denied(reason: &str) -> ToolOutcome {
    ToolOutcome::Denied {
        by: NAME.to_owned(),
        reason: reason.to_owned(),
    }
}

fn advice(rules: &[String], trust_helps: bool) -> String {
    if rules.is_empty() {
        return "Only somebody who is asked can allow it.".to_owned();
    }
    let trust = if trust_helps {
        " So it would be in a project that is trusted."
    } else {
        ""
    };
    format!("It would be allowed by: {}.{trust}", rules.join(", "))
}
