//! What every store has to keep, as checks: of many sessions.

use std::path::Path;

use harness_core::Message;

use crate::entry::{Body, Entry};
use crate::error::Error;
use crate::header::{Header, Parent};
use crate::id::SessionId;
use crate::session::Session;
use crate::store::{Access, Filter, Log, Store};
use crate::test_support::author::{Author, name, output, user};
use crate::test_support::log_suite;

/// Gives a store: at first one without sessions, then one with those that were made in it before, as
/// another process would open it.
pub(crate) type Make<'a> = &'a mut dyn FnMut() -> Box<dyn Store>;

/// Checks that a store keeps what every store has to keep, and panics if it does not.
///
/// `make` gives the store. It is asked several times, and gives the same sessions each time: a store on
/// a disk is opened anew, one in memory is shared.
pub fn check_store(make: &mut dyn FnMut() -> Box<dyn Store>) {
    a_new_store_is_empty(make);
    a_session_begins_with_its_header(make);
    an_id_is_taken_once(make);
    one_writes_and_all_read(make);
    a_session_is_found_by_how_its_id_begins(make);
    the_list_tells_what_was_said_first_and_the_newest_name(make);
    the_list_has_the_last_written_first(make);
    a_filter_lets_through_one_folder(make);
    the_latest_is_of_no_subagent(make);
    a_search_finds_all_words(make);
    a_search_finds_names_and_summaries_and_what_forks_share_once(make);
    what_is_deleted_is_gone(make);
    many_sessions_are_kept_apart(make);
    log_suite::check(make);
}

/// A session of its own, in a folder.
pub(crate) fn begin(store: &dyn Store, folder: &str) -> Box<dyn Log> {
    let header = Header::new(Some(Path::new("/suite").join(folder)));
    store.create(header).expect("a session can be begun")
}

/// All lines of a session.
pub(crate) fn lines(log: &dyn Log) -> Vec<String> {
    let read = |number| {
        let entry = log.read(number).expect("what was appended can be read");
        line(&entry)
    };
    (0..log.len()).map(read).collect()
}

pub(crate) fn line(entry: &Entry) -> String {
    let mut line = Vec::new();
    entry.write(&mut line).expect("an entry can be written");
    String::from_utf8(line).expect("a line is text")
}

fn a_new_store_is_empty(make: Make<'_>) {
    let store = make();
    let all = Filter::default();
    assert_eq!(store.list(&all).unwrap(), [], "a new store lists nothing");
    assert_eq!(store.ids().unwrap(), [], "a new store has no ids");
    let hits = store.search("word", &all, 10).unwrap();
    assert_eq!(hits, [], "a new store has nothing to find");
    let id = SessionId::new();
    let open = |access| store.open(id, access).map(drop);
    for result in [open(Access::Read), open(Access::Write), store.delete(id)] {
        assert!(
            matches!(result, Err(Error::NotFound(_))),
            "a session that is not there is not found: {result:?}"
        );
    }
}

fn a_session_begins_with_its_header(make: Make<'_>) {
    let store = make();
    let parent = Parent {
        session: SessionId::new(),
        entry: Some(Author::new().entry(user("x"), None).id),
        agent: None,
    };
    let with_agent = Parent {
        entry: None,
        agent: Some("explore-3f9a1c02".to_owned()),
        ..parent.clone()
    };
    let of = |parent| Header::new(Some("/suite/header".into())).from_parent(parent);
    for header in [Header::new(None), of(parent), of(with_agent)] {
        let log = store.create(header.clone()).unwrap();
        assert_eq!(*log.header(), header, "a header is kept");
        assert_eq!((log.len(), log.is_empty()), (0, true), "it begins empty");
        drop(log);
        let mut log = make().open(header.id, Access::Read).unwrap();
        assert_eq!(*log.header(), header, "a header is kept");
        assert_eq!(log.len(), 0, "it begins empty");
        let warnings = log.take_warnings();
        assert_eq!(warnings, [""; 0], "nothing is wrong with it");
        let listed = store.list(&Filter::default()).unwrap();
        let listed = listed.iter().find(|listed| listed.header.id == header.id);
        let listed = listed.expect("an empty session is listed");
        assert_eq!(listed.header, header, "the list has the header");
        assert_eq!(listed.problem, None, "nothing is wrong with it");
    }
}

