//! Everything that a run needs and that does not change while it goes.

use std::borrow::Cow;
use std::collections::HashMap;
use std::panic::AssertUnwindSafe;
use std::sync::Arc;

use futures::FutureExt;
use harness_prompt::{Fitted, SystemPrompt};

use crate::arguments;
use crate::batch::panic_text;
use crate::clock::{Clock, Entropy, SystemClock, SystemEntropy};
use crate::context::RunContext;
use crate::error::{Error, MiddlewareError};
use crate::event::Event;
use crate::journal::{Journal, NoJournal};
use crate::limits::Limits;
use crate::middleware::{FailurePolicy, Middleware};
use crate::model::{Model, ThinkingLevel};
use crate::next::Chains;
use crate::queue::QueueMode;
use crate::retry::RetryPolicy;
use crate::secrets::Secrets;
use crate::token_count::TokenCounter;
use crate::tool::{Execution, ToolRef, ToolSpecs};

/// The configuration of runs. Made once by [`LoopConfig::builder`], shared by any number of runs at a
/// time, cheap to clone.
#[derive(Clone)]
pub struct LoopConfig {
    pub(crate) inner: Arc<Inner>,
}

#[derive(Clone)]
pub(crate) struct Inner {
    pub(crate) model: Arc<dyn Model>,
    pub(crate) tools: ToolSet,
    pub(crate) system_prompt: SystemPrompt,
    pub(crate) chains: Chains,
    pub(crate) thinking: ThinkingLevel,
    pub(crate) execution: Execution,
    pub(crate) limits: Limits,
    pub(crate) retry: RetryPolicy,
    pub(crate) queue_mode: QueueMode,
    pub(crate) max_output_tokens: Option<u64>,
    pub(crate) temperature: Option<f32>,
    pub(crate) secrets: Secrets,
    pub(crate) token_counter: Option<Arc<dyn TokenCounter>>,
    pub(crate) journal: Arc<dyn Journal>,
    pub(crate) clock: Arc<dyn Clock>,
    pub(crate) entropy: Arc<dyn Entropy>,
}

impl LoopConfig {
    /// Starts a configuration with the one thing that it cannot do without.
    pub fn builder(model: Arc<dyn Model>) -> LoopConfigBuilder {
        LoopConfigBuilder {
            model,
            tools: Vec::new(),
            system_prompt: SystemPrompt::default(),
            middlewares: Vec::new(),
            thinking: ThinkingLevel::default(),
            execution: Execution::default(),
            limits: Limits::default(),
            retry: RetryPolicy::default(),
            queue_mode: QueueMode::default(),
            max_output_tokens: None,
            temperature: None,
            secrets: Secrets::new(),
            token_counter: None,
            journal: Arc::new(NoJournal),
            clock: Arc::new(SystemClock),
            entropy: Arc::new(SystemEntropy),
        }
    }

    /// The model that runs begin with.
    pub fn model(&self) -> &Arc<dyn Model> {
        &self.inner.model
    }

    /// The tools that runs begin with, in the order in which the model is told of them.
    pub fn tools(&self) -> &[ToolRef] {
        &self.inner.tools.tools
    }

    /// The system prompt before any middleware has seen it.
    pub fn system_prompt(&self) -> &SystemPrompt {
        &self.inner.system_prompt
    }

    /// The system prompt as the middlewares make it, in the bounds of
    /// [`Limits::system_prompt_tokens`], which is what the model gets.
    ///
    /// `Err` if a middleware that must not be passed over failed.
    pub async fn assemble_system_prompt(&self, cx: &RunContext) -> Result<Fitted, Error> {
        let prompt = self.compose_system_prompt(cx).await?;
        Ok(prompt.fit(self.system_prompt_budget(&*self.inner.model)))
    }

    /// How many tokens the system prompt may have for a model.
    pub(crate) fn system_prompt_budget(&self, model: &dyn Model) -> usize {
        let half = model.info().context_window.map(|window| window / 2);
        let most = self.inner.limits.system_prompt_tokens.or(half);
        most.map_or(usize::MAX, |most| most as usize)
    }

    /// The system prompt as the middlewares make it.
    pub(crate) async fn compose_system_prompt(
        &self,
        cx: &RunContext,
    ) -> Result<SystemPrompt, Error> {
        let mut prompt = self.inner.system_prompt.clone();
        for middleware in &*self.inner.chains.system_prompt {
            let before = prompt.clone();
            match caught(async { middleware.on_system_prompt(cx, prompt).await }).await {
                Ok(after) => prompt = after,
                Err(error) => {
                    hook_failed(cx, &**middleware, "on_system_prompt", error.0)?;
                    prompt = before;
                }
            }
        }
        Ok(self.masked(prompt))
    }

