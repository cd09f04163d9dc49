//! Runs that are recorded in a session: what stands there, and what becomes of a run whose record breaks off.

use std::sync::atomic::{AtomicU32, AtomicU64, Ordering};
use std::sync::{Arc, Mutex};

use futures::executor::block_on;
use harness_core::test_support::{CountingEntropy, ManualClock, Reply, ScriptedModel};
use harness_core::{
    DynamicTool, LoopConfig, LoopConfigBuilder, Message, MessageRef, Model, Replay, RunInput,
    RunOutcome, ToolOutcome, protocol, run,
};
use harness_session::{
    Access, Context, Entry, EntryId, Error, Header, Log, MemoryStore, Node, Queue, Session,
    SessionId, SessionJournal, Store,
};
use serde_json::json;

/// A log that fails at one of its appends.
#[derive(Debug)]
struct Failing {
    inner: Box<dyn Log>,
    left: Arc<AtomicU64>,
    /// How often what is there was looked at.
    looks: Arc<AtomicU64>,
}

impl Failing {
    fn look(&self) -> &dyn Log {
        self.looks.fetch_add(1, Ordering::SeqCst);
        &*self.inner
    }
}

impl Log for Failing {
    fn header(&self) -> &Header {
        self.inner.header()
    }
    fn len(&self) -> u64 {
        self.inner.len()
    }
    fn node(&self, number: u64) -> Result<Node, Error> {
        self.look().node(number)
    }
    fn find(&self, id: EntryId) -> Result<Option<u64>, Error> {
        self.look().find(id)
    }
    fn read(&self, number: u64) -> Result<Entry, Error> {
        self.look().read(number)
    }
    fn append(&mut self, entry: &Entry, parent: Option<u64>) -> Result<u64, Error> {
        let left = self.left.load(Ordering::SeqCst);
        if left == 0 {
            return Err(Error::Io {
                what: "cannot write",
                path: "/the/session".into(),
                error: std::io::Error::from(std::io::ErrorKind::StorageFull),
            });
        }
        self.left.store(left - 1, Ordering::SeqCst);
        self.inner.append(entry, parent)
    }
    fn checkpoint(&mut self) -> Result<(), Error> {
        self.inner.checkpoint()
    }
    fn sync(&mut self) -> Result<(), Error> {
        self.inner.sync()
    }
    fn take_warnings(&mut self) -> Vec<String> {
        self.inner.take_warnings()
    }
}

/// A session, and tools that count.
pub(crate) struct Stage {
    pub(crate) store: MemoryStore,
    pub(crate) id: SessionId,
    pub(crate) safe: Arc<AtomicU32>,
    pub(crate) not_safe: Arc<AtomicU32>,
    /// How often the log was looked at since the session was opened.
    looks: Arc<AtomicU64>,
}

impl Stage {
    pub(crate) fn new() -> Self {
        let store = MemoryStore::default();
        let session = Session::create(&store, Header::new(None)).unwrap();
        Self {
            id: session.id(),
            store,
            safe: Arc::default(),
            not_safe: Arc::default(),
            looks: Arc::default(),
        }
    }

    pub(crate) fn open(&self, appends: u64) -> (Arc<SessionJournal>, Context) {
        let log = self.store.open(self.id, Access::Write).unwrap();
        let left = Arc::new(AtomicU64::new(appends));
        let looks = Arc::clone(&self.looks);
        let log = Failing {
            inner: log,
            left,
            looks,
        };
        let session = Session::from_log(Box::new(log)).unwrap();
        let (journal, context) = SessionJournal::new(session).unwrap();
        self.looks.store(0, Ordering::SeqCst);
        (Arc::new(journal), context)
    }

    pub(crate) fn config(
        &self,
        model: &Arc<ScriptedModel>,
        journal: &Arc<SessionJournal>,
    ) -> LoopConfig {
        self.builder(model, journal).build().unwrap()
    }

