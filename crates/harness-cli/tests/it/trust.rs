//! `harness trust`, and what is decided by rules.

use std::fs;
use std::os::unix::fs::PermissionsExt;

use serde_json::{Value, json};

use crate::program::Bed;

#[test]
fn projects_are_trusted_and_forgotten() {
    let bed = Bed::new();
    fs::create_dir_all(bed.work().join(".git")).unwrap();
    fs::create_dir_all(bed.work().join("deep")).unwrap();
    let work = bed.work().display().to_string();
    let trust = |arguments: &[&str]| bed.harness(&[&["trust"], arguments].concat());
    trust(&["list"])
        .end()
        .exits(0)
        .notes("nothing is said of any folder");
    // Without a folder the whole repository is meant.
    trust(&["allow"])
        .current_dir(bed.work().join("deep"))
        .end()
        .exits(0)
        .notes(&work);
    let listed = trust(&["list"]).end().exits(0);
    assert_eq!(listed.stdout, format!("full  {work}\n"));
    trust(&["deny", "deep"]).end().exits(0);
    trust(&["ask", "--tool", "bash", "--rule", "net"])
        .end()
        .exits(0);
    trust(&["allow", "--rule", "run(cargo test *)"])
        .end()
        .exits(0);
    trust(&["deny", "--rule", "read(private/**)", "--tool", "web"])
        .end()
        .exits(0);
    let listed = trust(&["list"]).end().exits(0).stdout;
    let expected = format!(
        "full  {work}\n      ask tool bash\n      deny tool web\n      deny read(private/**)\n      \
         ask net\n      allow run(cargo test *)\nnone  {work}/deep\n"
    );
    assert_eq!(listed, expected);
    let json = trust(&["list", "--output", "json"]).end().exits(0).stdout;
    let first: Value = serde_json::from_str(json.lines().next().unwrap()).unwrap();
    assert_eq!(first["folder"], json!(work));
    assert_eq!(first["tools"], json!({ "bash": "ask", "web": "deny" }));
    let store = bed.home().join(".local/share/harness/trust.toml");
    assert_eq!(
        fs::metadata(&store).unwrap().permissions().mode() & 0o777,
        0o600
    );
    // What is gone can be forgotten, too.
    fs::remove_dir(bed.work().join("deep")).unwrap();
    trust(&["forget", "deep"]).end().exits(0);
    trust(&["forget"]).end().exits(0);
    trust(&["forget"])
        .end()
        .exits(2)
        .says(&["nothing is said of"]);
}

#[test]
fn what_trust_cannot_be() {
    let bed = Bed::new();
    let home = bed.home().display().to_string();
    for (arguments, words) in [
        (&["trust", "allow", "/"][..], "every folder of the machine"),
        (&["trust", "allow", &home], "everything in your home folder"),
        (&["trust", "allow", "absent"], "absent"),
        (&["trust", "allow", "--rule", "run("], "is not closed"),
        (
            &["trust", "allow", "--rule", "rum(x)"],
            "did you mean `run`",
        ),
        (&["trust", "ask"], "required"),
        (&["run", "--allow", "wirte", "hi"], "did you mean `write`"),
        (&["run", "--sandbox", "half", "hi"], "--sandbox"),
        (
            &["run", "--trust", "--no-trust", "hi"],
            "cannot be used with",
        ),
    ] {
        let ended = bed.harness(arguments).end().exits(2);
        ended.says(&[words]);
    }
    assert!(!bed.home().join(".local/share/harness/trust.toml").exists());
    // A store that others can write says nothing, and is told of.
    bed.trust();
    let store = bed.home().join(".local/share/harness/trust.toml");
    fs::set_permissions(&store, fs::Permissions::from_mode(0o666)).unwrap();
    bed.write(".harness/config.toml", "modle = 1");
    for flags in [&[][..], &["--trust"]] {
        let arguments = [&["-m", "scripted:absent"], flags, &["hi"]].concat();
        let ended = bed.guarded(&arguments).end().exits(2);
        ended.says(&["others may write it"]);
    }
    let report = bed.harness(&["doctor", "-m", "demo"]).end().exits(2);
    assert!(report.stdout.contains("others may write it"), "{report:#?}");
}

