//! Summaries from the command line: `/compact`, what is left behind by `--at`, and what the model gets of them.

use serde_json::{Value, json};

use crate::program::Bed;
use crate::server::Server;
use crate::wire::{Reply, Stop, Wire};

/// A conversation of two tasks, and what the service says afterwards.
fn talked(more: &[Reply]) -> (Bed, Server) {
    let bed = Bed::new();
    let mut replies = vec![
        Reply::calls("c1", "bash", &json!({"command": "echo made > made.txt"})),
        Reply::says("The first is done."),
        Reply::says("The second is done."),
    ];
    replies.extend_from_slice(more);
    let server = Server::replies(Wire::Chat, &replies);
    let url = server.url();
    bed.config(&format!(
        "[providers.x]\nbase_url = {url:?}\napi = \"openai-chat\"\n"
    ));
    bed.run(&["-m", "x/y", "the first task"]).end().exits(0);
    bed.run(&["--continue", "the second task"]).end().exits(0);
    (bed, server)
}

fn last(server: &Server) -> String {
    let requests = server.requests();
    requests.last().unwrap().body["messages"].to_string()
}

#[test]
fn a_conversation_is_made_shorter_on_demand() {
    let (bed, server) = talked(&[
        Reply::says("## Goal\nBoth tasks, in short."),
        Reply::says("The third is done."),
    ]);
    let end = bed
        .run(&["--continue", "/compact keep the file's name"])
        .end()
        .exits(0);
    assert!(
        end.stdout.contains("Both tasks, in short."),
        "{}",
        end.stdout
    );
    assert!(last(&server).contains("keep the file's name"));
    bed.run(&["--continue", "the third task"])
        .end()
        .exits(0)
        .answers("The third is done.");
    let sent = last(&server);
    assert!(
        sent.contains("Both tasks, in short.") && sent.contains("the third task"),
        "{sent}"
    );
    assert!(!sent.contains("the first task"), "{sent}");
    // What was said is still there, before the summary.
    let tree = bed
        .harness(&["sessions", "tree", "--all"])
        .end()
        .exits(0)
        .stdout;
    assert!(
        tree.contains("the first task") && tree.contains("compaction"),
        "{tree}"
    );
    // It is said what became of what was before it.
    let shown = bed.harness(&["sessions", "show"]).end().exits(0).stdout;
    let (before, after) = shown.split_once("[compaction ").unwrap();
    assert!(before.contains("the first task"), "{shown}");
    assert!(
        after.contains("is not sent any more but as the summary below"),
        "{shown}"
    );
    assert!(after.contains("the third task"), "{shown}");
    let kept = before.matches(", kept]").count();
    assert_eq!(after.contains("marked \"kept\""), kept > 0, "{shown}");
}

/// Truncated, empty and failed summaries change nothing.
#[test]
fn a_summary_that_is_none_changes_nothing() {
    let cut = || Reply::says("## Goal").stops(Stop::Length);
    let (bed, server) = talked(&[cut(), cut(), cut(), Reply::says("The third is done.")]);
    bed.run(&["--continue", "/compact"])
        .end()
        .exits(1)
        .says(&["cut off"]);
    bed.run(&["--continue", "the third task"]).end().exits(0);
    let sent = last(&server);
    assert!(
        sent.contains("the first task") && !sent.contains("## Goal"),
        "{sent}"
    );
}

#[test]
fn there_must_be_something_to_make_shorter() {
    let (bed, _) = talked(&[]);
    let folder = bed.root().join("other");
    std::fs::create_dir(&folder).unwrap();
    bed.run(&["-m", "x/y", "-C", folder.to_str().unwrap(), "/compact"])
        .end()
        .exits(2)
        .says(&["no conversation", "--continue /compact"]);
}

/// What is left behind is summarised where the conversation goes on, and only there.
#[test]
fn what_is_left_behind_is_summarised() {
    for with_summary in [true, false] {
        let mut more = vec![Reply::says("Another way is done.")];
        if with_summary {
            more.insert(0, Reply::says("## Outcome\nThe second was tried."));
        }
        let (bed, server) = talked(&more);
        let listed = bed
            .harness(&["sessions", "show", "--json"])
            .end()
            .exits(0)
            .stdout;
        let shown: Value = serde_json::from_str(&listed).unwrap();
        let entry = entry_of(&shown, "the second task");
        let mut arguments = vec!["--continue", "--at", &entry, "another second task"];
        if !with_summary {
            arguments.push("--no-summary");
        }
        bed.run(&arguments)
            .end()
            .exits(0)
            .answers("Another way is done.");
        let sent = last(&server);
        assert!(
            sent.contains("the first task") && sent.contains("another second task"),
            "{sent}"
        );
        assert!(!sent.contains("the second task"), "{sent}");
        assert_eq!(
            sent.contains("The second was tried."),
            with_summary,
            "{sent}"
        );
    }
}

/// The id of the entry whose message has this text.
fn entry_of(shown: &Value, text: &str) -> String {
    let messages = shown["messages"].as_array().unwrap();
    let found = messages
        .iter()
        .find(|message| message.to_string().contains(text));
    let found = found.unwrap_or_else(|| panic!("{shown:#}"));
    found["entry"]
        .as_str()
        .unwrap_or_else(|| panic!("{found:#}"))
        .to_owned()
}
