//! Standard output on a terminal, in a file, in a pipe, and on a full disk.

use std::fs::{self, File, OpenOptions};
use std::io::{Read, Write};
use std::process::{Command, Stdio};
use std::thread::{self, JoinHandle};

use rustix::pty::{OpenptFlags, grantpt, openpt, ptsname, unlockpt};

use crate::program::{Bed, Ended, Start};
use crate::sessions;

/// A terminal: its end for a program, and the thread that takes in what the program writes.
fn terminal() -> (File, JoinHandle<String>) {
    terminal_with("")
}

/// The same, at which somebody has typed something.
fn terminal_with(typed: &str) -> (File, JoinHandle<String>) {
    let (mut controller, program) = pair();
    controller.write_all(typed.as_bytes()).unwrap();
    let reader = thread::spawn(move || {
        let mut bytes = Vec::new();
        // Ends with an error when the last end for programs is closed.
        let _ = controller.read_to_end(&mut bytes);
        String::from_utf8(bytes).unwrap()
    });
    (program, reader)
}

/// The two ends of a terminal: the person's, and the program's.
fn pair() -> (File, File) {
    let controller = openpt(OpenptFlags::RDWR | OpenptFlags::NOCTTY).unwrap();
    grantpt(&controller).unwrap();
    unlockpt(&controller).unwrap();
    let name = ptsname(&controller, Vec::new()).unwrap();
    let program = OpenOptions::new()
        .read(true)
        .write(true)
        .open(name.to_str().unwrap())
        .unwrap();
    (File::from(controller), program)
}

/// Runs a program with some of its streams on a terminal; what it wrote there comes with it.
#[track_caller]
pub(crate) fn on_terminal(start: Start, put: impl FnOnce(&mut Command, File)) -> (Ended, String) {
    let (program, reader) = terminal();
    // The command holds an end of the terminal until it is dropped, in `spawn_with`.
    let ended = start.spawn_with(|command| put(command, program)).end();
    (ended, reader.join().unwrap())
}

/// The same with a person at it, who types one line of this whenever a question stands there: what is typed
/// before would be for nothing. Nothing more than that: then the input is at its end.
#[track_caller]
pub(crate) fn typed_into(
    start: Start,
    typed: &str,
    put: impl FnOnce(&mut Command, File),
) -> (Ended, String) {
    let (controller, program) = pair();
    let mut lines: Vec<String> = typed.split_inclusive('\n').map(str::to_owned).collect();
    lines.reverse();
    let person = thread::spawn(move || {
        let mut controller = controller;
        let (mut shown, mut answered, mut piece) = (Vec::new(), 0, [0; 4096]);
        // Ends with an error when the last end for programs is closed.
        while let Ok(count @ 1..) = controller.read(&mut piece) {
            shown.extend_from_slice(&piece[..count]);
            let is_asked = ["not now: ", "do instead: "];
            let new = &shown[answered..];
            if is_asked.iter().any(|it| new.ends_with(it.as_bytes())) {
                answered = shown.len();
                let line = lines.pop().unwrap_or_else(|| "\u{4}".to_owned());
                controller.write_all(line.as_bytes()).unwrap();
            }
        }
        String::from_utf8(shown).unwrap()
    });
    let ended = start.spawn_with(|command| put(command, program)).end();
    (ended, person.join().unwrap())
}

const ANSWER: &str = "Zwei Zeilen — grün.\n\tDie zweite.";

