//! What is chosen when nothing is configured. The rest shows from outside: see `tests/it`.

use std::io::{BufRead, BufReader, Write};
use std::net::TcpListener;
use std::time::Duration;

use super::*;

/// A wait that no machine is too slow for.
const LONG: Duration = Duration::from_secs(20);

/// A listener on this machine, and its address.
fn listener() -> (TcpListener, String) {
    let listener = TcpListener::bind("127.0.0.1:0").unwrap();
    let address = format!("http://{}/v1", listener.local_addr().unwrap());
    (listener, address)
}

/// An address that answers each request with this document, for as long as the tests run.
fn answering(document: &'static str) -> String {
    let (listener, address) = listener();
    std::thread::spawn(move || {
        for stream in listener.incoming() {
            let mut stream = stream.unwrap();
            let lines = BufReader::new(stream.try_clone().unwrap()).lines();
            lines
                .map_while(Result::ok)
                .take_while(|line| !line.is_empty())
                .for_each(drop);
            let length = document.len();
            let _ = write!(
                stream,
                "HTTP/1.1 200 OK\r\ncontent-length: {length}\r\n\r\n{document}"
            );
        }
    });
    address
}

/// An address where nobody listens.
fn dead() -> String {
    listener().1
}

fn named(name: &str, address: String) -> &'static Service {
    Box::leak(Box::new(Service {
        base_url: address.leak(),
        ..*services::service(name).unwrap()
    }))
}

/// What is chosen, and why, when these answer as they do and nothing is configured.
fn chosen(services: Vec<&'static Service>, wait: Duration) -> (String, String) {
    let runtime = tokio::runtime::Builder::new_current_thread()
        .enable_all()
        .build()
        .unwrap();
    let local = LocalServers { services, wait };
    let (settings, environment) = (Settings::default(), Environment::bare());
    let choice = runtime.block_on(Choice::make(&settings, &environment, &local));
    let choice = choice.map_err(|failure| failure.text()).unwrap();
    let name = match choice.target {
        Target::Service(service) => service.info.id.to_string(),
        Target::Demo => "demo".to_owned(),
        Target::Scripted(_) | Target::Idle => "another".to_owned(),
    };
    (name, choice.because)
}

#[test]
fn the_first_local_server_that_answers_is_asked() {
    let models = answering(r#"{"object":"list","data":[{"id":"qwen3"},{"id":"other"}]}"#);
    let more = answering(r#"{"object":"list","data":[{"id":"second"}]}"#);
    let none = answering(r#"{"object":"list","data":[]}"#);
    let page = answering("<html>not a model server</html>");
    let (name, because) = chosen(
        vec![
            named("ollama", dead()),
            named("lmstudio", none),
            named("llamacpp", models.clone()),
            named("vllm", more),
        ],
        LONG,
    );
    assert_eq!(name, "llamacpp/qwen3");
    assert_eq!(because, format!("it answers at {models}"));
    let (name, because) = chosen(vec![named("ollama", dead()), named("vllm", page)], LONG);
    assert_eq!(name, "demo");
    assert!(because.contains("no local server answers"), "{because}");
}

#[test]
fn a_local_server_that_hangs_is_not_waited_for_long() {
    let (_listener, address) = listener();
    let services = vec![named("ollama", address)];
    assert_eq!(chosen(services, Duration::from_millis(50)).0, "demo");
}

#[test]
fn the_usual_local_servers_are_asked_for_a_tenth_of_a_second() {
    let local = LocalServers::usual();
    assert_eq!(local.wait, Duration::from_millis(100));
    let names: Vec<&str> = local.services.iter().map(|service| service.name).collect();
    assert_eq!(names, ["ollama", "lmstudio", "llamacpp", "vllm"]);
}
