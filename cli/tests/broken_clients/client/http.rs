//! Streamable HTTP: a POST for each message, answered with JSON or with a stream; up to 2025-11-25 also a session, and a
//! GET for what the server says of its own accord.

use std::{
    collections::HashMap,
    sync::{Arc, Mutex, OnceLock, PoisonError},
    time::Duration,
};

use base64::{Engine as _, engine::general_purpose::STANDARD};
use reqwest::{Client, RequestBuilder, Response, redirect::Policy};
use serde_json::{Value, json};
use tokio::task::JoinHandle;

use super::{
    defect::{Defect, Flaw},
    fault::Fault,
    greeting::VERSION_KEY,
    inbox::Inbox,
    setup::Setup,
    sse::Events,
};

const SESSION: &str = "mcp-session-id";
/// How long to wait before coming back where the server does not say.
const RETRY: Duration = Duration::from_millis(100);
/// How often to come back for one answer.
const RETURNS: usize = 5;

/// One endpoint, and the session with it if there is one.
pub(crate) struct Http {
    client: Client,
    url: String,
    headers: Vec<(String, String)>,
    max_message: usize,
    inbox: Arc<Inbox>,
    flaw: Flaw,
    session: Mutex<Option<String>>,
    /// The `initialize` that opened the session, to open another one.
    hello: OnceLock<Value>,
    /// Held by whoever opens another session.
    renewing: tokio::sync::Mutex<()>,
    /// The revision that was agreed on by a handshake.
    pub(crate) agreed: OnceLock<String>,
    open: Mutex<HashMap<u64, JoinHandle<()>>>,
    stream: OnceLock<JoinHandle<()>>,
}

