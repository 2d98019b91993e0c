//! HTTP clients with the workspace's one TLS provider.
//!
//! reqwest is built without a provider: its default (aws-lc) would be linked in addition to ring, which the mock servers
//! need for certificates. `reqwest::Client::new` therefore panics; use [`builder`].

use std::path::{Path, PathBuf};

use percent_encoding::percent_decode_str;
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

/// The parts of `unix:///path/of/the/socket#/path/of/the/endpoint`, or of another URL.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct SocketUrl {
    /// The URL of requests. Over a Unix socket, its host is ignored.
    pub url: Url,
    /// The Unix socket to connect to instead of the host.
    pub socket: Option<PathBuf>,
}

impl SocketUrl {
    /// Takes a URL apart.
    ///
    /// # Errors
    /// Why a URL with the scheme `unix` has another form.
    pub fn new(url: &Url) -> Result<Self, String> {
        if url.scheme() != "unix" {
            return Ok(Self { url: url.clone(), socket: None });
        }
        let path = percent_decode_str(url.path()).decode_utf8();
        let path = path.map_err(|_| format!("the path of `{url}` is not UTF-8"))?;
        if url.host_str().is_some_and(|host| !host.is_empty()) || !path.starts_with('/') || path.ends_with('/') {
            return Err(format!("`{url}` does not have the form `unix:///path/of/the/socket#/mcp`"));
        }
        let target = url.fragment().unwrap_or("/").trim_start_matches('/');
        let inner = Url::parse(&format!("http://localhost/{target}"));
        let inner = inner.map_err(|error| format!("`{url}` has an invalid endpoint path: {error}"))?;
        Ok(Self { url: inner, socket: Some(path.into_owned().into()) })
    }
}

/// Connects to a Unix socket instead of the hosts of URLs.
///
/// # Errors
/// On a system without Unix sockets.
#[cfg(unix)]
pub fn over_socket(builder: reqwest::ClientBuilder, socket: &Path) -> Result<reqwest::ClientBuilder, String> {
    Ok(builder.unix_socket(socket).no_proxy())
}

/// Connects to a Unix socket instead of the hosts of URLs.
///
/// # Errors
/// On a system without Unix sockets.
#[cfg(not(unix))]
pub fn over_socket(_: reqwest::ClientBuilder, socket: &Path) -> Result<reqwest::ClientBuilder, String> {
    Err(format!("Unix sockets are not available on this system: `{}`; use an http URL", socket.display()))
}
