//! Refusals, and keys that must not show in them.

use std::time::Duration;

use harness_core::ModelError;
use harness_providers::{Api, Endpoint};

use crate::line::{anthropic, chat, complete, hello, reply, run};
use crate::server::{Answer, Server};

#[test]
fn a_refusal_is_the_services_own_words() {
    for (status, body, expected) in [
        (
            401,
            r#"{"error":{"message":"Bad key"}}"#,
            "the provider refused the key (status 401): Bad key",
        ),
        (
            429,
            r#"{"error":{"message":"Slow\ndown","code":"rate_limit_exceeded"}}"#,
            "the provider limits the rate of requests (status 429): Slow down",
        ),
        (
            429,
            r#"{"error":{"message":"No money","code":"insufficient_quota"}}"#,
            "the account's quota or credit is used up (status 429): No money",
        ),
        (
            503,
            "<html><title>Busy</title></html>",
            "the provider failed (status 503): HTML page: Busy",
        ),
        (
            400,
            r#"{"error":{"message":"Bad field"}}"#,
            "the provider refused the request (status 400): Bad field",
        ),
        (
            413,
            "",
            "the request is too large for the provider (status 413): Payload Too Large",
        ),
    ] {
        let error = reply(chat, Answer::status(status, "", body)).unwrap_err();
        assert_eq!(error.to_string(), expected);
    }
}

#[test]
fn prov_14_a_404_shows_the_full_address() {
    let server = Server::start(vec![Answer::status(
        404,
        "",
        r#"{"error":{"message":"no"}}"#,
    )]);
    let base = format!(" http://user:pw@127.0.0.1:{}/v9/?k=secret ", server.port);
    let error = run(complete(hello(chat(&server).base_url(base)))).unwrap_err();
    let port = server.port;
    assert_eq!(
        error.to_string(),
        format!("not found at http://127.0.0.1:{port}/v9/chat/completions (status 404): no")
    );
    assert_eq!(server.seen()[0].path(), "/v9/chat/completions?k=secret");
}

#[test]
fn prov_14_the_same_path_for_every_way_to_write_a_base_url() {
    let answers = (0..5).map(|_| Answer::status(500, "", "")).collect();
    let server = Server::start(answers);
    let port = server.port;
    for base in ["", "/", "/v1", "/v1/", "/v1/chat/completions"] {
        let base = format!(" http://127.0.0.1:{port}{base} ");
        run(complete(hello(chat(&server).base_url(base)))).unwrap_err();
    }
    for seen in server.seen() {
        assert_eq!(seen.path(), "/v1/chat/completions");
    }
}

#[test]
fn waiting_times_are_told_on_every_status_that_can_be_waited_for() {
    for (status, header, expected) in [
        (429, "retry-after: 2\r\n", Some(2000)),
        (503, "retry-after: 2\r\n", Some(2000)),
        (
            529,
            "retry-after-ms: 1500\r\nretry-after: 9\r\n",
            Some(1500),
        ),
        (
            408,
            "date: Wed, 21 Oct 2015 07:28:00 GMT\r\nretry-after: Wed, 21 Oct 2015 07:28:03 GMT\r\n",
            Some(3000),
        ),
        (500, "", None),
    ] {
        let error = reply(anthropic, Answer::status(status, header, "")).unwrap_err();
        assert_eq!(
            error.retry_after(),
            expected.map(Duration::from_millis),
            "{status} {header}"
        );
    }
}