/// The verdict of `harness doctor` about a command, which is also its exit status.
fn verdict(bed: &Bed, command: &str, flags: &[&str]) -> String {
    let arguments = [&["doctor", "--run", command], flags].concat();
    let ended = bed.harness(&arguments).end();
    let verdict = ended.stdout.split(':').next().unwrap().to_owned();
    let status = match verdict.as_str() {
        "allow" => 0,
        "ask" => 4,
        "deny" => 5,
        _ => panic!("{ended:#?}"),
    };
    ended.exits(status);
    verdict
}

/// Rules of the machine's owner, the user, the project, and the run; each is shown with where it stands.
#[test]
fn rules_of_all_layers_decide() {
    let bed = Bed::new();
    bed.config("[permissions]\nallow = [\"run(deploy *)\"]\ndeny = [\"run(git push *)\"]\n[sandbox]\nprofile = \"off\"\n");
    bed.write(
        ".harness/config.toml",
        "[permissions]\nallow = [\"run(make *)\", \"run(git push *)\"]\n",
    );
    let managed = bed.root().join("managed.toml");
    fs::write(&managed, "[permissions]\nask = [\"run(deploy prod *)\"]\n").unwrap();
    let decide = |command: &str, flags: &[&str]| verdict(&bed, command, flags);
    for (command, flags, expected) in [
        ("deploy test", &[][..], "allow"),
        ("make all", &[], "ask"),
        ("make all", &["--trust"], "allow"),
        ("make all; deploy x", &["--trust"], "allow"),
        ("make all; other", &["--trust"], "ask"),
        // A rule that denies wins, wherever it stands.
        ("git push", &["--trust"], "deny"),
        ("git push", &["--allow", "run(git push *)"], "deny"),
        ("git push", &["--allow-all"], "deny"),
        ("other", &["--allow", "run(other)"], "allow"),
        ("other", &["--allow-all"], "allow"),
        ("echo $(other)", &["--allow-all"], "allow"),
        ("deploy test", &["--ask", "run(deploy *)"], "ask"),
        ("ls", &["--deny", "run(ls *)"], "deny"),
    ] {
        assert_eq!(decide(command, flags), expected, "{command} {flags:?}");
    }
    let with_managed = |arguments: &[&str], status| {
        let start = bed
            .harness(arguments)
            .env("HARNESS_MANAGED_PERMISSIONS", &managed);
        start.end().exits(status).stdout
    };
    let shown = with_managed(&["doctor", "--run", "deploy prod", "--allow-all"], 4);
    assert!(shown.starts_with("ask: deploy prod"), "{shown}");
    assert!(shown.contains("by run(deploy prod *) (managed)"), "{shown}");
    let report = with_managed(&["doctor", "-m", "demo", "--trust", "--deny", "net"], 0);
    for line in [
        "allow run(deploy *)  (user, from ",
        "deny run(git push *)  (user, from ",
        "allow run(make *)  (project, from ",
        "deny net  (run, from --deny)",
        "ask run(deploy prod *)  (managed, from ",
    ] {
        assert!(report.contains(line), "{line}: {report}");
    }
    // One that cannot be read is no reason to do without it.
    fs::write(&managed, "[permissions]\nask = [\"what\"]\n").unwrap();
    let start = bed.harness(&["run", "-m", "demo", "hi"]);
    let ended = start
        .env("HARNESS_MANAGED_PERMISSIONS", &managed)
        .end()
        .exits(2);
    ended.says(&["managed.toml:2:8: permissions.ask", "is no kind of rule"]);
}

