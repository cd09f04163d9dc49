//! What a project's and a user's files add to the prompt: instructions, templates, slash commands.

use std::fs;
use std::os::unix::fs::PermissionsExt;

use serde_json::Value;

use crate::program::Bed;
use crate::server::{Answer, Server};
use crate::wire::Wire;

/// A project that its user trusts.
fn trusted() -> Bed {
    let bed = Bed::new();
    bed.trust();
    fs::create_dir(bed.work().join(".git")).unwrap();
    bed
}

/// Writes a file of the user's configuration folder.
fn user(bed: &Bed, path: &str, text: &str) {
    let path = bed.home().join(".config/harness").join(path);
    fs::create_dir_all(path.parent().unwrap()).unwrap();
    fs::write(path, text).unwrap();
}

/// The body of the request that a prompt makes, and what was told beside it.
#[track_caller]
fn asked(bed: &Bed, arguments: &[&str]) -> (Value, String) {
    let server = Server::start([Answer::says("Done.")]);
    let url = server.url();
    let run = ["-m", "x/y", "--base-url", &url];
    let ended = bed.run(&[&run, arguments].concat()).end().exits(0);
    (server.request().body, ended.stderr)
}

/// The system prompt of a run.
#[track_caller]
fn system(bed: &Bed, arguments: &[&str]) -> String {
    let (body, told) = asked(bed, &[&["hi"], arguments].concat());
    assert_eq!(told, "");
    Wire::Chat.system(&body)
}

fn last_message(body: &Value) -> String {
    let messages = body["messages"].as_array().unwrap();
    let content = &messages.last().unwrap()["content"];
    content
        .as_str()
        .map_or_else(|| content.to_string(), str::to_owned)
}

#[test]
fn instructions_come_from_the_user_and_from_the_project() {
    let bed = trusted();
    user(&bed, "AGENTS.md", "USER-RULES");
    bed.write("AGENTS.md", "ROOT-RULES");
    bed.write("sub/AGENTS.md", "SUB-RULES");
    bed.write("sub/extra.md", "EXTRA");
    let text = system(&bed, &["-C", "sub"]);
    let place = |part: &str| text.find(part).unwrap_or_else(|| panic!("{part}: {text}"));
    assert!(place("USER-RULES") < place("ROOT-RULES") && place("ROOT-RULES") < place("SUB-RULES"));
    assert!(!text.contains("EXTRA"));
    let text = system(&bed, &["--no-context"]);
    assert!(
        !text.contains("-RULES") && text.contains("Working folder: "),
        "{text}"
    );

    user(
        &bed,
        "config.toml",
        "[context]\nfiles = [\"sub/extra.md\"]\ntokens = 2000\n",
    );
    let text = system(&bed, &[]);
    assert!(
        text.contains("EXTRA") && text.contains("ROOT-RULES"),
        "{text}"
    );
    user(&bed, "config.toml", "[context]\nenabled = false\n");
    assert!(!system(&bed, &[]).contains("-RULES"));
}

/// An untrusted project's instructions are shown with where they come from; its templates and
/// commands are not used.
#[test]
fn a_project_that_nobody_trusts_has_no_templates_and_no_commands() {
    let bed = Bed::new();
    fs::create_dir(bed.work().join(".git")).unwrap();
    bed.write(
        ".harness/prompts/system-prompt/role.hbs",
        "TEMPLATE-OF-THE-PROJECT",
    );
    bed.write(".harness/prompts/review.md", "COMMAND-OF-THE-PROJECT $1");
    let (body, told) = asked(&bed, &["hi"]);
    assert!(told.contains("harness trust allow"), "{told}");
    let text = Wire::Chat.system(&body);
    assert!(!text.contains("TEMPLATE-OF-THE-PROJECT"), "{text}");
    let (body, _) = asked(&bed, &["/review it"]);
    assert_eq!(last_message(&body), "/review it");
    let listed = bed.harness(&["prompt", "list"]).end().exits(0);
    assert!(!listed.stdout.contains("/review"), "{listed:#?}");
    assert!(listed.stderr.contains("harness trust allow"), "{listed:#?}");
}

