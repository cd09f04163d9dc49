//! Tools: what a model may call.
//!
//! A tool is written typed — a struct, an argument type, one `async fn` — and used erased, as a
//! [`ToolRef`]. What the model is told (name, description, JSON Schema) comes from the same type that
//! the arguments are read into, so the two cannot drift apart.

use std::borrow::Cow;
use std::sync::{Arc, OnceLock};

use async_trait::async_trait;
use futures::future::BoxFuture;
use schemars::JsonSchema;
use serde::de::DeserializeOwned;
use serde::{Deserialize, Serialize};
use serde_json::Value;

use crate::arguments;
use crate::context::ToolContext;
use crate::message::EncodedSlot;
use crate::outcome::{ToolOutcome, ToolOutput};
use crate::permit::ToolPreview;
use crate::tool_effect::ToolEffects;

/// A tool with typed arguments.
///
/// ```
/// use harness_core::{Tool, ToolContext, ToolError, ToolOutput, async_trait};
/// use schemars::JsonSchema;
/// use serde::Deserialize;
///
/// /// Counts the words of a text.
/// #[derive(Deserialize, JsonSchema)]
/// struct CountWords {
///     /// The text to count in.
///     text: String,
/// }
///
/// struct WordCounter;
///
/// #[async_trait]
/// impl Tool for WordCounter {
///     type Args = CountWords;
///
///     fn name(&self) -> std::borrow::Cow<'_, str> {
///         "count_words".into()
///     }
///
///     async fn call(&self, _cx: &ToolContext, args: CountWords) -> Result<ToolOutput, ToolError> {
///         Ok(args.text.split_whitespace().count().to_string().into())
///     }
/// }
/// # let tool = harness_core::ToolRef::new(WordCounter);
/// # assert_eq!(tool.spec().description, "Counts the words of a text.");
/// ```
#[async_trait]
pub trait Tool: Send + Sync + 'static {
    /// The arguments. The doc comment of the type describes the tool, those of its fields describe
    /// the parameters.
    type Args: DeserializeOwned + JsonSchema + Send;

    /// The name that the model calls it by; `[a-zA-Z0-9_-]{1,64}`, what all providers accept.
    fn name(&self) -> Cow<'_, str>;

    /// What the model is told; by default the doc comment of `Args`.
    fn description(&self) -> Option<String> {
        None
    }

    /// Whether it may run beside other calls of its batch.
    fn execution(&self) -> Execution {
        Execution::Parallel
    }

    /// Whether crash recovery may run it again. Only a tool without effects should say `Safe`.
    fn replay(&self) -> Replay {
        Replay::Never
    }

    /// Why the tool cannot be offered here, if it cannot: what it needs is not there.
    fn unavailable(&self) -> Option<String> {
        None
    }

    /// Brings arguments into the advertised shape before anyone looks at them: other names for a
    /// parameter, an older layout. Middlewares and the tool see the result.
    fn prepare(&self, arguments: Value) -> Value {
        arguments
    }

    /// What a call with these arguments would do: the paths that it would read or write, absolute and
    /// with every symlink followed, the command that it would run. Policies such as plan mode decide by
    /// it before the call. The default, unknown, is always safe: it is treated as anything at all.
    fn effects(&self, cx: &ToolContext, args: &Self::Args) -> ToolEffects {
        let _ = (cx, args);
        ToolEffects::unknown()
    }

    /// What a call with these arguments would change, to be shown to somebody who is asked for a yes. A tool that
    /// gives one must not carry out another change under a [`Permit`](crate::Permit) that names its
    /// [state](ToolPreview::state). By default there is none.
    async fn preview(&self, cx: &ToolContext, args: Self::Args) -> Option<ToolPreview> {
        let _ = (cx, args);
        None
    }

    /// Runs the call.
    ///
    /// When `cx` is cancelled, return soon; after a grace period the future is dropped. Nothing that
    /// the call started may outlive the future.
    async fn call(&self, cx: &ToolContext, args: Self::Args) -> Result<ToolOutput, ToolError>;
}

/// Whether a call may run beside others of its batch.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize)]
#[serde(rename_all = "snake_case")]
pub enum Execution {
    /// It may.
    #[default]
    Parallel,
    /// A batch with such a call runs one call after another.
    Sequential,
}

/// Whether crash recovery may run a call again whose end was not recorded.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum Replay {
    /// It may: the call has no effect, or the same effect however often it runs.
    Safe,
    /// It may not; the model is told that the call was interrupted.
    #[default]
    Never,
}

