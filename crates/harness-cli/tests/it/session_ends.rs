//! Runs that are cut off, or stand in each other's way: what was said and done is on record.

use std::fs;

use rustix::process::Signal;
use serde_json::json;

use crate::program::{Bed, Running, wait_until};
use crate::server::{Answer, Server};
use crate::sessions::{file, ids, object, say, sessions, talk, texts};
use crate::wire::{Reply, Wire};

/// A run whose service answers and then falls silent, at the moment of its silence.
fn silent_after(bed: &Bed, replies: &[Reply], arguments: &[&str]) -> (Running, Server) {
    let answers = replies.iter().map(|it| Answer::reply(Wire::Chat, it));
    let half = "data: {\"choices\":[{\"delta\":{\"content\":\"Half\"}}]}\n\n";
    let server = Server::start(answers.chain([Answer::Hang(half.to_owned())]));
    let url = server.url();
    let arguments = [&["-m", "x/y", "--base-url", &url], arguments].concat();
    let running = bed.run(&arguments).spawn();
    server.wait_for(replies.len() + 1);
    (running, server)
}

/// SESS-14: an interrupted turn is kept.
#[test]
fn sess_14_an_interrupted_second_turn_is_kept() {
    let bed = Bed::new();
    talk(&bed, &[&["first"]]);
    let (running, _server) = silent_after(&bed, &[], &["--continue", "second"]);
    running.signal(Signal::INT);
    running.end().exits(130).says(&["`harness run --continue"]);
    let server = Server::start([Answer::says("Three.")]);
    say(&bed, &server, &["--continue", "third"]).exits(0);
    let told = texts(&server.request().body);
    assert_eq!(told[..2], ["user: first", "assistant: An answer."]);
    let rest = told[2..].join("\n");
    assert!(
        rest.contains("second") && rest.contains("third"),
        "{told:?}"
    );
}

/// CLI-11: a run that is killed in the middle of a turn has its message and what was done on disk.
#[test]
fn cli_11_a_killed_run_has_its_finished_steps_on_disk() {
    for (signal, code) in [(Signal::TERM, 143), (Signal::KILL, -9)] {
        let bed = Bed::new();
        let command = json!({ "command": "echo done >> effects" });
        let call = Reply::says("Let me.").and_calls("c1", "bash", &command);
        let (running, _server) = silent_after(&bed, &[call], &["do it"]);
        running.signal(signal);
        running.end().exits(code);
        let shown = object(&bed, &["show"]);
        assert_eq!(shown["cut_off"], code < 0, "{signal:?}");
        let roles = shown["messages"].as_array().unwrap().iter();
        let roles: Vec<_> = roles.map(|it| it["message"]["role"].clone()).collect();
        assert_eq!(roles, ["user", "assistant", "tool_results"], "{signal:?}");
        if code < 0 {
            let facts = sessions(&bed, &["show"], 0).stdout;
            assert!(facts.contains("cut off"), "{facts}");
        }

        // It goes on without a word, and nothing is done twice.
        let server = Server::start([Answer::says("Done.")]);
        say(&bed, &server, &["--continue"])
            .exits(0)
            .answers("Done.");
        let request = server.request().body;
        assert_eq!(texts(&request)[..2], ["user: do it", "assistant: Let me."]);
        assert_eq!(Wire::Chat.results(&request).len(), 1);
        assert_eq!(bed.read("effects"), "done\n", "{signal:?}");
        assert_eq!(ids(&bed).len(), 1);
    }
}

/// A command that was running when the program was killed is not run again.
#[test]
fn cli_11_a_call_that_was_cut_off_is_told_not_repeated() {
    let bed = Bed::new();
    // It ends by itself, soon after the program that nobody can stop it with.
    let command = json!({
        "command": "echo done >> effects; while kill -0 $PPID 2>/dev/null; do sleep 0.05; done"
    });
    let call = Reply::calls("c1", "bash", &command);
    let server = Server::replies(Wire::Chat, &[call]);
    let url = server.url();
    let running = bed
        .run(&["-m", "x/y", "--base-url", &url, "do it"])
        .spawn_with(|command| {
            command.stdout(std::process::Stdio::null());
            command.stderr(std::process::Stdio::null());
        });
    let effects = bed.work().join("effects");
    wait_until("the command runs", || effects.exists());
    running.signal(Signal::KILL);
    running.end().exits(-9);
    let server = Server::start([Answer::says("I see.")]);
    let ended = say(&bed, &server, &["--continue"]).exits(0);
    ended.notes("cut off");
    let results = Wire::Chat.results(&server.request().body);
    assert_eq!(results.len(), 1);
    assert!(results[0].1.contains("Interrupted"), "{results:?}");
    assert_eq!(bed.read("effects"), "done\n");
}

/// Two programs on one session: the second one is told, and can go on in a copy.
#[test]
fn a_session_in_use_is_said_to_be_and_can_be_forked() {
    let bed = Bed::new();
    talk(&bed, &[&["first"]]);
    let id = ids(&bed)[0].clone();
    let (running, _server) = silent_after(&bed, &[], &["--continue", "second"]);
    let server = Server::start([Answer::says("A copy.")]);
    let before = fs::read(file(&bed, &id)).unwrap();
    for arguments in [&["--continue", "third"][..], &["--session", &id, "third"]] {
        say(&bed, &server, arguments)
            .exits(1)
            .says(&["is in use", &id, "--fork"]);
    }
    sessions(&bed, &["delete", "-y", &id], 1).says(&["is in use"]);
    for arguments in [&["name", &id, "x"][..], &["repair", &id]] {
        let ended = sessions(&bed, arguments, 1);
        assert!(!ended.stderr.contains("--fork"), "{ended:#?}");
        ended.says(&["is in use", "wait until that process has ended"]);
    }
    assert_eq!(fs::read(file(&bed, &id)).unwrap(), before);
    // Whoever only reads is in nobody's way.
    let shown = sessions(&bed, &["show", &id], 0).stdout;
    assert!(shown.contains("second"), "{shown}");
    sessions(&bed, &["export", &id], 0);
    say(&bed, &server, &["--fork", &id, "third"])
        .exits(0)
        .answers("A copy.");
    let told = texts(&server.request().body).join("\n");
    assert!(told.contains("first") && told.contains("third"), "{told}");
    assert_eq!(ids(&bed).len(), 2);
    running.signal(Signal::INT);
    running.end().exits(130);
    sessions(&bed, &["delete", "-y", &id], 0);
}
