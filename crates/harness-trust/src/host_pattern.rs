//! Patterns for hosts.

/// A host, or all below a domain, with a port or for every port.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) struct HostPattern {
    text: String,
    host: String,
    is_domain: bool,
    port: Option<u16>,
}

impl HostPattern {
    /// Or what is wrong, and at which byte.
    pub(crate) fn parse(text: &str) -> Result<Self, (usize, String)> {
        if let Some(at) = text.find("://") {
            return Err((
                at,
                "a host has no scheme: write `net(example.com)`".to_owned(),
            ));
        }
        if let Some(at) = text.find(['/', ' ', '@', '?']) {
            return Err((at, "only a host and a port may stand here".to_owned()));
        }
        let (host, port) = split(text);
        let port = match port {
            Some(port) => match port.parse() {
                Ok(port) => Some(port),
                Err(_) => return Err((host.len() + 1, format!("`{port}` is no port"))),
            },
            None => None,
        };
        let (host, is_domain) = match host {
            "*" => ("", true),
            host => match host.strip_prefix("*.") {
                Some(domain) => (domain, true),
                None => (host, false),
            },
        };
        if host.contains('*') || (host.is_empty() && !is_domain) {
            return Err((0, "write a host, `*.example.com` or `*`".to_owned()));
        }
        Ok(Self {
            text: text.to_owned(),
            host: host.trim_end_matches('.').to_ascii_lowercase(),
            is_domain,
            port,
        })
    }

    pub(crate) fn text(&self) -> &str {
        &self.text
    }

    /// Whether it is for `target`, a host with or without a port. `is_certain`: a target without a port
    /// is not one with a port.
    pub(crate) fn matches(&self, target: &str, is_certain: bool) -> bool {
        let (host, port) = split(target);
        let host = host.trim_end_matches('.').to_ascii_lowercase();
        let is_port = match (self.port, port) {
            (None, _) => true,
            (Some(wanted), Some(port)) => port.parse() == Ok(wanted),
            (Some(_), None) => !is_certain,
        };
        let is_host = match self.is_domain {
            true if self.host.is_empty() => !host.is_empty(),
            true => host
                .strip_suffix(&self.host)
                .is_some_and(|it| it.len() > 1 && it.ends_with('.')),
            false => host == self.host,
        };
        is_port && is_host
    }
}

/// The host and the port. An IPv6 address with a port is in brackets.
fn split(text: &str) -> (&str, Option<&str>) {
    if let Some((host, port)) = text.strip_prefix('[').and_then(|rest| rest.split_once(']')) {
        return (host, port.strip_prefix(':'));
    }
    match text.rsplit_once(':') {
        Some((host, port)) if !host.contains(':') => (host, Some(port)),
        _ => (text, None),
    }
}
