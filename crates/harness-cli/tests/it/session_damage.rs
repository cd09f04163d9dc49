//! Sessions whose files are damaged: nothing else suffers, and what can be read is not lost.

use std::fs::{self, OpenOptions};
use std::io::Write as _;

use crate::program::Bed;
use crate::server::{Answer, Server};
use crate::sessions::{file, ids, object, say, sessions, talk, texts};

/// What happens to the bytes of a file.
type Tear = fn(&mut Vec<u8>);

/// SESS-02: however the last line ends, the earlier turns are sent.
#[test]
fn sess_02_a_torn_last_line_loses_nothing_else() {
    let tears: [(&str, Tear); 4] = [
        ("in mid JSON", |bytes| {
            bytes.extend_from_slice(b"{\"type\":\"message\",\"id\":\"01");
        }),
        ("in mid UTF-8", |bytes| {
            bytes.extend_from_slice(b"{\"type\":\"message\",\"text\":\"\xc3");
        }),
        ("without its newline", |bytes| {
            bytes.pop();
        }),
        ("followed by a blank line", |bytes| bytes.push(b'\n')),
    ];
    for (how, tear) in tears {
        let bed = Bed::new();
        talk(&bed, &[&["first"]]);
        let path = file(&bed, &ids(&bed)[0]);
        let mut bytes = fs::read(&path).unwrap();
        tear(&mut bytes);
        fs::write(&path, &bytes).unwrap();
        assert!(
            sessions(&bed, &["list"], 0).stdout.contains("first"),
            "{how}"
        );
        let server = Server::start([Answer::says("Two.")]);
        let ended = say(&bed, &server, &["--continue", "second"]).exits(0);
        if how.starts_with("in mid") {
            assert!(ended.stderr.contains("note: "), "{how}: {ended:#?}");
        }
        assert_eq!(
            texts(&server.request().body),
            ["user: first", "assistant: An answer.", "user: second"],
            "{how}"
        );
    }
}

/// SESS-04: a file that is no session is listed as that, and everything else works.
#[test]
fn sess_04_a_corrupt_file_breaks_no_other_command() {
    let bed = Bed::new();
    talk(&bed, &[&["sound"], &["to be damaged"]]);
    let all = ids(&bed);
    let path = file(&bed, &all[0]);
    let mut bytes = b"no session\n".to_vec();
    bytes.extend(fs::read(&path).unwrap());
    fs::write(&path, &bytes).unwrap();

    let list = sessions(&bed, &["list"], 0).stdout;
    assert_eq!(list.matches("damaged: ").count(), 1, "{list}");
    assert!(list.contains("sound"), "{list}");
    let doctor = bed.harness(&["doctor"]).end();
    assert!(
        doctor.stdout.contains("kept           2 sessions"),
        "{doctor:#?}"
    );
    let hint = format!("`harness sessions repair {}`", all[0]);
    assert!(doctor.stdout.contains(&hint), "{doctor:#?}");
    sessions(&bed, &["show", &all[0]], 1).says(&["is not a session", "sessions repair"]);
    let server = Server::start([Answer::says("Yes.")]);
    say(&bed, &server, &["--session", &all[0], "hi"])
        .exits(1)
        .says(&["is not a session", "sessions repair"]);
    assert_eq!(
        sessions(&bed, &["search", "sound"], 0)
            .stdout
            .lines()
            .count(),
        1
    );
    say(&bed, &server, &["new"]).exits(0).answers("Yes.");
    assert_eq!(
        fs::read(&path).unwrap(),
        bytes,
        "the damaged file was touched"
    );

    // Repaired, it can be gone on with, and not a byte is lost.
    let report = object(&bed, &["repair", &all[0]]);
    let backup = report[0]["backup"].as_str().unwrap();
    assert_eq!(fs::read(backup).unwrap(), bytes);
    let shown = sessions(&bed, &["show", &all[0]], 0).stdout;
    assert!(shown.contains("to be damaged"), "{shown}");
    sessions(&bed, &["repair", "--all"], 0);
    let server = Server::start([Answer::says("On.")]);
    say(&bed, &server, &["--session", &all[0], "on"]).exits(0);
    assert_eq!(texts(&server.request().body)[0], "user: to be damaged");

    // One that cannot be read can still be deleted.
    fs::write(&path, "nothing").unwrap();
    sessions(&bed, &["delete", "-y", &all[0]], 0);
    assert!(!ids(&bed).contains(&all[0]));
}

