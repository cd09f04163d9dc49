//! Skills in runs: what the model is told of them, and how it and the user load them.

use std::fs;

use serde_json::json;

use crate::program::{Bed, Ended};
use crate::skills::{PROJECT, USER, harness, skill, trusted};

#[track_caller]
fn play(bed: &Bed, script: &serde_json::Value, arguments: &[&str]) -> Ended {
    bed.write("script.json", script.to_string());
    let model = ["run", "-m", "scripted:script.json"];
    harness(bed, &[&model, arguments].concat()).end()
}

fn says(expect: &serde_json::Value) -> serde_json::Value {
    json!({ "turns": [{ "text": "Done.", "expect": expect }] })
}

/// SKILL-13, through the whole program.
#[test]
fn skill_13_the_listed_one_is_the_one_that_the_model_and_the_user_load() {
    let bed = trusted("");
    skill(&bed, PROJECT, "review", "OF-THE-PROJECT");
    skill(&bed, USER, "review", "OF-THE-USER");
    let listed = bed.root().join(PROJECT).join("review/SKILL.md");
    let script = json!({ "turns": [
        {
            "calls": [
                { "tool": "load_skill", "arguments": { "name": "review" } },
                { "tool": "load_skill", "arguments": { "name": "review@user" } },
            ],
            "expect": { "system_contains": ["<name>review</name>", listed] },
        },
        {
            "text": "Done.",
            "expect": { "last_results": [{ "contains": "OF-THE-PROJECT" }, { "contains": "OF-THE-USER" }] },
        },
    ]});
    play(&bed, &script, &["Go."]).exits(0).answers("Done.");
    for (prompt, body) in [
        ("/skill:review the diff", "OF-THE-PROJECT"),
        ("/skill:review@user the diff", "OF-THE-USER"),
    ] {
        let expect = json!({ "last_user_contains": ["<skill_content", body, "the diff"] });
        let ended = play(&bed, &says(&expect), &[prompt]).exits(0);
        assert!(!ended.stderr.contains("note:"), "{}", ended.stderr);
        let shown = harness(&bed, &["prompt", "render", prompt]).end().exits(0);
        assert!(shown.stdout.contains(body), "{}", shown.stdout);
    }
}

#[test]
fn what_is_held_back_is_not_for_runs() {
    let bed = Bed::new();
    skill(&bed, PROJECT, "review", "OF-THE-PROJECT");
    let expect = json!({ "last_user_contains": "/skill:review it" });
    let ended = play(&bed, &says(&expect), &["/skill:review it"]).exits(0);
    ended.notes("held back: its project is not trusted; `harness trust allow");
    let shown = harness(&bed, &["prompt", "show"]).end().exits(0);
    assert!(!shown.stdout.contains("review"), "{}", shown.stdout);
}

#[test]
fn skills_that_are_off_or_broken_are_told_of() {
    let bed = Bed::new();
    skill(&bed, USER, "review", "OF-THE-USER");
    let expect = json!({ "last_user_contains": "/skill:review it" });
    let arguments = ["--no-skills", "/skill:review it"];
    play(&bed, &says(&expect), &arguments)
        .exits(0)
        .notes("skills are off");

    let broken = bed.root().join(USER).join("broken");
    fs::create_dir_all(&broken).unwrap();
    fs::write(broken.join("SKILL.md"), "no frontmatter").unwrap();
    play(&bed, &says(&json!({})), &["Go."])
        .exits(0)
        .notes("the skill broken cannot be loaded; `harness doctor` says why");
}

/// Who names the tools, names all of them.
#[test]
fn load_skill_is_on_offer_unless_other_tools_are_named() {
    let bed = Bed::new();
    skill(&bed, USER, "review", "OF-THE-USER");
    for (arguments, tools, words) in [
        (
            &["--tools", "read", "Go."][..],
            json!(["read"]),
            "read the skill's file",
        ),
        (
            &["--tools", "read,load_skill", "Go."],
            json!(["read", "load_skill"]),
            "with `load_skill`",
        ),
    ] {
        let expect = json!({ "tools": tools, "system_contains": words });
        play(&bed, &says(&expect), arguments).exits(0);
    }
    // The name is known where there is no skill to load.
    let empty = Bed::new();
    let expect = json!({ "tools": ["read"] });
    let arguments = ["--tools", "read,load_skill", "Go."];
    play(&empty, &says(&expect), &arguments).exits(0);
}
