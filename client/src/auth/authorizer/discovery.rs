//! Selects the authorization server and the resource.

use url::Url;

use super::Inner;
use crate::auth::{
    challenge::Challenges,
    credentials::Credentials,
    error::{AuthFailure, quoted},
    resource::{self, ResourceMetadata, canonical},
    server::{self, ServerMetadata, is_same},
    settings::DpopPolicy,
};

/// The result of discovery.
#[derive(Debug)]
pub(super) struct Discovery {
    pub(super) server: ServerMetadata,
    pub(super) metadata: Option<ResourceMetadata>,
    /// The resource indicator.
    pub(super) resource: String,
    /// Whether the token is bound to a key.
    pub(super) bind: bool,
}

impl Inner {
    /// Discovers the authorization server. Nothing is cached, because it may change.
    pub(super) async fn discover(
        &self,
        challenges: &Challenges,
        before: Option<&Credentials>,
    ) -> Result<Discovery, AuthFailure> {
        let mut tried = Vec::new();
        let metadata = resource::discover(&self.web, &self.url, challenges, &mut tried).await;
        let (server, metadata) = match (&self.settings.server_metadata_url, metadata) {
            // A configured authorization server does not depend on the metadata of the resource.
            (Some(location), metadata) => {
                (self.configured_server(location, &mut tried).await?, metadata.unwrap_or_default())
            }
            (None, Err(failure)) => return Err(failure),
            (None, Ok(Some(metadata))) => (self.named_server(&metadata, before, &mut tried).await?, Some(metadata)),
            (None, Ok(None)) => (self.own_server(&mut tried).await?, None),
        };
        let bind = self.binds(&server, metadata.as_ref(), challenges)?;
        let named = metadata.as_ref().map(|metadata| &metadata.resource);
        let resource = self.settings.resource.as_ref().or(named).cloned();
        Ok(Discovery { server, metadata, resource: resource.unwrap_or_else(|| canonical(&self.url)), bind })
    }

    /// The configured authorization server.
    async fn configured_server(&self, location: &Url, tried: &mut Vec<String>) -> Result<ServerMetadata, AuthFailure> {
        let server = server::at(&self.web, location, tried).await?;
        server.ok_or_else(|| AuthFailure::Discovery { tried: std::mem::take(tried) })
    }

    /// The first usable authorization server of the resource, preferring the configured issuer and then the one of the
    /// stored credentials.
    async fn named_server(
        &self,
        metadata: &ResourceMetadata,
        before: Option<&Credentials>,
        tried: &mut Vec<String>,
    ) -> Result<ServerMetadata, AuthFailure> {
        let mut issuers: Vec<&String> = metadata.authorization_servers.iter().collect();
        let configured = self.settings.client.as_ref().and_then(|client| client.issuer.as_ref());
        if let Some(known_at) = configured {
            issuers.retain(|issuer| is_same(known_at, issuer));
            if issuers.is_empty() {
                let now =
                    metadata.authorization_servers.iter().map(|issuer| quoted(issuer)).collect::<Vec<_>>().join(", ");
                return Err(AuthFailure::ServerChanged { registered_at: known_at.clone(), now });
            }
        }
        issuers.sort_by_key(|issuer| !before.is_some_and(|before| before.is_of(issuer)));
        let mut first = None;
        for issuer in issuers {
            match server::discover(&self.web, issuer, tried).await {
                Ok(Some(server)) => return Ok(server),
                Ok(None) => {}
                Err(failure) => {
                    first.get_or_insert(failure);
                }
            }
        }
        Err(first.unwrap_or_else(|| AuthFailure::Discovery { tried: std::mem::take(tried) }))
    }

    /// Before 2025-06-18 an MCP server was its own authorization server: "the authorization base URL MUST be
    /// determined from the MCP server URL by discarding any existing path component" (2025-03-26, authorization).
    async fn own_server(&self, tried: &mut Vec<String>) -> Result<ServerMetadata, AuthFailure> {
        let issuer = self.url.origin().ascii_serialization();
        match server::discover(&self.web, &issuer, tried).await? {
            Some(server) => Ok(server),
            None => Ok(ServerMetadata::assumed(&self.url)),
        }
    }

    /// Many authorization servers support DPoP, but few resources do, so both have to declare it.
    fn binds(
        &self,
        server: &ServerMetadata,
        metadata: Option<&ResourceMetadata>,
        challenges: &Challenges,
    ) -> Result<bool, AuthFailure> {
        let unsupported =
            |what: &str| AuthFailure::Unsupported { issuer: server.issuer.clone(), what: what.to_owned() };
        let needed = metadata.is_some_and(|metadata| metadata.needs_dpop);
        let wanted = challenges.wants_dpop() || metadata.is_some_and(|metadata| metadata.takes_dpop);
        match self.settings.dpop {
            DpopPolicy::Never if needed => Err(AuthFailure::Config {
                what: "disabled DPoP".to_owned(),
                problem: "the server requires DPoP".to_owned(),
            }),
            DpopPolicy::Never => Ok(false),
            DpopPolicy::Always if !server.binds_to_es256 => Err(unsupported("DPoP with ES256")),
            DpopPolicy::Always => Ok(true),
            DpopPolicy::Auto if needed && !server.binds_to_es256 => Err(unsupported("DPoP with ES256")),
            DpopPolicy::Auto => Ok(wanted && server.binds_to_es256),
        }
    }
}
