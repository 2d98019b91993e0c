//! Connections with stored credentials. No browser is opened: that needs an explicit login.

use std::sync::{Arc, Mutex};

use client::{
    ConnectError, ConnectOptions, Connection, Endpoint, ServerConfig,
    auth::{Authorizer, Browser, credentials::CredentialKey, store::CredentialStore},
    manager::Connector,
};
use futures::future::BoxFuture;
use url::Url;

use super::{Host, HostConfig, HostServer, lock};

/// Connects with the credentials of a store, and the OAuth settings of the current configuration.
#[derive(Debug)]
pub(super) struct StoredCredentials {
    pub(super) store: Arc<dyn CredentialStore>,
    pub(super) config: Arc<Mutex<Arc<HostConfig>>>,
    /// Opens the connections.
    pub(super) connector: Arc<dyn Connector>,
}

impl StoredCredentials {
    fn authorizer(&self, name: &str) -> Option<Authorizer> {
        let config = Arc::clone(&lock(&self.config));
        config.server_named(name)?.authorizer(Arc::clone(&self.store), None)
    }
}

impl Connector for StoredCredentials {
    fn connect(
        &self,
        config: ServerConfig,
        mut options: ConnectOptions,
    ) -> BoxFuture<'static, Result<Connection, ConnectError>> {
        // A new authorizer per connection reads credentials that a login has stored meanwhile.
        if let Some(authorizer) = self.authorizer(&config.name) {
            options.authorizer = Some(Arc::new(authorizer));
        }
        self.connector.connect(config, options)
    }
}

impl HostServer {
    /// The URL for a login; `None` if the server does not use OAuth.
    #[must_use]
    pub fn login_url(&self) -> Option<Url> {
        let (Endpoint::StreamableHttp(http) | Endpoint::Sse(http) | Endpoint::Auto(http)) =
            &self.managed.config.endpoint
        else {
            return None;
        };
        self.login.as_ref()?;
        // Unix sockets have no authorization server, and the client reports invalid URLs.
        Url::parse(&http.url).ok().filter(|url| matches!(url.scheme(), "http" | "https"))
    }

    /// The authorizer of the server; `None` if it does not use OAuth. Without a browser, it uses stored credentials and
    /// grants without user interaction.
    #[must_use]
    pub fn authorizer(&self, store: Arc<dyn CredentialStore>, browser: Option<Arc<dyn Browser>>) -> Option<Authorizer> {
        let (url, login) = (self.login_url()?, self.login.as_ref()?);
        let key = CredentialKey::from_url(&url);
        Some(Authorizer::new(key.url.clone(), key, &url, login.settings.clone(), store, browser))
    }
}

impl Host {
    /// The store of the options.
    #[must_use]
    pub fn credentials(&self) -> Option<Arc<dyn CredentialStore>> {
        self.inner.options.credentials.clone()
    }
}
