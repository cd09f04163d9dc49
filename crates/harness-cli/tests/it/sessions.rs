//! `harness sessions`: what is kept can be listed, shown, copied, named, written out, found and deleted.

use std::fs::{self, File};
use std::os::unix::fs::PermissionsExt;
use std::path::PathBuf;

use serde_json::{Value, json};

use crate::program::{Bed, Ended};
use crate::server::{Answer, Server};
use crate::wire::{Reply, Wire};

/// A run against a service that answers by a list.
#[track_caller]
pub(crate) fn say(bed: &Bed, server: &Server, arguments: &[&str]) -> Ended {
    let url = server.url();
    bed.run(&[&["-m", "x/y", "--base-url", &url], arguments].concat())
        .end()
}

/// Conversations of one answer each, one after the other.
#[track_caller]
pub(crate) fn talk(bed: &Bed, prompts: &[&[&str]]) -> Server {
    let server = Server::start(prompts.iter().map(|_| Answer::says("An answer.")));
    for prompt in prompts {
        say(bed, &server, prompt).exits(0).answers("An answer.");
    }
    server
}

#[track_caller]
pub(crate) fn sessions(bed: &Bed, arguments: &[&str], code: i32) -> Ended {
    bed.harness(&[&["sessions"], arguments].concat())
        .end()
        .exits(code)
}

/// What `--json` prints.
#[track_caller]
pub(crate) fn object(bed: &Bed, arguments: &[&str]) -> Value {
    let ended = sessions(bed, &[arguments, &["--json"]].concat(), 0);
    serde_json::from_str(&ended.stdout).unwrap()
}

/// The ids of all sessions, the one that was written to last first.
#[track_caller]
pub(crate) fn ids(bed: &Bed) -> Vec<String> {
    let list = object(bed, &["list", "--all"]);
    let list = list.as_array().unwrap().iter();
    list.map(|it| it["id"].as_str().unwrap().to_owned())
        .collect()
}

/// The file of a session.
#[track_caller]
pub(crate) fn file(bed: &Bed, id: &str) -> PathBuf {
    let list = object(bed, &["list", "--all"]);
    let mut list = list.as_array().unwrap().iter();
    let listed = list.find(|listed| listed["id"] == id).unwrap();
    listed["file"].as_str().unwrap().into()
}

/// The texts of the conversation in a request: `role: text`.
pub(crate) fn texts(body: &Value) -> Vec<String> {
    let messages = body["messages"].as_array().unwrap().iter();
    let told = messages.filter(|message| message["role"] != "system");
    let text = |message: &Value| {
        let content = &message["content"];
        let text = content.as_str().or_else(|| content[0]["text"].as_str());
        let role = message["role"].as_str().unwrap();
        format!("{role}: {}", text.unwrap_or_default())
    };
    told.map(text).collect()
}

