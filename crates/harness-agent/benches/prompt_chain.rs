//! What the system prompt costs before each turn: everything on and nothing changed, and ten middlewares of
//! which one has something to say.

use std::future::Future;
use std::path::Path;
use std::pin::pin;
use std::sync::Arc;
use std::task::{Context, Poll, Waker};
use std::time::{Duration, UNIX_EPOCH};

use criterion::{Criterion, criterion_group, criterion_main};
use harness_agent::core::test_support::ScriptedModel;
use harness_agent::core::{
    Caller, HookSet, LoopConfig, Middleware, MiddlewareError, Model, RunContext, SystemPrompt,
    async_trait,
};
use harness_agent::middlewares::{PlanModeMiddleware, WorkspaceContextOptions};
use harness_agent::skills::{Layer, Root, Skills};
use harness_agent::{AgentHarness, Workspace, default_tools};

/// Everything is there at once: nothing waits.
fn now<T>(future: impl Future<Output = T>) -> T {
    match pin!(future).poll(&mut Context::from_waker(Waker::noop())) {
        Poll::Ready(value) => value,
        Poll::Pending => unreachable!("nothing waits"),
    }
}

/// Five files of 4 KB each that the prompt takes in.
fn write_files(folder: &Path) -> std::io::Result<()> {
    let text = "A rule that somebody wrote down for agents, in one line of text.\n".repeat(60);
    for path in [
        "user/AGENTS.md",
        "project/AGENTS.md",
        "project/app/AGENTS.md",
        "project/app/MEMORY.md",
        "project/app/KNOWLEDGE.md",
    ] {
        let path = folder.join(path);
        if let Some(parent) = path.parent() {
            std::fs::create_dir_all(parent)?;
        }
        std::fs::write(&path, &text)?;
        // What changed just now is read again on the next turn; this is about what did not.
        let file = std::fs::File::options().write(true).open(&path)?;
        file.set_modified(UNIX_EPOCH + Duration::from_hours(400_000))?;
    }
    for number in 0..100 {
        let skill = folder.join(format!("skills/skill-{number}"));
        std::fs::create_dir_all(&skill)?;
        let text = format!(
            "---\nname: skill-{number}\ndescription: Does a thing that tasks need now and then. Use it when \
             they do.\n---\nDo it.\n"
        );
        std::fs::write(skill.join("SKILL.md"), text)?;
    }
    std::fs::create_dir(folder.join("project/.git"))
}

/// The whole chain: 100 skills, five files, the list of tasks and plan mode on.
fn loaded(folder: &Path) -> Result<AgentHarness, harness_agent::Error> {
    let workspace = Workspace::new(folder.join("project/app"));
    let mut context = WorkspaceContextOptions::default();
    context.user_folder = Some(folder.join("user"));
    let skills = Skills::discover(&[Root::new(Layer::User, folder.join("skills"))]);
    AgentHarness::builder()
        .model(ScriptedModel::new([]))
        .tools(default_tools(&workspace))
        .workspace(&workspace)
        .workspace_context(context)
        .skills(skills)
        .task_list(true)
        .plan_mode(PlanModeMiddleware::new())
        .build()
}

struct Says(HookSet);

#[async_trait]
impl Middleware for Says {
    fn name(&self) -> &'static str {
        "says"
    }

    fn hooks(&self) -> HookSet {
        self.0
    }

    async fn on_system_prompt(
        &self,
        _: &RunContext,
        prompt: SystemPrompt,
    ) -> Result<SystemPrompt, MiddlewareError> {
        Ok(prompt.with_section("says", "A sentence of its own.", self.name()))
    }
}

fn chain(criterion: &mut Criterion) {
    let Ok(folder) = tempfile::tempdir() else {
        return;
    };
    if write_files(folder.path()).is_err() {
        return;
    }
    let Ok(agent) = loaded(folder.path()) else {
        return;
    };
    let caller = Caller {
        working_dir: agent.working_dir().cloned(),
        ..Caller::default()
    };
    let cx = RunContext::detached(caller);
    let mut group = criterion.benchmark_group("system_prompt");
    group.bench_function("everything_unchanged", |bencher| {
        bencher.iter(|| now(agent.loop_config().assemble_system_prompt(&cx)));
    });
    let model: Arc<dyn Model> = Arc::new(ScriptedModel::new([]));
    for (name, idle) in [("one_middleware", 0), ("ten_of_which_one_speaks", 9)] {
        let mut builder = LoopConfig::builder(Arc::clone(&model))
            .system_prompt("A role.")
            .middleware(Says(HookSet::SYSTEM_PROMPT));
        for _ in 0..idle {
            builder = builder.middleware(Says(HookSet::all() - HookSet::SYSTEM_PROMPT));
        }
        let Ok(config) = builder.build() else {
            return;
        };
        group.bench_function(name, |bencher| {
            bencher.iter(|| now(config.assemble_system_prompt(&cx)));
        });
    }
    group.finish();
}

criterion_group!(benches, chain);
criterion_main!(benches);
