//! Connections, proxies, certificates, timeouts, cancellation.

use std::io::{Read, Write};
use std::net::{TcpListener, TcpStream};
use std::sync::{Arc, Mutex};
use std::thread;
use std::time::{Duration, Instant};

use futures::StreamExt;
use harness_core::{CancellationToken, Model, ModelError, ModelEvent, TraceContext};
use harness_providers::{HttpOptions, OpenAi, ProxyOptions};
use tokio::io::{AsyncReadExt, AsyncWriteExt};

use crate::line::{chat, complete, events, hello, run};
use crate::server::{Answer, Server};

const EVENTS: &str = "data: {\"choices\":[{\"delta\":{\"content\":\"Hi\"},\"finish_reason\":\"stop\"}]}\n\ndata: [DONE]\n\n";

#[test]
fn connections_are_used_again() {
    let server = Server::start(vec![
        Answer::kept(EVENTS),
        Answer::kept(EVENTS),
        Answer::kept(EVENTS),
    ]);
    let model: Arc<dyn Model> = Arc::new(chat(&server));
    run(async {
        for _ in 0..3 {
            let mut request = hello(chat(&server));
            request.model = Arc::clone(&model);
            assert_eq!(complete(request).await.unwrap().text(), "Hi");
            // A task of its own reads the answer to its end, which has already arrived.
            for _ in 0..200 {
                tokio::task::yield_now().await;
            }
        }
    });
    let connections: Vec<usize> = server.seen().iter().map(|seen| seen.connection).collect();
    assert_eq!(connections, [0, 0, 0]);
}

#[test]
fn a_request_tells_its_place_in_a_trace_only_if_it_has_one() {
    const PARENT: &str = "00-0af7651916cd43dd8448eb211c80319c-b7ad6b7169203331-01";
    let server = Server::start(vec![
        Answer::events(EVENTS),
        Answer::events(EVENTS),
        Answer::events(EVENTS),
    ]);
    run(async {
        complete(hello(chat(&server))).await.unwrap();
        let mut request = hello(chat(&server));
        request.trace = TraceContext::new(PARENT, Some("vendor=1"));
        complete(request).await.unwrap();
        let mut request = hello(chat(&server).header("traceparent", "own"));
        request.trace = TraceContext::new(PARENT, None);
        complete(request).await.unwrap();
    });
    let seen = server.seen();
    let sent: Vec<_> = seen
        .iter()
        .map(|seen| (seen.header("traceparent"), seen.header("tracestate")))
        .collect();
    let expected = [
        (None, None),
        (Some(PARENT), Some("vendor=1")),
        (Some("own"), None),
    ];
    assert_eq!(sent, expected);
}

#[test]
fn nobody_there() {
    let port = TcpListener::bind("127.0.0.1:0")
        .unwrap()
        .local_addr()
        .unwrap()
        .port();
    let model = OpenAi::chat("m", "sk-test-key").base_url(format!("http://127.0.0.1:{port}"));
    let error = run(complete(hello(model))).unwrap_err();
    let ModelError::Connection { url, message } = &error else {
        panic!("{error:?}")
    };
    assert_eq!(*url, format!("http://127.0.0.1:{port}/v1/chat/completions"));
    assert!(message.contains("refused"), "{message}");
    assert!(error.is_retryable());
}

#[test]
fn a_connection_closed_without_an_answer() {
    let server = Server::start(vec![]);
    let error = run(complete(hello(chat(&server)))).unwrap_err();
    assert_eq!(error.word(), "connection");
}

#[test]
fn prov_11_a_stall_is_a_timeout_after_what_came() {
    let head = b"HTTP/1.1 200 OK\r\ncontent-type: text/event-stream\r\n\r\n".to_vec();
    let first = b"data: {\"choices\":[{\"delta\":{\"content\":\"a\"}}]}\n\n".to_vec();
    let server = Server::start(vec![
        Answer::Stall(vec![head.clone(), first]),
        Answer::Stall(vec![head]),
        Answer::Stall(vec![]),
    ]);
    let options = HttpOptions::default().idle_timeout(Duration::from_millis(150));
    run(async {
        let request = hello(chat(&server).http(options.clone()));
        let model = Arc::clone(&request.model);
        let mut stream = model
            .stream(request, CancellationToken::new())
            .await
            .unwrap();
        let mut text = String::new();
        let error = loop {
            match stream.next().await.unwrap() {
                Ok(ModelEvent::Text { delta, .. }) => text.push_str(&delta),
                Ok(_) => {}
                Err(error) => break error,
            }
        };
        assert_eq!((text.as_str(), error.word()), ("a", "timeout"));
        assert!(stream.next().await.is_none());
        // Before the first event, and before the head of the answer.
        for _ in 0..2 {
            let request = hello(chat(&server).http(options.clone()));
            assert_eq!(complete(request).await.unwrap_err().word(), "timeout");
        }
    });
}