    pub(crate) fn builder(
        &self,
        model: &Arc<ScriptedModel>,
        journal: &Arc<SessionJournal>,
    ) -> LoopConfigBuilder {
        let count = |name: &str, count: &Arc<AtomicU32>| {
            let count = Arc::clone(count);
            DynamicTool::new(name, "Counts.", json!({"type": "object"}), move |_, _| {
                count.fetch_add(1, Ordering::SeqCst);
                Box::pin(std::future::ready(Ok("counted".into())))
            })
        };
        let model: Arc<dyn Model> = model.clone();
        LoopConfig::builder(model)
            .clock(Arc::new(ManualClock::new()))
            .entropy(Arc::new(CountingEntropy::default()))
            .tool(count("safe", &self.safe).replay(Replay::Safe))
            .tool(count("unsafe", &self.not_safe))
            .journal(journal.clone())
    }

    pub(crate) fn run(
        &self,
        appends: u64,
        replies: Vec<Reply>,
        messages: &[&str],
    ) -> (RunOutcome, Vec<MessageRef>) {
        let (journal, context) = self.open(appends);
        let model = Arc::new(ScriptedModel::new(replies));
        let config = self.config(&model, &journal);
        let mut input = RunInput::default().with_history(context.messages.clone());
        input.resume = context.is_open();
        input.messages = messages.iter().map(|text| (*text).into()).collect();
        let outcome = block_on(run(&config, input).outcome());
        let outcome = outcome.unwrap_or_else(harness_core::RunError::into_outcome);
        let first = model
            .requests()
            .first()
            .map(|request| request.messages.to_vec());
        (outcome, first.unwrap_or_default())
    }

    pub(crate) fn kinds(&self) -> Vec<String> {
        let session = Session::open(&self.store, self.id, Access::Read).unwrap();
        let read = |number| session.log().read(number).unwrap().body.kind().to_owned();
        (0..session.log().len()).map(read).collect()
    }

    pub(crate) fn context(&self) -> Context {
        let session = Session::open(&self.store, self.id, Access::Read).unwrap();
        session.context().unwrap()
    }
}

fn script() -> Vec<Reply> {
    vec![
        Reply::text("both")
            .and_call("a", "unsafe", "{}")
            .and_call("b", "safe", "{}")
            .usage(10, 2),
        Reply::text("done"),
    ]
}

#[test]
fn what_stands_there() {
    let stage = Stage::new();
    let (outcome, _) = stage.run(u64::MAX, script(), &["go"]);
    assert_eq!(outcome.status.word(), "finished");
    let kinds = stage.kinds().join(" ");
    assert_eq!(
        kinds,
        "intent message model_change thinking_change intent settlement message intent intent \
         settlement settlement results intent settlement message settlement"
            .replace(
                "intent intent settlement settlement",
                "intent settlement intent settlement"
            )
    );
    let context = stage.context();
    assert_eq!(context.messages, outcome.history);
    assert!(!context.is_open());
    assert_eq!(context.entries.len(), context.messages.len());
    assert_eq!(context.model.unwrap().provider, "test");
}

/// A disk that is full at the nth write, for each n: the run ends and says so, nothing that was recorded is
/// lost, and it is gone on with as soon as there is room.
#[test]
fn sess_06_a_full_disk_at_every_write() {
    let whole = Stage::new();
    whole.run(u64::MAX, script(), &["go"]);
    let writes = whole.kinds().len() as u64;
    for appends in 0..writes {
        let stage = Stage::new();
        let (outcome, _) = stage.run(appends, script(), &["go"]);
        let status = format!("{:?}", outcome.status);
        assert!(
            status.contains("Journal") && status.contains("cannot write"),
            "{appends}: {status}"
        );
        assert_eq!(
            stage.kinds().len() as u64,
            appends,
            "no entry more, none less"
        );

        // There is room again.
        let context = stage.context();
        let said = !context.messages.is_empty();
        let asked = context
            .messages
            .iter()
            .filter(|it| matches!(&***it, Message::Assistant(_)));
        let replies: Vec<Reply> = script().into_iter().skip(asked.count()).collect();
        if replies.is_empty() {
            continue;
        }
        let messages: &[&str] = if said { &[] } else { &["go"] };
        let (outcome, first) = stage.run(u64::MAX, replies, messages);
        assert_eq!(
            outcome.status.word(),
            "finished",
            "{appends}: {:?}",
            outcome.status
        );
        protocol::check_messages(&first).unwrap();
        assert_eq!(outcome.history.len(), 4, "{appends}");
        assert_eq!(stage.context().messages, outcome.history, "{appends}");
        assert_eq!(stage.not_safe.load(Ordering::SeqCst), 1, "{appends}: once");
    }
}

