//! Sessions in one database.

use std::os::unix::fs::PermissionsExt as _;
use std::path::{Path, PathBuf};
use std::process::Command;

use harness_core::ToolOutcome;
use harness_session::{
    Access, Body, Durability, Entry, EntryId, Error, Filter, Header, Hit, LeafBody, Log, NameBody,
    NodeKind, SqliteStore, Store, Timestamp,
};
use rusqlite::Connection;
use tempfile::TempDir;

use crate::kept::{Kept, user};

/// Tells the other process which session to hold.
const HELD: &str = "HARNESS_TEST_HELD_SESSION";

fn database(folder: &TempDir) -> PathBuf {
    folder.path().join("sessions.db")
}

fn entry(log: &dyn Log, parent: Option<u64>, body: Body) -> Entry {
    let last = log
        .len()
        .checked_sub(1)
        .map(|last| log.node(last).unwrap().id);
    let id = EntryId::after(last, Timestamp::now());
    let parent = parent.map(|parent| log.node(parent).unwrap().id);
    let line = serde_json::json!({"type": "leaf", "id": id, "parent": parent, "time": id.time()});
    let mut entry = Entry::parse(line.to_string().as_bytes()).unwrap();
    entry.body = body;
    entry
}

fn append(log: &mut dyn Log, parent: Option<u64>, body: Body) -> u64 {
    let entry = entry(log, parent, body);
    log.append(&entry, parent).unwrap()
}

fn say(log: &mut dyn Log, text: &str) -> u64 {
    let leaf = log.len().checked_sub(1);
    append(log, leaf, user(text))
}

fn line(entry: &Entry) -> String {
    let mut line = Vec::new();
    entry.write(&mut line).unwrap();
    String::from_utf8(line).unwrap()
}

fn search(store: &SqliteStore, words: &str) -> Vec<Hit> {
    store.search(words, &Filter::default(), 100).unwrap()
}

#[test]
fn what_was_appended_is_read_again() {
    let folder = TempDir::new().unwrap();
    for durability in [Durability::Always, Durability::Turn, Durability::Never] {
        let store = SqliteStore::open(database(&folder))
            .unwrap()
            .durability(durability);
        let header = Header::new(Some("/work".into()));
        let mut log = store.create(header.clone()).unwrap();
        assert!(log.is_empty());
        let first = say(&mut *log, "first");
        let left = say(&mut *log, "left");
        let other = append(&mut *log, Some(first), Body::Leaf(LeafBody {}));
        let odd = r#"{"type":"from_the_future","id":"019ca9c0-1111-7000-8000-000000000001","parent":null,  "x": 1.50}"#;
        let odd = Entry::parse(odd.as_bytes()).unwrap();
        assert_eq!(log.append(&odd, Some(other)).unwrap(), 3);
        log.checkpoint().unwrap();
        log.sync().unwrap();
        drop(log);

        // Another store, so that nothing is remembered.
        let store = SqliteStore::open(database(&folder)).unwrap();
        let mut log = store.open(header.id, Access::Read).unwrap();
        assert_eq!(*log.header(), header);
        assert_eq!(log.len(), 4);
        let parents: Vec<_> = (0..4)
            .map(|number| log.node(number).unwrap().parent)
            .collect();
        assert_eq!(parents, [None, Some(first), Some(first), Some(other)]);
        assert_eq!(log.node(left).unwrap().kind, NodeKind::UserMessage);
        assert_eq!(log.find(log.node(left).unwrap().id).unwrap(), Some(left));
        assert_eq!(log.find(odd.id).unwrap(), Some(3));
        assert_eq!(line(&log.read(3).unwrap()), line(&odd));
        assert!(matches!(
            log.read(4),
            Err(Error::Unreadable { number: 4, .. })
        ));
        assert_eq!(log.read_all(&[2, 9, 0]).unwrap().len(), 2);
        assert!(matches!(log.append(&odd, None), Err(Error::ReadOnly)));
        assert!(log.take_warnings().is_empty());
        drop(log);
        store.delete(header.id).unwrap();
        assert!(matches!(
            store.open(header.id, Access::Read),
            Err(Error::NotFound(_))
        ));
    }
}

