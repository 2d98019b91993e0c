//! Checks against DNS rebinding.
//!
//! A web page can reach a server of the same machine under a name of the attacker. So servers must validate `Origin`
//! (all revisions, transports), and should check `Host` for the same reason.

use http::{HeaderMap, StatusCode, header};

use super::{Address, Options};

/// The allowed hosts or origins.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub enum Allowed {
    /// `localhost`, `127.0.0.1` and `[::1]`, with any port. A server that listens on other interfaces does not know its
    /// names, so it allows every host; origins stay limited.
    #[default]
    Local,
    /// All.
    Any,
    /// Only these: `name` for any port, or `name:port`; for origins also with a scheme, `https://name:port`.
    Only(Vec<String>),
}

impl Allowed {
    /// Parses a list: `*` in it allows all, and an empty list is the default.
    pub fn listed(list: impl IntoIterator<Item = impl Into<String>>) -> Self {
        let list: Vec<String> = list.into_iter().map(Into::into).collect();
        match list.as_slice() {
            [] => Self::Local,
            list if list.iter().any(|one| one == "*") => Self::Any,
            _ => Self::Only(list),
        }
    }

    /// Whether an authority is allowed for pages of this scheme.
    fn admits(&self, scheme: Option<&str>, authority: &str) -> bool {
        match self {
            Self::Any => true,
            Self::Local => matches!(name(authority).to_ascii_lowercase().as_str(), "localhost" | "127.0.0.1" | "[::1]"),
            Self::Only(list) => list.iter().any(|listed| {
                let (wanted, listed) = match listed.split_once("://") {
                    Some((wanted, listed)) => (Some(wanted), listed),
                    None => (None, listed.as_str()),
                };
                let scheme_fits = match (wanted, scheme) {
                    (Some(wanted), Some(scheme)) => wanted.eq_ignore_ascii_case(scheme),
                    _ => true,
                };
                let compared = if name(listed) == listed { name(authority) } else { authority };
                scheme_fits && listed.eq_ignore_ascii_case(compared)
            }),
        }
    }
}

/// The checks of `Host` and `Origin` before a request is handled.
#[derive(Debug, Clone)]
pub(super) struct Gate {
    hosts: Allowed,
    origins: Allowed,
    status: StatusCode,
}

impl Gate {
    /// The gate of a server that listens at this address.
    pub(super) fn new(options: &Options, address: &Address) -> Self {
        let rebindable = address.tcp().is_some_and(|address| address.ip().is_loopback());
        let hosts = match &options.allowed_hosts {
            Allowed::Local if !rebindable => Allowed::Any,
            // Browsers cannot use a Unix socket, and other clients send arbitrary hosts.
            _ if address.tcp().is_none() => Allowed::Any,
            hosts => hosts.clone(),
        };
        let status = options.rejection_status.and_then(|status| StatusCode::from_u16(status).ok());
        Self { hosts, origins: options.allowed_origins.clone(), status: status.unwrap_or(StatusCode::FORBIDDEN) }
    }

    /// The status of a request from elsewhere, and the reason.
    pub(super) fn refuses(&self, headers: &HeaderMap) -> Option<(StatusCode, String)> {
        let host = self.hosts != Allowed::Any
            && headers
                .get(header::HOST)
                .and_then(|host| host.to_str().ok())
                .is_none_or(|host| !self.hosts.admits(None, host));
        let origin = self.origins != Allowed::Any
            && headers.get(header::ORIGIN).is_some_and(|origin| {
                let parts = origin.to_str().ok().and_then(|text| text.split_once("://"));
                parts.is_none_or(|(scheme, authority)| !self.origins.admits(Some(scheme), authority))
            });
        let name = match (host, origin) {
            (true, _) => header::HOST,
            (_, true) => header::ORIGIN,
            _ => return None,
        };
        let value = headers.get(&name).map(|value| String::from_utf8_lossy(value.as_bytes()).into_owned());
        let option = if host { "--allow-host" } else { "--allow-origin" };
        let reason = match value {
            Some(value) => format!("the {name} `{value}` is not allowed; `{option}` allows it"),
            None => format!("the header {name} is missing"),
        };
        Some((self.status, reason))
    }
}

