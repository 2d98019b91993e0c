//! Streamable HTTP: a POST for each message, with JSON or a stream as the response. Up to 2025-11-25 also sessions, and a
//! GET for messages of the server.

use std::{
    collections::HashMap,
    sync::{Arc, Mutex, OnceLock, PoisonError, Weak},
    time::Duration,
};

use base64::{Engine as _, engine::general_purpose::STANDARD};
use reqwest::{Client, Request, RequestBuilder, Response, redirect::Policy};
use serde_json::{Value, json};
use test_support::http_client_builder;
use tokio::task::JoinHandle;

use super::{
    defect::{Defect, Flaw},
    fault::Fault,
    greeting::VERSION_KEY,
    habit::Habit,
    inbox::Inbox,
    oauth::OAuth,
    setup::Setup,
    sse::Events,
};

const SESSION: &str = "mcp-session-id";
/// Default delay before a reconnect.
const RETRY_DELAY: Duration = Duration::from_millis(100);
/// Maximum number of reconnects for one response.
const MAX_RECONNECTS: usize = 5;

/// An endpoint and its session.
pub(crate) struct Http {
    me: Weak<Self>,
    client: Client,
    url: String,
    headers: Vec<(String, String)>,
    max_message: usize,
    inbox: Arc<Inbox>,
    oauth: Option<OAuth>,
    pub(crate) flaw: Flaw,
    session: Mutex<Option<String>>,
    /// The `initialize` request, to open another session.
    hello: OnceLock<Value>,
    /// Lock of the task that opens another session.
    renewing: tokio::sync::Mutex<()>,
    /// The revision of the handshake.
    pub(crate) agreed: OnceLock<String>,
    open: Mutex<HashMap<u64, JoinHandle<()>>>,
    stream: OnceLock<JoinHandle<()>>,
    /// The parameters that are mirrored to headers, by tool: the JSON pointer of each property, with its header.
    mirrored: Mutex<HashMap<String, Vec<(String, String)>>>,
}

impl Http {
    pub(crate) fn new(endpoint: &Value, setup: &Setup, inbox: &Arc<Inbox>, flaw: Flaw) -> Arc<Self> {
        // The target of a redirect is checked first.
        let client = http_client_builder().redirect(Policy::none()).build().unwrap_or_default();
        let url = endpoint["url"].as_str().unwrap_or_default();
        Arc::new_cyclic(|me| Self {
            me: me.clone(),
            oauth: OAuth::new(&client, url, setup, flaw),
            client,
            url: url.to_owned(),
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
            mirrored: Mutex::default(),
        })
    }

    /// Sends a message. A task waits for the response to a request, so that several can be open.
    pub(crate) async fn send(self: &Arc<Self>, message: Value) -> Result<(), Fault> {
        let id = message["id"].as_u64().filter(|_| message.get("method").is_some());
        let Some(id) = id else {
            return self.post(&message, None).await;
        };
        if !self.inbox.is_open(id) {
            // An added request. Nobody needs its response, but the client must not finish before it is sent.
            let _ = self.post(&message, Some(id)).await;
            return Ok(());
        }
        let http = Arc::clone(self);
        let exchange = tokio::spawn(async move {
            let mut ended = http.post(&message, Some(id)).await;
            if message["method"] == "subscriptions/listen" && http.flaw.is(Defect::RepeatsBrokenRequest) {
                ended = http.post(&message, Some(id)).await;
            }
            let fault =
                ended.err().unwrap_or_else(|| Fault::new("transport", "the HTTP exchange finished without a response"));
            http.inbox.fail(id, fault);
        });
        self.open.lock().unwrap_or_else(PoisonError::into_inner).insert(id, exchange);
        Ok(())
    }

    async fn post(&self, message: &Value, id: Option<u64>) -> Result<(), Fault> {
        let session = self.session();
        let mut response = self.send_to(&self.url, message).await?;
        // "the client MUST start a new session" (2025-11-25, transports, session management).
        if let (404, Some(lost)) = (response.status().as_u16(), &session)
            && !self.flaw.is(Defect::KeepsLostSession)
        {
            self.renew(lost).await?;
            response = self.send_to(&self.url, message).await?;
        }
        if let Some(wait) = retry_after(&response) {
            if !self.flaw.is(Defect::ComesBackAtOnce) {
                tokio::time::sleep(wait).await;
            }
            response = self.send_to(&self.url, message).await?;
        }
        if response.status().is_redirection() {
            response = self.follow(&response, message).await?;
        }
        if id.is_none() && response.status() == 200 && self.flaw.is(Defect::WantsNoAnswer) {
            return Err(Fault::new("http-status", "the response to a notification has status 200"));
        }
        if message["method"] == "initialize" {
            self.opened(&response);
            let _ = self.hello.set(message.clone());
        }
        self.read(response, id).await
    }

