//! Lines that are not what they should be.

use std::fs;

use harness_session::test_support::Author;
use harness_session::{Access, Error, Filter, Header, SessionId, Store};

use crate::place::{Place, say, texts, tree};

/// A session whose lines are these, behind its header.
fn with_lines(place: &Place, lines: &[&[u8]]) -> SessionId {
    let id = place.session(&[]);
    let mut bytes = place.bytes(id);
    for line in lines {
        bytes.extend_from_slice(line);
        bytes.push(b'\n');
    }
    place.put(id, &bytes);
    id
}

/// The lines of entries, each behind the one before.
fn lines(texts: &[&str]) -> Vec<Vec<u8>> {
    let mut author = Author::new();
    let mut parent = None;
    let mut lines = Vec::new();
    for text in texts {
        let entry = author.said(text, parent);
        parent = Some(entry.id);
        let mut line = Vec::new();
        entry.write(&mut line).unwrap();
        line.pop();
        lines.push(line);
    }
    lines
}

#[test]
fn sess_04_a_damaged_file_stops_no_other_command() {
    let place = Place::new();
    let good = place.session(&["good"]);
    let nulls = vec![0; 70_000];
    let damages: [&[u8]; 7] = [
        b"",
        b"\n",
        b"no JSON\n",
        b"{\"type\":\"session\"}\n",
        b"{\"type\":\"message\"}\n",
        b"\xff\xfe\0\0",
        &nulls,
    ];
    for damage in damages {
        let bad = place.session(&["bad"]);
        place.put(bad, damage);
        let list = place.store.list(&Filter::default()).unwrap();
        let of = |id: SessionId| list.iter().find(|it| it.header.id == id).unwrap();
        assert!(of(bad).problem.is_some(), "{damage:?}");
        assert_eq!(of(good).problem, None);
        assert_eq!(place.store.find(&bad.to_string()).unwrap(), bad);
        let hits = place.store.search("good", &Filter::default(), 9).unwrap();
        assert_eq!(hits.len(), 1);
        assert!(place.store.open(bad, Access::Write).is_err());
        assert_eq!(place.bytes(bad), damage, "it is left alone");
        let new = place.session(&["new"]);
        assert_eq!(place.texts(new), ["new"]);
        for id in [bad, new] {
            place.store.delete(id).unwrap();
            assert_eq!(place.files(id).len(), 0);
        }
    }
    assert_eq!(place.texts(good), ["good"]);
}

#[test]
fn sess_04_what_is_no_file_stops_no_other_command() {
    let place = Place::new();
    let good = place.session(&["good"]);
    let [pipe, folder] = [(); 2].map(|()| SessionId::new());
    let made = std::process::Command::new("mkfifo")
        .arg(place.file(pipe))
        .status();
    assert!(made.unwrap().success());
    fs::create_dir(place.file(folder)).unwrap();
    fs::write(place.folder.join("stray"), "").unwrap();
    fs::write(place.folder.join("_/stray.jsonl"), "").unwrap();
    let list = place.store.list(&Filter::default()).unwrap();
    assert_eq!(list.len(), 3);
    for bad in [pipe, folder] {
        let listed = list.iter().find(|it| it.header.id == bad).unwrap();
        assert!(listed.problem.is_some());
        let error = place.store.open(bad, Access::Write).unwrap_err();
        assert!(matches!(error, Error::Io { .. }), "{error}");
    }
    assert_eq!(place.texts(good), ["good"]);
}

#[test]
fn sess_05_each_record_is_one_line() {
    let place = Place::new();
    let texts = [
        "a\nb\r\nc\rd",
        "\u{2028}\u{2029}\u{85}",
        "\0\u{1}\u{1f}\u{7f}",
        "\\n \\ud800 \u{fffd}",
        "{\"type\":\"message\"}\n{\"type\":\"message\"}\n",
    ];
    let id = place.session(&texts);
    let mut log = place.write(id);
    let last = log.node(4).unwrap().id;
    let unknown =
        Author::after(Some(last)).unknown("future", Some(last), ",\n\t\"half\":\r\n\"\\ud800\"");
    log.append(&unknown, Some(4)).unwrap();
    drop(log);
    let bytes = place.bytes(id);
    let lines: Vec<_> = bytes.split(|byte| *byte == b'\n').collect();
    assert_eq!(lines.len(), 1 + texts.len() + 1 + 1);
    for line in &lines[..lines.len() - 1] {
        serde_json::from_slice::<serde::de::IgnoredAny>(line).unwrap();
        assert!(!line.contains(&b'\r'));
    }
    let mut log = place.write(id);
    assert_eq!(log.take_warnings(), [""; 0]);
    assert_eq!(crate::place::texts(&*log)[..5], texts);
    assert_eq!(log.read(5).unwrap().body.kind(), "future");
}

