//! Which requests go through a proxy.

use reqwest::{NoProxy, Proxy, Url};

use crate::address;
use crate::error::ConfigError;

/// Proxies, as values. Nothing is read from the environment.
///
/// Requests to this machine (`localhost`, `127.0.0.0/8`, `::1`) never go through a proxy.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct ProxyOptions {
    /// The proxy for `http` addresses, as a URL.
    pub http: Option<String>,
    /// The proxy for `https` addresses, as a URL.
    pub https: Option<String>,
    /// Hosts that are reached directly, as in `NO_PROXY`: a domain stands for the domains below it
    /// too, an address may have a mask (`10.0.0.0/8`), `host:port` is one port, `*` is all.
    pub no_proxy: Vec<String>,
}

impl ProxyOptions {
    /// The proxy's URL for `url`; `None`: none is set for it, or the host is this machine.
    fn url_for(&self, url: &Url) -> Option<&str> {
        if address::is_loopback(url) {
            return None;
        }
        let proxy = if url.scheme() == "https" {
            &self.https
        } else {
            &self.http
        };
        proxy
            .as_deref()
            .map(str::trim)
            .filter(|proxy| !proxy.is_empty())
    }

    /// The proxy to use for `url`, and whether the way to it needs certificates.
    pub(crate) fn proxy_for(&self, url: &Url) -> Result<Option<(Proxy, bool)>, ConfigError> {
        let Some(proxy_url) = self.url_for(url) else {
            return Ok(None);
        };
        // `host:port` is how people write a proxy.
        let proxy_url = if proxy_url.contains("://") {
            proxy_url.to_owned()
        } else {
            format!("http://{proxy_url}")
        };
        let parsed = Url::parse(&proxy_url)
            .map_err(|error| ConfigError::Proxy(format!("its URL is not valid: {error}")))?;
        if !matches!(parsed.scheme(), "http" | "https") {
            let scheme = parsed.scheme();
            return Err(ConfigError::Proxy(format!(
                "the scheme `{scheme}` is not supported"
            )));
        }
        let secure = parsed.scheme() == "https";
        let proxy = Proxy::all(parsed).map_err(|error| ConfigError::Proxy(error.to_string()))?;
        let direct = self.excluded(url);
        Ok(Some((
            proxy.no_proxy(NoProxy::from_string(&direct)),
            secure,
        )))
    }

    /// The exclusions that can apply to `url`, without the ports, which the list's reader does not
    /// know.
    fn excluded(&self, url: &Url) -> String {
        let port = url.port_or_known_default();
        let mut list = Vec::new();
        for entry in self
            .no_proxy
            .iter()
            .flat_map(|entry| entry.split([',', ' ']))
        {
            match entry.rsplit_once(':') {
                Some((host, digits)) if !host.contains(':') => {
                    if digits.parse::<u16>().ok() == port {
                        list.push(host);
                    }
                }
                _ => list.push(
                    entry
                        .strip_prefix('*')
                        .filter(|rest| !rest.is_empty())
                        .unwrap_or(entry),
                ),
            }
        }
        list.retain(|entry| !entry.is_empty());
        list.join(",")
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn exclusions_with_ports_and_stars() {
        let options = ProxyOptions {
            no_proxy: vec![
                "a.test:8443, b.test:1".into(),
                "*.c.test".into(),
                "*".into(),
            ],
            ..ProxyOptions::default()
        };
        let url = Url::parse("https://a.test:8443/v1").unwrap();
        assert_eq!(options.excluded(&url), "a.test,.c.test,*");
    }

    #[test]
    fn this_machine_is_never_reached_through_a_proxy() {
        let options = ProxyOptions {
            http: Some("http://proxy:1".into()),
            https: Some("proxy:1".into()),
            no_proxy: vec![],
        };
        let uses = |url: &str| {
            options
                .proxy_for(&Url::parse(url).unwrap())
                .unwrap()
                .is_some()
        };
        assert!(!uses("http://127.0.0.1:8080/v1"));
        assert!(!uses("https://[::1]:8080/v1"));
        assert!(uses("http://10.0.0.1/v1"));
        assert!(uses("https://api.example.com/v1"));
    }
}
