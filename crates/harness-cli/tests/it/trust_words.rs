//! What is told of rules, trust and the sandbox: what they mean, and where they stand.

use std::fs;

use serde_json::json;

use crate::program::{Bed, Ended};

/// A run that calls nothing.
fn quiet(bed: &Bed, flags: &[&str]) -> Ended {
    let script = json!({ "turns": [{ "text": "Done." }] });
    bed.write("script.json", script.to_string());
    let script = bed.work().join("script.json").display().to_string();
    let model = format!("scripted:{script}");
    let arguments = [&["-m", model.as_str()], flags, &["go"]].concat();
    bed.guarded(&arguments).end().exits(0)
}

#[test]
fn one_rule_or_one_tool_is_taken_back() {
    let bed = Bed::new();
    let trust = |arguments: &[&str]| bed.harness(&[&["trust"], arguments].concat()).end();
    trust(&["allow"]).exits(0);
    trust(&["allow", "--rule", "run(cargo test *)", "--rule", "net"]).exits(0);
    trust(&["deny", "--tool", "bash", "--rule", "read(x)"]).exits(0);
    for (flags, absent) in [
        (&["--rule", "run(cargo test)"][..], "`run(cargo test)`"),
        (&["--tool", "bsh"], "the tool bsh"),
        (&["--rule", "net", "--tool", "bsh"], "the tool bsh"),
    ] {
        let ended = trust(&[&["forget"], flags].concat()).exits(2);
        ended.says(&[
            absent,
            "there is: the tool bash, `read(x)`, `run(cargo test *)`, `net`",
        ]);
    }
    trust(&["forget", "--rule", "net", "--rule", "read(x)"])
        .exits(0)
        .notes("`net`, `read(x)`");
    let work = bed.work().display().to_string();
    let listed = trust(&["list"]).exits(0).stdout;
    let expected = format!("full  {work}\n      deny tool bash\n      allow run(cargo test *)\n");
    assert_eq!(listed, expected);
    trust(&["forget", "--tool", "bash"]).exits(0);
    trust(&["forget", &work, "--rule", "run(cargo test *)"]).exits(0);
    assert_eq!(trust(&["list"]).exits(0).stdout, format!("full  {work}\n"));
    let ended = trust(&["forget", "--rule", "net"]).exits(2);
    ended.says(&["no rule and no tool is there"]);
}

/// A command is what its words say: what the environment would make of it does not count.
#[test]
fn the_environment_changes_no_command() {
    let bed = Bed::new();
    bed.write("src/f.txt", "inside");
    let elsewhere = bed.home().join("elsewhere");
    fs::create_dir_all(elsewhere.join("src")).unwrap();
    fs::write(elsewhere.join("src/f.txt"), "outside").unwrap();
    bed.write(".hidden", "dotted");
    let commands = ["cd src && cat f.txt", "ls src", "cat *idden* f*; true"];
    let calls: Vec<_> = commands
        .iter()
        .map(|command| json!({ "tool": "bash", "arguments": { "command": command } }))
        .collect();
    bed.write(
        "script.json",
        json!({ "turns": [{ "calls": calls }, { "text": "Done." }] }).to_string(),
    );
    let ended = bed
        .guarded(&["-m", "scripted:script.json", "--output", "json", "go"])
        .env("CDPATH", &elsewhere)
        .env("BASHOPTS", "dotglob")
        .env("GLOBIGNORE", "x")
        .env("BASH_FUNC_ls%%", "() { echo ran > by-function; }")
        .end()
        .exits(0);
    assert!(ended.stdout.contains("inside"), "{ended:#?}");
    assert!(!ended.stdout.contains("outside"), "{ended:#?}");
    assert!(!ended.stdout.contains("dotted"), "{ended:#?}");
    assert!(!bed.work().join("by-function").exists());
}

