//! `harness tools`: what is on offer, and calls by hand.

use crate::program::{Bed, Start, wait_until};

const TOOLS: [&str; 7] = ["read", "write", "edit", "bash", "grep", "find", "ls"];

#[test]
fn a_list_has_a_line_for_each_tool() {
    let bed = Bed::new();
    let ended = bed.harness(&["tools", "list"]).end().exits(0);
    assert_eq!(ended.stderr, "");
    let lines: Vec<&str> = ended.stdout.lines().collect();
    assert_eq!(lines.len(), TOOLS.len(), "{lines:#?}");
    for (line, tool) in lines.iter().zip(TOOLS) {
        assert!(line.starts_with(&format!("{tool} ")), "{line}");
        assert!(line.ends_with('.'), "the sentence is cut: {line}");
    }
    let some = bed
        .harness(&["tools", "list", "--tools", "ls,read"])
        .end()
        .exits(0);
    assert_eq!(some.stdout.lines().count(), 2, "{some:#?}");
    bed.harness(&["tools", "list", "--tools", "nope"])
        .end()
        .exits(2)
        .says(&["`nope`"]);
}

#[test]
fn a_list_in_json_has_what_a_model_is_told() {
    let ended = Bed::new()
        .harness(&["tools", "list", "--output", "json"])
        .end()
        .exits(0);
    let events = ended.events();
    let names: Vec<&str> = events
        .iter()
        .filter_map(|tool| tool["name"].as_str())
        .collect();
    assert_eq!(names, TOOLS);
    for tool in &events {
        assert!(
            tool["description"]
                .as_str()
                .is_some_and(|text| text.len() > 20),
            "{tool}"
        );
        let schema = tool.to_string();
        assert!(schema.contains("\"properties\""), "{schema}");
    }
}

/// A call, its exit status, and what standard output must hold.
#[track_caller]
fn check(start: Start, code: i32, words: &str) {
    let ended = start.end().exits(code);
    assert!(
        ended.stdout.contains(words),
        "{words:?} is not in {ended:#?}"
    );
    assert_eq!(ended.stderr, "");
}

