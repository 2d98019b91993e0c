//! HTTP clients, pooled by origin and identity. Connections of one user are never used for another, and connections to
//! one server are shared.

use std::{
    collections::HashMap,
    path::PathBuf,
    sync::{Arc, LazyLock, Mutex, PoisonError, Weak},
};

use http::HeaderMap;
use url::Url;

use super::redirect;
use crate::{
    config::HttpEndpoint,
    digest::Digest,
    error::ConnectFailure,
    http_client::{SocketUrl, over_socket},
};

/// The address of an endpoint.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) struct Address {
    /// The URL of requests. Over a Unix socket, its host is ignored.
    pub(crate) url: Url,
    /// The Unix socket to connect to instead of the host.
    pub(crate) socket: Option<PathBuf>,
    /// Whether to use HTTP/2.
    pub(crate) http2: bool,
}

impl Address {
    /// Parses `http://…`, `https://…` or `unix:///path/of/the/socket#/path/of/the/endpoint`.
    ///
    /// # Errors
    /// If the URL has another form.
    pub(crate) fn new(endpoint: &HttpEndpoint) -> Result<Self, ConnectFailure> {
        let text = endpoint.url.as_str();
        let bad = |detail: String| ConnectFailure::Config { detail };
        let url = Url::parse(text).map_err(|error| bad(format!("`{text}` is not a URL: {error}")))?;
        if !["http", "https", "unix"].contains(&url.scheme()) {
            return Err(bad(format!("`{text}` is not an http, https or unix URL")));
        }
        let SocketUrl { url, socket } = SocketUrl::new(&url).map_err(bad)?;
        Ok(Self { url, socket, http2: endpoint.http2 })
    }
}

/// A shared HTTP client.
#[derive(Debug, Clone)]
pub(crate) struct Pooled(Arc<reqwest::Client>);

impl std::ops::Deref for Pooled {
    type Target = reqwest::Client;

    fn deref(&self) -> &reqwest::Client {
        &self.0
    }
}

#[derive(Debug, Clone, PartialEq, Eq, Hash)]
struct Key {
    origin: String,
    socket: Option<PathBuf>,
    http2: bool,
    identity: Digest,
    runtime: Option<tokio::runtime::Id>,
}

impl Key {
    fn new(address: &Address, headers: &HeaderMap) -> Self {
        let mut named: Vec<_> = headers.iter().map(|(name, value)| (name.as_str(), value.as_bytes())).collect();
        named.sort_unstable();
        // A connection belongs to the runtime that opened it.
        let runtime = tokio::runtime::Handle::try_current().ok().map(|handle| handle.id());
        Self {
            origin: address.url.origin().ascii_serialization(),
            socket: address.socket.clone(),
            http2: address.http2,
            identity: Digest::new(named.into_iter().flat_map(|(name, value)| [name.as_bytes(), value])),
            runtime,
        }
    }
}

type Clients = HashMap<Key, Weak<reqwest::Client>>;

/// The clients in use. Unused clients are dropped.
static CLIENTS: LazyLock<Mutex<Clients>> = LazyLock::new(Mutex::default);

/// The client for this address and these headers.
pub(crate) fn client(address: &Address, headers: &HeaderMap) -> Result<Pooled, ConnectFailure> {
    let key = Key::new(address, headers);
    let mut clients = CLIENTS.lock().unwrap_or_else(PoisonError::into_inner);
    if let Some(client) = clients.get(&key).and_then(Weak::upgrade) {
        return Ok(Pooled(client));
    }
    let client = Arc::new(build(address)?);
    clients.retain(|_, client| client.strong_count() > 0);
    clients.insert(key, Arc::downgrade(&client));
    Ok(Pooled(client))
}

fn build(address: &Address) -> Result<reqwest::Client, ConnectFailure> {
    // Proxies come from HTTP_PROXY, HTTPS_PROXY, ALL_PROXY and NO_PROXY, in upper or lower case.
    // Redirects to other origins are rejected, so one URL decides about certificates.
    let mut builder = crate::http_client::builder_for(&address.url).redirect(redirect::policy());
    if let Some(socket) = &address.socket {
        builder = over_socket(builder, socket).map_err(|detail| ConnectFailure::Config { detail })?;
    }
    if address.http2 {
        builder = builder.http2_prior_knowledge();
    }
    builder.build().map_err(|error| ConnectFailure::Transport { source: error.into() })
}

#[cfg(test)]
mod tests {
    use super::*;

    fn address(url: &str) -> Result<Address, ConnectFailure> {
        Address::new(&HttpEndpoint { url: url.into(), ..HttpEndpoint::default() })
    }

    #[test]
    fn reads_urls_of_sockets() {
        let unix = address("unix:///run/a%20b.sock#/mcp").unwrap();
        assert_eq!((unix.url.as_str(), unix.socket), ("http://localhost/mcp", Some("/run/a b.sock".into())));
        assert_eq!(address("unix:/run/a.sock").unwrap().url.as_str(), "http://localhost/");
        assert_eq!(address("https://a.test/mcp").unwrap().socket, None);
        for bad in ["unix://run/a.sock#/mcp", "unix:///", "unix:///run/", "ftp://a.test", "a b", ""] {
            assert_eq!(address(bad).unwrap_err().kind(), "invalid-config", "{bad}");
        }
    }

    #[tokio::test]
    async fn one_client_for_each_origin_and_identity() {
        let at = |url: &str| address(url).unwrap();
        let headers =
            |value: &'static str| HeaderMap::from_iter([(http::header::AUTHORIZATION, value.parse().unwrap())]);
        let first = client(&at("http://127.0.0.1:1/a"), &headers("x")).unwrap();
        let same =
            |url: &str, value: &'static str| Arc::ptr_eq(&first.0, &client(&at(url), &headers(value)).unwrap().0);
        assert!(same("http://127.0.0.1:1/b?c", "x"));
        assert!(!same("http://127.0.0.1:1/a", "y"));
        assert!(!same("http://127.0.0.1:2/a", "x"));
        assert!(!same("https://127.0.0.1:1/a", "x"));
        assert!(!same("unix:///tmp/a#/a", "x"));
        let weak = Arc::downgrade(&first.0);
        drop(first);
        assert_eq!(weak.strong_count(), 0, "an unused client is kept");
    }
}
