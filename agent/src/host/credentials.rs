//! Connections with stored credentials. No browser is opened: that needs an explicit login.

use std::{collections::BTreeMap, sync::Arc};

use client::{
    ConnectError, ConnectOptions, Connection, Endpoint, ServerConfig,
    auth::{AuthSettings, Authorizer, credentials::CredentialKey, store::CredentialStore},
    connect_with,
    manager::Connector,
};
use futures::future::BoxFuture;
use url::Url;

/// Connects with the credentials of a store.
#[derive(Debug)]
pub struct StoredCredentials {
    store: Arc<dyn CredentialStore>,
    settings: BTreeMap<String, AuthSettings>,
}

impl StoredCredentials {
    /// Uses the store for these servers.
    #[must_use]
    pub fn new(store: Arc<dyn CredentialStore>, settings: BTreeMap<String, AuthSettings>) -> Self {
        Self { store, settings }
    }

    fn authorizer(&self, config: &ServerConfig) -> Option<Authorizer> {
        let (Endpoint::StreamableHttp(http) | Endpoint::Sse(http) | Endpoint::Auto(http)) = &config.endpoint else {
            return None;
        };
        let settings = self.settings.get(&config.name)?.clone();
        // Unix sockets have no authorization server, and the client reports invalid URLs.
        let url = Url::parse(&http.url).ok().filter(|url| matches!(url.scheme(), "http" | "https"))?;
        let key = CredentialKey::from_url(&url);
        let authorizer = Authorizer::new(key.url.clone(), key, &url, settings, Arc::clone(&self.store), None);
        authorizer.inspect_err(|error| tracing::warn!(%error, "connecting without stored credentials")).ok()
    }
}

impl Connector for StoredCredentials {
    fn connect(
        &self,
        config: ServerConfig,
        mut options: ConnectOptions,
    ) -> BoxFuture<'static, Result<Connection, ConnectError>> {
        // A new authorizer per connection reads credentials that a login has stored meanwhile.
        if let Some(authorizer) = self.authorizer(&config) {
            options.authorizer = Some(Arc::new(authorizer));
        }
        Box::pin(connect_with(config, options))
    }
}