#[test]
fn lines_that_cannot_be_read_are_told_and_passed_over() {
    let place = Place::new();
    let good = lines(&["one", "two", "three"]);
    let deep = [b"{\"a\":".repeat(5000), b"1".to_vec()].concat();
    let endless = vec![b'x'; 3_000_000];
    let glued = [&good[0][..], &good[1][..]].concat();
    let bad_utf8 = good[1].iter().map(|byte| match byte {
        b'w' => 0xff,
        byte => *byte,
    });
    let bad_utf8: Vec<u8> = bad_utf8.collect();
    let half = good[1][..good[1].len() / 2].to_vec();
    let damages: [&[u8]; 9] = [
        b"no JSON",
        b"[]",
        b"{\"type\":\"message\"}",
        &[0; 5000],
        &deep,
        &endless,
        &glued,
        &bad_utf8,
        &half,
    ];
    for damage in damages {
        let id = with_lines(&place, &[&good[0], damage, &good[1], &good[2]]);
        let before = place.bytes(id);
        for access in [Access::Read, Access::Write, Access::Write] {
            let mut log = place.store.open(id, access).unwrap();
            assert_eq!(texts(&*log), ["one", "two", "three"]);
            assert_eq!(log.node(1).unwrap().parent, Some(0));
            let warnings = log.take_warnings();
            assert_eq!(warnings.len(), 1, "{warnings:?}");
        }
        assert_eq!(place.bytes(id), before, "they are kept");
        let mut log = place.write(id);
        say(&mut *log, "four").unwrap();
        drop(log);
        assert_eq!(place.texts(id), ["one", "two", "three", "four"]);
    }
}

#[test]
fn many_bad_lines_are_not_all_told() {
    let place = Place::new();
    let good = lines(&["one"]);
    let mut all: Vec<&[u8]> = vec![b"bad"; 100];
    all.push(&good[0]);
    let id = with_lines(&place, &all);
    let mut log = place.write(id);
    let warnings = log.take_warnings();
    assert_eq!(warnings.len(), 21);
    assert!(warnings[0].contains("line 2 "), "{warnings:?}");
    assert!(warnings[20].contains("80 more"), "{warnings:?}");
    drop(log);
    let warnings = place.write(id).take_warnings();
    assert!(warnings.concat().contains("100 lines"), "{warnings:?}");
}

#[test]
fn lines_that_only_look_strange_are_read() {
    let place = Place::new();
    let good = lines(&["one", "two", "three"]);
    let text = |line: &[u8]| String::from_utf8(line.to_vec()).unwrap();
    let with_return = [&good[0][..], b"\r"].concat();
    let with_nulls = [&[0; 4096], &good[1][..]].concat();
    let more = text(&good[2]).replacen('{', "{ \"more\" : [1, {}],", 1);
    let time = more.find("\"time\":").unwrap();
    let time_end = time + more[time..].find(',').unwrap() + 1;
    let without_time = format!("{}{}", &more[..time], &more[time_end..]);
    let id = with_lines(
        &place,
        &[
            b"",
            &with_return,
            b" \t",
            &with_nulls,
            without_time.as_bytes(),
        ],
    );
    for access in [Access::Read, Access::Write, Access::Read] {
        let mut log = place.store.open(id, access).unwrap();
        assert_eq!(log.take_warnings(), [""; 0]);
        assert_eq!(texts(&*log), ["one", "two", "three"]);
        let entry = log.read(2).unwrap();
        assert_eq!(entry.time, entry.id.time());
    }
}

#[test]
fn what_follows_a_lost_entry_follows_the_one_before_it() {
    let place = Place::new();
    let good = lines(&["one", "lost", "three", "four"]);
    let id = with_lines(&place, &[&good[0], b"lost", &good[2], &good[3]]);
    for access in [Access::Read, Access::Write, Access::Read] {
        let log = place.store.open(id, access).unwrap();
        assert_eq!(texts(&*log), ["one", "three", "four"]);
        let parents: Vec<_> = tree(&*log).into_iter().map(|(_, parent)| parent).collect();
        assert_eq!(parents, [None, Some(0), Some(1)]);
    }
    // The first of all is lost, or an entry follows itself or one that comes later.
    let id = with_lines(&place, &[b"lost", &good[1], &good[2]]);
    assert_eq!(place.read(id).node(0).unwrap().parent, None);
    let id = with_lines(&place, &[&good[0], &good[3], &good[2]]);
    let log = place.read(id);
    let parents: Vec<_> = (0..3).map(|it| log.node(it).unwrap().parent).collect();
    assert_eq!(parents, [None, Some(0), Some(1)]);
}