#[test]
fn an_id_that_comes_twice_means_the_last() {
    let folder = TempDir::new().unwrap();
    let store = SqliteStore::open(database(&folder)).unwrap();
    let mut log = store.create(Header::new(None)).unwrap();
    let same = entry(&*log, None, user("a"));
    log.append(&same, None).unwrap();
    log.append(&same, None).unwrap();
    assert_eq!(log.find(same.id).unwrap(), Some(1));
    let early = log.append(&same, Some(2));
    assert!(matches!(early, Err(Error::Misuse(_))), "{early:?}");
}

#[test]
fn the_list_is_of_the_sessions_that_were_written_to_last() {
    let folder = TempDir::new().unwrap();
    let store = SqliteStore::open(database(&folder)).unwrap();
    assert!(store.list(&Filter::default()).unwrap().is_empty());
    let headers = ["/a", "/b", "/a"].map(|cwd| Header::new(Some(cwd.into())));
    let mut logs = headers.clone().map(|header| store.create(header).unwrap());
    say(&mut *logs[1], "the second");
    say(&mut *logs[0], &format!("first {}", "x".repeat(5_000)));
    say(&mut *logs[0], "not this one");
    let leaf = Some(1);
    let name = |name: Option<&str>| {
        Body::Name(NameBody {
            name: name.map(str::to_owned),
        })
    };
    append(&mut *logs[0], leaf, name(Some("A name")));

    let listed = store.list(&Filter::default()).unwrap();
    let ids: Vec<_> = listed.iter().map(|listed| listed.header.id).collect();
    assert_eq!(ids, [headers[0].id, headers[1].id, headers[2].id]);
    assert_eq!(listed[0].name.as_deref(), Some("A name"));
    let prompt = listed[0].first_prompt.as_deref().unwrap();
    assert!(prompt.starts_with("first xxx") && prompt.len() < 1_000);
    assert!(listed[0].bytes > 5_000);
    assert_eq!((&listed[2].name, &listed[2].first_prompt), (&None, &None));
    let in_a = store.list(&Filter::of_folder("/a")).unwrap();
    assert_eq!(in_a.len(), 2);

    append(&mut *logs[0], leaf, name(None));
    assert_eq!(store.list(&Filter::default()).unwrap()[0].name, None);
    let mut all = store.ids().unwrap();
    all.sort_unstable();
    let mut expected = headers.map(|header| header.id);
    expected.sort_unstable();
    assert_eq!(all, expected);
    let id = expected[0];
    assert_eq!(store.find(&id.to_string()).unwrap(), id);
    assert!(store.create(Header::new(None)).is_ok());
}

#[test]
fn a_search_finds_parts_of_words_whatever_their_case() {
    let folder = TempDir::new().unwrap();
    let store = SqliteStore::open(database(&folder)).unwrap();
    let mut log = store.create(Header::new(Some("/a".into()))).unwrap();
    say(
        &mut *log,
        "Der Überlauf bei NEUN, \"quoted\" AND OR 100% _x_ in x.rs",
    );
    say(&mut *log, "zero\0behind, ΟΔΟΣ and İstanbul");
    let mut kept = Kept::new();
    let run = kept.begin_run();
    kept.results(1, vec![("c", "bash", ToolOutcome::done("neun Ziffern"))]);
    kept.end_run(run, "finished", None);
    for number in 0..kept.len() {
        log.append(&kept.read(number).unwrap(), None).unwrap();
    }
    for (words, expected) in [
        ("überl", 1),
        ("NeUn", 2),
        ("neun ziff", 1),
        ("un", 2),
        ("\"quoted\"", 1),
        ("and or", 1),
        ("100%", 1),
        ("_x_", 1),
        ("x.rs", 1),
        ("behind", 1),
        ("o\0b", 1),
        ("οδος", 1),
        ("i\u{307}stan", 1),
        ("nothing", 0),
        ("neun nothing", 0),
        ("texts:neun", 0),
        ("neu* OR (", 0),
        ("  ", 0),
    ] {
        assert_eq!(search(&store, words).len(), expected, "{words:?}");
    }
    let hits = search(&store, "neun");
    assert_eq!(
        (hits[0].role.as_str(), hits[1].role.as_str()),
        ("user", "tool")
    );
    assert!(hits[1].excerpt.contains("neun Ziffern"), "{hits:?}");

    let mut other = store.create(Header::new(Some("/b".into()))).unwrap();
    say(&mut *other, "neun");
    assert_eq!(search(&store, "neun").len(), 3);
    assert_eq!(search(&store, "neun")[0].session, other.header().id);
    assert_eq!(
        store
            .search("neun", &Filter::of_folder("/b"), 9)
            .unwrap()
            .len(),
        1
    );
    assert_eq!(
        store.search("neun", &Filter::default(), 2).unwrap().len(),
        2
    );
    let id = log.header().id;
    drop(log);
    store.delete(id).unwrap();
    assert_eq!(search(&store, "neun").len(), 1);
}

