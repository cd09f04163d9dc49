//! Where subagents come from: made for a call, or woken from their sessions.

use std::hash::{DefaultHasher, Hash, Hasher};
use std::sync::Arc;

use harness_core::{Attributes, Caller, Event, RunContext, SubagentName};
use harness_session::{
    Access, Error as SessionError, Header, MemoryStore, Parent, Session, SessionId, Store,
};
use harness_skills::Digest;

use super::child::{Child, Children};
use super::errand::Errand;
use super::host::{Host, Made};
use crate::agent_declaration::{AgentDeclaration, Isolation};
use crate::harness::AgentHarness;
use crate::session::AgentSession;
#[cfg(feature = "tools")]
use crate::worktree::{self, Worktree};

/// The subagents of a run's session.
pub(crate) fn children(cx: &RunContext) -> Arc<Children> {
    cx.attributes().get_or_insert_with(Children::default)
}

/// The subagent that a call begins: the same one if the call is made again after a crash. `Err` in words for a
/// model.
pub(crate) async fn begin(
    host: &Host,
    cx: &RunContext,
    call: &str,
    declaration: &AgentDeclaration,
    task: &str,
) -> Result<Arc<Child>, String> {
    // Some providers count their calls anew after a while; the task tells those apart.
    let call = format!(
        "{call} {} {}",
        declaration.name,
        Digest::of(task.as_bytes())
    );
    let id = id(cx, &call, &declaration.name);
    let children = children(cx);
    if let Some(known) = children.get(&id).filter(|it| !it.is_lost()) {
        return Ok(known);
    }
    let (harness, folder) = agent_of(host, cx, &id, declaration, true).await?;
    let session = match kept(host, cx) {
        Some((store, parent)) => {
            let derived = parent.derived(&call);
            match open(store, derived, parent) {
                Err(SessionError::NotFound(_)) => {
                    let mut header = Header::new(harness.working_dir().cloned());
                    header.id = derived;
                    header.parent = Some(Parent {
                        session: parent,
                        entry: None,
                        agent: Some(id.clone()),
                    });
                    Session::create(store, header)
                }
                opened => opened,
            }
        }
        None => Session::create(
            &MemoryStore::default(),
            Header::new(harness.working_dir().cloned()),
        ),
    };
    let session = session.map_err(|error| format!("It has no session: {error}"))?;
    let session = session_of(cx, &harness, session, &id, &declaration.name)?;
    let child = Child::new(id, declaration.name.clone(), session);
    let child = Arc::new(folder.put(child));
    children.add(Arc::clone(&child));
    Ok(child)
}

/// The subagent of an errand that an earlier process began. `Err` in words for a model.
pub(crate) async fn wake(
    host: &Host,
    cx: &RunContext,
    errand: &Errand,
) -> Result<Arc<Child>, String> {
    let children = children(cx);
    if let Some(known) = children.get(&errand.id).filter(|it| !it.is_lost()) {
        return Ok(known);
    }
    let declaration = host.options.agents.find(&errand.agent);
    let declaration = declaration.map_err(|error| error.to_string())?;
    let (harness, folder) = agent_of(host, cx, &errand.id, &declaration, false).await?;
    let Some((store, parent)) = kept(host, cx) else {
        return Err("it was kept in memory, and did not outlive its process".to_owned());
    };
    let session: SessionId = errand.session.parse()?;
    let session = open(store, session, parent).map_err(|error| error.to_string())?;
    let session = session_of(cx, &harness, session, &errand.id, &errand.agent)?;
    let child = Child::new(errand.id.clone(), errand.agent.clone(), session);
    let child = Arc::new(folder.put(child));
    children.add(Arc::clone(&child));
    Ok(child)
}

/// The subagent of an id, woken if need be. `Err` in words for a model.
pub(crate) async fn find(host: &Host, cx: &RunContext, id: &str) -> Result<Arc<Child>, String> {
    let children = children(cx);
    if let Some(child) = children.get(id).filter(|it| !it.is_lost()) {
        return Ok(child);
    }
    let asleep = children.asleep();
    if let Some(errand) = asleep.iter().find(|errand| errand.id == id) {
        return wake(host, cx, errand)
            .await
            .map_err(|error| format!("The subagent {id} cannot be gone on with: {error}"));
    }
    let awake = children.all();
    let ids: Vec<&str> = awake
        .iter()
        .map(|child| child.id.as_str())
        .chain(asleep.iter().map(|errand| errand.id.as_str()))
        .collect();
    Err(if ids.is_empty() {
        format!("There is no subagent {id}; there are none at all.")
    } else {
        format!("There is no subagent {id}. There are {}.", ids.join(", "))
    })
}

