//! From arguments and settings to an agent.

use std::hash::{DefaultHasher, Hash, Hasher};
use std::path::{Path, PathBuf};
use std::sync::Arc;

use harness_agent::middlewares::{UserHooksMiddleware, WorkspaceContextOptions};
use harness_agent::{AgentHarness, Agents, DefaultOptions, SystemPromptSource, default_harness};
use harness_core::{Caller, Limits, Secrets};
use harness_skills::Skills;
use harness_tools::{ShellOptions, Workspace};

use crate::arguments::{AgentArguments, ModelArguments};
use crate::command_sandbox::CommandSandbox;
use crate::demo::DemoProject;
use crate::environment::{Environment, otel};
use crate::failure::Failure;
use crate::hook_files::HookFiles;
use crate::model_choice::{Choice, Target, secret_variables};
use crate::named_file;
use crate::permission_arguments::PermissionFlags;
use crate::plan::Plan;
use crate::prompt_library::PromptLibrary;
use crate::run_permissions::Guards;
use crate::settings::{Setting, Settings};
use crate::telemetry::Recorder;
use crate::{
    agent_roots, hook_files, otel_variables, run_permissions, skill_diagnostics, skill_roots,
    stderr, subagents,
};

/// Where commands are looked for if `PATH` has no folder that can be used.
const USUAL_PATH: &str = "/usr/local/bin:/usr/bin:/bin";

/// Everything that a command needs.
pub(crate) struct Setup {
    pub(crate) environment: Environment,
    pub(crate) folder: PathBuf,
    pub(crate) settings: Settings,
    /// The prompts that there are.
    pub(crate) prompts: PromptLibrary,
}

impl Setup {
    /// Reads the environment and the configuration.
    pub(crate) fn read(model: &ModelArguments, agent: &AgentArguments) -> Result<Self, Failure> {
        Self::permitted(model, agent, &PermissionFlags::default())
    }

    /// The same, with what the command line says of what may be done.
    pub(crate) fn permitted(
        model: &ModelArguments,
        agent: &AgentArguments,
        permissions: &PermissionFlags,
    ) -> Result<Self, Failure> {
        let environment = Environment::read();
        let folder = working_folder(agent.cwd.as_deref())?;
        let settings = Settings::load(&environment, &folder, model, agent, permissions)?;
        let prompts = PromptLibrary::read(&environment, &settings, &folder);
        Ok(Self {
            environment,
            folder,
            settings,
            prompts,
        })
    }

    /// The skills that there are, looked for anew.
    pub(crate) fn skills(&self) -> Result<Skills, Failure> {
        skill_roots::discover(&self.environment, &self.settings, &self.folder)
    }

    /// The agents that work can be handed to, looked for anew.
    pub(crate) fn agents(&self) -> Agents {
        agent_roots::discover(&self.environment, &self.settings, &self.folder)
    }

    /// The user's hooks, read anew.
    pub(crate) fn hook_files(&self) -> Result<HookFiles, Failure> {
        HookFiles::read(&self.environment, &self.settings, &self.folder)
    }

    /// The middleware that runs the user's hooks, if there are any. What is to be known of their files is told.
    pub(crate) fn user_hooks(&self) -> Result<Option<UserHooksMiddleware>, Failure> {
        let files = self.hook_files()?;
        hook_files::tell(files.hooks.diagnostics());
        for file in &files.untrusted {
            let way = self.settings.trust.way();
            stderr::note(&format!("{} is not read; {way}", file.display()));
        }
        let shell = self.workspace(&self.folder).shell().clone();
        let hooks = UserHooksMiddleware::new(files.hooks).shell(shell);
        Ok((!hooks.hooks().is_empty()).then_some(hooks))
    }

