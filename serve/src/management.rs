//! The management API: the host of an agent, over HTTP. Servers, their status, login, tools, calls, prompts, resources and
//! validation runs.
//!
//! [`Host`] owns servers and rules, and `client::auth` implements OAuth. This module owns the routes; [`openapi`] describes
//! them. Responses never contain configured secrets.

mod auth;
mod body;
mod calls;
mod config;
mod content;
mod entry;
mod error;
mod events;
mod login;
pub mod openapi;
mod requests;
mod runs;
mod servers;
mod status;

use std::{
    collections::BTreeMap,
    fmt,
    sync::{Arc, Mutex, MutexGuard, PoisonError},
};

use agent::{
    config::{Configuration, Settings},
    host::{Host, HostOptions, HostServer},
    permissions::RuleErrors,
    policy::Policy,
};
use axum::{
    Router, middleware,
    routing::{get, post},
};
use client::{
    auth::{
        BrowserError,
        callback::{self, CallbackOptions},
        store::CredentialStore,
    },
    manager::StartError,
};
use futures::future::{BoxFuture, join_all};
use tokio_util::sync::CancellationToken;
use url::Url;

use self::{config::Secrets, error::ApiError, login::Login, requests::Requests, runs::Runs};
use crate::{
    access::{AccessControl, guard},
    workbench::Workbench,
};

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

/// The value of an environment variable.
pub type Variables = Arc<dyn Fn(&str) -> Option<String> + Send + Sync>;

/// Settings of the API.
pub struct ManagementSettings {
    /// Servers and rules of the files.
    pub configuration: Configuration,
    /// Settings of the environment.
    pub settings: Settings,
    /// Variables that entries of servers refer to.
    pub variables: Variables,
    /// The administrator's policy on servers.
    pub policy: Policy,
    /// Options of the host. Credentials are those of `store`.
    pub host: HostOptions,
    /// Stored credentials.
    pub store: Arc<dyn CredentialStore>,
    /// Opens login pages on this machine.
    pub browser: Arc<dyn OpenPage>,
    /// Port of the redirect URI on 127.0.0.1; `None` uses the configuration.
    pub callback_port: Option<u16>,
    /// Validates servers. [`Management::close`] closes it.
    pub workbench: Workbench,
}

/// Why the API could not start.
#[derive(Debug, thiserror::Error)]
pub enum ManagementError {
    /// Rules of the configuration are invalid.
    #[error("invalid permission rules: {0}")]
    Rules(RuleErrors),
    /// A required server could not be started.
    #[error(transparent)]
    Start(#[from] StartError),
}

/// The API. Clones share it.
#[derive(Debug, Clone)]
pub struct Management(Arc<Inner>);

struct Inner {
    settings: Settings,
    variables: Variables,
    policy: Arc<Policy>,
    store: Arc<dyn CredentialStore>,
    browser: Arc<dyn OpenPage>,
    callback_port: Option<u16>,
    host: Host,
    workbench: Workbench,
    runs: Runs,
    requests: Requests,
    /// Servers of the files and of requests. The lock serializes changes.
    configuration: tokio::sync::Mutex<Configuration>,
    secrets: Mutex<BTreeMap<String, Secrets>>,
    logins: Mutex<BTreeMap<String, Arc<Login>>>,
    closing: CancellationToken,
}

impl fmt::Debug for Inner {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("Inner").field("host", &self.host).finish_non_exhaustive()
    }
}

impl Management {
    /// Starts the API with the configured servers. Only required servers are awaited.
    ///
    /// # Errors
    /// If rules are invalid, or a required server cannot be started.
    pub async fn start(settings: ManagementSettings) -> Result<Self, ManagementError> {
        let ManagementSettings {
            configuration, variables, policy, host, store, browser, callback_port, workbench, ..
        } = settings;
        let host = Host::new(HostOptions { credentials: Some(Arc::clone(&store)), ..host });
        let management = Self(Arc::new(Inner {
            settings: settings.settings,
            variables,
            policy: Arc::new(policy),
            store,
            browser,
            callback_port,
            requests: Requests::new(host.requests()),
            host,
            workbench,
            runs: Runs::default(),
            configuration: tokio::sync::Mutex::default(),
            secrets: Mutex::default(),
            logins: Mutex::default(),
            closing: CancellationToken::new(),
        }));
        let config = management.host_config(&configuration).map_err(ManagementError::Rules)?;
        *management.0.configuration.lock().await = configuration;
        management.apply(config).await?;
        Ok(management)
    }

