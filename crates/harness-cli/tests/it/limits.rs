//! Limits: exit status 3, and words that do not pretend.

use serde_json::json;

use crate::program::{Bed, Ended};
use crate::server::{Answer, Server};
use crate::wire::{Reply, Stop, Wire};

/// Runs against a server, in text and in JSON; checks the exit status and the `run_end`.
#[track_caller]
fn check(
    server: impl Fn() -> Server,
    more: &[&str],
    code: i32,
    outcome: &str,
    kind: &str,
) -> Ended {
    let run = |more: &[&str]| {
        let (bed, server) = (Bed::new(), server());
        let url = server.url();
        let arguments = [&["-m", "x/y", "--base-url", &url, "hi"], more].concat();
        bed.run(&arguments).end().exits(code)
    };
    let end = run(&[more, &["--output", "json"]].concat()).run_end();
    assert_eq!(end["outcome"], outcome, "{end}");
    assert_eq!(
        end["error"]["kind"].as_str().unwrap_or("none"),
        kind,
        "{end}"
    );
    run(more)
}

fn ls() -> Answer {
    Answer::reply(Wire::Chat, &Reply::calls("", "ls", &json!({})))
}

#[test]
fn the_most_turns() {
    let server = || Server::start([ls(), ls()]);
    let ended = check(server, &["--max-turns", "2"], 3, "limit", "turns");
    assert_eq!(ended.stdout, "");
    ended.says(&["limit of 2 turns", "--max-turns"]);
    // The limit is what may be used, not what must be left.
    let server = || Server::start([ls(), Answer::says("Done.")]);
    check(server, &["--max-turns", "2"], 0, "finished", "none").answers("Done.");
}

#[test]
fn the_most_turns_from_elsewhere() {
    let bed = Bed::new();
    let run = |arguments: &[&str], variable: &str| {
        let server = Server::repeating(ls());
        let url = server.url();
        let run = bed.run(&[&["-m", "x/y", "--base-url", &url, "hi"], arguments].concat());
        run.env("HARNESS_MAX_TURNS", variable).end().exits(3);
        server.requests().len()
    };
    bed.config("max_turns = 3\n");
    assert_eq!(run(&[], ""), 3);
    assert_eq!(run(&[], "2"), 2);
    assert_eq!(run(&["--max-turns", "1"], "2"), 1);
}

/// The time runs out while the model is silent, and while a command runs.
#[test]
fn the_most_time() {
    let server = || Server::start([Answer::Hang(String::new())]);
    let ended = check(server, &["--timeout", "300ms"], 3, "limit", "time");
    ended.says(&["time limit of 0.3 s", "--timeout"]);
    let sleep = Reply::calls("call_1", "bash", &json!({ "command": "sleep 600" }));
    let server = || Server::replies(Wire::Chat, std::slice::from_ref(&sleep));
    check(server, &["--timeout", "500ms"], 3, "limit", "time").says(&["0.5 s"]);
}

/// A limit so far away that no clock can tell it.
#[test]
fn a_time_beyond_all_time() {
    for timeout in ["18446744073709551615", "500000000000years", "1000000000h"] {
        let server = Server::start([Answer::says("Done.")]);
        let (bed, url) = (Bed::new(), server.url());
        let arguments = ["-m", "x/y", "--base-url", &url, "--timeout", timeout, "hi"];
        bed.run(&arguments).end().exits(0).answers("Done.");
    }
}

/// LOOP-19: why the model stopped shows in the exit status, on standard error and in JSON.
#[test]
fn loop_19_a_reply_that_was_stopped_does_not_look_complete() {
    for wire in Wire::ALL {
        let run = |stop: Stop, more: &[&str]| {
            let server = Server::replies(wire, &[Reply::says("Half of an answer").stops(stop)]);
            let (bed, url) = (Bed::new(), server.url());
            let model = ["--api", wire.api(), "-m", "x/y", "--base-url", &url, "hi"];
            bed.run(&[&model, more].concat()).end()
        };
        let json = ["--output", "json"];

        let cut = run(Stop::Length, &[]).exits(3).answers("Half of an answer");
        cut.says(&["cut off by its output limit", "--model"]);
        let end = run(Stop::Length, &json).exits(3).run_end();
        assert_eq!(end["outcome"], "limit", "{end}");
        assert_eq!(end["error"]["kind"], "output", "{end}");

        let filtered = run(Stop::Filter, &[]).exits(1).says(&["content filter"]);
        assert_eq!(filtered.stdout, "");
        let end = run(Stop::Filter, &json).exits(1).run_end();
        assert_eq!(end["error"]["kind"], "content_filter", "{end}");

        let strange = run(Stop::Strange, &[])
            .exits(0)
            .answers("Half of an answer");
        strange.notes("strange");
        let end = run(Stop::Strange, &json).exits(0).run_end();
        assert_eq!(end["outcome"], "finished", "{end}");
        assert!(end["stop_reason"].to_string().contains("strange"), "{end}");
    }
}

/// LOOP-18: calls that are cut off again and again.
#[test]
fn loop_18_a_call_that_is_always_cut_off() {
    let half = Reply::default().and_calls_raw("", "write", r#"{"path": "a"#);
    let cut = Answer::reply(Wire::Chat, &half.stops(Stop::Length));
    let ended = check(
        || Server::start([cut.clone(), cut.clone(), cut.clone()]),
        &[],
        3,
        "limit",
        "output",
    );
    ended.says(&["output limit"]);
}

/// LOOP-31, LOOP-32: the same failing call for ever is no task that was completed.
#[test]
fn loop_31_loop_32_the_same_failing_call_again_and_again() {
    let call = Reply::calls("", "read", &json!({ "path": "absent.txt" }));
    let answers = vec![Answer::reply(Wire::Chat, &call); 5];
    let ended = check(
        || Server::start(answers.clone()),
        &[],
        3,
        "limit",
        "repeated_failure",
    );
    assert_eq!(ended.stdout, "");
    ended.says(&["same failing call to `read` 5 times"]);
}