#[test]
fn a_project_overrides_the_user_and_the_user_the_built_in_ones() {
    let bed = trusted();
    user(
        &bed,
        "prompts/system-prompt/role.hbs",
        "You are the user's own.",
    );
    assert!(system(&bed, &[]).starts_with("You are the user's own."));
    bed.write(
        ".harness/prompts/system-prompt/role.hbs",
        "You are the project's.",
    );
    let text = system(&bed, &[]);
    assert!(text.starts_with("You are the project's."), "{text}");
    let listed = bed
        .harness(&["prompt", "list", "--output", "json"])
        .end()
        .exits(0);
    let roles: Vec<(String, Option<String>)> = listed
        .events()
        .iter()
        .filter(|listed| listed["name"] == "system-prompt/role")
        .map(|listed| {
            let text = |key: &str| listed[key].as_str().map(str::to_owned);
            (text("layer").unwrap(), text("shadowed_by"))
        })
        .collect();
    let shadowed = Some("project".to_owned());
    assert_eq!(
        roles,
        [
            ("project".to_owned(), None),
            ("user".to_owned(), shadowed.clone()),
            ("built-in".to_owned(), shadowed),
        ]
    );

    let shown = bed.harness(&["prompt", "show"]).end().exits(0).stdout;
    assert!(shown.contains("--- role (by project template:"), "{shown}");
    let template = bed
        .harness(&["prompt", "template", "system-prompt/role"])
        .end()
        .exits(0);
    assert!(
        template.stdout.contains("{{! tools (list): ")
            && template.stdout.contains("the project's.")
    );
    bed.harness(&["prompt", "template", "system-prompt/rol"])
        .end()
        .exits(2);

    // One that wants what nobody gives is left out; one that fails when it is rendered gives way.
    for broken in [
        "---\nparameters:\n- name: team\n  type: text\n---\nYou are {{team}}.",
        "{{#each search}}x{{/each}}You are broken.",
    ] {
        bed.write(".harness/prompts/system-prompt/role.hbs", broken);
        let (body, told) = asked(&bed, &["hi"]);
        assert!(
            !Wire::Chat.system(&body).contains("You are broken"),
            "{broken}"
        );
        assert!(told.contains("system-prompt/role"), "{broken}: {told}");
    }

    // A broken one is told of, and the next one counts.
    bed.write(
        ".harness/prompts/system-prompt/role.hbs",
        "You are {{nobody}}.",
    );
    let (body, told) = asked(&bed, &["hi"]);
    assert!(
        Wire::Chat
            .system(&body)
            .starts_with("You are the user's own.")
    );
    assert!(
        told.contains("role.hbs") && told.contains("nobody"),
        "{told}"
    );
}

#[test]
fn prompt_10_a_template_reaches_no_file_and_ends() {
    let bed = trusted();
    bed.write("secret.txt", "CANARY");
    let loops = "{{#each tools}}".repeat(12) + "x" + &"{{/each}}".repeat(12);
    for body in [
        "{{> /etc/passwd}}",
        "{{> ../../secret.txt}}",
        "{{include \"secret.txt\"}}",
        "{{#*inline \"a\"}}{{> secret.txt}}{{/inline}}",
        "{{lookup this \"../secret.txt\"}}",
        &loops,
    ] {
        bed.write(".harness/prompts/system-prompt/role.hbs", body);
        let ended = bed.harness(&["prompt", "show"]).end();
        let all = ended.stdout.clone() + &ended.stderr;
        assert!(
            !all.contains("CANARY") && !all.contains("root:"),
            "{body}: {all}"
        );
        // Not only the heading of the section: what was wrong with the template is said.
        assert!(
            ended.stderr.contains("system-prompt/role"),
            "{body}: {ended:#?}"
        );
    }
}

#[test]
fn slash_commands_take_arguments_once() {
    let bed = trusted();
    bed.write(
        ".harness/prompts/review.md",
        "---\ndescription: Reviews\nargument-hint: <file> [focus]\n---\nReview $1 for ${2:-bugs}: $ARGUMENTS\n",
    );
    bed.write(".harness/prompts/plain.md", "Do the usual.");
    for (typed, expected) in [
        ("/review a.rs", "Review a.rs for bugs: a.rs"),
        ("/review 'a b' $1", "Review a b for $1: 'a b' $1"),
        ("/plain", "Do the usual."),
        ("/plain and more", "Do the usual.\n\nand more"),
        ("/unknown a", "/unknown a"),
        ("/etc/passwd is a file", "/etc/passwd is a file"),
        ("not /review a", "not /review a"),
    ] {
        let (body, told) = asked(&bed, &[typed]);
        assert_eq!(
            told.contains("there is no command"),
            typed == "/unknown a",
            "{told}"
        );
        assert_eq!(last_message(&body), expected, "{typed}");
    }
    let rendered = bed
        .harness(&["prompt", "render", "/review", "a.rs", "speed"])
        .end()
        .exits(0);
    assert_eq!(rendered.stdout, "Review a.rs for speed: a.rs speed\n");
    bed.harness(&["prompt", "render", "/nope"]).end().exits(2);
    // What the shell held together stays together.
    let words = ["prompt", "render", "/review", "my file's.rs", "speed"];
    let rendered = bed.harness(&words).end().exits(0);
    assert!(
        rendered
            .stdout
            .starts_with("Review my file's.rs for speed: "),
        "{rendered:#?}"
    );
    // What is piped stands beside the command, and is none of its arguments.
    let server = Server::start([Answer::says("Done.")]);
    let url = server.url();
    let run = ["-m", "x/y", "--base-url", &url, "/review a.rs"];
    bed.run(&run).stdin("PIPED").end().exits(0);
    let said = server.request().body["messages"].to_string();
    assert!(
        said.contains("Review a.rs for bugs: a.rs") && said.contains("PIPED"),
        "{said}"
    );
    let listed = bed.harness(&["prompt", "list"]).end().exits(0);
    assert!(
        listed.stdout.contains("/review") && listed.stdout.contains("Reviews"),
        "{listed:#?}"
    );
}

