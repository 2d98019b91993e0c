//! Metadata of the resource and of the authorization server.

use reqwest::Url;
use serde_json::{Value, json};

use super::{Challenge, Discovered, OAuth, refused, texts};
use crate::client::{defect::Defect, fault::Fault};

const RESOURCE: &str = "/.well-known/oauth-protected-resource";
const OAUTH: &str = "/.well-known/oauth-authorization-server";
const OPENID: &str = "/.well-known/openid-configuration";

impl OAuth {
    pub(super) async fn discover(&self, challenge: &Challenge) -> Result<Discovered, Fault> {
        let canonical = self.server.as_str().to_owned();
        let Some(resource) = self.resource_metadata(challenge).await? else {
            return self.own_server(canonical).await;
        };
        let named = resource["resource"].as_str().unwrap_or_default();
        if !self.is_parent(named) && !self.flaw.is(Defect::TrustsAnyResource) {
            return Err(refused(format!("the metadata is of another resource: {named}")));
        }
        let issuers = texts(&resource["authorization_servers"]).unwrap_or_default();
        let issuer = issuers.first().ok_or_else(|| refused("the metadata names no authorization server"))?;
        let server = self.server_metadata(issuer).await?;
        let server = server.ok_or_else(|| refused(format!("{issuer} has no metadata")))?;
        let has_pkce = server["code_challenge_methods_supported"].is_array();
        if !has_pkce && self.is_since("2025-11-25") && !self.flaw.is(Defect::AssumesPkce) {
            return Err(refused("the authorization server does not support PKCE"));
        }
        let resource = Discovered { resource: named.to_owned(), scopes: texts(&resource["scopes_supported"]), server };
        Ok(if self.flaw.is(Defect::TrustsAnyResource) {
            Discovered { resource: canonical, ..resource }
        } else {
            resource
        })
    }

    /// Whether a resource is this server, or has it below its path.
    fn is_parent(&self, resource: &str) -> bool {
        Url::parse(resource).is_ok_and(|url| {
            url.origin() == self.server.origin() && self.server.path().starts_with(url.path().trim_end_matches('/'))
        })
    }

    fn at_origin(&self, path: &str) -> String {
        format!("{}{path}", self.server.origin().ascii_serialization())
    }

    async fn resource_metadata(&self, challenge: &Challenge) -> Result<Option<Value>, Fault> {
        let specific = self.at_origin(&format!("{RESOURCE}{}", self.server.path().trim_end_matches('/')));
        let mut locations = vec![specific, self.at_origin(RESOURCE)];
        let overlooks_url = self.flaw.is(Defect::IgnoresMetadataUrl)
            || !challenge.is_first && self.flaw.is(Defect::ReadsFirstChallenge)
            || !challenge.is_capital && self.flaw.is(Defect::NeedsCapitalScheme);
        if self.flaw.is(Defect::TriesRootFirst) {
            locations.reverse();
        } else if self.flaw.is(Defect::NeverTriesRoot) {
            locations.truncate(1);
        } else if let Some(named) = challenge.metadata.clone().filter(|_| !overlooks_url) {
            locations = vec![named];
        }
        for location in locations {
            if let Some(document) = self.document(&location).await? {
                return Ok(Some(document));
            }
        }
        Ok(None)
    }

    /// The metadata of an issuer.
    pub(super) async fn server_metadata(&self, issuer: &str) -> Result<Option<Value>, Fault> {
        let url = Url::parse(issuer).map_err(|error| refused(error.to_string()))?;
        let (origin, path) = (url.origin().ascii_serialization(), url.path().trim_end_matches('/'));
        let mut locations = vec![format!("{origin}{OAUTH}{path}"), format!("{origin}{OPENID}{path}")];
        if !path.is_empty() {
            locations.push(format!("{origin}{path}{OPENID}"));
        }
        if self.flaw.is(Defect::KnowsOnlyOAuthMetadata) {
            locations.truncate(1);
        } else if self.flaw.is(Defect::TriesOpenIdFirst) {
            locations.swap(0, 1);
        }
        for location in locations {
            let Some(document) = self.document(&location).await? else { continue };
            let is_missing = document["issuer"].is_null() && self.flaw.is(Defect::TrustsMissingIssuer);
            let normalizes = self.flaw.is(Defect::NormalizesIssuer);
            let is_equal =
                normalizes && document["issuer"].as_str().is_some_and(|own| own.trim_end_matches('/') == issuer);
            if document["issuer"] == issuer || is_missing || is_equal || self.flaw.is(Defect::TrustsAnyIssuer) {
                return Ok(Some(document));
            }
            return Err(refused(format!("the metadata has the issuer {}", document["issuer"])));
        }
        Ok(None)
    }

    /// The server itself as the authorization server (2025-03-26).
    async fn own_server(&self, resource: String) -> Result<Discovered, Fault> {
        let origin = self.at_origin("");
        let server = match self.server_metadata(&origin).await? {
            Some(server) => server,
            None if self.is_since("2025-06-18") || self.flaw.is(Defect::NeedsMetadata) => {
                return Err(refused("there is no metadata of the resource"));
            }
            None => json!({
                "issuer": origin,
                "authorization_endpoint": format!("{origin}/authorize"),
                "token_endpoint": format!("{origin}/token"),
                "registration_endpoint": format!("{origin}/register"),
            }),
        };
        Ok(Discovered { resource, scopes: None, server })
    }
}