/// What a model is told of a tool, and what the loop must know of it.
#[derive(Clone, Debug, PartialEq, Serialize)]
pub struct ToolSpec {
    /// The name.
    pub name: String,
    /// The description.
    pub description: String,
    /// JSON Schema of the arguments: an object.
    pub parameters: Value,
    /// Whether it may run beside others.
    pub execution: Execution,
    /// Whether crash recovery may run it again.
    pub replay: Replay,
}

/// The specs of all tools on offer, in a stable order, with room for their encoded form.
#[derive(Debug, Default)]
pub struct ToolSpecs {
    specs: Vec<Arc<ToolSpec>>,
    bytes: usize,
    encoded: EncodedSlot,
}

impl ToolSpecs {
    /// Specs, in the order in which a model is told of them.
    pub fn new(specs: Vec<Arc<ToolSpec>>) -> Self {
        let bytes = specs
            .iter()
            .map(|spec| spec.name.len() + spec.description.len() + json_len(&spec.parameters))
            .sum();
        Self {
            specs,
            bytes,
            encoded: EncodedSlot::default(),
        }
    }

    /// The specs.
    pub fn iter(&self) -> impl ExactSizeIterator<Item = &ToolSpec> {
        self.specs.iter().map(|spec| &**spec)
    }

    /// Whether there are none.
    pub fn is_empty(&self) -> bool {
        self.specs.is_empty()
    }

    /// The bytes made of these specs under `key`; see [`EncodedSlot::get_or_encode`].
    pub fn encoded(&self, key: u64, encode: impl FnOnce(&Self) -> String) -> Arc<str> {
        self.encoded.get_or_encode(key, || encode(self))
    }

    /// A rough count of the bytes that a model is sent for them.
    pub fn approximate_bytes(&self) -> usize {
        self.bytes
    }
}

fn json_len(value: &Value) -> usize {
    value.to_string().len()
}

/// Why a call failed, as the tool tells it.
///
/// Any error converts into [`ToolError::Failed`], so `?` works in tools; the model reads its words.
#[derive(Debug)]
#[non_exhaustive]
pub enum ToolError {
    /// The model is shown this and goes on.
    Failed(ToolOutput),
    /// A policy of the tool's own refused the call.
    Denied {
        /// The policy.
        by: String,
        /// Why, in words that a model can act on.
        reason: String,
    },
    /// The call ended because the run was cancelled.
    Cancelled,
    /// The run cannot go on. For broken surroundings, never for a model's mistake.
    Fatal(String),
}

impl ToolError {
    /// A failure with one text.
    pub fn failed(text: impl Into<String>) -> Self {
        Self::Failed(ToolOutput::text(text))
    }
}

impl<E: std::error::Error> From<E> for ToolError {
    fn from(error: E) -> Self {
        let mut text = error.to_string();
        let mut source = error.source();
        while let Some(cause) = source {
            let cause_text = cause.to_string();
            if !text.contains(&cause_text) {
                text.push_str(": ");
                text.push_str(&cause_text);
            }
            source = cause.source();
        }
        Self::failed(text)
    }
}

/// How an erased call ended: an outcome for the model, or the end of the run.
pub(crate) enum Called {
    Outcome(ToolOutcome),
    Fatal(String),
}

/// The private twin of [`Tool`], which can be a trait object.
trait ErasedTool: Send + Sync {
    fn unavailable(&self) -> Option<String>;
    fn prepare(&self, arguments: Value) -> Value;
    /// Whether the arguments can be read as the tool's own type.
    fn can_read(&self, arguments: &Value) -> bool;
    fn effects(&self, cx: &ToolContext, arguments: &Value) -> ToolEffects;
    fn preview<'a>(
        &'a self,
        cx: &'a ToolContext,
        arguments: &Value,
    ) -> BoxFuture<'a, Option<ToolPreview>>;
    fn call<'a>(
        &'a self,
        cx: &'a ToolContext,
        arguments: Value,
    ) -> BoxFuture<'a, Result<ToolOutput, ToolError>>;
}

impl<T: Tool> ErasedTool for T {
    fn unavailable(&self) -> Option<String> {
        Tool::unavailable(self)
    }

    fn prepare(&self, arguments: Value) -> Value {
        Tool::prepare(self, arguments)
    }

    fn can_read(&self, arguments: &Value) -> bool {
        T::Args::deserialize(arguments).is_ok()
    }

    fn effects(&self, cx: &ToolContext, arguments: &Value) -> ToolEffects {
        match T::Args::deserialize(arguments) {
            Ok(args) => Tool::effects(self, cx, &args),
            Err(_) => ToolEffects::unknown(),
        }
    }