#[test]
fn a_key_shows_in_no_text() {
    // Echoed in a body of JSON, in one that is no JSON, in one that is too long, and in a stream.
    let echoes = [
        Answer::status(
            401,
            "",
            r#"{"error":{"message":"Incorrect API key provided: Bearer sk-test-key"}}"#,
        ),
        Answer::status(500, "", "authorization: Bearer sk-test-key"),
        Answer::status(
            500,
            "",
            &format!("{}sk-test-key{}", "x ".repeat(10), "y".repeat(100_000)),
        ),
        Answer::status(302, "location: http://x/?key=sk-test-key\r\n", ""),
        Answer::events("data: {\"error\":{\"message\":\"sk-test-key is no key\"}}\n\n"),
        Answer::events("data: sk-test-key\n\n"),
        Answer::document("text/plain", "{\"key\":\"sk-test-key\"}"),
        Answer::document("text/sk-test-key", "<html>sk-test-key</html>"),
    ];
    for answer in echoes {
        let error = reply(chat, answer.clone()).unwrap_err();
        let text = format!("{error} {error:?}");
        assert!(!text.contains("sk-test-key"), "{text}");
        assert!(text.contains("[key]"), "{text}");
    }
    let server = Server::start(vec![Answer::status(
        400,
        "",
        "saw s3cr3t-token and hush-hush",
    )]);
    let model = chat(&server)
        .header("x-api-token", "s3cr3t-token")
        .header("Cookie", "a hush-hush");
    let shown = format!("{model:?}");
    assert!(
        !shown.contains("s3cr3t") && !shown.contains("sk-test"),
        "{shown}"
    );
    let error = run(complete(hello(model))).unwrap_err().to_string();
    assert!(error.ends_with("saw [key] and [key]"), "{error}");
}

#[test]
fn a_redirect_is_not_followed() {
    let error = reply(
        chat,
        Answer::status(307, "location: https://elsewhere/v1\r\n", ""),
    )
    .unwrap_err();
    assert!(
        error
            .to_string()
            .ends_with("redirects to https://elsewhere/v1"),
        "{error}"
    );
    assert!(!error.is_retryable());
}

#[test]
fn no_key_sends_none_and_a_blank_one_neither() {
    let server = Server::start(vec![
        Answer::status(500, "", ""),
        Answer::status(500, "", ""),
    ]);
    run(complete(hello(chat(&server).no_key()))).unwrap_err();
    let blank = harness_providers::OpenAi::chat("m", " ").base_url(server.url());
    run(complete(hello(blank))).unwrap_err();
    for seen in server.seen() {
        assert_eq!(seen.header("authorization"), None);
    }
}

#[test]
fn a_wrong_configuration_fails_before_any_request_and_is_not_retried() {
    let server = Server::start(vec![]);
    for (model, expected) in [
        (chat(&server).base_url("nowhere"), "has no scheme"),
        (
            chat(&server).header("a b", "c"),
            "the header `a b` cannot be sent",
        ),
        (
            harness_providers::OpenAi::chat("m", "a\nb").base_url(server.url()),
            "line break",
        ),
    ] {
        assert!(model.check().is_err());
        let error = run(complete(hello(model))).unwrap_err();
        assert!(matches!(
            error,
            ModelError::Other {
                retryable: false,
                ..
            }
        ));
        assert!(error.to_string().contains(expected), "{error}");
    }
    assert!(chat(&server).check().is_ok());
    assert!(server.seen().is_empty());
}

#[test]
fn an_unknown_api_lists_the_known_ones() {
    let error = "openai".parse::<Api>().unwrap_err();
    assert_eq!(
        error.to_string(),
        "unknown API `openai`; the APIs are openai-chat, openai-responses, anthropic"
    );
}

#[test]
fn the_list_of_models_and_its_refusals() {
    let list = r#"{"data":[{"id":"a"},{"id":"b","owned_by":null},{"object":"x"}]}"#;
    let server = Server::start(vec![
        Answer::document("application/json", list),
        Answer::status(401, "", "sk-test-key is wrong"),
        Answer::document("text/html", "<html>"),
    ]);
    let endpoint = Endpoint::new(Api::OpenAiChat)
        .base_url(server.url())
        .api_key(Some("sk-test-key".into()));
    assert_eq!(run(endpoint.list_models()).unwrap(), ["a", "b"]);
    let error = run(endpoint.list_models()).unwrap_err().to_string();
    assert_eq!(
        error,
        "the provider refused the key (status 401): [key] is wrong"
    );
    assert_eq!(
        run(endpoint.list_models()).unwrap_err().word(),
        "stream_invalid"
    );
    assert_eq!(server.seen()[0].line, "GET /v1/models HTTP/1.1");
}
