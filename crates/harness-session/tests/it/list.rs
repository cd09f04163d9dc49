//! Lists and searches.

use std::fs::{self, OpenOptions};
use std::os::unix::fs::FileExt;
use std::path::Path;

use harness_session::test_support::Author;
use harness_session::{Body, Filter, Header, NameBody, SessionId, Store};

use crate::place::Place;
use crate::process::Other;

/// The size of a session in the list's tests.
const SIZE: u64 = 20 * 1024 * 1024;

/// A session of 20 MB, of which most is a hole.
fn large(place: &Place, number: usize) -> SessionId {
    let mut log = place.store.create(Header::new(None)).unwrap();
    let mut author = Author::new();
    author.say(&mut *log, &format!("prompt {number}"));
    let id = log.header().id;
    let last = log.node(0).unwrap().id;
    drop(log);
    let name = NameBody {
        name: Some(format!("name {number}")),
    };
    let mut line = vec![b'\n'];
    let named = author.entry(Body::Name(name), Some(last));
    named.write(&mut line).unwrap();
    let said = author.said("the last", Some(named.id));
    said.write(&mut line).unwrap();
    let file = OpenOptions::new().write(true).open(place.file(id)).unwrap();
    file.write_all_at(&line, SIZE - line.len() as u64).unwrap();
    id
}

#[test]
fn sess_13_a_list_reads_beginnings_and_ends_only() {
    const COUNT: usize = 50;
    let place = Place::new();
    for number in 0..COUNT {
        large(&place, number);
    }
    let list = place.store.list(&Filter::default()).unwrap();
    assert_eq!(list.len(), COUNT);
    for listed in &list {
        let prompt = listed.first_prompt.as_deref().unwrap();
        let name = listed.name.as_deref().unwrap();
        assert_eq!(prompt.replace("prompt", "name"), name);
        assert_eq!((listed.bytes, &listed.problem), (SIZE, &None));
    }
    let mut other = Other::new("list", &place);
    let answer = other.answer();
    other.end();
    let (count, bytes) = answer.split_once(' ').unwrap();
    let bytes: usize = bytes.parse().unwrap();
    assert_eq!(count.parse::<usize>().unwrap(), COUNT);
    assert!(
        bytes / COUNT <= 40 * 1024,
        "{bytes} bytes for {COUNT} sessions"
    );
}

#[test]
fn a_name_far_from_the_end_is_found_by_the_index() {
    let place = Place::new();
    let mut log = place.store.create(Header::new(None)).unwrap();
    let id = log.header().id;
    let mut author = Author::new();
    let name = |name: &str| {
        Body::Name(NameBody {
            name: Some(name.to_owned()),
        })
    };
    author.append(&mut *log, name("an older name"));
    author.append(&mut *log, name("the name"));
    let filler = "some \"name\" or other ".repeat(1000);
    for _ in 0..40 {
        author.say(&mut *log, &filler);
    }
    drop(log);
    let named = || {
        place.store.list(&Filter::default()).unwrap()[0]
            .name
            .clone()
    };
    assert_eq!(named().as_deref(), Some("the name"));
    let mut log = place.write(id);
    author.append(&mut *log, name("a new name"));
    assert_eq!(named().as_deref(), Some("a new name"));
    drop(log);
    // Without its index, a session is looked at only so far.
    fs::remove_file(place.beside(id, "index")).unwrap();
    assert_eq!(named().as_deref(), Some("a new name"));
}

#[test]
fn what_was_said_first_is_told_however_long_it_is() {
    for (size, is_cut) in [(10, false), (390, false), (30_000, true), (3_000_000, true)] {
        let place = Place::new();
        let text = format!("The task:\t{}", "é ".repeat(size / 3));
        place.session(&[&text, "more"]);
        let listed = &place.store.list(&Filter::default()).unwrap()[0];
        let prompt = listed.first_prompt.as_deref().unwrap();
        assert!(text.starts_with(prompt), "{prompt}");
        assert_eq!(prompt.len() < text.trim_end().len(), is_cut);
        assert!(prompt.len() > 300 || !is_cut, "{prompt}");
    }
}

#[test]
fn sess_09_each_session_has_a_file_of_its_own() {
    let place = Place::new();
    let folders = [None, Some("/a/b"), Some("/a-b"), Some("/a/b"), None];
    let mut files = Vec::new();
    for (number, folder) in folders.into_iter().enumerate() {
        let header = Header::new(folder.map(Into::into));
        let mut log = place.store.create(header).unwrap();
        let mut author = Author::new();
        author.say(&mut *log, &format!("session {number}"));
        let id = log.header().id;
        let path = place.store.path_of(id).unwrap();
        assert!(path.ends_with(format!("{id}.jsonl")), "{path:?}");
        files.push((id, path));
    }
    for (number, (id, path)) in files.iter().enumerate() {
        assert_eq!(place.texts(*id), [format!("session {number}")]);
        let shared = files.iter().filter(|(_, other)| other == path).count();
        assert_eq!(shared, 1);
    }
    let folder = |number: usize| files[number].1.parent().unwrap().to_owned();
    assert_eq!(folder(0), place.folder.join("_"));
    assert_eq!(folder(1), folder(3));
    assert_ne!(folder(1), folder(2));
}

#[test]
fn a_folder_is_the_same_by_whatever_way() {
    let place = Place::new();
    let real = tempfile::tempdir().unwrap();
    let project = real.path().join("project");
    fs::create_dir(&project).unwrap();
    let link = real.path().join("link");
    std::os::unix::fs::symlink(&project, &link).unwrap();
    let begin = |cwd: &Path| {
        let header = Header::new(Some(cwd.to_owned()));
        place.store.create(header).unwrap().header().id
    };
    let mut ids = [begin(&project), begin(&link)];
    ids.sort_unstable();
    for cwd in [&project, &link, &project.join("../link")] {
        let list = place.store.list(&Filter::of_folder(cwd)).unwrap();
        let mut found: Vec<_> = list.iter().map(|it| it.header.id).collect();
        found.sort_unstable();
        assert_eq!(found, ids, "{cwd:?}");
    }
}

/// A process that died before it had written the first line leaves an empty file.
#[test]
fn a_session_that_was_never_begun_is_not_the_latest() {
    let place = Place::new();
    let folder = std::path::Path::new("/a/b");
    let log = place.store.create(Header::new(Some(folder.into())));
    let id = log.unwrap().header().id;
    let empty = harness_session::SessionId::new();
    let path = place.store.path_of(id).unwrap();
    std::fs::write(path.with_file_name(format!("{empty}.jsonl")), "").unwrap();
    assert_eq!(place.store.latest(folder).unwrap(), Some(id));
}