#[test]
fn what_is_kept_is_listed_and_shown() {
    let bed = Bed::new();
    let call = Reply::says("Let me look.").and_calls("c1", "ls", &json!({}));
    let server = Server::replies(Wire::Chat, &[call, Reply::says("Nothing is there.")]);
    say(&bed, &server, &["What is\there?\nTell \x1b[31mme."]).exits(0);
    let id = &ids(&bed)[0];

    let list = sessions(&bed, &["list"], 0);
    assert_eq!(list.stderr, "");
    assert_eq!(list.stdout.lines().count(), 1, "{list:#?}");
    let end = &id[id.len() - 8..];
    assert!(list.stdout.starts_with(end), "{list:#?}");
    assert!(list.stdout.contains(" UTC "), "{list:#?}");
    assert!(list.stdout.contains("just now"), "{list:#?}");
    let prompt = "What is here? Tell \\u{1b}[31mme.";
    assert!(list.stdout.trim_end().ends_with(prompt), "{list:#?}");
    let listed = &object(&bed, &["list"])[0];
    assert_eq!(listed["cwd"], bed.work().to_str().unwrap());
    assert_eq!(listed["problem"], Value::Null);
    assert!(listed["bytes"].as_u64() > Some(100), "{listed}");

    // Of another folder there are none; `--all` has them.
    let other = bed.home().display().to_string();
    let none = sessions(&bed, &["list", "-C", &other], 0).notes("no sessions of this folder");
    assert_eq!(none.stdout, "");
    let all = sessions(&bed, &["list", "--all", "-C", &other], 0);
    let folder = format!("({})", bed.work().display());
    assert!(all.stdout.contains(&folder), "{all:#?}");

    for arguments in [
        &["show"][..],
        &["show", id],
        &["show", &id[..8]],
        &["show", end],
    ] {
        let shown = sessions(&bed, arguments, 0).stdout;
        for part in [
            id.as_str(),
            "model          x/y",
            "turns          2 turns, 1 call, 0 not done",
            "tokens         2000 in",
            "Let me look.\n-> ls {}\n",
            "[ls: done]\n",
            "Nothing is there.\n",
        ] {
            assert!(shown.contains(part), "{part:?} is not in {shown}");
        }
    }
    let shown = object(&bed, &["show"]);
    assert_eq!(shown["id"], id.as_str());
    assert_eq!(shown["tool_calls"], 1);
    assert_eq!(shown["cut_off"], false);
    let roles = shown["messages"].as_array().unwrap().iter();
    let roles: Vec<&Value> = roles.map(|it| &it["message"]["role"]).collect();
    assert_eq!(roles, ["user", "assistant", "tool_results", "assistant"]);
    let lines = sessions(&bed, &["show", "--entries"], 0).stdout;
    assert!(lines.contains("  user: What is here?"), "{lines}");
    let entries = object(&bed, &["show", "--entries"]);
    assert_eq!(
        entries["entry_list"].as_array().unwrap().len() as u64,
        shown["entries"].as_u64().unwrap()
    );
}

#[test]
fn a_list_has_its_limit_and_ids_that_tell_sessions_apart() {
    let bed = Bed::new();
    talk(&bed, &[&["first"], &["second"], &["third"]]);
    let list = sessions(&bed, &["list"], 0);
    let lines: Vec<&str> = list.stdout.lines().collect();
    for (line, prompt) in lines.iter().zip(["third", "second", "first"]) {
        assert!(line.ends_with(prompt), "{list:#?}");
        let short = line.split_whitespace().next().unwrap();
        let shown = object(&bed, &["show", short]);
        assert_eq!(
            shown["messages"][0]["message"]["content"][0]["text"],
            prompt
        );
    }
    let list = sessions(&bed, &["list", "--limit", "1"], 0).notes("1 of 3 sessions");
    assert_eq!(list.stdout.lines().count(), 1);
    // What all begin with names none of them.
    let same = ids(&bed)[0][..4].to_owned();
    sessions(&bed, &["show", &same], 2).says(&["several sessions begin or end", "more of the id"]);
    for arguments in [
        &["show", "zzzz"][..],
        &["delete", "zzzz", "-y"],
        &["fork", "zzzz"],
    ] {
        sessions(&bed, arguments, 2).says(&["there is no session zzzz", "sessions list"]);
    }
    sessions(&bed, &["show", ""], 2).says(&["the id is blank"]);
    let error = sessions(&bed, &["show", "zz", "--json"], 2).error_object();
    assert_eq!(error["kind"], "usage");
}

