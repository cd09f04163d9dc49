//! A built-in section in one's own words: `cargo run -p harness-agent --example own_section`
//!
//! There are two ways. A template of the same name replaces the wording, with the same values to write
//! about. A middleware that comes after the built-in ones replaces the section itself.

#![expect(clippy::print_stdout, reason = "an example shows what it does")]

use harness_agent::AgentHarness;
use harness_agent::core::{
    Caller, HookSet, Middleware, MiddlewareError, RunContext, Section, SystemPrompt, async_trait,
};
use harness_agent::middlewares::WORKSPACE_SECTION;
use harness_agent::prompt::{Layer, Library, Parameter, Template};
use harness_providers::demo;

/// Says less about the workspace than the built-in section does.
struct ShortWorkspace;

#[async_trait]
impl Middleware for ShortWorkspace {
    fn name(&self) -> &'static str {
        "short-workspace"
    }

    // The user's middlewares see the prompt before the built-in ones do, unless they are further inside.
    fn order(&self) -> i32 {
        -1
    }

    fn hooks(&self) -> HookSet {
        HookSet::SYSTEM_PROMPT
    }

    async fn on_system_prompt(
        &self,
        cx: &RunContext,
        prompt: SystemPrompt,
    ) -> Result<SystemPrompt, MiddlewareError> {
        let Some(folder) = cx.working_dir() else {
            return Ok(prompt);
        };
        let text = format!("You work in {}.", folder.display());
        Ok(prompt.with(Section::new(WORKSPACE_SECTION, text, self.name())))
    }
}

#[tokio::main(flavor = "current_thread")]
async fn main() -> Result<(), Box<dyn std::error::Error>> {
    let role = Template::new(
        "system-prompt/role",
        "You are a proofreader{{#if tools}} with {{len tools}} tools{{/if}}.",
        vec![Parameter::optional(
            "tools",
            "the tools on offer",
            Vec::<String>::new(),
        )],
    )?;
    let mut library = Library::new();
    library.add_template(Layer::User, role, None)?;

    let agent = AgentHarness::builder()
        .model(demo()?)
        .library(library)
        .working_dir("/srv/texts")
        .middleware(ShortWorkspace)
        .build()?;
    let shown = agent.system_prompt(Caller::default()).await?;
    for section in shown.fitted.prompt.sections() {
        println!("{} (by {}): {}", section.name, section.source, section.text);
    }
    Ok(())
}
