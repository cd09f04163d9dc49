//! Agents that work can be handed to: which are listed and shown, who has a name, and what is wrong with one.

use std::fs;
use std::path::PathBuf;

use serde_json::{Value, json};

use crate::program::{Bed, Ended, Start};

const PROJECT: &str = "work/.harness/agents";
const USER: &str = "home/.config/harness/agents";

/// The program, on a machine whose owner has no agents but those of the test.
fn harness(bed: &Bed, arguments: &[&str]) -> Start {
    bed.harness(arguments)
        .env("HARNESS_MANAGED_AGENTS", bed.root().join("managed"))
}

#[track_caller]
fn ends(bed: &Bed, arguments: &[&str], code: i32) -> Ended {
    harness(bed, &[&["agents"], arguments].concat())
        .end()
        .exits(code)
}

/// Checks that standard error holds these words.
#[track_caller]
fn notes(ended: &Ended, words: &[&str]) {
    for word in words {
        assert!(ended.stderr.contains(word), "{word:?} is not in {ended:#?}");
    }
}

/// What `--json` prints.
#[track_caller]
fn json(bed: &Bed, arguments: &[&str]) -> Value {
    let ended = ends(bed, &[arguments, &["--json"]].concat(), 0);
    serde_json::from_str(&ended.stdout).unwrap()
}

/// Writes a declaration, relative to the root of the bed.
fn declare(bed: &Bed, path: &str, fields: &str, role: &str) -> PathBuf {
    let path = bed.root().join(path);
    fs::create_dir_all(path.parent().unwrap()).unwrap();
    fs::write(&path, format!("---\n{fields}---\n{role}\n")).unwrap();
    path
}

/// A bed whose project is a repository, with a configuration of the user.
fn repository(config: &str) -> Bed {
    let bed = Bed::new();
    fs::create_dir(bed.work().join(".git")).unwrap();
    bed.config(config);
    bed
}

/// `name status layer`, for each entry.
fn entries(list: &Value) -> Vec<String> {
    let entries = list.as_array().unwrap().iter();
    let text = |entry: &Value, key: &str| entry[key].as_str().unwrap().to_owned();
    entries
        .map(|entry| {
            ["name", "status", "layer"]
                .map(|key| text(entry, key))
                .join(" ")
        })
        .collect()
}

#[test]
fn the_list_has_name_layer_tools_model_and_description() {
    let bed = repository("");
    let list = ends(&bed, &["list"], 0);
    let lines: Vec<&str> = list.stdout.lines().collect();
    assert_eq!(lines.len(), 2, "{list:#?}");
    let explore = "explore  built-in  read, grep, find, ls  inherit  Searches the project";
    assert!(lines[0].starts_with(explore), "{list:#?}");
    let general = "general  built-in  all                   inherit  Does a task";
    assert!(lines[1].starts_with(general), "{list:#?}");
    assert!(list.stderr.contains("say `enabled = true`"), "{list:#?}");

    declare(
        &bed,
        &format!("{USER}/reviewer.md"),
        "description: Reviews \\x1b[31m a change.\ntools: Read, Bash\nmodel: opus\n",
        "You review.",
    );
    declare(
        &bed,
        &format!("{USER}/talker.md"),
        "description: d\ntools: []\n",
        "You talk.",
    );
    declare(
        &bed,
        &format!("{USER}/writer.md"),
        "description: d\ndisallowedTools: Bash\n",
        "You write.",
    );
    let list = ends(&bed, &["list"], 0).stdout;
    for line in [
        "reviewer  user      read, bash            opus     Reviews",
        "talker    user      none                  inherit  d",
        "writer    user      all but bash          inherit  d",
    ] {
        assert!(list.contains(line), "{list}");
    }
    assert!(!list.contains('\x1b'), "{list}");
    let list = json(&bed, &["list"]);
    assert_eq!(list[2]["tools"], json!(["read", "bash"]));
    assert_eq!(
        (&list[1]["tools"], &list[1]["model"]),
        (&Value::Null, &Value::Null)
    );
    assert_eq!(
        (&list[3]["tools"], &list[4]["disallowed_tools"]),
        (&json!([]), &json!(["bash"]))
    );
}

