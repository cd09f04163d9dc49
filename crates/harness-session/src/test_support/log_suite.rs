//! What every store has to keep, as checks: of one session.

use crate::entry::{Body, CustomBody, Entry, LabelBody};
use crate::error::Error;
use crate::id::{EntryId, SessionId};
use crate::node::{Node, NodeKind};
use crate::store::{Access, Log};
use crate::test_support::author::{Author, all_bodies, user};
use crate::test_support::store_suite::{Make, begin, line, lines};

pub(crate) fn check(make: Make<'_>) {
    entries_of_all_types_are_kept(make);
    what_is_not_known_is_kept_to_the_byte(make);
    any_text_is_kept(make);
    a_tree_is_kept(make);
    entries_come_in_the_order_that_is_asked_for(make);
    the_newest_of_an_id_is_found(make);
    nothing_comes_of_an_append_that_fails(make);
    a_reader_changes_nothing(make);
    large_entries_are_kept(make);
    what_is_acknowledged_can_be_read_however_deep_it_is(make);
    readers_are_not_disturbed_by_a_writer(make);
}

/// Opens a session anew, to read and to write.
fn anew(make: Make<'_>, id: SessionId, mut check: impl FnMut(&mut dyn Log)) {
    for access in [Access::Read, Access::Write] {
        let mut log = make().open(id, access).expect("it can be opened again");
        let warnings = log.take_warnings();
        assert_eq!(warnings, [""; 0], "nothing is wrong with it");
        check(&mut *log);
    }
}

fn entries_of_all_types_are_kept(make: Make<'_>) {
    let mut log = begin(&*make(), "types");
    let id = log.header().id;
    let mut author = Author::new();
    let root = author.say(&mut *log, "root");
    let mut entries = vec![root.clone()];
    for body in all_bodies(root.id) {
        entries.push(author.append(&mut *log, body));
    }
    let check = |log: &dyn Log| {
        assert_eq!(log.len(), entries.len() as u64, "each is there once");
        for (number, entry) in (0..).zip(&entries) {
            let node = Node {
                id: entry.id,
                parent: u64::checked_sub(number, 1),
                kind: NodeKind::of(&entry.body),
            };
            assert_eq!(log.node(number).unwrap(), node, "its place is kept");
            assert_eq!(log.find(entry.id).unwrap(), Some(number), "it is found");
            let read = log.read(number).unwrap();
            assert_eq!((read.id, read.time), (entry.id, entry.time));
            assert_eq!(read.parent, entry.parent);
            assert_eq!(line(&read), line(entry), "what it says is kept");
        }
        let missing = author.clone().entry(user("x"), None).id;
        assert_eq!(log.find(missing).unwrap(), None, "no other is found");
    };
    check(&*log);
    log.checkpoint().unwrap();
    log.sync().unwrap();
    drop(log);
    anew(make, id, |log| check(log));
}

fn what_is_not_known_is_kept_to_the_byte(make: Make<'_>) {
    let mut log = begin(&*make(), "unknown");
    let id = log.header().id;
    let mut author = Author::new();
    let root = author.say(&mut *log, "root");
    let rest = r#", "number": 1.0e400, "big":123456789012345678901234567890, "half":"\ud800", "a":{"a" :1,"a":2}"#;
    let unknown = author.unknown("of_the_future", Some(root.id), rest);
    log.append(&unknown, Some(0)).unwrap();
    author.say(&mut *log, "behind it");
    drop(log);
    anew(make, id, |log| {
        assert_eq!(log.len(), 3, "it is an entry like others");
        let node = log.node(1).unwrap();
        assert_eq!((node.parent, node.kind), (Some(0), NodeKind::Unknown));
        let read = log.read(1).unwrap();
        assert_eq!(read.body.kind(), "of_the_future");
        assert_eq!(line(&read), line(&unknown), "it is kept to the byte");
    });
}

fn any_text_is_kept(make: Make<'_>) {
    let mut log = begin(&*make(), "text");
    let id = log.header().id;
    let texts = [
        "",
        "line\nline\r\nline\r",
        "\u{2028}\u{2029}\u{85}\u{0}\u{1f}\u{7f}\u{feff}",
        "\\ud800 \\u0000 \\\\ \" / {\"type\":\"message\"}",
        "\u{fffd}\u{10ffff}👨‍👩‍👧 é e\u{301}",
    ];
    let mut author = Author::new();
    for text in texts {
        author.say(&mut *log, text);
    }
    drop(log);
    anew(make, id, |log| {
        for (number, text) in (0..).zip(texts) {
            let expected = line(&Entry {
                body: user(text),
                ..log.read(number).unwrap()
            });
            assert_eq!(line(&log.read(number).unwrap()), expected, "{text:?}");
        }
    });
}