/// Its own files open what no rule speaks of; what the user says for it opens what rules ask about.
#[test]
fn what_a_project_allows_lifts_no_question() {
    let bed = Bed::new();
    bed.config("[permissions]\nask = [\"run(make prod *)\"]\n[sandbox]\nprofile = \"off\"\n");
    bed.write(
        ".harness/config.toml",
        "[permissions]\nallow = [\"write(**)\", \"read(**)\", \"run(make *)\"]\n",
    );
    let allowed = bed.harness(&["trust", "allow"]).end().exits(0);
    for rule in ["write(**)", "read(**)", "run(make *)"] {
        let words = format!("its configuration allows: {rule}");
        assert!(allowed.stderr.contains(&words), "{words}: {allowed:#?}");
    }
    for (command, flags, expected) in [
        ("make all", &[][..], "allow"),
        ("make prod x", &[], "ask"),
        ("echo x > .git/hooks/pre-commit", &[], "ask"),
        ("echo x > .harness/hooks.json", &[], "ask"),
        ("cat .env", &[], "ask"),
        ("make prod x", &["--allow", "run(make prod *)"], "allow"),
        ("cat .env", &["--allow", "read(.env)"], "allow"),
    ] {
        assert_eq!(
            verdict(&bed, command, flags),
            expected,
            "{command} {flags:?}"
        );
    }
    for rule in ["run(make prod *)", "read(.env)"] {
        let arguments = ["trust", "allow", "--rule", rule];
        bed.harness(&arguments).end().exits(0);
    }
    assert_eq!(verdict(&bed, "make prod x; cat .env", &[]), "allow");
    let report = bed.harness(&["doctor", "-m", "demo"]).end().exits(0).stdout;
    for line in [
        "allow run(make *)  (project, from ",
        "allow run(make prod *)  (granted, from ",
    ] {
        assert!(report.contains(line), "{line}: {report}");
    }
}

/// `ls` is a command that only reads wherever it is, so it must not be the project's own.
#[test]
fn programs_of_a_project_are_found_once_it_is_trusted() {
    let bed = Bed::new();
    bed.config("[sandbox]\nprofile = \"off\"\n");
    let own = bed.write("bin/ls", "#!/bin/sh\ntouch \"$0.ran\"\n");
    fs::set_permissions(&own, fs::Permissions::from_mode(0o755)).unwrap();
    let ran = bed.work().join("bin/ls.ran");
    let calls = json!([{ "tool": "bash", "arguments": { "command": "ls" } }]);
    let script = json!({ "turns": [{ "calls": calls }, { "text": "Done." }] });
    bed.write("script.json", script.to_string());
    let link = bed.root().join("link");
    std::os::unix::fs::symlink(bed.work().join("bin"), &link).unwrap();
    let absolute = bed.work().join("bin");
    for part in ["bin", absolute.to_str().unwrap(), link.to_str().unwrap()] {
        for (path, flags, has_run) in [
            (format!("{part}:/usr/bin:/bin"), &[][..], false),
            (part.to_owned(), &[], false),
            (format!("{part}:/usr/bin:/bin"), &["--trust"], true),
        ] {
            let arguments = [&["-m", "scripted:script.json"], flags, &["go"]].concat();
            let start = bed.guarded(&arguments).env("PATH", &path);
            start.end().exits(0).answers("Done.");
            assert_eq!(ran.exists(), has_run, "{path} {flags:?}");
        }
        fs::remove_file(&ran).unwrap();
    }
}

/// In a run without a terminal, asking is a refusal that names the flag that would allow it. The run goes on.
#[test]
fn where_nobody_can_be_asked_the_way_is_named() {
    let bed = Bed::new();
    let calls = json!([
        { "tool": "write", "arguments": { "path": "a.txt", "content": "x" } },
        { "tool": "bash", "arguments": { "command": "cp a.txt b.txt" } },
        { "tool": "bash", "arguments": { "command": "echo $(date)" } },
    ]);
    let script = json!({ "turns": [{ "calls": calls }, { "text": "Done." }] });
    bed.write("script.json", script.to_string());
    let ended = bed
        .guarded(&["-m", "scripted:script.json", "go"])
        .end()
        .exits(0);
    for words in [
        "--allow 'write(a.txt)'",
        "--allow 'run(cp a.txt b.txt)'",
        "--allow opaque",
        "`harness trust allow`",
    ] {
        assert!(ended.stderr.contains(words), "{words}: {ended:#?}");
    }
    ended.answers("Done.");
    // The flags that were named do it.
    let flags = ["--allow", "write(a.txt)", "--allow", "run(cp a.txt b.txt)"];
    let arguments = [&["-m", "scripted:script.json"], &flags[..], &["go"]].concat();
    bed.guarded(&arguments).end().exits(0);
    assert_eq!(bed.read("b.txt"), "x");
}

