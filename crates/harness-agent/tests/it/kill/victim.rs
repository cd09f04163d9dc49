//! The process that is killed: a session's run, with points where it kills itself.

use std::path::{Path, PathBuf};
use std::sync::Arc;
use std::sync::atomic::{AtomicU64, Ordering};

use harness_agent::AgentHarness;
use harness_session::{
    Access, Entry, EntryId, Error, Filter, Header, Hit, JsonlStore, Listed, Log, Node, Session,
    SessionId, Store,
};

use crate::kill::story::{Storyteller, append, forgetful, tools};

pub(crate) const FOLDER: &str = "HARNESS_VICTIM";
pub(crate) const KILL_AT: &str = "HARNESS_KILL_AT";

/// Files in its folder.
pub(crate) const SESSIONS: &str = "sessions";
pub(crate) const EFFECTS: &str = "effects";
pub(crate) const ACKNOWLEDGED: &str = "acknowledged";
pub(crate) const SAID: &str = "said";

/// Counts the points that were passed, and kills the process at one of them.
#[derive(Debug)]
pub(crate) struct Points {
    at: Option<u64>,
    passed: AtomicU64,
}

impl Points {
    /// Whether this is the point; the caller may do half of something before it dies.
    fn is_here(&self) -> bool {
        let number = self.passed.fetch_add(1, Ordering::SeqCst);
        self.at == Some(number)
    }

    pub(crate) fn pass(&self) {
        if self.is_here() {
            die();
        }
    }
}

fn die() -> ! {
    let _ = rustix::process::kill_process(rustix::process::getpid(), rustix::process::Signal::KILL);
    unreachable!("nobody survives SIGKILL")
}

/// The store of the real thing, with points before, within and after each write.
#[derive(Debug)]
struct Deadly {
    inner: JsonlStore,
    folder: PathBuf,
    points: Arc<Points>,
}

#[derive(Debug)]
struct DeadlyLog {
    inner: Box<dyn Log>,
    file: PathBuf,
    folder: PathBuf,
    points: Arc<Points>,
}

impl Deadly {
    fn log(&self, inner: Box<dyn Log>) -> Result<Box<dyn Log>, Error> {
        let file = self.inner.path_of(inner.header().id)?;
        Ok(Box::new(DeadlyLog {
            inner,
            file,
            folder: self.folder.clone(),
            points: Arc::clone(&self.points),
        }))
    }
}

impl Store for Deadly {
    fn create(&self, header: Header) -> Result<Box<dyn Log>, Error> {
        self.points.pass();
        let log = self.inner.create(header)?;
        self.points.pass();
        self.log(log)
    }

    fn open(&self, id: SessionId, access: Access) -> Result<Box<dyn Log>, Error> {
        self.points.pass();
        let log = self.inner.open(id, access)?;
        self.points.pass();
        self.log(log)
    }

    fn list(&self, filter: &Filter) -> Result<Vec<Listed>, Error> {
        self.inner.list(filter)
    }

    fn ids(&self) -> Result<Vec<SessionId>, Error> {
        self.inner.ids()
    }

    fn search(&self, query: &str, filter: &Filter, most: usize) -> Result<Vec<Hit>, Error> {
        self.inner.search(query, filter, most)
    }

    fn delete(&self, id: SessionId) -> Result<(), Error> {
        self.inner.delete(id)
    }
}

impl Log for DeadlyLog {
    fn header(&self) -> &Header {
        self.inner.header()
    }

    fn len(&self) -> u64 {
        self.inner.len()
    }

    fn node(&self, number: u64) -> Result<Node, Error> {
        self.inner.node(number)
    }

    fn find(&self, id: EntryId) -> Result<Option<u64>, Error> {
        self.inner.find(id)
    }

    fn read(&self, number: u64) -> Result<Entry, Error> {
        self.inner.read(number)
    }

    fn append(&mut self, entry: &Entry, parent: Option<u64>) -> Result<u64, Error> {
        self.points.pass();
        if self.points.is_here() {
            // A write that the end of the process, or of the power, cut in half.
            let mut line = Vec::new();
            entry.write(&mut line).unwrap();
            let mut file = std::fs::OpenOptions::new();
            let mut file = file.append(true).open(&self.file).unwrap();
            std::io::Write::write_all(&mut file, &line[..line.len() / 2]).unwrap();
            die();
        }
        let number = self.inner.append(entry, parent)?;
        append(&self.folder.join(ACKNOWLEDGED), &entry.id.to_string());
        self.points.pass();
        Ok(number)
    }

    fn checkpoint(&mut self) -> Result<(), Error> {
        self.inner.checkpoint()
    }

    fn sync(&mut self) -> Result<(), Error> {
        self.points.pass();
        self.inner.sync()
    }

    fn take_warnings(&mut self) -> Vec<String> {
        self.inner.take_warnings()
    }
}

/// Begins the story, or goes on with it, to its end.
pub(crate) fn run(folder: &Path, kill_at: Option<u64>) {
    let points = Arc::new(Points {
        at: kill_at,
        passed: AtomicU64::new(0),
    });
    let store = Deadly {
        inner: JsonlStore::new(folder.join(SESSIONS)),
        folder: folder.to_owned(),
        points: Arc::clone(&points),
    };
    let session = match store.ids().unwrap().first() {
        Some(id) => Session::open(&store, *id, Access::Write).unwrap(),
        None => Session::create(&store, Header::new(None)).unwrap(),
    };
    let agent = AgentHarness::builder()
        .model(Storyteller::new(&points))
        .tools(tools(folder, &points))
        .middleware(forgetful(&points))
        .build()
        .unwrap();
    let mut session = agent.session_in(session).unwrap();
    let said = folder.join(SAID);
    let runtime = tokio::runtime::Builder::new_current_thread()
        .enable_time()
        .build()
        .unwrap();
    runtime.block_on(async {
        let ended = session
            .history()
            .last()
            .is_some_and(|last| crate::kill::story::texts(last) == "done");
        if ended && !session.was_cut_off() && session.undelivered().is_empty() {
            return;
        }
        let is_new = session.with_session(|session| session.log().is_empty());
        let run = if session.has_something_to_answer() {
            session.go_on()
        } else if session.history().is_empty() {
            session.prompt("go")
        } else {
            // The end was told, and the run's own end was not recorded.
            return;
        };
        if is_new {
            let control = run.control();
            control.steer("look here").unwrap();
            append(&said, "look here");
            control.follow_up("and then").unwrap();
            append(&said, "and then");
        }
        let outcome = run.outcome().await.unwrap();
        assert_eq!(outcome.status.word(), "finished", "{:?}", outcome.status);
    });
}