    fn preview<'a>(
        &'a self,
        cx: &'a ToolContext,
        arguments: &Value,
    ) -> BoxFuture<'a, Option<ToolPreview>> {
        match T::Args::deserialize(arguments) {
            Ok(args) => Tool::preview(self, cx, args),
            Err(_) => Box::pin(std::future::ready(None)),
        }
    }

    fn call<'a>(
        &'a self,
        cx: &'a ToolContext,
        arguments: Value,
    ) -> BoxFuture<'a, Result<ToolOutput, ToolError>> {
        match serde_json::from_value::<T::Args>(arguments) {
            Ok(args) => Tool::call(self, cx, args),
            Err(error) => {
                let text = format!("The arguments do not fit the tool: {error}");
                Box::pin(std::future::ready(Err(ToolError::failed(text))))
            }
        }
    }
}

/// A tool, ready for use. Cheap to clone.
#[derive(Clone)]
pub struct ToolRef(Arc<Ready>);

struct Ready {
    spec: Arc<ToolSpec>,
    /// The schema asks for nothing that reading the arguments as their type does not.
    types_alone: bool,
    /// Compiled when first needed: most tools on offer are never called in a run, and most calls are
    /// sound.
    validator: OnceLock<Result<jsonschema::Validator, String>>,
    tool: Box<dyn ErasedTool>,
}

impl ToolRef {
    /// A typed tool.
    pub fn new<T: Tool>(tool: T) -> Self {
        let mut parameters = arguments::schema_of::<T::Args>();
        let documented = arguments::take_description(&mut parameters);
        let spec = ToolSpec {
            name: tool.name().into_owned(),
            description: tool.description().or(documented).unwrap_or_default(),
            parameters,
            execution: tool.execution(),
            replay: tool.replay(),
        };
        Self::from_parts(spec, Box::new(tool))
    }

    fn from_parts(spec: ToolSpec, tool: Box<dyn ErasedTool>) -> Self {
        Self(Arc::new(Ready {
            types_alone: arguments::asks_for_types_alone(&spec.parameters),
            spec: Arc::new(spec),
            validator: OnceLock::new(),
            tool,
        }))
    }

    /// What the model is told of it.
    pub fn spec(&self) -> &Arc<ToolSpec> {
        &self.0.spec
    }

    /// Arguments in the advertised shape; see [`Tool::prepare`]. Numbers and booleans that came as
    /// text are read as what the schema asks for, where that cannot be misread.
    pub fn prepare(&self, arguments: Value) -> Value {
        let mut arguments = self.0.tool.prepare(arguments);
        arguments::coerce(&mut arguments, &self.0.spec.parameters);
        arguments
    }

    /// What is wrong with prepared arguments, in words that a model can act on.
    pub fn validate(&self, arguments: &Value) -> Result<(), String> {
        if self.0.types_alone
            && !arguments::has_list_in_list(arguments)
            && self.0.tool.can_read(arguments)
        {
            return Ok(());
        }
        let compiled = self
            .0
            .validator
            .get_or_init(|| arguments::compile(&self.0.spec.parameters));
        match compiled {
            Ok(validator) => arguments::validate(validator, &self.0.spec, arguments),
            Err(problem) => Err(format!(
                "The tool `{}` cannot be called: its schema is invalid: {problem}",
                self.0.spec.name
            )),
        }
    }

    /// Why the tool cannot be offered here; see [`Tool::unavailable`].
    pub fn unavailable(&self) -> Option<String> {
        self.0.tool.unavailable()
    }

    /// Whether both are the same tool in memory.
    pub fn same(&self, other: &Self) -> bool {
        Arc::ptr_eq(&self.0, &other.0)
    }

    /// What a call with these arguments would do; unknown if they do not fit the tool.
    pub fn effects(&self, cx: &ToolContext, arguments: &Value) -> ToolEffects {
        self.0.tool.effects(cx, arguments)
    }

    /// What a call with these arguments would change, for somebody who is to say yes to it.
    pub async fn preview(&self, cx: &ToolContext, arguments: &Value) -> Option<ToolPreview> {
        self.0.tool.preview(cx, arguments).await
    }

    /// Prepares, validates and runs a call outside any run, as a slash command or a test does.
    pub async fn call(&self, cx: &ToolContext, arguments: Value) -> ToolOutcome {
        let arguments = self.prepare(arguments);
        if let Err(problem) = self.validate(&arguments) {
            return ToolOutcome::failed(problem);
        }
        match self.call_valid(cx, arguments).await {
            Called::Outcome(outcome) => outcome,
            Called::Fatal(message) => ToolOutcome::failed(message),
        }
    }

