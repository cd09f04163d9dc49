//! The state of plan mode in one session.

use std::path::{Path, PathBuf};
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};

use harness_core::{RunContext, ToolEffect, ToolEffects};
use harness_tools::{FileVersion, Files, SeenFiles};

use crate::error::Error;
use crate::middlewares::plan_mode::document::PlanDocument;
use crate::middlewares::plan_mode::file::PlanFile;

/// How far planning is.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Hash)]
#[non_exhaustive]
pub enum PlanState {
    /// There is no plan to think of.
    #[default]
    Off,
    /// The model looks around and writes a plan; nothing but the plan may change.
    Planning,
    /// The plan waits for approval; nothing but the plan may change.
    Proposed,
    /// The plan is carried out.
    Approved,
}

impl PlanState {
    /// Those that a plan file may name.
    pub(crate) const SAVED: [Self; 3] = [Self::Planning, Self::Proposed, Self::Approved];

    /// The word for it.
    pub fn word(self) -> &'static str {
        match self {
            Self::Off => "off",
            Self::Planning => "planning",
            Self::Proposed => "proposed",
            Self::Approved => "approved",
        }
    }

    /// Whether only what reads may run.
    pub fn is_read_only(self) -> bool {
        matches!(self, Self::Planning | Self::Proposed)
    }

    pub(crate) fn is_off(self) -> bool {
        self == Self::Off
    }
}

/// The plan mode of one session. It is in the run's attributes:
/// `attributes.get_or_insert_with(PlanMode::default)`.
///
/// What is changed here is written to the plan file before the method returns, which may block for as
/// long as the disk takes; before the session's first run, when the file is not known yet, with that run.
/// While the session lives, its own memory decides, whatever somebody makes of the file.
#[derive(Debug, Default)]
pub struct PlanMode(Mutex<Inner>);

#[derive(Debug, Default)]
struct Inner {
    state: PlanState,
    file: Option<PlanFile>,
    /// Why there is no file.
    unplaced: Option<String>,
    known: Known,
    /// The file is to be written as soon as it is known.
    unsaved: bool,
    /// What the file held when planning began: not yet the plan.
    old_body: Option<String>,
    /// The last warning, so that each is given once.
    warned: Option<String>,
    /// A warning that no run has told yet.
    untold: Option<String>,
}

/// The state of the file that is known.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
enum Known {
    /// It was not looked at yet.
    #[default]
    NotYet,
    /// There was none that can be used.
    Nothing,
    /// It was this one.
    Version(FileVersion),
}

impl Known {
    fn version(self) -> Option<FileVersion> {
        match self {
            Self::Version(version) => Some(version),
            Self::NotYet | Self::Nothing => None,
        }
    }

    fn is_not_yet(self) -> bool {
        self == Self::NotYet
    }
}

impl From<Option<FileVersion>> for Known {
    fn from(version: Option<FileVersion>) -> Self {
        version.map_or(Self::Nothing, Self::Version)
    }
}

/// A plan on its way to approval.
pub(crate) struct Proposal {
    pub(crate) path: PathBuf,
    pub(crate) text: String,
    /// Exactly this was proposed.
    pub(crate) version: Option<FileVersion>,
}

impl PlanMode {
    /// How far planning is.
    pub fn state(&self) -> PlanState {
        self.lock().state
    }

    /// The plan file, once a run has made it known.
    pub fn path(&self) -> Option<PathBuf> {
        let inner = self.lock();
        inner.file.as_ref().map(|file| file.path().to_owned())
    }

    /// Begins to plan. Holds at once, also if `Err` tells that it could not be saved.
    pub fn enter(&self) -> Result<(), Error> {
        let mut inner = self.lock();
        let saved = inner.enter();
        // Too strict is safe.
        inner.state = PlanState::Planning;
        inner.unsaved |= saved.is_err();
        saved.map_err(Error::Plan)
    }

    /// Approves the plan. `Err`, and nothing is approved, if there is none.
    pub fn approve(&self) -> Result<(), Error> {
        self.lock().approve().map_err(Error::Plan)
    }