/// SESS-10: what two writers left behind.
#[test]
fn sess_10_entries_that_are_there_twice_are_read_and_repaired() {
    let bed = Bed::new();
    talk(&bed, &[&["first"]]);
    let id = ids(&bed)[0].clone();
    let path = file(&bed, &id);
    let text = fs::read_to_string(&path).unwrap();
    let last = text.lines().last().unwrap();
    let mut appended = OpenOptions::new().append(true).open(&path).unwrap();
    writeln!(appended, "{last}\nnot an entry").unwrap();
    let server = Server::start([Answer::says("Two.")]);
    say(&bed, &server, &["--continue", "second"]).exits(0);
    assert_eq!(texts(&server.request().body)[0], "user: first");
    let report = sessions(&bed, &["repair", &id], 0).stdout;
    for part in ["1 line that cannot be read", "1 entry twice", "is kept as"] {
        assert!(report.contains(part), "{part:?} is not in {report}");
    }
    let again = sessions(&bed, &["repair", &id], 0).stdout;
    assert!(again.contains("nothing is wrong"), "{again}");
    let shown = sessions(&bed, &["show", &id], 0).stdout;
    assert!(shown.contains("second"), "{shown}");
}

/// What follows an entry that is gone is put right once, and told once.
#[test]
fn a_parent_that_points_nowhere_is_repaired_once() {
    let bed = Bed::new();
    talk(&bed, &[&["first"], &["--continue", "second"]]);
    let id = ids(&bed)[0].clone();
    let path = file(&bed, &id);
    let text = fs::read_to_string(&path).unwrap();
    let mut lines: Vec<&str> = text.lines().collect();
    lines.remove(4);
    fs::write(&path, lines.join("\n") + "\n").unwrap();
    let report = sessions(&bed, &["repair", &id], 0).stdout;
    assert!(report.contains("\n  entries that followed one"), "{report}");
    let again = sessions(&bed, &["repair", &id], 0).stdout;
    assert!(again.contains("nothing is wrong"), "{again}");
    let shown = sessions(&bed, &["show", &id], 0);
    assert_eq!(shown.stderr, "");
    assert!(shown.stdout.contains("second"), "{shown:#?}");
}

/// What keeps sessions from being kept or read is a problem; one of a newer version is none.
#[test]
fn the_doctor_tells_damaged_sessions_from_newer_ones() {
    let bed = Bed::new();
    bed.write("script.json", r#"{"turns": [{"text": "Hi."}]}"#);
    talk(&bed, &[&["first"]]);
    let doctor = || bed.harness(&["doctor", "-m", "scripted:script.json"]);
    doctor().end().exits(0);
    let id = ids(&bed)[0].clone();
    let path = file(&bed, &id);
    let text = fs::read_to_string(&path).unwrap();
    fs::write(&path, text.replacen("\"version\":1", "\"version\":9", 1)).unwrap();
    let newer = doctor().end().exits(0).stdout;
    assert!(newer.contains("use the newer version"), "{newer}");
    assert!(!newer.contains("sessions repair"), "{newer}");
    fs::write(&path, "nothing\n").unwrap();
    let damaged = doctor().end().exits(2).stdout;
    assert!(damaged.contains("sessions repair"), "{damaged}");
    let file = bed.write("a-file", "");
    let unusable = doctor().env("XDG_DATA_HOME", &file).end().exits(2).stdout;
    assert!(unusable.contains("sessions cannot be kept"), "{unusable}");
}
