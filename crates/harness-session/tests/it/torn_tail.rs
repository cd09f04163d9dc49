//! What a crash leaves at the end of a session.

use std::fs;

use harness_session::{Access, SessionId, Store};

use crate::place::{Place, say, texts};

/// A session of two entries and a third one, and where the third one begins.
fn session(place: &Place) -> (SessionId, Vec<u8>, usize) {
    let id = place.session(&["first", "second", "the third: é 👍 \"quoted\"\n"]);
    let bytes = place.bytes(id);
    let end = bytes[..bytes.len() - 1].iter().rposition(|it| *it == b'\n');
    (id, bytes.clone(), end.unwrap() + 1)
}

/// Opens a session to write to it: it has these texts, and goes on.
fn goes_on(place: &Place, id: SessionId, expected: &[&str], warnings: usize) -> String {
    let before = place.bytes(id);
    let mut reader = place.read(id);
    assert_eq!(texts(&*reader), expected);
    let told = reader.take_warnings();
    assert!(told.len() <= 1, "{told:?}");
    assert_eq!(place.bytes(id), before, "a reader changes nothing");
    let mut log = place.write(id);
    let told = log.take_warnings();
    assert_eq!(told.len(), warnings, "{told:?}");
    assert_eq!(log.take_warnings(), [""; 0], "told once");
    assert_eq!(texts(&*log), expected);
    say(&mut *log, "and on").unwrap();
    drop(log);
    let mut log = place.write(id);
    assert_eq!(log.take_warnings(), [""; 0], "it is mended once");
    let all = texts(&*log);
    assert_eq!(all.last().unwrap(), "and on");
    assert_eq!(all[..all.len() - 1], *expected);
    told.concat()
}

#[test]
fn sess_02_a_last_line_that_is_cut_anywhere_is_set_aside() {
    let place = Place::new();
    let (id, bytes, start) = session(&place);
    let end = bytes.len() - 1;
    for cut in start + 1..end {
        place.put(id, &bytes[..cut]);
        let told = goes_on(&place, id, &["first", "second"], 1);
        let torn = place.beside(id, "torn-1");
        assert!(told.contains(torn.to_str().unwrap()), "{told}");
        assert_eq!(fs::read(torn).unwrap(), bytes[start..cut], "{cut}");
    }
}

#[test]
fn sess_02_a_last_line_that_lacks_only_its_end_counts() {
    let place = Place::new();
    let (id, bytes, start) = session(&place);
    let third = "the third: é 👍 \"quoted\"\n";
    let whole = &bytes[..bytes.len() - 1];
    place.put(id, whole);
    goes_on(&place, id, &["first", "second", third], 1);
    assert_eq!(place.bytes(id)[..bytes.len()], bytes);
    // A line that is not there at all, and one that is.
    place.put(id, &bytes[..start]);
    goes_on(&place, id, &["first", "second"], 0);
    place.put(id, &bytes);
    goes_on(&place, id, &["first", "second", third], 0);
}

#[test]
fn sess_02_blank_lines_at_the_end_are_nothing() {
    let place = Place::new();
    let (id, bytes, _) = session(&place);
    let third = "the third: é 👍 \"quoted\"\n";
    for end in ["\n", "\r\n", "\n\n  \n"] {
        let mut with_blank = bytes.clone();
        with_blank.extend_from_slice(end.as_bytes());
        place.put(id, &with_blank);
        goes_on(&place, id, &["first", "second", third], 0);
    }
}

#[test]
fn sess_02_a_whole_line_that_cannot_be_read_is_kept_where_it_is() {
    let place = Place::new();
    let (id, bytes, start) = session(&place);
    for cut in [start + 1, start + 50, bytes.len() - 2] {
        let mut torn = bytes[..cut].to_vec();
        torn.push(b'\n');
        place.put(id, &torn);
        let mut log = place.write(id);
        assert_eq!(texts(&*log), ["first", "second"]);
        assert!(log.take_warnings().concat().contains("line 4"));
        say(&mut *log, "and on").unwrap();
        drop(log);
        assert_eq!(place.bytes(id)[..torn.len()], torn);
        assert_eq!(place.texts(id), ["first", "second", "and on"]);
    }
}

#[test]
fn sess_02_what_lost_power_leaves_is_set_aside() {
    let place = Place::new();
    let (id, bytes, start) = session(&place);
    let nulls = vec![0; 100_000];
    let tails: [&[&[u8]]; 4] = [
        &[&nulls],
        &[&nulls, b"\n"],
        &[&bytes[start..start + 30], &nulls],
        &[b"\0\n"],
    ];
    for parts in tails {
        let tail = parts.concat();
        place.put(id, &[&bytes[..start], &tail[..]].concat());
        let mut reader = place.read(id);
        assert_eq!(texts(&*reader), ["first", "second"]);
        assert_eq!(reader.take_warnings().len(), 1);
        let mut log = place.write(id);
        assert_eq!(log.take_warnings().len(), 1);
        say(&mut *log, "and on").unwrap();
        drop(log);
        assert_eq!(place.texts(id), ["first", "second", "and on"]);
        assert_eq!(fs::read(place.beside(id, "torn-1")).unwrap(), tail);
    }
}

#[test]
fn sess_02_each_torn_end_is_kept() {
    let place = Place::new();
    let (id, bytes, start) = session(&place);
    place.put(id, &bytes[..start + 10]);
    drop(place.write(id));
    fs::write(place.file(id), &bytes[..start + 20]).unwrap();
    drop(place.write(id));
    let torn = |number| fs::read(place.beside(id, &format!("torn-{number}"))).unwrap();
    assert_eq!(torn(1), bytes[start..start + 10]);
    assert_eq!(torn(2), bytes[start..start + 20]);
    place.store.delete(id).unwrap();
    assert_eq!(place.files(id).len(), 0);
}

#[test]
fn sess_02_a_session_that_was_cut_in_its_first_line() {
    let place = Place::new();
    let (id, bytes, _) = session(&place);
    let end = bytes.iter().position(|it| *it == b'\n').unwrap();
    for cut in 0..end {
        place.put(id, &bytes[..cut]);
        for access in [Access::Read, Access::Write] {
            let error = place.store.open(id, access).unwrap_err().to_string();
            assert!(error.contains("is not a session"), "{error}");
        }
        assert_eq!(place.bytes(id), bytes[..cut], "it is left alone");
    }
    place.put(id, &bytes[..end]);
    let mut log = place.write(id);
    say(&mut *log, "and on").unwrap();
    drop(log);
    assert_eq!(place.texts(id), ["and on"]);
}