    /// Leaves plan mode, or ends an approved plan. Holds at once, also if `Err` tells that it could not be
    /// saved.
    pub fn leave(&self) -> Result<(), Error> {
        let mut inner = self.lock();
        let saved = inner.leave();
        inner.state = PlanState::Off;
        inner.unsaved |= saved.is_err();
        saved.map_err(Error::Plan)
    }

    fn lock(&self) -> MutexGuard<'_, Inner> {
        self.0.lock().unwrap_or_else(PoisonError::into_inner)
    }

    /// Makes the file known, and reads it if that was not done yet. Gives a warning.
    pub(crate) fn place(
        &self,
        cx: &RunContext,
        files: &Arc<dyn Files>,
        folder: &Path,
    ) -> Option<String> {
        let mut inner = self.lock();
        if inner.file.is_none() {
            match PlanFile::locate(files, folder, cx.working_dir(), cx.session()) {
                Ok(file) => inner.file = Some(file),
                Err(problem) => {
                    inner.unplaced = Some(problem);
                    return None;
                }
            }
        }
        if inner.known.is_not_yet() {
            let problem = inner.look().err();
            return inner.warning(problem);
        }
        inner.untold.take()
    }

    /// Keeps a warning for the next run.
    pub(crate) fn tell_later(&self, warning: Option<String>) {
        if warning.is_some() {
            self.lock().untold = warning;
        }
    }

    /// Looks whether the file changed: one look if it did not. Gives a warning.
    pub(crate) fn refresh(&self) -> Option<String> {
        let mut inner = self.lock();
        // Off, there is nothing that the file could change.
        if inner.known.is_not_yet() || inner.state.is_off() {
            return None;
        }
        let problem = inner.look().err();
        inner.warning(problem)
    }

    /// The same, after a call that was let through to the file; and that the run knows it now.
    pub(crate) fn stamp(&self, cx: &RunContext) -> Result<(), String> {
        let mut inner = self.lock();
        let before = inner.known;
        if !inner.known.is_not_yet() {
            match inner.look() {
                Ok(()) | Err(Problem::Changed(_)) => {}
                Err(Problem::Unusable(problem)) => return Err(problem),
            }
        }
        if inner.known != before {
            inner.tell_seen(cx);
        }
        Ok(())
    }

    /// Whether a call with these effects may run now. `Ok(true)` if it writes the plan file; `Err` with
    /// words for the model.
    pub(crate) fn allow(&self, effects: &ToolEffects) -> Result<bool, String> {
        let inner = self.lock();
        if !inner.state.is_read_only() || effects.is_read_only() {
            return Ok(false);
        }
        let is_plan = |effect: &ToolEffect| match (effect, &inner.file) {
            (ToolEffect::Write(path), Some(file)) => file.is_at(path),
            (effect, _) => effect.is_read_only(),
        };
        if effects.iter().all(is_plan) {
            // A tool may name the file and follow what stands there.
            inner.placed()?.version()?;
            return Ok(true);
        }
        let reason = match inner.state {
            PlanState::Proposed => {
                "Plan mode: nothing may change before the user approves the plan. End your turn by \
                 presenting it."
            }
            _ => {
                "Plan mode: nothing but the plan may change. Look around with tools that read, write \
                 the plan with plan_write, then call plan_exit."
            }
        };
        Err(reason.to_owned())
    }

    /// Whether a call with these effects may run now in a run that was started within that of this plan mode.
    /// `Err` with words for the model.
    pub(crate) fn allow_within(&self, effects: &ToolEffects) -> Result<(), String> {
        if !self.state().is_read_only() || effects.is_read_only() {
            return Ok(());
        }
        let reason = "Plan mode: a plan is being made, and nothing may change. Look around with tools that read, and \
                      report what you find.";
        Err(reason.to_owned())
    }

    /// The path for the plan's writer.
    pub(crate) fn writes(&self) -> ToolEffects {
        match &self.lock().file {
            Some(file) => ToolEffects::write(file.path()),
            None => ToolEffects::unknown(),
        }
    }

    /// The path as the model is told it.
    pub(crate) fn shown(&self) -> String {
        let inner = self.lock();
        let shown = inner.file.as_ref().map(PlanFile::shown);
        shown.unwrap_or("its file").to_owned()
    }

    /// Begins to plan, if that can be saved.
    pub(crate) fn enter_saved(&self) -> Result<(), String> {
        let mut inner = self.lock();
        inner.placed()?;
        inner.enter()
    }

    /// Writes the plan.
    pub(crate) fn write(&self, cx: &RunContext, text: &str) -> Result<(), String> {
        let mut inner = self.lock();
        match inner.state {
            PlanState::Off => return Err("Plan mode is off. Call plan_enter first.".to_owned()),
            PlanState::Approved => {
                let text = "The plan is approved. To plan anew, call plan_enter.";
                return Err(text.to_owned());
            }
            PlanState::Planning | PlanState::Proposed => {}
        }
        if text.trim().is_empty() {
            return Err("The plan is blank. Give its full text.".to_owned());
        }
        let body = PlanDocument::body_of(text).to_owned();
        inner.put(PlanState::Planning, Some(body))?;
        inner.old_body = None;
        inner.tell_seen(cx);
        Ok(())
    }

    /// Proposes the plan.
    pub(crate) fn propose(&self) -> Result<Proposal, String> {
        let mut inner = self.lock();
        if !inner.state.is_read_only() {
            return Err("Plan mode is off; there is no plan to propose.".to_owned());
        }
        let Some(text) = inner.plan()? else {
            return Err("No plan is written yet. Write it with plan_write first.".to_owned());
        };
        inner.put(PlanState::Proposed, Some(text.clone()))?;
        Ok(Proposal {
            path: inner.placed()?.path().to_owned(),
            text,
            version: inner.known.version(),
        })
    }

    /// Approves what was proposed, if it is still that.
    pub(crate) fn approve_proposal(&self, proposal: &Proposal) -> Result<(), String> {
        let mut inner = self.lock();
        let same =
            inner.state == PlanState::Proposed && inner.placed()?.version()? == proposal.version;
        if !same {
            let text = "The plan changed while it was being approved. Call plan_exit again.";
            return Err(text.to_owned());
        }
        inner.approve()
    }

    /// The plan was rejected.
    pub(crate) fn reject(&self) -> Result<(), String> {
        let mut inner = self.lock();
        if inner.state == PlanState::Proposed {
            inner.put(PlanState::Planning, None)?;
        }
        Ok(())
    }
}