fn a_tree_is_kept(make: Make<'_>) {
    // More than an index reads or writes at once.
    const COUNT: u64 = 1300;
    let mut log = begin(&*make(), "tree");
    let id = log.header().id;
    let mut author = Author::new();
    let mut nodes: Vec<Node> = Vec::new();
    for number in 0..COUNT {
        // Roots, long branches, short ones, and a bush.
        let parent = match number % 97 {
            0 => None,
            1..40 => Some(number - 1),
            40 => Some(number / 2),
            rest => Some(number - rest % 7 - 1),
        };
        let above = parent.map(|parent| nodes[parent as usize].id);
        let body = match above {
            Some(target) if number % 5 == 0 => Body::Label(LabelBody {
                target,
                label: None,
            }),
            _ => user("text"),
        };
        let entry = author.entry(body, above);
        let given = log.append(&entry, parent).unwrap();
        assert_eq!(given, number, "entries are numbered from 0");
        nodes.push(Node {
            id: entry.id,
            parent,
            kind: NodeKind::of(&entry.body),
        });
    }
    let check = |log: &dyn Log| {
        assert_eq!(log.len(), COUNT);
        // Not in the order of the file.
        for step in 0..COUNT {
            let number = step * 1009 % COUNT;
            let expected = nodes[number as usize];
            assert_eq!(log.node(number).unwrap(), expected, "{number}");
            assert_eq!(log.find(expected.id).unwrap(), Some(number), "{number}");
        }
    };
    check(&*log);
    drop(log);
    anew(make, id, |log| check(log));
}

fn entries_come_in_the_order_that_is_asked_for(make: Make<'_>) {
    let mut log = begin(&*make(), "asked");
    let id = log.header().id;
    let mut author = Author::new();
    let all: Vec<EntryId> = (0..50)
        .map(|number| author.say(&mut *log, &format!("entry {number}")).id)
        .collect();
    drop(log);
    anew(make, id, |log| {
        let orders: [&[u64]; 5] = [
            &[],
            &[0, 1, 2, 3, 49],
            &[49, 48, 0],
            &[7, 7, 8, 7],
            &[10, 12, 13, 11, 14, 15],
        ];
        for order in orders {
            let entries = log.read_all(order).unwrap();
            let ids: Vec<_> = entries.iter().map(|entry| entry.id).collect();
            let expected: Vec<_> = order.iter().map(|it| all[*it as usize]).collect();
            assert_eq!(ids, expected, "{order:?}");
        }
        for result in [
            log.read(50).map(drop),
            log.node(50).map(drop),
            log.read_all(&[0, 50]).map(drop),
            log.read(u64::MAX).map(drop),
        ] {
            let is_right = matches!(result, Err(Error::Misuse(_)));
            assert!(is_right, "there is no such entry: {result:?}");
        }
    });
}

fn the_newest_of_an_id_is_found(make: Make<'_>) {
    let mut log = begin(&*make(), "twice");
    let id = log.header().id;
    let mut author = Author::new();
    let first = author.say(&mut *log, "first");
    let second = author.say(&mut *log, "second");
    let mut again = first.clone();
    again.body = user("first, again");
    log.append(&again, None).unwrap();
    let check = |log: &dyn Log| {
        assert_eq!(log.len(), 3, "each has a number of its own");
        assert_eq!(log.find(first.id).unwrap(), Some(2), "the newest is found");
        assert_eq!(log.find(second.id).unwrap(), Some(1), "the others, too");
        assert!(lines(log)[0].contains("\"first\""), "the older can be read");
    };
    check(&*log);
    drop(log);
    anew(make, id, |log| check(log));
}

