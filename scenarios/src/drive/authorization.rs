//! Authorization of the built-in client: the credentials of the context, and a browser without a user.

use std::sync::Arc;

use client::auth::{
    AuthError, AuthSettings, Authorize, Authorizer, ConfiguredClient, Enterprise, Grant, HeadlessBrowser, TokenSource,
    credentials::{CredentialKey, Secret},
    store::MemoryStore,
};
use serde_json::Value;
use url::Url;

use crate::{
    contract::{Context, ContractEndpoint},
    model::TokenGrant,
};

/// The authorizer for a server, if the case has an authorization server.
pub(super) fn authorizer(
    context: &Context,
    endpoint: &ContractEndpoint,
) -> Result<Option<Arc<dyn Authorize>>, AuthError> {
    let Some(grant) = context.client.authorization else { return Ok(None) };
    let Some(url) = endpoint.url().and_then(|url| Url::parse(url).ok()) else { return Ok(None) };
    let settings = AuthSettings {
        grant: token_grant(context, grant),
        client: configured(context),
        client_metadata_url: text(context, "client_metadata_url").and_then(|url| url.parse().ok()),
        ..AuthSettings::default()
    };
    let (store, browser) = (Arc::new(MemoryStore::default()), Arc::new(HeadlessBrowser::default()));
    let authorizer = Authorizer::new("mock", CredentialKey::from_url(&url), &url, settings, store, Some(browser));
    Ok(Some(Arc::new(authorizer)))
}

fn text(context: &Context, name: &str) -> Option<String> {
    context.official.get(name).and_then(Value::as_str).map(str::to_owned)
}

fn configured(context: &Context) -> Option<ConfiguredClient> {
    Some(ConfiguredClient {
        secret: text(context, "client_secret").map(Secret::new),
        private_key: text(context, "private_key_pem").map(Secret::new),
        signing_algorithm: text(context, "signing_algorithm"),
        ..ConfiguredClient::new(text(context, "client_id")?)
    })
}

/// The grant with its credentials. Without them the client asks the user.
fn token_grant(context: &Context, grant: TokenGrant) -> Grant {
    let token = |name: &str| text(context, name).map(|token| TokenSource::Text(Secret::new(token)));
    match grant {
        TokenGrant::AuthorizationCode => Grant::AuthorizationCode,
        TokenGrant::ClientCredentials => Grant::ClientCredentials,
        TokenGrant::WorkloadIdentity => token("valid_jwt").map_or(Grant::AuthorizationCode, Grant::Workload),
        TokenGrant::EnterpriseManaged => enterprise(context, token("idp_id_token")).unwrap_or_default(),
    }
}

fn enterprise(context: &Context, id_token: Option<TokenSource>) -> Option<Grant> {
    Some(Grant::Enterprise(Enterprise {
        token_endpoint: text(context, "idp_token_endpoint")?.parse().ok()?,
        client_id: text(context, "idp_client_id")?,
        client_secret: None,
        id_token: id_token?,
    }))
}