#[test]
fn sess_10_repeated_ids_are_borne() {
    let place = Place::new();
    let good = lines(&["one", "two", "three", "four"]);
    // Two writers of another program: one line is there twice, and one id has two entries.
    let other_two = String::from_utf8(good[1].clone()).unwrap();
    let other_two = other_two.replace("\"two\"", "\"another two\"");
    let id = with_lines(
        &place,
        &[
            &good[0],
            &good[1],
            &good[1],
            other_two.as_bytes(),
            &good[2],
            &good[3],
        ],
    );
    for access in [Access::Read, Access::Write, Access::Read] {
        let mut log = place.store.open(id, access).unwrap();
        assert_eq!(log.take_warnings(), [""; 0]);
        let all = ["one", "two", "two", "another two", "three", "four"];
        assert_eq!(texts(&*log), all);
        let parents: Vec<_> = (0..6).map(|it| log.node(it).unwrap().parent).collect();
        // The newest of an id is meant.
        let expected = [None, Some(0), Some(0), Some(0), Some(3), Some(4)];
        assert_eq!(parents, expected);
    }
    let mut log = place.write(id);
    say(&mut *log, "five").unwrap();
    drop(log);
    assert_eq!(place.texts(id).len(), 7);
}

#[test]
fn sess_10_a_repair_leaves_nothing_twice_and_loses_nothing() {
    let place = Place::new();
    let good = lines(&["one", "two", "three", "four"]);
    let other_two = String::from_utf8(good[1].clone()).unwrap();
    let other_two = other_two.replace("\"two\"", "\"another two\"");
    let id = with_lines(
        &place,
        &[
            &good[0],
            &good[1],
            b"no JSON",
            &good[1],
            other_two.as_bytes(),
            &good[2],
        ],
    );
    let mut damaged = place.bytes(id);
    damaged.extend_from_slice(&good[3][..20]);
    place.put(id, &damaged);
    let report = place.store.repair(id).unwrap();
    assert_eq!(report.path, place.file(id));
    assert_eq!((report.entries, report.repeated), (4, 2));
    assert_eq!(report.unreadable.len(), 1);
    assert!(report.unreadable[0].starts_with("line 4: "), "{report:?}");
    let torn = fs::read(report.torn.unwrap()).unwrap();
    assert_eq!(torn, good[3][..20]);
    let backup = fs::read(report.backup.unwrap()).unwrap();
    assert_eq!([backup, torn].concat(), damaged, "no byte is lost");

    let mut log = place.write(id);
    assert_eq!(log.take_warnings(), [""; 0]);
    assert_eq!(texts(&*log), ["one", "two", "another two", "three"]);
    let parents: Vec<_> = tree(&*log).into_iter().map(|(_, parent)| parent).collect();
    assert_eq!(parents, [None, Some(0), Some(0), Some(2)]);
    say(&mut *log, "five").unwrap();
    drop(log);
    let before = place.bytes(id);
    let report = place.store.repair(id).unwrap();
    assert_eq!((report.entries, report.repeated), (5, 0));
    assert_eq!((report.torn, report.backup), (None, None));
    assert_eq!(place.bytes(id), before, "what is whole is left as it is");
    place.store.delete(id).unwrap();
    assert_eq!(place.files(id).len(), 0);
}

#[test]
fn a_repair_gives_a_session_a_new_beginning() {
    let place = Place::new();
    let good = lines(&["one", "two"]);
    for beginning in ["garbage\n", "", "{\"type\":\"session\",\"version\":1\n"] {
        let id = SessionId::new();
        let lines = [&good[0][..], b"\n", &good[1], b"\n"].concat();
        let damaged = [beginning.as_bytes(), &lines].concat();
        place.session(&[]);
        fs::write(place.file(id), &damaged).unwrap();
        let report = place.store.repair(id).unwrap();
        assert_eq!(fs::read(report.backup.unwrap()).unwrap(), damaged);
        assert_eq!(place.texts(id), ["one", "two"], "{beginning}");
        let mut expected = Header::new(None);
        expected.id = id;
        expected.time = id.time();
        assert_eq!(*place.read(id).header(), expected);
    }
}

#[test]
fn sess_10_what_is_in_use_is_not_repaired() {
    let place = Place::new();
    let id = place.session(&["one"]);
    let log = place.write(id);
    let error = place.store.repair(id).unwrap_err();
    assert!(matches!(error, Error::Locked { .. }), "{error}");
    drop(log);
    assert_eq!(place.store.repair(id).unwrap().entries, 1);
}
