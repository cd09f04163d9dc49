//! Runs that go on with a conversation, and what is kept of each.

use std::fs;
use std::os::unix::fs::PermissionsExt;

use serde_json::{Value, json};

use crate::program::Bed;
use crate::server::{Answer, Server};
use crate::sessions::{file, ids, object, say, sessions, talk, texts};
use crate::wire::{Reply, Wire};

/// The earlier turns are sent, in each protocol, and the model is the one that was used.
#[test]
fn a_conversation_is_gone_on_with() {
    for wire in Wire::ALL {
        let bed = Bed::new();
        let call = Reply::calls("c1", "ls", &json!({}));
        let replies = [call, Reply::says("One."), Reply::says("Two.")];
        let server = Server::replies(wire, &replies);
        let (url, api) = (server.url(), wire.api());
        bed.config(&format!(
            "[providers.x]\nbase_url = {url:?}\napi = {api:?}\n"
        ));
        let run = |arguments: &[&str]| bed.run(arguments).end().exits(0);
        let end = run(&["-m", "x/y", "first", "--output", "json"]).run_end();
        let id = end["session"].as_str().unwrap().to_owned();
        assert_eq!(ids(&bed), std::slice::from_ref(&id));
        run(&["--continue", "second"]).answers("Two.");
        let last = server.requests()[2].body.clone();
        assert_eq!(last["model"], "y", "{wire:?}");
        assert_eq!(wire.prompt(&last), "second");
        assert_eq!(wire.results(&last).len(), 1, "{wire:?}");
        let sent = last.to_string();
        assert!(sent.contains("first") && sent.contains("One."), "{sent}");
        assert_eq!(ids(&bed), [id]);
    }
}

#[test]
fn a_session_that_has_ended_needs_something_to_be_said() {
    let bed = Bed::new();
    let server = talk(&bed, &[&["first"]]);
    say(&bed, &server, &["--continue"])
        .exits(2)
        .says(&["nothing to go on with", "--continue"]);
    let empty = bed.root().join("empty");
    fs::create_dir(&empty).unwrap();
    say(
        &bed,
        &server,
        &["--continue", "hi", "-C", empty.to_str().unwrap()],
    )
    .exits(2)
    .says(&["no session of", "empty", "sessions list --all"]);
    say(&bed, &server, &["--at", "x", "hi"])
        .exits(2)
        .says(&["--at"]);
}

#[test]
fn nothing_is_kept_with_no_session() {
    let bed = Bed::new();
    let server = Server::start([Answer::says("One.")]);
    let ended = say(&bed, &server, &["--no-session", "hi", "--output", "json"]).exits(0);
    assert_eq!(ended.stderr, "");
    assert_eq!(ended.run_end()["session"], Value::Null);
    let data = bed.home().join(".local/share");
    assert!(!data.exists(), "{:?}", bed.files());
}

/// A conversation is nobody else's business.
#[test]
fn files_and_folders_are_their_owners_alone() {
    let bed = Bed::new();
    talk(&bed, &[&["first"]]);
    let path = file(&bed, &ids(&bed)[0]);
    let mode = |path: &std::path::Path| fs::metadata(path).unwrap().permissions().mode() & 0o777;
    let folder = path.parent().unwrap();
    assert_eq!(mode(folder), 0o700);
    assert_eq!(mode(folder.parent().unwrap()), 0o700);
    for entry in fs::read_dir(folder).unwrap() {
        let path = entry.unwrap().path();
        assert_eq!(mode(&path), 0o600, "{}", path.display());
    }
}

/// SESS-09: each session has its own text, and no other's.
#[test]
fn sess_09_two_sessions_share_nothing() {
    let bed = Bed::new();
    talk(&bed, &[&["alpha"], &["beta"]]);
    let all = ids(&bed);
    assert_ne!(file(&bed, &all[0]), file(&bed, &all[1]));
    for (id, said) in [(&all[0], "beta"), (&all[1], "alpha")] {
        let server = Server::start([Answer::says("On.")]);
        say(&bed, &server, &["--session", id, "more"]).exits(0);
        let expected = [
            &format!("user: {said}"),
            "assistant: An answer.",
            "user: more",
        ];
        assert_eq!(texts(&server.request().body), expected);
    }
}

