//! Skills of repositories, and what `doctor` says of all.

use std::path::Path;
use std::process::{Command, Stdio};

use crate::program::Bed;
use crate::skills::{PROJECT, USER, ends, harness, json, skill, trusted};

/// Commits all that is in a folder of the bed, as a repository.
fn commit(folder: &Path) {
    let git = |arguments: &[&str]| {
        let output = Command::new("git")
            .arg("-C")
            .arg(folder)
            .args(["-c", "user.name=a", "-c", "user.email=a@example.org"])
            .args([
                "-c",
                "commit.gpgSign=false",
                "-c",
                "core.hooksPath=/dev/null",
            ])
            .args(arguments)
            .stdin(Stdio::null())
            .output()
            .unwrap();
        assert!(output.status.success(), "{arguments:?}: {output:?}");
    };
    git(&["init", "--quiet", "-b", "main", "."]);
    git(&["add", "."]);
    git(&["commit", "--quiet", "-m", "all"]);
}

fn repository(bed: &Bed, lines: &str) -> String {
    let remote = bed.root().join("remote");
    format!(
        "[[skills.repositories]]\nurl = \"file://{}\"\n{lines}",
        remote.display()
    )
}

#[test]
fn skills_of_a_repository_are_fetched_by_update_alone_and_held_until_they_are_trusted() {
    let bed = Bed::new();
    skill(&bed, "remote/skills", "review", "FIRST");
    commit(&bed.root().join("remote"));
    bed.config(&repository(&bed, ""));
    let before = ends(&bed, &["list"], 0).notes("`harness skills update` fetches it");
    assert_eq!(before.stdout, "");

    let update = ends(&bed, &["update"], 0);
    assert!(update.stdout.ends_with(": fetched\n"), "{update:#?}");
    assert_eq!(update.stdout.lines().count(), 1, "{update:#?}");
    let held = json(&bed, &["list", "--all"]);
    assert_eq!(held[0]["status"], "held");
    assert_eq!(held[0]["layer"], "repository");
    let text = |key: &str| held[0][key].as_str().unwrap();
    assert!(text("reason").contains("`trusted = true`"), "{held}");
    assert!(text("origin").contains("remote at HEAD ("), "{held}");
    assert!(
        text("path").contains("home/.cache/harness/skills/"),
        "{held}"
    );

    bed.config(&repository(&bed, "trusted = true\nname = \"team\"\n"));
    let list = json(&bed, &["list"]);
    assert_eq!(list[0]["name"], "team:review");
    assert_eq!(list[0]["command"], "team:review");
    assert_eq!(
        json(&bed, &["show", "team:review"])["instructions"],
        "FIRST"
    );

    let update = ends(&bed, &["update"], 0);
    assert!(update.stdout.ends_with(": up to date\n"), "{update:#?}");
    skill(&bed, "remote/skills", "review", "SECOND");
    commit(&bed.root().join("remote"));
    // Nothing is fetched but by that command.
    assert_eq!(
        json(&bed, &["show", "team:review"])["instructions"],
        "FIRST"
    );
    ends(&bed, &["update"], 0);
    assert_eq!(
        json(&bed, &["show", "team:review"])["instructions"],
        "SECOND"
    );
}

#[test]
fn a_repository_that_cannot_be_fetched_holds_up_no_other() {
    let bed = Bed::new();
    skill(&bed, "remote", "review", "I.");
    commit(&bed.root().join("remote"));
    let absent = format!(
        "[[skills.repositories]]\nurl = \"https://user:SECRET@127.0.0.1:9/absent.git\"\n{}",
        repository(&bed, "reference = \"main\"\n")
    );
    bed.config(&absent);
    let update = ends(&bed, &["update"], 1);
    assert!(!format!("{update:?}").contains("SECRET"), "{update:#?}");
    let lines: Vec<&str> = update.stdout.lines().collect();
    assert_eq!(lines.len(), 2, "{update:#?}");
    assert!(lines[0].contains(": failed: "), "{update:#?}");
    assert!(lines[1].ends_with(": fetched"), "{update:#?}");
    update.says(&["1 of 2 repositories could not be fetched"]);
    let report = harness(&bed, &["doctor", "-m", "scripted:absent"]).end();
    assert!(!report.stdout.contains("SECRET"), "{report:#?}");

    let none = Bed::new();
    ends(&none, &["update"], 0).notes("no repositories are listed");
}

