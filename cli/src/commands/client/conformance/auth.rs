//! Authorization in the scenarios under `auth/`: credentials of the context, and a browser without a user.

use std::sync::Arc;

use anyhow::Context as _;
use client::auth::{
    AuthSettings, Authorize, Authorizer, ConfiguredClient, Enterprise, Grant, HeadlessBrowser, TokenSource,
    credentials::{CredentialKey, Secret},
    store::MemoryStore,
};
use serde_json::Value;
use url::Url;

use super::Request;

/// The client metadata URL that the suite expects; it is never fetched.
const DOCUMENT: &str = "https://conformance-test.local/client-metadata.json";

/// The authorizer of a scenario.
pub(super) fn authorizer(request: &Request) -> anyhow::Result<Arc<dyn Authorize>> {
    let url = Url::parse(&request.url).context("the address of the server is not a URL")?;
    let settings = AuthSettings {
        grant: grant(request)?,
        client: configured(request),
        client_metadata_url: Some(DOCUMENT.parse()?),
        ..AuthSettings::default()
    };
    let (store, browser) = (Arc::new(MemoryStore::default()), Arc::new(HeadlessBrowser::default()));
    let authorizer = Authorizer::new("suite", CredentialKey::from_url(&url), &url, settings, store, Some(browser));
    Ok(Arc::new(authorizer))
}

fn text(request: &Request, name: &str) -> Option<String> {
    request.context.get(name).and_then(Value::as_str).map(str::to_owned)
}

fn needed(request: &Request, name: &str) -> anyhow::Result<String> {
    text(request, name).with_context(|| format!("the context names no `{name}`"))
}

fn configured(request: &Request) -> Option<ConfiguredClient> {
    Some(ConfiguredClient {
        secret: text(request, "client_secret").map(Secret::new),
        private_key: text(request, "private_key_pem").map(Secret::new),
        signing_algorithm: text(request, "signing_algorithm"),
        ..ConfiguredClient::new(text(request, "client_id")?)
    })
}

fn grant(request: &Request) -> anyhow::Result<Grant> {
    let token = |name: &str| needed(request, name).map(|token| TokenSource::Text(Secret::new(token)));
    Ok(match request.scenario.as_str() {
        "auth/client-credentials-jwt" | "auth/client-credentials-basic" => Grant::ClientCredentials,
        "auth/wif-jwt-bearer" => Grant::Workload(token("valid_jwt")?),
        "auth/enterprise-managed-authorization" => Grant::Enterprise(Enterprise {
            token_endpoint: needed(request, "idp_token_endpoint")?.parse()?,
            client_id: needed(request, "idp_client_id")?,
            client_secret: None,
            id_token: token("idp_id_token")?,
        }),
        _ => Grant::AuthorizationCode,
    })
}
