//! The index can be thrown away, and is believed only where it is right.

use std::fs;

use harness_session::test_support::Author;
use harness_session::{Access, Header, Log, SessionId, Store};

use crate::place::{Place, say, tree};

/// A session with branches.
fn session(place: &Place, count: u64) -> SessionId {
    let mut log = place.store.create(Header::new(None)).unwrap();
    let mut author = Author::new();
    for number in 0..count {
        let parent = (number > 0).then(|| {
            if number % 7 == 0 {
                number / 2
            } else {
                number - 1
            }
        });
        let above = parent.map(|parent| log.node(parent).unwrap().id);
        let entry = author.said(&format!("entry {number}"), above);
        log.append(&entry, parent).unwrap();
    }
    log.header().id
}

fn check(place: &Place, id: SessionId, expected: &[(String, Option<u64>)], what: &str) {
    for access in [Access::Read, Access::Write, Access::Read] {
        let mut log = place.store.open(id, access).unwrap();
        assert_eq!(log.take_warnings(), [""; 0], "{what}");
        assert_eq!(tree(&*log), expected, "{what}");
        for number in (0..log.len()).step_by(2) {
            let text = crate::place::text(&log.read(number).unwrap());
            assert_eq!(text, format!("entry {number}"), "{what}");
        }
    }
}

#[test]
fn an_index_that_was_thrown_away_or_garbled_changes_nothing() {
    let place = Place::new();
    // A first, a last and one in between: each byte of the index is changed, and the session opened anew.
    let id = session(&place, 3);
    let path = place.beside(id, "index");
    let expected = tree(&*place.read(id));
    let whole = fs::read(&path).unwrap();
    assert_eq!(whole.len(), 48 + 3 * 48);
    fs::remove_file(&path).unwrap();
    check(&place, id, &expected, "none");
    assert_eq!(fs::read(&path).unwrap(), whole, "it is written again");
    for cut in 0..whole.len() {
        fs::write(&path, &whole[..cut]).unwrap();
        check(&place, id, &expected, &format!("cut at {cut}"));
    }
    for at in 0..whole.len() {
        let mut garbled = whole.clone();
        garbled[at] ^= 0x41;
        fs::write(&path, garbled).unwrap();
        check(&place, id, &expected, &format!("garbled at {at}"));
    }
    let longer = [&whole[..], &[0; 480]].concat();
    for other in [&longer[..], &[0; 500], b"text"] {
        fs::write(&path, other).unwrap();
        check(&place, id, &expected, "another file");
    }
    let other = session(&place, 3);
    fs::copy(place.beside(other, "index"), &path).unwrap();
    check(&place, id, &expected, "another session's");
    fs::remove_file(&path).unwrap();
    fs::create_dir(&path).unwrap();
    assert_eq!(tree(&*place.read(id)), expected);
}

#[test]
fn an_index_that_lags_or_runs_ahead_changes_nothing() {
    let place = Place::new();
    let id = session(&place, 40);
    let path = place.beside(id, "index");
    let early = fs::read(&path).unwrap();
    let early_bytes = place.bytes(id);
    let mut log = place.write(id);
    for number in 40..60 {
        say(&mut *log, &format!("entry {number}")).unwrap();
    }
    drop(log);
    let expected = tree(&*place.read(id));
    let late = fs::read(&path).unwrap();
    fs::write(&path, early).unwrap();
    check(&place, id, &expected, "it lags");
    // A file that lost its end with the power, and its index did not.
    fs::write(place.file(id), early_bytes).unwrap();
    fs::write(&path, late).unwrap();
    check(&place, id, &expected[..40], "it runs ahead");
}

#[test]
fn a_reader_writes_no_index_and_uses_the_one_that_is_there() {
    let place = Place::new();
    let id = session(&place, 10);
    let path = place.beside(id, "index");
    fs::remove_file(&path).unwrap();
    let log = place.read(id);
    assert_eq!(log.len(), 10);
    drop(log);
    assert_eq!(place.files(id), [place.file(id)]);
    drop(place.write(id));
    assert!(path.exists());
}

#[test]
fn an_index_that_goes_away_while_it_is_used_changes_nothing() {
    let place = Place::new();
    let id = session(&place, 2500);
    let path = place.beside(id, "index");
    let expected = tree(&*place.read(id));
    let nulls = vec![0; 300_000];
    for garbage in [&b""[..], &[7; 100], &nulls] {
        let whole = fs::read(&path).unwrap();
        let reader = place.read(id);
        let writer = place.write(id);
        fs::write(&path, garbage).unwrap();
        assert_eq!(tree(&*reader), expected);
        assert_eq!(tree(&*writer), expected);
        drop((reader, writer));
        assert_eq!(tree(&*place.write(id)), expected);
        assert_eq!(fs::read(&path).unwrap(), whole);
    }
}

#[test]
fn entries_that_an_index_has_wrong_are_not_made_up() {
    let place = Place::new();
    let id = session(&place, 40);
    let mut bytes = place.bytes(id);
    let at = bytes
        .windows(9)
        .position(|part| part == b"\"entry 9\"")
        .unwrap();
    // Somebody edits a line, and it stays as long as it was.
    bytes[at - 20] = b'\\';
    fs::write(place.file(id), &bytes).unwrap();
    let log = place.read(id);
    assert_eq!(log.len(), 40);
    let numbers: Vec<u64> = (0..40).collect();
    assert_eq!(log.read_all(&numbers).unwrap().len(), 39);
    let error = log.read(9).unwrap_err().to_string();
    assert!(error.contains("entry 9 of the session"), "{error}");
}

#[test]
fn ids_that_do_not_ascend_are_found_all_the_same() {
    let place = Place::new();
    let mut log = place.store.create(Header::new(None)).unwrap();
    let id = log.header().id;
    let mut author = Author::new();
    let mut entries: Vec<_> = (0..700)
        .map(|number| author.said(&format!("entry {number}"), None))
        .collect();
    entries.reverse();
    for entry in &entries {
        log.append(entry, None).unwrap();
    }
    let check = |log: &dyn Log| {
        for (number, entry) in (0..).zip(&entries) {
            assert_eq!(log.find(entry.id).unwrap(), Some(number));
        }
    };
    check(&*log);
    drop(log);
    check(&*place.read(id));
    fs::remove_file(place.beside(id, "index")).unwrap();
    check(&*place.write(id));
    check(&*place.read(id));
}
