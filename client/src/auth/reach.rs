//! Where metadata may send this client: not to addresses that only this machine or its network can reach, unless the server
//! itself is there.
//!
//! A server chooses the URLs in its metadata, so they are a way to make a client ask its own network (server-side request
//! forgery). Names are judged by what they resolve to, at the moment when the connection is made, so that an answer of the
//! DNS that changes in between is of no use.

use std::{
    collections::BTreeSet,
    net::{IpAddr, Ipv4Addr, Ipv6Addr, SocketAddr},
    sync::Arc,
};

use reqwest::dns::{Addrs, Name, Resolve, Resolving};
use tokio::sync::OnceCell;
use url::{Host, Url};

use super::error::AuthFailure;

/// From where an address can be reached; what comes later is more private.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord)]
enum Class {
    Public,
    Private,
    Loopback,
    /// From nowhere that matters: link-local addresses (metadata services of clouds), multicast, reserved ones.
    Never,
}

/// What the place of a server allows.
#[derive(Debug, Clone)]
pub(super) struct Reach(Arc<Inner>);

#[derive(Debug)]
struct Inner {
    /// The server's own host, without brackets.
    host: String,
    class: OnceCell<Class>,
    /// Hosts of proxies: the user has chosen them, and they resolve for us.
    proxies: BTreeSet<String>,
}

impl Reach {
    /// What a server at this URL allows.
    pub(super) fn of(server: &Url) -> Self {
        let host = server.host_str().unwrap_or_default().trim_matches(['[', ']']).to_owned();
        Self(Arc::new(Inner { host, class: OnceCell::new(), proxies: proxies() }))
    }

    /// The class of the server's own host.
    async fn own(&self) -> Class {
        let class = self.0.class.get_or_init(|| async {
            if let Some(class) = of_text(&self.0.host) {
                return class;
            }
            let addresses = lookup(&self.0.host).await.unwrap_or_default();
            // A server with a public address is a public one.
            addresses.iter().map(|address| class_of(address.ip())).min().unwrap_or(Class::Public)
        });
        *class.await
    }

    async fn allows(&self, class: Class) -> bool {
        class == Class::Public || (class != Class::Never && class <= self.own().await)
    }

    /// Whether a URL may be asked.
    ///
    /// # Errors
    /// When it is no HTTPS URL (HTTP does on loopback), carries a user, or leads to where the server is not.
    pub(super) async fn check(&self, url: &Url) -> Result<(), AuthFailure> {
        let forbidden = |problem: &str| AuthFailure::ForbiddenUrl { what: shown(url), problem: problem.to_owned() };
        let host = url.host_str().unwrap_or_default().trim_matches(['[', ']']).to_owned();
        if host.is_empty() || !matches!(url.scheme(), "http" | "https") {
            return Err(forbidden("it is no https URL"));
        }
        if !url.username().is_empty() || url.password().is_some() {
            return Err(forbidden("it carries a user"));
        }
        let literal = of_text(&host);
        // "All authorization server endpoints MUST be served over HTTPS" (2026-07-28, security considerations).
        if url.scheme() == "http" && literal != Some(Class::Loopback) {
            return Err(forbidden("it is no https URL"));
        }
        match literal {
            Some(class) if host != self.0.host && !self.allows(class).await => {
                Err(forbidden("the address is not reachable for everybody, and the server is elsewhere"))
            }
            _ => Ok(()),
        }
    }
}

impl Resolve for Reach {
    fn resolve(&self, name: Name) -> Resolving {
        let reach = self.clone();
        Box::pin(async move {
            let addresses = lookup(name.as_str()).await?;
            let known = name.as_str() == reach.0.host || reach.0.proxies.contains(name.as_str());
            let mut allowed = Vec::new();
            for address in addresses {
                if known || reach.allows(class_of(address.ip())).await {
                    allowed.push(address);
                }
            }
            if allowed.is_empty() {
                let what =
                    "the name leads to an address that is not reachable for everybody, and the server is elsewhere";
                return Err(std::io::Error::new(std::io::ErrorKind::PermissionDenied, what).into());
            }
            Ok(Box::new(allowed.into_iter()) as Addrs)
        })
    }
}

async fn lookup(host: &str) -> std::io::Result<Vec<SocketAddr>> {
    Ok(tokio::net::lookup_host((host, 0)).await?.collect())
}

/// A URL without its query, which may hold what nobody is to see.
pub(super) fn shown(url: &Url) -> String {
    let mut url = url.clone();
    url.set_query(None);
    url.set_fragment(None);
    let _ = url.set_password(None);
    url.into()
}

/// The class of a host that needs no name service.
fn of_text(host: &str) -> Option<Class> {
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

/// The IPv4 address inside a mapped, a compatible, a NAT64 or a 6to4 address: that is where its packets go.
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

/// The hosts of the proxies in the environment.
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
    fn addresses_are_judged_by_where_they_lead() {
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
    async fn a_url_may_lead_no_further_in_than_the_server_is() {
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
            let reach = Reach::of(&Url::parse(server).unwrap());
            let checked = reach.check(&Url::parse(url).unwrap()).await;
            assert_eq!(checked.is_ok(), allowed, "{url} of {server}: {checked:?}");
        }
    }
}