#[test]
fn a_session_has_one_writer_and_any_number_of_readers() {
    let folder = TempDir::new().unwrap();
    let store = SqliteStore::open(database(&folder)).unwrap();
    let mut log = store.create(Header::new(None)).unwrap();
    let id = log.header().id;
    say(&mut *log, "a");
    for result in [store.open(id, Access::Write).map(drop), store.delete(id)] {
        let Err(Error::Locked { session, process }) = result else {
            panic!("{result:?}");
        };
        assert_eq!((session, process), (id, Some(std::process::id())));
    }
    let reader = store.open(id, Access::Read).unwrap();
    say(&mut *log, "b");
    // It reads the session as it was.
    assert_eq!((reader.len(), reader.read(0).is_ok()), (1, true));
    let mut other = store.create(Header::new(None)).unwrap();
    say(&mut *other, "another session is another lock");
    drop((log, other));
    assert_eq!(store.open(id, Access::Write).unwrap().len(), 2);
    // Locks go with those who held them.
    let left: Vec<_> = std::fs::read_dir(folder.path())
        .unwrap()
        .map(|file| file.unwrap().file_name().into_string().unwrap())
        .filter(|name| name.contains(".lock-"))
        .collect();
    assert!(left.is_empty(), "{left:?}");
    let mode = std::fs::metadata(database(&folder))
        .unwrap()
        .permissions()
        .mode();
    assert_eq!(mode & 0o777, 0o600);
}

/// The other process of the test below: it writes while its session is another one's.
#[test]
fn other_process() {
    let Some(held) = std::env::var_os(HELD) else {
        return;
    };
    let held = held.into_string().unwrap();
    let (path, id) = held.split_once('|').unwrap();
    let store = SqliteStore::open(path).unwrap();
    let locked = store.open(id.parse().unwrap(), Access::Write);
    assert!(matches!(locked, Err(Error::Locked { .. })), "{locked:?}");
    let mut log = store.create(Header::new(None)).unwrap();
    for number in 0..100 {
        say(&mut *log, &format!("message {number}"));
    }
}

#[test]
fn two_processes_share_a_database() {
    let folder = TempDir::new().unwrap();
    let store = SqliteStore::open(database(&folder)).unwrap();
    let mut log = store.create(Header::new(None)).unwrap();
    let mut other = Command::new(std::env::current_exe().unwrap())
        .args(["--exact", "sqlite::other_process"])
        .env(
            HELD,
            format!("{}|{}", database(&folder).display(), log.header().id),
        )
        .stdout(std::process::Stdio::null())
        .spawn()
        .unwrap();
    for number in 0..100 {
        say(&mut *log, &format!("message {number}"));
    }
    assert!(other.wait().unwrap().success());
    assert_eq!(search(&store, "message").len(), 100);
    assert_eq!(
        store
            .search("message", &Filter::default(), 1_000)
            .unwrap()
            .len(),
        200
    );
}

#[test]
fn what_is_no_database_of_sessions_is_left_alone() {
    let folder = TempDir::new().unwrap();
    let path = database(&folder);
    let other = || {
        let other = Connection::open(&path).unwrap();
        other.execute_batch("CREATE TABLE mine (x)").unwrap();
    };
    let text = || std::fs::write(&path, "not a database at all, ".repeat(100)).unwrap();
    for make in [&other as &dyn Fn(), &text] {
        let _ = std::fs::remove_file(&path);
        make();
        let before = std::fs::read(&path).unwrap();
        let opened = SqliteStore::open(&path);
        assert!(matches!(opened, Err(Error::Invalid { .. })), "{opened:?}");
        assert_eq!(std::fs::read(&path).unwrap(), before);
    }
    let nowhere = SqliteStore::open(folder.path().join("no/such.db"));
    assert!(matches!(nowhere, Err(Error::Io { .. })), "{nowhere:?}");
}