fn scripted(bed: &Bed, answer: &str) -> Start {
    let call = r#"{"tool": "ls", "arguments": {}}"#;
    let answer = serde_json::to_string(answer).unwrap();
    let script = format!(r#"{{"turns": [{{"calls": [{call}]}}, {{"text": {answer}}}]}}"#);
    bed.write("script.json", script);
    bed.run(&["-m", "scripted:script.json", "hi"])
}

/// CLI-03: the same everywhere.
#[test]
fn cli_03_the_answer_is_the_same_on_a_terminal_in_a_file_and_in_a_pipe() {
    let bed = Bed::new();
    scripted(&bed, ANSWER).end().exits(0).answers(ANSWER);

    let path = bed.work().join("out.txt");
    let file = File::create(&path).unwrap();
    let running = scripted(&bed, ANSWER).spawn_with(|command| {
        command.stdout(file);
    });
    running.end().exits(0);
    assert_eq!(fs::read_to_string(path).unwrap(), format!("{ANSWER}\n"));

    let (ended, shown) = on_terminal(scripted(&bed, ANSWER), |command, terminal| {
        command.stdout(terminal);
    });
    ended.exits(0);
    assert_eq!(shown.replace("\r\n", "\n"), format!("{ANSWER}\n"));
}

/// SEC-13: what a terminal would act on is shown, not done. A pipe gets what was said.
#[test]
fn sec_13_an_answer_does_not_act_on_the_terminal() {
    let (bed, answer) = (Bed::new(), "\x1b]0;title\x07\x1b[31mred\rover");
    let (ended, shown) = on_terminal(scripted(&bed, answer), |command, terminal| {
        command.stdout(terminal);
    });
    ended.exits(0);
    assert_eq!(shown, "\\u{1b}]0;title\\u{7}\\u{1b}[31mred\\u{d}over\r\n");
    scripted(&bed, answer).end().exits(0).answers(answer);
}

/// A progress line is for terminals that can show one; colours are for people who want them.
#[test]
fn progress_is_told_on_a_terminal_only() {
    let bed = Bed::new();
    let progress = |variables: &[(&str, &str)]| {
        let start = scripted(&bed, ANSWER).envs(variables);
        let (ended, shown) = on_terminal(start, |command, terminal| {
            command.stderr(terminal);
        });
        ended.exits(0).answers(ANSWER);
        shown
    };
    let colours = "\x1b[32m";
    let shown = progress(&[("TERM", "xterm")]);
    assert!(shown.contains("ls") && shown.contains(colours), "{shown:?}");
    let shown = progress(&[("TERM", "xterm"), ("NO_COLOR", "1")]);
    assert!(
        shown.contains("ls") && !shown.contains(colours),
        "{shown:?}"
    );
    assert_eq!(progress(&[("TERM", "dumb")]), "");
    assert_eq!(progress(&[]), "");
}

/// Nothing is asked of a terminal that is not there, nor of one that is.
#[test]
fn a_terminal_on_standard_input_is_not_read() {
    let bed = Bed::new();
    let (ended, _) = on_terminal(scripted(&bed, ANSWER), |command, terminal| {
        command.stdin(terminal);
    });
    ended.exits(0).answers(ANSWER);
    let (ended, _) = on_terminal(bed.run(&["-m", "demo"]), |command, terminal| {
        command.stdin(terminal);
    });
    ended.exits(2).says(&["there is no task"]);
}

/// A disk that is full is told: an answer that is lost is no success.
#[cfg(target_os = "linux")] // Other systems have no `/dev/full`.
#[test]
fn output_that_cannot_be_written_is_an_error() {
    let bed = Bed::new();
    let full = || OpenOptions::new().write(true).open("/dev/full").unwrap();
    let check = |start: Start| {
        let running = start.spawn_with(|command| {
            command.stdout(full());
        });
        running
            .end()
            .exits(1)
            .says(&["standard output cannot be written"]);
    };
    check(scripted(&bed, ANSWER));
    check(scripted(&bed, ANSWER).argument("--output=json"));
    check(bed.harness(&["tools", "list"]));
    check(bed.harness(&["prompt", "show"]));
}

/// A reader that has seen enough is no error.
#[test]
fn a_reader_that_leaves_is_no_error() {
    let bed = Bed::new();
    let (reader, writer) = std::io::pipe().unwrap();
    drop(reader);
    let writer = Stdio::from(writer);
    let running = scripted(&bed, ANSWER).spawn_with(|command| {
        command.stdout(writer);
    });
    let ended = running.end().exits(0);
    assert_eq!(ended.stderr, "");
}

/// Notes and errors that cannot be written end nothing.
#[test]
fn a_standard_error_that_cannot_be_written_ends_nothing() {
    let script = r#"{"turns": [
        {"error": {"kind": "rate_limited", "status": 429, "retry_after": 0.01}},
        {"text": "Done."}
    ]}"#;
    for (script, code) in [(script, 0), (r#"{"turns": []}"#, 1)] {
        let bed = Bed::new();
        bed.write("script.json", script);
        for closed in [false, true] {
            let stderr: Stdio = if closed {
                std::io::pipe().unwrap().1.into()
            } else {
                OpenOptions::new()
                    .write(true)
                    .open("/dev/full")
                    .unwrap()
                    .into()
            };
            let start = bed.run(&["-m", "scripted:script.json", "hi"]);
            let running = start.spawn_with(|command| {
                command.stderr(stderr);
            });
            let ended = running.end().exits(code);
            assert_eq!(ended.stdout, if code == 0 { "Done.\n" } else { "" });
        }
    }
}

/// Nothing is deleted for good before a person has said yes.
#[test]
fn a_person_is_asked_before_a_session_is_deleted() {
    let bed = Bed::new();
    scripted(&bed, ANSWER).end().exits(0);
    let id = sessions::ids(&bed)[0].clone();
    for (typed, code, left) in [("\n", 1, 1), ("no\n", 1, 1), ("y\n", 0, 0)] {
        let (program, reader) = terminal_with(typed);
        let start = bed.harness(&["sessions", "delete", &id]);
        let ended = start.spawn_with(|command| {
            command.stdin(program.try_clone().unwrap()).stderr(program);
        });
        let ended = ended.end().exits(code);
        let shown = reader.join().unwrap();
        assert!(
            shown.contains(&format!("Delete the session {id} for good?")),
            "{shown}"
        );
        assert_eq!(
            ended.stdout.trim(),
            if code == 0 { id.as_str() } else { "" }
        );
        assert_eq!(sessions::ids(&bed).len(), left);
    }
}
