//! A stage for agents that work for an agent: each conversation has a script of its own, found by its first message.

use std::collections::BTreeMap;
use std::sync::{Arc, Mutex};

use harness_agent::core::test_support::{ManualClock, Reply, ScriptedModel};
use harness_agent::core::{
    CancellationToken, Message, Model, ModelError, ModelInfo, ModelRequest, ModelStream,
    ToolOutcome, UserPart, async_trait,
};
use harness_agent::middlewares::SubagentOptions;
use harness_agent::{AgentDeclaration, AgentHarness, AgentHarnessBuilder, Agents};
use tokio::sync::Semaphore;

/// What an actor does when it is asked.
#[derive(Clone)]
pub(crate) enum Act {
    Say(Reply),
    /// Says nothing until it is cancelled.
    Hang,
    /// The same, and lets another one go on first.
    HangAndRelease(Arc<Semaphore>),
    /// Waits for a permit, and says this then.
    When(Arc<Semaphore>, Reply),
    /// Lets another one go on, and says this.
    Release(Arc<Semaphore>, Reply),
    /// Says what fits what it was told.
    Fitting(fn(&ModelRequest) -> Reply),
}

impl From<Reply> for Act {
    fn from(reply: Reply) -> Self {
        Self::Say(reply)
    }
}

/// A model that plays all roles of a piece: which one is told by the first message of the conversation, and how far
/// it is by the number of replies in it. So it goes on after a crash where the conversation stands.
pub(crate) struct Cast {
    info: ModelInfo,
    scripts: BTreeMap<String, Vec<Act>>,
    asked: Mutex<Vec<(String, ModelRequest)>>,
}

impl Cast {
    pub(crate) fn new() -> Self {
        Self {
            info: Model::info(&ScriptedModel::new([])).clone(),
            scripts: BTreeMap::new(),
            asked: Mutex::default(),
        }
    }

    pub(crate) fn info(mut self, info: ModelInfo) -> Self {
        self.info = info;
        self
    }

    /// The script of the conversation that begins with `task`.
    pub(crate) fn actor<A: Into<Act>>(
        mut self,
        task: &str,
        acts: impl IntoIterator<Item = A>,
    ) -> Self {
        let acts = acts.into_iter().map(Into::into).collect();
        self.scripts.insert(task.to_owned(), acts);
        self
    }

    /// The requests of one conversation.
    pub(crate) fn requests_of(&self, task: &str) -> Vec<ModelRequest> {
        let asked = self.asked.lock().unwrap();
        let of = asked.iter().filter(|(first, _)| first == task);
        of.map(|(_, request)| request.clone()).collect()
    }

    pub(crate) fn count(&self) -> usize {
        self.asked.lock().unwrap().len()
    }
}

/// All texts of the user's side of a request, one a line.
pub(crate) fn said(request: &ModelRequest) -> Vec<String> {
    let mut said = Vec::new();
    for message in request.messages.iter() {
        if let Message::User(user) = &**message {
            for part in &user.content {
                if let UserPart::Text(text) = part {
                    said.push(text.text.clone());
                }
            }
        }
    }
    said
}

#[async_trait]
impl Model for Cast {
    fn info(&self) -> &ModelInfo {
        &self.info
    }

    async fn stream(
        &self,
        request: ModelRequest,
        cancel: CancellationToken,
    ) -> Result<ModelStream, ModelError> {
        let first = said(&request).first().cloned().unwrap_or_default();
        let replies = request
            .messages
            .iter()
            .filter(|message| matches!(&***message, Message::Assistant(_)))
            .count();
        self.asked
            .lock()
            .unwrap()
            .push((first.clone(), request.clone()));
        // Who plays everything else, such as a summary, says the same each time.
        let anybody = self.scripts.get("*");
        let act = self
            .scripts
            .get(&first)
            .or(anybody)
            .unwrap_or_else(|| panic!("nobody plays {first:?}"))
            .get(replies)
            .unwrap_or_else(|| panic!("{first:?} has no reply {replies}: {:?}", said(&request)))
            .clone();
        let reply = match act {
            Act::Say(reply) => reply,
            Act::Hang => {
                cancel.cancelled().await;
                return Err(ModelError::Cancelled);
            }
            Act::HangAndRelease(permits) => {
                permits.add_permits(1);
                cancel.cancelled().await;
                return Err(ModelError::Cancelled);
            }
            Act::When(permits, reply) => {
                permits.acquire().await.unwrap().forget();
                reply
            }
            Act::Fitting(reply) => reply(&request),
            Act::Release(permits, reply) => {
                permits.add_permits(1);
                reply
            }
        };
        ScriptedModel::new([reply])
            .info(self.info.clone())
            .stream(request, cancel)
            .await
    }
}

/// The id of the subagent that a call began, as a request tells it.
pub(crate) fn id_of(request: &ModelRequest, call: &str) -> String {
    for message in request.messages.iter() {
        let Message::ToolResults(results) = &**message else {
            continue;
        };
        for result in results.results.iter().filter(|it| it.call_id == call) {
            if let ToolOutcome::Done(output) = &*result.outcome
                && let Some(id) = output
                    .details
                    .as_ref()
                    .and_then(|it| it["subagent"]["id"].as_str())
            {
                return id.to_owned();
            }
        }
    }
    panic!("the call {call} began no subagent: {request:?}");
}

/// The agents of most tests: `helper` may do all, `looker` has one tool.
pub(crate) fn agents() -> Agents {
    Agents::discover(&[])
        .with(AgentDeclaration::new(
            "helper",
            "Helps.",
            "You are the helper.",
        ))
        .with(AgentDeclaration::new("looker", "Looks.", "You are the looker.").tools(["look"]))
}

pub(crate) fn options() -> SubagentOptions {
    SubagentOptions::new(agents())
}

pub(crate) fn builder(cast: &Arc<Cast>, options: SubagentOptions) -> AgentHarnessBuilder {
    AgentHarness::builder()
        .shared_model(cast.clone())
        .clock(Arc::new(ManualClock::new()))
        .subagents(options)
}

/// The arguments of `agent_spawn`.
pub(crate) fn task(agent: &str, task: &str) -> String {
    serde_json::json!({ "agent": agent, "task": task }).to_string()
}

pub(crate) fn background(agent: &str, task: &str) -> String {
    serde_json::json!({ "agent": agent, "task": task, "background": true }).to_string()
}
