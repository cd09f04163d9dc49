//! Addresses of git repositories: which are fetched from, and what of them may be shown.

use std::fmt;
use std::path;

use crate::git_cache::key;
use crate::name::visible;
use crate::source::SourceError;

/// A user name of fewer characters is not searched for in messages: `git` is in every one.
const TOKEN: usize = 8;

/// An address that may be fetched from.
#[derive(Clone, PartialEq, Eq)]
pub(crate) struct GitUrl {
    /// As git gets it.
    full: String,
    /// Without credentials in front of the host: which repository it is.
    plain: String,
    /// Without the query either, which may be a credential too.
    shown: String,
    /// What no message may have in it.
    secrets: Vec<String>,
}

impl GitUrl {
    /// `https://`, `http://`, `ssh://`, `file://`, `user@host:path` or a path. A relative path is
    /// made absolute.
    pub(crate) fn parse(text: &str) -> Result<Self, SourceError> {
        Self::read(text).map_err(|reason| {
            // It could not be read, so that everything that may be a credential goes.
            let rest = text.rsplit_once('@').map_or(text, |(_, rest)| rest);
            let rest = rest.split('?').next().unwrap_or_default();
            SourceError::Url {
                url: visible(rest),
                reason,
            }
        })
    }

    fn read(text: &str) -> Result<Self, &'static str> {
        if text.is_empty() {
            return Err("it is empty");
        }
        if text.starts_with('-') {
            return Err("git would take it for an option");
        }
        if text.chars().any(char::is_control) {
            return Err("it has control characters");
        }
        let scheme_end = text
            .find(|c: char| !(c.is_ascii_alphanumeric() || matches!(c, '+' | '-' | '.')))
            .unwrap_or(text.len());
        let (scheme, rest) = text.split_at(scheme_end);
        if rest.starts_with("::") {
            return Err("it names a program to fetch with");
        }
        if let Some(rest) = rest.strip_prefix("://") {
            return match scheme {
                "https" | "http" => Self::http(text, scheme, rest),
                "ssh" => Self::ssh(text, rest),
                "file" if rest.starts_with('/') => Ok(Self::without_secrets(text)),
                "file" => Err("a file address has three slashes"),
                _ => Err("only https, http, ssh, file and paths are fetched from"),
            };
        }
        // As git tells them apart: a colon in front of any slash is behind a host.
        match text.split_once(':') {
            Some((host, path)) if !host.contains('/') => Self::host_and_path(text, host, path),
            _ => Self::path(text),
        }
    }

    fn http(text: &str, scheme: &str, rest: &str) -> Result<Self, &'static str> {
        let (authority, path) = authority(rest)?;
        let (user, host) = match authority.rsplit_once('@') {
            Some((user, host)) => (Some(user), host),
            None => (None, authority),
        };
        host_is_sound(host)?;
        let plain = format!("{scheme}://{host}{path}");
        let without_query = path.find(['?', '#']).map_or(path, |at| &path[..at]);
        let mut secrets = Vec::new();
        if path.len() > without_query.len() + 1 {
            secrets.push(path[without_query.len() + 1..].to_owned());
        }
        if let Some(user) = user {
            // Some services take the token as the name.
            let (name, password) = user.split_once(':').unwrap_or((user, ""));
            add_secret(&mut secrets, password);
            if name.chars().count() >= TOKEN {
                add_secret(&mut secrets, name);
            }
        }
        Ok(Self {
            full: text.to_owned(),
            plain,
            shown: format!("{scheme}://{host}{without_query}"),
            secrets,
        })
    }

    /// The name in front of the host is no secret here: it says whose key is used.
    fn ssh(text: &str, rest: &str) -> Result<Self, &'static str> {
        let (authority, path) = authority(rest)?;
        let (user, host) = match authority.rsplit_once('@') {
            Some((user, host)) => (Some(user), host),
            None => (None, authority),
        };
        host_is_sound(host)?;
        if authority.starts_with('-') {
            return Err("ssh would take its host for an option");
        }
        let mut secrets = Vec::new();
        let plain = match user {
            Some(user) => {
                let (name, password) = user.split_once(':').unwrap_or((user, ""));
                add_secret(&mut secrets, password);
                format!("ssh://{name}@{host}{path}")
            }
            None => text.to_owned(),
        };
        Ok(Self {
            full: text.to_owned(),
            shown: plain.clone(),
            plain,
            secrets,
        })
    }

    fn host_and_path(text: &str, host: &str, path: &str) -> Result<Self, &'static str> {
        let name = host.rsplit_once('@').map_or(host, |(_, name)| name);
        if name.is_empty() {
            return Err("it has no host");
        }
        if name.starts_with('-') || path.starts_with('-') {
            return Err("ssh would take a part of it for an option");
        }
        let first = path.split('/').next().unwrap_or_default();
        if !host.contains('@') && first.contains('@') {
            // `user:password@host:path` is no address, but is written.
            return Err("it has no place for a password");
        }
        if text.contains(char::is_whitespace) {
            return Err("it has white space");
        }
        Ok(Self::without_secrets(text))
    }

    fn path(text: &str) -> Result<Self, &'static str> {
        let path = path::absolute(text).map_err(|_| "it is relative, and there is no folder")?;
        let path = path.to_str().ok_or("its folder is not Unicode")?;
        if path.chars().any(char::is_control) {
            return Err("it has control characters");
        }
        Ok(Self::without_secrets(path))
    }

    fn without_secrets(text: &str) -> Self {
        Self {
            full: text.to_owned(),
            plain: text.to_owned(),
            shown: text.to_owned(),
            secrets: Vec::new(),
        }
    }

    /// As git gets it, credentials and all.
    pub(crate) fn full(&self) -> &str {
        &self.full
    }

    /// A file name for it: which repository it is, whoever asks.
    pub(crate) fn key(&self) -> String {
        key(&self.shown, &self.plain)
    }

    /// A text of git's, as it may be shown: without credentials, of this address and of any other.
    pub(crate) fn clean(&self, text: &str) -> String {
        let mut text = visible(text).replace(&self.full, &self.shown);
        let mut from = 0;
        while let Some(at) = text[from..].find("://").map(|at| from + at + 3) {
            let end = text[at..]
                .find(|c: char| c.is_whitespace() || matches!(c, '/' | '\'' | '"'))
                .map_or(text.len(), |length| at + length);
            if let Some(length) = text[at..end].rfind('@') {
                text.replace_range(at..=at + length, "");
            }
            from = at;
        }
        for secret in &self.secrets {
            text = text.replace(secret, "***");
        }
        text
    }
}

