//! Skills: which are listed and shown, who has a name, and what the configuration says of that.

use std::fs;
use std::path::{Path, PathBuf};

use serde_json::Value;

use crate::program::{Bed, Ended, Start};

/// The program, on a machine whose owner has no skills but those of the test.
pub(crate) fn harness(bed: &Bed, arguments: &[&str]) -> Start {
    bed.harness(arguments)
        .env("HARNESS_MANAGED_SKILLS", bed.root().join("managed"))
}

#[track_caller]
pub(crate) fn ends(bed: &Bed, arguments: &[&str], code: i32) -> Ended {
    harness(bed, &[&["skills"], arguments].concat())
        .end()
        .exits(code)
}

/// What `--json` prints.
#[track_caller]
pub(crate) fn json(bed: &Bed, arguments: &[&str]) -> Value {
    let ended = ends(bed, &[arguments, &["--json"]].concat(), 0);
    serde_json::from_str(&ended.stdout).unwrap()
}

/// Writes a skill into a folder of skills, relative to the root of the bed.
pub(crate) fn skill(bed: &Bed, folder: &str, name: &str, body: &str) -> PathBuf {
    let description = format!("Does {name}.");
    skill_of(bed, folder, name, &description, body)
}

fn skill_of(bed: &Bed, folder: &str, name: &str, description: &str, body: &str) -> PathBuf {
    let path = bed.root().join(folder).join(name).join("SKILL.md");
    fs::create_dir_all(path.parent().unwrap()).unwrap();
    let text = format!("---\nname: {name}\ndescription: {description}\n---\n{body}\n");
    fs::write(&path, text).unwrap();
    path
}

pub(crate) const PROJECT: &str = "work/.harness/skills";
pub(crate) const USER: &str = "home/.config/harness/skills";

