//! Files of skills: what `validate` finds in them, and what `new` writes.

use std::fs;

use serde_json::Value;

use crate::program::Bed;
use crate::skills::{PROJECT, USER, ends, harness, json, skill, trusted};

/// A folder of skills with a good one, one that is only loaded, and one that is neither.
fn three() -> Bed {
    let bed = Bed::new();
    skill(&bed, "work/skills", "good", "I.");
    let loads = "---\nname: loads\ndescription: Reviews: a change\nmodel: big\n---\nI.\n";
    bed.write("skills/loads/SKILL.md", loads);
    bed.write("skills/sub/neither/SKILL.md", "no frontmatter\n");
    bed
}

#[test]
fn validate_prints_a_table_with_the_place_of_each_error() {
    let bed = three();
    let table = ends(&bed, &["validate", "skills"], 1);
    let expected = [
        "skills/good/SKILL.md",
        "skills/loads/SKILL.md:3:",
        "skills/loads/SKILL.md:4:1",
        "skills/sub/neither/SKILL.md:1:1",
        "3 skills: 1 valid, 2 not; 2 can be loaded",
    ];
    let mut lines = table.stdout.lines();
    for start in expected {
        assert!(
            lines.any(|line| line.starts_with(start)),
            "{start}: {table:#?}"
        );
    }
    for part in [
        " valid\n",
        " E-YAML ",
        " W-REPAIRED ",
        " E-UNKNOWN-FIELD ",
        " E-NO-FRONTMATTER ",
        "\n    hint: put the value of `description` in quotes\n",
    ] {
        assert!(table.stdout.contains(part), "{part}: {table:#?}");
    }
    assert_eq!(table.stderr, "");
}

#[test]
fn validate_as_json_has_both_answers() {
    let bed = three();
    let ended = ends(&bed, &["validate", "skills", "--json"], 1);
    let checks: Value = serde_json::from_str(&ended.stdout).unwrap();
    let checks = checks.as_array().unwrap();
    let answers = checks.iter().map(|check| {
        let name = check["name"].as_str().unwrap();
        (name, check["valid"] == true, check["loads"] == true)
    });
    assert_eq!(
        answers.collect::<Vec<_>>(),
        [
            ("good", true, true),
            ("loads", false, true),
            ("neither", false, false)
        ]
    );
    let keys: Vec<&String> = checks[1].as_object().unwrap().keys().collect();
    assert_eq!(
        keys,
        [
            "description",
            "diagnostics",
            "loads",
            "name",
            "path",
            "valid"
        ]
    );
    assert_eq!(checks[1]["description"], "Reviews: a change");
    let path = bed.work().join("skills/loads/SKILL.md");
    assert_eq!(checks[1]["path"], path.to_str().unwrap());
    let found = checks[1]["diagnostics"].as_array().unwrap();
    let field = found
        .iter()
        .find(|it| it["code"] == "E-UNKNOWN-FIELD")
        .unwrap();
    assert_eq!(field["severity"], "error");
    assert_eq!((&field["line"], &field["column"]), (&4.into(), &1.into()));
    assert_eq!(field["key"], "model");
    let keys: Vec<&String> = field.as_object().unwrap().keys().collect();
    assert_eq!(
        keys,
        [
            "code", "column", "hint", "key", "line", "message", "severity"
        ]
    );
    let same = ends(&bed, &["validate", "skills", "--output", "json"], 1);
    assert_eq!(same.stdout, ended.stdout);
}

