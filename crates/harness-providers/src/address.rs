//! From a base URL to the address of an endpoint.
//!
//! The rule, for a base URL as people write them:
//!
//! 1. Blanks around it are dropped; nothing left means unset: the API's own default.
//! 2. Slashes at the end are dropped, and the path of a known endpoint (`/chat/completions`,
//!    `/responses`, `/messages`), if it is already there.
//! 3. A base without a path gets `/v1`. One with a path keeps it as it is (`/v1`, `/api/paas/v4`,
//!    `/openai`), but for Anthropic, whose clients by convention add `/v1` unless the path ends in a
//!    version.
//! 4. The endpoint's path is added. A query stays where it is.

use reqwest::Url;

use crate::api::Api;
use crate::error::ConfigError;

/// The address that requests go to.
pub(crate) fn endpoint(api: Api, base_url: &str) -> Result<Url, ConfigError> {
    let base = match base_url.trim() {
        "" => api.default_base_url(),
        base => base,
    };
    let refuse = |reason: &str| ConfigError::BaseUrl {
        url: without_secrets(base),
        reason: reason.to_owned(),
    };
    if !base.contains("://") {
        return Err(refuse(&format!(
            "it has no scheme; did you mean `http://{base}`?"
        )));
    }
    let mut url = Url::parse(base).map_err(|error| refuse(&error.to_string()))?;
    if !matches!(url.scheme(), "http" | "https") {
        return Err(refuse("its scheme is neither http nor https"));
    }
    let mut path = url.path().trim_end_matches('/');
    for known in Api::ALL {
        if let Some(shorter) = path.strip_suffix(known.path()) {
            path = shorter.trim_end_matches('/');
            break;
        }
    }
    let version = match api {
        _ if path.is_empty() => "/v1",
        Api::Anthropic if !ends_in_version(path) => "/v1",
        _ => "",
    };
    let path = format!("{path}{version}{}", api.path());
    url.set_path(&path);
    url.set_fragment(None);
    Ok(url)
}

/// The address of the list of models, beside that of the endpoint.
pub(crate) fn models(api: Api, endpoint: &Url) -> Url {
    let mut url = endpoint.clone();
    let base = url.path().strip_suffix(api.path()).unwrap_or(url.path());
    let path = format!("{}/models", base.trim_end_matches('/'));
    url.set_path(&path);
    url
}

fn ends_in_version(path: &str) -> bool {
    let last = path.rsplit('/').next().unwrap_or_default();
    last.strip_prefix('v')
        .is_some_and(|rest| rest.starts_with(|c: char| c.is_ascii_digit()))
}

/// The address as it may be shown: without user, password and query, any of which may be a secret.
pub(crate) fn shown(url: &Url) -> String {
    let mut url = url.clone();
    let _ = url.set_username("");
    let _ = url.set_password(None);
    url.set_query(None);
    url.to_string()
}

fn without_secrets(base: &str) -> String {
    Url::parse(base).map_or_else(|_| base.to_owned(), |url| shown(&url))
}

/// Whether the address is this machine's own.
pub(crate) fn is_loopback(url: &Url) -> bool {
    match url.host_str() {
        Some(host) => {
            let host = host.trim_start_matches('[').trim_end_matches(']');
            host == "localhost"
                || host.ends_with(".localhost")
                || host
                    .parse::<std::net::IpAddr>()
                    .is_ok_and(|ip| ip.is_loopback())
        }
        None => false,
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn base_urls_as_people_write_them() {
        let chat = [
            ("", "https://api.openai.com/v1/chat/completions"),
            ("  \n", "https://api.openai.com/v1/chat/completions"),
            ("http://h:1", "http://h:1/v1/chat/completions"),
            ("http://h:1/", "http://h:1/v1/chat/completions"),
            (" http://h:1/v1 ", "http://h:1/v1/chat/completions"),
            ("http://h:1/v1/", "http://h:1/v1/chat/completions"),
            ("http://h:1/v1//", "http://h:1/v1/chat/completions"),
            (
                "http://h:1/v1/chat/completions",
                "http://h:1/v1/chat/completions",
            ),
            (
                "http://h:1/v1/chat/completions/",
                "http://h:1/v1/chat/completions",
            ),
            ("http://h:1/v1/responses", "http://h:1/v1/chat/completions"),
            (
                "http://h:1/api/paas/v4",
                "http://h:1/api/paas/v4/chat/completions",
            ),
            ("http://h:1/openai", "http://h:1/openai/chat/completions"),
            (
                "http://h:1/d?api-version=2",
                "http://h:1/d/chat/completions?api-version=2",
            ),
        ];
        let anthropic = [
            ("", "https://api.anthropic.com/v1/messages"),
            ("http://h:1", "http://h:1/v1/messages"),
            ("http://h:1/v1/", "http://h:1/v1/messages"),
            ("http://h:1/anthropic", "http://h:1/anthropic/v1/messages"),
            (
                "http://h:1/anthropic/v1/messages",
                "http://h:1/anthropic/v1/messages",
            ),
        ];
        for (base, expected) in chat {
            assert_eq!(
                endpoint(Api::OpenAiChat, base).unwrap().as_str(),
                expected,
                "{base:?}"
            );
        }
        for (base, expected) in anthropic {
            assert_eq!(
                endpoint(Api::Anthropic, base).unwrap().as_str(),
                expected,
                "{base:?}"
            );
        }
        let responses = endpoint(Api::OpenAiResponses, "http://h:1/v1/").unwrap();
        assert_eq!(responses.as_str(), "http://h:1/v1/responses");
    }

    #[test]
    fn unusable_base_urls_say_why() {
        let error = endpoint(Api::OpenAiChat, "localhost:8080")
            .unwrap_err()
            .to_string();
        assert!(
            error.contains("did you mean `http://localhost:8080`"),
            "{error}"
        );
        let error = endpoint(Api::OpenAiChat, "ftp://u:pw@h/")
            .unwrap_err()
            .to_string();
        assert!(
            error.contains("neither http nor https") && !error.contains("pw"),
            "{error}"
        );
    }

    #[test]
    fn loopback_in_all_its_forms() {
        for (url, expected) in [
            ("http://127.0.0.1:1", true),
            ("http://127.9.9.9", true),
            ("http://[::1]:80", true),
            ("http://localhost", true),
            ("http://a.localhost", true),
            ("http://10.0.0.1", false),
            ("http://localhost.example.com", false),
        ] {
            assert_eq!(is_loopback(&Url::parse(url).unwrap()), expected, "{url}");
        }
    }
}
