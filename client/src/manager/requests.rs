//! Cache keys of servers: the endpoint without secrets, and a digest of the secrets.

use std::collections::BTreeMap;

use super::ManagedServer;
use crate::{
    catalog::cache::CacheKey,
    config::{Endpoint, HttpEndpoint, RevisionChoice, StdioEndpoint},
    digest::Digest,
};

impl ManagedServer {
    /// The cache key of a server and an identity. Everything that may change the server's responses is part of the
    /// identity.
    pub(super) fn cache_key(&self) -> CacheKey {
        let account = self.account.as_deref();
        // A missing account differs from an account with an empty name.
        let account = [if account.is_some() { "account" } else { "none" }, account.unwrap_or_default()];
        let protocol = match self.config.protocol {
            RevisionChoice::Auto => "auto",
            RevisionChoice::Pinned(revision) => revision.as_str(),
        };
        let (kind, place, secrets): (_, _, Vec<String>) = match &self.config.endpoint {
            Endpoint::Stdio(endpoint) => ("stdio", program(endpoint), pairs(&endpoint.env).collect()),
            Endpoint::StreamableHttp(endpoint) => ("http", url(endpoint), shown(endpoint)),
            Endpoint::Sse(endpoint) => ("sse", url(endpoint), shown(endpoint)),
            Endpoint::Auto(endpoint) => ("auto", url(endpoint), shown(endpoint)),
        };
        let server = Digest::new([kind, protocol].into_iter().chain(place.iter().map(String::as_str)));
        CacheKey { server, identity: Digest::new(account.into_iter().chain(secrets.iter().map(String::as_str))) }
    }
}

fn program(endpoint: &StdioEndpoint) -> Vec<String> {
    let cwd = endpoint.cwd.as_ref().map(|cwd| cwd.to_string_lossy().into_owned()).unwrap_or_default();
    [endpoint.command.clone(), cwd, format!("{:?} {:?}", endpoint.inherit, endpoint.env_vars)]
        .into_iter()
        .chain(endpoint.args.iter().cloned())
        .collect()
}

fn url(endpoint: &HttpEndpoint) -> Vec<String> {
    vec![endpoint.url.clone()]
}

/// Values that identify the user to the server, and their sources.
fn shown(endpoint: &HttpEndpoint) -> Vec<String> {
    let sources = format!("{:?} {:?} {:?}", endpoint.bearer_token_env, endpoint.env_headers, endpoint.headers_helper);
    pairs(&endpoint.headers).chain([sources]).collect()
}

fn pairs(map: &BTreeMap<String, String>) -> impl Iterator<Item = String> {
    map.iter().flat_map(|(name, value)| [name.clone(), value.clone()])
}