#[test]
fn validate_takes_a_file_its_folder_or_a_folder_of_skills() {
    let bed = three();
    for path in [
        "skills/good/SKILL.md",
        "skills/good",
        "skills/good/",
        "./skills/../skills/good",
    ] {
        let ended = ends(&bed, &["validate", path], 0);
        assert!(
            ended
                .stdout
                .ends_with("1 skill: 1 valid, 0 not; 1 can be loaded\n"),
            "{ended:#?}"
        );
    }
    // The name of the folder is known from within it, too.
    for path in [".", "SKILL.md", "../good", "scripts/.."] {
        fs::create_dir_all(bed.work().join("skills/good/scripts")).unwrap();
        let start = harness(&bed, &["skills", "validate", path]);
        start
            .current_dir(bed.work().join("skills/good"))
            .end()
            .exits(0);
    }
    // Twice is once; one that is bad is enough.
    let ended = ends(&bed, &["validate", "skills/good", "skills"], 1);
    assert!(ended.stdout.contains("3 skills: "), "{ended:#?}");
    bed.write("readme.md", "I.");
    fs::create_dir(bed.work().join("empty")).unwrap();
    for path in ["absent", "readme.md", "empty"] {
        let ended = ends(&bed, &["validate", "skills/good", path], 2);
        assert_eq!(ended.stdout, "");
        ended.says(&[path, "name a SKILL.md"]);
    }
    ends(&bed, &["validate"], 2).says(&["<PATH>"]);
    // What is no file is no reason to wait.
    fs::create_dir(bed.work().join("skills/pipe")).unwrap();
    let pipe = bed.work().join("skills/pipe/SKILL.md");
    let mode = rustix::fs::Mode::from_raw_mode(0o600);
    rustix::fs::mknodat(rustix::fs::CWD, &pipe, rustix::fs::FileType::Fifo, mode, 0).unwrap();
    let ended = ends(&bed, &["validate", "skills/pipe"], 1);
    assert!(ended.stdout.contains("E-NOT-REGULAR"), "{ended:#?}");
}

#[test]
fn errors_that_are_allowed_do_not_count() {
    let bed = Bed::new();
    let text = "---\nname: a\ndescription: D.\nmodel: big\n---\nI.\n";
    bed.write("a/SKILL.md", text);
    ends(&bed, &["validate", "a"], 1);
    for code in ["UNKNOWN-FIELD", "E-UNKNOWN-FIELD", "unknown-field"] {
        let ended = ends(&bed, &["validate", "a", "--allow", code], 0);
        assert!(ended.stdout.contains("(allowed)"), "{ended:#?}");
    }
    let ended = ends(
        &bed,
        &["validate", "a", "--allow", "UNKNOWN-FIELD", "--json"],
        0,
    );
    assert!(ended.stdout.contains("\"valid\":false"), "{ended:#?}");
    bed.write("a/SKILL.md", text.replace("name: a", "name: B"));
    ends(&bed, &["validate", "a", "--allow", "UNKNOWN-FIELD"], 1);
    let said = ends(&bed, &["validate", "a", "--allow", "UNKNOWN-FEILD"], 2);
    said.says(&["did you mean `UNKNOWN-FIELD`?"]);
    // Nothing of the configuration is needed.
    bed.config("modle = 1\n");
    ends(&bed, &["validate", "a", "--allow", "UNKNOWN-FIELD"], 1);
}

#[test]
fn validate_says_how_a_field_that_clients_read_can_stay() {
    let bed = Bed::new();
    let text =
        "---\nname: a\ndescription: D.\ndisable-model-invocation: true\nversion: 1\n---\nI.\n";
    bed.write("a/SKILL.md", text);
    let ended = ends(&bed, &["validate", "a"], 1);
    let hints: Vec<&str> = ended
        .stdout
        .lines()
        .filter_map(|line| line.strip_prefix("    hint: "))
        .collect();
    assert_eq!(
        hints,
        [
            "many clients read it; the standard does not have it; `--allow UNKNOWN-FIELD` accepts it",
            "the standard has a place for it: below `metadata`",
        ]
    );
}