    /// The workspace of the tools, in a folder.
    pub(crate) fn workspace(&self, folder: &Path) -> Workspace {
        let mut shell = ShellOptions::default();
        shell.search = self
            .environment
            .path()
            .map(|path| std::env::split_paths(&path).collect())
            .unwrap_or_default();
        // A home is no project, and what its owner runs is in it.
        let trust = &self.settings.trust;
        if !trust.is_full() {
            let folder = Some(folder).filter(|_| trust.width().is_none());
            let project = Some(trust.project()).filter(|_| trust.can_be_kept());
            let folders: Vec<&Path> = folder.into_iter().chain(project).collect();
            shell.search = self.environment.path_outside_of(&folders);
            // Without one, a shell has its own, in which `.` can be.
            if shell.search.is_empty() {
                shell.search = std::env::split_paths(USUAL_PATH).collect();
            }
            let path = std::env::join_paths(&shell.search);
            let path = path.unwrap_or_else(|_| USUAL_PATH.into());
            shell.variables.push(("PATH".into(), path));
        }
        let keys = secret_variables(&self.settings).into_iter();
        // What collectors are sent along lets who has it send there, too.
        let headers = otel::HEADERS.map(str::to_owned);
        let hidden = keys.chain(headers).map(Into::into);
        shell.hidden_variables = hidden.chain(Environment::change_commands()).collect();
        let startup = self.environment.bash_startup();
        shell
            .variables
            .extend(startup.map(|value| ("BASH_ENV".into(), value)));
        shell.output_folder = self.environment.temporary_folder();
        let workspace = Workspace::new(folder).with_shell(shell);
        match self.environment.home() {
            Some(home) => workspace.with_home(home),
            None => workspace,
        }
    }

    /// What must show in nothing: the keys that are there, also those of services that are not asked, and what
    /// collectors are sent along.
    fn secrets(&self, choice: &Choice) -> Secrets {
        let variables = secret_variables(&self.settings);
        let keys = variables
            .iter()
            .filter_map(|name| self.environment.key(name));
        let keys: Secrets = keys.collect();
        let secrets = keys.with(&otel_variables::secrets(&self.environment));
        match &choice.target {
            Target::Service(service) => secrets.with(&service.endpoint.secrets()),
            Target::Demo | Target::Scripted(_) | Target::Idle => secrets,
        }
    }

    /// What the model is told of its workspace.
    fn workspace_context(&self) -> WorkspaceContextOptions {
        let settings = &self.settings;
        let mut options = WorkspaceContextOptions::default();
        options.user_folder = self.environment.config_folder();
        options.temporary_folder = self.environment.temporary_folder();
        options.project_is_trusted = settings.trust.is_full();
        options.read_files = settings.context.as_ref().is_none_or(|read| read.value);
        if let Some(tokens) = &settings.context_tokens {
            options.tokens = tokens.value;
        }
        if let Some(files) = &settings.context_files {
            let expand = |file: &PathBuf| self.environment.expand_home(file);
            options.files = files.value.iter().map(expand).collect();
        }
        options
    }