impl fmt::Display for GitUrl {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(&visible(&self.shown))
    }
}

impl fmt::Debug for GitUrl {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{:?}", self.shown)
    }
}

/// What is in front of the path, and the path.
fn authority(rest: &str) -> Result<(&str, &str), &'static str> {
    if rest.contains(char::is_whitespace) {
        return Err("it has white space");
    }
    Ok(rest.split_at(rest.find(['/', '?', '#']).unwrap_or(rest.len())))
}

/// A port that is no number is half of a password with a slash in it.
fn host_is_sound(host: &str) -> Result<(), &'static str> {
    let name_end = host.rfind(']').unwrap_or(0);
    let (name, port) = match host[name_end..].split_once(':') {
        Some((name, port)) => (&host[..name_end + name.len()], port),
        None => (host, ""),
    };
    if name.is_empty() {
        Err("it has no host")
    } else if name.starts_with('-') {
        Err("its host would be taken for an option")
    } else if !port.bytes().all(|byte| byte.is_ascii_digit()) {
        Err("its port is no number")
    } else {
        Ok(())
    }
}

/// As it was written, and as it is meant.
fn add_secret(secrets: &mut Vec<String>, secret: &str) {
    if secret.is_empty() {
        return;
    }
    secrets.push(secret.to_owned());
    let decoded = percent_decoded(secret);
    if decoded != secret {
        secrets.push(decoded);
    }
}

fn percent_decoded(text: &str) -> String {
    let mut bytes = Vec::with_capacity(text.len());
    let mut rest = text.as_bytes();
    while let [first, after @ ..] = rest {
        rest = after;
        if *first == b'%'
            && let Some(digits) = after.get(..2)
            && let Ok(digits) = std::str::from_utf8(digits)
            && let Ok(byte) = u8::from_str_radix(digits, 16)
        {
            bytes.push(byte);
            rest = &after[2..];
        } else {
            bytes.push(*first);
        }
    }
    String::from_utf8_lossy(&bytes).into_owned()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn what_is_fetched_from() {
        for (text, shown) in [
            ("https://host/x.git", "https://host/x.git"),
            (
                "https://user:secret@host:8443/x.git",
                "https://host:8443/x.git",
            ),
            (
                "https://token@host/x.git?private_token=y#z",
                "https://host/x.git",
            ),
            ("https://host/@scope/x.git", "https://host/@scope/x.git"),
            ("http://[::1]:80/x", "http://[::1]:80/x"),
            ("ssh://git:secret@host:22/x", "ssh://git@host:22/x"),
            ("ssh://host/x", "ssh://host/x"),
            ("git@host:x/y.git", "git@host:x/y.git"),
            ("alias:x", "alias:x"),
            ("file:///a b/x.git", "file:///a b/x.git"),
            ("/a/b::c", "/a/b::c"),
            ("/a/x:y", "/a/x:y"),
        ] {
            let url = GitUrl::parse(text).expect(text);
            assert_eq!(url.to_string(), shown);
            assert_eq!(url.full(), text);
            assert!(!format!("{url:?}").contains("secret"), "{url:?}");
        }
    }

    #[test]
    fn what_is_refused() {
        for text in [
            "",
            "-",
            "--upload-pack=x",
            "ext::sh -c x",
            "fd::17",
            "::x",
            "git://host/x",
            "ftp://host/x",
            "HTTPS+x://host/x",
            "file://host/x",
            "https://",
            "https:///x",
            "https://user:secret@/x",
            "https://user:sec/ret@host/x",
            "https://host/a b",
            "https://-x/y",
            "ssh://-oProxyCommand=x/y",
            "ssh://user@-oProxyCommand=x/y",
            "ssh://-oProxyCommand=x@host/y",
            "git@-oProxyCommand=x:y",
            "git@host:-x",
            "user:secret@host:x",
            "git@host:x\ny",
            "/a\0b",
        ] {
            let error = GitUrl::parse(text).expect_err(text);
            assert!(matches!(error, SourceError::Url { .. }), "{error}");
            assert!(!error.to_string().contains("sec"), "{error}");
        }
    }

    #[test]
    fn messages_have_no_credentials() {
        for (url, text, clean) in [
            (
                "https://u:p%40ss@h/x",
                "fatal: 'https://u:p%40ss@h/x': p@ss",
                "fatal: 'https://h/x': ***",
            ),
            (
                "https://longtoken@h/x?k=v",
                "for 'https://longtoken@h': longtoken k=v",
                "for 'https://h': *** ***",
            ),
            (
                "https://h/x",
                "to http://a:b@c/d and https://e@f, \u{1b}[31mred",
                "to http://c/d and https://f, red",
            ),
            ("ssh://git:pw@h/x", "ssh://git:pw@h/x pw", "ssh://h/x ***"),
        ] {
            let cleaned = GitUrl::parse(url).expect(url).clean(text);
            assert_eq!(cleaned, clean, "{url}");
        }
    }
}
