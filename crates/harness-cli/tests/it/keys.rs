//! Keys: where they are sent, and that they are nowhere else.

use std::os::unix::fs::PermissionsExt as _;

use serde_json::json;

use crate::program::{Bed, Ended};
use crate::server::{Answer, Request, Server};
use crate::wire::{Reply, Wire};

/// A key that shows wherever it gets.
const CANARY: &str = "sk-canary-0123456789";

#[track_caller]
fn is_silent(ended: &Ended) {
    assert!(!format!("{ended:?}").contains("canary"), "{ended:#?}");
}

/// Runs once with a configuration and arguments, in which `URL` stands for the service's address.
#[track_caller]
fn request(config: &str, arguments: &[&str], variables: &[(&str, &str)]) -> Request {
    let (bed, server) = (Bed::new(), Server::start([Answer::says("Done.")]));
    let url = server.url();
    bed.config(&config.replace("URL", &url));
    let arguments: Vec<String> = arguments.iter().map(|it| it.replace("URL", &url)).collect();
    let arguments: Vec<&str> = arguments.iter().map(String::as_str).collect();
    let ended = bed.run(&arguments).envs(variables).end().exits(0);
    is_silent(&ended);
    server.request()
}

/// A configuration, arguments, and the `authorization` and `x-team` that must be sent.
type Check<'a> = (&'a str, &'a [&'a str], Option<&'a str>, Option<&'a str>);

#[test]
fn a_key_is_sent_only_where_it_belongs() {
    let keys = [("OPENAI_API_KEY", CANARY), ("MINE", CANARY)];
    let configured = "[providers.local]\nbase_url = \"URL\"\napi_key_env = \"MINE\"\n\
                      headers = { X-Team = \"blue\", X-Secret-Token = \"canary-token\" }\n";
    let keyless = "[providers.openai]\napi = \"openai-chat\"\nbase_url = \"URL\"\n";
    let own = ["-m", "x/y", "--base-url", "URL", "hi"];
    let bearer = format!("Bearer {CANARY}");
    let checks: [Check<'_>; 7] = [
        (
            configured,
            &["-m", "local/m", "hi"],
            Some(&bearer),
            Some("blue"),
        ),
        // An address of its own gets neither the key nor the headers of the provider.
        (
            configured,
            &["-m", "local/m", "--base-url", "URL", "hi"],
            None,
            None,
        ),
        ("", &own, None, None),
        (
            "",
            &[
                "--api-key-env",
                "MINE",
                "-m",
                "x/y",
                "--base-url",
                "URL",
                "hi",
            ],
            Some(&bearer),
            None,
        ),
        // A known service at another address is not the known service.
        (
            "",
            &[
                "--api",
                "openai-chat",
                "-m",
                "openai/m",
                "--base-url",
                "URL",
                "hi",
            ],
            None,
            None,
        ),
        (keyless, &["-m", "openai/m", "hi"], None, None),
        (
            keyless,
            &["-m", "openai/m", "--api-key-env", "MINE", "hi"],
            Some(&bearer),
            None,
        ),
    ];
    for (config, arguments, key, team) in checks {
        let request = request(config, arguments, &keys);
        assert_eq!(
            request.header("authorization"),
            key,
            "{config} {arguments:?}"
        );
        assert_eq!(request.header("x-team"), team, "{config} {arguments:?}");
    }
}

/// A line break behind a key in a file is no part of it.
#[test]
fn a_key_is_trimmed_and_anthropic_has_its_own_header() {
    let server = Server::replies(Wire::Messages, &[Reply::says("Done.")]);
    let (bed, url) = (Bed::new(), server.url());
    let model = [
        "--api",
        "anthropic",
        "-m",
        "x/y",
        "--base-url",
        &url,
        "--api-key-env",
        "MINE",
    ];
    let run = bed.run(&[&model[..], &["hi"]].concat());
    run.env("MINE", format!(" {CANARY}\n")).end().exits(0);
    let request = server.request();
    assert_eq!(request.header("x-api-key"), Some(CANARY));
    assert_eq!(request.header("authorization"), None);
}