/// BASH-16: the folder that a session works in is gone.
#[test]
fn bash_16_a_folder_that_is_gone_is_named() {
    let bed = Bed::new();
    let folder = bed.root().join("gone");
    fs::create_dir(&folder).unwrap();
    let name = folder.to_str().unwrap();
    talk(&bed, &[&["first", "-C", name]]);
    let id = ids(&bed)[0].clone();
    fs::remove_dir(&folder).unwrap();
    let command = json!({ "command": "echo hi; pwd" });
    let call = Reply::calls("c1", "bash", &command);
    let server = Server::replies(Wire::Chat, &[call, Reply::says("Done.")]);
    say(&bed, &server, &["--session", &id, "on"])
        .exits(2)
        .says(&[name, "not there", "-C DIR"]);
    assert_eq!(server.requests().len(), 0);
    let work = bed.work().display().to_string();
    say(&bed, &server, &["--session", &id, "-C", &work, "on"]).exits(0);
    let results = Wire::Chat.results(&server.requests()[1].body);
    assert!(
        results[0].1.starts_with(&format!("hi\n{work}\n")),
        "{results:?}"
    );
}

/// BASH-22: a command that failed is a call that failed, on record as well.
#[test]
fn bash_22_a_failed_command_is_a_failed_call_on_record() {
    let bed = Bed::new();
    let command = json!({ "command": "echo x; echo y >&2; exit 4" });
    let call = Reply::calls("c1", "bash", &command);
    let server = Server::replies(Wire::Chat, &[call, Reply::says("It failed.")]);
    say(&bed, &server, &["go"]).exits(0);
    let text = fs::read_to_string(file(&bed, &ids(&bed)[0])).unwrap();
    let mut lines = text.lines().map(|line| serde_json::from_str(line).unwrap());
    let settled = lines.find(|line: &Value| line["type"] == "settlement" && line["of"] == "tool");
    let outcome = &settled.unwrap()["outcome"];
    assert_eq!(outcome["status"], "failed", "{outcome}");
    assert_eq!(outcome["details"]["exit_code"], 4, "{outcome}");
    let said = outcome["parts"][0]["text"].as_str().unwrap();
    assert!(said.contains('x') && said.contains('y'), "{said}");
    let shown = sessions(&bed, &["show"], 0).stdout;
    assert!(shown.contains("[bash: failed]\n"), "{shown}");
    assert_eq!(object(&bed, &["show"])["tool_calls_not_done"], 1);
}

