//! Whatever way the program ends, no process that a command started is left. The trees and the ends of
//! single calls are tested with `harness-tools`; here it is the ends of the program.

use std::fs;
use std::sync::atomic::{AtomicU32, Ordering};
use std::thread;

use rustix::process::Signal;
use serde_json::{Value, json};

use crate::program::{Bed, Start, wait_until};
use crate::server::{Answer, Server};
use crate::wire::{Reply, Wire};

/// Each makes the file `up` when it is there, and does not end by itself.
const TREES: &[&str] = &[
    "sh -c \"$LEAF\" & wait",
    // BASH-24: a server that never answers.
    "sh -c 'sleep $TREE & : > up; exec sleep $TREE'",
    "nohup sh -c \"$LEAF\" >/dev/null 2>&1 & wait",
    "(setsid sh -c '(sh -c \"$LEAF\" &)' </dev/null >/dev/null 2>&1 &); sleep $TREE",
    "set -m; timeout 600 sh -c \"$LEAF\" & wait",
    "trap '' INT TERM HUP; (sh -c \"$LEAF\"; true) | cat; sleep $TREE",
];

/// Waits until the tree is there.
const UP: &str = "until [ -e up ]; do sleep 0.02; done";

/// One program, and the tree that it starts.
struct Case {
    tree: &'static str,
    time: String,
    bed: Bed,
}

impl Case {
    /// With each tree, at the same time.
    fn each(check: fn(&Self)) {
        static COUNT: AtomicU32 = AtomicU32::new(0);
        thread::scope(|scope| {
            for tree in TREES {
                let count = COUNT.fetch_add(1, Ordering::Relaxed);
                let case = Self {
                    tree,
                    time: format!("800.{}{count:03}", std::process::id()),
                    bed: Bed::new(),
                };
                scope.spawn(move || {
                    check(&case);
                    // Not a moment more than the exit: what is left would be left for ever.
                    assert_eq!(case.survivors(), [""; 0], "{tree}");
                });
            }
        });
    }

    fn with(&self, start: Start) -> Start {
        let leaf = format!(": > up; exec sleep {}", self.time);
        start.env("TREE", &self.time).env("LEAF", leaf)
    }

    fn run(&self, server: &Server, more: &[&str]) -> Start {
        let url = server.url();
        let arguments = [&["-m", "x/y", "--base-url", &url, "hi"], more].concat();
        self.with(self.bed.run(&arguments))
    }

    /// The model leaves the tree running as a job, then runs a command.
    fn replies(&self, command: &str) -> [Answer; 2] {
        let job = json!({"command": self.tree, "background": true});
        let replies = [
            Reply::calls("call_1", "bash", &job),
            Reply::calls("call_2", "bash", &json!({"command": command})),
        ];
        replies.map(|reply| Answer::reply(Wire::Chat, &reply))
    }

    fn survivors(&self) -> Vec<String> {
        let holds = |path| {
            let bytes = fs::read(path).unwrap_or_default();
            let text = String::from_utf8_lossy(&bytes).replace('\0', " ");
            (text.contains(&self.time), text)
        };
        fs::read_dir("/proc")
            .unwrap()
            .flatten()
            .map(|entry| entry.path())
            .filter(|process| holds(process.join("cmdline")).0 || holds(process.join("environ")).0)
            .map(|process| holds(process.join("cmdline")).1)
            .collect()
    }
}

#[test]
fn bash_24_none_survives_the_end_of_the_run() {
    Case::each(|case| {
        let [job, wait] = case.replies(UP);
        let server = Server::start([job, wait, Answer::says("Done.")]);
        case.run(&server, &[]).end().exits(0).answers("Done.");
    });
}

#[test]
fn bash_24_none_survives_an_error() {
    Case::each(|case| {
        let [job, wait] = case.replies(UP);
        let server = Server::start([job, wait, Answer::status(400, "{}")]);
        case.run(&server, &[]).end().exits(1);
    });
}

#[test]
fn none_survives_a_limit() {
    Case::each(|case| {
        let server = Server::start(case.replies(UP));
        case.run(&server, &["--max-turns", "2"]).end().exits(3);
    });
}

#[test]
fn bash_24_none_survives_the_time_limit() {
    Case::each(|case| {
        let server = Server::start(case.replies("sleep $TREE"));
        case.run(&server, &["--timeout", "3s"]).end().exits(3);
    });
}

fn ends_by(case: &Case, signals: &[Signal], code: i32) {
    let command = format!("{UP}; : > ready; {}", case.tree);
    let server = Server::start(case.replies(&command));
    let running = case.run(&server, &[]).spawn();
    let mark = case.bed.work().join("ready");
    wait_until("the command runs", || mark.exists());
    for signal in signals {
        running.signal(*signal);
    }
    running.end().exits(code);
}

#[test]
fn bash_24_none_survives_sigint() {
    Case::each(|case| ends_by(case, &[Signal::INT], 130));
}

#[test]
fn none_survives_sigterm() {
    Case::each(|case| ends_by(case, &[Signal::TERM], 143));
}

#[test]
fn none_survives_a_second_signal() {
    Case::each(|case| ends_by(case, &[Signal::INT, Signal::INT], 130));
}

#[test]
fn none_survives_a_call_by_hand() {
    Case::each(|case| {
        let job = json!({"command": case.tree, "background": true}).to_string();
        let start = case.bed.harness(&["tools", "call", "bash", &job]);
        let ended = case.with(start).end().exits(0);
        assert!(ended.stdout.contains("[job 1 runs, pid "), "{ended:#?}");
    });
}

/// BASH-22: a command that fails is a failed call, for the model and for whoever reads the events.
#[test]
fn bash_22_a_command_that_fails_is_a_failed_call() {
    let command = json!({"command": "echo x; echo y >&2; exit 4"});
    let replies = [Reply::calls("call_1", "bash", &command), Reply::says("Oh.")];
    let server = Server::replies(Wire::Chat, &replies);
    let (bed, url) = (Bed::new(), server.url());
    let arguments = ["-m", "x/y", "--base-url", &url, "--output", "json", "hi"];
    let events = bed.run(&arguments).end().exits(0).events();
    let end = events.iter().find(|event| event["type"] == "tool_end");
    let end = end.expect("the call ends");
    let text = end.to_string();
    assert!(text.contains("\"failed\""), "{end}");
    assert!(text.contains("x\\ny\\n[exit code 4]"), "{end}");
    let sent: Value = server.requests()[1].body.clone();
    assert!(sent.to_string().contains("[exit code 4]"), "{sent}");
}
