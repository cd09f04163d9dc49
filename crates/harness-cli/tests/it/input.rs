//! The task: from the command line, from standard input, from both.

use std::fs::File;
use std::time::Duration;

use crate::program::{Bed, Ended, Start};
use crate::server::{Answer, Server};
use crate::wire::Wire;

/// Runs with these words, lets `change` set standard input, and gives the task that the service saw.
#[track_caller]
fn task(words: &[&str], change: impl FnOnce(&Bed, Start) -> Start) -> (String, Ended) {
    let (bed, server) = (Bed::new(), Server::start([Answer::says("Done.")]));
    let url = server.url();
    let arguments = [&["-m", "x/y", "--base-url", &url], words].concat();
    let ended = change(&bed, bed.run(&arguments))
        .end()
        .exits(0)
        .answers("Done.");
    (Wire::Chat.prompt(&server.request().body), ended)
}

#[test]
fn piped_input_is_joined_with_a_blank_line() {
    let check = |words: &[&str], piped: &str, expected: &str| {
        let (seen, ended) = task(words, |_, start| start.stdin(piped));
        assert_eq!(seen, expected, "{words:?} and {piped:?}");
        assert_eq!(ended.stderr, "");
    };
    check(
        &["Review this."],
        "diff --git\n+ä\n",
        "Review this.\n\ndiff --git\n+ä",
    );
    check(&[], "Do it.\n", "Do it.");
    check(&[" "], "  indented\nDo it.\n\n", "  indented\nDo it.");
    check(&["Do", "it."], "", "Do it.");
    check(&["Do it."], " \n\n", "Do it.");
    let long = "line\n".repeat(100_000);
    check(
        &["Count."],
        &long,
        &format!("Count.\n\n{}", long.trim_end()),
    );
}

#[test]
fn files_and_closed_input_are_read_like_pipes() {
    let file = |bed: &Bed| File::open(bed.write("task.txt", "from a file\n")).unwrap();
    assert_eq!(
        task(&[], |bed, start| start.stdin_from(file(bed))).0,
        "from a file"
    );
    let (seen, _) = task(&["Look:"], |bed, start| start.stdin_from(file(bed)));
    assert_eq!(seen, "Look:\n\nfrom a file");
    let (seen, _) = task(&["Do it."], |_, start| start);
    assert_eq!(seen, "Do it.");
}

/// CLI-05: nothing to do ends at once, and asks no model.
#[test]
fn cli_05_no_task_at_all() {
    let bed = Bed::new();
    for start in [
        bed.run(&["-m", "demo"]),
        bed.run(&["-m", "demo"]).stdin(""),
        bed.run(&["-m", "demo", ""]).stdin(" \n"),
    ] {
        let ended = start.end().exits(2).says(&["there is no task"]);
        assert_eq!(ended.stdout, "");
        assert!(ended.took < Duration::from_secs(20), "{ended:#?}");
    }
}

/// A pipe that nobody closes, as some services and CI runners leave one.
#[test]
fn a_pipe_that_stays_open_does_not_block() {
    std::thread::scope(|scope| {
        scope.spawn(|| {
            let (seen, ended) = task(&["Do it."], |_, start| start.open_stdin(""));
            assert_eq!(seen, "Do it.");
            ended.notes("stays open and sends nothing");
        });
        scope.spawn(|| {
            let (seen, ended) = task(&["Do it."], |_, start| start.open_stdin("some"));
            assert_eq!(seen, "Do it.\n\nsome");
            ended.notes("stays open and sends no more");
        });
    });
}

#[test]
fn input_that_cannot_be_used() {
    let bed = Bed::new();
    let huge = vec![b'x'; 9 * 1024 * 1024];
    let folder = || File::open(bed.work()).unwrap();
    for words in [&["run", "-m", "demo"][..], &["run", "-m", "demo", "Do it."]] {
        let check = |start: Start, says: &str| {
            let ended = start.end().exits(2).says(&[says]);
            assert_eq!(ended.stdout, "");
        };
        let harness = || bed.harness(words);
        check(harness().stdin(*b"caf\xe9"), "standard input is not UTF-8");
        check(
            harness().stdin(huge.clone()),
            "standard input is larger than",
        );
        check(
            harness().stdin_from(folder()),
            "standard input cannot be read",
        );
    }
}

/// Words that are no text are refused, and not mangled.
#[test]
fn words_that_are_no_text() {
    use std::os::unix::ffi::OsStrExt;
    let word = std::ffi::OsStr::from_bytes(b"caf\xe9");
    let ended = Bed::new()
        .run(&["-m", "demo"])
        .argument(word)
        .end()
        .exits(2);
    ended.says(&["invalid UTF-8"]);
}
