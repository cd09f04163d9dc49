//! Fifty subagents at once: what each costs in memory, and how long it takes until it asks its model.
//!
//! `cargo bench -p harness-agent --bench subagents`. Bounded: fifty, a few rounds.

#![expect(
    clippy::print_stdout,
    clippy::expect_used,
    reason = "a benchmark tells what it measured, and ends if it cannot"
)]

use std::sync::atomic::{AtomicUsize, Ordering};
use std::sync::{Arc, Mutex, PoisonError};
use std::time::{Duration, Instant};

use harness_agent::core::test_support::{Reply, ScriptedModel};
use harness_agent::core::{
    CancellationToken, Message, Model, ModelError, ModelInfo, ModelRequest, ModelStream, UserPart,
    async_trait,
};
use harness_agent::middlewares::SubagentOptions;
use harness_agent::sessions::{Header, JsonlStore, Session};
use harness_agent::{AgentDeclaration, Agents, DefaultOptions, Workspace, default_harness};
use tokio::sync::Semaphore;

const CHILDREN: usize = 50;
const ROUNDS: usize = 5;

/// A model whose answers to subagents wait until all of them have asked.
struct Gate {
    info: ModelInfo,
    spawn: Reply,
    asked: AtomicUsize,
    times: Mutex<Vec<Instant>>,
    memory: Mutex<f64>,
    open: Semaphore,
}

#[async_trait]
impl Model for Gate {
    fn info(&self) -> &ModelInfo {
        &self.info
    }

    async fn stream(
        &self,
        request: ModelRequest,
        cancel: CancellationToken,
    ) -> Result<ModelStream, ModelError> {
        let is_parent = matches!(
            request.messages.first().map(|first| &**first),
            Some(Message::User(user))
                if matches!(user.content.first(), Some(UserPart::Text(text)) if text.text == "go")
        );
        let reply = if is_parent {
            if request.messages.len() == 1 {
                self.times().push(Instant::now());
                self.spawn.clone()
            } else {
                Reply::text("done")
            }
        } else {
            self.times().push(Instant::now());
            if self.asked.fetch_add(1, Ordering::Relaxed) + 1 == CHILDREN {
                *self.memory.lock().unwrap_or_else(PoisonError::into_inner) = resident();
                self.open.add_permits(CHILDREN);
            }
            let permit = self.open.acquire().await.expect("it is never closed");
            permit.forget();
            Reply::text("found it")
        };
        ScriptedModel::new([reply])
            .info(self.info.clone())
            .stream(request, cancel)
            .await
    }
}

impl Gate {
    fn times(&self) -> std::sync::MutexGuard<'_, Vec<Instant>> {
        self.times.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

/// What is resident, in MB.
fn resident() -> f64 {
    let status = std::fs::read_to_string("/proc/self/status").unwrap_or_default();
    let line = status.lines().find(|line| line.starts_with("VmRSS:"));
    let kilobytes = line.and_then(|line| line.split_whitespace().nth(1)?.parse::<f64>().ok());
    kilobytes.unwrap_or_default() / 1e3
}

#[tokio::main(flavor = "current_thread")]
async fn main() {
    let mut starts: Vec<Duration> = Vec::new();
    let mut memory = Vec::new();
    for _ in 0..ROUNDS {
        let folder = tempfile::tempdir().expect("a temporary folder");
        let mut spawn = Reply::new();
        for number in 0..CHILDREN {
            let task = serde_json::json!({
                "agent": "worker",
                "task": format!("find the definition number {number}"),
            });
            spawn = spawn.and_call(&format!("c{number}"), "agent_spawn", &task.to_string());
        }
        let gate = Arc::new(Gate {
            info: Model::info(&ScriptedModel::new([])).clone(),
            spawn,
            asked: AtomicUsize::new(0),
            times: Mutex::default(),
            memory: Mutex::default(),
            open: Semaphore::new(0),
        });
        let workspace = Workspace::new(folder.path());
        let mut options = DefaultOptions::new(gate.clone(), workspace);
        let declared = AgentDeclaration::new("worker", "Works.", "You do what you are told.");
        let store = JsonlStore::new(folder.path().join("sessions"));
        options.subagents = Some(
            SubagentOptions::new(Agents::default().with(declared))
                .max_at_once(CHILDREN)
                .store(Arc::new(store.clone())),
        );
        let agent = default_harness(options).expect("an agent");
        let header = Header::new(Some(folder.path().to_owned()));
        let session = Session::create(&store, header).expect("a session");
        let mut session = agent.session_in(session).expect("a session");
        let before = resident();
        let outcome = session.prompt("go").outcome().await.expect("an outcome");
        assert_eq!(outcome.answer(), "done");
        let times = gate.times().clone();
        assert_eq!(times.len(), CHILDREN + 1);
        starts.extend(times.windows(2).map(|pair| pair[1] - pair[0]));
        let at_work = *gate.memory.lock().unwrap_or_else(PoisonError::into_inner);
        memory.push((at_work - before) / CHILDREN as f64);
    }
    starts.sort();
    memory.sort_by(f64::total_cmp);
    let all: Duration = starts.iter().sum();
    println!(
        "start of one of {CHILDREN}: mean {:.3} ms, median {:.3} ms, longest {:.3} ms",
        all.as_secs_f64() * 1e3 / starts.len() as f64,
        starts[starts.len() / 2].as_secs_f64() * 1e3,
        starts[starts.len() - 1].as_secs_f64() * 1e3,
    );
    println!(
        "memory of one of {CHILDREN}: median {:.3} MB, most {:.3} MB",
        memory[memory.len() / 2],
        memory[memory.len() - 1],
    );
}
