//! No room for what is to be written.

use std::fs;
use std::path::Path;
use std::process::Command;

use harness_session::{Filter, Header, Store};

use crate::place::{Place, say};
use crate::process::{Other, fill_until_it_fails, go_on};

/// A small file system in memory, where this process may mount one.
struct Mounted(tempfile::TempDir);

impl Mounted {
    fn new() -> Option<Self> {
        let folder = tempfile::tempdir().unwrap();
        let done = run(
            "mount",
            &["-t", "tmpfs", "-o", "size=64k", "none"],
            folder.path(),
        );
        done.then_some(Self(folder))
    }
}

impl Drop for Mounted {
    fn drop(&mut self) {
        run("umount", &["-l"], self.0.path());
    }
}

fn run(program: &str, arguments: &[&str], folder: &Path) -> bool {
    let mut command = Command::new(program);
    let output = command.args(arguments).arg(folder).output();
    output.is_ok_and(|output| output.status.success())
}

#[test]
fn sess_06_a_file_that_may_not_grow_keeps_whole_lines_and_goes_on() {
    let place = Place::new();
    let mut other = Other::new("fill", &place);
    let written: u64 = other.answer().parse().unwrap();
    assert!(written > 3);
    other.end();
    let listed = place.store.list(&Filter::default()).unwrap();
    assert_eq!(place.texts(listed[0].header.id).len() as u64, written + 1);
}

#[test]
fn sess_06_a_full_disk_keeps_whole_lines_and_goes_on_when_there_is_room() {
    let Some(mounted) = Mounted::new() else {
        // The test above shows the same by a limit, wherever it runs.
        println!("skipped: this process may not mount a file system");
        return;
    };
    let place = Place::at(mounted.0.path());
    // On a file system in memory, room is given out in pages; small entries meet its end as well.
    for text in ["small", &"x".repeat(9_000)] {
        let ballast = mounted.0.path().join("ballast");
        fs::write(&ballast, vec![1; 20_000]).unwrap();
        let mut log = place.store.create(Header::new(None)).unwrap();
        let id = log.header().id;
        say(&mut *log, text).unwrap();
        let written = fill_until_it_fails(&place, &mut *log, id, text);
        fs::remove_file(&ballast).unwrap();
        go_on(&place, log, id, written);
        place.store.delete(id).unwrap();
    }
    // With no room for even the first line, nothing is left behind.
    let ballast = mounted.0.path().join("ballast");
    let _ = fs::write(&ballast, vec![1; 100_000]);
    let before = place.store.ids().unwrap();
    let begun = place.store.create(Header::new(None)).map(drop);
    assert!(begun.is_err(), "there is no room");
    assert_eq!(place.store.ids().unwrap(), before);
    fs::remove_file(&ballast).unwrap();
    assert_eq!(place.texts(place.session(&["room"])), ["room"]);
}