#[test]
fn one_is_shown_with_all_that_it_declares() {
    let bed = repository("");
    let path = declare(
        &bed,
        &format!("{USER}/reviewer.md"),
        "name: reviewer\ndescription: Reviews a change.\ntools: Read, Grep\nmodel: sonnet\nthinking: low\n\
         skills: [style]\nmax_turns: 5\nmax_tokens: 9000\nmax_cost: 0.25\ntimeout: 10m\nisolation: worktree\n\
         color: red\nodd: 1\n",
        "You review changes.",
    );
    let shown = ends(&bed, &["show", "Reviewer"], 0);
    let path = path.display();
    let expected = format!(
        "name           reviewer\n\
         description    Reviews a change.\n\
         layer          user\n\
         path           {path}\n\
         status         active\n\
         tools          read, grep\n\
         model          sonnet\n\
         thinking       low\n\
         skills         style\n\
         max turns      5\n\
         max tokens     9000\n\
         max cost       $0.25\n\
         timeout        10m\n\
         isolation      worktree\n\
         note           {path}:14:1: W-UNKNOWN-FIELD: there is no field `odd`; it is passed over\n\
         \n\
         You review changes.\n"
    );
    assert_eq!(shown.stdout, expected);
    let shown = json(&bed, &["show", "reviewer"]);
    assert_eq!(shown["role"], "You review changes.");
    assert_eq!(
        (&shown["max_turns"], &shown["timeout_seconds"]),
        (&json!(5), &json!(600.0))
    );
    assert_eq!(
        (&shown["thinking"], &shown["isolation"]),
        (&json!("low"), &json!("worktree"))
    );
    assert_eq!(
        (&shown["status"], &shown["max_cost"]),
        (&json!("active"), &json!(0.25))
    );

    let built_in = ends(&bed, &["show", "explore"], 0);
    assert!(
        built_in
            .stdout
            .contains("path           built-in:explore\n"),
        "{built_in:#?}"
    );
    ends(&bed, &["show", "reviwer"], 2)
        .says(&["there is no agent `reviwer`", "did you mean `reviewer`?"]);
    ends(&bed, &["show", "x"], 2).says(&["there is no agent `x`", "harness agents list --all"]);
    let failure = ends(&bed, &["show", "x", "--json"], 2);
    let failure: Value = serde_json::from_str(&failure.stdout).unwrap();
    assert!(failure.is_object(), "{failure}");
}

#[test]
fn sub_a_project_that_is_not_trusted_has_its_agents_listed_and_held() {
    let bed = repository("");
    declare(
        &bed,
        &format!("{PROJECT}/deploy.md"),
        "description: d\n",
        "CANARY-OF-THE-PROJECT",
    );
    declare(
        &bed,
        &format!("{PROJECT}/explore.md"),
        "description: d\n",
        "CANARY-OF-THE-PROJECT",
    );
    declare(
        &bed,
        "outside/secret.md",
        "description: d\n",
        "CANARY-FROM-OUTSIDE",
    );
    std::os::unix::fs::symlink(
        bed.root().join("outside/secret.md"),
        bed.root().join(PROJECT).join("s.md"),
    )
    .unwrap();
    let list = ends(&bed, &["list"], 0);
    assert!(!list.stdout.contains("deploy"), "{list:#?}");
    notes(
        &list,
        &["not listed: 2 held back, 1 invalid; `--all` shows them"],
    );
    let all = ends(&bed, &["list", "--all"], 0);
    assert!(all.stdout.contains("deploy   held     project"), "{all:#?}");
    assert!(
        all.stdout.contains("its project is not trusted"),
        "{all:#?}"
    );
    notes(&all, &["LINK-REFUSED"]);
    // A held one takes no name.
    let explore = json(&bed, &["show", "explore"]);
    assert_eq!(
        (&explore["layer"], &explore["status"]),
        (&json!("built-in"), &json!("active"))
    );
    let held = ends(&bed, &["show", "deploy"], 0);
    assert!(
        held.stdout
            .contains("status         held (its project is not trusted"),
        "{held:#?}"
    );
    let stolen = ends(&bed, &["show", "s"], 0);
    assert!(!stolen.stdout.contains("CANARY"), "{stolen:#?}");

    bed.trust();
    let explore = json(&bed, &["show", "explore"]);
    assert_eq!(
        (&explore["layer"], &explore["role"]),
        (&json!("project"), &json!("CANARY-OF-THE-PROJECT"))
    );
    assert_eq!(explore["shadows"][0]["layer"], "built-in");
}

#[test]
fn the_precedence_of_a_name_can_be_read_off_the_list_of_all() {
    let bed = repository("[agents]\npaths = [\"more\"]\nclaude = true\n");
    bed.trust();
    let places = [
        ("work/deep/more", "explicit"),
        ("managed", "managed"),
        ("work/deep/.harness/agents", "project"),
        ("work/deep/.claude/agents", "project"),
        (PROJECT, "project"),
        (USER, "user"),
        ("home/.claude/agents", "user"),
    ];
    let mut expected = Vec::new();
    for (folder, layer) in places {
        let file = format!("{folder}/group/explore.md");
        let path = declare(&bed, &file, "description: d\n", &format!("Of {folder}."));
        expected.push(format!("{layer} {}", path.display()));
    }
    expected.push("built-in built-in:explore".to_owned());
    let list = json(&bed, &["list", "--all", "-C", "deep"]);
    let list = list.as_array().unwrap();
    let found: Vec<String> = list
        .iter()
        .filter(|it| it["name"] == "explore")
        .map(|it| {
            format!(
                "{} {}",
                it["layer"].as_str().unwrap(),
                it["path"].as_str().unwrap()
            )
        })
        .collect();
    assert_eq!(found, expected);
    assert_eq!(list[0]["status"], "active");
    assert!(
        list[1..8]
            .iter()
            .all(|it| it["shadowed_by"]["layer"] == "explicit"),
        "{list:#?}"
    );
    let shown = ends(&bed, &["show", "explore@user", "-C", "deep"], 0);
    assert!(
        shown
            .stdout
            .contains("status         shadowed (by explore@explicit)"),
        "{shown:#?}"
    );
}

