//! The sessions of subagents: a part of the one that started them.

use std::fs;

use serde_json::{Value, json};

use crate::program::Bed;
use crate::server::{Answer, Server};
use crate::sessions::{file, ids, object, say, sessions, talk};

/// A session as a subagent of another one would leave it: here, a copy that says so.
#[track_caller]
fn child(bed: &Bed, parent: &str, agent: &str) -> String {
    let id = sessions(bed, &["fork", parent], 0).stdout.trim().to_owned();
    let path = file(bed, &id);
    let text = fs::read_to_string(&path).unwrap();
    let (header, entries) = text.split_once('\n').unwrap();
    let mut header: Value = serde_json::from_str(header).unwrap();
    header["parent"] = json!({ "session": parent, "agent": agent });
    fs::write(&path, format!("{header}\n{entries}")).unwrap();
    let _ = fs::remove_file(path.with_extension("index"));
    id
}

/// A session with two subagents, of which the first has one of its own, and a fork; all in the order of the tree.
fn family(bed: &Bed) -> [String; 5] {
    talk(bed, &[&["first"]]);
    let own = ids(bed)[0].clone();
    let first = child(bed, &own, "explore-1");
    let second = child(bed, &own, "general-2");
    let grandchild = child(bed, &first, "explore-3");
    let fork = sessions(bed, &["fork", &own], 0).stdout.trim().to_owned();
    [own, first, grandchild, second, fork]
}

fn listed(bed: &Bed, arguments: &[&str]) -> Vec<String> {
    let list = object(bed, &[&["list"], arguments].concat());
    let ids = list.as_array().unwrap().iter();
    let mut ids: Vec<_> = ids
        .map(|it| it["id"].as_str().unwrap().to_owned())
        .collect();
    ids.sort();
    ids
}

#[test]
fn sub_sessions_of_subagents_are_listed_only_when_asked_for() {
    let bed = Bed::new();
    let all = family(&bed);
    let mut own = vec![all[0].clone(), all[4].clone()];
    own.sort();
    assert_eq!(listed(&bed, &[]), own);
    assert_eq!(listed(&bed, &["--all"]).len(), 5);
    sessions(&bed, &["list"], 0)
        .notes("3 sessions of subagents are not listed; `--all` shows them");
    let shown = sessions(&bed, &["list", "--all"], 0);
    assert_eq!(shown.stderr, "");
    let list = object(&bed, &["list", "--all"]);
    let agents = list
        .as_array()
        .unwrap()
        .iter()
        .filter(|it| !it["agent"].is_null());
    let mut agents: Vec<_> = agents.map(|it| it["agent"].as_str().unwrap()).collect();
    agents.sort_unstable();
    assert_eq!(agents, ["explore-1", "explore-3", "general-2"]);
    // They are found, shown and written out like others.
    let hits = object(&bed, &["search", "first"]);
    assert!(!hits.as_array().unwrap().is_empty());
    let shown = sessions(&bed, &["show", &all[1]], 0).stdout;
    assert!(shown.contains("subagent       explore-1"), "{shown}");
    for format in ["markdown", "html"] {
        let text = sessions(&bed, &["export", &all[1], "--format", format], 0).stdout;
        assert!(
            text.contains("Subagent") && text.contains("explore-1"),
            "{text}"
        );
    }
}

#[test]
fn sub_continue_goes_on_with_no_session_of_a_subagent() {
    let bed = Bed::new();
    talk(&bed, &[&["first"]]);
    let own = ids(&bed)[0].clone();
    let child = child(&bed, &own, "explore-1");
    assert_eq!(ids(&bed)[0], child, "it was written to last");
    let server = Server::start([Answer::says("More.")]);
    say(&bed, &server, &["--continue", "second"]).exits(0);
    let shown = object(&bed, &["show", &own]);
    assert_eq!(shown["messages"].as_array().unwrap().len(), 4, "{shown}");
    // Named, it is refused: it would have neither its role nor its bounds. A copy is one's own.
    let server = Server::start([Answer::says("More.")]);
    let refused = say(&bed, &server, &["--session", &child, "second"]).exits(2);
    refused.says(&["explore-1", &own]);
    say(&bed, &server, &["--fork", &child, "second"]).exits(0);
}