    /// The routes behind access control.
    pub fn router(&self, access: AccessControl) -> Router {
        Router::new()
            .route("/mcp", get(servers::list).post(servers::add))
            .route("/mcp/events", get(events::statuses))
            .route("/mcp/{name}", get(servers::show).delete(servers::remove))
            .route("/mcp/{name}/connect", post(servers::connect))
            .route("/mcp/{name}/disconnect", post(servers::disconnect))
            .route("/mcp/{name}/tools", get(servers::tools))
            .route("/mcp/{name}/auth", post(auth::start).delete(auth::remove))
            .route("/mcp/{name}/auth/callback", post(auth::callback))
            .route("/mcp/{name}/auth/authenticate", post(auth::authenticate))
            .route("/tools", get(calls::tools))
            .route("/tools/call", post(calls::call))
            .route("/mcp/{name}/conversions", get(calls::conversions))
            .route("/runs", get(runs::list).post(runs::start))
            .route("/runs/{id}", get(runs::show))
            .route("/runs/{id}/cancel", post(runs::cancel))
            .route("/runs/{id}/events", get(runs::events))
            .route("/runs/{id}/report", get(runs::report))
            .route("/runs/{id}/comparison", get(runs::comparison))
            .route("/prompts", get(content::prompts))
            .route("/resources", get(content::resources))
            .route("/resources/read", post(content::read_resource))
            .route("/expand", post(content::expand))
            .route("/complete", post(content::complete))
            .route("/requests", get(requests::list))
            .route("/requests/{id}", post(requests::respond))
            .route("/events", get(events::all))
            .route("/openapi.json", get(openapi::document))
            .route(HEALTH, get(servers::health))
            .fallback(error::no_route)
            .method_not_allowed_fallback(error::no_method)
            .layer(middleware::from_fn_with_state(access, guard))
            .with_state(self.clone())
    }

    /// Stops all logins, event streams, runs and servers, and waits for the servers and runs.
    pub async fn close(&self) {
        self.0.closing.cancel();
        self.0.workbench.close().await;
        let logins = std::mem::take(&mut *lock(&self.0.logins));
        join_all(logins.values().map(|login| login.stop())).await;
        self.0.host.close().await;
    }

    fn host(&self) -> &Host {
        &self.0.host
    }

    fn logins(&self) -> MutexGuard<'_, BTreeMap<String, Arc<Login>>> {
        lock(&self.0.logins)
    }

    /// A server that can be used.
    fn server(&self, name: &str) -> Result<HostServer, ApiError> {
        let config = self.host().config();
        if let Some(server) = config.server_named(name) {
            return Ok(server.clone());
        }
        match config.excluded.get(name) {
            Some(exclusion) => Err(ApiError::excluded(name, exclusion)),
            None => Err(ApiError::unknown_server(name)),
        }
    }

    /// The redirect URI of logins at a server.
    fn callback(&self, server: &HostServer) -> CallbackOptions {
        let callback = server.login.as_ref().map(|login| login.callback.clone()).unwrap_or_default();
        CallbackOptions { port: self.0.callback_port.unwrap_or(callback.port), ..callback }
    }

    /// Redacts the secrets of a server, which error messages may quote.
    fn redact(&self, name: &str, text: String) -> String {
        match lock(&self.0.secrets).get(name) {
            Some(secrets) => secrets.redact(text),
            None => text,
        }
    }

    /// An error about a server with redacted secrets.
    fn error(&self, name: &str, error: impl Into<ApiError>) -> ApiError {
        error.into().map(|text| self.redact(name, text))
    }
}

fn lock<T>(mutex: &Mutex<T>) -> MutexGuard<'_, T> {
    mutex.lock().unwrap_or_else(PoisonError::into_inner)
}