fn an_id_is_taken_once(make: Make<'_>) {
    let store = make();
    let header = Header::new(None);
    let mut log = store.create(header.clone()).unwrap();
    Author::new().say(&mut *log, "kept");
    let mut elsewhere = header.clone();
    elsewhere.cwd = Some("/suite/elsewhere".into());
    for again in [header.clone(), elsewhere] {
        let result = store.create(again).map(drop);
        assert!(result.is_err(), "no two sessions have one id");
    }
    drop(log);
    let log = store.open(header.id, Access::Read).unwrap();
    assert_eq!(log.len(), 1, "the one that is there is left alone");
}

fn one_writes_and_all_read(make: Make<'_>) {
    let store = make();
    let mut log = begin(&*store, "locked");
    let id = log.header().id;
    Author::new().say(&mut *log, "one");
    let is_locked = |result: Result<(), Error>, what: &str| match result {
        Err(Error::Locked { session, .. }) if session == id => {}
        other => panic!("{what}: {other:?}"),
    };
    let other = make();
    let second = other.open(id, Access::Write).map(drop);
    is_locked(second, "there is one writer at a time");
    is_locked(other.delete(id), "what is written to is not deleted");
    let reader = other.open(id, Access::Read).unwrap();
    assert_eq!(reader.len(), 1, "it can be read meanwhile");
    drop(log);
    let mut log = other.open(id, Access::Write).unwrap();
    assert_eq!(log.len(), 1, "the next writer has all that was appended");
    is_locked(
        store.open(id, Access::Write).map(drop),
        "who opens it locks it as who begins it does",
    );
    let last = log.node(0).unwrap().id;
    let entry = Author::new().entry(user("two"), Some(last));
    log.append(&entry, Some(0)).unwrap();
    assert_eq!(reader.len(), 1, "a reader sees what was there when it came");
}

fn a_session_is_found_by_how_its_id_begins(make: Make<'_>) {
    let store = make();
    let id = begin(&*store, "prefix").header().id;
    let text = id.to_string();
    assert_eq!(store.find(&text).unwrap(), id, "the whole id");
    let upper = text.to_uppercase();
    assert_eq!(store.find(&upper[..35]).unwrap(), id, "in capitals");
    let end = text.replace('-', "")[16..].to_owned();
    assert_eq!(store.find(&end).unwrap(), id, "by its end");
    let missing = store.find("ffffffffff");
    assert!(matches!(missing, Err(Error::NotFound(_))), "{missing:?}");
    for short in ["", "  ", &text[..3]] {
        let error = store.find(short);
        assert!(matches!(error, Err(Error::TooShort(_))), "{error:?}");
    }
    match store.find(&text[..4]) {
        Err(Error::Ambiguous { ids, .. }) => assert!(ids.contains(&id), "all are named"),
        other => panic!("ids of our time begin alike, and there are several: {other:?}"),
    }
}

fn the_list_tells_what_was_said_first_and_the_newest_name(make: Make<'_>) {
    let store = make();
    let folder = "names";
    let mut log = begin(&*store, folder);
    let mut author = Author::new();
    let listed = || {
        let filter = Filter::of_folder(Path::new("/suite").join(folder));
        let mut all = make().list(&filter).unwrap();
        assert_eq!(all.len(), 1, "one session works in this folder");
        all.remove(0)
    };
    let mut listed = listed;
    author.append(&mut *log, name(Some("first name")));
    assert_eq!(listed().first_prompt, None, "nothing was said yet");
    author.say(&mut *log, " What was\nsaid first ");
    author.say(&mut *log, "What was said then");
    author.append(&mut *log, name(Some("second \"name\"")));
    log.sync().unwrap();
    let now = listed();
    assert_eq!(now.first_prompt.as_deref(), Some("What was\nsaid first"));
    assert_eq!(now.name.as_deref(), Some("second \"name\""));
    let filler = "filler ".repeat(1000);
    for _ in 0..30 {
        author.say(&mut *log, &filler);
    }
    log.sync().unwrap();
    assert_eq!(
        listed().name.as_deref(),
        Some("second \"name\""),
        "a name counts until there is another"
    );
    author.append(&mut *log, name(None));
    log.sync().unwrap();
    assert_eq!(listed().name, None, "a name can be taken away");
}

