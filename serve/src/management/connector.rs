//! Connects with stored credentials. A browser is only opened by a login request.

use std::sync::Arc;

use client::{
    ConnectError, ConnectOptions, Connection, Endpoint, ServerConfig,
    auth::{AuthError, AuthSettings, Authorizer, Browser, credentials::CredentialKey, store::CredentialStore},
    connect_with,
    manager::Connector,
};
use futures::future::BoxFuture;
use url::Url;

/// Connects with the credentials of the store.
#[derive(Debug)]
pub(super) struct WithCredentials {
    pub(super) store: Arc<dyn CredentialStore>,
}

impl Connector for WithCredentials {
    fn connect(
        &self,
        config: ServerConfig,
        mut options: ConnectOptions,
    ) -> BoxFuture<'static, Result<Connection, ConnectError>> {
        if let Endpoint::StreamableHttp(endpoint) | Endpoint::Sse(endpoint) | Endpoint::Auto(endpoint) =
            &config.endpoint
            && let Ok(url) = Url::parse(&endpoint.url)
        {
            // A new authorizer per connection reads credentials that a login has stored meanwhile.
            match authorizer(&url, Arc::clone(&self.store), None) {
                Ok(authorizer) => options.authorizer = Some(Arc::new(authorizer)),
                Err(error) => tracing::warn!(%error, "connecting without stored credentials"),
            }
        }
        Box::pin(connect_with(config, options))
    }
}

/// The authorizer of a URL. It shares stored credentials with `mcp-workbench client login`.
pub(super) fn authorizer(
    url: &Url,
    store: Arc<dyn CredentialStore>,
    browser: Option<Arc<dyn Browser>>,
) -> Result<Authorizer, AuthError> {
    let key = CredentialKey::from_url(url);
    Authorizer::new(key.url.clone(), key, url, AuthSettings::default(), store, browser)
}
