//! The API on a port, and a client for it.

use std::{
    path::PathBuf,
    sync::{Arc, LazyLock, Mutex},
};

use agent::{
    config::{Configuration, Settings},
    host::HostOptions,
    policy::Policy,
};
use client::auth::{
    BrowserError,
    store::{CredentialStore, MemoryStore},
};
use futures::future::BoxFuture;
use mcp_workbench_serve::{
    Limits, Settings as WorkbenchSettings, Workbench,
    access::{AccessControl, AccessPolicy, Token, listen},
    management::{Management, ManagementSettings, OpenPage},
    ui,
};
use mock_servers::{MockServer, mock, script::Tool};
use reqwest::{Method, RequestBuilder, StatusCode};
use scenarios::catalog::ScenarioCatalog;
use serde_json::Value;
use tempfile::TempDir;
use url::Url;

pub(crate) const TOKEN: &str = "0123456789abcdef";

/// Read once, because that takes a second.
static CATALOG: LazyLock<ScenarioCatalog> =
    LazyLock::new(|| ScenarioCatalog::built_in().expect("the catalog is valid"));

/// A browser that records pages and opens them unless it is broken.
#[derive(Debug, Default)]
pub(crate) struct TestBrowser {
    pub(crate) pages: Mutex<Vec<Url>>,
    pub(crate) broken: bool,
}

impl OpenPage for TestBrowser {
    fn open<'a>(&'a self, page: &'a Url) -> BoxFuture<'a, Result<(), BrowserError>> {
        self.pages.lock().expect("no panic before").push(page.clone());
        let page = page.clone();
        Box::pin(async move {
            if self.broken {
                return Err(BrowserError::new("no browser"));
            }
            // The authorization server of tests redirects immediately.
            tokio::spawn(async move { reqwest::get(page).await.expect("a redirect").status() });
            Ok(())
        })
    }
}

/// The API on a port.
pub(crate) struct Api {
    pub(crate) url: String,
    pub(crate) management: Management,
    pub(crate) browser: Arc<TestBrowser>,
    pub(crate) store: Arc<MemoryStore>,
    /// The parent of the directory of all runs.
    directory: Arc<TempDir>,
    http: reqwest::Client,
}

impl Api {
    pub(crate) async fn start() -> Self {
        Self::with(TestBrowser::default()).await
    }

    pub(crate) async fn with(browser: TestBrowser) -> Self {
        Self::with_policy(Policy::default(), browser).await
    }

    pub(crate) async fn with_policy(policy: Policy, browser: TestBrowser) -> Self {
        Self::with_configuration(Configuration::default(), policy, browser).await
    }

    /// With servers and rules of this configuration file, in TOML.
    pub(crate) async fn configured(text: &str) -> Self {
        let directory = tempfile::tempdir().expect("a directory");
        let path = directory.path().join("config.toml");
        std::fs::write(&path, text).expect("a file");
        Self::with_configuration(Configuration::load_file(&path), Policy::default(), TestBrowser::default()).await
    }

    async fn with_configuration(configuration: Configuration, policy: Policy, browser: TestBrowser) -> Self {
        let directory = Arc::new(tempfile::tempdir().expect("a directory"));
        Self::with_runs(directory, configuration, policy, browser).await
    }

    /// Another process with the directory of all runs of this one.
    pub(crate) async fn sharing_runs(other: &Self) -> Self {
        let directory = Arc::clone(&other.directory);
        Self::with_runs(directory, Configuration::default(), Policy::default(), TestBrowser::default()).await
    }

    async fn with_runs(
        directory: Arc<TempDir>,
        configuration: Configuration,
        policy: Policy,
        browser: TestBrowser,
    ) -> Self {
        let (browser, store) = (Arc::new(browser), Arc::new(MemoryStore::default()));
        let variable = |name: &str| match name {
            "SECRET_OF_TESTS" => Some("s3cr3t-of-a-variable".to_owned()),
            "MCP_WORKBENCH_SERVE_TOKEN" => Some(TOKEN.to_owned()),
            _ => None,
        };
        let workbench = WorkbenchSettings {
            program: "/nowhere/mcp-workbench".into(),
            runs: directory.path().join("runs"),
            limits: Limits::default(),
            policy: Arc::default(),
        };
        let settings = ManagementSettings {
            configuration,
            workbench: Workbench::with_catalog(workbench, CATALOG.clone()),
            settings: Settings::default(),
            variables: Arc::new(variable),
            host: HostOptions::default(),
            store: Arc::<MemoryStore>::clone(&store) as Arc<dyn CredentialStore>,
            browser: Arc::<TestBrowser>::clone(&browser),
            callback_port: None,
            policy,
        };
        let management = Management::start(settings).await.expect("it starts");
        let token = Some(Token::parse(TOKEN).expect("a token"));
        let open_paths = ui::OPEN_PATHS.map(str::to_owned).to_vec();
        let policy = AccessPolicy { token, open_paths, ..AccessPolicy::default() };
        let router = ui::router(&management, AccessControl::from(policy));
        let listener = listen("127.0.0.1:0".parse().expect("an address"), false).await.expect("a port");
        let url = format!("http://{}", listener.local_addr().expect("an address"));
        tokio::spawn(async move { axum::serve(listener, router).await });
        Self {
            url,
            management,
            browser,
            store,
            directory,
            http: client::http_client::builder().build().expect("an HTTP client"),
        }
    }

    /// The directory of all runs.
    pub(crate) fn runs(&self) -> PathBuf {
        self.directory.path().join("runs")
    }

    pub(crate) fn request(&self, method: Method, path: &str) -> RequestBuilder {
        self.http.request(method, format!("{}{path}", self.url))
    }

    /// Sends a request with the token.
    pub(crate) async fn send(&self, method: Method, path: &str, body: Option<Value>) -> (StatusCode, Value) {
        let mut request = self.request(method, path).bearer_auth(TOKEN);
        if let Some(body) = body {
            request = request.json(&body);
        }
        response(request).await
    }

    pub(crate) async fn post(&self, path: &str, body: Option<Value>) -> (StatusCode, Value) {
        self.send(Method::POST, path, body).await
    }

    pub(crate) async fn get(&self, path: &str) -> (StatusCode, Value) {
        self.send(Method::GET, path, None).await
    }
}

/// Sends a request; returns the status and the JSON body.
pub(crate) async fn response(request: RequestBuilder) -> (StatusCode, Value) {
    let response = request.send().await.expect("a response");
    let (status, text) = (response.status(), response.text().await.expect("a body"));
    (status, serde_json::from_str(&text).unwrap_or_else(|_| panic!("no JSON: {text}")))
}

/// Checks status and kind of an error.
pub(crate) fn is_error((status, body): &(StatusCode, Value), code: u16, kind: &str) {
    assert_eq!((status.as_u16(), &body["error"]["kind"]), (code, &Value::from(kind)), "{body}");
    assert!(body["error"]["message"].as_str().is_some_and(|message| !message.is_empty()), "{body}");
}

pub(crate) async fn mock_server() -> MockServer {
    let echo = Tool::new("echo").described("Says it again").replies(mock::text("hello"));
    MockServer::builder().tool(echo).start().await.expect("it starts")
}
