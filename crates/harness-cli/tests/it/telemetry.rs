//! Telemetry: when a run sends something, what the variables say, and what is wrong with them.

use serde_json::{Value, json};

use crate::collector::{Behaviour, Collector, Span, attribute, recorded};
use crate::program::{Bed, Start};

/// What the runs of these tests answer.
pub(crate) const ANSWER: &str = "It is done.";

/// A call of a tool, and then an answer.
pub(crate) fn play(bed: &Bed, more: &[&str]) -> Start {
    let call = json!({ "tool": "bash", "arguments": { "command": "echo $((20 + 3))" } });
    let script = json!({ "turns": [{ "calls": [call] }, { "text": ANSWER }] });
    bed.write("script.json", script.to_string());
    bed.run(&[&["-m", "scripted:script.json", "Do it."], more].concat())
}

/// A run with variables that begins as without any.
#[track_caller]
fn play_with(variables: &[(&str, &str)]) -> String {
    let bed = Bed::new();
    let ended = play(&bed, &[]).envs(variables).end();
    ended.exits(0).answers(ANSWER).stderr
}

const JSON: (&str, &str) = ("OTEL_EXPORTER_OTLP_PROTOCOL", "http/json");

#[test]
fn off_without_a_variable_that_switches_it_on() {
    let bed = Bed::new();
    let ended = play(&bed, &["--no-session"]).end().exits(0);
    assert_eq!(ended.stderr, "");
    let files = bed.files();
    let collector = Collector::accepting();
    let url = collector.url();
    let endpoint = ("OTEL_EXPORTER_OTLP_ENDPOINT", url.as_str());
    let path = format!("{url}/v1/traces");
    let traces = ("OTEL_EXPORTER_OTLP_TRACES_ENDPOINT", path.as_str());
    let none = ("OTEL_TRACES_EXPORTER", "none");
    let no_metrics = ("OTEL_METRICS_EXPORTER", "none");
    for variables in [
        &[JSON, ("OTEL_SERVICE_NAME", "x")][..],
        &[
            ("OTEL_INSTRUMENTATION_GENAI_CAPTURE_MESSAGE_CONTENT", "true"),
            ("OTEL_PROPAGATORS", "tracecontext"),
        ],
        &[JSON, endpoint, ("OTEL_SDK_DISABLED", "true")],
        &[JSON, endpoint, ("OTEL_SDK_DISABLED", "TRUE")],
        &[JSON, endpoint, none, no_metrics],
        &[JSON, traces, none],
        &[JSON, ("OTEL_EXPORTER_OTLP_ENDPOINT", " ")],
        &[JSON, ("OTEL_EXPORTER_OTLP_ENDPOINT", "")],
        // What is wrong is nothing to somebody who wants nothing.
        &[("OTEL_EXPORTER_OTLP_PROTOCOL", "foo")],
        &[
            ("OTEL_TRACES_SAMPLER", "foo"),
            ("OTEL_BSP_SCHEDULE_DELAY", "x"),
        ],
        &[("OTEL_RESOURCE_ATTRIBUTES", "none of these")],
        &[
            endpoint,
            ("OTEL_SDK_DISABLED", "true"),
            ("OTEL_RESOURCE_ATTRIBUTES", "none of these"),
        ],
    ] {
        let ended = play(&bed, &["--no-session"]).envs(variables).end();
        let ended = ended.exits(0).answers(ANSWER);
        assert_eq!(ended.stderr, "", "{variables:?}");
        assert_eq!(bed.files(), files, "{variables:?}");
    }
    assert!(collector.requests().is_empty());
}