    async fn send_to(&self, url: &str, message: &Value) -> Result<Response, Fault> {
        let puts = self.flaw.is(Defect::PutsMessages) && message["method"] == "tools/call";
        let request = if puts { self.client.put(url) } else { self.client.post(url) };
        let request = self.envelope(request, message).body(message.to_string());
        self.execute(message["method"].as_str().unwrap_or("answer"), request).await
    }

    /// Sends a request with the changed headers of the messages with this name.
    async fn execute(&self, name: &str, request: RequestBuilder) -> Result<Response, Fault> {
        let mut request = request.build().map_err(|error| transport(&error))?;
        for (header, value) in self.flaw.change.into_iter().flat_map(|change| change.headers_of(name)) {
            let Ok(header) = header.parse::<reqwest::header::HeaderName>() else { continue };
            request.headers_mut().remove(&header);
            let value = value.as_ref().and_then(|value| value.parse().ok());
            value.and_then(|value| request.headers_mut().insert(header, value));
        }
        let forgets_token = match name {
            "answer" => self.flaw.is(Defect::AnswersWithoutToken),
            "subscriptions/listen" => self.flaw.is(Defect::ForgetsTokenOfStreams),
            "tools/call" => self.flaw.is(Defect::CallsWithoutToken),
            _ => false,
        };
        match &self.oauth {
            Some(oauth) if !forgets_token => self.authorized(oauth, request).await,
            _ => self.client.execute(request).await.map_err(|error| transport(&error)),
        }
    }

    /// Sends a request with a token, which is obtained when the server asks for one.
    async fn authorized(&self, oauth: &OAuth, request: Request) -> Result<Response, Fault> {
        oauth.prepare().await;
        for attempt in 0.. {
            // The body is a text, so it can be sent again.
            let Some(mut again) = request.try_clone() else { break };
            let token = oauth.token();
            if let Some(token) = &token {
                let is_stream = again.method() == reqwest::Method::GET;
                if self.flaw.is(Defect::PutsTokenIntoUrl) {
                    again.url_mut().query_pairs_mut().append_pair("access_token", token);
                } else if !(self.flaw.is(Defect::ForgetsTokenOfStreams) && is_stream) {
                    oauth.add_token(&mut again, token);
                }
            }
            let response = self.client.execute(again).await.map_err(|error| transport(&error))?;
            if !oauth.answer(&response, token.as_deref(), attempt).await? {
                return Ok(response);
            }
        }
        self.client.execute(request).await.map_err(|error| transport(&error))
    }

    /// Follows a redirect, but only to the same origin.
    async fn follow(&self, response: &Response, message: &Value) -> Result<Response, Fault> {
        let named = response.headers().get("location").and_then(|value| value.to_str().ok()).unwrap_or_default();
        let to = response.url().join(named).map_err(|_| Fault::new("transport", "the redirect has no valid target"))?;
        if to.origin() != response.url().origin() && !self.flaw.is(Defect::CarriesCredentials) {
            return Err(Fault::new("redirect-refused", format!("the server redirects to {to}")));
        }
        if self.flaw.is(Defect::FollowsWithGet) {
            return self.execute("GET", self.envelope(self.client.get(to), message)).await;
        }
        self.send_to(to.as_str(), message).await
    }

    fn session(&self) -> Option<String> {
        self.session.lock().unwrap_or_else(PoisonError::into_inner).clone()
    }

    fn opened(&self, response: &Response) {
        let id = response.headers().get(SESSION).and_then(|value| value.to_str().ok());
        *self.session.lock().unwrap_or_else(PoisonError::into_inner) = id.map(str::to_owned);
    }

    /// Replaces a session that the server no longer knows. A second caller uses the new session.
    async fn renew(&self, lost: &str) -> Result<(), Fault> {
        let _turn = self.renewing.lock().await;
        if self.session().as_deref() != Some(lost) && !self.flaw.is(Defect::RenewsForEachCall) {
            return Ok(());
        }
        let Some(hello) = self.hello.get() else { return Ok(()) };
        let response = self.send_to(&self.url, hello).await?;
        self.opened(&response);
        // The result is the same as that of the first handshake.
        drop(response);
        self.send_to(&self.url, &json!({ "jsonrpc": "2.0", "method": "notifications/initialized" })).await.map(drop)
    }