    /// Runs a call whose arguments were found valid.
    pub(crate) async fn call_valid(&self, cx: &ToolContext, arguments: Value) -> Called {
        Called::from(self.0.tool.call(cx, arguments).await)
    }
}

impl From<Result<ToolOutput, ToolError>> for Called {
    fn from(result: Result<ToolOutput, ToolError>) -> Self {
        Self::Outcome(match result {
            Ok(output) => ToolOutcome::Done(output),
            Err(ToolError::Failed(output)) => ToolOutcome::Failed(output),
            Err(ToolError::Denied { by, reason }) => ToolOutcome::Denied { by, reason },
            Err(ToolError::Cancelled) => ToolOutcome::Cancelled,
            Err(ToolError::Fatal(message)) => return Self::Fatal(message),
        })
    }
}

impl<T: Tool> From<T> for ToolRef {
    fn from(tool: T) -> Self {
        Self::new(tool)
    }
}

impl std::fmt::Debug for ToolRef {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        write!(f, "ToolRef({})", self.0.spec.name)
    }
}

type Handler = Box<
    dyn for<'a> Fn(&'a ToolContext, Value) -> BoxFuture<'a, Result<ToolOutput, ToolError>>
        + Send
        + Sync,
>;

/// A tool whose name and schema are known only at run time, such as one of a tool server.
pub struct DynamicTool {
    spec: ToolSpec,
    handler: Handler,
    effects: Option<DeclareEffects>,
}

type DeclareEffects = Box<dyn Fn(&ToolContext, &Value) -> ToolEffects + Send + Sync>;

impl DynamicTool {
    /// A tool that runs `handler`. `parameters` is the JSON Schema of an object.
    pub fn new(
        name: impl Into<String>,
        description: impl Into<String>,
        parameters: Value,
        handler: impl for<'a> Fn(&'a ToolContext, Value) -> BoxFuture<'a, Result<ToolOutput, ToolError>>
        + Send
        + Sync
        + 'static,
    ) -> Self {
        let spec = ToolSpec {
            name: name.into(),
            description: description.into(),
            parameters,
            execution: Execution::default(),
            replay: Replay::default(),
        };
        Self {
            spec,
            handler: Box::new(handler),
            effects: None,
        }
    }

    /// Says what a call would do; see [`Tool::effects`].
    pub fn effects(
        mut self,
        effects: impl Fn(&ToolContext, &Value) -> ToolEffects + Send + Sync + 'static,
    ) -> Self {
        self.effects = Some(Box::new(effects));
        self
    }

    /// Whether it may run beside other calls of its batch.
    pub fn execution(mut self, execution: Execution) -> Self {
        self.spec.execution = execution;
        self
    }

    /// Whether crash recovery may run it again.
    pub fn replay(mut self, replay: Replay) -> Self {
        self.spec.replay = replay;
        self
    }
}

struct Dynamic {
    handler: Handler,
    effects: Option<DeclareEffects>,
}

impl ErasedTool for Dynamic {
    fn unavailable(&self) -> Option<String> {
        None
    }

    fn prepare(&self, arguments: Value) -> Value {
        arguments
    }

    /// There is no type but the schema.
    fn can_read(&self, _: &Value) -> bool {
        false
    }

    fn effects(&self, cx: &ToolContext, arguments: &Value) -> ToolEffects {
        match &self.effects {
            Some(effects) => effects(cx, arguments),
            None => ToolEffects::unknown(),
        }
    }

    fn preview<'a>(&'a self, _: &'a ToolContext, _: &Value) -> BoxFuture<'a, Option<ToolPreview>> {
        Box::pin(std::future::ready(None))
    }

    fn call<'a>(
        &'a self,
        cx: &'a ToolContext,
        arguments: Value,
    ) -> BoxFuture<'a, Result<ToolOutput, ToolError>> {
        (self.handler)(cx, arguments)
    }
}

impl From<DynamicTool> for ToolRef {
    fn from(tool: DynamicTool) -> Self {
        let DynamicTool {
            spec,
            handler,
            effects,
        } = tool;
        Self::from_parts(spec, Box::new(Dynamic { handler, effects }))
    }
}

impl std::fmt::Debug for DynamicTool {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.debug_struct("DynamicTool")
            .field("spec", &self.spec)
            .finish_non_exhaustive()
    }
}