fn nothing_comes_of_an_append_that_fails(make: Make<'_>) {
    let mut log = begin(&*make(), "failed");
    let id = log.header().id;
    let mut author = Author::new();
    let root = author.say(&mut *log, "root");
    let entry = author.entry(user("behind what is not there"), Some(root.id));
    for parent in [1, 2, u64::from(u32::MAX), u64::MAX] {
        let result = log.append(&entry, Some(parent));
        assert!(result.is_err(), "no entry follows one that is not there");
        assert_eq!(log.len(), 1, "nothing was appended");
        assert_eq!(log.find(entry.id).unwrap(), None, "nothing was appended");
    }
    assert_eq!(log.append(&entry, Some(0)).unwrap(), 1, "it can go on");
    drop(log);
    anew(make, id, |log| {
        assert_eq!(log.len(), 2);
        assert_eq!(line(&log.read(1).unwrap()), line(&entry));
    });
}

fn a_reader_changes_nothing(make: Make<'_>) {
    let mut log = begin(&*make(), "reader");
    let id = log.header().id;
    let mut author = Author::new();
    author.say(&mut *log, "root");
    drop(log);
    let mut reader = make().open(id, Access::Read).unwrap();
    let entry = author.entry(user("x"), None);
    for result in [
        reader.append(&entry, None).map(drop),
        reader.checkpoint(),
        reader.sync(),
    ] {
        let is_right = matches!(result, Err(Error::ReadOnly));
        assert!(is_right, "a reader cannot write: {result:?}");
    }
    assert_eq!(reader.len(), 1);
    let writer = make().open(id, Access::Write);
    assert!(writer.is_ok(), "a reader is in no writer's way");
}

fn large_entries_are_kept(make: Make<'_>) {
    const PART: &str = "A line that is neither long nor short, naïve as it is.\n";
    let mut log = begin(&*make(), "large");
    let id = log.header().id;
    let mut author = Author::new();
    let sizes = [3_000_000, 10, 1_048_576, 65_536, 0, 300_000];
    let entries: Vec<_> = sizes
        .iter()
        .map(|size| author.say(&mut *log, &PART.repeat(size / PART.len())))
        .collect();
    drop(log);
    anew(make, id, |log| {
        let numbers: Vec<u64> = (0..log.len()).collect();
        let read = log.read_all(&numbers).unwrap();
        assert_eq!(read.len(), sizes.len());
        for (entry, expected) in read.iter().zip(&entries) {
            assert!(line(entry) == line(expected), "large entries are kept");
        }
    });
}

fn what_is_acknowledged_can_be_read_however_deep_it_is(make: Make<'_>) {
    let mut log = begin(&*make(), "deep");
    let id = log.header().id;
    let mut author = Author::new();
    let mut kept = Vec::new();
    for depth in [10, 100, 120, 124, 126, 128, 130, 200] {
        let data = (0..depth).fold(serde_json::Value::Null, |inner, _| {
            serde_json::Value::Array(vec![inner])
        });
        let kind = "deep".to_owned();
        let entry = author.entry(Body::Custom(CustomBody { kind, data }), None);
        if log.append(&entry, None).is_ok() {
            kept.push(entry);
        }
    }
    assert!(kept.len() >= 2, "what is not deep is taken");
    drop(log);
    anew(make, id, |log| {
        assert_eq!(log.len(), kept.len() as u64);
        for (number, entry) in (0..).zip(&kept) {
            assert_eq!(line(&log.read(number).unwrap()), line(entry));
        }
    });
}

fn readers_are_not_disturbed_by_a_writer(make: Make<'_>) {
    const COUNT: u64 = 400;
    let store = make();
    let mut log = begin(&*store, "beside");
    let id = log.header().id;
    std::thread::scope(|scope| {
        let read = || {
            let mut seen = 0;
            while seen < COUNT {
                let mut reader = store.open(id, Access::Read).unwrap();
                let length = reader.len();
                assert!(length >= seen, "nothing goes away");
                seen = length;
                if let Some(last) = length.checked_sub(1) {
                    let entry = reader.read(last).unwrap();
                    assert_eq!(reader.find(entry.id).unwrap(), Some(last));
                    assert_eq!(reader.node(last).unwrap().parent, last.checked_sub(1));
                }
                let warnings = reader.take_warnings();
                assert_eq!(warnings, [""; 0], "a reader sees whole entries");
            }
        };
        scope.spawn(read);
        let mut author = Author::new();
        for number in 0..COUNT {
            let text = "x".repeat((number * 31 % 3000) as usize);
            author.say(&mut *log, &text);
        }
    });
}
