//! What a service says when it refuses, and which [`ModelError`] that is.

use std::borrow::Cow;
use std::time::{Duration, SystemTime};

use harness_core::ModelError;
use reqwest::header::{DATE, HeaderMap, RETRY_AFTER};
use serde_json::Value;

use crate::overflow::overflows;

/// The most bytes of an error's body that are read.
pub(crate) const MAX_ERROR_BYTES: usize = 64 * 1024;

/// The most characters of a service's words that are kept.
const MAX_MESSAGE_CHARS: usize = 600;

/// Words for an account without money.
const QUOTA: &[&str] = &[
    "credit balance is too low",
    "insufficient balance",
    "insufficient credits",
    "insufficient quota",
    "out of credits",
    "requires more credits",
];

/// Words for a wrong key where the status does not say it.
const WRONG_KEY: &[&str] = &["api key not valid", "incorrect api key", "invalid api key"];

#[derive(Clone, Copy, PartialEq, Eq)]
enum Kind {
    Overflow,
    Quota,
    RateLimit,
    Unavailable,
    Authentication,
    NotFound,
    TooLarge,
    Invalid,
}

/// The services' own codes and types, in lower case.
const CODES: &[(&str, Kind)] = &[
    ("context_length_exceeded", Kind::Overflow),
    ("model_context_window_exceeded", Kind::Overflow),
    ("exceed_context_size_error", Kind::Overflow),
    ("insufficient_quota", Kind::Quota),
    ("insufficient_balance", Kind::Quota),
    ("insufficient_credits", Kind::Quota),
    ("billing_error", Kind::Quota),
    ("billing_hard_limit_reached", Kind::Quota),
    ("billing_not_active", Kind::Quota),
    ("quota_exceeded", Kind::Quota),
    ("usage_limit_reached", Kind::Quota),
    ("rate_limit_error", Kind::RateLimit),
    ("rate_limit_exceeded", Kind::RateLimit),
    ("rate_limited", Kind::RateLimit),
    ("too_many_requests", Kind::RateLimit),
    ("resource_exhausted", Kind::RateLimit),
    ("tokens", Kind::RateLimit),
    ("requests", Kind::RateLimit),
    ("overloaded_error", Kind::Unavailable),
    ("overloaded", Kind::Unavailable),
    ("server_error", Kind::Unavailable),
    ("server_is_overloaded", Kind::Unavailable),
    ("slow_down", Kind::Unavailable),
    ("api_error", Kind::Unavailable),
    ("internal_error", Kind::Unavailable),
    ("internal_server_error", Kind::Unavailable),
    ("service_unavailable", Kind::Unavailable),
    ("unavailable", Kind::Unavailable),
    ("timeout", Kind::Unavailable),
    ("timeout_error", Kind::Unavailable),
    ("invalid_api_key", Kind::Authentication),
    ("authentication_error", Kind::Authentication),
    ("permission_error", Kind::Authentication),
    ("model_not_found", Kind::NotFound),
    ("not_found_error", Kind::NotFound),
    ("request_too_large", Kind::TooLarge),
    ("invalid_request_error", Kind::Invalid),
    ("invalid_prompt", Kind::Invalid),
    ("invalid_request", Kind::Invalid),
    ("badrequesterror", Kind::Invalid),
];

/// A refusal, as far as it could be read.
#[derive(Debug, Default)]
pub(crate) struct Refusal {
    /// The HTTP status; `None` for one inside a stream.
    pub(crate) status: Option<u16>,
    /// `code`, `type` and the like.
    pub(crate) codes: Vec<String>,
    /// What the service said, in one line.
    pub(crate) message: String,
    /// How long it asks to wait.
    pub(crate) retry_after: Option<Duration>,
}

impl Refusal {
    /// A refusal with a body of any kind.
    pub(crate) fn from_body(status: u16, headers: &HeaderMap, body: &[u8]) -> Self {
        let text = String::from_utf8_lossy(body);
        let mut refusal = serde_json::from_str::<Value>(&text)
            .map_or_else(|_| Self::default(), |value| Self::from_json(&value));
        refusal.status = Some(status);
        refusal.retry_after = retry_after(headers);
        if refusal.message.is_empty() {
            refusal.message = one_line(&html_title(&text).unwrap_or(text));
        }
        if refusal.message.is_empty() {
            let reason = reqwest::StatusCode::from_u16(status)
                .ok()
                .and_then(|status| status.canonical_reason())
                .unwrap_or("no reason given");
            reason.clone_into(&mut refusal.message);
        }
        refusal
    }