/// A call that had begun: run again if it may be, and else said to have been interrupted. LOOP-42: a call
/// that had ended keeps its one result.
#[test]
fn loop_42_each_call_ends_once_whatever_was_on_record() {
    let whole = Stage::new();
    whole.run(u64::MAX, script(), &["go"]);
    let kinds = whole.kinds();
    let reply = kinds.iter().position(|kind| kind == "settlement").unwrap() + 1;
    // (on record, outcome of `unsafe`, how often `unsafe` and `safe` ran in the second process)
    let cases = [
        (reply + 1, None, 1, 1),
        (reply + 2, Some(ToolOutcome::Interrupted), 0, 1),
        (reply + 3, None, 0, 1),
        (reply + 4, None, 0, 1),
        (reply + 5, None, 0, 0),
        (reply + 6, None, 0, 0),
    ];
    for (on_record, outcome, not_safe, safe) in cases {
        let stage = Stage::new();
        {
            // As if the process had died: what is on record is what it had written.
            let from = Session::open(&whole.store, whole.id, Access::Read).unwrap();
            let mut log = stage.store.open(stage.id, Access::Write).unwrap();
            for number in 0..on_record as u64 {
                let entry = from.log().read(number).unwrap();
                log.append(&entry, number.checked_sub(1)).unwrap();
            }
        }
        assert!(stage.context().is_open(), "{on_record}");
        let (ended, _) = stage.run(u64::MAX, vec![Reply::text("done")], &[]);
        assert_eq!(
            ended.status.word(),
            "finished",
            "{on_record}: {:?}",
            ended.status
        );
        let results: Vec<_> = ended
            .history
            .iter()
            .filter_map(|message| match &**message {
                Message::ToolResults(results) => Some(results.results.clone()),
                _ => None,
            })
            .flatten()
            .collect();
        assert_eq!(results.len(), 2, "{on_record}");
        let expected = outcome.unwrap_or_else(|| ToolOutcome::done("counted"));
        assert_eq!(*results[0].outcome, expected, "{on_record}");
        assert_eq!(
            *results[1].outcome,
            ToolOutcome::done("counted"),
            "{on_record}"
        );
        let ran = (
            stage.not_safe.load(Ordering::SeqCst),
            stage.safe.load(Ordering::SeqCst),
        );
        assert_eq!(ran, (not_safe, safe), "{on_record}");
        assert_eq!(stage.context().messages, ended.history, "{on_record}");
    }
}

/// Messages that wait outlive the process, and are delivered once.
#[test]
fn loop_29_what_waits_is_on_record() {
    let stage = Stage::new();
    let (journal, _) = stage.open(u64::MAX);
    journal.enqueue(Queue::Steer, &"look".into()).unwrap();
    journal.enqueue(Queue::FollowUp, &"then".into()).unwrap();
    drop(journal);
    let waits = stage.context().queued;
    assert_eq!(waits.len(), 2);
    assert_eq!(
        (waits[0].queue, waits[1].queue),
        (Queue::Steer, Queue::FollowUp)
    );
    stage.run(u64::MAX, vec![Reply::text("done")], &["look", "go"]);
    let waits = stage.context().queued;
    assert_eq!(waits.len(), 1);
    assert_eq!(waits[0].message, "then".into());
}

