//! Signals: the run ends in order, its children go, and the exit status says which one it was.

use std::fs;
use std::sync::atomic::{AtomicU32, Ordering};

use rustix::process::Signal;
use serde_json::json;

use crate::program::{Bed, Running, wait_until};
use crate::server::{Answer, Server};
use crate::wire::{Reply, Wire};

/// Something to sleep for that no other process sleeps for, ten minutes and a bit.
fn unlike_any_other() -> String {
    static COUNT: AtomicU32 = AtomicU32::new(0);
    let count = COUNT.fetch_add(1, Ordering::Relaxed);
    format!("600.{}{count:03}", std::process::id())
}

/// Whether a process sleeps for that long.
fn sleeps(time: &str) -> bool {
    let Ok(entries) = fs::read_dir("/proc") else {
        return false;
    };
    let lines = entries
        .flatten()
        .filter_map(|entry| fs::read(entry.path().join("cmdline")).ok());
    let wanted = format!("sleep\0{time}\0");
    lines.into_iter().any(|line| line == wanted.as_bytes())
}

/// A run whose command sleeps, with a child in the background that sleeps, too.
struct Sleeper {
    bed: Bed,
    times: [String; 2],
    running: Option<Running>,
    _server: Server,
}

impl Sleeper {
    fn start(more: &[&str], prefix: &str) -> Self {
        let times = [unlike_any_other(), unlike_any_other()];
        let [one, other] = &times;
        let command = format!("{prefix} sleep {one} & touch started; sleep {other}");
        let call = Reply::calls("call_1", "bash", &json!({ "command": command }));
        let server = Server::replies(Wire::Chat, &[call]);
        let (bed, url) = (Bed::new(), server.url());
        let arguments = [&["-m", "x/y", "--base-url", &url, "hi"], more].concat();
        let running = Some(bed.run(&arguments).spawn());
        let this = Self {
            bed,
            times,
            running,
            _server: server,
        };
        let mark = this.bed.work().join("started");
        wait_until("the command runs", || mark.exists());
        this
    }

    fn running(&mut self) -> Running {
        self.running.take().unwrap()
    }

    #[track_caller]
    fn is_gone(&self) {
        // Not a moment more than the exit: what is left would be left for ever.
        for time in &self.times {
            assert!(!sleeps(time), "sleep {time} is still there");
        }
    }
}

/// LOOP-04: a command is ended by a signal, at once and with all that it started.
#[test]
fn loop_04_a_signal_ends_a_command() {
    for (signal, code, name) in [
        (Signal::INT, 130, "SIGINT"),
        (Signal::TERM, 143, "SIGTERM"),
        (Signal::HUP, 129, "SIGHUP"),
        (Signal::QUIT, 131, "SIGQUIT"),
        (Signal::USR1, 138, "SIGUSR1"),
        (Signal::ALARM, 142, "SIGALRM"),
    ] {
        let mut sleeper = Sleeper::start(&[], "");
        let running = sleeper.running();
        running.signal(signal);
        let ended = running.end().exits(code);
        assert_eq!(ended.stdout, "", "{ended:#?}");
        ended.says(&["cancelled", name]);
        sleeper.is_gone();
    }
}

/// A command that does not listen to anybody.
#[test]
fn loop_04_a_stubborn_command_is_killed() {
    let mut sleeper = Sleeper::start(&[], "trap '' INT TERM HUP;");
    let running = sleeper.running();
    running.signal(Signal::INT);
    running.end().exits(130);
    sleeper.is_gone();
}

#[test]
fn json_ends_with_the_cancelled_run() {
    let mut sleeper = Sleeper::start(&["--output", "json"], "");
    let running = sleeper.running();
    running.signal(Signal::TERM);
    let ended = running.end().exits(143);
    let end = ended.run_end();
    assert_eq!(end["outcome"], "cancelled", "{end}");
    assert_eq!(end["error"]["kind"], "cancelled", "{end}");
    let events = ended.events();
    let result = events.iter().find(|event| event["type"] == "tool_end");
    assert!(result.is_some(), "the call has no end: {ended:#?}");
    sleeper.is_gone();
}

/// The second signal does not wait for anything; the children go all the same.
#[test]
fn a_second_signal_ends_it_at_once() {
    let mut sleeper = Sleeper::start(&[], "trap '' INT TERM HUP;");
    let running = sleeper.running();
    running.signal(Signal::INT);
    running.signal(Signal::TERM);
    let ended = running.end();
    assert!([130, 143].contains(&ended.code), "{ended:#?}");
    assert_eq!(ended.stdout, "");
    wait_until("the children are gone", || {
        sleeper.times.iter().all(|time| !sleeps(time))
    });
}

/// A model that says something, and then nothing more.
#[test]
fn a_signal_ends_a_silent_model() {
    let half = "data: {\"choices\":[{\"delta\":{\"content\":\"Half of an ans\"}}]}\n\n";
    for (start, json) in [("", false), (half, false), (half, true)] {
        let server = Server::start([Answer::Hang(start.to_owned())]);
        let (bed, url) = (Bed::new(), server.url());
        let mut arguments = vec!["-m", "x/y", "--base-url", &url, "hi"];
        if json {
            arguments.extend(["--output", "json"]);
        }
        let running = bed.run(&arguments).spawn();
        server.wait_for(1);
        running.signal(Signal::INT);
        let ended = running.end().exits(130);
        if json {
            assert_eq!(ended.run_end()["outcome"], "cancelled");
        } else {
            assert_eq!(ended.stdout, "", "{ended:#?}");
        }
        ended.says(&["cancelled", "SIGINT"]);
    }
}

/// While it waits to make a request again.
#[test]
fn a_signal_ends_a_wait_between_requests() {
    let wait = Answer::Status(429, "retry-after: 100\r\n".into(), String::new());
    let server = Server::start([wait]);
    let (bed, url) = (Bed::new(), server.url());
    let running = bed.run(&["-m", "x/y", "--base-url", &url, "hi"]).spawn();
    server.wait_for(1);
    running.signal(Signal::INT);
    running.end().exits(130);
}

/// A tool that is called by hand.
#[test]
fn a_signal_ends_a_tool_that_is_called_by_hand() {
    let (bed, time) = (Bed::new(), unlike_any_other());
    let arguments = json!({ "command": format!("touch started; sleep {time}") }).to_string();
    let running = bed.harness(&["tools", "call", "bash", &arguments]).spawn();
    let mark = bed.work().join("started");
    wait_until("the command runs", || mark.exists());
    running.signal(Signal::INT);
    running.end().exits(130);
    assert!(!sleeps(&time), "sleep {time} is still there");
}

/// A reader that does not read, and does not leave: a pager that nobody scrolls.
#[test]
fn a_signal_ends_a_run_that_nobody_reads() {
    let answer = "word ".repeat(50_000);
    for more in [&["--output", "json"][..], &[]] {
        let server = Server::replies(Wire::Chat, &[Reply::says(&answer)]);
        let (bed, url) = (Bed::new(), server.url());
        let (reader, writer) = std::io::pipe().unwrap();
        let arguments = [&["-m", "x/y", "--base-url", &url, "hi"], more].concat();
        let running = bed.run(&arguments).spawn_with(|command| {
            command.stdout(writer);
        });
        server.wait_for(1);
        // Once the pipe is as full as it gets, writing stands still.
        let full = || rustix::io::ioctl_fionread(&reader).unwrap() >= 60_000;
        wait_until("the pipe is full", full);
        running.signal(Signal::TERM);
        running.end().exits(143);
    }
}
