//! Subagents, with the real program: who is offered them, what is told of them, and that they end.

use std::fs;

use rustix::process::Signal;
use serde_json::{Value, json};

use crate::program::{Bed, wait_until};
use crate::server::Server;
use crate::terminal::on_terminal;
use crate::wire::{Reply, Wire};

fn declare(bed: &Bed, name: &str, more: &str) {
    let folder = bed.home().join(".config/harness/agents");
    fs::create_dir_all(&folder).unwrap();
    let text = format!("---\ndescription: Does {name}.\n{more}---\nYou are {name}.\n");
    fs::write(folder.join(format!("{name}.md")), text).unwrap();
}

fn spawn(agent: &str, task: &str) -> Reply {
    Reply::calls(
        "call_s",
        "agent_spawn",
        &json!({ "agent": agent, "task": task }),
    )
}

/// The events of subagents, without what is around them.
fn inner(events: &[Value]) -> Vec<&Value> {
    let of = events.iter().filter(|event| event["type"] == "subagent");
    of.map(|event| &event["event"]).collect()
}

#[test]
fn they_are_offered_to_who_declared_one_or_asked_for_them() {
    let offered = |bed: &Bed| {
        let server = Server::replies(Wire::Chat, &[Reply::says("hi")]);
        let url = server.url();
        bed.run(&["-m", "x/y", "--base-url", &url, "hi"])
            .end()
            .exits(0);
        let body = server.request().body;
        let tools = Wire::Chat.tools(&body);
        let told = Wire::Chat.system(&body).contains("agent_spawn");
        assert_eq!(told, tools.contains(&"agent_spawn".to_owned()));
        told
    };
    let bed = Bed::new();
    assert!(!offered(&bed));
    bed.config("[agents]\nenabled = true\n");
    assert!(offered(&bed));
    declare(&bed, "tester", "");
    bed.config("");
    assert!(offered(&bed));
    bed.config("[agents]\nenabled = false\n");
    assert!(!offered(&bed));
    // A project's own count when it is trusted.
    let bed = Bed::new();
    bed.write(
        ".harness/agents/a.md",
        "---\ndescription: x\n---\nYou are a.\n",
    );
    assert!(!offered(&bed));
    bed.trust();
    assert!(offered(&bed));
}

#[test]
fn its_events_are_told_with_its_id_and_its_session_is_kept() {
    let bed = Bed::new();
    declare(&bed, "tester", "tools: bash\n");
    let server = Server::replies(
        Wire::Chat,
        &[
            spawn("tester", "count the files"),
            Reply::calls("call_b", "bash", &json!({ "command": "touch made" })),
            Reply::says("There is one."),
            Reply::says("The tester says: one."),
        ],
    );
    let url = server.url();
    let arguments = ["-m", "x/y", "--base-url", &url, "--output", "json", "go"];
    let ended = bed.run(&arguments).end().exits(0);
    let events = ended.events();
    let child = inner(&events);
    assert_eq!(child.first().unwrap()["type"], "run_start");
    assert_eq!(child.last().unwrap()["answer"], "There is one.");
    assert!(child.iter().all(|event| event["type"] != "text_delta"));
    let one = events
        .iter()
        .find(|event| event["type"] == "subagent")
        .unwrap();
    assert!(one["id"].as_str().unwrap().starts_with("tester-"));
    assert_eq!(one["agent"], "tester");
    assert_eq!(ended.run_end()["answer"], "The tester says: one.");
    assert_eq!(ended.run_end()["turns"], 2);
    assert!(bed.work().join("made").exists());
    // What each was asked.
    let bodies: Vec<Value> = server.requests().iter().map(|it| it.body.clone()).collect();
    assert_eq!(Wire::Chat.prompt(&bodies[1]), "count the files");
    assert!(Wire::Chat.system(&bodies[1]).contains("You are tester."));
    assert_eq!(Wire::Chat.tools(&bodies[1]), ["bash"]);
    // The session of the child names its parent's.
    let session = one["session"].as_str().unwrap();
    let shown = bed.harness(&["sessions", "show", session]).end().exits(0);
    assert!(shown.stdout.contains("count the files"), "{shown:#?}");
}

/// A child has the rules of its parent, whatever its declaration says.
#[test]
fn what_is_denied_to_the_parent_is_denied_to_its_child() {
    let bed = Bed::new();
    declare(&bed, "tester", "permissionMode: bypassPermissions\n");
    let server = Server::replies(
        Wire::Chat,
        &[
            spawn("tester", "write it"),
            Reply::calls(
                "call_w",
                "write",
                &json!({ "path": "kept.txt", "content": "x" }),
            ),
            Reply::says("I could not."),
            Reply::says("It could not."),
        ],
    );
    let url = server.url();
    let arguments = [
        "--trust",
        "--deny",
        "write(kept.txt)",
        "-m",
        "x/y",
        "--base-url",
        &url,
    ];
    let arguments = [&arguments[..], &["--output", "json", "go"]].concat();
    let ended = bed.guarded(&arguments).end().exits(0);
    let events = ended.events();
    let denied = inner(&events)
        .into_iter()
        .find(|event| event["type"] == "tool_end")
        .unwrap();
    assert_eq!(denied["outcome"]["status"], "denied", "{denied}");
    assert!(!bed.work().join("kept.txt").exists());
}

/// SUB-07: what interrupts the parent ends its children and theirs, and nobody is asked any more.
#[test]
fn sub_07_a_signal_ends_all_descendants() {
    let bed = Bed::new();
    declare(&bed, "outer", "");
    declare(&bed, "inner", "");
    let command = "touch started; sleep 600.0407; touch late";
    let server = Server::replies(
        Wire::Chat,
        &[
            spawn("outer", "hand it on"),
            spawn("inner", "do it"),
            Reply::calls("call_b", "bash", &json!({ "command": command })),
        ],
    );
    let url = server.url();
    let running = bed.run(&["-m", "x/y", "--base-url", &url, "go"]).spawn();
    let mark = bed.work().join("started");
    wait_until("the command runs", || mark.exists());
    running.signal(Signal::INT);
    running.end().exits(130);
    assert_eq!(server.requests().len(), 3);
    let sleeps = fs::read_dir("/proc").unwrap().flatten().any(|entry| {
        let line = fs::read(entry.path().join("cmdline")).unwrap_or_default();
        line == b"sleep\x00600.0407\x00"
    });
    assert!(!sleeps);
}

#[test]
fn a_terminal_shows_who_does_what() {
    let bed = Bed::new();
    declare(&bed, "tester", "");
    let server = Server::replies(
        Wire::Chat,
        &[
            spawn("tester", "count the files"),
            Reply::calls("call_b", "bash", &json!({ "command": "ls" })),
            Reply::says("None."),
            Reply::says("The tester says: none."),
        ],
    );
    let url = server.url();
    let start = bed.run(&["-m", "x/y", "--base-url", &url, "go"]);
    let start = start.env("TERM", "xterm").env("NO_COLOR", "1");
    let (ended, shown) = on_terminal(start, |command, terminal| {
        command.stderr(terminal);
    });
    let ended = ended.exits(0).answers("The tester says: none.");
    let lines: Vec<&str> = shown
        .lines()
        .filter(|line| line.contains("tester-"))
        .collect();
    let has = |words: &str| lines.iter().any(|line| line.contains(words));
    assert!(has(": bash ls: ok"), "{shown}\n{ended:#?}");
    assert!(has("finished (2 turns"), "{shown}");
}