#[test]
fn a_complete_reply_does_not_wait_for_a_silent_end() {
    let head = b"HTTP/1.1 200 OK\r\ncontent-type: text/event-stream\r\n\r\n".to_vec();
    let reply =
        b"data: {\"choices\":[{\"delta\":{\"content\":\"a\"},\"finish_reason\":\"stop\"}]}\n\n"
            .to_vec();
    let server = Server::start(vec![Answer::Stall(vec![head, reply])]);
    let options = HttpOptions::default().idle_timeout(Duration::from_millis(150));
    let reply = run(complete(hello(chat(&server).http(options)))).unwrap();
    assert_eq!(reply.text(), "a");
}

#[test]
fn cancelling_ends_a_request_while_connecting_and_while_streaming() {
    let head = b"HTTP/1.1 200 OK\r\ncontent-type: text/event-stream\r\n\r\n".to_vec();
    let first = b"data: {\"choices\":[{\"delta\":{\"content\":\"a\"}}]}\n\n".to_vec();
    let server = Server::start(vec![
        Answer::Stall(vec![]),
        Answer::Stall(vec![head, first]),
    ]);
    run(async {
        let start = Instant::now();
        let cancel = CancellationToken::new();
        let request = hello(chat(&server));
        let model = Arc::clone(&request.model);
        let waiting = model.stream(request, cancel.clone());
        let (result, ()) = tokio::join!(waiting, async {
            while server.seen().is_empty() {
                tokio::task::yield_now().await;
            }
            cancel.cancel();
        });
        assert_eq!(result.err(), Some(ModelError::Cancelled));

        let cancel = CancellationToken::new();
        let request = hello(chat(&server));
        let mut stream = model.stream(request, cancel.clone()).await.unwrap();
        assert!(matches!(
            stream.next().await,
            Some(Ok(ModelEvent::Start { .. }))
        ));
        assert!(matches!(
            stream.next().await,
            Some(Ok(ModelEvent::Text { .. }))
        ));
        cancel.cancel();
        assert_eq!(stream.next().await, Some(Err(ModelError::Cancelled)));
        assert_eq!(stream.next().await, None);
        assert!(start.elapsed() < Duration::from_secs(5));
    });
}

#[test]
fn thousands_of_events_in_one_reply() {
    let event = |n| format!("data: {{\"choices\":[{{\"delta\":{{\"content\":\"w{n} \"}}}}]}}\n\n");
    let mut text: String = (0..20_000).map(event).collect();
    text.push_str(EVENTS);
    let server = Server::start(vec![Answer::events(&text)]);
    let events = run(events(hello(chat(&server)))).unwrap();
    let deltas = events
        .iter()
        .filter(|event| matches!(event, ModelEvent::Text { .. }))
        .count();
    assert_eq!(deltas, 20_001);
}

/// A proxy that tunnels, or passes on, to whatever it is asked for; it writes down the first lines.
fn proxy(target_port: u16) -> (u16, Arc<Mutex<Vec<String>>>) {
    let listener = TcpListener::bind("127.0.0.1:0").unwrap();
    let port = listener.local_addr().unwrap().port();
    let lines = Arc::new(Mutex::new(Vec::new()));
    let log = Arc::clone(&lines);
    thread::spawn(move || {
        for client in listener.incoming() {
            let mut client = client.unwrap();
            let log = Arc::clone(&log);
            thread::spawn(move || {
                let mut head = Vec::new();
                let mut byte = [0];
                while !head.ends_with(b"\r\n\r\n") {
                    if client.read(&mut byte).unwrap_or(0) == 0 {
                        return;
                    }
                    head.push(byte[0]);
                }
                let text = String::from_utf8_lossy(&head).into_owned();
                let line = text.lines().next().unwrap().to_owned();
                log.lock().unwrap().push(line.clone());
                let mut server = TcpStream::connect(("127.0.0.1", target_port)).unwrap();
                if line.starts_with("CONNECT") {
                    client
                        .write_all(b"HTTP/1.1 200 Connection established\r\n\r\n")
                        .unwrap();
                } else {
                    server.write_all(&head).unwrap();
                }
                let mut back = (server.try_clone().unwrap(), client.try_clone().unwrap());
                let copy = thread::spawn(move || std::io::copy(&mut back.0, &mut back.1));
                let _ = std::io::copy(&mut client, &mut server);
                let _ = copy.join();
            });
        }
    });
    (port, lines)
}

fn proxied(port: u16, no_proxy: &[&str]) -> HttpOptions {
    let url = format!("http://127.0.0.1:{port}");
    HttpOptions::default().proxy(ProxyOptions {
        http: Some(url.clone()),
        https: Some(url),
        no_proxy: no_proxy.iter().map(|entry| (*entry).to_owned()).collect(),
    })
}