/// On by each of the variables that name a collector, at the address that they mean.
#[test]
fn on_by_the_variables_that_name_a_collector() {
    for (variables, paths) in [
        (
            &[("OTEL_EXPORTER_OTLP_ENDPOINT", "/")][..],
            &["/v1/traces", "/v1/metrics"][..],
        ),
        (
            &[("OTEL_EXPORTER_OTLP_ENDPOINT", "/base")],
            &["/base/v1/traces", "/base/v1/metrics"],
        ),
        (
            &[("OTEL_EXPORTER_OTLP_TRACES_ENDPOINT", "/as/it/is?is=1")],
            &["/as/it/is?is=1"],
        ),
        (&[("OTEL_EXPORTER_OTLP_METRICS_ENDPOINT", "/m/")], &["/m/"]),
        (
            &[
                ("OTEL_EXPORTER_OTLP_ENDPOINT", "/base/"),
                ("OTEL_EXPORTER_OTLP_TRACES_ENDPOINT", "/t"),
                ("OTEL_METRICS_EXPORTER", "none"),
            ],
            &["/t"],
        ),
        (
            &[
                ("OTEL_TRACES_EXPORTER", "otlp"),
                ("OTEL_EXPORTER_OTLP_ENDPOINT", "/"),
                ("OTEL_SDK_DISABLED", "1"),
            ],
            &["/v1/traces", "/v1/metrics"],
        ),
    ] {
        let collector = Collector::accepting();
        let bed = Bed::new();
        let mut start = play(&bed, &[]).envs(&[JSON]);
        for (name, value) in variables {
            let value = if name.ends_with("ENDPOINT") {
                format!("{}{value}", collector.url())
            } else {
                (*value).to_owned()
            };
            start = start.env(name, value);
        }
        let ended = start.end().exits(0).answers(ANSWER);
        assert_eq!(ended.stderr, "", "{variables:?}");
        let requests = collector.requests();
        let mut came: Vec<&str> = requests.iter().map(|it| it.path.as_str()).collect();
        came.sort_unstable_by_key(|path| path.contains("metrics"));
        assert_eq!(came, paths, "{variables:?}");
        for request in &requests {
            assert_eq!(request.method, "POST");
            assert_eq!(request.header("content-type"), Some("application/json"));
        }
    }
}

/// Protobuf is the usual protocol.
#[test]
fn the_protocol_is_the_one_of_the_variables() {
    for (protocol, kind) in [
        ("", "application/x-protobuf"),
        ("http/protobuf", "application/x-protobuf"),
        ("http/json", "application/json"),
    ] {
        let collector = Collector::accepting();
        let url = collector.url();
        let said = play_with(&[
            ("OTEL_EXPORTER_OTLP_ENDPOINT", &url),
            ("OTEL_EXPORTER_OTLP_PROTOCOL", protocol),
        ]);
        assert_eq!(said, "");
        let requests = collector.requests();
        assert_eq!(requests.len(), 2, "{protocol}");
        for request in requests {
            assert_eq!(request.header("content-type"), Some(kind), "{protocol}");
        }
    }
}

/// Without an address it is the usual one, which `harness doctor` shows.
#[test]
fn on_by_the_exporter_alone() {
    for (variables, spans, metrics) in [
        (&[][..], "nowhere", "nowhere"),
        (
            &[("OTEL_TRACES_EXPORTER", "otlp")],
            "http://localhost:4318/v1/traces",
            "nowhere",
        ),
        (
            &[
                ("OTEL_METRICS_EXPORTER", "otlp"),
                ("OTEL_EXPORTER_OTLP_PROTOCOL", "grpc"),
            ],
            "nowhere",
            "http://localhost:4317",
        ),
        (
            &[("OTEL_EXPORTER_OTLP_ENDPOINT", "http://me:hush@h:1/p?q=hush")],
            "http://h:1/p",
            "http://h:1/p",
        ),
    ] {
        let report = doctor(variables, 0);
        for (name, value) in [("spans go to", spans), ("metrics go to", metrics)] {
            let found = report
                .lines()
                .find_map(|line| line.trim().strip_prefix(name));
            let found = found.unwrap().trim();
            assert!(found.starts_with(value), "{name}: {found}");
        }
        assert!(!report.contains("hush"), "{report}");
    }
}