/// What came of a look at the file.
enum Problem {
    /// Somebody made something else of it.
    Changed(String),
    /// There is no using it.
    Unusable(String),
}

impl Inner {
    fn placed(&self) -> Result<&PlanFile, String> {
        self.file.as_ref().ok_or_else(|| {
            let unplaced = self.unplaced.as_deref();
            unplaced
                .unwrap_or("the plan file is not known before the first run")
                .to_owned()
        })
    }

    fn warning(&mut self, problem: Option<Problem>) -> Option<String> {
        let text = match problem? {
            Problem::Changed(text) | Problem::Unusable(text) => text,
        };
        if self.warned.as_ref() == Some(&text) {
            return None;
        }
        self.warned = Some(text.clone());
        Some(text)
    }

    fn enter(&mut self) -> Result<(), String> {
        match self.state {
            PlanState::Planning => Ok(()),
            PlanState::Proposed => self.put_or_later(PlanState::Planning),
            PlanState::Off | PlanState::Approved => {
                self.put_or_later(PlanState::Planning)?;
                // What lies there from before is not the plan that begins now.
                self.old_body = self.body().ok();
                Ok(())
            }
        }
    }

    fn approve(&mut self) -> Result<(), String> {
        match self.state {
            PlanState::Approved => Ok(()),
            PlanState::Off => Err("there is no plan to approve".to_owned()),
            PlanState::Planning | PlanState::Proposed => {
                let Some(plan) = self.plan()? else {
                    return Err("there is no plan to approve".to_owned());
                };
                self.put(PlanState::Approved, Some(plan))
            }
        }
    }