#[test]
fn a_fork_goes_its_own_way_and_the_tree_knows_it() {
    let bed = Bed::new();
    talk(&bed, &[&["first"], &["--continue", "second"]]);
    let id = ids(&bed)[0].clone();
    let shown = object(&bed, &["show"]);
    let second = shown["messages"][2]["entry"].as_str().unwrap().to_owned();
    let reply = shown["messages"][1]["entry"].as_str().unwrap().to_owned();

    let whole = sessions(&bed, &["fork", &id], 0).stdout.trim().to_owned();
    let texts_of = |id: &str| -> Vec<Value> {
        let shown = object(&bed, &["show", id]);
        let messages = shown["messages"].as_array().unwrap().iter();
        messages
            .map(|it| it["message"]["content"][0]["text"].clone())
            .collect()
    };
    assert_eq!(texts_of(&whole), texts_of(&id));
    let forked = object(&bed, &["fork", &id, "--before", &second]);
    assert_eq!(forked["parent"]["session"], id.as_str());
    let part = forked["session"].as_str().unwrap().to_owned();
    assert_eq!(texts_of(&part), ["first", "An answer."]);
    sessions(&bed, &["fork", &id, "--before", &reply], 2).says(&["not a user's message"]);
    let behind = object(&bed, &["fork", &id, "--at", &reply[reply.len() - 8..]]);
    let behind = behind["session"].as_str().unwrap().to_owned();
    assert_eq!(texts_of(&behind), ["first", "An answer."]);
    sessions(&bed, &["delete", "-y", &behind], 0);
    sessions(&bed, &["fork", &id, "--at", &reply, "--before", &second], 2);
    assert_eq!(ids(&bed).len(), 3, "half a fork is left");

    let tree = sessions(&bed, &["tree", &id], 0).stdout;
    assert_eq!(tree.matches("forked to").count(), 2, "{tree}");
    let tree = sessions(&bed, &["tree", &part], 0).stdout;
    assert!(tree.starts_with("came from"), "{tree}");
    assert_eq!(
        object(&bed, &["tree", &part])["ancestors"][0]["id"],
        id.as_str()
    );

    // A branch within the session.
    sessions(&bed, &["label", &id, &second, "the turn"], 0);
    let server = Server::start([Answer::says("Another.")]);
    let arguments = [
        "--session",
        &id,
        "--at",
        "the turn",
        "--no-summary",
        "instead",
    ];
    say(&bed, &server, &arguments).exits(0);
    let told = texts(&server.request().body);
    assert_eq!(
        told,
        ["user: first", "assistant: An answer.", "user: instead"]
    );
    let tree = sessions(&bed, &["tree", &id], 0).stdout;
    let line = |part: &str| tree.lines().find(|line| line.contains(part)).unwrap();
    assert!(line("second").starts_with("    "), "{tree}");
    assert!(line("second").ends_with("[the turn]"), "{tree}");
    assert!(line("instead").starts_with("    "), "{tree}");
    assert!(line("Another.").starts_with("*   "), "{tree}");
    assert!(!line("user: first").starts_with("   "), "{tree}");
    let entries = object(&bed, &["tree", &id]);
    let entries = entries["entries"].as_array().unwrap();
    assert_eq!(entries.len(), 6);
    let all = object(&bed, &["tree", &id, "--all"]);
    assert!(all["entries"].as_array().unwrap().len() > 12, "{all}");
    let off = entries.iter().filter(|entry| entry["on_branch"] == false);
    assert_eq!(off.count(), 2);

    let shown = sessions(&bed, &["label", &id, "the turn"], 0).stdout;
    assert_eq!(shown, "the turn\n");
    assert_eq!(object(&bed, &["label", &id, &second])["label"], "the turn");
    sessions(&bed, &["label", &id, &reply], 0).notes("has no label");
    // A label means one entry.
    sessions(&bed, &["label", &id, &reply, "the turn"], 0).notes(&second);
    assert_eq!(object(&bed, &["label", &id, "the turn"])["entry"], *reply);
    sessions(&bed, &["label", &id, "the turn", ""], 0);
    let tree = sessions(&bed, &["tree", &id], 0).stdout;
    assert!(!tree.contains("[the turn]"), "{tree}");
    sessions(&bed, &["label", &id, "nope", "x"], 2).says(&["no entry `nope`", "sessions tree"]);
}

#[test]
fn a_session_has_the_name_that_it_is_given() {
    let bed = Bed::new();
    talk(&bed, &[&["first"]]);
    let id = ids(&bed)[0].clone();
    sessions(&bed, &["name"], 0).notes("has no name");
    sessions(&bed, &["name", &id, "The \x1b[1mparser"], 0);
    let list = sessions(&bed, &["list"], 0).stdout;
    assert!(list.trim_end().ends_with("The \\u{1b}[1mparser"), "{list}");
    assert_eq!(object(&bed, &["name", &id])["name"], "The \\u{1b}[1mparser");
    sessions(&bed, &["name", "The parser"], 2).says(&["no session", "sessions name ID"]);
    sessions(&bed, &["name", &id, ""], 0);
    assert_eq!(object(&bed, &["list"])[0]["name"], Value::Null);
}