#[test]
fn the_agents_of_claude_code_count_when_they_are_switched_on() {
    let fields = "name: code-reviewer\ndescription: Use when: asked\ntools: Read, Glob, Bash\nmodel: sonnet\ncolor: blue\n";
    let file = "work/.claude/agents/code-reviewer.md";
    for (config, count) in [("", 2), ("[agents]\nclaude = true\n", 3)] {
        let bed = repository(config);
        bed.trust();
        declare(&bed, file, fields, "You review.");
        let list = json(&bed, &["list"]);
        assert_eq!(list.as_array().unwrap().len(), count, "{list}");
        if count == 3 {
            assert_eq!(list[0]["tools"], json!(["read", "find", "bash"]));
            assert_eq!(list[0]["model"], "sonnet");
        }
    }
}

#[test]
fn a_broken_declaration_says_what_is_wrong_and_takes_no_name() {
    let bed = repository("");
    let bad = declare(
        &bed,
        &format!("{USER}/explore.md"),
        "description: d\ntools: Bash(git:*)\n",
        "Role.",
    );
    let empty = declare(&bed, &format!("{USER}/empty.md"), "description: d\n", "");
    let none = declare(&bed, &format!("{USER}/none.md"), "name: none\n", "Role.");
    assert_eq!(
        entries(&json(&bed, &["list", "--all"])),
        [
            "empty invalid user",
            "explore invalid user",
            "explore active built-in",
            "general active built-in",
            "none invalid user",
        ]
    );
    let list = ends(&bed, &["list", "--all"], 0);
    let bad = bad.display();
    notes(
        &list,
        &[
            &format!(
                "{bad}:3:8: E-TOOL-NAME: `Bash(git:*)` is no name of a tool; name the whole tool"
            ),
            &format!(
                "{}:4:1: E-EMPTY-BODY: there is no text below the frontmatter",
                empty.display()
            ),
            &format!(
                "{}:2:1: E-DESC-MISSING: there is no description",
                none.display()
            ),
            "W-BROKEN-WINNER",
        ],
    );
    assert!(
        list.stdout
            .contains("(E-TOOL-NAME: `Bash(git:*)` is no name of a tool)"),
        "{list:#?}"
    );
    let shown = ends(&bed, &["show", "explore@user"], 0);
    assert!(
        shown.stdout.contains("status         invalid (E-TOOL-NAME"),
        "{shown:#?}"
    );
    assert!(!shown.stdout.contains("Role."), "{shown:#?}");
    notes(
        &ends(&bed, &["list"], 0),
        &["not listed: 3 invalid; `--all` shows them"],
    );
}

#[test]
fn they_can_be_switched_off() {
    let bed = repository("[agents]\nenabled = false\n");
    let list = ends(&bed, &["list"], 0);
    assert_eq!(list.stdout, "");
    notes(&list, &["agents are off (from "]);
    let doctor = harness(&bed, &["doctor"]).end();
    assert!(doctor.stdout.contains("\nagents\n  off"), "{doctor:#?}");
    let bed = repository("[agents]\nenable = false\n");
    ends(&bed, &["list"], 2).says(&["enable"]);
}

#[test]
fn the_doctor_has_a_section_of_agents() {
    let bed = repository("[agents]\nclaude = true\n");
    declare(
        &bed,
        &format!("{PROJECT}/held.md"),
        "description: d\n",
        "Role.",
    );
    declare(
        &bed,
        &format!("{USER}/explore.md"),
        "description: d\n",
        "Role.",
    );
    declare(
        &bed,
        &format!("{USER}/bad.md"),
        "description: d\nmax_turns: 0\n",
        "Role.",
    );
    let doctor = harness(&bed, &["doctor"]).end();
    let (_, section) = doctor.stdout.split_once("\nagents\n").unwrap();
    for part in [
        "part of the program: 2 found",
        "active",
        "explore: user ",
        "before built-in built-in:explore",
        "held: its project is not trusted",
        "E-FIELD-VALUE: `max_turns`",
    ] {
        assert!(section.contains(part), "{part} is not in {section}");
    }
    assert!(doctor.stdout.contains("agents claude"), "{doctor:#?}");
}