/// An authority without its port.
fn name(authority: &str) -> &str {
    match authority.rsplit_once(':') {
        Some((name, port)) if port.bytes().all(|byte| byte.is_ascii_digit()) => name,
        _ => authority,
    }
}

#[cfg(test)]
mod tests {
    use std::net::SocketAddr;

    use http::HeaderValue;

    use super::*;

    fn refused(options: &Options, address: &Address, pairs: &[(&'static str, &'static str)]) -> bool {
        let headers: HeaderMap =
            pairs.iter().map(|(name, value)| (name.parse().unwrap(), HeaderValue::from_static(value))).collect();
        Gate::new(options, address).refuses(&headers).is_some()
    }

    #[test]
    fn refuses_foreign_hosts_and_origins_by_default() {
        for (pairs, expected) in [
            (vec![("host", "127.0.0.1:80")], false),
            (vec![("host", "LOCALHOST")], false),
            (vec![("host", "[::1]:80"), ("origin", "http://localhost:3000")], false),
            (vec![], true),
            (vec![("host", "evil.example")], true),
            (vec![("host", "127.0.0.1.evil.example:80")], true),
            (vec![("host", "127.0.0.1"), ("origin", "http://evil.example")], true),
            (vec![("host", "127.0.0.1"), ("origin", "null")], true),
            (vec![("host", "127.0.0.1"), ("origin", "http://localhost@evil.example")], true),
        ] {
            assert_eq!(refused(&Options::default(), &Address::default(), &pairs), expected, "{pairs:?}");
        }
    }

    #[test]
    fn lets_in_what_is_listed_and_nothing_else() {
        let options = Options::default()
            .with_allowed_hosts(Allowed::listed(["mock:8080", "other"]))
            .with_allowed_origins(Allowed::listed(["https://app.example", "dev.example:3000"]));
        for (host, origin, expected) in [
            ("mock:8080", None, false),
            ("MOCK:8080", None, false),
            ("mock:8081", None, true),
            ("mock", None, true),
            ("other:1", None, false),
            ("localhost", None, true),
            ("other", Some("https://app.example"), false),
            ("other", Some("https://app.example:8443"), false),
            ("other", Some("http://app.example"), true),
            ("other", Some("http://dev.example:3000"), false),
            ("other", Some("http://dev.example"), true),
            ("other", Some("http://localhost"), true),
        ] {
            let pairs: Vec<_> =
                [Some(("host", host)), origin.map(|origin| ("origin", origin))].into_iter().flatten().collect();
            assert_eq!(refused(&options, &Address::default(), &pairs), expected, "{pairs:?}");
        }
        let open = Options::default()
            .with_allowed_hosts(Allowed::listed(["*"]))
            .with_allowed_origins(Allowed::listed(["a.example", "*"]));
        assert!(!refused(&open, &Address::default(), &[("host", "evil.example"), ("origin", "http://evil.example")]));
    }

    #[test]
    fn knows_no_host_beyond_the_loopback_interface_but_still_its_origins() {
        let everywhere = Address::Tcp(SocketAddr::from(([0, 0, 0, 0], 80)));
        for address in [everywhere, Address::Unix("/tmp/socket".into())] {
            assert!(!refused(&Options::default(), &address, &[("host", "mock.example")]));
            assert!(refused(&Options::default(), &address, &[("host", "a"), ("origin", "http://evil.example")]));
        }
        let strict = Options::default().with_allowed_hosts(Allowed::listed(["mock"]));
        let everywhere = Address::Tcp(SocketAddr::from(([0, 0, 0, 0], 80)));
        assert!(refused(&strict, &everywhere, &[("host", "evil.example")]));
    }
}