/// A bed whose project is a repository that its user trusts, with more lines for the configuration.
pub(crate) fn trusted(config: &str) -> Bed {
    let bed = Bed::new();
    fs::create_dir(bed.work().join(".git")).unwrap();
    bed.trust();
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

fn keys(object: &Value) -> Vec<&str> {
    object
        .as_object()
        .unwrap()
        .keys()
        .map(String::as_str)
        .collect()
}

/// SKILL-04: a `~` in a variable, which no shell has expanded.
#[test]
fn skill_04_a_tilde_in_a_variable_is_the_home() {
    let bed = Bed::new();
    skill(&bed, "home/cfg/harness/skills", "review", "I.");
    skill(&bed, "home/own", "owned", "I.");
    let list = bed
        .harness(&["skills", "list"])
        .env("XDG_CONFIG_HOME", "~/cfg")
        .env("HARNESS_MANAGED_SKILLS", "~/own")
        .end()
        .exits(0);
    assert_eq!(
        list.stdout,
        "owned   managed  Does owned.\nreview  user     Does review.\n"
    );
    assert_eq!(list.stderr, "");
    // Other relative paths are ignored, as the standard has it.
    let list = harness(&bed, &["skills", "list"]);
    let list = list.env("XDG_CONFIG_HOME", "../home/cfg").end().exits(0);
    assert_eq!(list.stdout, "", "{list:#?}");
}

/// SKILL-12, SKILL-13: a name in two scopes is listed once, and what is shown is what is listed.
#[test]
fn skill_12_skill_13_list_and_show_agree_on_who_has_a_name() {
    let bed = trusted("");
    skill(&bed, PROJECT, "deploy", "CANARY-OF-THE-PROJECT");
    skill(&bed, USER, "deploy", "CANARY-OF-THE-USER");
    let list = json(&bed, &["list"]);
    assert_eq!(entries(&list), ["deploy active project"]);
    let text = ends(&bed, &["list"], 0);
    assert_eq!(text.stdout, "deploy  project  Does deploy.\n");
    assert_eq!(text.stderr, "");
    for name in ["deploy", "DEPLOY", "deploy@project"] {
        let shown = json(&bed, &["show", name]);
        assert_eq!(shown["path"], list[0]["path"], "{name}");
        assert_eq!(shown["instructions"], "CANARY-OF-THE-PROJECT", "{name}");
    }
    // What is shadowed can be looked at.
    let other = ends(&bed, &["show", "deploy@user"], 0);
    assert!(other.stdout.contains("CANARY-OF-THE-USER"), "{other:#?}");
    assert!(
        other
            .stdout
            .contains("status         shadowed (by deploy@project)"),
        "{other:#?}"
    );

    // With the policy that turns it around, both turn.
    let bed = trusted("[skills]\npolicy = \"user-first\"\n");
    skill(&bed, PROJECT, "deploy", "CANARY-OF-THE-PROJECT");
    skill(&bed, USER, "deploy", "CANARY-OF-THE-USER");
    assert_eq!(entries(&json(&bed, &["list"])), ["deploy active user"]);
    let shown = json(&bed, &["show", "deploy"]);
    assert_eq!(shown["instructions"], "CANARY-OF-THE-USER");
    assert_eq!(shown["shadows"][0]["layer"], "project");
}

/// CLI-08: what people write is cut between characters, and does nothing to a terminal.
#[test]
fn cli_08_descriptions_of_any_characters_are_listed_and_shown() {
    let bed = Bed::new();
    for (number, description) in [
        format!("{}ñ", "a".repeat(34)),
        format!("{}ñandú", "a".repeat(99)),
        "日本語".repeat(300),
        "👩‍👩‍👧‍👦".repeat(60),
        "e\u{301}".repeat(200),
        "\"red \\x1b[31m and \\u202e turned\"".to_owned(),
        "|\n  two\n  lines".to_owned(),
    ]
    .iter()
    .enumerate()
    {
        skill_of(&bed, USER, &format!("s{number}-ñ"), description, "I.");
    }
    for arguments in [&["list"][..], &["list", "--all"]] {
        let list = ends(&bed, arguments, 0);
        assert_eq!(list.stdout.lines().count(), 7, "{list:#?}");
        assert!(!list.stdout.contains(['\x1b', '\u{202e}']), "{list:#?}");
    }
    let list = ends(&bed, &["list"], 0);
    let longest = list.stdout.lines().map(|line| line.chars().count()).max();
    assert!(longest <= Some(120), "{list:#?}");
    for number in 0..7 {
        let shown = ends(&bed, &["show", &format!("s{number}-ñ")], 0);
        assert!(!shown.stdout.contains(['\x1b', '\u{202e}']), "{shown:#?}");
    }
    // Programs get all of it.
    let whole = json(&bed, &["list"])[2]["description"].clone();
    assert_eq!(whole.as_str().unwrap().chars().count(), 900);
}

#[test]
fn the_precedence_of_a_name_can_be_read_off_the_list_of_all() {
    let bed = trusted("[skills]\npaths = [\"more\"]\n");
    let mut expected = Vec::new();
    for (folder, layer) in [
        ("named", "explicit"),
        ("work/deep/more", "explicit"),
        ("managed", "managed"),
        ("work/deep/.harness/skills", "project"),
        ("work/deep/.agents/skills", "project"),
        (PROJECT, "project"),
        (USER, "user"),
        ("home/.agents/skills", "user"),
    ] {
        let path = skill(&bed, folder, "one", &format!("Of {folder}."));
        expected.push((path, layer));
    }
    skill(&bed, USER, "another", "I.");
    let named = bed.root().join("named");
    let arguments = ["list", "-C", "deep", "--skill", named.to_str().unwrap()];
    let list = ends(&bed, &[&arguments[..], &["--all"]].concat(), 0);
    let lines: Vec<&str> = list.stdout.lines().collect();
    assert_eq!(lines.len(), 1 + expected.len(), "{list:#?}");
    assert!(lines[0].starts_with("another"), "{list:#?}");
    for (number, (path, layer)) in expected.iter().enumerate() {
        let words: Vec<&str> = lines[number + 1].split_whitespace().collect();
        let (status, by) = match number {
            0 => ("active", ""),
            _ => ("shadowed", "(by one@explicit)"),
        };
        assert_eq!(words[..3], ["one", status, *layer], "{list:#?}");
        assert_eq!(Path::new(words[3]), path, "{list:#?}");
        assert_eq!(words[4..].join(" "), by, "{list:#?}");
    }

    let list = json(&bed, &[&arguments[..], &["--all"]].concat());
    let list = list.as_array().unwrap();
    let usual = [
        "description",
        "diagnostics",
        "layer",
        "name",
        "path",
        "status",
    ];
    assert_eq!(keys(&list[1]), [&["command"][..], &usual].concat());
    let mut shadowed = usual.to_vec();
    shadowed.insert(5, "shadowed_by");
    assert_eq!(keys(&list[2]), shadowed);
    assert_eq!(list[2]["shadowed_by"]["path"], list[1]["path"]);
    assert_eq!(list[2]["diagnostics"][0]["code"], "W-SHADOWED");
    let of_diagnostic = [
        "code", "column", "hint", "key", "line", "message", "severity",
    ];
    assert_eq!(keys(&list[2]["diagnostics"][0]), of_diagnostic);
}

/// A locked folder of the machine's owner keeps its names from all others.
#[test]
fn what_is_locked_cannot_be_shadowed() {
    let bed = trusted("");
    skill(&bed, "managed", "one", "MANAGED");
    let other = skill(&bed, "other", "one", "OTHER");
    let other = other.to_str().unwrap();
    let shown = json(&bed, &["show", "one", "--skill", other]);
    assert_eq!(shown["instructions"], "OTHER");
    fs::write(bed.root().join("managed/.locked"), "").unwrap();
    let shown = json(&bed, &["show", "one", "--skill", other]);
    assert_eq!(shown["instructions"], "MANAGED");
}

#[test]
fn the_skills_of_a_project_that_nobody_trusts_are_held_back() {
    let bed = Bed::new();
    skill(&bed, PROJECT, "deploy", "OF-THE-PROJECT");
    skill(&bed, USER, "deploy", "OF-THE-USER");
    skill(&bed, PROJECT, "other", "I.");
    assert_eq!(entries(&json(&bed, &["list"])), ["deploy active user"]);
    let list = ends(&bed, &["list"], 0);
    let list = list.notes("not listed: 2 held back; `--all` shows them");
    assert_eq!(list.stdout, "deploy  user  Does deploy.\n");
    let all = json(&bed, &["list", "--all"]);
    assert_eq!(
        entries(&all),
        [
            "deploy held project",
            "deploy active user",
            "other held project"
        ]
    );
    let reason = all[0]["reason"].as_str().unwrap();
    assert!(reason.contains("harness trust allow"), "{reason}");
    assert_eq!(
        json(&bed, &["show", "deploy"])["instructions"],
        "OF-THE-USER"
    );
    // To trust it, one wants to see it.
    let held = ends(&bed, &["show", "other"], 0);
    assert!(
        held.stdout.contains("held (its project is not trusted"),
        "{held:#?}"
    );
    let held = json(&bed, &["show", "deploy@project"]);
    assert_eq!(held["instructions"], "OF-THE-PROJECT");
    bed.trust();
    assert_eq!(
        entries(&json(&bed, &["list"])),
        ["deploy active project", "other active project"]
    );
}

#[test]
fn an_invalid_skill_is_told_of_and_holds_up_no_other() {
    let bed = Bed::new();
    let path = skill(&bed, USER, "broken", "I.");
    fs::write(&path, "---\nname: broken\n---\nI.\n").unwrap();
    skill(&bed, USER, "fine", "I.");
    let list = ends(&bed, &["list"], 0).notes("not listed: 1 invalid");
    assert_eq!(list.stdout, "fine  user  Does fine.\n");
    let all = ends(&bed, &["list", "--all"], 0).notes("broken/SKILL.md:2:1: E-DESC-MISSING");
    assert!(all.stdout.contains("(E-DESC-MISSING: "), "{all:#?}");
    let shown = ends(&bed, &["show", "broken"], 0);
    assert!(
        shown.stdout.contains("status         invalid"),
        "{shown:#?}"
    );
    assert_eq!(json(&bed, &["show", "broken"])["instructions"], Value::Null);
}

#[test]
fn a_skill_is_shown_with_all_that_it_says() {
    let bed = Bed::new();
    let path = skill(&bed, USER, "deploy", "");
    let text = "---\nname: deploy\ndescription: Deploys.\nlicense: MIT\ncompatibility: Needs git.\n\
                allowed-tools: Bash(git add:*) Read\nmetadata:\n  version: '1.10'\n  team: blue\n\
                argument-hint: <where>\nhomepage: https://example.org\n---\n\n    code\n\nThe end.\n\n";
    fs::write(&path, text).unwrap();
    let folder = path.parent().unwrap();
    fs::create_dir(folder.join("scripts")).unwrap();
    fs::write(folder.join("scripts/go.sh"), "").unwrap();
    let shown = ends(&bed, &["show", "deploy"], 0);
    let header = [
        ("name", "deploy"),
        ("description", "Deploys."),
        ("command", "deploy"),
        ("layer", "user"),
        ("path", path.to_str().unwrap()),
        ("status", "active"),
        ("version", "1.10"),
        ("license", "MIT"),
        ("compatibility", "Needs git."),
        ("allowed tools", "Bash(git add:*), Read"),
        ("arguments", "<where>"),
        ("  version", "1.10"),
        ("  team", "blue"),
        ("  homepage", "https://example.org"),
        ("file", "scripts/go.sh"),
    ];
    let header = header.map(|(name, value)| format!("{name:<14} {value}\n"));
    let expected = format!("{}\n    code\n\nThe end.\n", header.concat());
    assert_eq!(shown.stdout, expected);
    assert_eq!(shown.stderr, "");
    let object = json(&bed, &["show", "deploy"]);
    assert_eq!(object["metadata"]["version"], "1.10");
    assert_eq!(object["extra"]["homepage"], "https://example.org");
    assert_eq!(object["resources"][0], "scripts/go.sh");
    assert_eq!(object["instructions"], "    code\n\nThe end.");
}

#[test]
fn a_skill_is_shown_by_its_path() {
    let bed = trusted("");
    skill(&bed, PROJECT, "deploy", "I.");
    skill(&bed, "work/elsewhere", "other", "OTHER");
    for path in [
        ".harness/skills/deploy",
        "./.harness/skills/deploy/SKILL.md",
        ".harness/skills/../skills/deploy/",
    ] {
        let shown = json(&bed, &["show", path]);
        assert_eq!(shown["status"], "active", "{path}");
        assert_eq!(shown["layer"], "project", "{path}");
    }
    let folder = bed.work().join("elsewhere/other");
    for path in [".", "SKILL.md", "../other"] {
        let start = harness(&bed, &["skills", "show", path]);
        let shown = start.current_dir(&folder).end().exits(0);
        assert!(shown.stdout.contains("not in use"), "{shown:#?}");
        assert!(shown.stdout.ends_with("\nOTHER\n"), "{shown:#?}");
    }
    skill(&bed, "work/elsewhere", "second", "I.");
    ends(&bed, &["show", "./elsewhere"], 2).says(&["2 skills"]);
    ends(&bed, &["show", "./nowhere"], 2).says(&["there is no skill"]);
}

#[test]
fn a_name_that_leads_to_no_skill() {
    let bed = trusted("[skills]\npolicy = \"keep-all\"\n");
    skill(&bed, PROJECT, "deploy", "I.");
    let said = ends(&bed, &["show", "depoly"], 2);
    assert_eq!(said.stdout, "");
    said.says(&["there is no skill `depoly`", "did you mean `deploy`?"]);
    ends(&bed, &["show", "nothing-like-it"], 2).says(&["`harness skills list --all`"]);
    ends(&bed, &["show", "deploy@user"], 2).says(&["deploy@user"]);
    let object = ends(&bed, &["show", "depoly", "--json"], 2).error_object();
    assert_eq!(object["kind"], "usage");
    // With this policy, a name of several leads to none of them.
    skill(&bed, USER, "deploy", "OF-THE-USER");
    let said = ends(&bed, &["show", "deploy"], 2);
    said.says(&["several skills", "deploy@project", "deploy@user"]);
    assert_eq!(
        entries(&json(&bed, &["list"])),
        ["deploy active project", "deploy active user"]
    );
    let shown = json(&bed, &["show", "deploy@user"]);
    assert_eq!(shown["instructions"], "OF-THE-USER");
}

#[test]
fn configuration_and_flags_say_which_skills_are_used() {
    let listed = |config: &str, arguments: &[&str]| {
        let bed = trusted(config);
        skill(&bed, USER, "usual", "I.");
        skill(&bed, "work/configured", "configured", "I.");
        skill(&bed, "home/mine", "mine", "I.");
        skill(&bed, "work/flagged", "flagged", "I.");
        skill(&bed, "work/.claude/skills", "of-claude", "I.");
        skill(&bed, "home/.pi/agent/skills", "of-pi", "I.");
        let list = json(&bed, &[&["list"], arguments].concat());
        let names = list.as_array().unwrap().iter();
        let names = names.map(|it| it["name"].as_str().unwrap().to_owned());
        names.collect::<Vec<_>>().join(" ")
    };
    assert_eq!(listed("", &[]), "usual");
    let paths = "[skills]\npaths = [\"configured\", \"~/mine\", \"absent\"]\n";
    assert_eq!(listed(paths, &[]), "configured mine usual");
    let flagged = ["--skill", "flagged"];
    assert_eq!(listed(paths, &flagged), "configured flagged mine usual");
    assert_eq!(listed(paths, &["--no-skills"]), "");
    let only = ["--no-skills", "--skill", "flagged/flagged/SKILL.md"];
    assert_eq!(listed(paths, &only), "flagged");
    assert_eq!(listed("[skills]\nenabled = false\n", &[]), "");
    assert_eq!(listed("[skills]\nenabled = false\n", &flagged), "flagged");
    assert_eq!(listed("[skills]\nclaude = true\n", &[]), "of-claude usual");
    assert_eq!(listed("[skills]\npi = true\n", &[]), "of-pi usual");

    let bed = trusted("[skills]\nenabled = false\n");
    ends(&bed, &["list"], 0).notes("skills are off");
    ends(&bed, &["list", "--skill", "absent"], 2).says(&["--skill absent"]);
    let none = Bed::new();
    ends(&none, &["list"], 0).notes("there are no skills; `harness skills new NAME` makes one");
}

#[test]
fn what_is_wrong_in_the_configuration_of_skills() {
    let says = |config: &str, words: &[&str]| {
        let bed = trusted(config);
        ends(&bed, &["list"], 2).says(words);
    };
    says(
        "[skills]\npats = []\n",
        &["config.toml:2:1", "did you mean `paths`?"],
    );
    says(
        "[skills]\npolicy = \"first-win\"\n",
        &["did you mean `first-wins`?"],
    );
    says(
        "[[skills.repositories]]\nurl = \"https://h/r\"\nrevison = \"a\"\n",
        &["did you mean `revision`?"],
    );
    says(
        "[[skills.repositories]]\nreference = \"v1\"\n",
        &["missing field `url`"],
    );
    says(
        "[[skills.repositories]]\nurl = \"ext::sh -c id\"\n",
        &["config.toml", "is refused"],
    );
    let name = "[[skills.repositories]]\nurl = \"https://h/r\"\nname = \"a/b\"\n";
    says(name, &["the name of a repository", "digits and hyphens"]);

    // A project says what its skills are, not where others come from.
    let bed = trusted("");
    let url = "[[skills.repositories]]\nurl = \"https://h/r\"\ntrusted = true\n";
    bed.write(".harness/config.toml", url);
    ends(&bed, &["list"], 2).says(&["a project cannot say", "skills.repositories"]);
    bed.write(".harness/config.toml", "[skills]\nclaude = true\n");
    skill(&bed, "work/.claude/skills", "of-claude", "I.");
    assert_eq!(
        entries(&json(&bed, &["list"])),
        ["of-claude active project"]
    );
}