    /// A refusal out of a JSON value in any of the forms that services use.
    pub(crate) fn from_json(value: &Value) -> Self {
        // Some wrap their errors in a list.
        let value = value.get(0).unwrap_or(value);
        let error = match value.get("error") {
            Some(error) if !error.is_null() => error,
            _ => value,
        };
        let mut refusal = Self {
            message: one_line(&message(error, value)),
            ..Self::default()
        };
        for holder in [error, value] {
            for field in ["code", "type", "status"] {
                match holder.get(field) {
                    Some(Value::String(code)) => refusal.codes.push(code.to_lowercase()),
                    // Inside a stream a number is the status that could not be sent any more.
                    Some(Value::Number(code)) => {
                        let status = code.as_u64().and_then(|code| u16::try_from(code).ok());
                        let is_status = |status: &u16| (400..=599).contains(status);
                        refusal.status = refusal.status.or(status.filter(is_status));
                    }
                    _ => {}
                }
            }
        }
        refusal
    }

    /// Whether a JSON value is a refusal at all.
    pub(crate) fn is_in(value: &Value) -> bool {
        let value = value.get(0).unwrap_or(value);
        let is_error = |field: &str| value.get(field).is_some_and(|word| word == "error");
        value.get("error").is_some_and(|error| !error.is_null())
            || is_error("object")
            || is_error("type")
    }

    /// The error that this is. `url` is what the request was sent to, as it may be shown.
    pub(crate) fn into_error(self, url: &str) -> ModelError {
        let Self {
            status,
            message,
            retry_after,
            ..
        } = &self;
        let (status, retry_after, message) = (*status, *retry_after, message.clone());
        match self.kind() {
            Kind::Overflow => ModelError::ContextOverflow { message },
            Kind::Quota => ModelError::Quota { status, message },
            Kind::RateLimit => ModelError::RateLimited {
                status,
                message,
                retry_after,
            },
            Kind::Unavailable => ModelError::Unavailable {
                status,
                message,
                retry_after,
            },
            Kind::Authentication => ModelError::Authentication {
                status: status.unwrap_or(401),
                message,
            },
            Kind::NotFound => ModelError::NotFound {
                url: url.to_owned(),
                message,
            },
            Kind::TooLarge => ModelError::RequestTooLarge { message },
            Kind::Invalid => ModelError::InvalidRequest { status, message },
        }
    }

    fn kind(&self) -> Kind {
        let lower = self.message.to_lowercase();
        let named = |code: &String| CODES.iter().find(|(known, _)| known == code);
        let coded: Vec<Kind> = self
            .codes
            .iter()
            .filter_map(named)
            .map(|(_, kind)| *kind)
            .collect();
        let by_code = |kind: Kind| coded.contains(&kind);
        let limited = self.status == Some(429) || by_code(Kind::RateLimit);
        if by_code(Kind::Overflow) || (!limited && overflows(&lower) && self.blames_request()) {
            return Kind::Overflow;
        }
        let no_money = QUOTA.iter().any(|words| lower.contains(words));
        if by_code(Kind::Quota) || no_money || self.status == Some(402) {
            return Kind::Quota;
        }
        match self.status {
            Some(400) if WRONG_KEY.iter().any(|words| lower.contains(words)) => {
                Kind::Authentication
            }
            Some(400) if by_code(Kind::Authentication) => Kind::Authentication,
            Some(401 | 403) => Kind::Authentication,
            Some(404) => Kind::NotFound,
            Some(413) => Kind::TooLarge,
            Some(429) => Kind::RateLimit,
            Some(408 | 500..) => Kind::Unavailable,
            Some(_) => Kind::Invalid,
            // What breaks in the middle of a reply is, unless it says otherwise, the service.
            None => coded.first().copied().unwrap_or(Kind::Unavailable),
        }
    }

    /// Whether the status leaves open that the conversation was too long. Several services say so
    /// with a 500.
    fn blames_request(&self) -> bool {
        matches!(self.status, None | Some(400 | 413 | 422 | 500))
    }
}

