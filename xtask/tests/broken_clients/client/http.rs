//! Streamable HTTP: a POST for each message, answered with JSON or with a stream; up to 2025-11-25 also a session, and a
//! GET for what the server says of its own accord.

use std::{
    collections::HashMap,
    sync::{Arc, Mutex, OnceLock, PoisonError},
};

use base64::{Engine as _, engine::general_purpose::STANDARD};
use reqwest::{Client, RequestBuilder, Response};
use serde_json::Value;
use tokio::task::JoinHandle;

use super::{
    defect::{Defect, Flaw},
    fault::Fault,
    greeting::VERSION_KEY,
    inbox::Inbox,
    sse::Events,
};

const SESSION: &str = "mcp-session-id";

/// One endpoint, and the session with it if there is one.
pub(crate) struct Http {
    client: Client,
    url: String,
    inbox: Arc<Inbox>,
    flaw: Flaw,
    session: OnceLock<String>,
    /// The revision that was agreed on by a handshake.
    pub(crate) agreed: OnceLock<String>,
    open: Mutex<HashMap<u64, JoinHandle<()>>>,
    stream: OnceLock<JoinHandle<()>>,
}

impl Http {
    pub(crate) fn new(endpoint: &Value, inbox: &Arc<Inbox>, flaw: Flaw) -> Self {
        Self {
            client: Client::new(),
            url: endpoint["url"].as_str().unwrap_or_default().to_owned(),
            inbox: Arc::clone(inbox),
            flaw,
            session: OnceLock::new(),
            agreed: OnceLock::new(),
            open: Mutex::default(),
            stream: OnceLock::new(),
        }
    }

    /// Sends a message. The answer to a request is waited for elsewhere, so that several can be under way.
    pub(crate) async fn send(self: &Arc<Self>, message: Value) -> Result<(), Fault> {
        let id = message["id"].as_u64().filter(|_| message.get("method").is_some());
        let Some(id) = id else {
            return self.post(&message, None).await;
        };
        let http = Arc::clone(self);
        let exchange = tokio::spawn(async move {
            let ended = http.post(&message, Some(id)).await;
            let fault = ended.err().unwrap_or_else(|| Fault::new("transport", "the exchange ended without an answer"));
            http.inbox.fail(id, fault);
        });
        self.open.lock().unwrap_or_else(PoisonError::into_inner).insert(id, exchange);
        Ok(())
    }

    async fn post(&self, message: &Value, id: Option<u64>) -> Result<(), Fault> {
        let request = self.envelope(self.client.post(&self.url), message).body(message.to_string());
        let response = request.send().await.map_err(|error| transport(&error))?;
        if message["method"] == "initialize"
            && let Some(session) = response.headers().get(SESSION).and_then(|value| value.to_str().ok())
        {
            let _ = self.session.set(session.to_owned());
        }
        self.read(response, id).await
    }

    /// The headers of a message.
    fn envelope(&self, request: RequestBuilder, message: &Value) -> RequestBuilder {
        let mut request = request.header("content-type", "application/json");
        if !self.flaw.is(Defect::NoAcceptHeader) {
            request = request.header("accept", "application/json, text/event-stream");
        }
        let Some(revision) = message["params"]["_meta"][VERSION_KEY].as_str() else {
            return self.session_headers(request);
        };
        // 2026-07-28 repeats in headers what intermediaries want to know (streamable-http, request metadata).
        request = request.header("mcp-protocol-version", revision);
        request = request.header("mcp-method", message["method"].as_str().unwrap_or_default());
        match message["params"]["name"].as_str() {
            Some(name) => request.header("mcp-name", header_value(name)),
            None => request,
        }
    }

    /// The headers of a session of the revisions up to 2025-11-25.
    fn session_headers(&self, mut request: RequestBuilder) -> RequestBuilder {
        if let Some(revision) = self.agreed.get() {
            let wrong = self.flaw.is(Defect::WrongProtocolHeader);
            request = request.header("mcp-protocol-version", if wrong { "2025-03-26" } else { revision });
        }
        match self.session.get().filter(|_| !self.flaw.is(Defect::ForgetsSessionId)) {
            Some(session) => request.header(SESSION, session),
            None => request,
        }
    }

    /// Reads the answer to a POST or a GET: nothing, one message, or a stream of them.
    async fn read(&self, mut response: Response, id: Option<u64>) -> Result<(), Fault> {
        let status = response.status();
        let header = response.headers().get("content-type").and_then(|value| value.to_str().ok());
        let streams = header.is_some_and(|kind| kind.starts_with("text/event-stream"));
        if status.is_success() && streams {
            let mut events = Events::default();
            while let Some(bytes) = response.chunk().await.map_err(|error| transport(&error))? {
                for data in events.push(&bytes) {
                    self.take(&data).await;
                }
            }
            return Ok(());
        }
        let body = response.text().await.map_err(|error| transport(&error))?;
        if status.is_success() {
            if !body.is_empty() {
                self.take(&body).await;
            }
            return Ok(());
        }
        match serde_json::from_str::<Value>(&body) {
            Ok(message) if message["error"].is_object() => Err(Fault::rpc(&message["error"])),
            _ if status.as_u16() == 401 => Err(Fault::new("needs-auth", "the server wants an authorization")),
            _ => Err(Fault::new("http-status", format!("the server answered {} with {status}", told(id)))),
        }
    }

    async fn take(&self, text: &str) {
        let Ok(message) = serde_json::from_str::<Value>(text) else { return self.inbox.garbage(text) };
        if let Some(answer) = self.inbox.take(&message) {
            let request = self.envelope(self.client.post(&self.url), &answer).body(answer.to_string());
            // A server that asks and does not listen finds out by itself.
            let _ = request.send().await;
        }
    }

    /// Opens the stream for what the server says of its own accord. A server need not offer one.
    pub(crate) fn listen(self: &Arc<Self>) {
        let http = Arc::clone(self);
        let stream = tokio::spawn(async move {
            let request = http.client.get(&http.url).header("accept", "text/event-stream");
            if let Ok(response) = http.session_headers(request).send().await {
                let _ = http.read(response, None).await;
            }
        });
        let _ = self.stream.set(stream);
    }

    /// Closes the stream of a request. It is closed when this returns.
    pub(crate) async fn hang_up(&self, id: u64) -> bool {
        let open = self.open.lock().unwrap_or_else(PoisonError::into_inner).remove(&id);
        let Some(open) = open else { return false };
        open.abort();
        // The only outcome is that it was aborted, or had ended before.
        let _ = open.await;
        true
    }

    /// Closes every stream, and ends the session.
    pub(crate) async fn close(&self) {
        self.stream.get().inspect(|stream| stream.abort());
        self.open.lock().unwrap_or_else(PoisonError::into_inner).drain().for_each(|(_, open)| open.abort());
        if self.session.get().is_some() {
            // A server may refuse to have its sessions ended (2025-11-25, transports, session management).
            let _ = self.session_headers(self.client.delete(&self.url)).send().await;
        }
    }
}

/// A value as it may stand in a header (2026-07-28, streamable-http, value encoding).
fn header_value(value: &str) -> String {
    let safe = value.trim() == value && value.bytes().all(|byte| matches!(byte, b' '..=b'~'));
    if safe { value.to_owned() } else { format!("=?base64?{}?=", STANDARD.encode(value)) }
}

fn told(id: Option<u64>) -> String {
    id.map_or_else(|| "a message".to_owned(), |id| format!("request {id}"))
}

fn transport(error: &reqwest::Error) -> Fault {
    Fault::new("transport", format!("the exchange failed: {error}"))
}