fn doctor(variables: &[(&str, &str)], code: i32) -> String {
    let bed = Bed::new();
    bed.write("script.json", r#"{"turns": [{"text": "Hi."}]}"#);
    let doctor = bed.harness(&["doctor", "-m", "scripted:script.json"]);
    let ended = doctor.envs(variables).end().exits(code);
    assert_eq!(ended.stderr, "");
    ended.stdout
}

/// A value that cannot be used is told in one line, without what may be secret in it, and the run goes on.
#[test]
fn values_that_cannot_be_used() {
    let collector = Collector::accepting();
    let url = collector.url();
    let endpoint = ("OTEL_EXPORTER_OTLP_ENDPOINT", url.as_str());
    for (name, value, words) in [
        ("OTEL_EXPORTER_OTLP_PROTOCOL", "foo", "`foo`"),
        ("OTEL_EXPORTER_OTLP_TRACES_PROTOCOL", "foo", "`foo`"),
        ("OTEL_EXPORTER_OTLP_HEADERS", "hush", "NAME=VALUE"),
        ("OTEL_EXPORTER_OTLP_HEADERS", "=hush", "NAME=VALUE"),
        ("OTEL_EXPORTER_OTLP_HEADERS", "a=hush,hush", "NAME=VALUE"),
        ("OTEL_EXPORTER_OTLP_HEADERS", "a=hush%ff", "NAME=VALUE"),
        ("OTEL_EXPORTER_OTLP_HEADERS", "a=hush%0ahush", "\"a\""),
        ("OTEL_EXPORTER_OTLP_HEADERS", "a b=hush", "NAME=VALUE"),
        (
            "OTEL_EXPORTER_OTLP_HEADERS",
            "a: Basic hush==",
            "NAME=VALUE",
        ),
        ("OTEL_EXPORTER_OTLP_METRICS_HEADERS", "hush", "NAME=VALUE"),
        ("OTEL_EXPORTER_OTLP_TIMEOUT", "abc", "`abc`"),
        ("OTEL_EXPORTER_OTLP_TRACES_TIMEOUT", "-1", "`-1`"),
        ("OTEL_EXPORTER_OTLP_TIMEOUT", "0", "time"),
        ("OTEL_EXPORTER_OTLP_CERTIFICATE", "absent.pem", "absent.pem"),
        (
            "OTEL_EXPORTER_OTLP_CERTIFICATE",
            "script.json",
            "certificate",
        ),
        (
            "OTEL_EXPORTER_OTLP_TRACES_ENDPOINT",
            "ftp://me:hush@h",
            "http://",
        ),
        ("OTEL_EXPORTER_OTLP_TRACES_ENDPOINT", "h:4318", "http://"),
        (
            "OTEL_EXPORTER_OTLP_TRACES_ENDPOINT",
            "http://me:hush@",
            "host",
        ),
        ("OTEL_TRACES_EXPORTER", "zipkin", "`zipkin`"),
        ("OTEL_METRICS_EXPORTER", "console", "`console`"),
        ("OTEL_TRACES_SAMPLER", "foo", "`foo`"),
        ("OTEL_TRACES_SAMPLER_ARG", "2", "`2`"),
        ("OTEL_BSP_SCHEDULE_DELAY", "soon", "`soon`"),
        ("OTEL_BSP_MAX_QUEUE_SIZE", "0", "`0`"),
        ("OTEL_BSP_MAX_EXPORT_BATCH_SIZE", "x", "`x`"),
        ("OTEL_RESOURCE_ATTRIBUTES", "a", "NAME=VALUE"),
    ] {
        let sampler = ("OTEL_TRACES_SAMPLER", "traceidratio");
        let mut variables = vec![JSON, endpoint, sampler];
        variables.retain(|(known, _)| *known != name);
        variables.push((name, value));
        let said = play_with(&variables);
        let lines: Vec<&str> = said.lines().collect();
        assert_eq!(lines.len(), 1, "{name}={value}: {said}");
        let report = doctor(&variables, 2);
        let (_, problems) = report.split_once("\nproblems\n").unwrap();
        for text in [lines[0], problems] {
            assert!(text.contains("nothing is sent to a collector"), "{text}");
            assert!(text.contains(name), "{name}={value}: {text}");
            assert!(text.contains(words), "{name}={value}: {text}");
        }
        for text in [&said, &report] {
            assert!(!text.contains("hush"), "{name}={value}: {text}");
        }
    }
    assert!(collector.requests().is_empty());
}

/// `harness doctor` says that headers are set, not what they are.
#[test]
fn headers_are_sent_and_not_shown() {
    let collector = Collector::accepting();
    let url = collector.url();
    let variables = [
        JSON,
        ("OTEL_EXPORTER_OTLP_ENDPOINT", url.as_str()),
        (
            "OTEL_EXPORTER_OTLP_HEADERS",
            "authorization=Bearer%20hush-1, x-tenant = hush%2C2 ,",
        ),
        ("OTEL_EXPORTER_OTLP_METRICS_HEADERS", "x-other=hush-3"),
    ];
    assert_eq!(play_with(&variables), "");
    for request in collector.requests() {
        let headers = ["authorization", "x-tenant", "x-other"].map(|name| request.header(name));
        let expected = if request.path.ends_with("metrics") {
            [None, None, Some("hush-3")]
        } else {
            [Some("Bearer hush-1"), Some("hush,2"), None]
        };
        assert_eq!(headers, expected, "{}", request.path);
        assert!(!request.body.to_string().contains("hush"));
    }
    assert_eq!(collector.requests().len(), 2);
    let report = doctor(&variables, 0);
    assert!(report.contains("OTEL_EXPORTER_OTLP_HEADERS"), "{report}");
    assert!(!report.contains("hush"), "{report}");
    // Nor where a collector sends back what it got.
    let collector = Collector::start(Behaviour::Status(401));
    let url = collector.url();
    let mut variables = variables;
    variables[1].1 = &url;
    let said = play_with(&variables);
    assert!(said.contains("401") && !said.contains("hush"), "{said}");
}

/// What is said of the program as a whole.
#[test]
fn the_resource_is_what_the_variables_say() {
    let version = env!("CARGO_PKG_VERSION");
    for (variables, expected) in [
        (
            &[][..],
            &[
                ("service.name", Some("harness")),
                ("service.version", Some(version)),
            ][..],
        ),
        (
            &[("OTEL_SERVICE_NAME", "my agent")],
            &[("service.name", Some("my agent"))],
        ),
        (
            &[(
                "OTEL_RESOURCE_ATTRIBUTES",
                "service.name=other,team=a%2Cb%20%C3%A4, deployment.environment.name = test",
            )],
            &[
                ("service.name", Some("other")),
                ("team", Some("a,b ä")),
                ("deployment.environment.name", Some("test")),
            ],
        ),
        (
            &[
                ("OTEL_RESOURCE_ATTRIBUTES", "service.name=other,host.name=h"),
                ("OTEL_SERVICE_NAME", "mine"),
            ],
            &[("service.name", Some("mine")), ("host.name", Some("h"))],
        ),
    ] {
        let collector = Collector::accepting();
        let bed = Bed::new();
        let start = recorded(play(&bed, &[]), &collector.url());
        let ended = start.envs(variables).end().exits(0);
        assert_eq!(ended.stderr, "");
        assert!(collector.requests().len() >= 2);
        for request in collector.requests() {
            let body = &request.body;
            let spans = &body["resourceSpans"][0]["resource"];
            let metrics = &body["resourceMetrics"][0]["resource"];
            let resource = if spans.is_null() { metrics } else { spans };
            let attributes = &resource["attributes"];
            for (key, value) in expected {
                assert_eq!(attribute(attributes, key), *value, "{attributes}");
            }
            let all = attributes.as_array().unwrap();
            let named = |it: &&Value| it["key"] == "service.name";
            assert_eq!(all.iter().filter(named).count(), 1, "{attributes}");
        }
    }
}

#[test]
fn traces_are_sampled() {
    for (sampler, argument, all) in [
        ("always_off", "", false),
        ("always_on", "", true),
        ("traceidratio", "0", false),
        ("traceidratio", "1.0", true),
        ("parentbased_always_off", "", false),
        ("parentbased_traceidratio", "0", false),
        ("parentbased_traceidratio", "", true),
    ] {
        let collector = Collector::accepting();
        let bed = Bed::new();
        let start = recorded(play(&bed, &[]), &collector.url())
            .env("OTEL_TRACES_SAMPLER", sampler)
            .env("OTEL_TRACES_SAMPLER_ARG", argument);
        let ended = start.end().exits(0).answers(ANSWER);
        assert_eq!(ended.stderr, "", "{sampler}");
        assert_eq!(collector.spans().is_empty(), !all, "{sampler} {argument}");
        // They are of all runs.
        let requests = collector.requests();
        let measured = requests.iter().any(|it| it.path == "/v1/metrics");
        assert!(measured, "{sampler}");
    }
}

#[test]
fn metrics_are_sent_to_a_collector_of_their_own() {
    let collector = Collector::accepting();
    let url = format!("{}/m", collector.url());
    let said = play_with(&[JSON, ("OTEL_EXPORTER_OTLP_METRICS_ENDPOINT", &url)]);
    assert_eq!(said, "");
    let requests = collector.requests();
    assert_eq!(requests.len(), 1);
    let scope = &requests[0].body["resourceMetrics"][0]["scopeMetrics"][0];
    let metrics = scope["metrics"].as_array().unwrap();
    let mut names: Vec<(&str, &str)> = metrics
        .iter()
        .map(|it| (it["name"].as_str().unwrap(), it["unit"].as_str().unwrap()))
        .collect();
    names.sort_unstable();
    assert_eq!(
        names,
        [
            ("gen_ai.client.operation.duration", "s"),
            ("gen_ai.client.operation.time_to_first_chunk", "s"),
            ("gen_ai.execute_tool.duration", "s"),
            ("gen_ai.invoke_agent.duration", "s"),
            ("harness.run.duration", "s"),
        ]
    );
    let of = |name: &str| metrics.iter().find(|it| it["name"] == name).unwrap();
    let points = &of("gen_ai.client.operation.duration")["histogram"]["dataPoints"];
    assert_eq!(points[0]["count"], "2", "{points}");
    let attributes = &points[0]["attributes"];
    assert_eq!(attribute(attributes, "gen_ai.operation.name"), Some("chat"));
    assert_eq!(
        attribute(attributes, "gen_ai.provider.name"),
        Some("scripted")
    );
    let points = &of("harness.run.duration")["histogram"]["dataPoints"];
    let attributes = &points[0]["attributes"];
    assert_eq!(
        attribute(attributes, "harness.run.outcome"),
        Some("finished")
    );
}

/// There is no log: no variable of a library makes one.
#[test]
fn tel_12_no_variable_switches_a_log_on() {
    let collector = Collector::accepting();
    let bed = Bed::new();
    let loud = [
        ("RUST_LOG", "trace"),
        ("HARNESS_LOG", "trace"),
        ("OTEL_LOG_LEVEL", "debug"),
        ("RUST_BACKTRACE", "full"),
        ("REQWEST_LOG", "trace"),
    ];
    for start in [
        play(&bed, &[]),
        recorded(play(&bed, &[]), &collector.url()),
        play(&bed, &["--trace", "trace.json"]),
    ] {
        let ended = start.envs(&loud).end().exits(0).answers(ANSWER);
        assert_eq!(ended.stderr, "");
    }
    assert!(!collector.spans().is_empty());
    // What other libraries trace is not exported, either.
    let spans = collector.spans();
    let names = ["harness.", "chat ", "invoke_agent ", "execute_tool "];
    let known = |span: &Span| names.iter().any(|name| span.name().starts_with(name));
    assert!(spans.iter().all(known), "{spans:#?}");
}

#[test]
fn what_can_be_recorded_is_listed() {
    let bed = Bed::new();
    let ended = bed.harness(&["telemetry"]).end().exits(0);
    assert_eq!(ended.stderr, "");
    let names = [
        "harness.run",
        "harness.session.write",
        "invoke_agent {agent}",
        "execute_tool {tool}",
        "gen_ai.client.operation.duration",
        "gen_ai.input.messages",
    ];
    for name in names {
        assert!(ended.stdout.contains(name), "{name}: {}", ended.stdout);
    }
    let ended = bed.harness(&["telemetry", "--output", "json"]).end();
    let events = ended.exits(0).events();
    assert_eq!(events.len(), 1);
    let text = events[0].to_string();
    for name in names {
        assert!(text.contains(&format!("\"{name}\"")), "{name}: {text}");
    }
    bed.harness(&["telemetry", "--output", "yaml"])
        .end()
        .exits(2);
}