    /// A prompt whose sections, which may come from files, show no secret.
    fn masked(&self, mut prompt: SystemPrompt) -> SystemPrompt {
        if self.inner.secrets.is_empty() {
            return prompt;
        }
        for section in prompt.clone().sections() {
            if let Cow::Owned(text) = self.inner.secrets.mask(&section.text) {
                let mut section = section.clone();
                section.text = text.into();
                prompt = prompt.with(section);
            }
        }
        prompt
    }

    /// The same configuration, with another journal.
    pub fn with_journal(&self, journal: Arc<dyn Journal>) -> Self {
        let mut inner = self.inner.as_ref().clone();
        inner.journal = journal;
        Self {
            inner: Arc::new(inner),
        }
    }

    /// The middlewares, outermost first.
    pub fn middlewares(&self) -> &[Arc<dyn Middleware>] {
        &self.inner.chains.all
    }

    /// What is masked in all that tools give back.
    pub fn secrets(&self) -> &Secrets {
        &self.inner.secrets
    }

    /// The bounds.
    pub fn limits(&self) -> &Limits {
        &self.inner.limits
    }
}

/// Runs a hook that only changes or decides something. A panic in it is a failure of it.
///
/// Hooks around a model or the whole run have no such net: a panic there may be the model's, and goes
/// to whoever polls the run.
pub(crate) async fn caught<T>(
    hook: impl Future<Output = Result<T, MiddlewareError>>,
) -> Result<T, MiddlewareError> {
    let result = AssertUnwindSafe(hook).catch_unwind().await;
    result.unwrap_or_else(|panic| {
        let message = format!("it panicked: {}", panic_text(&*panic));
        Err(MiddlewareError(message))
    })
}

/// Passes over a failed hook, or ends the run, as the middleware says.
pub(crate) fn hook_failed(
    cx: &RunContext,
    middleware: &dyn Middleware,
    hook: &'static str,
    message: String,
) -> Result<(), Error> {
    let name = middleware.name();
    match middleware.on_failure() {
        FailurePolicy::FailOpen => {
            let message = format!("{name} failed in {hook} and was passed over: {message}");
            cx.emit(Event::Warning { message });
            Ok(())
        }
        FailurePolicy::FailClosed => Err(Error::Middleware {
            middleware: name.to_owned(),
            hook,
            message,
        }),
    }
}

impl std::fmt::Debug for LoopConfig {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.debug_struct("LoopConfig")
            .field("model", &self.inner.model.info().id)
            .field("tools", &self.inner.tools.tools)
            .field("limits", &self.inner.limits)
            .finish_non_exhaustive()
    }
}

/// Builds a [`LoopConfig`].
pub struct LoopConfigBuilder {
    model: Arc<dyn Model>,
    tools: Vec<ToolRef>,
    system_prompt: SystemPrompt,
    middlewares: Vec<Arc<dyn Middleware>>,
    thinking: ThinkingLevel,
    execution: Execution,
    limits: Limits,
    retry: RetryPolicy,
    queue_mode: QueueMode,
    max_output_tokens: Option<u64>,
    temperature: Option<f32>,
    secrets: Secrets,
    token_counter: Option<Arc<dyn TokenCounter>>,
    journal: Arc<dyn Journal>,
    clock: Arc<dyn Clock>,
    entropy: Arc<dyn Entropy>,
}

impl LoopConfigBuilder {
    /// Adds a tool.
    pub fn tool(mut self, tool: impl Into<ToolRef>) -> Self {
        self.tools.push(tool.into());
        self
    }

    /// Adds tools.
    pub fn tools(mut self, tools: impl IntoIterator<Item = ToolRef>) -> Self {
        self.tools.extend(tools);
        self
    }

    /// Sets the system prompt that middlewares start from.
    pub fn system_prompt(mut self, prompt: impl Into<SystemPrompt>) -> Self {
        self.system_prompt = prompt.into();
        self
    }

    /// Adds a middleware.
    pub fn middleware(self, middleware: impl Middleware) -> Self {
        self.shared_middleware(Arc::new(middleware))
    }

    /// Adds a middleware that is shared already.
    pub fn shared_middleware(mut self, middleware: Arc<dyn Middleware>) -> Self {
        self.middlewares.push(middleware);
        self
    }

    /// How much the model should think; fitted to what it knows.
    pub fn thinking(mut self, thinking: ThinkingLevel) -> Self {
        self.thinking = thinking;
        self
    }

    /// Whether batches may run in parallel. One sequential tool makes its batch sequential anyway.
    pub fn execution(mut self, execution: Execution) -> Self {
        self.execution = execution;
        self
    }

    /// Sets the bounds.
    pub fn limits(mut self, limits: Limits) -> Self {
        self.limits = limits;
        self
    }

    /// Sets how failed requests are retried.
    pub fn retry(mut self, retry: RetryPolicy) -> Self {
        self.retry = retry;
        self
    }

    /// How many queued messages are delivered at once.
    pub fn queue_mode(mut self, mode: QueueMode) -> Self {
        self.queue_mode = mode;
        self
    }

