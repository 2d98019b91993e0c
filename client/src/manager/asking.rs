//! Who asks which server, for the cache: the place without its secrets, and a stand-in for the secrets.

use std::collections::BTreeMap;

use super::ManagedServer;
use crate::{
    catalogue::cache::Asker,
    config::{Endpoint, HttpEndpoint, ProtocolChoice, StdioEndpoint},
    digest::Digest,
};

impl ManagedServer {
    /// Who asks which server. Whatever could make the server answer somebody else differently goes into the identity.
    pub(super) fn asker(&self) -> Asker {
        let account = self.account.as_deref();
        // An absent account is not the account of the empty name.
        let account = [if account.is_some() { "account" } else { "none" }, account.unwrap_or_default()];
        let protocol = match self.config.protocol {
            ProtocolChoice::Auto => "auto",
            ProtocolChoice::Pinned(revision) => revision.as_str(),
        };
        let (kind, place, secrets): (_, _, Vec<String>) = match &self.config.endpoint {
            Endpoint::Stdio(endpoint) => ("stdio", program(endpoint), pairs(&endpoint.env).collect()),
            Endpoint::StreamableHttp(endpoint) => ("http", url(endpoint), shown(endpoint)),
            Endpoint::Sse(endpoint) => ("sse", url(endpoint), shown(endpoint)),
            Endpoint::Auto(endpoint) => ("auto", url(endpoint), shown(endpoint)),
        };
        let server = Digest::of([kind, protocol].into_iter().chain(place.iter().map(String::as_str)));
        Asker { server, identity: Digest::of(account.into_iter().chain(secrets.iter().map(String::as_str))) }
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

/// What a server is shown of who asks: values, and the places from which others come.
fn shown(endpoint: &HttpEndpoint) -> Vec<String> {
    let sources = format!("{:?} {:?} {:?}", endpoint.bearer_token_env, endpoint.env_headers, endpoint.headers_helper);
    pairs(&endpoint.headers).chain([sources]).collect()
}

fn pairs(map: &BTreeMap<String, String>) -> impl Iterator<Item = String> {
    map.iter().flat_map(|(name, value)| [name.clone(), value.clone()])
}