fn the_list_has_the_last_written_first(make: Make<'_>) {
    let store = make();
    let filter = Filter::of_folder("/suite/order");
    let mut logs: Vec<_> = (0..3).map(|_| begin(&*store, "order")).collect();
    let mut author = Author::new();
    for turn in [0, 2, 1, 0] {
        let id = logs[turn].header().id;
        // As many as it takes until the store's clock has gone on.
        let is_first = (0..1_000_000).any(|_| {
            author.say(&mut *logs[turn], "again");
            let list = store.list(&filter).unwrap();
            list[0].header.id == id && list[0].modified > list[1].modified
        });
        assert!(is_first, "what was written to last comes first");
    }
}

fn a_filter_lets_through_one_folder(make: Make<'_>) {
    let store = make();
    let here = begin(&*store, "filter/a").header().id;
    let there = begin(&*store, "filter-a").header().id;
    let ids = |filter: &Filter| -> Vec<_> {
        let list = store.list(filter).unwrap();
        list.iter().map(|listed| listed.header.id).collect()
    };
    assert_eq!(ids(&Filter::of_folder("/suite/filter/a")), [here]);
    assert_eq!(ids(&Filter::of_folder("/suite/filter-a")), [there]);
    assert_eq!(ids(&Filter::of_folder("/suite/filter")), []);
    let all = ids(&Filter::default());
    assert!(all.contains(&here) && all.contains(&there), "none: all");
}

fn the_latest_is_of_no_subagent(make: Make<'_>) {
    let store = make();
    let folder = Path::new("/suite/latest");
    let latest = || store.latest(folder).unwrap();
    let child = |session| {
        let parent = Parent {
            session,
            entry: None,
            agent: Some("explore-3f9a1c02".to_owned()),
        };
        let header = Header::new(Some(folder.into())).from_parent(parent);
        let mut log = store.create(header).unwrap();
        Author::new().say(&mut *log, "childish");
        let id = log.header().id;
        drop(log);
        id
    };
    let first = child(SessionId::new());
    assert_eq!(latest(), None, "a subagent's is not gone on with");
    let own = begin(&*store, "latest").header().id;
    let last = child(own);
    assert_eq!(latest(), Some(own), "the one before it is");
    let listed = store.list(&Filter::of_folder(folder)).unwrap();
    assert_eq!(listed.len(), 3, "all are listed");
    let hits = store
        .search("childish", &Filter::of_folder(folder), 9)
        .unwrap();
    let mut found: Vec<_> = hits.iter().map(|hit| hit.session).collect();
    found.sort_unstable();
    let mut wanted = [first, last];
    wanted.sort_unstable();
    assert_eq!(found, wanted, "and searched");
    let session = Session::open(&*store, last, Access::Read).unwrap();
    let fork = session.fork_at(&*store, None).unwrap().id();
    assert_eq!(
        latest(),
        Some(fork),
        "a fork of a subagent's session is nobody's part"
    );
}

fn a_search_finds_all_words(make: Make<'_>) {
    let store = make();
    let filter = Filter::of_folder("/suite/search");
    let mut author = Author::new();
    let mut log = begin(&*store, "search");
    let id = log.header().id;
    author.say(
        &mut *log,
        "The quick Brown fox\nsays \"hello\\\" to C:\\dir",
    );
    let intent = author.say(&mut *log, "ÜBER die Brücke / under it").id;
    let result = author.append(&mut *log, output(intent, "the lazy dog"));
    author.append(&mut *log, name(Some("the fox")));
    let mut other = begin(&*store, "search-elsewhere");
    author.say(&mut *other, "The quick brown fox");
    log.sync().unwrap();
    other.sync().unwrap();
    let found = |query: &str, filter: &Filter, most| {
        let hits = make_numbers(&*store, id, query, filter, most);
        hits.unwrap_or_else(|error| panic!("{query}: {error}"))
    };
    let cases: &[(&str, &[u64])] = &[
        ("fox", &[0, 3]),
        ("FOX quick", &[0]),
        ("fox dog", &[]),
        ("the", &[0, 2, 3]),
        ("rown", &[0]),
        ("\"hello\\\"", &[0]),
        ("c:\\DIR", &[0]),
        ("über", &[1]),
        ("BRÜCKE /", &[1]),
        ("lazy", &[2]),
        ("call-1", &[]),
        ("  ", &[]),
        ("nothing", &[]),
    ];
    for (query, expected) in cases {
        assert_eq!(found(query, &filter, 10), *expected, "{query:?}");
    }
    assert_eq!(found("the", &filter, 1), [0], "at most so many");
    assert_eq!(found("the", &filter, 0), [0; 0], "none at all");
    let hits = store.search("lazy", &filter, 10).unwrap();
    assert_eq!((hits[0].session, hits[0].entry), (id, result.id));
    assert_eq!((hits[0].time, hits[0].role.as_str()), (result.time, "tool"));
    assert_eq!(hits[0].excerpt, "the lazy dog");
    let everywhere = store.search("quick fox", &Filter::default(), 10).unwrap();
    assert_eq!(everywhere.len(), 2, "without a filter, all are searched");
}