/// The record names each rule that allows a part, and a refusal what would help, also where no rule does.
#[test]
fn a_record_names_all_rules() {
    let bed = Bed::new();
    let call = json!({ "tool": "bash", "arguments": { "command": "touch a && ls src" } });
    bed.write(
        "script.json",
        json!({ "turns": [{ "calls": [call] }, { "text": "Done." }] }).to_string(),
    );
    let run = |flags: &[&str]| {
        let arguments = ["-m", "scripted:script.json", "--output", "json", "go"];
        let ended = bed.guarded(&[flags, &arguments].concat()).end().exits(0);
        let events = ended.events();
        let found = events.iter().find(|it| it["type"] == "permission");
        found.cloned().unwrap_or_else(|| panic!("{ended:#?}"))
    };
    let event = run(&["--allow", "run(touch a)"]);
    assert_eq!(event["decision"], "allow", "{event}");
    let rules = event["rule"].as_str().unwrap_or_default();
    assert!(rules.starts_with("run(touch a), "), "{event}");
    assert_eq!(event["layer"], "run, built-in", "{event}");
    bed.harness(&["trust", "ask", "--tool", "bash"])
        .end()
        .exits(0);
    let event = run(&[]);
    assert_eq!(event["decision"], "deny", "{event}");
    let reason = event["reason"].as_str().unwrap_or_default();
    assert!(reason.contains("harness run --allow-all"), "{event}");
    let ended = bed.harness(&["trust", "deny", "--tool", "Bash"]).end();
    ended.exits(2).says(&["the tool is called bash"]);
}

/// The worst of all that was asked about is the exit status.
#[test]
fn doctor_answers_scripts() {
    let bed = Bed::new();
    for (arguments, status) in [
        (&["--read", "a"][..], 0),
        (&["--write", "a"], 4),
        (&["--write", "a", "--allow", "write(a)"], 0),
        (&["--net", "example.com"], 4),
        (&["--net", "example.com", "--deny", "net(*.org)"], 4),
        (&["--net", "example.com", "--deny", "net(example.com)"], 5),
        (&["--net", "https://example.com", "--allow", "net"], 2),
        (&["--run", "ls", "--run", "make"], 4),
        (&["--run", "rm x", "--read", "a", "--deny", "run(rm *)"], 5),
        (&["--run", "ls", "--allow", "rum"], 2),
    ] {
        let arguments = [&["doctor"], arguments].concat();
        bed.harness(&arguments).end().exits(status);
    }
    let help = bed.harness(&["doctor", "--help"]).end().exits(0).stdout;
    assert!(help.contains("4 something would be asked about"), "{help}");
}

#[test]
fn a_wrong_rule_is_told_with_its_line() {
    let bed = Bed::new();
    for (text, place) in [
        (
            "[permissions]\nallow = [\n  \"read\",\n  \"wirte\",\n]\n",
            "config.toml:4:3: permissions.allow",
        ),
        (
            "model = \"demo\"\n[permissions]\ndeny = [\"read\", \"run(\"]\n",
            "config.toml:3:17: permissions.deny",
        ),
        (
            "\u{feff}[permissions]\nask = [\"opaque(x)\"]\n",
            "config.toml:2:8: permissions.ask",
        ),
    ] {
        bed.config(text);
        let ended = bed.guarded(&["-m", "demo", "hi"]).end().exits(2);
        ended.says(&[place]);
    }
    bed.config("");
    bed.trust();
    bed.write(
        ".harness/config.toml",
        "[permissions]\nallow = [\"run(x)\",\n\"net\"]\n",
    );
    let ended = bed.guarded(&["-m", "demo", "hi"]).end().exits(2);
    ended.says(&["config.toml:3:1: a project cannot allow `net`"]);
    for (rule, is_fine) in [
        ("run(*)", false),
        ("run(* x)", false),
        ("run('*' x)", false),
        ("run(car* test)", false),
        ("run(cargo *)", true),
        ("net(*)", false),
        ("net(*:443)", false),
        ("net(*.example.com)", true),
        ("tool(*)", false),
        ("tool(mcp__x__*)", true),
        ("read(~/x)", false),
        ("read(src/*)", true),
    ] {
        let config = format!("[permissions]\nallow = [\"{rule}\"]\n");
        bed.write(".harness/config.toml", config);
        if is_fine {
            quiet(&bed, &[]);
            continue;
        }
        let ended = bed.guarded(&["-m", "demo", "hi"]).end().exits(2);
        ended.says(&["config.toml:2:10: a project cannot allow", rule]);
    }
    let managed = bed.root().join("managed.toml");
    fs::write(&managed, "[permissions]\nallwo = []\n").unwrap();
    let start = bed.guarded(&["-m", "demo", "--no-trust", "hi"]);
    let start = start.env("HARNESS_MANAGED_PERMISSIONS", &managed);
    start
        .end()
        .exits(2)
        .says(&["managed.toml:2:1:", "did you mean `allow`?"]);
}