#[test]
fn a_new_skill_is_valid_and_used() {
    let bed = trusted("");
    let made = ends(&bed, &["new", "deploy-it"], 0);
    let path = bed.root().join(PROJECT).join("deploy-it/SKILL.md");
    assert_eq!(made.stderr, "");
    let made = made.answers(path.to_str().unwrap());
    ends(&bed, &["validate", made.stdout.trim()], 0);
    assert_eq!(json(&bed, &["list"])[0]["path"], path.to_str().unwrap());

    let user = ends(&bed, &["new", "mine", "--user"], 0);
    let path = bed.root().join(USER).join("mine/SKILL.md");
    assert_eq!(user.answers(path.to_str().unwrap()).stderr, "");

    let other = ends(&bed, &["new", "null", "--path", "others"], 0).notes("--skill");
    assert!(
        other.stdout.ends_with("work/others/null/SKILL.md\n"),
        "{other:#?}"
    );
    ends(&bed, &["validate", "others"], 0);

    ends(&bed, &["new", "mine"], 0).notes("it takes its name from");
    ends(&bed, &["new", "deploy-it", "--user"], 0).notes("shadowed (by deploy-it@project");
    ends(&bed, &["new", "a", "--user", "--path", "x"], 2);
}

#[test]
fn a_new_skill_of_a_project_that_nobody_trusts_is_held_back() {
    let bed = Bed::new();
    ends(&bed, &["new", "deploy"], 0).notes("it is held back: its project is not trusted");
}

#[test]
fn a_new_skill_takes_the_place_of_nothing() {
    let bed = trusted("");
    ends(&bed, &["new", "deploy"], 0);
    let path = bed.root().join(PROJECT).join("deploy/SKILL.md");
    fs::write(&path, "MINE").unwrap();
    let said = ends(&bed, &["new", "deploy"], 1);
    assert_eq!(said.stdout, "");
    said.says(&["deploy/SKILL.md is there already"]);
    assert_eq!(fs::read_to_string(&path).unwrap(), "MINE");
    fs::rename(&path, path.with_file_name("skill.md")).unwrap();
    ends(&bed, &["new", "deploy"], 1).says(&["deploy/skill.md is there already"]);
    // What else is in the folder stays.
    fs::remove_file(path.with_file_name("skill.md")).unwrap();
    fs::write(path.with_file_name("notes.md"), "MINE").unwrap();
    ends(&bed, &["new", "deploy"], 0);
    let before = bed.files();
    for name in [
        "Deploy",
        "a/b",
        "../up",
        "",
        "a--b",
        "-a",
        ".",
        &"n".repeat(65),
    ] {
        let arguments = ["skills", "new", "--", name];
        let said = harness(&bed, &arguments).end().exits(2);
        said.says(&["cannot be the name of a skill", "1 to 64"]);
    }
    assert_eq!(bed.files(), before);
}

#[test]
fn a_new_skill_of_a_project_stays_in_it() {
    use std::os::unix::fs::symlink;

    let bed = trusted("");
    let outside = bed.root().join("outside");
    let skills = bed.root().join(PROJECT);
    fs::create_dir_all(&outside).unwrap();
    fs::create_dir_all(&skills).unwrap();
    // The skill's own folder.
    symlink(&outside, skills.join("deploy")).unwrap();
    ends(&bed, &["new", "deploy"], 1).says(&["leads out of the project", "remove the link"]);
    fs::remove_file(skills.join("deploy")).unwrap();
    // The folder of skills, and the one that it is in.
    let config = skills.parent().unwrap();
    fs::remove_dir(&skills).unwrap();
    symlink(&outside, &skills).unwrap();
    let real = outside.canonicalize().unwrap();
    let hint = format!("--path {}", real.display());
    ends(&bed, &["new", "deploy"], 1).says(&["leads out of the project", &hint]);
    fs::remove_file(&skills).unwrap();
    let kept = bed.root().join("kept");
    fs::rename(config, &kept).unwrap();
    symlink(&kept, config).unwrap();
    let hint = format!("--path {}/skills", kept.canonicalize().unwrap().display());
    ends(&bed, &["new", "deploy"], 1).says(&["leads out of the project", &hint]);
    for folder in [&outside, &kept] {
        assert!(!folder.join("deploy").exists() && !folder.join("skills").exists());
    }
    // A link within the project is nobody's business.
    fs::remove_file(config).unwrap();
    fs::create_dir(config).unwrap();
    symlink("..", &skills).unwrap();
    ends(&bed, &["new", "deploy"], 0);
    // Whoever names the place means it.
    ends(
        &bed,
        &["new", "deploy", "--path", outside.to_str().unwrap()],
        0,
    );
}