/// A service that sends back what it was sent, in each way in which it can.
#[test]
fn a_key_that_comes_back_is_not_shown() {
    let said = format!("wrong: Authorization: Bearer {CANARY} and canary-token");
    let error = json!({ "error": { "message": said, "code": 400 } }).to_string();
    let redirect = format!("location: http://h/?key={CANARY}\r\n");
    let in_stream = |event: &str| Answer::Stream(format!("data: {event}\n\n"));
    let answers = [
        Answer::status(400, &error),
        Answer::status(401, &error),
        Answer::status(404, &error),
        Answer::status(500, &error),
        Answer::status(418, &said),
        Answer::status(400, &format!("<html><title>{said}</title></html>")),
        Answer::Status(302, redirect, String::new()),
        in_stream(&error),
        Answer::Document("application/json", error.clone()),
    ];
    for answer in answers {
        for output in ["text", "json"] {
            let (bed, server) = (Bed::new(), Server::repeating(answer.clone()));
            bed.config(&format!(
                "[providers.local]\nbase_url = {:?}\napi_key_env = \"MINE\"\n\
                 headers = {{ X-Secret-Token = \"canary-token\" }}\n",
                server.url()
            ));
            let before = bed.files();
            let run = bed.run(&["-m", "local/m", "--output", output, "hi"]);
            let ended = run.env("MINE", CANARY).end().exits(1);
            assert!(
                ended.error().contains('['),
                "nothing stands for the key: {ended:#?}"
            );
            is_silent_but_for_the_token(&ended);
            // SEC-15: a failed request is not written anywhere; the prompt is, without the key.
            let state = bed.home().join(".local");
            let (records, others): (Vec<_>, Vec<_>) = bed
                .files()
                .into_iter()
                .partition(|path| bed.root().join(path).starts_with(&state));
            assert_eq!(others, before);
            for record in records.iter().map(|path| bed.root().join(path)) {
                if record.is_file() {
                    let bytes = std::fs::read(record).unwrap();
                    let text = String::from_utf8_lossy(&bytes);
                    assert!(!text.contains(CANARY), "{text}");
                }
            }
        }
    }
}

/// The key is gone, and so is what a header with a telling name held.
#[track_caller]
fn is_silent_but_for_the_token(ended: &Ended) {
    assert!(
        !ended.stdout.contains(CANARY) && !ended.stderr.contains(CANARY),
        "{ended:#?}"
    );
    assert!(!ended.stdout.contains("canary-token"), "{ended:#?}");
    assert!(!ended.stderr.contains("canary-token"), "{ended:#?}");
}

/// BASH-17: commands of the model do not see the keys; they do see everything else.
#[test]
fn bash_17_commands_do_not_see_the_keys() {
    let command = json!({ "command": "env; tr '\\0' '\\n' < /proc/self/environ" });
    let call = Reply::calls("call_1", "bash", &command);
    let server = Server::replies(Wire::Chat, &[call, Reply::says("Done.")]);
    let bed = Bed::new();
    bed.config(&format!(
        "[providers.local]\nbase_url = {:?}\napi_key_env = \"LOCAL_KEY\"\n\
         [providers.other]\nbase_url = \"http://h\"\napi_key_env = \"OTHER_KEY\"\n",
        server.url()
    ));
    let run = bed.run(&[
        "-m",
        "local/m",
        "--api-key-env",
        "FLAG_KEY",
        "--output",
        "json",
        "hi",
    ]);
    let ended = run
        .envs(&[
            ("LOCAL_KEY", CANARY),
            ("OTHER_KEY", CANARY),
            ("FLAG_KEY", CANARY),
            ("OPENAI_API_KEY", CANARY),
            ("ANTHROPIC_API_KEY", CANARY),
            ("GROQ_API_KEY", CANARY),
            ("ORDINARY", "is-there"),
        ])
        .end()
        .exits(0);
    is_silent(&ended);
    let requests = server.requests();
    let (_, result) = Wire::Chat.results(&requests[1].body).remove(0);
    assert!(!result.contains("canary"), "{result}");
    assert!(result.contains("ORDINARY=is-there"), "{result}");
    assert!(
        !requests
            .iter()
            .any(|request| request.body.to_string().contains("canary"))
    );
}

