//! Restricts the addresses that metadata can refer to: private addresses are only allowed if the server has one too.
//!
//! A server chooses the URLs in its metadata, and could make the client send requests into its own network
//! (server-side request forgery). Names are checked when the connection is opened, so that a changed DNS response does
//! not circumvent the check.

use std::{
    collections::BTreeSet,
    net::{IpAddr, Ipv4Addr, Ipv6Addr, SocketAddr},
    sync::Arc,
};

use reqwest::dns::{Addrs, Name, Resolve, Resolving};
use tokio::sync::OnceCell;
use url::{Host, Url};

use super::error::AuthFailure;

/// Reachability of an address, from public to private.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord)]
enum Class {
    Public,
    Private,
    Loopback,
    /// Never allowed: link-local addresses (cloud metadata services), multicast and reserved addresses.
    Never,
}

/// The addresses that a server may refer to.
#[derive(Debug, Clone)]
pub(super) struct AddressPolicy(Arc<Inner>);

#[derive(Debug)]
struct Inner {
    /// The host of the server, without brackets.
    host: String,
    class: OnceCell<Class>,
    /// Proxy hosts. The user configured them, and they resolve names.
    proxies: BTreeSet<String>,
}

impl AddressPolicy {
    /// The policy for a server at this URL.
    pub(super) fn new(server: &Url) -> Self {
        let host = server.host_str().unwrap_or_default().trim_matches(['[', ']']).to_owned();
        Self(Arc::new(Inner { host, class: OnceCell::new(), proxies: proxies() }))
    }

    /// The class of the server's host.
    async fn own(&self) -> Class {
        let class = self.0.class.get_or_init(|| async {
            if let Some(class) = class_of_host(&self.0.host) {
                return class;
            }
            let addresses = lookup(&self.0.host).await.unwrap_or_default();
            // A server with a public address counts as public.
            addresses.iter().map(|address| class_of(address.ip())).min().unwrap_or(Class::Public)
        });
        *class.await
    }

    async fn allows(&self, class: Class) -> bool {
        class == Class::Public || (class != Class::Never && class <= self.own().await)
    }

    /// Checks a URL.
    ///
    /// # Errors
    /// If it is not an HTTPS URL (HTTP is allowed on loopback), has userinfo, or violates the policy.
    pub(super) async fn check(&self, url: &Url) -> Result<(), AuthFailure> {
        let forbidden = |problem: &str| AuthFailure::ForbiddenUrl { what: shown(url), problem: problem.to_owned() };
        let host = url.host_str().unwrap_or_default().trim_matches(['[', ']']).to_owned();
        if host.is_empty() || !matches!(url.scheme(), "http" | "https") {
            return Err(forbidden("it is not an https URL"));
        }
        if !url.username().is_empty() || url.password().is_some() {
            return Err(forbidden("it has userinfo"));
        }
        let literal = class_of_host(&host);
        // "All authorization server endpoints MUST be served over HTTPS" (2026-07-28, security considerations).
        if url.scheme() == "http" && literal != Some(Class::Loopback) {
            return Err(forbidden("it is not an https URL"));
        }
        match literal {
            Some(class) if host != self.0.host && !self.allows(class).await => {
                Err(forbidden("the address is private, and that of the server is not"))
            }
            _ => Ok(()),
        }
    }
}

impl Resolve for AddressPolicy {
    fn resolve(&self, name: Name) -> Resolving {
        let policy = self.clone();
        Box::pin(async move {
            let addresses = lookup(name.as_str()).await?;
            let known = name.as_str() == policy.0.host || policy.0.proxies.contains(name.as_str());
            let mut allowed = Vec::new();
            for address in addresses {
                if known || policy.allows(class_of(address.ip())).await {
                    allowed.push(address);
                }
            }
            if allowed.is_empty() {
                let what = "the name resolves to a private address, and that of the server is not";
                return Err(std::io::Error::new(std::io::ErrorKind::PermissionDenied, what).into());
            }
            Ok(Box::new(allowed.into_iter()) as Addrs)
        })
    }
}

async fn lookup(host: &str) -> std::io::Result<Vec<SocketAddr>> {
    Ok(tokio::net::lookup_host((host, 0)).await?.collect())
}

/// A URL without its query, which may contain secrets.
pub(super) fn shown(url: &Url) -> String {
    let mut url = url.clone();
    url.set_query(None);
    url.set_fragment(None);
    let _ = url.set_password(None);
    url.into()
}

/// The class of a host that is an IP address or `localhost`.
fn class_of_host(host: &str) -> Option<Class> {
    match Host::parse(host) {
        Ok(Host::Ipv4(address)) => Some(class_of(address.into())),
        Ok(Host::Domain(name)) => {
            let name = name.trim_end_matches('.').to_ascii_lowercase();
            (name == "localhost" || name.ends_with(".localhost")).then_some(Class::Loopback)
        }
        _ => host.parse::<Ipv6Addr>().ok().map(|address| class_of(address.into())),
    }
}