/// Each decision is an event, and an entry of the session.
#[test]
fn decisions_are_on_record() {
    let bed = Bed::new();
    let calls = json!([
        { "tool": "ls", "arguments": {} },
        { "tool": "write", "arguments": { "path": "a.txt", "content": "x" } },
    ]);
    let script = json!({ "turns": [{ "calls": calls }, { "text": "Done." }] });
    bed.write("script.json", script.to_string());
    let ended = bed
        .guarded(&["-m", "scripted:script.json", "--output", "json", "go"])
        .end()
        .exits(0);
    let events = ended.events();
    let decided: Vec<_> = events
        .iter()
        .filter(|it| it["type"] == "permission")
        .collect();
    assert_eq!(decided.len(), 2, "{decided:#?}");
    assert_eq!(
        (&decided[0]["decision"], &decided[0]["layer"]),
        (&json!("allow"), &json!("built-in"))
    );
    assert_eq!(
        (&decided[1]["decision"], &decided[1]["by"]),
        (&json!("deny"), &json!("nobody"))
    );
    let shown = bed
        .harness(&["sessions", "show", "--entries"])
        .end()
        .exits(0)
        .stdout;
    for line in [
        "permission: allow by the rule `read(**)` (built-in): reads ",
        "permission: deny by nobody",
    ] {
        assert!(shown.contains(line), "{line}: {shown}");
    }
}

/// What a rule or a hook refuses is told, also where nobody watches.
#[test]
fn a_refusal_is_noted_whoever_refused() {
    let bed = Bed::new();
    fs::create_dir(bed.work().join("migrations")).unwrap();
    let calls = json!([
        { "tool": "bash", "arguments": { "command": "rm -rf migrations" } },
        { "tool": "ls", "arguments": {} },
    ]);
    let script = json!({ "turns": [{ "calls": calls }, { "text": "Done." }] });
    bed.write("script.json", script.to_string());
    let flags = ["--trust", "--deny", "write(migrations/**)"];
    let arguments = [&["-m", "scripted:script.json"], &flags[..], &["go"]].concat();
    let ended = bed.guarded(&arguments).end().exits(0);
    ended.notes("bash was refused: `deny write(migrations/**)` (run)");
    assert!(bed.work().join("migrations").is_dir());
}

/// A project that is trusted speaks for itself, and not for what its user has elsewhere.
#[test]
fn a_trusted_project_cannot_open_what_is_not_its_own() {
    let bed = Bed::new();
    bed.trust();
    for (config, words) in [
        ("[sandbox]\nprofile = \"off\"\n", "what commands can reach"),
        (
            "[permissions]\nallow = [\"read(~/.ssh/**)\"]\n",
            "cannot allow `read(~/.ssh/**)`",
        ),
        (
            "[permissions]\nallow = [\"write(/etc/**)\"]\n",
            "cannot allow",
        ),
        (
            "[permissions]\nallow = [\"opaque\"]\n",
            "cannot allow `opaque`",
        ),
        ("[permissions]\nallow = [\"run\"]\n", "cannot allow `run`"),
    ] {
        bed.write(".harness/config.toml", config);
        let ended = bed.guarded(&["-m", "scripted:absent", "go"]).end().exits(2);
        ended.says(&[words, "your own configuration"]);
    }
    bed.write(
        ".harness/config.toml",
        "[permissions]\nallow = [\"run(make *)\", \"write(src/**)\"]\ndeny = [\"read(~/x)\"]\n",
    );
    assert_eq!(verdict(&bed, "make all", &["--sandbox", "off"]), "allow");
}
