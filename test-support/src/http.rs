//! HTTP in tests: a client, a server for stubs, and a small MCP client over Streamable HTTP.

use axum::Router;
use reqwest::{Client, ClientBuilder, RequestBuilder, Response};
use serde_json::{Value, json};

use crate::{TIMEOUT, json_rpc};

const MODERN: &str = "2026-07-28";

/// Builder of an HTTP client that ignores proxies of the environment. Requests time out after [`TIMEOUT`].
///
/// It knows no certificates, which take a debug build longer to read than most tests take.
///
/// `reqwest` is built without a default TLS provider, so this installs ring's. Repeated calls have no effect.
pub fn http_client_builder() -> ClientBuilder {
    // An error means that a provider is installed.
    let _ = rustls::crypto::ring::default_provider().install_default();
    Client::builder().no_proxy().timeout(TIMEOUT).tls_certs_only([])
}

/// The client of [`http_client_builder`], which follows redirects.
///
/// # Panics
///
/// If the client cannot be built.
#[must_use]
pub fn http_client() -> Client {
    http_client_builder().build().expect("an HTTP client without special settings")
}

/// Serves a router on a free port of 127.0.0.1 until the runtime stops. Returns the URL without a path.
///
/// Use it for stubs of other HTTP servers. For an MCP server or an authorization server, use `mock-servers`.
///
/// # Panics
///
/// If no port is free.
pub async fn serve(router: Router) -> String {
    let listener = tokio::net::TcpListener::bind("127.0.0.1:0").await.expect("a free port");
    let url = format!("http://{}", listener.local_addr().expect("a bound listener"));
    tokio::spawn(async move { axum::serve(listener, router).await });
    url
}

/// A client of one server over Streamable HTTP.
///
/// It adds headers (and, in 2026-07-28, `_meta`), and leaves the messages to the test.
#[derive(Debug, Clone)]
pub struct HttpSession {
    /// The client that sends the requests.
    pub client: Client,
    /// The MCP endpoint.
    pub url: String,
    /// The revision for headers and `_meta`.
    pub revision: String,
    /// The session id, if the server assigned one.
    pub id: Option<String>,
}

impl HttpSession {
    /// A client without a handshake.
    #[must_use]
    pub fn new(url: &str, revision: &str) -> Self {
        Self { client: http_client(), url: url.to_owned(), revision: revision.to_owned(), id: None }
    }

    /// Completes the handshake; in 2026-07-28, which has none, it is the same as [`Self::new`]. Afterwards `revision` is
    /// the one that the server selected.
    ///
    /// # Panics
    ///
    /// If the server rejects the handshake.
    pub async fn open(url: &str, revision: &str) -> Self {
        let mut session = Self::new(url, revision);
        if revision == MODERN {
            return session;
        }
        let response = session.send(&json_rpc::initialize(revision)).await;
        session.id = response.headers().get("mcp-session-id").map(|id| id.to_str().expect("ASCII").to_owned());
        let message = messages(response).await.pop().expect("a response");
        session.revision = message["result"]["protocolVersion"].as_str().expect("a revision").to_owned();
        session.notify("notifications/initialized", Value::Null).await;
        session
    }

    /// A POST of this message with the headers of its revision and session.
    pub fn post(&self, message: &Value) -> RequestBuilder {
        let request = self.client.post(&self.url).header("accept", "application/json, text/event-stream");
        let mut request = self.in_session(request);
        if self.revision == MODERN {
            for (header, value) in [("mcp-method", &message["method"]), ("mcp-name", &message["params"]["name"])] {
                request = value.as_str().into_iter().fold(request, |request, value| request.header(header, value));
            }
        }
        request.json(message)
    }

    /// A GET that opens the stream of a session.
    pub fn get(&self) -> RequestBuilder {
        self.in_session(self.client.get(&self.url).header("accept", "text/event-stream"))
    }

    fn in_session(&self, request: RequestBuilder) -> RequestBuilder {
        let request = request.header("mcp-protocol-version", &self.revision);
        self.id.iter().fold(request, |request, id| request.header("mcp-session-id", id))
    }

    /// Posts a message.
    ///
    /// # Panics
    ///
    /// If the request fails.
    pub async fn send(&self, message: &Value) -> Response {
        self.post(message).send().await.expect("an HTTP response")
    }

    /// Sends a request with id 1 and returns the response, which is the last message.
    ///
    /// # Panics
    ///
    /// If the server sends no message.
    pub async fn request(&self, method: &str, mut params: Value) -> Value {
        if self.revision == MODERN {
            let meta = &mut params["_meta"];
            meta["io.modelcontextprotocol/protocolVersion"] = MODERN.into();
            meta["io.modelcontextprotocol/clientInfo"] = json!({"name": "test", "version": "1"});
            meta["io.modelcontextprotocol/clientCapabilities"] = json!({});
        }
        let response = self.send(&json_rpc::request(1, method, params)).await;
        messages(response).await.pop().expect("a response")
    }

    /// Calls a tool and returns the response.
    ///
    /// # Panics
    ///
    /// If the server sends no message.
    pub async fn call(&self, tool: &str, arguments: Value) -> Value {
        self.request("tools/call", json!({"name": tool, "arguments": arguments})).await
    }

    /// Sends a notification.
    ///
    /// # Panics
    ///
    /// If the status is not 202.
    pub async fn notify(&self, method: &str, params: Value) {
        assert_eq!(self.send(&json_rpc::notification(method, params)).await.status(), 202);
    }
}

/// All messages of a response: of its JSON body, or of its events until the stream ends.
///
/// # Panics
///
/// If the body is neither.
pub async fn messages(response: Response) -> Vec<Value> {
    let is_stream = response.headers().get("content-type").is_some_and(|value| value == "text/event-stream");
    let body = response.text().await.expect("a complete body");
    let parse = |text: &str| serde_json::from_str(text).unwrap_or_else(|cause| panic!("{cause}: {text}"));
    match is_stream {
        true => body
            .lines()
            .filter_map(|line| line.strip_prefix("data: "))
            .filter(|data| !data.is_empty())
            .map(parse)
            .collect(),
        false => vec![parse(&body)],
    }
}
