//! `harness doctor`: where each value came from, and what is wrong.

use crate::program::Bed;

/// The value of a line of the report.
fn line<'r>(report: &'r str, name: &str) -> &'r str {
    let mut lines = report.lines().map(str::trim_start);
    let found = lines.find_map(|line| line.strip_prefix(name)?.strip_prefix(' '));
    found.map_or_else(|| panic!("no {name} in {report}"), str::trim_start)
}

#[test]
fn each_value_is_shown_with_its_origin() {
    let bed = Bed::new();
    let work = bed.work().display().to_string();
    bed.trust();
    let user = bed.config(
        "thinking = \"low\"\ntimeout = \"90s\"\nmax_turns = 7\n\
         [providers.local]\nbase_url = \"http://127.0.0.1:9\"\n\
         [providers.local.models.m]\ncontext_window = 32000\nprices = { input = 0.5 }\n",
    );
    let project = bed.write(
        ".harness/config.toml",
        "max_turns = 8\ntools = [\"read\"]\n",
    );
    let doctor = bed.harness(&["doctor", "-m", "local/m"]);
    let ended = doctor.env("HARNESS_THINKING", "high").end().exits(0);
    assert_eq!(ended.stderr, "");
    let report = &ended.stdout;
    let (user, project) = (user.display(), project.display());
    for (name, value) in [
        ("version", env!("CARGO_PKG_VERSION").to_owned()),
        ("folder", work),
        ("model", "local/m  (from --model)".to_owned()),
        ("api", "not set".to_owned()),
        (
            "thinking",
            "high  (from the variable HARNESS_THINKING)".to_owned(),
        ),
        ("max_turns", format!("8  (from {project})")),
        ("timeout", format!("1m 30s  (from {user})")),
        ("tools", format!("read  (from {project})")),
        (
            "provider",
            format!("local at http://127.0.0.1:9  (from {user})"),
        ),
        ("protocol", "openai-chat".to_owned()),
        (
            "address",
            "http://127.0.0.1:9/v1/chat/completions".to_owned(),
        ),
        ("key", "none is sent".to_owned()),
        ("window", "32000 tokens".to_owned()),
        ("output cap", "not known".to_owned()),
        ("because", "--model says so".to_owned()),
        ("on offer", "read".to_owned()),
        ("none", String::new()),
    ] {
        if name == "none" {
            assert!(report.ends_with("problems\n  none\n"), "{report}");
        } else {
            assert_eq!(line(report, name), value, "{name} in {report}");
        }
    }
    assert!(line(report, "prices").starts_with("$0.5 in"), "{report}");
    assert!(report.contains(&format!("{user}: read")), "{report}");
    assert!(report.contains(&format!("{project}: read")), "{report}");
}

/// What would stop a run is a problem, and the exit status says so; the rest is still reported.
#[test]
fn problems_are_listed_and_told_by_the_exit_status() {
    let check = |config: &str, arguments: &[&str], problem: &str| {
        let bed = Bed::new();
        bed.config(config);
        let ended = bed
            .harness(&[&["doctor"], arguments].concat())
            .end()
            .exits(2);
        let (_, problems) = ended.stdout.split_once("\nproblems\n").unwrap();
        assert!(
            problems.contains(problem),
            "{problem:?} is not in {problems:?}"
        );
        assert!(
            problems.starts_with("  - ") && !problems.contains("error:"),
            "{problems:?}"
        );
        assert_eq!(ended.stderr, "");
    };
    check("", &["-m", "openai/m"], "OPENAI_API_KEY is not set");
    check("", &["-m", "opnai/m"], "did you mean `openai`?");
    check("", &["-m", "scripted:absent.json"], "absent.json");
    check("modle = 1\n", &[], "config.toml:1:1: unknown field `modle`");
    check(
        "",
        &["-m", "demo", "--tools", "nope"],
        "there is no tool `nope`",
    );
    check("", &["-C", "absent"], "absent");
    let model = "model = \"local/m\"\nca_file = \"absent.pem\"\n[providers.local]\nbase_url = \"http://h\"\n";
    check(model, &[], "cannot read the certificates in absent.pem");
}

#[test]
fn a_project_that_is_not_trusted_is_named() {
    let bed = Bed::new();
    let project = bed.write(".harness/config.toml", "model = \"x/y\"\n");
    let ended = bed
        .harness(&["doctor", "-m", "scripted:absent"])
        .end()
        .exits(2);
    let line = format!(
        "{}: not read: its project is not trusted",
        project.display()
    );
    assert!(ended.stdout.contains(&line), "{ended:#?}");
}