/// The same for tools that are called by hand.
#[test]
fn bash_17_tools_called_by_hand_do_not_see_the_keys() {
    let bed = Bed::new();
    let call = bed.harness(&["tools", "call", "bash", r#"{"command":"env"}"#]);
    let ended = call
        .envs(&[("OPENAI_API_KEY", CANARY), ("ORDINARY", "is-there")])
        .end()
        .exits(0);
    is_silent(&ended);
    assert!(ended.stdout.contains("ORDINARY=is-there"), "{ended:#?}");
}

#[test]
fn the_doctor_names_keys_and_shows_none() {
    let bed = Bed::new();
    bed.config(
        "model = \"local/m\"\n[providers.local]\napi_key_env = \"LOCAL_KEY\"\n\
         base_url = \"http://user:canary@127.0.0.1:9/v1?key=canary\"\n",
    );
    let doctor = bed.harness(&["doctor"]);
    let ended = doctor
        .envs(&[("LOCAL_KEY", CANARY), ("GROQ_API_KEY", CANARY)])
        .end()
        .exits(0);
    is_silent(&ended);
    for words in ["LOCAL_KEY", "GROQ_API_KEY", "key            from LOCAL_KEY"] {
        assert!(ended.stdout.contains(words), "{ended:#?}");
    }
    let url = "http://user:canary@127.0.0.1:9?key=canary";
    let ended = bed
        .harness(&["doctor", "-m", "x/y", "--base-url", url])
        .end()
        .exits(0);
    is_silent(&ended);
}

/// An address with a password in it, that nobody answers at.
#[test]
fn an_address_is_shown_without_its_password() {
    let listener = std::net::TcpListener::bind("127.0.0.1:0").unwrap();
    let port = listener.local_addr().unwrap().port();
    drop(listener);
    let url = format!("http://user:canary@127.0.0.1:{port}/v1?key=canary");
    let bed = Bed::new();
    let model = ["-m", "x/y", "--base-url", &url, "--output", "json"];
    // Not for as long as it would try: what it says of the first time is enough.
    let ended = bed
        .run(&[&model[..], &["--timeout", "100ms", "hi"]].concat())
        .end();
    let ended = ended.exits(3);
    is_silent(&ended);
    let shown = format!("http://127.0.0.1:{port}/v1/chat/completions");
    assert!(ended.stdout.contains(&shown), "{ended:#?}");
    ended.notes(&shown);
}

/// SEC-15: a request that failed is not dumped anywhere, and what is kept of the run is for its owner alone.
#[test]
fn sec_15_a_failed_request_dumps_nothing() {
    let said = format!("upstream-dump: Authorization: Bearer {CANARY}");
    let (bed, server) = (Bed::new(), Server::repeating(Answer::status(500, &said)));
    let before = bed.files();
    let url = server.url();
    let run = bed.run(&[
        "-m",
        "x/y",
        "--base-url",
        &url,
        "--api-key-env",
        "MINE",
        "prompt-words",
    ]);
    let ended = run.env("MINE", CANARY).end().exits(1);
    is_silent(&ended);
    for path in bed.files().iter().filter(|path| !before.contains(path)) {
        let path = bed.root().join(path);
        let mode = std::fs::metadata(&path).unwrap().permissions().mode();
        assert_eq!(mode & 0o077, 0, "{} has {mode:o}", path.display());
        if path.is_file() {
            let text = String::from_utf8_lossy(&std::fs::read(&path).unwrap()).into_owned();
            assert!(!text.contains(CANARY), "{}: {text}", path.display());
            let is_record = path.starts_with(bed.home().join(".local"));
            assert!(
                is_record || !text.contains("prompt-words"),
                "{}: {text}",
                path.display()
            );
        }
    }
}

/// A key that is in a file, in the environment of the program itself, or in what commands print: the model, the
/// disk, the screen and the collector see a mask.
#[test]
fn a_known_key_is_masked_wherever_tools_find_it() {
    let bash = |command: &str| json!({ "command": command });
    let long = "for n in $(seq 2500); do printf sk-canary-; printf '0123456789\\n'; done";
    let calls = [
        ("bash", bash("cat key")),
        ("bash", bash(long)),
        (
            "bash",
            bash("base64 key; tr '\\0' '\\n' < /proc/$PPID/environ"),
        ),
        (
            "bash",
            json!({ "command": "cat key; echo over", "background": true }),
        ),
        ("read", json!({ "path": "key" })),
        ("grep", json!({ "pattern": "canary" })),
        ("bash", bash("env; tr '\\0' '\\n' < /proc/self/environ")),
    ];
    let mut first = Reply::says("I look.");
    for (n, (tool, arguments)) in calls.iter().enumerate() {
        first = first.and_calls(&format!("c{n}"), tool, arguments);
    }
    let server = Server::replies(Wire::Chat, &[first, Reply::says("Done.")]);
    let (bed, url) = (Bed::new(), server.url());
    bed.write("key", format!("the key is {CANARY}\n"));
    bed.write("AGENTS.md", format!("Never say {CANARY}.\n"));
    let before = bed.files();
    // Not the key of the service that is asked.
    let arguments = [
        "-m",
        "x/y",
        "--base-url",
        &url,
        "--output",
        "json",
        "--trace",
        "trace.json",
        "look at @key",
    ];
    let ended = bed
        .run(&arguments)
        .env("OPENAI_API_KEY", CANARY)
        .env("OTEL_INSTRUMENTATION_GENAI_CAPTURE_MESSAGE_CONTENT", "true")
        .end()
        .exits(0);
    let requests = server.requests();
    let results = Wire::Chat.results(&requests[1].body);
    let texts: Vec<&str> = results.iter().map(|(_, text)| text.as_str()).collect();
    for (text, words) in texts.iter().zip([
        "the key is [key]",
        "[key]\n[key]\n",
        "OPENAI_API_KEY=[key]",
        "the key is [key]",
        "the key is [key]",
        "the key is [key]",
        "HOME=",
    ]) {
        assert!(text.contains(words), "{words}: {text}");
    }
    assert!(!texts[6].contains("[key]"), "a child has it: {}", texts[6]);
    let system = Wire::Chat.system(&requests[0].body);
    assert!(system.contains("Never say [key]."), "{system}");
    let prompt = Wire::Chat.prompt(&requests[0].body);
    assert!(prompt.contains("the key is [key]"), "{prompt}");

    let encoded = "1jYW5hcnktMDEy";
    let mut looked_at = 0;
    for path in bed.files().iter().filter(|path| !before.contains(path)) {
        let path = bed.root().join(path);
        if path.is_file() {
            let bytes = std::fs::read(&path).unwrap();
            let text = String::from_utf8_lossy(&bytes);
            assert!(!text.contains(CANARY), "{}: {text}", path.display());
            assert!(!text.contains(encoded), "{}: {text}", path.display());
            looked_at += u32::from(text.contains("[key]"));
        }
    }
    // The session, the trace, and two files of output.
    assert!(looked_at >= 4, "{looked_at}");
    for request in &requests {
        let body = request.body.to_string();
        assert!(!body.contains(CANARY) && !body.contains(encoded), "{body}");
    }
    for printed in [&ended.stdout, &ended.stderr] {
        assert!(
            !printed.contains(CANARY) && !printed.contains(encoded),
            "{printed}"
        );
    }
    let export = bed.harness(&["sessions", "export"]).end().exits(0);
    assert!(export.stdout.contains("[key]"), "{export:#?}");
    assert!(!export.stdout.contains(CANARY), "{export:#?}");
}

/// The same for tools that are called by hand, also for what collectors are sent along.
#[test]
fn a_known_key_is_masked_in_calls_by_hand() {
    let bed = Bed::new();
    bed.write(
        "key",
        format!("{CANARY} header-canary-7 Bearer other-canary acme\n"),
    );
    for call in [
        ["tools", "call", "bash", r#"{"command":"cat key"}"#],
        ["tools", "call", "read", r#"{"path":"key"}"#],
    ] {
        let ended = bed
            .harness(&call)
            .env("GROQ_API_KEY", CANARY)
            .env(
                "OTEL_EXPORTER_OTLP_HEADERS",
                "x-key=header-canary-7,Authorization=Bearer%20other-canary,x-tenant=acme",
            )
            .end()
            .exits(0);
        is_silent(&ended);
        assert!(
            ended.stdout.contains("[key] [key] [key] acme"),
            "{ended:#?}"
        );
    }
}
