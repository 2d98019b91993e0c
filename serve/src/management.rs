//! The management API: servers, their status, and login, over HTTP.
//!
//! A [`Manager`] owns the connections, and `client::auth` implements OAuth. This module owns the routes; [`openapi`] describes
//! them. Responses never contain configured secrets.

mod auth;
mod body;
mod config;
mod connector;
mod error;
mod events;
mod login;
pub mod openapi;
mod servers;
mod status;

use std::{
    collections::BTreeMap,
    fmt,
    sync::{Arc, Mutex, MutexGuard, PoisonError},
};

use agent::policy::Policy;
use axum::{
    Router, middleware,
    routing::{delete, get, post},
};
use client::{
    Manager, ManagerOptions,
    auth::{
        BrowserError,
        callback::{self, CallbackOptions},
        store::CredentialStore,
    },
};
use futures::future::{BoxFuture, join_all};
use tokio_util::sync::CancellationToken;
use url::Url;

pub use config::{ServerEntry, TransportType};

use self::{connector::WithCredentials, error::ApiError, login::Login};
use crate::access::{AccessControl, guard};

/// Path that needs no token.
pub const HEALTH: &str = "/healthz";

/// Opens a page for the user of this machine.
pub trait OpenPage: Send + Sync + fmt::Debug {
    /// Opens it.
    ///
    /// # Errors
    /// If no browser can be opened.
    fn open<'a>(&'a self, page: &'a Url) -> BoxFuture<'a, Result<(), BrowserError>>;
}

/// The browser of the system.
#[derive(Debug, Clone, Copy, Default)]
pub struct SystemBrowser;

impl OpenPage for SystemBrowser {
    fn open<'a>(&'a self, page: &'a Url) -> BoxFuture<'a, Result<(), BrowserError>> {
        let failed = |error: std::io::Error| BrowserError::new(format!("no browser could be opened: {error}"));
        Box::pin(async move { callback::open(page).await.map_err(failed) })
    }
}

/// Settings of the API.
#[derive(Debug)]
pub struct ManagementSettings {
    /// Stored credentials.
    pub store: Arc<dyn CredentialStore>,
    /// Opens login pages on this machine.
    pub browser: Arc<dyn OpenPage>,
    /// Redirect endpoint of browser logins.
    pub callback: CallbackOptions,
    /// The administrator's policy on servers.
    pub policy: Policy,
}

/// The API. Clones share it.
#[derive(Debug, Clone)]
pub struct Management(Arc<Inner>);

#[derive(Debug)]
struct Inner {
    settings: ManagementSettings,
    manager: Manager,
    /// Serializes changes of the servers.
    changing: tokio::sync::Mutex<()>,
    servers: Mutex<BTreeMap<String, config::RegisteredServer>>,
    logins: Mutex<BTreeMap<String, Arc<Login>>>,
    closing: CancellationToken,
}

impl Management {
    /// An API without servers.
    #[must_use]
    pub fn new(settings: ManagementSettings) -> Self {
        let connector = WithCredentials { store: Arc::clone(&settings.store) };
        let options = ManagerOptions { connector: Arc::new(connector), ..ManagerOptions::default() };
        let (servers, logins, closing) = (Mutex::default(), Mutex::default(), CancellationToken::new());
        let (manager, changing) = (Manager::new(options), tokio::sync::Mutex::default());
        Self(Arc::new(Inner { settings, manager, changing, servers, logins, closing }))
    }

    /// The routes behind access control.
    pub fn router(&self, access: AccessControl) -> Router {
        Router::new()
            .route("/mcp", get(servers::list).post(servers::add))
            .route("/mcp/events", get(events::stream))
            .route("/mcp/{name}", delete(servers::remove))
            .route("/mcp/{name}/connect", post(servers::connect))
            .route("/mcp/{name}/disconnect", post(servers::disconnect))
            .route("/mcp/{name}/tools", get(servers::tools))
            .route("/mcp/{name}/auth", post(auth::start).delete(auth::remove))
            .route("/mcp/{name}/auth/callback", post(auth::callback))
            .route("/mcp/{name}/auth/authenticate", post(auth::authenticate))
            .route("/openapi.json", get(openapi::document))
            .route(HEALTH, get(servers::health))
            .fallback(error::no_route)
            .method_not_allowed_fallback(error::no_method)
            .layer(middleware::from_fn_with_state(access, guard))
            .with_state(self.clone())
    }

    /// Stops all logins, event streams and servers, and waits for the servers.
    pub async fn close(&self) {
        self.0.closing.cancel();
        let logins = std::mem::take(&mut *self.logins());
        join_all(logins.values().map(|login| login.stop())).await;
        self.0.manager.close().await;
    }

    fn manager(&self) -> &Manager {
        &self.0.manager
    }

    fn servers(&self) -> MutexGuard<'_, BTreeMap<String, config::RegisteredServer>> {
        self.0.servers.lock().unwrap_or_else(PoisonError::into_inner)
    }

    fn logins(&self) -> MutexGuard<'_, BTreeMap<String, Arc<Login>>> {
        self.0.logins.lock().unwrap_or_else(PoisonError::into_inner)
    }

    /// Finds a registered server.
    fn registered(&self, name: &str) -> Result<config::RegisteredServer, ApiError> {
        self.servers().get(name).cloned().ok_or_else(|| ApiError::unknown_server(name))
    }

    /// Redacts the secrets of a server, which error messages may quote.
    fn redact(&self, name: &str, text: String) -> String {
        match self.servers().get(name) {
            Some(server) => server.redact(text),
            None => text,
        }
    }

    /// An error about a server with redacted secrets.
    fn error(&self, name: &str, error: impl Into<ApiError>) -> ApiError {
        error.into().map(|text| self.redact(name, text))
    }
}