    /// The agent. For the demonstration, also its project, which lives as long as the value.
    ///
    /// `guards` watch over calls. Without them there is no policy at all: for a command that runs no model, or a
    /// call that a person typed.
    pub(crate) fn agent(
        &self,
        choice: &Choice,
        arguments: &AgentArguments,
        limits: Limits,
        recorder: Option<&Recorder>,
        guards: Option<&Guards>,
    ) -> Result<(AgentHarness, Option<DemoProject>), Failure> {
        let demo = match choice.target {
            Target::Demo => Some(DemoProject::create(&self.environment)?),
            Target::Scripted(_) | Target::Service(_) | Target::Idle => None,
        };
        let folder = demo
            .as_ref()
            .map_or(self.folder.as_path(), DemoProject::folder);
        // The demonstration's script is the program's own.
        let sandbox = match &demo {
            Some(_) => CommandSandbox::off(),
            None => CommandSandbox::of(self, folder)?,
        };
        if let Some(note) = sandbox.note().filter(|_| guards.is_some()) {
            stderr::note(&note);
        }
        if guards.is_some() && demo.is_none() {
            let notes = sandbox.absent().chain(run_permissions::width(self));
            for note in notes {
                stderr::note(&note);
            }
        }
        let mut workspace = self.workspace(folder);
        let place = run_permissions::place(self, folder, demo.is_some(), sandbox.policy.is_some());
        if let Some(policy) = sandbox.policy {
            workspace = workspace.with_sandbox(policy);
        }
        let mut options = DefaultOptions::new(choice.model()?, workspace);
        // The demonstration's script needs all tools, whatever is configured.
        if demo.is_none() {
            options.tools = self
                .settings
                .tools
                .as_ref()
                .map(|tools| tools.value.clone());
        }
        options.workspace_context = self.workspace_context();
        let is_on = |setting: &Option<Setting<bool>>| setting.as_ref().is_some_and(|s| s.value);
        options.task_list = demo.is_none() && is_on(&self.settings.task_list);
        if demo.is_none() {
            let plan = Plan::of(self, &Caller::default());
            options.plan_mode = plan.middleware(is_on(&self.settings.plan_mode));
        }
        if let Some(Guards { approver, hooks }) = guards {
            if let Some(hooks) = hooks {
                options.middlewares.push(Arc::new(hooks.clone()));
            }
            let approver = Arc::clone(approver);
            let plan = options.plan_mode.as_ref();
            let permissions =
                run_permissions::permissions(self, place, demo.is_some(), approver, plan)?;
            options.middlewares.push(Arc::new(permissions));
        }
        for problem in &self.prompts.problems {
            stderr::note(problem);
        }
        options.library = self.prompts.library.clone();
        if demo.is_none() {
            let skills = self.skills()?;
            for note in skill_diagnostics::notes_of_run(&skills.catalogue()) {
                stderr::note(&note);
            }
            options.skills = Some(skills);
            options.subagents = subagents::options(self, choice);
        }
        if let Some(text) = &arguments.system_prompt {
            options.system_prompt = match text_or_file(text, &self.environment)? {
                text if text.trim().is_empty() => SystemPromptSource::Empty,
                text => SystemPromptSource::Text(text),
            };
        }
        for text in &arguments.append_system_prompt {
            options
                .append_system_prompt
                .push(text_or_file(text, &self.environment)?);
        }
        options.thinking = self
            .settings
            .thinking
            .as_ref()
            .map(|level| level.value)
            .unwrap_or_default();
        options.limits = limits;
        options.telemetry = recorder.and_then(Recorder::telemetry);
        options.secrets = self.secrets(choice);
        let agent =
            default_harness(options).map_err(|error| Failure::configuration(error.to_string()))?;
        for warning in &agent.assembly().warnings {
            stderr::note(warning);
        }
        if let Some(hooks) = guards.and_then(|guards| guards.hooks.as_ref()) {
            hook_files::tell_misfits(hooks.hooks(), &agent);
        }
        if guards.is_some() && demo.is_none() {
            let doubts = run_permissions::doubts(self, &run_permissions::tools(&agent))?;
            for doubt in &doubts {
                stderr::note(doubt);
            }
        }
        Ok((agent, demo))
    }
}

/// A name for the records of a working folder.
pub(crate) fn folder_key(folder: &Path) -> String {
    let mut hasher = DefaultHasher::new();
    folder.hash(&mut hasher);
    format!("{:016x}", hasher.finish())
}

/// The folder to work in, absolute.
pub(crate) fn working_folder(given: Option<&Path>) -> Result<PathBuf, Failure> {
    let current = std::env::current_dir().map_err(|error| {
        Failure::usage(format!("the current folder cannot be used: {error}"))
            .hint("it may have been deleted: change to another one")
    });
    let folder = match given {
        None => current?,
        Some(given) if given.is_absolute() => given.to_owned(),
        Some(given) => current?.join(given),
    };
    match std::fs::metadata(&folder) {
        Ok(metadata) if metadata.is_dir() => {}
        Ok(_) => {
            return Err(
                Failure::usage(format!("{} is not a folder", folder.display()))
                    .hint("name a folder with -C"),
            );
        }
        Err(error) => {
            return Err(Failure::usage(format!(
                "the folder {} cannot be used: {error}",
                folder.display()
            ))
            .hint("name one that is there with -C"));
        }
    }
    Ok(folder.canonicalize().unwrap_or(folder))
}

/// A text, or with `@` before it the text of a file. Like all paths of the command line it is
/// relative to the folder that the command was given in.
fn text_or_file(text: &str, environment: &Environment) -> Result<String, Failure> {
    let Some(name) = text.strip_prefix('@') else {
        return Ok(text.to_owned());
    };
    let path = environment.expand_home(Path::new(name));
    named_file::read(&path).map_err(|error| {
        Failure::usage(format!("cannot read {}: {error}", path.display()))
            .hint("behind @ stands the path of a file with the text")
    })
}