fn class_of(address: IpAddr) -> Class {
    match address {
        IpAddr::V4(address) => class_of_v4(address),
        IpAddr::V6(address) => embedded(address).map_or_else(|| class_of_v6(address), class_of_v4),
    }
}

fn class_of_v4(address: Ipv4Addr) -> Class {
    let [a, b, ..] = address.octets();
    if address.is_loopback() {
        Class::Loopback
    } else if address.is_private() || (a == 100 && (64..=127).contains(&b)) {
        Class::Private
    } else if a == 0
        || address.is_link_local()
        || address.is_multicast()
        || a >= 240
        || (a == 198 && matches!(b, 18 | 19))
    {
        Class::Never
    } else {
        Class::Public
    }
}

fn class_of_v6(address: Ipv6Addr) -> Class {
    let [a, b, ..] = address.segments();
    if address.is_loopback() {
        Class::Loopback
    } else if (a & 0xfe00) == 0xfc00 {
        Class::Private
    } else if address.is_unspecified() || address.is_multicast() || (a & 0xffc0) == 0xfe80 || (a, b) == (0x2001, 0) {
        Class::Never
    } else {
        Class::Public
    }
}

/// The IPv4 address in a mapped, compatible, NAT64 or 6to4 address, to which packets are sent.
fn embedded(address: Ipv6Addr) -> Option<Ipv4Addr> {
    let [a, b, c, d, e, f, g, h] = address.segments();
    let of = |high: u16, low: u16| Ipv4Addr::from((u32::from(high) << 16) | u32::from(low));
    match [a, b, c, d, e, f] {
        [0, 0, 0, 0, 0, 0xffff] | [0x64, 0xff9b, 0, 0, 0, 0] => Some(of(g, h)),
        [0, 0, 0, 0, 0, 0] if !address.is_loopback() && !address.is_unspecified() => Some(of(g, h)),
        [0x2002, ..] => Some(of(b, c)),
        _ => None,
    }
}

/// The hosts of proxies in the environment.
fn proxies() -> BTreeSet<String> {
    let names = ["HTTP_PROXY", "http_proxy", "HTTPS_PROXY", "https_proxy", "ALL_PROXY", "all_proxy"];
    let host = |value: String| {
        let url = if value.contains("://") { value } else { format!("http://{value}") };
        Url::parse(&url).ok()?.host_str().map(str::to_owned)
    };
    names.into_iter().filter_map(|name| std::env::var(name).ok()).filter_map(host).collect()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn classifies_addresses() {
        for (text, class) in [
            ("8.8.8.8", Class::Public),
            ("10.1.2.3", Class::Private),
            ("100.64.0.1", Class::Private),
            ("192.168.0.1", Class::Private),
            ("169.254.169.254", Class::Never),
            ("0.0.0.0", Class::Never),
            ("127.9.9.9", Class::Loopback),
            ("2606:4700::1", Class::Public),
            ("::1", Class::Loopback),
            ("::", Class::Never),
            ("fd00::1", Class::Private),
            ("fe80::1", Class::Never),
            ("::ffff:127.0.0.1", Class::Loopback),
            ("64:ff9b::a9fe:a9fe", Class::Never),
            ("2002:7f00:1::", Class::Loopback),
        ] {
            assert_eq!(class_of(text.parse().unwrap()), class, "{text}");
        }
    }

    #[tokio::test]
    async fn a_url_must_not_be_more_private_than_the_server() {
        let table = [
            ("https://1.1.1.1/mcp", "https://9.9.9.9/as", true),
            ("https://1.1.1.1/mcp", "http://9.9.9.9/as", false),
            ("https://1.1.1.1/mcp", "https://10.0.0.1/as", false),
            ("https://1.1.1.1/mcp", "https://127.0.0.1/as", false),
            ("https://1.1.1.1/mcp", "http://localhost:80/as", false),
            ("https://1.1.1.1/mcp", "https://[::ffff:7f00:1]/as", false),
            ("https://1.1.1.1/mcp", "https://0x7f000001/as", false),
            ("https://10.0.0.2/mcp", "https://10.0.0.1/as", true),
            ("https://10.0.0.2/mcp", "https://127.0.0.1/as", false),
            ("http://127.0.0.1:1/mcp", "http://127.0.0.1:2/as", true),
            ("http://127.0.0.1:1/mcp", "http://[::1]:2/as", true),
            ("http://127.0.0.1:1/mcp", "https://10.0.0.1/as", true),
            ("http://127.0.0.1:1/mcp", "https://169.254.169.254/latest", false),
            ("http://127.0.0.1:1/mcp", "file:///etc/passwd", false),
            ("http://127.0.0.1:1/mcp", "http://me:secret@127.0.0.1:1/as", false),
        ];
        for (server, url, allowed) in table {
            let policy = AddressPolicy::new(&Url::parse(server).unwrap());
            let checked = policy.check(&Url::parse(url).unwrap()).await;
            assert_eq!(checked.is_ok(), allowed, "{url} of {server}: {checked:?}");
        }
    }
}