impl Http {
    pub(crate) fn new(endpoint: &Value, setup: &Setup, inbox: &Arc<Inbox>, flaw: Flaw) -> Self {
        Self {
            // Where a redirect leads is looked at before it is followed.
            client: client::http_client::builder().redirect(Policy::none()).build().unwrap_or_default(),
            url: endpoint["url"].as_str().unwrap_or_default().to_owned(),
            headers: setup.headers.clone(),
            max_message: setup.max_message,
            inbox: Arc::clone(inbox),
            flaw,
            session: Mutex::default(),
            hello: OnceLock::new(),
            renewing: tokio::sync::Mutex::default(),
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
        let session = self.session();
        let mut response = self.say(&self.url, message).await?;
        // "the client MUST start a new session" (2025-11-25, transports, session management).
        if let (404, Some(lost)) = (response.status().as_u16(), &session)
            && !self.flaw.is(Defect::KeepsLostSession)
        {
            self.renew(lost).await?;
            response = self.say(&self.url, message).await?;
        }
        if let Some(wait) = put_off(&response) {
            if !self.flaw.is(Defect::ComesBackAtOnce) {
                tokio::time::sleep(wait).await;
            }
            response = self.say(&self.url, message).await?;
        }
        if response.status().is_redirection() {
            response = self.follow(&response, message).await?;
        }
        if id.is_none() && response.status() == 200 && self.flaw.is(Defect::WantsNoAnswer) {
            return Err(Fault::new("http-status", "the server answered a notification with 200"));
        }
        if message["method"] == "initialize" {
            self.opened(&response);
            let _ = self.hello.set(message.clone());
        }
        self.read(response, id).await
    }

    async fn say(&self, url: &str, message: &Value) -> Result<Response, Fault> {
        let request = self.envelope(self.client.post(url), message).body(message.to_string());
        request.send().await.map_err(|error| transport(&error))
    }

    /// A redirect is followed on the origin that the user has chosen, and nowhere else.
    async fn follow(&self, response: &Response, message: &Value) -> Result<Response, Fault> {
        let named = response.headers().get("location").and_then(|value| value.to_str().ok()).unwrap_or_default();
        let to = response.url().join(named).map_err(|_| Fault::new("transport", "the redirect leads nowhere"))?;
        if to.origin() != response.url().origin() && !self.flaw.is(Defect::CarriesCredentials) {
            return Err(Fault::new("redirect-refused", format!("the server redirects to {to}")));
        }
        self.say(to.as_str(), message).await
    }

    fn session(&self) -> Option<String> {
        self.session.lock().unwrap_or_else(PoisonError::into_inner).clone()
    }

    fn opened(&self, response: &Response) {
        let id = response.headers().get(SESSION).and_then(|value| value.to_str().ok());
        *self.session.lock().unwrap_or_else(PoisonError::into_inner) = id.map(str::to_owned);
    }

    /// Opens another session in the place of one that the server has forgotten. Whoever comes second finds it open.
    async fn renew(&self, lost: &str) -> Result<(), Fault> {
        let _turn = self.renewing.lock().await;
        if self.session().as_deref() != Some(lost) && !self.flaw.is(Defect::RenewsForEachCall) {
            return Ok(());
        }
        let Some(hello) = self.hello.get() else { return Ok(()) };
        let response = self.say(&self.url, hello).await?;
        self.opened(&response);
        // The answer says once more what is known.
        drop(response);
        self.say(&self.url, &json!({ "jsonrpc": "2.0", "method": "notifications/initialized" })).await.map(drop)
    }

    /// The headers of a message.
    fn envelope(&self, request: RequestBuilder, message: &Value) -> RequestBuilder {
        let mut request = self.configured(request).header("content-type", "application/json");
        if !self.flaw.is(Defect::NoAcceptHeader) {
            request = request.header("accept", "application/json, text/event-stream");
        }
        if message["method"] == "initialize" {
            return request;
        }
        let Some(revision) = message["params"]["_meta"][VERSION_KEY].as_str() else {
            return self.session_headers(request);
        };
        // 2026-07-28 repeats in headers what intermediaries want to know (streamable-http, request metadata).
        request = request.header("mcp-protocol-version", revision);
        request = request.header("mcp-method", message["method"].as_str().unwrap_or_default());
        // Requests about a task are named by it (SEP-2663, routing headers).
        let params = &message["params"];
        match params["name"].as_str().or(params["taskId"].as_str()) {
            Some(name) => request.header("mcp-name", header_value(name)),
            None => request,
        }
    }

    /// The headers that the user has configured.
    fn configured(&self, request: RequestBuilder) -> RequestBuilder {
        self.headers.iter().fold(request, |request, (name, value)| request.header(name, value))
    }

    /// The headers of a session of the revisions up to 2025-11-25.
    fn session_headers(&self, mut request: RequestBuilder) -> RequestBuilder {
        if let Some(revision) = self.agreed.get() {
            let wrong = self.flaw.is(Defect::WrongProtocolHeader);
            request = request.header("mcp-protocol-version", if wrong { "2025-03-26" } else { revision });
        }
        match self.session().filter(|_| !self.flaw.is(Defect::ForgetsSessionId)) {
            Some(session) => request.header(SESSION, session),
            None => request,
        }
    }

    /// Reads the answer to a POST or a GET: nothing, one message, or a stream of them. Where a stream ends too early the
    /// client comes back for the rest.
    async fn read(&self, response: Response, id: Option<u64>) -> Result<(), Fault> {
        let status = response.status();
        let header = response.headers().get("content-type").and_then(|value| value.to_str().ok());
        let streams = header.is_some_and(|kind| kind.starts_with("text/event-stream"));
        let only = if streams { Defect::TakesOnlyObjects } else { Defect::TakesOnlyStreams };
        if status.is_success() && id.is_some() && self.flaw.is(only) {
            return Err(Fault::new("transport", "the server answered in the other form"));
        }
        if status.is_success() && streams {
            return self.read_stream(response, id).await;
        }
        let body = response.text().await.map_err(|error| transport(&error))?;
        if status.is_success() {
            if body.len() > self.max_message {
                self.inbox.too_long(id, self.max_message);
            } else if !body.is_empty() {
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

    async fn read_stream(&self, mut response: Response, id: Option<u64>) -> Result<(), Fault> {
        let mut events = Events::default();
        for _ in 0..RETURNS {
            let ended = self.read_events(response, id, &mut events).await;
            let Some(last) = events.last_id.clone().filter(|_| self.is_owed(id)) else { return ended };
            let wait =
                if self.flaw.is(Defect::ComesBackTooSoon) { Duration::ZERO } else { events.retry.unwrap_or(RETRY) };
            tokio::time::sleep(wait).await;
            let again = self.get().header("last-event-id", last).send().await.map_err(|error| transport(&error))?;
            if !again.status().is_success() {
                return ended;
            }
            events.restart();
            response = again;
        }
        Ok(())
    }

    /// Whether the server still owes the answer, and can be asked for it (2025-11-25, transports, resumability).
    fn is_owed(&self, id: Option<u64>) -> bool {
        let open = id.is_some_and(|id| self.inbox.is_open(id));
        open && self.agreed.get().is_some() && !self.flaw.is(Defect::NeverComesBack)
    }

    async fn read_events(&self, mut response: Response, id: Option<u64>, events: &mut Events) -> Result<(), Fault> {
        while let Some(bytes) = response.chunk().await.map_err(|error| transport(&error))? {
            for data in events.push(&bytes) {
                if data.len() > self.max_message {
                    self.inbox.too_long(id, self.max_message);
                } else {
                    self.take(&data).await;
                }
            }
            // The stream is the request's own: nothing else is lost with it.
            if events.pending() > self.max_message {
                self.inbox.too_long(id, self.max_message);
                return Ok(());
            }
        }
        Ok(())
    }

    async fn take(&self, text: &str) {
        let Ok(message) = serde_json::from_str::<Value>(text) else { return self.inbox.garbage(text) };
        if let Some(answer) = self.inbox.take(&message) {
            let request = self.envelope(self.client.post(&self.url), &answer).body(answer.to_string());
            // A server that asks and does not listen finds out by itself.
            let _ = request.send().await;
        }
    }

    fn get(&self) -> RequestBuilder {
        let request = self.configured(self.client.get(&self.url)).header("accept", "text/event-stream");
        self.session_headers(request)
    }

    /// Opens the stream for what the server says of its own accord. A server need not offer one.
    pub(crate) async fn listen(self: &Arc<Self>) -> Result<(), Fault> {
        if self.flaw.is(Defect::NeedsAStream) {
            let response = self.get().send().await.map_err(|error| transport(&error))?;
            if !response.status().is_success() {
                return Err(Fault::new("http-status", "the server offers no stream"));
            }
        }
        let http = Arc::clone(self);
        let stream = tokio::spawn(async move {
            loop {
                if let Ok(response) = http.get().send().await {
                    let _ = http.read(response, None).await;
                }
                if !http.flaw.is(Defect::ReopensAtOnce) {
                    return;
                }
            }
        });
        let _ = self.stream.set(stream);
        Ok(())
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
        if self.session().is_some() {
            // A server may refuse to have its sessions ended (2025-11-25, transports, session management).
            let _ = self.session_headers(self.configured(self.client.delete(&self.url))).send().await;
        }
    }
}

/// How long the server asks to be left alone (RFC 9110, section 10.2.3), where it says so in seconds.
fn put_off(response: &Response) -> Option<Duration> {
    let busy = matches!(response.status().as_u16(), 429 | 503);
    let seconds = response.headers().get("retry-after").filter(|_| busy)?.to_str().ok()?.parse().ok()?;
    Some(Duration::from_secs(seconds))
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
