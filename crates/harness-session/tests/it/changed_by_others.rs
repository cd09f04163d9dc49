//! A file that somebody else changes while it is written to.

use std::fs::{self, OpenOptions};
use std::io::Write;

use harness_session::{Error, Header, Store};

use crate::place::{Place, say};

/// What somebody does to a file.
type Change = fn(&std::path::Path);

#[test]
fn sess_08_a_change_by_another_program_is_an_error_at_once() {
    let changes: [(&str, Change); 8] = [
        ("appends", |path| {
            let mut file = OpenOptions::new().append(true).open(path).unwrap();
            file.write_all(b"{\"foreign\":1}\n").unwrap();
        }),
        ("cuts", |path| {
            let file = OpenOptions::new().write(true).open(path).unwrap();
            file.set_len(10).unwrap();
        }),
        ("empties", |path| drop(fs::File::create(path).unwrap())),
        ("rewrites", |path| {
            fs::write(path, "something else\n").unwrap();
        }),
        ("replaces", |path| {
            let bytes = fs::read(path).unwrap();
            let new = path.with_extension("edited");
            fs::write(&new, bytes).unwrap();
            fs::rename(new, path).unwrap();
        }),
        ("saves as editors do", |path| {
            let backup = path.with_extension("jsonl~");
            fs::rename(path, &backup).unwrap();
            fs::write(path, fs::read(backup).unwrap()).unwrap();
        }),
        ("moves away", |path| {
            fs::rename(path, path.with_extension("elsewhere")).unwrap();
        }),
        ("deletes", |path| fs::remove_file(path).unwrap()),
    ];
    for (what, change) in changes {
        let place = Place::new();
        let id = place.session(&["one", "two"]);
        let mut log = place.write(id);
        say(&mut *log, "three").unwrap();
        change(&place.file(id));
        let after = fs::read(place.file(id)).ok();
        for _ in 0..3 {
            let error = say(&mut *log, "four").unwrap_err();
            assert!(matches!(error, Error::Changed { .. }), "{what}: {error}");
            assert!(!error.is_retryable(), "{what}");
        }
        assert_eq!(log.len(), 3, "{what}");
        drop(log);
        let now = fs::read(place.file(id)).ok();
        assert_eq!(now, after, "{what}: foreign bytes are never overwritten");
        let index = fs::metadata(place.beside(id, "index")).unwrap().len();
        assert_eq!(index, 3 * 48, "{what}: nor is anything told of them");
    }
}

#[test]
fn sess_08_what_was_not_written_goes_into_a_new_session() {
    let place = Place::new();
    let id = place.session(&["one"]);
    let mut log = place.write(id);
    let mut file = OpenOptions::new()
        .append(true)
        .open(place.file(id))
        .unwrap();
    file.write_all(b"{\"foreign\":1}\n").unwrap();
    assert!(say(&mut *log, "two").is_err());
    // What is known can still be read, and be written elsewhere.
    let mut new = place.store.create(Header::new(None)).unwrap();
    let entry = log.read(0).unwrap();
    new.append(&entry, None).unwrap();
    say(&mut *new, "two").unwrap();
    let new_id = new.header().id;
    drop((log, new));
    assert_eq!(place.texts(new_id), ["one", "two"]);
    // And the old one can be opened again.
    let mut log = place.write(id);
    assert_eq!(log.take_warnings().len(), 1);
    say(&mut *log, "two, later").unwrap();
    drop(log);
    assert_eq!(place.texts(id), ["one", "two, later"]);
}
