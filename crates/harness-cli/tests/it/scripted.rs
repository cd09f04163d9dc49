//! `scripted:FILE`: a model that plays a script.

use serde_json::json;

use crate::program::{Bed, Ended};

#[track_caller]
fn play(bed: &Bed, script: &str, more: &[&str]) -> Ended {
    bed.write("script.json", script);
    bed.run(&[&["-m", "scripted:script.json", "Fix it."], more].concat())
        .end()
}

/// A call, and an answer that shows its result.
fn script(expected: &str) -> String {
    let call = json!({ "tool": "read", "arguments": { "path": "notes.txt" } });
    let expect = json!({ "last_results": [{ "tool": "read", "contains": expected }] });
    json!({
        "turns": [
            { "calls": [call], "expect": { "last_user_contains": "Fix it." } },
            { "text": "It says: ${result:call_0_0}", "expect": expect },
        ],
    })
    .to_string()
}

#[test]
fn a_script_is_played_with_the_real_tools() {
    let bed = Bed::new();
    bed.write("notes.txt", "alt");
    play(&bed, &script("alt"), &[])
        .exits(0)
        .answers("It says: alt");
    let end = play(&bed, &script("alt"), &["--output", "json"])
        .exits(0)
        .run_end();
    assert_eq!(end["answer"], "It says: alt");
}

/// What is not as the script demands ends the run, and says what differed.
#[test]
fn a_demand_that_is_not_met_fails_the_run() {
    let bed = Bed::new();
    bed.write("notes.txt", "alt");
    let ended = play(&bed, &script("neu"), &[]).exits(1);
    assert_eq!(ended.stdout, "");
    ended.says(&["scripted turn 1", "\"neu\"", "\"alt\""]);
    let end = play(&bed, &script("neu"), &["--output", "json"])
        .exits(1)
        .run_end();
    assert_eq!(end["outcome"], "failed");
}

#[test]
fn a_script_that_cannot_be_used() {
    let bed = Bed::new();
    for (script, words) in [
        ("no json", "script.json cannot be used"),
        ("{}", "turns"),
        (r#"{"turns": [{"txt": "a"}]}"#, "unknown field `txt`"),
    ] {
        let ended = play(&bed, script, &[]).exits(2).says(&[words]);
        assert_eq!(ended.stdout, "");
        play(&bed, script, &["--output", "json"])
            .exits(2)
            .error_object();
    }
    let ended = play(&bed, r#"{"turns": []}"#, &[]);
    ended.says(&["script"]);
}

/// A path is relative to where the command was given, whatever the run works on.
#[test]
fn a_script_is_found_from_where_the_command_was_given() {
    let bed = Bed::new();
    std::fs::create_dir(bed.work().join("deep")).unwrap();
    let script = r#"{"turns": [{"text": "Hi."}]}"#;
    play(&bed, script, &["-C", "deep"]).exits(0).answers("Hi.");
    std::fs::copy(
        bed.work().join("script.json"),
        bed.home().join("script.json"),
    )
    .unwrap();
    bed.run(&["-m", "scripted:~/script.json", "hi"])
        .end()
        .exits(0)
        .answers("Hi.");
}
