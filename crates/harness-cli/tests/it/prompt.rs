//! The system prompt: what `harness prompt show` shows is what a model gets.

use std::fs;

use serde_json::Value;

use crate::program::Bed;
use crate::server::{Answer, Server};
use crate::wire::Wire;

/// The prompt as shown, as JSON.
#[track_caller]
fn shown(bed: &Bed, arguments: &[&str]) -> Value {
    let show = ["prompt", "show", "--output", "json"];
    let ended = bed.harness(&[&show, arguments].concat()).end().exits(0);
    assert_eq!(ended.stderr, "");
    assert_eq!(ended.events().len(), 1);
    ended.events().remove(0)
}

/// The prompt as sent.
#[track_caller]
fn sent(bed: &Bed, arguments: &[&str]) -> String {
    let server = Server::start([Answer::says("Done.")]);
    let url = server.url();
    let run = ["-m", "x/y", "--base-url", &url, "hi"];
    bed.run(&[&run, arguments].concat()).end().exits(0);
    Wire::Chat.system(&server.request().body)
}

#[test]
fn prompt_14_what_is_shown_is_what_is_sent() {
    let bed = Bed::new();
    bed.write(
        "rules.md",
        "\u{feff}Rules from a file: {{not}} a template.\n",
    );
    for arguments in [
        &[][..],
        &["--tools", "read,ls"],
        &["--no-tools"],
        &["--system-prompt", "Own words."],
        &[
            "--system-prompt",
            "@rules.md",
            "--append-system-prompt",
            "One.",
            "--append-system-prompt",
            "Two.",
        ],
        &["--append-system-prompt", "@rules.md"],
    ] {
        let shown = shown(&bed, arguments);
        let text = shown["text"].as_str().unwrap();
        assert_eq!(text, sent(&bed, arguments), "{arguments:?}");
        assert_eq!(shown["bytes"], text.len());
        let own = text.replace("{{not}}", "");
        assert!(
            !own.contains("{{") && !own.contains("}}"),
            "{arguments:?}: {text}"
        );
        let sections = shown["sections"].as_array().unwrap();
        assert!(!sections.is_empty());
        for section in sections {
            let text = section["text"].as_str().unwrap();
            assert_eq!(section["bytes"], text.len(), "{section}");
            assert!(!section["name"].as_str().unwrap().is_empty(), "{section}");
            assert!(!section["source"].as_str().unwrap().is_empty(), "{section}");
        }
    }
}

#[test]
fn texts_and_files_replace_and_extend_the_prompt() {
    let bed = Bed::new();
    bed.write("rules.md", "\u{feff}From a file.\n");
    fs::create_dir(bed.work().join("deep")).unwrap();
    let has = |arguments: &[&str], there: &[&str], absent: &[&str]| {
        let text = sent(&bed, arguments);
        for words in there {
            assert!(
                text.contains(words),
                "{arguments:?}: {words:?} is not in {text}"
            );
        }
        for words in absent {
            assert!(
                !text.contains(words),
                "{arguments:?}: {words:?} is in {text}"
            );
        }
    };
    has(&[], &["coding agent", "Working folder"], &["From a file"]);
    has(&["--system-prompt", "Own."], &["Own."], &["coding agent"]);
    has(
        &["--system-prompt", "@rules.md"],
        &["From a file."],
        &["coding agent", "\u{feff}"],
    );
    has(
        &["--append-system-prompt", "Own."],
        &["coding agent", "Own."],
        &[],
    );
    has(
        &[
            "--append-system-prompt",
            "A-1",
            "--append-system-prompt",
            "@rules.md",
        ],
        &["coding agent", "A-1", "From a file."],
        &[],
    );
    // Like every path of the command line, relative to where the command was given.
    has(
        &["-C", "deep", "--append-system-prompt", "@rules.md"],
        &["From a file.", "work/deep"],
        &[],
    );
}

#[test]
fn an_empty_prompt_is_no_prompt() {
    let bed = Bed::new();
    let text = sent(&bed, &["--system-prompt", ""]);
    assert!(!text.contains("coding agent"), "{text}");
}

#[test]
fn as_text_it_shows_sections_authors_and_sizes() {
    let bed = Bed::new();
    let ended = bed.harness(&["prompt", "show"]).end().exits(0);
    assert_eq!(ended.stderr, "");
    let shown = shown(&bed, &[]);
    for section in shown["sections"].as_array().unwrap() {
        let text = |key: &str| section[key].as_str().unwrap();
        let heading = format!(
            "--- {} (by {}, {} bytes",
            text("name"),
            text("source"),
            section["bytes"]
        );
        assert!(
            ended.stdout.contains(&heading),
            "{heading:?} is not in {}",
            ended.stdout
        );
        assert!(ended.stdout.contains(text("text").trim_end()));
    }
    let sum = format!("--- in all: {} bytes", shown["bytes"]);
    assert!(ended.stdout.contains(&sum), "{ended:#?}");
}