/// Opens the session of a subagent, if it is one of this session.
fn open(store: &dyn Store, id: SessionId, parent: SessionId) -> Result<Session, SessionError> {
    let session = Session::open(store, id, Access::Write)?;
    let of = session.header().parent.as_ref().map(|it| it.session);
    if of == Some(parent) {
        return Ok(session);
    }
    Err(SessionError::Invalid {
        place: id.to_string(),
        problem: "it belongs to the session that this one was copied from".to_owned(),
    })
}

/// Where the sessions of subagents are kept, and whose they are.
fn kept<'h>(host: &'h Host, cx: &RunContext) -> Option<(&'h dyn Store, SessionId)> {
    let store = host.options.store.as_deref()?;
    let parent = cx.session()?.parse().ok()?;
    Some((store, parent))
}

fn session_of(
    cx: &RunContext,
    harness: &AgentHarness,
    session: Session,
    id: &str,
    agent: &str,
) -> Result<AgentSession, String> {
    let attributes = Attributes::default();
    attributes.insert(SubagentName {
        id: id.to_owned(),
        agent: agent.to_owned(),
    });
    let caller = Caller {
        user: cx.user().map(str::to_owned),
        session: None,
        working_dir: harness.working_dir().cloned(),
        attributes,
    };
    let session = harness.session_in(session);
    let session = session.map_err(|error| format!("Its session cannot be used: {error}"))?;
    Ok(session.with_caller(caller))
}

/// The folder of a subagent, if it has one of its own.
#[derive(Default)]
struct OwnFolder {
    #[cfg(feature = "tools")]
    worktree: Option<Worktree>,
}

impl OwnFolder {
    #[cfg_attr(
        not(feature = "tools"),
        expect(clippy::unused_self, reason = "without tools there is no worktree")
    )]
    fn put(self, child: Child) -> Child {
        #[cfg(feature = "tools")]
        let child = child.in_worktree(self.worktree);
        child
    }
}

/// The agent for a subagent, in a worktree if its declaration says so. `is_new`: it may be made.
#[cfg_attr(
    not(feature = "tools"),
    expect(clippy::unused_async, reason = "without tools there is no worktree")
)]
async fn agent_of(
    host: &Host,
    cx: &RunContext,
    id: &str,
    declaration: &AgentDeclaration,
    is_new: bool,
) -> Result<(AgentHarness, OwnFolder), String> {
    if declaration.isolation != Isolation::Worktree {
        return Ok((made(cx, host.agent(declaration)?), OwnFolder::default()));
    }
    if !host.options.worktrees {
        return Err(format!(
            "The agent {} works in a git worktree of its own, and worktrees are not switched on here.",
            declaration.name
        ));
    }
    #[cfg(feature = "tools")]
    if let Some(workspace) = host.workspace() {
        let is_there = workspace.root().join(worktree::FOLDER).join(id).exists();
        if !is_new && !is_there {
            return Err("its worktree is gone".to_owned());
        }
        let worktree = Worktree::of(workspace, id, cx.clock(), cx.cancellation()).await?;
        let harness = made(cx, host.agent_in(declaration, worktree.folder())?);
        let worktree = Some(worktree);
        return Ok((harness, OwnFolder { worktree }));
    }
    let _ = (id, is_new);
    Err("There is no workspace that a worktree could be made of.".to_owned())
}

fn made(cx: &RunContext, made: Made) -> AgentHarness {
    if let Some(message) = made.warning {
        cx.emit(Event::Warning { message });
    }
    made.harness
}

/// What a subagent is called by: the same whenever this call is made.
fn id(cx: &RunContext, call: &str, agent: &str) -> String {
    let mut hasher = DefaultHasher::new();
    cx.session().unwrap_or(cx.run_id()).hash(&mut hasher);
    call.hash(&mut hasher);
    let name: String = agent
        .chars()
        .map(|c| if c.is_ascii_alphanumeric() { c } else { '-' })
        .take(40)
        .collect();
    format!("{name}-{:08x}", hasher.finish() as u32)
}