/// An authority and a service with a certificate of it for `private.test`; answers each connection once.
fn tls_server() -> (String, u16) {
    let authority_key = rcgen::KeyPair::generate().unwrap();
    let mut authority = rcgen::CertificateParams::new(Vec::new()).unwrap();
    authority.is_ca = rcgen::IsCa::Ca(rcgen::BasicConstraints::Unconstrained);
    let authority_pem = authority.self_signed(&authority_key).unwrap().pem();
    let issuer = rcgen::Issuer::new(authority, authority_key);
    let key = rcgen::KeyPair::generate().unwrap();
    let certificate = rcgen::CertificateParams::new(vec!["private.test".to_owned()])
        .unwrap()
        .signed_by(&key, &issuer)
        .unwrap();
    let key = rustls_key(&key);
    let config = tokio_rustls::rustls::ServerConfig::builder_with_provider(Arc::new(
        tokio_rustls::rustls::crypto::ring::default_provider(),
    ))
    .with_safe_default_protocol_versions()
    .unwrap()
    .with_no_client_auth()
    .with_single_cert(vec![certificate.der().clone()], key)
    .unwrap();
    let acceptor = tokio_rustls::TlsAcceptor::from(Arc::new(config));
    let listener = TcpListener::bind("127.0.0.1:0").unwrap();
    let port = listener.local_addr().unwrap().port();
    listener.set_nonblocking(true).unwrap();
    thread::spawn(move || {
        run(async move {
            let listener = tokio::net::TcpListener::from_std(listener).unwrap();
            loop {
                let (stream, _) = listener.accept().await.unwrap();
                let acceptor = acceptor.clone();
                tokio::spawn(async move {
                    let Ok(mut stream) = acceptor.accept(stream).await else {
                        return;
                    };
                    let mut head = vec![0; 64 * 1024];
                    let _ = stream.read(&mut head).await;
                    let answer = format!(
                        "HTTP/1.1 200 OK\r\ncontent-type: text/event-stream\r\nconnection: \
                         close\r\n\r\n{EVENTS}"
                    );
                    let _ = stream.write_all(answer.as_bytes()).await;
                    let _ = stream.shutdown().await;
                });
            }
        });
    });
    (authority_pem, port)
}

fn rustls_key(key: &rcgen::KeyPair) -> tokio_rustls::rustls::pki_types::PrivateKeyDer<'static> {
    tokio_rustls::rustls::pki_types::PrivateKeyDer::try_from(key.serialize_der()).unwrap()
}

#[test]
fn prov_15_an_extra_certificate_counts_for_the_address_behind_a_proxy() {
    let (authority, port) = tls_server();
    let (proxy_port, lines) = proxy(port);
    let ask = |options: HttpOptions| {
        let model = OpenAi::chat("m", "k").base_url(format!("https://private.test:{port}"));
        run(complete(hello(model.http(options))))
    };
    let reply = ask(proxied(proxy_port, &[]).extra_ca_pem(authority)).unwrap();
    assert_eq!(reply.text(), "Hi");
    assert_eq!(
        *lines.lock().unwrap(),
        [format!("CONNECT private.test:{port} HTTP/1.1")]
    );
    // Without it the certificate is refused, and the words say so.
    let error = ask(proxied(proxy_port, &[])).unwrap_err();
    assert_eq!(error.word(), "connection");
    assert!(error.to_string().contains("certificate"), "{error}");
}

#[test]
fn prov_15_plain_addresses_go_through_their_proxy() {
    let server = Server::start(vec![Answer::events(EVENTS)]);
    let (proxy_port, lines) = proxy(server.port);
    let model = OpenAi::chat("m", "k").base_url("http://somewhere.test/v1");
    let reply = run(complete(hello(model.http(proxied(proxy_port, &[]))))).unwrap();
    assert_eq!(reply.text(), "Hi");
    assert_eq!(
        *lines.lock().unwrap(),
        ["POST http://somewhere.test/v1/chat/completions HTTP/1.1"]
    );
}

#[test]
fn prov_15_this_machine_and_excluded_hosts_are_reached_directly() {
    let dead = TcpListener::bind("127.0.0.1:0")
        .unwrap()
        .local_addr()
        .unwrap()
        .port();
    let server = Server::start(vec![Answer::events(EVENTS), Answer::events(EVENTS)]);
    for no_proxy in [&[] as &[&str], &["127.0.0.1"]] {
        let options = proxied(dead, no_proxy);
        let reply = run(complete(hello(chat(&server).http(options)))).unwrap();
        assert_eq!(reply.text(), "Hi");
    }
    // Excluded, so that the name itself is what cannot be reached, and not the proxy.
    let excluded = OpenAi::chat("m", "k").base_url("http://excluded.invalid/v1");
    let error = run(complete(hello(excluded.http(
        proxied(dead, &[".invalid"]).connect_timeout(Duration::from_secs(2)),
    ))))
    .unwrap_err();
    assert!(!error.to_string().contains("refused"), "{error}");
    let not_excluded = OpenAi::chat("m", "k").base_url("http://other.invalid/v1");
    let error = run(complete(hello(
        not_excluded.http(proxied(dead, &["excluded.invalid"])),
    )))
    .unwrap_err();
    assert!(error.to_string().contains("refused"), "{error}");
}
