//! HTTP clients with the workspace's one TLS provider.
//!
//! reqwest is built without a provider: its default (aws-lc) would be linked in addition to ring, which the mock servers
//! need for certificates. `reqwest::Client::new` therefore panics; use [`builder`].

use url::{Host, Url};

/// Returns a client builder after installing ring as the process's TLS provider, unless the program has installed one.
pub fn builder() -> reqwest::ClientBuilder {
    // An error means that a provider is installed already, which is all that reqwest needs.
    let _ = rustls::crypto::ring::default_provider().install_default();
    // Servers with TLS would choose HTTP/2, on whose one connection the requests of a session depend on each other.
    reqwest::Client::builder().http1_only()
}

/// Like [`builder`], for requests to this URL and others with its scheme and host.
///
/// Without the certificates of the system for plain HTTP to this machine: reading them takes longer than most exchanges.
/// Other plain HTTP may go through a proxy with TLS.
pub fn builder_for(url: &Url) -> reqwest::ClientBuilder {
    if needs_certificates(url) { builder() } else { builder().tls_certs_only([]) }
}

/// Whether requests to this URL may need the certificates of the system.
pub(crate) fn needs_certificates(url: &Url) -> bool {
    url.scheme() != "http" || !is_loopback(url)
}

/// Whether the host is this machine: a loopback address or `localhost`.
#[must_use]
pub fn is_loopback(url: &Url) -> bool {
    match url.host() {
        Some(Host::Ipv4(address)) => address.is_loopback(),
        Some(Host::Ipv6(address)) => address.is_loopback(),
        Some(Host::Domain(name)) => name == "localhost",
        None => false,
    }
}