#[test]
fn a_newer_version_is_left_alone() {
    let folder = TempDir::new().unwrap();
    let path = database(&folder);
    let store = SqliteStore::open(&path).unwrap();
    let mut log = store.create(Header::new(None)).unwrap();
    say(&mut *log, "word");
    let id = log.header().id;
    drop(log);
    let other = Connection::open(&path).unwrap();
    other
        .execute("UPDATE sessions SET version = 7", [])
        .unwrap();
    for access in [Access::Read, Access::Write] {
        let opened = store.open(id, access);
        assert!(
            matches!(opened, Err(Error::Newer { version: 7, .. })),
            "{opened:?}"
        );
    }
    let listed = store.list(&Filter::default()).unwrap();
    assert!(listed[0].problem.as_ref().unwrap().contains("version 7"));
    assert!(search(&store, "word").is_empty());

    other.pragma_update(None, "user_version", 99).unwrap();
    let opened = SqliteStore::open(&path);
    assert!(
        matches!(opened, Err(Error::Newer { version: 99, .. })),
        "{opened:?}"
    );
}

fn damage(path: &Path) {
    // All of it but the first page, and no log beside it.
    let mut bytes = std::fs::read(path).unwrap();
    bytes[4_096..].fill(0xa5);
    std::fs::write(path, bytes).unwrap();
}

#[test]
fn a_damaged_database_is_an_error() {
    let folder = TempDir::new().unwrap();
    let path = database(&folder);
    let store = SqliteStore::open(&path).unwrap();
    let mut log = store.create(Header::new(None)).unwrap();
    let id = log.header().id;
    for number in 0..50 {
        say(&mut *log, &format!("message {number}"));
    }
    drop((log, store));
    damage(&path);
    let errors = [
        SqliteStore::open(&path).and_then(|store| store.list(&Filter::default()).map(drop)),
        SqliteStore::open(&path).and_then(|store| store.open(id, Access::Write).map(drop)),
        SqliteStore::open(&path).and_then(|store| store.create(Header::new(None)).map(drop)),
        SqliteStore::open(&path)
            .and_then(|store| store.search("message", &Filter::default(), 9).map(drop)),
    ];
    for error in errors {
        let told = matches!(error, Err(Error::Invalid { .. } | Error::Database(_)));
        assert!(told, "{error:?}");
    }
}

#[test]
fn a_line_that_cannot_be_read_is_passed_over() {
    let folder = TempDir::new().unwrap();
    let store = SqliteStore::open(database(&folder)).unwrap();
    let mut log = store.create(Header::new(None)).unwrap();
    say(&mut *log, "word one");
    say(&mut *log, "word two");
    let other = Connection::open(database(&folder)).unwrap();
    other
        .execute("UPDATE entries SET line = '{torn' WHERE number = 0", [])
        .unwrap();
    assert!(matches!(
        log.read(0),
        Err(Error::Unreadable { number: 0, .. })
    ));
    assert_eq!(log.read_all(&[0, 1]).unwrap().len(), 1);
    assert_eq!(search(&store, "word").len(), 1);
}

#[test]
fn somebody_else_who_writes_is_noticed() {
    let folder = TempDir::new().unwrap();
    let store = SqliteStore::open(database(&folder)).unwrap();
    let mut log = store.create(Header::new(None)).unwrap();
    say(&mut *log, "a");
    let other = Connection::open(database(&folder)).unwrap();
    other.execute("DELETE FROM entries", []).unwrap();
    let next = entry(&*store.create(Header::new(None)).unwrap(), None, user("b"));
    let appended = log.append(&next, None);
    assert!(
        matches!(appended, Err(Error::Changed { .. })),
        "{appended:?}"
    );
}

#[test]
fn many_may_make_the_database_at_once() {
    let folder = TempDir::new().unwrap();
    std::thread::scope(|scope| {
        for _ in 0..8 {
            scope.spawn(|| {
                let store = SqliteStore::open(database(&folder)).unwrap();
                let mut log = store.create(Header::new(None)).unwrap();
                say(&mut *log, "made");
            });
        }
    });
    let store = SqliteStore::open(database(&folder)).unwrap();
    assert_eq!(search(&store, "made").len(), 8);
}