#[test]
fn prompt_11_what_is_cut_is_told_to_the_user_and_to_the_model() {
    let bed = trusted();
    bed.write("AGENTS.md", "字".repeat(20_000));
    bed.write("sub/AGENTS.md", "near ".repeat(200) + "CANARY-NEAR");
    let (body, told) = asked(&bed, &["-C", "sub", "hi"]);
    let text = Wire::Chat.system(&body);
    assert!(text.contains("CANARY-NEAR") && text.contains("[cut: "));
    assert!(!text.contains('\u{FFFD}'));
    assert!(
        told.contains("AGENTS.md is shown to the model in part"),
        "{told}"
    );
    let shown = bed
        .harness(&["prompt", "show", "-C", "sub", "--json"])
        .end()
        .exits(0);
    assert!(shown.stderr.contains("in part"), "{}", shown.stderr);
    let object: Value = serde_json::from_str(&shown.stdout).unwrap();
    assert_eq!(object["text"], text);
    assert_eq!(object["warnings"].as_array().unwrap().len(), 1);
    for section in object["sections"].as_array().unwrap() {
        for key in ["name", "stable", "source", "bytes", "tokens", "text"] {
            assert!(!section[key].is_null(), "{key} of {section}");
        }
    }
}

#[test]
fn prompt_12_diff_shows_what_changed_since_the_last_run_here() {
    let bed = trusted();
    bed.write("AGENTS.md", "Rule one.\nRule two.\n");
    let none = bed.harness(&["prompt", "show", "--diff"]).end().exits(1);
    assert!(
        none.stderr.contains("no run in this folder is on record"),
        "{none:#?}"
    );
    assert!(system(&bed, &[]).contains("Rule two."));
    let same = bed.harness(&["prompt", "show", "--diff"]).end().exits(0);
    assert_eq!(same.stdout, "--- nothing changed since the last run here\n");

    bed.write("AGENTS.md", "Rule one.\nRule 2.\n");
    bed.write("MEMORY.md", "- learned\n");
    let diff = bed
        .harness(&["prompt", "show", "--diff"])
        .end()
        .exits(0)
        .stdout;
    for part in [
        "--- instructions: changed",
        "-Rule two.",
        "+Rule 2.",
        "--- memory: added",
        "+- learned",
    ] {
        assert!(diff.contains(part), "{part} is not in {diff}");
    }
    let shown = bed
        .harness(&["prompt", "show", "--diff", "--json"])
        .end()
        .exits(0);
    let object: Value = serde_json::from_str(&shown.stdout).unwrap();
    assert_eq!(object["diff"]["sections"][0]["change"], "changed");

    // The record is the user's alone.
    let folder = bed.home().join(".local/state/harness/prompts");
    for entry in fs::read_dir(&folder).unwrap() {
        let mode = entry.unwrap().metadata().unwrap().permissions().mode();
        assert_eq!(mode & 0o777, 0o600);
    }
    let mode = fs::metadata(&folder).unwrap().permissions().mode();
    assert_eq!(mode & 0o777, 0o700);
}

/// What a model with a small window gets is what is shown, and what had to give way is told.
#[test]
fn a_small_window_is_told_of() {
    let bed = trusted();
    bed.write("AGENTS.md", "A rule of the project.\n".repeat(2_000));
    bed.write("own.txt", "OWN-WORDS ".repeat(600));
    let script = r#"{ "model": { "context_window": 4000 }, "turns": [{ "text": "Done." }] }"#;
    bed.write("script.json", script);
    let own = ["--system-prompt", "@own.txt"];
    let model = ["-m", "scripted:script.json"];
    let ended = bed
        .run(&[&model[..], &own, &["hi"]].concat())
        .end()
        .exits(0);
    assert!(
        ended.stderr.contains("is shown to the model in part"),
        "{ended:#?}"
    );
    assert!(
        ended.stderr.contains("the system prompt is too large"),
        "{ended:#?}"
    );
    let show = [&["prompt", "show", "--json"], &model[..], &own].concat();
    let shown = bed.harness(&show).end().exits(0);
    let object: Value = serde_json::from_str(&shown.stdout).unwrap();
    assert!(!object["cuts"].as_array().unwrap().is_empty(), "{object}");
    // The user's own words stay.
    assert_eq!(
        object["text"]
            .as_str()
            .unwrap()
            .matches("OWN-WORDS")
            .count(),
        600
    );
    let same = bed
        .harness(&[&["prompt", "show", "--diff"], &model[..], &own].concat())
        .end();
    assert_eq!(
        same.exits(0).stdout,
        "--- nothing changed since the last run here\n"
    );
}
