//! Services that fail, in every way they do: a bounded number of requests, an honest end, and a line
//! that says what is wrong and what to do.

use std::thread;
use std::time::Duration;

use crate::program::Bed;
use crate::server::{Answer, Server};
use crate::wire::{Reply, Wire};

/// What a service does to every request, and what must come of it.
struct Case {
    name: &'static str,
    answer: Answer,
    code: i32,
    /// The kind of the error in `run_end`.
    kind: &'static str,
    requests: usize,
    says: Vec<&'static str>,
    more: &'static [&'static str],
}

impl Case {
    fn of(name: &'static str, answer: Answer, kind: &'static str, requests: usize) -> Self {
        Self {
            name,
            answer,
            code: 1,
            kind,
            requests,
            says: Vec::new(),
            more: &[],
        }
    }

    fn says(self, says: &[&'static str]) -> Self {
        let says = says.to_vec();
        Self { says, ..self }
    }

    /// With `--timeout 1s`, which is what must end it.
    fn in_one_second(self) -> Self {
        Self {
            code: 3,
            more: &["--timeout", "1s"],
            ..self
        }
    }

    fn check(&self, json: bool) {
        let name = self.name;
        let (bed, server) = (Bed::new(), Server::repeating(self.answer.clone()));
        let url = server.url();
        let mut arguments = vec!["-m", "x/y", "--base-url", &url, "hi"];
        arguments.extend(self.more);
        if json {
            arguments.extend(["--output", "json"]);
        }
        let ended = bed.run(&arguments).end();
        assert_eq!(ended.code, self.code, "{name}: {ended:#?}");
        for words in &self.says {
            let error = ended.error();
            assert!(
                error.contains(words),
                "{name}: {words:?} is not in {error:?}"
            );
        }
        assert_eq!(server.requests().len(), self.requests, "{name}: {ended:#?}");
        if json {
            let end = ended.run_end();
            let outcome = if self.code == 3 { "limit" } else { "failed" };
            assert_eq!(end["outcome"], outcome, "{name}: {end}");
            assert_eq!(end["error"]["kind"], self.kind, "{name}: {end}");
            let message = end["error"]["message"].as_str().unwrap();
            assert!(ended.error().contains(message), "{name}: {ended:#?}");
        } else {
            assert_eq!(ended.stdout, "", "{name}: {ended:#?}");
        }
    }
}

/// All at once: what they do is to wait.
fn check_all(cases: &[Case], others: &[fn()]) {
    thread::scope(|scope| {
        for other in others {
            scope.spawn(other);
        }
        for case in cases {
            scope.spawn(|| case.check(false));
            scope.spawn(|| case.check(true));
        }
    });
}

fn error(message: &str) -> String {
    serde_json::json!({ "error": { "message": message } }).to_string()
}

fn text(text: &str) -> String {
    let delta = serde_json::json!({ "choices": [{ "delta": { "content": text } }] });
    format!("data: {delta}\n\n")
}

/// LOOP-15, PROV-14.
#[test]
fn loop_15_services_that_refuse() {
    let html = "<html><title>502 Bad Gateway</title><body>nginx</body></html>";
    let quota = r#"{"error":{"code":"insufficient_quota","message":"pay first"}}"#;
    let overflow = r#"{"error":{"code":"context_length_exceeded","message":"too long"}}"#;
    let status = |status, body: &str| Answer::status(status, body);
    check_all(
        &[
            Case::of(
                "401",
                status(401, &error("no such key")),
                "authentication",
                1,
            )
            .says(&[
                "status 401",
                "no such key",
                "no key was sent",
                "--api-key-env",
            ]),
            Case::of("403", status(403, ""), "authentication", 1).says(&["status 403"]),
            Case::of("404", status(404, &error("no such model")), "not_found", 1).says(&[
                "not found at http://127.0.0.1:",
                "/v1/chat/completions (status 404): no such model",
                "--model",
                "--base-url",
            ]),
            Case::of(
                "400",
                status(400, &error("bad field")),
                "invalid_request",
                1,
            )
            .says(&["refused the request (status 400): bad field"]),
            Case::of("413", status(413, ""), "request_too_large", 1).says(&["too large"]),
            Case::of("overflow", status(400, overflow), "context_overflow", 1)
                .says(&["context window", "larger window"]),
            Case::of("quota", status(429, quota), "quota", 1).says(&["pay first", "credit"]),
            Case::of("429", status(429, &error("slow down")), "rate_limited", 5).says(&[
                "(status 429): slow down",
                "after 5 attempts",
                "try again later",
            ]),
            Case::of("500", status(500, &error("oops")), "unavailable", 5).says(&[
                "failed (status 500): oops",
                "after 5 attempts",
                "try again later",
            ]),
            Case::of("502", status(502, html), "unavailable", 5).says(&["502 Bad Gateway"]),
            Case::of(
                "a long wait",
                Answer::Status(429, "retry-after: 3600\r\n".into(), error("later")),
                "rate_limited",
                1,
            )
            .says(&["(status 429): later"]),
            Case::of(
                "redirect",
                Answer::Status(302, "location: http://h/login\r\n".into(), String::new()),
                "invalid_request",
                1,
            )
            .says(&["redirects to http://h/login"]),
        ],
        &[],
    );
}

/// The waits of the loop's own policy are in these, fifteen seconds or less: they grow, and there is an
/// end to them.
#[test]
fn loop_15_services_that_break_off() {
    let page = "<!doctype html><html><title>Welcome</title></html>".to_owned();
    check_all(
        &[
            Case::of("closed", Answer::Close, "connection", 5).says(&[
                "cannot reach http://127.0.0.1:",
                "after 5 attempts",
                "--base-url",
            ]),
            Case::of("cut", Answer::Cut(text("Half")), "stream_cut", 5).says(&[
                "cut off",
                "after 5 attempts",
                "try again later",
            ]),
            Case::of(
                "page",
                Answer::Document("text/html", page),
                "stream_invalid",
                5,
            )
            .says(&["text/html", "Welcome", "--api"]),
            Case::of(
                "garbage",
                Answer::Stream("data: {\"choices\": [\n\n".into()),
                "stream_invalid",
                5,
            )
            .says(&["could not be read", "--api"]),
            Case::of(
                "noise",
                Answer::Document("application/octet-stream", "\u{1}\u{2}ÿ".into()),
                "stream_invalid",
                5,
            ),
        ],
        &[waits_grow, nobody_listens],
    );
}

#[test]
fn loop_11_replies_without_end_or_content() {
    check_all(
        &[
            Case::of("empty", Answer::says(""), "empty_replies", 3)
                .says(&["3 empty replies in a row", "--model"]),
            Case::of("blank", Answer::says(" \n"), "empty_replies", 3),
            Case::of(
                "endless",
                Answer::Endless(text("a"), text(&"b".repeat(64 * 1024))),
                "reply_too_large",
                1,
            )
            .says(&["larger than"]),
            Case::of(
                "endless pings",
                Answer::Endless(text("a"), ": ping\n\n".into()),
                "time",
                1,
            )
            .in_one_second()
            .says(&["time limit of 1 s", "--timeout"]),
            Case::of("silent", Answer::Hang(String::new()), "time", 1)
                .in_one_second()
                .says(&["time limit of 1 s"]),
            Case::of("falls silent", Answer::Hang(text("Half")), "time", 1).in_one_second(),
            Case::of(
                "filtered",
                Answer::reply(
                    Wire::Chat,
                    &Reply::says("Well").stops(crate::wire::Stop::Filter),
                ),
                "content_filter",
                1,
            )
            .says(&["content filter"]),
        ],
        &[],
    );
}

/// A line without end is refused long before the memory is full.
#[test]
fn a_line_without_end() {
    let answer = Answer::Endless("data: ".into(), "x".repeat(1 << 20));
    let server = Server::start([answer, Answer::says("Done.")]);
    let (bed, url) = (Bed::new(), server.url());
    let ended = bed.run(&["-m", "x/y", "--base-url", &url, "hi"]).end();
    ended.exits(0).answers("Done.").notes("could not be read");
}

/// LOOP-15: the waits between requests grow, as the notes say and the service sees.
fn waits_grow() {
    let server = Server::repeating(Answer::Status(503, String::new(), error("busy")));
    let (bed, url) = (Bed::new(), server.url());
    let ended = bed
        .run(&["-m", "x/y", "--base-url", &url, "hi"])
        .end()
        .exits(1);
    let requests = server.requests();
    let waits: Vec<Duration> = requests
        .windows(2)
        .map(|pair| pair[1].at - pair[0].at)
        .collect();
    assert_eq!(waits.len(), 4, "{ended:#?}");
    // 1, 2, 4, 8 seconds, of which jitter may take a quarter.
    for (wait, least) in waits.iter().zip([0.75, 1.5, 3.0, 6.0]) {
        assert!(wait.as_secs_f64() >= least - 0.05, "{waits:?}");
    }
    assert_eq!(ended.stderr.matches("note: ").count(), 4, "{ended:#?}");
    assert_eq!(
        ended.stderr.matches("trying again in").count(),
        4,
        "{ended:#?}"
    );
}

/// Nobody listens there: the port was this machine's a moment ago.
fn nobody_listens() {
    let listener = std::net::TcpListener::bind("127.0.0.1:0").unwrap();
    let url = format!("http://{}", listener.local_addr().unwrap());
    drop(listener);
    let bed = Bed::new();
    let ended = bed
        .run(&["-m", "x/y", "--base-url", &url, "hi"])
        .end()
        .exits(1);
    assert_eq!(ended.stdout, "");
    let full = format!("cannot reach {url}/v1/chat/completions: ");
    ended.says(&[&full, "refused", "whether the server runs"]);
}

/// A model that the service does not know, next to one that is configured.
#[test]
fn an_unknown_model_is_told_its_neighbour() {
    let server = Server::start([Answer::status(404, &error("model qwn3 not found"))]);
    let bed = Bed::new();
    bed.config(&format!(
        "[providers.local]\nbase_url = \"{}\"\n[providers.local.models.qwen3]\n",
        server.url()
    ));
    let ended = bed.run(&["-m", "local/qwn3", "hi"]).end().exits(1);
    ended.says(&["model qwn3 not found", "did you mean `local/qwen3`?"]);
}