/// The service's words, wherever they are.
fn message<'a>(error: &'a Value, outer: &'a Value) -> Cow<'a, str> {
    if let Some(text) = error.as_str() {
        return text.into();
    }
    // A gateway's own words say little; those of the service behind it are under `raw`.
    let raw = error.pointer("/metadata/raw").and_then(Value::as_str);
    let candidates = [
        error.get("message"),
        outer.get("message"),
        outer.get("detail"),
        outer.pointer("/detail/0/msg"),
        outer.pointer("/errors/0/message"),
        error.get("msg"),
        error.get("code"),
    ];
    let found = candidates.into_iter().flatten().find_map(Value::as_str);
    match (found, raw) {
        (Some(found), Some(raw)) => format!("{found}: {raw}").into(),
        (Some(found), None) => found.into(),
        (None, Some(raw)) => raw.into(),
        (None, None) => "".into(),
    }
}

/// Text in one line of bounded length.
pub(crate) fn one_line(text: &str) -> String {
    let mut line = String::new();
    let mut count = 0;
    for word in text.split_whitespace() {
        if !line.is_empty() {
            line.push(' ');
            count += 1;
        }
        for c in word.chars().filter(|c| !c.is_control()) {
            if count >= MAX_MESSAGE_CHARS {
                line.push('…');
                return line;
            }
            line.push(c);
            count += 1;
        }
    }
    line
}

/// The title of an HTML page; without one, its text without tags.
pub(crate) fn html_title(text: &str) -> Option<Cow<'static, str>> {
    let trimmed = text.trim_start();
    if !trimmed.starts_with('<') {
        return None;
    }
    let lower = trimmed.to_ascii_lowercase();
    if let Some(start) = lower
        .find("<title")
        .and_then(|at| Some(at + lower[at..].find('>')? + 1))
        && let Some(length) = lower[start..].find("</title")
        && !trimmed[start..start + length].trim().is_empty()
    {
        return Some(format!("HTML page: {}", trimmed[start..start + length].trim()).into());
    }
    let mut bare = String::new();
    let mut in_tag = false;
    for c in trimmed.chars().take(4 * MAX_MESSAGE_CHARS) {
        match c {
            '<' => in_tag = true,
            '>' => {
                in_tag = false;
                bare.push(' ');
            }
            _ if !in_tag => bare.push(c),
            _ => {}
        }
    }
    Some(format!("HTML page: {}", bare.trim()).into())
}

/// How long the service asks to wait: `retry-after-ms`, else `Retry-After` as seconds or as a date.
fn retry_after(headers: &HeaderMap) -> Option<Duration> {
    let text = |name: &str| Some(headers.get(name)?.to_str().ok()?.trim());
    let seconds = |number: f64| Duration::try_from_secs_f64(number).ok();
    if let Some(wait) = text("retry-after-ms").and_then(|ms| ms.parse::<f64>().ok()) {
        return seconds(wait / 1000.0);
    }
    let wait = text(RETRY_AFTER.as_str())?;
    if let Ok(number) = wait.parse::<f64>() {
        return seconds(number);
    }
    let until = httpdate::parse_http_date(wait).ok()?;
    // Measured on the service's own clock where it tells the time.
    let now = text(DATE.as_str())
        .and_then(|date| httpdate::parse_http_date(date).ok())
        .unwrap_or_else(SystemTime::now);
    Some(until.duration_since(now).unwrap_or_default())
}

#[cfg(test)]
mod tests {
    use super::*;

