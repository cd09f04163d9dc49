//! What is recorded of runs.

use std::fmt;
use std::sync::Arc;

use harness_core::{Middleware, Secrets, TraceContext};

use super::content::ContentCapture;
use super::hooks::HookSpans;
use super::inner::InnerSpans;
use super::outer::OuterSpans;
use crate::metrics::{MetricSink, NoMetrics};
use crate::{Schema, SchemaError, Schemas};

/// Records runs as spans. Cheap to clone; one serves any number of agents and runs.
///
/// ```
/// # fn example(config: harness_core::LoopConfigBuilder) -> harness_core::LoopConfigBuilder {
/// use harness_telemetry::middleware::Telemetry;
///
/// let telemetry = Telemetry::new("reviewer");
/// let config = telemetry
///     .middlewares()
///     .into_iter()
///     .fold(config, |config, middleware| config.shared_middleware(middleware));
/// # config
/// # }
/// ```
#[derive(Clone)]
pub struct Telemetry {
    pub(super) settings: Arc<Settings>,
}

#[derive(Clone)]
pub(super) struct Settings {
    pub(super) agent: String,
    pub(super) content: Option<ContentCapture>,
    pub(super) metrics: Arc<dyn MetricSink>,
    pub(super) propagation: Option<Arc<dyn Propagation>>,
    pub(super) hooks: bool,
    pub(super) schemas: Schemas,
}

/// Carries traces over the borders of the process. [`export`](crate::export) has one for OpenTelemetry.
pub trait Propagation: Send + Sync {
    /// The place of a span, for others to go on from; `None` if nobody records it.
    fn inject(&self, span: &tracing::Span) -> Option<TraceContext>;

    /// Makes a span that has just begun go on from another process's.
    fn extract(&self, span: &tracing::Span, from: &TraceContext);
}

impl Telemetry {
    /// Of an agent of this name: spans, without content, and nothing else.
    pub fn new(agent: impl Into<String>) -> Self {
        Self {
            settings: Arc::new(Settings {
                agent: agent.into(),
                content: None,
                metrics: Arc::new(NoMetrics),
                propagation: None,
                hooks: false,
                schemas: Schemas::built_in(),
            }),
        }
    }

    fn change(mut self, change: impl FnOnce(&mut Settings)) -> Self {
        change(Arc::make_mut(&mut self.settings));
        self
    }

    /// Measures, too.
    pub fn metrics(self, metrics: Arc<dyn MetricSink>) -> Self {
        self.change(|settings| settings.metrics = metrics)
    }

    /// Records content: prompts, replies, arguments and results of tools. By default, none of it is.
    pub fn capture_content(self, content: ContentCapture) -> Self {
        self.change(|settings| settings.content = Some(content))
    }

    /// Masks these wherever content is recorded, before anything else is looked at: see
    /// [`ContentCapture::secrets`]. Without content, it changes nothing.
    pub fn secrets(self, secrets: &Secrets) -> Self {
        if self.settings.content.is_none() || secrets.is_empty() {
            return self;
        }
        self.change(|settings| {
            let content = settings.content.take();
            settings.content = content.map(|content| content.secrets(secrets));
        })
    }

    /// Whether content is recorded.
    pub fn captures_content(&self) -> bool {
        self.settings.content.is_some()
    }

    /// Tells the services and processes that a run talks to where they are in its trace, and takes over a
    /// place that the caller was told. By default, neither.
    pub fn propagate(self, propagation: Arc<dyn Propagation>) -> Self {
        self.change(|settings| settings.propagation = Some(propagation))
    }

    /// Makes spans of the hooks of other middlewares, too, at level debug: see [`wrap`](Self::wrap). By
    /// default, it does not.
    pub fn hooks(self, on: bool) -> Self {
        self.change(|settings| settings.hooks = on)
    }

    /// Registers a schema of one's own, beside the built-in ones: what is listed, and what an exporter that is
    /// made of [`schemas`](Self::schemas) lets through.
    pub fn schema(self, schema: &'static Schema) -> Result<Self, SchemaError> {
        let schemas = self.settings.schemas.with(schema)?;
        Ok(self.change(|settings| settings.schemas = schemas))
    }

    /// The schemas that are registered. As JSON, a list of all that can be recorded.
    pub fn schemas(&self) -> &Schemas {
        &self.settings.schemas
    }

    /// The same for another agent, one that works for this one.
    pub fn for_agent(mut self, agent: impl Into<String>) -> Self {
        Arc::make_mut(&mut self.settings).agent = agent.into();
        self
    }

    /// The agent's name.
    pub fn agent(&self) -> &str {
        &self.settings.agent
    }

    /// The two middlewares.
    pub fn middlewares(&self) -> [Arc<dyn Middleware>; 2] {
        let settings = &self.settings;
        [
            Arc::new(OuterSpans(Arc::clone(settings))),
            Arc::new(InnerSpans(Arc::clone(settings))),
        ]
    }

    /// A middleware whose hooks are seen, if that is [switched on](Self::hooks); else the same one. It keeps its
    /// name, its place and its hooks.
    pub fn wrap(&self, middleware: Arc<dyn Middleware>) -> Arc<dyn Middleware> {
        if self.settings.hooks {
            Arc::new(HookSpans(middleware))
        } else {
            middleware
        }
    }
}

impl fmt::Debug for Telemetry {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("Telemetry")
            .field("agent", &self.settings.agent)
            .field("content", &self.settings.content.is_some())
            .field("propagation", &self.settings.propagation.is_some())
            .field("hooks", &self.settings.hooks)
            .finish_non_exhaustive()
    }
}

#[cfg(test)]
mod tests {
    use futures::executor::block_on;
    use harness_core::test_support::assert_hooks_honest;

    use super::*;

    #[test]
    fn both_say_which_hooks_they_have() {
        let settings = Telemetry::new("coder").settings;
        block_on(assert_hooks_honest(OuterSpans(Arc::clone(&settings))));
        block_on(assert_hooks_honest(InnerSpans(settings)));
    }
}