/// A middleware that lets the run begin again: what the first try said is on a branch that is left.
#[test]
fn a_run_that_begins_again_leaves_a_branch() {
    let stage = Stage::new();
    let (journal, context) = stage.open(u64::MAX);
    let model = Arc::new(ScriptedModel::new([
        Reply::text("bad"),
        Reply::text("good"),
    ]));
    let twice = harness_core::from_fn::on_agent("twice", |cx, input, next| {
        Box::pin(async move {
            let first = next.clone().run(cx, input.clone()).await;
            assert_eq!(first.answer(), "bad");
            next.run(cx, input).await
        })
    });
    let shared: Arc<dyn Model> = model.clone();
    let config = LoopConfig::builder(shared)
        .middleware(twice)
        .journal(journal.clone())
        .build()
        .unwrap();
    let input = RunInput::prompt("go").with_history(context.messages);
    let outcome = block_on(run(&config, input).outcome()).unwrap();
    assert_eq!(outcome.answer(), "good");
    drop((config, journal));
    assert_eq!(stage.context().messages, outcome.history);
    assert_eq!(outcome.history.len(), 2);
}

/// A history that is not the session's is refused before anything is done.
#[test]
fn another_history_is_refused() {
    let stage = Stage::new();
    let (journal, _) = stage.open(u64::MAX);
    let model = Arc::new(ScriptedModel::new([]));
    let config = stage.config(&model, &journal);
    let history = vec![Message::user("from elsewhere").into()];
    let input = RunInput::prompt("go").with_history(history);
    let error = block_on(run(&config, input).outcome()).unwrap_err();
    assert!(
        error
            .to_string()
            .contains("1 messages, and the session has 0"),
        "{error}"
    );
    assert!(model.requests().is_empty());
}

/// Two sessions at once, on one configuration's tools and model, keep apart.
#[test]
fn sess_15_two_sessions_keep_apart() {
    let (one, two) = (Stage::new(), Stage::new());
    let seen = Mutex::new(Vec::new());
    std::thread::scope(|scope| {
        for (stage, text) in [(&one, "one"), (&two, "two")] {
            let seen = &seen;
            scope.spawn(move || {
                let (outcome, first) = stage.run(u64::MAX, script(), &[text]);
                assert_eq!(outcome.status.word(), "finished");
                seen.lock().unwrap().push((text, format!("{first:?}")));
            });
        }
    });
    for (text, first) in seen.into_inner().unwrap() {
        let other = if text == "one" { "two" } else { "one" };
        assert!(first.contains(text) && !first.contains(other), "{first}");
    }
}

/// A middleware that answers in the loop's place: what the user said, and what it answered, is on record.
#[test]
fn what_a_middleware_answers_is_on_record() {
    let stage = Stage::new();
    for turn in 1..=2 {
        let (journal, context) = stage.open(u64::MAX);
        let model: Arc<dyn Model> = Arc::new(ScriptedModel::new([]));
        let answer = harness_core::from_fn::on_agent("answer", |cx, input, _| {
            Box::pin(async move {
                let status = harness_core::RunStatus::Cancelled;
                RunOutcome::before_any_turn(cx, input, status)
            })
        });
        let config = LoopConfig::builder(model)
            .middleware(answer)
            .journal(journal.clone())
            .build()
            .unwrap();
        let input = RunInput::prompt("go").with_history(context.messages);
        let outcome = block_on(run(&config, input).outcome()).unwrap();
        assert_eq!(outcome.history.len(), turn);
        drop((config, journal));
        assert_eq!(stage.context().messages, outcome.history);
    }
}

/// What a turn records does not depend on how much was recorded before, and it looks at none of it: going on
/// costs a turn no more than beginning.
#[test]
fn a_turn_looks_at_nothing_that_was_recorded_before() {
    let stage = Stage::new();
    let mut appended = Vec::new();
    for _ in 0..20 {
        let before = stage.kinds().len();
        let (outcome, _) = stage.run(u64::MAX, script(), &["go"]);
        assert_eq!(outcome.status.word(), "finished");
        assert_eq!(stage.looks.load(Ordering::SeqCst), 0);
        appended.push(stage.kinds().len() - before);
    }
    // Only the first one says which model there is.
    assert_eq!(appended[0], appended[1] + 2);
    assert!(
        appended[1..].iter().all(|it| *it == appended[1]),
        "{appended:?}"
    );
}