#[test]
fn an_export_is_whole_private_and_never_in_the_way() {
    let bed = Bed::new();
    talk(&bed, &[&["first <b>"]]);
    let id = ids(&bed)[0].clone();
    let stored = fs::read_to_string(file(&bed, &id)).unwrap();
    assert_eq!(sessions(&bed, &["export"], 0).stdout, stored);
    for (name, more, beginning) in [
        ("a.html", &[][..], "<!"),
        ("a.md", &[], "# "),
        ("a.jsonl", &[], "{\"type\":\"session\""),
        ("a.txt", &["--format", "markdown"], "# "),
    ] {
        let arguments = [&["export", &id, "--to", name], more].concat();
        let ended = sessions(&bed, &arguments, 0);
        assert_eq!((ended.stdout, ended.stderr), (String::new(), String::new()));
        let text = bed.read(name);
        assert!(text.to_lowercase().starts_with(beginning), "{name}: {text}");
        assert!(text.contains("An answer."), "{name}");
        let mode = fs::metadata(bed.work().join(name)).unwrap().permissions();
        assert_eq!(mode.mode() & 0o777, 0o600, "{name}");
    }
    for name in ["a.pdf", "noending"] {
        sessions(&bed, &["export", "--to", name], 2).says(&[name, "--format"]);
        assert!(!bed.work().join(name).exists());
    }
    assert_eq!(sessions(&bed, &["export", "--to", "-"], 0).stdout, stored);
    bed.write("a.md", "mine");
    sessions(&bed, &["export", "--to", "a.md"], 2).says(&["a.md is there already", "--force"]);
    assert_eq!(bed.read("a.md"), "mine");
    sessions(&bed, &["export", "--to", "a.md", "--force"], 0);
    assert!(bed.read("a.md").contains("An answer."));
    let ended = sessions(&bed, &["export", "--to", "no/a.md"], 1);
    assert!(!ended.stderr.contains(".harness-export"), "{ended:#?}");
    ended.says(&["cannot write", "no/a.md"]);
    // What cannot be written is no file.
    let before = bed.files();
    bed.harness(&["sessions", "export", "--to", "b.html"])
        .no_file_above(1)
        .end()
        .exits(1)
        .says(&["cannot write", "b.html"]);
    assert_eq!(bed.files(), before);
    let full = File::options().write(true).open("/dev/full").unwrap();
    let running = bed.harness(&["sessions", "export"]).spawn_with(|command| {
        command.stdout(full);
    });
    running.end().exits(1).says(&["cannot write"]);
}

#[test]
fn words_are_found_in_what_was_said() {
    let bed = Bed::new();
    talk(&bed, &[&["the Quick brown fox"], &["a lazy dog"]]);
    let hits = object(&bed, &["search", "quick", "FOX"]);
    assert_eq!(hits.as_array().unwrap().len(), 1, "{hits}");
    assert_eq!(hits[0]["session"], ids(&bed)[1].as_str());
    assert_eq!(hits[0]["role"], "user");
    let found = sessions(&bed, &["search", "quick"], 0).stdout;
    let entry = hits[0]["entry"].as_str().unwrap();
    assert!(found.contains(&entry[entry.len() - 8..]), "{found}");
    assert!(found.trim_end().ends_with("the Quick brown fox"), "{found}");
    sessions(&bed, &["search", "cat"], 0).notes("nothing was found");
    let other = bed.home().display().to_string();
    let none = sessions(&bed, &["search", "quick", "-C", &other], 0);
    assert_eq!(none.stdout, "");
    let all = object(&bed, &["search", "quick", "-C", &other, "--all"]);
    assert_eq!(all.as_array().unwrap().len(), 1);
    let one = sessions(&bed, &["search", "answer", "--limit", "1"], 0).notes("there may be more");
    assert_eq!(one.stdout.lines().count(), 1);
}

#[test]
fn what_is_deleted_is_gone_and_nothing_else() {
    let bed = Bed::new();
    talk(&bed, &[&["first"], &["second"], &["third"]]);
    let all = ids(&bed);
    // Nobody is there to be asked.
    sessions(&bed, &["delete", &all[0]], 2).says(&["no terminal", "--yes"]);
    sessions(&bed, &["delete", "-y", &all[0], "zz"], 2);
    assert_eq!(ids(&bed), all);
    let ended = sessions(&bed, &["delete", "-y", &all[0], &all[2], &all[0]], 0);
    assert_eq!(ended.stdout, format!("{}\n{}\n", all[0], all[2]));
    assert_eq!(ids(&bed), [all[1].clone()]);
    let left = bed.files();
    let gone = |path: &PathBuf| path.display().to_string().contains(&all[0]);
    assert!(!left.iter().any(gone), "{left:?}");
}
