//! Plan mode on the command line: one plan for each working folder, from one process to the next.

use std::fs::DirBuilder;
use std::os::unix::fs::DirBuilderExt;
use std::sync::Arc;

use harness_agent::middlewares::{PlanCommand, PlanMode, PlanModeMiddleware, PlanState};
use harness_core::Caller;

use crate::failure::Failure;
use crate::setup::{Setup, folder_key};
use crate::stderr;

/// The plan of a working folder.
pub(crate) struct Plan {
    middleware: PlanModeMiddleware,
    mode: Arc<PlanMode>,
}

/// What a task comes to.
pub(crate) enum Task {
    /// It was a command, and that is all.
    Obeyed(&'static str),
    /// It is for the model.
    Text(String),
}

impl Task {
    /// What is left of a task behind a command.
    fn of(rest: &str, obeyed: &'static str) -> Self {
        if rest.is_empty() {
            Self::Obeyed(obeyed)
        } else {
            Self::Text(rest.to_owned())
        }
    }
}

impl Plan {
    /// The plan of the folder that is worked in. It is kept with the user's own records, so that a project
    /// cannot bring along one that is approved.
    pub(crate) fn of(setup: &Setup, caller: &Caller) -> Self {
        let mut middleware = PlanModeMiddleware::new();
        if let Some(state) = setup.environment.state_folder() {
            middleware = middleware.folder(state.join("plans").join(folder_key(&setup.folder)));
        }
        // The attributes are the caller's own: what is done here counts in its runs.
        let caller = Caller {
            working_dir: Some(setup.folder.clone()),
            ..caller.clone()
        };
        let mode = middleware.mode(&caller);
        Self { middleware, mode }
    }

    /// Plan mode for an agent, if it is asked for or going on.
    pub(crate) fn middleware(&self, asked: bool) -> Option<PlanModeMiddleware> {
        (asked || self.mode.state() != PlanState::Off).then(|| self.middleware.clone())
    }

    pub(crate) fn state(&self) -> PlanState {
        self.mode.state()
    }

    /// Where the plan is.
    pub(crate) fn path(&self) -> String {
        let path = self.mode.path();
        path.map_or_else(String::new, |path| path.display().to_string())
    }

    /// Carries out the command that a task begins with, `/plan …`, or that `--plan` stands for.
    pub(crate) fn obey(&self, setup: &Setup, task: &str, asked: bool) -> Result<Task, Failure> {
        let failed = |error: harness_agent::Error| Failure::failed(error.to_string());
        let command = match PlanCommand::parse(task) {
            Some((command, rest)) => Some((command, rest)),
            None => asked.then_some((PlanCommand::Enter, task)),
        };
        // The model may enter by itself.
        let may_enter = setup.settings.plan_mode.as_ref().is_some_and(|on| on.value);
        if may_enter || matches!(command, Some((PlanCommand::Enter, _))) {
            make_private(setup);
        }
        Ok(match command {
            None => Task::Text(task.to_owned()),
            Some((PlanCommand::Off, rest)) => {
                self.mode.leave().map_err(failed)?;
                Task::of(rest, "plan mode is off")
            }
            Some((PlanCommand::Approve, rest)) => {
                self.mode.approve().map_err(|error| {
                    Failure::usage(error.to_string()).hint(
                        "`harness run --plan TASK` makes a plan, `harness doctor` shows its state",
                    )
                })?;
                let approved = "The plan is approved. Carry it out.";
                Task::Text(format!("{approved}\n\n{rest}").trim_end().to_owned())
            }
            Some((PlanCommand::Enter, rest)) => {
                self.mode.enter().map_err(failed)?;
                let on = "plan mode is on: until a plan is approved, nothing can be changed here";
                Task::of(rest, on)
            }
        })
    }

    /// Says that plan mode is on although nobody said so in this command.
    pub(crate) fn announce(&self) {
        if self.mode.state().is_read_only() {
            stderr::note(&format!(
                "plan mode is on in this folder, from an earlier run (the plan: {}): nothing can be \
                 changed until \"/plan approve\" or \"/plan off\"",
                self.path()
            ));
        }
    }

    /// Says how to go on after a run.
    pub(crate) fn tell_end(&self) {
        let next = match self.mode.state() {
            PlanState::Proposed => {
                "waits for approval: `harness run \"/plan approve\"` carries it out"
            }
            PlanState::Planning => {
                "is not proposed yet: go on, or leave with `harness run \"/plan off\"`"
            }
            _ => return,
        };
        stderr::note(&format!("the plan {} {next}", self.path()));
    }
}

/// What is kept between runs is for its owner only.
fn make_private(setup: &Setup) {
    if let Some(state) = setup.environment.state_folder() {
        let folder = state.join("plans").join(folder_key(&setup.folder));
        // If it cannot be made, writing the plan says so.
        let _ = DirBuilder::new().recursive(true).mode(0o700).create(folder);
    }
}