#[test]
fn a_rule_that_likely_means_something_else_is_told_once() {
    let bed = Bed::new();
    bed.config("[permissions]\ndeny = [\"run(git push:*)\", \"tool(nope)\", \"write(x/)\"]\n");
    bed.harness(&["trust", "deny", "--tool", "bsh"])
        .end()
        .exits(0);
    let flags = ["--deny", "tool(bash)", "--deny", "tool"];
    let told = [
        "any further words are `run(git push *)`",
        "`deny tool(nope)` is about no tool that there is",
        "`harness trust deny --tool bash` is",
        "the tool bsh (by what was said of",
    ];
    let ended = quiet(&bed, &flags);
    let report = bed.harness(&[&["doctor", "-m", "demo"], &flags[..]].concat());
    let report = report.end().exits(0).stdout;
    for words in told {
        assert_eq!(
            ended.stderr.matches(words).count(),
            1,
            "{words}: {ended:#?}"
        );
        assert_eq!(report.matches(words).count(), 1, "{words}: {report}");
    }
    let others = ["write(x/)", "`tool` is"];
    assert!(others.iter().all(|words| !ended.stderr.contains(words)));
    // All in the folder is meant.
    let arguments = ["doctor", "--write", "x/a/b"];
    bed.harness(&arguments).end().exits(5);
}

/// A home is no project: it is said, and nothing in the store trusts it.
#[test]
fn a_home_is_no_project() {
    let bed = Bed::new();
    let home = bed.home().display().to_string();
    bed.trust_folders(&[(&bed.home(), "full")]);
    for (folder, words) in [
        (home.as_str(), "everything in your home folder"),
        ("/", "every folder of the machine"),
    ] {
        let ended = quiet(&bed, &["-C", folder]);
        let line = format!("{folder} is no project: {words} is in it");
        assert_eq!(ended.stderr.matches(&line).count(), 1, "{ended:#?}");
        for (flags, status) in [(&[][..], 4), (&["--trust"], 4), (&["--allow", "write"], 0)] {
            let file = bed.home().join("a").display().to_string();
            let arguments = ["doctor", "-C", folder, "--write", &file];
            let ended = bed.harness(&[&arguments, flags].concat()).end();
            ended.exits(status);
        }
    }
    let report = bed.harness(&["doctor", "-m", "demo", "-C", &home]).end();
    let report = report.exits(0).stdout;
    assert!(report.contains("is too wide to be"), "{report}");
    // Nor is what lies in it trusted by that.
    fs::create_dir(bed.home().join("shop")).unwrap();
    let shop = bed.home().join("shop").display().to_string();
    let write = ["doctor", "-C", &shop, "--write", "a"];
    bed.harness(&write).end().exits(4);
    bed.harness(&["trust", "allow", &shop]).end().exits(0);
    bed.harness(&write).end().exits(0);
    let ended = quiet(&bed, &["-C", &shop]);
    assert!(!ended.stderr.contains("is no project"), "{ended:#?}");
}

#[test]
fn folders_of_the_sandbox_that_are_not_there_are_told() {
    let bed = Bed::new();
    fs::create_dir(bed.home().join("there")).unwrap();
    bed.config("[sandbox]\nwritable = [\"~/there\", \"~/gone\"]\nhidden = [\"private\"]\n");
    let ended = quiet(&bed, &[]);
    for words in [
        "sandbox.writable: ",
        "/gone is not there",
        "sandbox.hidden: ",
        "work/private is",
    ] {
        assert!(ended.stderr.contains(words), "{words}: {ended:#?}");
    }
    assert!(!ended.stderr.contains("there is not there"), "{ended:#?}");
    let report = bed.harness(&["doctor", "-m", "demo"]).end().exits(0).stdout;
    assert!(report.contains("/gone is not there"), "{report}");
    let off = quiet(&bed, &["--sandbox", "off"]);
    assert!(!off.stderr.contains("is not there"), "{off:#?}");
}