    /// Adds the headers of a message.
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
        // 2026-07-28 repeats metadata in headers for intermediaries (streamable-http, request metadata).
        request = request.header("mcp-protocol-version", revision);
        request = request.header("mcp-method", message["method"].as_str().unwrap_or_default());
        // Requests for a task contain its id (SEP-2663, routing headers).
        let params = &message["params"];
        if let Some(name) = params["name"].as_str().or(params["taskId"].as_str()).or(params["uri"].as_str()) {
            request = request.header("mcp-name", header_value(name));
        }
        self.parameter_headers(request, params)
    }

    /// Mirrors parameters to headers (2026-07-28, streamable-http, custom headers from tool parameters).
    fn parameter_headers(&self, mut request: RequestBuilder, params: &Value) -> RequestBuilder {
        let mirrored = self.mirrored.lock().unwrap_or_else(PoisonError::into_inner);
        let tool = params["name"].as_str().and_then(|tool| mirrored.get(tool));
        for (pointer, header) in tool.into_iter().flatten() {
            let value = match params["arguments"].pointer(pointer).unwrap_or(&Value::Null) {
                Value::String(text) if self.flaw.is(Defect::SendsPlainParameters) && text.is_ascii() => text.clone(),
                Value::String(text) => header_value(text),
                Value::Null => continue,
                value if self.flaw.is(Defect::OmitsZeros) && (*value == 0 || *value == false) => continue,
                value => value.to_string(),
            };
            request = request.header(format!("mcp-param-{header}"), value);
        }
        request
    }

    /// Fetches a document.
    pub(crate) async fn fetch(&self, url: &str) {
        // The content does not matter.
        let _ = self.client.get(url).send().await;
    }

    /// Learns which parameters of these tools are mirrored.
    pub(crate) fn learn(&self, tools: &[Value]) {
        if self.flaw.is(Defect::OmitsParameterHeaders) {
            return;
        }
        let mut mirrored = self.mirrored.lock().unwrap_or_else(PoisonError::into_inner);
        for tool in tools {
            let headers = annotated(&tool["inputSchema"], "");
            mirrored.insert(tool["name"].as_str().unwrap_or_default().to_owned(), headers);
        }
    }

    /// Adds the configured headers.
    fn configured(&self, request: RequestBuilder) -> RequestBuilder {
        self.headers.iter().fold(request, |request, (name, value)| request.header(name, value))
    }

    /// Adds the session headers of revisions up to 2025-11-25.
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

    /// Reads the response to a POST or GET: nothing, a message, or a stream. It resumes a stream that ends early.
    async fn read(&self, response: Response, id: Option<u64>) -> Result<(), Fault> {
        let status = response.status();
        let header = response.headers().get("content-type").and_then(|value| value.to_str().ok());
        let streams = header.is_some_and(|kind| kind.starts_with("text/event-stream"));
        let only = if streams { Defect::TakesOnlyObjects } else { Defect::TakesOnlyStreams };
        let is_exact = matches!(header, None | Some("application/json" | "text/event-stream"));
        let rejects = self.flaw.is(only) || self.flaw.is(Defect::NeedsExactContentTypes) && !is_exact;
        if status.is_success() && id.is_some() && rejects {
            return Err(Fault::new("transport", "the response has the other content type"));
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
            _ if status.as_u16() == 401 => Err(Fault::new("needs-auth", "the server requires authorization")),
            _ => Err(Fault::new("http-status", format!("the response to {} has status {status}", describe(id)))),
        }
    }

    async fn read_stream(&self, mut response: Response, id: Option<u64>) -> Result<(), Fault> {
        let mut events = Events::new(self.flaw);
        let mut first = None;
        for _ in 0..MAX_RECONNECTS {
            let ended = self.read_events(response, id, &mut events).await;
            let Some(last) = events.last_id.clone().filter(|_| self.is_resumable(id)) else { return ended };
            let wait = if self.flaw.is(Defect::ComesBackTooSoon) {
                Duration::ZERO
            } else {
                events.retry.unwrap_or(RETRY_DELAY)
            };
            tokio::time::sleep(wait).await;
            let first = first.get_or_insert_with(|| last.clone());
            let last = if self.flaw.is(Defect::ComesBackToTheFirst) { first.clone() } else { last };
            let resumed = self.execute("GET", self.get().header("last-event-id", last)).await?;
            if !resumed.status().is_success() {
                return ended;
            }
            events.restart();
            response = resumed;
        }
        Ok(())
    }

    /// Whether the response is missing and the stream can be resumed (2025-11-25, transports, resumability).
    fn is_resumable(&self, id: Option<u64>) -> bool {
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
            // The stream belongs to this request, so no other message is lost.
            if events.pending() > self.max_message {
                self.inbox.too_long(id, self.max_message);
                return Ok(());
            }
        }
        Ok(())
    }

    async fn take(&self, text: &str) {
        let Ok(message) = serde_json::from_str::<Value>(text) else { return self.inbox.garbage(text) };
        let (replies, delay) = (self.inbox.take(&message), self.inbox.user.delay(&message));
        let Some(http) = self.me.upgrade() else { return };
        let respond = async move {
            // A pause of no length takes a millisecond, which a flood of notifications multiplies.
            if let Some(delay) = delay {
                tokio::time::sleep(delay).await;
            }
            for reply in replies.iter().filter(|reply| http.inbox.is_wanted(reply)) {
                // A server may close the connection before it gets the response.
                let _ = http.send_to(&http.url, reply).await;
            }
        };
        match delay {
            Some(_) => drop(tokio::spawn(respond)),
            None => respond.await,
        }
    }

    fn get(&self) -> RequestBuilder {
        let request = self.configured(self.client.get(&self.url)).header("accept", "text/event-stream");
        self.session_headers(request)
    }

    /// Opens the stream for messages of the server, which is optional for servers.
    pub(crate) async fn listen(self: &Arc<Self>) -> Result<(), Fault> {
        if self.flaw.is(Defect::NeedsAStream) {
            let response = self.get().send().await.map_err(|error| transport(&error))?;
            if !response.status().is_success() {
                return Err(Fault::new("http-status", "the server offers no stream"));
            }
        }
        let http = Arc::clone(self);
        let stream = tokio::spawn(async move {
            while !http.flaw.has(Habit::ResumesStream) {
                if let Ok(response) = http.execute("GET", http.get()).await {
                    let _ = http.read(response, None).await;
                }
                if !http.flaw.is(Defect::ReopensAtOnce) {
                    return;
                }
            }
            http.keep_stream().await;
        });
        let _ = self.stream.set(stream);
        Ok(())
    }

    /// Reads the stream for messages of the server, and resumes it whenever it ends.
    async fn keep_stream(&self) {
        let mut events = Events::new(self.flaw);
        loop {
            let last = events.last_id.clone();
            let request = last.iter().fold(self.get(), |request, last| request.header("last-event-id", last));
            match request.send().await {
                Ok(response) if response.status().is_success() => {
                    // The stream may break at any time.
                    let _ = self.read_events(response, None, &mut events).await;
                }
                _ if last.is_some() => return self.inbox.lose("the stream cannot be resumed"),
                _ => return,
            }
            events.restart();
            tokio::time::sleep(events.retry.unwrap_or(2 * RETRY_DELAY)).await;
        }
    }

    /// Closes the stream of a request before it returns.
    pub(crate) async fn close_request(&self, id: u64) -> bool {
        let open = self.open.lock().unwrap_or_else(PoisonError::into_inner).remove(&id);
        let Some(open) = open else { return false };
        open.abort();
        // The task was aborted or had finished.
        let _ = open.await;
        true
    }

    /// Closes all streams and deletes the session.
    pub(crate) async fn close(&self) {
        self.stream.get().inspect(|stream| stream.abort());
        self.open.lock().unwrap_or_else(PoisonError::into_inner).drain().for_each(|(_, open)| open.abort());
        let drops = self.flaw.change.is_some_and(|change| change.drops("DELETE"));
        if self.session().is_some() && !drops {
            // A server may reject the request (2025-11-25, transports, session management).
            let _ = self.execute("DELETE", self.session_headers(self.configured(self.client.delete(&self.url)))).await;
        }
    }
}