#[test]
fn sub_a_tree_shows_the_sessions_of_subagents() {
    let bed = Bed::new();
    let [own, first, grandchild, second, fork] = family(&bed);
    let tree = object(&bed, &["tree", &own]);
    let subagents = tree["subagents"].as_array().unwrap();
    let rows: Vec<_> = subagents
        .iter()
        .map(|it| {
            [
                &it["id"],
                &it["parent"],
                &it["agent"],
                &it["outcome"],
                &it["about"],
            ]
        })
        .collect();
    let expected = [
        [&first, &own, "explore-1"],
        [&grandchild, &first, "explore-3"],
        [&second, &own, "general-2"],
    ]
    .map(|[id, parent, agent]| {
        [
            json!(id),
            json!(parent),
            json!(agent),
            json!("finished"),
            json!("first"),
        ]
    });
    let expected: Vec<_> = expected.iter().map(<[Value; 5]>::each_ref).collect();
    assert_eq!(rows, expected);
    assert_eq!(tree["forks"].as_array().unwrap().len(), 1);
    assert_eq!(tree["forks"][0]["id"], fork.as_str());

    let text = sessions(&bed, &["tree", &own], 0).stdout;
    let below: Vec<&str> = text
        .split_once("\nsubagents\n")
        .unwrap()
        .1
        .lines()
        .collect();
    assert_eq!(below.len(), 3, "{text}");
    let indents: Vec<_> = below
        .iter()
        .map(|it| it.len() - it.trim_start().len())
        .collect();
    assert_eq!(indents, [2, 4, 2], "{text}");
    assert!(below[1].ends_with("  explore-3  finished  first"), "{text}");

    let tree = object(&bed, &["tree", &grandchild]);
    assert_eq!(tree["agent"], "explore-3");
    let above = [
        json!({ "id": own, "about": "first", "has_started": true }),
        json!({ "id": first, "about": "first", "has_started": true }),
    ];
    assert_eq!(tree["ancestors"], json!(above));
    let text = sessions(&bed, &["tree", &grandchild], 0).stdout;
    assert_eq!(text.matches("started by ").count(), 2, "{text}");
    assert!(text.contains("\nsubagent   explore-3\n"), "{text}");
    assert!(!text.contains("\nsubagents\n"), "{text}");
}

#[test]
fn sub_a_tree_survives_sessions_that_name_each_other_and_one_that_did_not_end() {
    let bed = Bed::new();
    let [own, first, grandchild, _, fork] = family(&bed);
    // The session says that it was started by its own subagent's subagent.
    let path = file(&bed, &own);
    let text = fs::read_to_string(&path).unwrap();
    let (header, entries) = text.split_once('\n').unwrap();
    let mut header: Value = serde_json::from_str(header).unwrap();
    header["parent"] = json!({ "session": grandchild, "agent": "evil\u{1b}[2J" });
    fs::write(&path, format!("{header}\n{entries}")).unwrap();
    let _ = fs::remove_file(path.with_extension("index"));
    // And one was killed in its run.
    let path = file(&bed, &first);
    let text = fs::read_to_string(&path).unwrap();
    let lines: Vec<&str> = text.lines().collect();
    let cut = lines
        .iter()
        .rposition(|it| it.contains("\"settlement\""))
        .unwrap();
    fs::write(&path, format!("{}\n", lines[..cut].join("\n"))).unwrap();
    let _ = fs::remove_file(path.with_extension("index"));
    let text = sessions(&bed, &["tree", &own], 0).stdout;
    assert!(text.contains("explore-1  has not ended"), "{text}");
    assert!(!text.contains('\u{1b}'), "{text:?}");
    assert_eq!(text.matches("explore-3").count(), 1, "{text}");
    sessions(&bed, &["delete", "-y", &first], 0);
    // All say that they are parts of it.
    assert_eq!(ids(&bed), [fork]);
}

#[test]
fn sub_the_sessions_of_subagents_are_deleted_with_the_one_that_started_them() {
    let bed = Bed::new();
    let [own, first, grandchild, second, fork] = family(&bed);
    let deleted = object(&bed, &["delete", "-y", &first]);
    assert_eq!(deleted["deleted"], json!([first, grandchild]));
    let deleted = sessions(&bed, &["delete", "-y", &own], 0).stdout;
    assert_eq!(deleted, format!("{own}\n{second}\n"));
    assert_eq!(ids(&bed), [fork]);
}
