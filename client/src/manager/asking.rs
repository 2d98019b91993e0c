//! Who asks which server, for the cache: the place without its secrets, and a stand-in for the secrets.

use std::collections::BTreeMap;

use super::ManagedServer;
use crate::{
    catalogue::cache::{Asker, Digest},
    config::{Endpoint, HttpEndpoint, ProtocolChoice, StdioEndpoint},
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
        let (kind, place, secrets) = match &self.config.endpoint {
            Endpoint::Stdio(endpoint) => ("stdio", program(endpoint), pairs(&endpoint.env)),
            Endpoint::StreamableHttp(endpoint) => ("http", url(endpoint), pairs(&endpoint.headers)),
            Endpoint::Sse(endpoint) => ("sse", url(endpoint), pairs(&endpoint.headers)),
            Endpoint::Auto(endpoint) => ("auto", url(endpoint), pairs(&endpoint.headers)),
        };
        let server = Digest::of([kind, protocol].into_iter().chain(place.iter().map(String::as_str)));
        Asker { server, identity: Digest::of(account.into_iter().chain(secrets)) }
    }
}

fn program(endpoint: &StdioEndpoint) -> Vec<String> {
    let cwd = endpoint.cwd.as_ref().map(|cwd| cwd.to_string_lossy().into_owned()).unwrap_or_default();
    [endpoint.command.clone(), cwd, endpoint.clear_env.to_string()]
        .into_iter()
        .chain(endpoint.args.iter().cloned())
        .collect()
}

fn url(endpoint: &HttpEndpoint) -> Vec<String> {
    vec![endpoint.url.clone()]
}

fn pairs(map: &BTreeMap<String, String>) -> impl Iterator<Item = &str> {
    map.iter().flat_map(|(name, value)| [name.as_str(), value.as_str()])
}