/// A place that cannot be written to is no reason not to work, and it is said.
#[test]
fn a_run_without_a_place_for_sessions_works_and_says_so() {
    let bed = Bed::new();
    bed.write("script.json", r#"{"turns": [{"text": "Hi."}]}"#);
    let run = || bed.run(&["-m", "scripted:script.json", "hi"]);
    let in_the_way = bed.write("a-file", "");
    for place in [in_the_way, "/proc/harness".into()] {
        let ended = run().env("XDG_DATA_HOME", &place).end().exits(0);
        ended.answers("Hi.").notes("the conversation is not kept");
    }
    let ended = run().without_env("HOME").end().exits(0).answers("Hi.");
    ended.notes("the conversation is not kept: neither HOME nor XDG_DATA_HOME");
    let start = bed.run(&["--continue", "hi"]).without_env("HOME");
    start
        .end()
        .exits(2)
        .says(&["no place for sessions", "set one"]);
    let start = bed.harness(&["sessions", "list"]).without_env("HOME");
    start.end().exits(2).says(&["no place for sessions"]);
    // A place that is not there yet is made.
    let new = bed.root().join("deep/er");
    run()
        .env("XDG_DATA_HOME", &new)
        .end()
        .exits(0)
        .answers("Hi.");
    assert!(new.join("harness/sessions").is_dir());
}

/// What cannot be put on record is not done.
#[test]
fn a_full_disk_ends_the_run_and_loses_nothing_that_was_said_to_be_kept() {
    let bed = Bed::new();
    talk(&bed, &[&["first"]]);
    let server = Server::start([Answer::says("Two.")]);
    let url = server.url();
    let long = "long ".repeat(2_000);
    let arguments = ["-m", "x/y", "--base-url", &url, "--continue", &long];
    let start = bed.run(&[&arguments[..], &["--output", "json"]].concat());
    let ended = start.no_file_above(4).end().exits(1);
    let end = ended.run_end();
    assert_eq!(end["outcome"], "failed", "{end}");
    assert_eq!(end["error"]["kind"], "journal", "{end}");
    ended.says(&["cannot write", ".jsonl"]);
    assert_eq!(server.requests().len(), 0);
    // With room again, all of it is there.
    say(&bed, &server, &["--continue", "second"]).exits(0);
    let told = texts(&server.request().body);
    assert_eq!(
        told,
        ["user: first", "assistant: An answer.", "user: second"]
    );
}

/// A blank id begins every id: it is never one.
#[test]
fn a_blank_id_is_no_id() {
    let bed = Bed::new();
    let server = talk(&bed, &[&["first"]]);
    let id = ids(&bed)[0].clone();
    for arguments in [
        &["delete", "-y", ""][..],
        &["delete", "-y", " "],
        &["show", ""],
        &["fork", ""],
        &["label", &id, "", "x"],
        &["fork", &id, "--before", ""],
    ] {
        sessions(&bed, arguments, 2).says(&["the id is blank"]);
    }
    for arguments in [
        &["--session", "", "hi"][..],
        &["--fork", "", "hi"],
        &["--continue", "--at", "", "hi"],
    ] {
        say(&bed, &server, arguments)
            .exits(2)
            .says(&["the id is blank"]);
    }
    sessions(&bed, &["delete", "-y", &id[..7]], 2).says(&["at least 8 characters", &id]);
    assert_eq!(ids(&bed), std::slice::from_ref(&id));
    sessions(&bed, &["delete", "-y", &id[..8]], 0);
}

/// A copy, or a new session, stays only if something was said in it.
#[test]
fn a_run_that_never_begins_leaves_no_session() {
    let bed = Bed::new();
    let server = talk(&bed, &[&["first"]]);
    let id = ids(&bed)[0].clone();
    for (arguments, said) in [
        (&["--fork", &id][..], "nothing to go on with"),
        (&["--fork", &id, "--at", "nope", "hi"], "no entry `nope`"),
        (&["/compact"], "no conversation to make shorter"),
    ] {
        say(&bed, &server, arguments).exits(2).says(&[said]);
        assert_eq!(ids(&bed), std::slice::from_ref(&id), "{arguments:?}");
    }
    // The model of the session is at an address that only a flag named.
    bed.run(&["--fork", &id, "hi"]).end().exits(2).says(&[
        "no model is there to go on with",
        "x/y",
        "--model",
    ]);
    // The summary of what is left behind fails.
    let entry = object(&bed, &["show"])["messages"][0]["entry"].clone();
    let entry = entry.as_str().unwrap();
    let silent = Server::start((0..4).map(|_| Answer::status(400, "no")));
    say(&bed, &silent, &["--fork", &id, "--at", entry, "hi"])
        .exits(1)
        .says(&["cannot be summarised"]);
    assert_eq!(ids(&bed), [id]);
    // Nothing can be written but the beginning.
    let long = "long ".repeat(2_000);
    let folder = bed.root().join("other");
    fs::create_dir(&folder).unwrap();
    let arguments = ["-C", folder.to_str().unwrap(), "-m", "x/y", "--base-url"];
    bed.run(&[&arguments[..], &[&server.url(), &long]].concat())
        .no_file_above(2)
        .end()
        .exits(1)
        .says(&["the conversation could not be kept: cannot write"]);
    assert_eq!(ids(&bed).len(), 1);
}

/// What ended before its time says how to go on.
#[test]
fn a_run_that_was_cut_short_says_how_to_go_on() {
    let bed = Bed::new();
    let call = Reply::calls("c1", "ls", &json!({}));
    let server = Server::replies(Wire::Chat, &[call.clone(), call, Reply::says("Done.")]);
    say(&bed, &server, &["--max-turns", "1", "go"])
        .exits(3)
        .says(&["--max-turns allows more; `harness run --continue` goes on"]);
    let unkept = say(&bed, &server, &["--max-turns", "1", "--no-session", "go"]).exits(3);
    assert!(!unkept.stderr.contains("--continue"), "{unkept:#?}");
    say(&bed, &server, &["--continue"])
        .exits(0)
        .answers("Done.");
}

#[test]
fn a_session_of_a_folder_above_is_named() {
    let bed = Bed::new();
    let server = talk(&bed, &[&["first"]]);
    let below = bed.work().join("a/b");
    fs::create_dir_all(&below).unwrap();
    let arguments = ["--continue", "hi", "-C", below.to_str().unwrap()];
    let alone = say(&bed, &server, &arguments).exits(2);
    assert!(!alone.stderr.contains("continue -C"), "{alone:#?}");
    fs::create_dir(bed.work().join(".git")).unwrap();
    let hint = format!("harness run --continue -C {}", bed.work().display());
    say(&bed, &server, &arguments).exits(2).says(&[&hint]);
}
