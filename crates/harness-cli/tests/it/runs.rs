//! Runs of several calls, over a real socket, in each protocol.

use serde_json::{Value, json};

use crate::program::{Bed, Start};
use crate::server::{Answer, Server};
use crate::wire::{INPUT_TOKENS, OUTPUT_TOKENS, Reply, Wire};

const ANSWER: &str = "Renamed `alt` to `neu` in 1 place — grün.\n\nChecked: cat notes.txt.";

/// Two calls at once, then one, then one, then the answer.
fn replies() -> [Reply; 4] {
    let edits = json!([{ "old_text": "alt", "new_text": "neu" }]);
    [
        Reply::says("Let me look.")
            .and_calls("call_a", "read", &json!({ "path": "notes.txt" }))
            .and_calls("call_b", "grep", &json!({ "pattern": "a.t", "path": "." })),
        Reply::calls(
            "call_c",
            "edit",
            &json!({ "path": "notes.txt", "edits": edits }),
        ),
        Reply::says("Now I check.").and_calls(
            "call_d",
            "bash",
            &json!({ "command": "cat notes.txt; echo to-stderr >&2" }),
        ),
        Reply::says(ANSWER),
    ]
}

fn bed() -> Bed {
    let bed = Bed::new();
    bed.write("notes.txt", "one\nalt\nthree\n");
    bed
}

fn start(bed: &Bed, server: &Server, wire: Wire, more: &[&str]) -> Start {
    let url = server.url();
    let model = [
        "--api",
        wire.api(),
        "--base-url",
        &url,
        "-m",
        "x/y",
        "Rename it.",
    ];
    bed.run(&[&model, more].concat())
}

/// What the last request must hold, whatever the output was.
#[track_caller]
fn check_conversation(bed: &Bed, server: &Server, wire: Wire) {
    assert_eq!(bed.read("notes.txt"), "one\nneu\nthree\n");
    let requests = server.requests();
    assert_eq!(requests.len(), 4);
    for request in &requests {
        assert_eq!(request.path, wire.path());
        assert_eq!(request.body["model"], "y");
        assert!(request.header("authorization").is_none());
        assert!(request.header("x-api-key").is_none());
    }
    let results = wire.results(&requests[3].body);
    let ids: Vec<&str> = results.iter().map(|(id, _)| id.as_str()).collect();
    assert_eq!(ids, ["call_a", "call_b", "call_c", "call_d"]);
    let words = ["one\nalt\nthree", "notes.txt", "neu", "one\nneu\nthree"];
    for ((id, text), word) in results.iter().zip(words) {
        assert!(text.contains(word), "{id}: {text:?} lacks {word:?}");
    }
    assert!(results[3].1.contains("to-stderr"), "{:?}", results[3].1);
}

/// CLI-01, CLI-03: standard output is the answer alone, whatever was said and done before.
#[test]
fn cli_01_cli_03_a_run_of_several_calls_ends_with_the_answer_alone() {
    for wire in Wire::ALL {
        let (bed, server) = (bed(), Server::replies(wire, &replies()));
        let ended = start(&bed, &server, wire, &[])
            .end()
            .exits(0)
            .answers(ANSWER);
        assert_eq!(ended.stderr, "", "{wire:?}");
        check_conversation(&bed, &server, wire);
    }
}

#[test]
fn json_output_is_one_event_a_line_from_run_start_to_run_end() {
    for wire in Wire::ALL {
        let (bed, server) = (bed(), Server::replies(wire, &replies()));
        let ended = start(&bed, &server, wire, &["--output", "json"])
            .end()
            .exits(0);
        assert_eq!(ended.stderr, "", "{wire:?}");
        let end = ended.run_end();
        assert_eq!(end["outcome"], "finished");
        assert_eq!(end["stop_reason"], "end_turn");
        assert_eq!(end["answer"], ANSWER);
        assert_eq!(end["turns"], 4);
        assert_eq!(end["error"], Value::Null);
        assert_eq!(end["cost"], Value::Null);
        assert_eq!(end["session"].as_str().map(str::len), Some(36), "{end}");
        assert_eq!(end["usage"]["input_tokens"], 4 * INPUT_TOKENS);
        assert_eq!(end["usage"]["output_tokens"], 4 * OUTPUT_TOKENS);
        check_conversation(&bed, &server, wire);
        check_events(&ended.events());
    }
}