#[test]
fn doctor_reports_roots_winners_and_what_is_held_back() {
    let bed = Bed::new();
    let broken = skill(&bed, USER, "broken", "");
    std::fs::write(&broken, "text\n").unwrap();
    let winner = skill(&bed, USER, "deploy", "I.");
    let loser = skill(&bed, "home/.agents/skills", "deploy", "Others.");
    skill(&bed, PROJECT, "of-project", "I.");
    skill(&bed, "managed", "of-owner", "I.");
    std::fs::write(bed.root().join("managed/.locked"), "").unwrap();
    let config = bed.config(&format!(
        "{}[skills]\npolicy = \"user-first\"\nclaude = true\n",
        repository(&bed, "name = \"team\"\n")
    ));
    let report = |bed: &Bed| {
        let doctor = harness(bed, &["doctor", "-m", "scripted:absent"]);
        doctor.end().exits(2).stdout
    };
    let text = report(&bed);
    let (_, skills) = text.split_once("\nskills\n").unwrap();
    let (skills, _) = skills.split_once("\n\n").unwrap();
    let at = |folder: &str| bed.root().join(folder).display().to_string();
    let expected = [
        format!(
            "  root           managed    {}: 1 found, locked",
            at("managed")
        ),
        format!("  root           user       {}: 2 found", at(USER)),
        format!(
            "  root           user       {}: 1 found",
            at("home/.agents/skills")
        ),
        format!(
            "  root           user       {}: not there",
            at("home/.claude/skills")
        ),
        format!(
            "  root           project    {}: 1 found, held back",
            at(PROJECT)
        ),
        format!(
            "  root           project    {}: not there",
            at("work/.agents/skills")
        ),
        format!(
            "  root           project    {}: not there",
            at("work/.claude/skills")
        ),
        format!(
            "  root           repository git file://{} at HEAD: not fetched yet, named team",
            at("remote")
        ),
        "  active         2".to_owned(),
        format!(
            "  shadowed       deploy: user {} before user {}",
            winner.display(),
            loser.display()
        ),
        format!(
            "  held back      of-project: its project is not trusted; `harness trust allow {}` trusts its \
             project, --trust does so for one command",
            at("work"),
        ),
    ];
    assert_eq!(
        skills.lines().take(expected.len()).collect::<Vec<_>>(),
        expected
    );
    let rest: Vec<&str> = skills.lines().skip(expected.len()).collect();
    let invalid = format!(
        "  invalid        {}:1:1: E-NO-FRONTMATTER: ",
        broken.display()
    );
    assert!(rest[0].starts_with(&invalid), "{skills}");
    assert!(
        rest[1].starts_with("  note           W-SOURCE: ")
            && rest[1].ends_with("; `harness skills update` fetches it"),
        "{skills}"
    );
    assert_eq!(rest.len(), 2, "{skills}");
    let policy = format!("  skills policy  user-first  (from {})\n", config.display());
    assert!(text.contains(&policy), "{text}");

    // Where there are none, it is short.
    let text = report(&trusted(""));
    let (_, skills) = text.split_once("\nskills\n").unwrap();
    let lines: Vec<&str> = skills.lines().take_while(|line| !line.is_empty()).collect();
    assert_eq!(lines.len(), 2, "{text}");
    assert!(lines[0].contains("`harness skills new NAME`"), "{text}");
}