    /// The most tokens of one reply; by default what the model allows.
    pub fn max_output_tokens(mut self, tokens: u64) -> Self {
        self.max_output_tokens = Some(tokens);
        self
    }

    /// The sampling temperature; by default the provider's.
    pub fn temperature(mut self, temperature: f32) -> Self {
        self.temperature = Some(temperature);
        self
    }

    /// Secrets that must show in nothing that tools give back: their outcomes are masked before anything sees
    /// them, the journal included, and so is what they tell of how they get on. They are masked in the system
    /// prompt, too, which files have their place in. What a user or a model says is left as it is.
    ///
    /// Beside these, a middleware can add some for what it is around: see
    /// [`RunContext::with_secrets`](crate::RunContext::with_secrets).
    pub fn secrets(mut self, secrets: Secrets) -> Self {
        self.secrets = secrets;
        self
    }

    /// Counts tokens where no provider has counted yet; by default they are estimated.
    pub fn token_counter(mut self, counter: Arc<dyn TokenCounter>) -> Self {
        self.token_counter = Some(counter);
        self
    }

    /// Where the steps of runs are recorded; by default nowhere. One that belongs to a single run is
    /// given to that run: see [`RunOptions`](crate::RunOptions).
    pub fn journal(mut self, journal: Arc<dyn Journal>) -> Self {
        self.journal = journal;
        self
    }

    /// Sets the clock.
    pub fn clock(mut self, clock: Arc<dyn Clock>) -> Self {
        self.clock = clock;
        self
    }

    /// Sets where ids and jitter come from.
    pub fn entropy(mut self, entropy: Arc<dyn Entropy>) -> Self {
        self.entropy = entropy;
        self
    }

    /// The configuration, or what is wrong with it: two tools of one name, a name that providers
    /// refuse, a limit of zero.
    pub fn build(self) -> Result<LoopConfig, Error> {
        self.limits.check().map_err(Error::Config)?;
        if self.max_output_tokens == Some(0) {
            let problem = "the most tokens of a reply must be at least 1";
            return Err(Error::Config(problem.to_owned()));
        }
        let tools = ToolSet::new(self.tools)?;
        let thinking = self.model.info().nearest_thinking(self.thinking);
        Ok(LoopConfig {
            inner: Arc::new(Inner {
                model: self.model,
                tools,
                system_prompt: self.system_prompt,
                chains: Chains::new(self.middlewares),
                thinking,
                execution: self.execution,
                limits: self.limits,
                retry: self.retry,
                queue_mode: self.queue_mode,
                max_output_tokens: self.max_output_tokens,
                temperature: self.temperature,
                secrets: self.secrets,
                token_counter: self.token_counter,
                journal: self.journal,
                clock: self.clock,
                entropy: self.entropy,
            }),
        })
    }
}

impl std::fmt::Debug for LoopConfigBuilder {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.debug_struct("LoopConfigBuilder")
            .field("model", &self.model.info().id)
            .field("tools", &self.tools)
            .finish_non_exhaustive()
    }
}

/// Tools by name, in a stable order.
#[derive(Clone)]
pub(crate) struct ToolSet {
    pub(crate) tools: Arc<[ToolRef]>,
    by_name: Arc<HashMap<String, usize>>,
    pub(crate) specs: Arc<ToolSpecs>,
}

impl ToolSet {
    pub(crate) fn new(tools: Vec<ToolRef>) -> Result<Self, Error> {
        let mut by_name = HashMap::with_capacity(tools.len());
        for (index, tool) in tools.iter().enumerate() {
            let name = &tool.spec().name;
            let sound = (1..=64).contains(&name.len())
                && name
                    .bytes()
                    .all(|b| b.is_ascii_alphanumeric() || b == b'_' || b == b'-');
            if !sound {
                return Err(Error::Config(format!(
                    "`{name}` cannot be a tool's name: providers take 1 to 64 of a-z, A-Z, 0-9, _ and -"
                )));
            }
            if by_name.insert(name.clone(), index).is_some() {
                return Err(Error::Config(format!("there are two tools named `{name}`")));
            }
        }
        let specs = tools.iter().map(|tool| Arc::clone(tool.spec())).collect();
        Ok(Self {
            tools: tools.into(),
            by_name: Arc::new(by_name),
            specs: Arc::new(ToolSpecs::new(specs)),
        })
    }

    pub(crate) fn get(&self, name: &str) -> Option<&ToolRef> {
        self.by_name
            .get(name)
            .and_then(|index| self.tools.get(*index))
    }

    /// What to tell a model that asked for a tool which is not there.
    pub(crate) fn unknown(&self, name: &str) -> String {
        let name = arguments::echo(name);
        let names: Vec<&str> = self
            .tools
            .iter()
            .map(|tool| tool.spec().name.as_str())
            .collect();
        if names.is_empty() {
            format!("There is no tool `{name}`; there are no tools at all.")
        } else {
            format!(
                "There is no tool `{name}`. The tools are: {}.",
                names.join(", ")
            )
        }
    }
}