    fn word(status: u16, body: &str) -> &'static str {
        let refusal = Refusal::from_body(status, &HeaderMap::new(), body.as_bytes());
        refusal.into_error("http://h/v1").word()
    }

    #[test]
    fn statuses() {
        for (status, expected) in [
            (301, "invalid_request"),
            (400, "invalid_request"),
            (401, "authentication"),
            (402, "quota"),
            (403, "authentication"),
            (404, "not_found"),
            (408, "unavailable"),
            (409, "invalid_request"),
            (413, "request_too_large"),
            (422, "invalid_request"),
            (429, "rate_limited"),
            (500, "unavailable"),
            (503, "unavailable"),
            (529, "unavailable"),
        ] {
            assert_eq!(word(status, ""), expected, "{status}");
        }
    }

    #[test]
    fn bodies_that_say_more_than_the_status() {
        for (status, body, expected) in [
            (
                429,
                r#"{"error":{"code":"insufficient_quota","message":"x"}}"#,
                "quota",
            ),
            (
                400,
                r#"{"type":"error","error":{"type":"invalid_request_error","message":"Your credit balance is too low"}}"#,
                "quota",
            ),
            (
                400,
                r#"{"error":{"message":"prompt is too long: 213462 tokens > 200000 maximum"}}"#,
                "context_overflow",
            ),
            (
                400,
                r#"{"error":{"code":"context_length_exceeded","message":"too long"}}"#,
                "context_overflow",
            ),
            (
                400,
                r#"{"error":{"message":"The input token count (1196265) exceeds the maximum number of tokens allowed (1048575)"}}"#,
                "context_overflow",
            ),
            (
                400,
                r#"{"error":{"code":400,"message":"the request exceeds the available context size","type":"exceed_context_size_error"}}"#,
                "context_overflow",
            ),
            (
                400,
                r#"{"object":"error","message":"This model's maximum context length is 8192 tokens.","code":400}"#,
                "context_overflow",
            ),
            (
                413,
                r#"{"error":{"type":"request_too_large","message":"Request exceeds the maximum size"}}"#,
                "request_too_large",
            ),
            (
                429,
                r#"{"message":"Too many tokens, please wait before trying again."}"#,
                "rate_limited",
            ),
            (
                400,
                r#"[{"error":{"code":400,"message":"API key not valid. Please pass a valid API key.","status":"INVALID_ARGUMENT"}}]"#,
                "authentication",
            ),
            (
                400,
                r#"{"error":"messages: field required"}"#,
                "invalid_request",
            ),
            (
                400,
                r#"{"error":{"message":"image exceeds 5 MB maximum: 6291456 bytes > 5242880 bytes"}}"#,
                "invalid_request",
            ),
        ] {
            assert_eq!(word(status, body), expected, "{body}");
        }
    }

    #[test]
    fn the_message_is_the_services_own_in_one_line() {
        for (body, expected) in [
            (r#"{"error":{"message":"a\n b"}}"#, "a b"),
            (r#"{"detail":"no"}"#, "no"),
            (r#"{"detail":[{"msg":"field required"}]}"#, "field required"),
            (
                r#"{"error":{"message":"Provider returned error","metadata":{"raw":"busy"}}}"#,
                "Provider returned error: busy",
            ),
            (
                "<html><head><TITLE>502 Bad\nGateway</TITLE></head><body>x</body></html>",
                "HTML page: 502 Bad Gateway",
            ),
            ("<p>gone <b>away</b></p>", "HTML page: gone away"),
            ("plain\ttext", "plain text"),
            ("", "Bad Gateway"),
        ] {
            let refusal = Refusal::from_body(502, &HeaderMap::new(), body.as_bytes());
            assert_eq!(refusal.message, expected, "{body}");
        }
        let long = "x".repeat(5000);
        let refusal = Refusal::from_body(500, &HeaderMap::new(), long.as_bytes());
        assert_eq!(refusal.message.chars().count(), MAX_MESSAGE_CHARS + 1);
    }

    #[test]
    fn waiting_times() {
        for (name, value, expected) in [
            ("retry-after", "2", Some(2000)),
            ("retry-after", "1.5", Some(1500)),
            ("retry-after", "Wed, 21 Oct 2015 07:28:05 GMT", Some(5000)),
            ("retry-after", "Wed, 21 Oct 2015 07:27:00 GMT", Some(0)),
            ("retry-after", "soon", None),
            ("retry-after", "-1", None),
            ("retry-after-ms", "250", Some(250)),
        ] {
            let mut headers = HeaderMap::new();
            headers.insert(DATE, "Wed, 21 Oct 2015 07:28:00 GMT".parse().unwrap());
            headers.insert(name, value.parse().unwrap());
            let expected = expected.map(Duration::from_millis);
            assert_eq!(retry_after(&headers), expected, "{name}: {value}");
        }
    }

    #[test]
    fn errors_inside_a_stream() {
        for (json, expected) in [
            (
                r#"{"type":"error","error":{"type":"overloaded_error","message":"Overloaded"}}"#,
                "unavailable",
            ),
            (
                r#"{"error":{"type":"rate_limit_error","message":"x"}}"#,
                "rate_limited",
            ),
            (r#"{"error":{"code":429,"message":"x"}}"#, "rate_limited"),
            (
                r#"{"code":"context_length_exceeded","message":"x"}"#,
                "context_overflow",
            ),
            (
                r#"{"error":{"type":"invalid_request_error","message":"x"}}"#,
                "invalid_request",
            ),
            (r#"{"error":"boom"}"#, "unavailable"),
        ] {
            let value: Value = serde_json::from_str(json).unwrap();
            assert_eq!(
                Refusal::from_json(&value).into_error("u").word(),
                expected,
                "{json}"
            );
        }
    }
}