#[test]
fn a_call_works_like_a_models() {
    let bed = Bed::new();
    bed.write("notes.txt", "alt\n");
    bed.write("deep/inner.txt", "deep\n");
    let call = |arguments: &[&str]| bed.harness(&[&["tools", "call"], arguments].concat());
    check(call(&["ls"]), 0, "notes.txt");
    check(call(&["read", r#"{"path": "notes.txt"}"#]), 0, "alt");
    check(
        call(&["read", "-"]).stdin(r#"{"path": "notes.txt"}"#),
        0,
        "alt",
    );
    check(call(&["ls", "-C", "deep"]), 0, "inner.txt");
    check(
        call(&["bash", r#"{"command": "echo out; exit 3"}"#]),
        1,
        "out\n[exit code 3]",
    );
    check(
        call(&["read", r#"{"path": "absent"}"#]),
        1,
        "does not exist",
    );
    check(
        call(&["read", r#"{"pfad": "notes.txt"}"#]),
        1,
        "Nothing was executed",
    );
    check(call(&["read", "no json"]), 1, "not valid JSON");
    check(call(&["read", "-"]).stdin(""), 1, "Nothing was executed");
    let edit = r#"{"path": "notes.txt", "old_text": "alt", "new_text": "neu"}"#;
    check(call(&["edit", edit]), 0, "notes.txt");
    assert_eq!(bed.read("notes.txt"), "neu\n");
}

#[test]
fn a_call_in_json_is_the_outcome() {
    let bed = Bed::new();
    let call = |arguments: &[&str], code: i32| {
        let start = [&["tools", "call", "--output", "json"], arguments].concat();
        let ended = bed.harness(&start).end().exits(code);
        assert_eq!(ended.events().len(), 1, "{ended:#?}");
        ended.events().remove(0)
    };
    bed.write("notes.txt", "alt\n");
    let done = call(&["read", r#"{"path": "notes.txt"}"#], 0);
    assert_eq!(done["status"], "done");
    assert_eq!(done["parts"][0]["type"], "text");
    assert!(
        done["parts"][0]["text"].as_str().unwrap().contains("alt"),
        "{done}"
    );
    assert_eq!(
        call(&["read", r#"{"path": "absent"}"#], 1)["status"],
        "failed"
    );
    let error = call(&["reed"], 2);
    assert_eq!(error["type"], "error");
    assert_eq!(error["message"], "there is no tool `reed`");
}

#[test]
fn wrong_calls_are_usage_errors() {
    let bed = Bed::new();
    let call = |arguments: &[&str]| bed.harness(&[&["tools", "call"], arguments].concat());
    let check = |start: Start, words: &[&str]| {
        let ended = start.end().exits(2).says(words);
        assert_eq!(ended.stdout, "", "{ended:#?}");
    };
    check(
        call(&["reed"]),
        &["there is no tool `reed`", "did you mean `read`?"],
    );
    check(
        call(&["nope"]),
        &["there is no tool `nope`", "the tools are read, write"],
    );
    check(call(&[]), &["<NAME>"]);
    check(
        call(&["read", "{}", "more"]),
        &["unexpected argument 'more'"],
    );
    check(call(&["ls", "-C", "absent"]), &["absent", "-C"]);
    check(call(&["read", "-"]).stdin(*b"\xff"), &["standard input"]);
}

/// SEC-11: a `.env` is a file like any other, wherever it lies; nobody reads it unasked. `BASH_ENV` is
/// what bash reads, as it would without us.
#[test]
fn sec_11_no_file_sets_variables_unasked() {
    let bed = Bed::new();
    for folder in [bed.root(), bed.work()] {
        std::fs::write(folder.join(".env"), "PLANTED=yes\nOPENAI_API_KEY=planted\n").unwrap();
    }
    let start = || {
        let command = r#"{"command": "echo [$PLANTED$OPENAI_API_KEY$OWN]; cd /"}"#;
        bed.harness(&["tools", "call", "bash", command])
    };
    check(start(), 0, "[]\n");
    let own = bed.write("own", "OWN=read");
    check(
        start().env("BASH_ENV", own),
        0,
        "[read]\n[exit code 0]\n[working",
    );
}

/// BASH-11, BASH-10: a flood of output costs neither memory nor the time limit.
#[test]
fn bash_10_11_a_flood_takes_little_memory() {
    let bed = Bed::new();
    let arguments = r#"{"command": "yes", "timeout": 5}"#;
    let running = bed.harness(&["tools", "call", "bash", arguments]).spawn();
    let mut peak = 0;
    wait_until("it ends", || match running.peak_memory() {
        Some(now) => {
            peak = now;
            false
        }
        None => true,
    });
    let ended = running.end().exits(1);
    assert!(
        ended.stdout.contains("timed out after 5 s"),
        "{}",
        ended.stdout.len()
    );
    assert!(peak > 1_000, "{peak} KiB: not measured");
    // Some 30,000 of it is the program itself, as it is built for tests; the flood has gigabytes.
    assert!(peak < 45_000, "{peak} KiB");
}

/// BASH-25: whatever shell a person logs in with, commands are run by one that understands them.
#[test]
fn bash_25_the_login_shell_does_not_matter() {
    let bed = Bed::new();
    for shell in ["/usr/bin/fish", "/no/such/shell", "nu", ""] {
        let call = bed.harness(&["tools", "call", "bash", r#"{"command": "x=1; echo $x"}"#]);
        check(call.env("SHELL", shell), 0, "1\n[exit code 0]");
    }
    let call = bed.harness(&["tools", "call", "bash", r#"{"command": "x=1; echo $x"}"#]);
    check(call.env("PATH", "/nothing"), 0, "1\n[exit code 0]");
}