/// The delay in `Retry-After`, if it is in seconds (RFC 9110, section 10.2.3).
fn retry_after(response: &Response) -> Option<Duration> {
    let busy = matches!(response.status().as_u16(), 429 | 503);
    let seconds = response.headers().get("retry-after").filter(|_| busy)?.to_str().ok()?.parse().ok()?;
    Some(Duration::from_secs(seconds))
}

/// Encodes a header value (2026-07-28, streamable-http, value encoding).
fn header_value(value: &str) -> String {
    let plain = value.trim() == value && value.bytes().all(|byte| matches!(byte, b' '..=b'~'));
    let safe = plain && !(value.starts_with("=?base64?") && value.ends_with("?="));
    if safe { value.to_owned() } else { format!("=?base64?{}?=", STANDARD.encode(value)) }
}

fn describe(id: Option<u64>) -> String {
    id.map_or_else(|| "a message".to_owned(), |id| format!("request {id}"))
}

fn transport(error: &reqwest::Error) -> Fault {
    Fault::new("transport", format!("the exchange failed: {error}"))
}

/// The annotated properties of a schema, as JSON pointers, with their headers.
fn annotated(schema: &Value, pointer: &str) -> Vec<(String, String)> {
    let properties = schema["properties"].as_object().into_iter().flatten();
    properties
        .flat_map(|(name, property)| {
            let pointer = format!("{pointer}/{name}");
            let own = property["x-mcp-header"].as_str().map(|header| (pointer.clone(), header.to_owned()));
            own.into_iter().chain(annotated(property, &pointer)).collect::<Vec<_>>()
        })
        .collect()
}