    fn leave(&mut self) -> Result<(), String> {
        if self.state.is_off() && !self.known.is_not_yet() {
            return Ok(());
        }
        self.put_or_later(PlanState::Off)
    }

    /// The plan that was written since planning began.
    fn plan(&self) -> Result<Option<String>, String> {
        let body = self.body()?;
        let is_old = self.old_body.as_ref() == Some(&body);
        Ok((!is_old && !body.trim().is_empty()).then_some(body))
    }

    fn body(&self) -> Result<String, String> {
        let text = self.placed()?.read()?;
        Ok(text.map_or_else(String::new, |(text, _)| {
            PlanDocument::body_of(&text).to_owned()
        }))
    }

    fn put_or_later(&mut self, state: PlanState) -> Result<(), String> {
        if self.file.is_none() && (self.unplaced.is_none() || state.is_off()) {
            self.state = state;
            self.unsaved = true;
            return Ok(());
        }
        self.put(state, None)
    }

    /// Writes state and plan, by default the plan that is there. On `Err` all is as it was.
    fn put(&mut self, state: PlanState, body: Option<String>) -> Result<(), String> {
        let body = match body {
            Some(body) => body,
            None => self.body()?,
        };
        let file = self.placed()?;
        let version = if state.is_off() && body.is_empty() && file.version()?.is_none() {
            None
        } else {
            Some(file.write(PlanDocument {
                state,
                session: None,
                body,
            })?)
        };
        self.state = state;
        self.known = version.into();
        self.unsaved = false;
        Ok(())
    }

    /// Takes in what became of the file since it was last known.
    fn look(&mut self) -> Result<(), Problem> {
        if self.unsaved {
            if self.known.is_not_yet() {
                // As in `enter`, when the file was not known yet.
                self.old_body = self.body().ok();
            }
            let saved = self.put(self.state, None);
            if saved.is_err() && self.known.is_not_yet() {
                self.known = Known::Nothing;
            }
            return saved.map_err(Problem::Unusable);
        }
        let version = self.placed().and_then(PlanFile::version);
        if matches!(&version, Ok(version) if self.known == Known::from(*version)) {
            return Ok(());
        }
        let first = self.known.is_not_yet();
        // Whatever is found, it was looked at.
        self.known = version.as_ref().ok().copied().flatten().into();
        let found = version.and_then(|_| self.placed()?.read());
        let document = match &found {
            Ok(Some((text, _))) => self.placed().and_then(|file| file.parse(text)),
            Ok(None) => Ok(PlanDocument::default()),
            Err(problem) => Err(problem.clone()),
        };
        if let Ok(Some((_, version))) = &found {
            self.known = Known::Version(*version);
        }
        if first || !self.state.is_read_only() {
            self.state = document
                .as_ref()
                .map_or(PlanState::Off, |found| found.state);
            self.old_body = None;
            return document.map(|_| ()).map_err(Problem::Unusable);
        }
        // Nothing that somebody writes there leads out of plan mode.
        let kept = document.is_ok_and(|found| found.state == self.state);
        if kept && self.state == PlanState::Planning {
            return Ok(());
        }
        // And another plan than the one that was proposed is not proposed.
        self.put(PlanState::Planning, None)
            .map_err(Problem::Unusable)?;
        if kept {
            return Ok(());
        }
        let text = "somebody changed the plan file's status; plan mode stays on";
        Err(Problem::Changed(text.to_owned()))
    }

    /// The run wrote the file, or knows what is in it: its tools need not refuse to write it.
    fn tell_seen(&self, cx: &RunContext) {
        let seen = cx.attributes().get::<SeenFiles>();
        if let (Some(seen), Some(file), Known::Version(version)) = (seen, &self.file, self.known)
            && seen.version(file.path()).is_some()
        {
            seen.record(file.path(), version);
        }
    }
}