/// The calls of the run, and the text of its last turn, out of its events.
fn check_events(events: &[Value]) {
    let all = |kind: &str| -> Vec<&Value> {
        let of_kind = events.iter().filter(|event| event["type"] == kind);
        of_kind.collect()
    };
    assert_eq!(all("turn_start").len(), 4);
    assert_eq!(all("turn_end").len(), 4);
    let names = |kind| -> Vec<&str> {
        let mut names: Vec<&str> = all(kind)
            .iter()
            .filter_map(|event| event["name"].as_str())
            .collect();
        names.sort_unstable();
        names
    };
    assert_eq!(names("tool_start"), ["bash", "edit", "grep", "read"]);
    assert_eq!(names("tool_end"), ["bash", "edit", "grep", "read"]);
    for end in all("tool_end") {
        assert_eq!(end["outcome"]["status"], "done", "{end}");
    }
    let last = events
        .iter()
        .rposition(|event| event["type"] == "turn_start")
        .unwrap();
    let deltas = events[last..]
        .iter()
        .filter(|event| event["type"] == "text_delta");
    let text: String = deltas.filter_map(|event| event["text"].as_str()).collect();
    assert_eq!(text, ANSWER);
}

/// A call that cannot be read or carried out goes back to the model; the run goes on.
#[test]
fn loop_06_loop_08_a_wrong_call_is_an_answer_to_the_model() {
    let checks = [
        ("read", r#"{"path": "a"#, "not valid JSON"),
        ("read", "[1]", "Nothing was executed"),
        ("read", "null", "must be a JSON object"),
        ("read", r#"{"path": 7, "pathh": 1}"#, "path"),
        ("read", r#"{"path": "absent.txt"}"#, "does not exist"),
        ("bash", r#"{"command": "exit 3"}"#, "exit code 3"),
        ("reed", r#"{"path": "notes.txt"}"#, "reed"),
    ];
    for wire in Wire::ALL {
        for (tool, arguments, words) in checks {
            let call = Reply::default()
                .and_calls_raw("call_1", tool, arguments)
                .and_calls("call_2", "ls", &json!({}));
            let server = Server::replies(wire, &[call, Reply::says("Done.")]);
            let bed = bed();
            start(&bed, &server, wire, &[])
                .end()
                .exits(0)
                .answers("Done.");
            let results = wire.results(&server.requests()[1].body);
            assert!(
                results[0].1.contains(words),
                "{wire:?} {tool} {arguments}: {results:?}"
            );
            assert!(results[1].1.contains("notes.txt"), "{wire:?}: {results:?}");
        }
    }
}

/// What passes by itself is tried again, and leaves no trace in the answer.
#[test]
fn loop_05_prov_11_a_request_that_failed_is_made_again_without_a_trace() {
    let half = "data: {\"choices\":[{\"delta\":{\"content\":\"Half of\"}}]}\n\n";
    let checks = [
        (Answer::status(500, "busy"), "failed (status 500): busy"),
        (
            Answer::status(429, "slowly"),
            "rate of requests (status 429): slowly",
        ),
        (Answer::Cut(half.to_owned()), "cut off"),
        (Answer::Close, "cannot reach"),
    ];
    for (answer, words) in checks {
        let bed = bed();
        let server = Server::start([answer, Answer::says("Whole.")]);
        let ended = start(&bed, &server, Wire::Chat, &[])
            .end()
            .exits(0)
            .answers("Whole.");
        ended.notes(words);
        let requests = server.requests();
        assert_eq!(requests.len(), 2);
        assert_eq!(requests[0].body, requests[1].body);
    }
}

/// LOOP-02, LOOP-05: a call whose arguments never came whole is never carried out, and goes with its
/// attempt.
#[test]
fn loop_02_a_call_that_was_cut_off_is_not_carried_out() {
    let write = json!({ "path": "canary.txt", "content": "written by half a call" });
    for wire in Wire::ALL {
        let stream = wire.stream(&Reply::says("Now.").and_calls("call_1", "write", &write));
        let events: Vec<&str> = stream.split_inclusive("\n\n").collect();
        // The end of the reply, and the second half of the arguments, are missing.
        let cut = Answer::Cut(events[..events.len() - 4].concat());
        let (bed, server) = (
            bed(),
            Server::start([cut, Answer::reply(wire, &Reply::says("Done."))]),
        );
        let ended = start(&bed, &server, wire, &[])
            .end()
            .exits(0)
            .answers("Done.");
        ended.notes("cut off");
        assert!(!bed.work().join("canary.txt").exists(), "{wire:?}");
        let requests = server.requests();
        assert_eq!(requests[0].body, requests[1].body, "{wire:?}");
    }
}

/// The words of the command line are one text; `--` ends the options.
#[test]
fn the_words_of_the_task_are_joined() {
    let (bed, server) = (bed(), Server::start([Answer::says("Done.")]));
    let url = server.url();
    let arguments = [
        "-m",
        "x/y",
        "--base-url",
        &url,
        "Fix",
        "the",
        "--",
        "--odd",
        "flag",
    ];
    bed.run(&arguments).end().exits(0);
    assert_eq!(
        Wire::Chat.prompt(&server.request().body),
        "Fix the --odd flag"
    );
}