fn a_search_finds_names_and_summaries_and_what_forks_share_once(make: Make<'_>) {
    let store = make();
    let filter = Filter::of_folder("/suite/search-more");
    let mut first = Session::from_log(begin(&*store, "search-more")).unwrap();
    let said = crate::MessageBody {
        message: Message::user("the shared zebra").into(),
        queued: None,
    };
    first.append(Body::Message(said)).unwrap();
    let summary = crate::CompactionBody {
        messages: vec![Message::user("in short, a giraffe").into()],
        first_kept: None,
        tokens_before: 1,
        reason: "manual".to_owned(),
        model: None,
        thinking: None,
        queued: Vec::new(),
        run: None,
        details: serde_json::Value::Null,
    };
    first.append(Body::Compaction(summary)).unwrap();
    let mut fork = first.fork(&*store, None).unwrap();
    fork.set_name(Some("About okapis".to_owned())).unwrap();
    fork.sync().unwrap();
    for (word, role) in [("zebra", "user"), ("GIRAFFE", "summary"), ("okapi", "name")] {
        let hits = store.search(word, &filter, 10).unwrap();
        assert_eq!(hits.len(), 1, "what forks share is found once: {hits:?}");
        assert_eq!(hits[0].role, role);
        assert_eq!(hits[0].session, fork.id(), "in the newest session");
    }
}

/// The numbers of the entries that a search finds, all of one session.
fn make_numbers(
    store: &dyn Store,
    id: SessionId,
    query: &str,
    filter: &Filter,
    most: usize,
) -> Result<Vec<u64>, Error> {
    let log = store.open(id, Access::Read)?;
    let mut numbers = Vec::new();
    for hit in store.search(query, filter, most)? {
        assert_eq!(hit.session, id, "it is searched where the filter says");
        numbers.extend(log.find(hit.entry)?);
    }
    Ok(numbers)
}

fn what_is_deleted_is_gone(make: Make<'_>) {
    let store = make();
    let mut log = begin(&*store, "deleted");
    let id = log.header().id;
    let header = log.header().clone();
    Author::new().say(&mut *log, "deletable");
    drop(log);
    store.delete(id).unwrap();
    let filter = Filter::of_folder("/suite/deleted");
    for store in [store, make()] {
        let opened = store.open(id, Access::Read).map(drop);
        assert!(matches!(opened, Err(Error::NotFound(_))), "{opened:?}");
        assert!(!store.ids().unwrap().contains(&id), "it has no id");
        assert_eq!(store.list(&filter).unwrap(), [], "it is not listed");
        let hits = store.search("deletable", &filter, 1).unwrap();
        assert_eq!(hits, [], "it is not found");
        let again = store.delete(id);
        assert!(matches!(again, Err(Error::NotFound(_))), "{again:?}");
    }
    let log = make().create(header).unwrap();
    assert_eq!(log.len(), 0, "nothing of it comes back");
}

fn many_sessions_are_kept_apart(make: Make<'_>) {
    const COUNT: usize = 100;
    let store = make();
    let mut author = Author::new();
    let mut logs: Vec<_> = (0..COUNT).map(|_| begin(&*store, "many")).collect();
    for turn in 0..3 {
        for (number, log) in logs.iter_mut().enumerate() {
            author.say(&mut **log, &format!("session {number}, turn {turn}"));
        }
    }
    let ids: Vec<_> = logs.iter().map(|log| log.header().id).collect();
    drop(logs);
    let store = make();
    let known = store.ids().unwrap();
    for (number, id) in ids.iter().enumerate() {
        assert!(known.contains(id), "each has its id");
        let log = store.open(*id, Access::Read).unwrap();
        assert_eq!(log.len(), 3, "each has its entries");
        for (turn, line) in lines(&*log).iter().enumerate() {
            let said = format!("\"session {number}, turn {turn}\"");
            assert!(line.contains(&said), "each has its own: {line}");
        }
    }
    let filter = Filter::of_folder("/suite/many");
    assert_eq!(store.list(&filter).unwrap().len(), COUNT);
}
