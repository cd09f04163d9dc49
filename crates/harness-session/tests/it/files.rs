//! Whose the files are, and files that cannot be written.

use std::fs::{self, Permissions};
use std::os::unix::ffi::OsStringExt;
use std::os::unix::fs::PermissionsExt;
use std::process::Command;

use harness_session::{Access, Error, Filter, Header, Store};

use crate::place::{Place, say};

fn mode(path: &std::path::Path) -> u32 {
    fs::metadata(path).unwrap().permissions().mode() & 0o7777
}

#[test]
fn files_are_their_owners_alone() {
    let place = Place::new();
    let root = place.folder.join("a/b");
    let inner = Place::at(&root);
    let id = inner.session(&["one"]);
    fs::write(inner.beside(id, "x"), "").unwrap();
    let mut bytes = inner.bytes(id);
    bytes.extend_from_slice(b"torn");
    fs::write(inner.file(id), &bytes).unwrap();
    drop(inner.write(id));
    for folder in [place.folder.join("a"), root.clone(), root.join("_")] {
        assert_eq!(mode(&folder), 0o700, "{folder:?}");
    }
    for ending in ["jsonl", "index", "torn-1"] {
        assert_eq!(mode(&inner.beside(id, ending)), 0o600, "{ending}");
    }
}

#[test]
fn a_newer_session_is_refused_and_left_as_it_is() {
    let place = Place::new();
    let id = place.session(&["one"]);
    let text = String::from_utf8(place.bytes(id)).unwrap();
    let mut newer = text.replacen("\"version\":1", "\"version\":2", 1);
    newer.push_str("torn");
    place.put(id, newer.as_bytes());
    for access in [Access::Read, Access::Write] {
        let error = place.store.open(id, access).unwrap_err();
        assert!(matches!(error, Error::Newer { version: 2, .. }), "{error}");
    }
    let error = place.store.repair(id).unwrap_err();
    assert!(matches!(error, Error::Newer { .. }), "{error}");
    let listed = &place.store.list(&Filter::default()).unwrap()[0];
    let problem = listed.problem.as_deref().unwrap();
    assert!(problem.contains("version 2"), "{problem}");
    assert_eq!(place.bytes(id), newer.as_bytes());
    assert_eq!(place.files(id), [place.file(id)], "nothing is beside it");
}

#[test]
fn the_first_line_tells_what_it_is() {
    let place = Place::new();
    let id = place.session(&["one"]);
    let bytes = place.bytes(id);
    let expected = format!("{{\"type\":\"session\",\"version\":1,\"id\":\"{id}\",\"time\":");
    assert!(bytes.starts_with(expected.as_bytes()));
    // Some editors put a byte order mark before it, and other line ends behind it.
    let text = String::from_utf8(bytes).unwrap().replace('\n', "\r\n");
    place.put(id, format!("\u{feff}{text}").as_bytes());
    let mut log = place.write(id);
    assert_eq!(log.take_warnings(), [""; 0]);
    say(&mut *log, "two").unwrap();
    drop(log);
    assert_eq!(place.texts(id), ["one", "two"]);
}

#[test]
fn a_file_of_another_session_is_none_of_this() {
    let place = Place::new();
    let [one, other] = [place.session(&["one"]), place.session(&["other"])];
    fs::copy(place.file(one), place.file(other)).unwrap();
    let error = place.store.open(other, Access::Read).unwrap_err();
    assert!(error.to_string().contains(&one.to_string()), "{error}");
}

#[test]
fn a_folder_whose_name_is_no_text_is_refused() {
    let place = Place::new();
    let cwd = std::ffi::OsString::from_vec(b"/\xff".to_vec());
    let error = place
        .store
        .create(Header::new(Some(cwd.into())))
        .unwrap_err();
    assert!(matches!(error, Error::Misuse(_)), "{error}");
    assert_eq!(place.store.ids().unwrap(), []);
}

/// Makes files that even the system's administrator cannot write, where that can be done.
fn freeze(path: &std::path::Path, is_frozen: bool) -> bool {
    let metadata = fs::metadata(path).unwrap();
    let bits = match (metadata.is_dir(), is_frozen) {
        (true, true) => 0o500,
        (true, false) => 0o700,
        (false, true) => 0o400,
        (false, false) => 0o600,
    };
    let sign = if is_frozen { "+i" } else { "-i" };
    let change = || fs::set_permissions(path, Permissions::from_mode(bits)).unwrap();
    if is_frozen {
        change();
    }
    let done = Command::new("chattr").arg(sign).arg(path).output();
    if !is_frozen {
        change();
    }
    let is_root = rustix::process::geteuid().is_root();
    !is_root || done.is_ok_and(|done| done.status.success())
}

#[test]
fn a_file_that_cannot_be_written_can_be_read() {
    let place = Place::new();
    let id = place.session(&["one"]);
    fs::remove_file(place.beside(id, "index")).unwrap();
    let file = place.file(id);
    if freeze(&file, true) {
        let error = place.store.open(id, Access::Write).unwrap_err();
        let read = place.texts(id);
        freeze(&file, false);
        assert!(matches!(error, Error::Io { .. }), "{error}");
        assert!(error.to_string().contains("cannot open for writing"));
        assert_eq!(read, ["one"]);
    } else {
        freeze(&file, false);
        println!("skipped: nothing is closed to this user");
    }
}

#[test]
fn where_no_index_can_be_written_a_session_goes_on() {
    let place = Place::new();
    let id = place.session(&["one"]);
    let folder = place.folder.join("_");
    fs::remove_file(place.beside(id, "index")).unwrap();
    // A folder in its place does as well as a folder that nobody can write to.
    fs::create_dir(place.beside(id, "index")).unwrap();
    check_without_index(&place, id);
    fs::remove_dir(place.beside(id, "index")).unwrap();
    if freeze(&folder, true) {
        check_without_index(&place, id);
        let begun = place.store.create(Header::new(None)).map(drop);
        freeze(&folder, false);
        assert!(matches!(begun, Err(Error::Io { .. })), "{begun:?}");
    } else {
        freeze(&folder, false);
    }
}

fn check_without_index(place: &Place, id: harness_session::SessionId) {
    let mut log = place.write(id);
    let before = log.len();
    say(&mut *log, "more").unwrap();
    log.sync().unwrap();
    let warnings = log.take_warnings();
    assert_eq!(warnings.len(), 1, "{warnings:?}");
    assert!(warnings[0].contains("the index"), "{warnings:?}");
    for _ in 0..600 {
        say(&mut *log, "more").unwrap();
    }
    log.sync().unwrap();
    assert_eq!(log.take_warnings(), [""; 0], "told once");
    drop(log);
    assert_eq!(place.texts(id).len() as u64, before + 601);
}
