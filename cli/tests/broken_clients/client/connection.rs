//! A connection to one server: requests with ids and timeouts.

use std::{
    collections::HashMap,
    sync::{
        Arc, PoisonError,
        atomic::{AtomicU64, Ordering},
    },
    time::Duration,
};

use serde_json::{Map, Value, json};
use tokio::{
    sync::{Mutex, mpsc},
    time::{Instant, sleep, sleep_until, timeout},
};
use tokio_util::sync::CancellationToken;

use super::{
    defect::{Defect, Flaw},
    fault::Fault,
    greeting::{MODERN, greet, metadata},
    habit::Habit,
    inbox::{Inbox, Incoming},
    link::Link,
    report::Report,
    setup::Setup,
};

/// No timeout.
const ENDLESS: Duration = Duration::from_secs(1_000_000);

/// Delay of cancellations that are sent in the background.
const BACKGROUND_DELAY: Duration = Duration::from_millis(100);

/// Key of the log level in requests of 2026-07-28 (utilities, logging).
const LOG_LEVEL: &str = "io.modelcontextprotocol/logLevel";

/// Code of a rejected header (2026-07-28, basic/transports/streamable-http).
const HEADER_MISMATCH: i64 = -32020;

/// Maximum number of requests with input.
const MAX_ROUNDS: usize = 10;

/// Timeouts of a request.
#[derive(Clone)]
pub(crate) struct RequestTimeouts {
    /// Timeout without progress.
    pub(crate) silence: Duration,
    /// Total timeout.
    pub(crate) ceiling: Duration,
    /// Cancels the request.
    pub(crate) cancel: CancellationToken,
}

impl RequestTimeouts {
    pub(crate) fn new(time: Duration) -> Self {
        Self { silence: time, ceiling: time, cancel: CancellationToken::new() }
    }

    /// No timeouts, if the caller limits the time.
    pub(crate) fn endless() -> Self {
        Self::new(ENDLESS)
    }
}

/// A connection during or after the handshake.
pub(crate) struct Connection {
    pub(crate) setup: Setup,
    pub(crate) flaw: Flaw,
    /// Whether the revision is 2026-07-28.
    pub(crate) modern: bool,
    /// The negotiated revision.
    pub(crate) revision: String,
    /// The result of `initialize` or `server/discover`.
    pub(crate) greeting: Value,
    link: Arc<Link>,
    inbox: Arc<Inbox>,
    ids: AtomicU64,
    /// Messages for the request of the subscription.
    subscription: Option<mpsc::UnboundedReceiver<Incoming>>,
    /// The subscription to each resource (2026-07-28): its request and its messages.
    watched: Mutex<HashMap<String, (u64, mpsc::UnboundedReceiver<Incoming>)>>,
    /// The log level in each request (2026-07-28).
    log_level: std::sync::Mutex<Option<Value>>,
    /// Lock of a call, if calls are serialized.
    pub(crate) turn: Mutex<()>,
    /// Results of requests that required input, for a client that keeps them.
    cached_retry: Mutex<Vec<((String, Value), Value)>>,
    /// The latest state of any request, if states are mixed up.
    last_state: Mutex<Option<Value>>,
}

impl Connection {
    /// Connects to a server. A failed start leaves no process.
    pub(crate) async fn open(
        name: &str,
        endpoint: &Value,
        setup: Setup,
        report: Report,
        flaw: Flaw,
    ) -> Result<Self, Fault> {
        let inbox = Arc::new(Inbox::new(name, report, setup.user.clone(), flaw));
        if flaw.has(Habit::ProbesAside) && endpoint["transport"] == "stdio" {
            probe(endpoint, &setup).await?;
        }
        let link = Arc::new(Link::open(endpoint, &setup, &inbox, flaw)?);
        let limit = if flaw.is(Defect::NoStartupLimit) { ENDLESS } else { setup.startup };
        let mut connection = Self {
            setup,
            flaw,
            modern: false,
            revision: String::new(),
            greeting: Value::Null,
            link,
            inbox,
            ids: AtomicU64::new(1),
            subscription: None,
            watched: Mutex::default(),
            log_level: std::sync::Mutex::default(),
            turn: Mutex::new(()),
            cached_retry: Mutex::default(),
            last_state: Mutex::default(),
        };
        let timed_out = || Fault::new("startup-timeout", format!("the server did not start within {limit:?}"));
        let greeted = timeout(limit, greet(&mut connection)).await;
        let Err(mut fault) = greeted.unwrap_or_else(|_| Err(timed_out())) else { return Ok(connection) };
        if flaw.is(Defect::HidesRpcError) {
            fault = Fault::new("rpc-error", "the connection failed");
        }
        if let (Link::Stdio(stdio), "connection-lost") = (&*connection.link, fault.kind) {
            fault = stdio.exited().await.unwrap_or(fault);
        }
        if !flaw.is(Defect::LeavesFailedStart) {
            connection.close().await;
        }
        Err(fault)
    }

    /// Stores the negotiated revision.
    pub(crate) fn agree(&mut self, revision: &str, greeting: Value) {
        (self.revision, self.greeting) = (revision.to_owned(), greeting);
        self.inbox.stateless.store(self.modern, Ordering::Relaxed);
        if let (Link::Http(http), false) = (&*self.link, self.modern) {
            let _ = http.agreed.set(revision.to_owned());
        }
    }

    /// Sends a request and waits for the response. If the result requires input, it sends the request again with the input
    /// (2026-07-28, patterns, multi round-trip requests).
    pub(crate) async fn request(
        &self,
        method: &str,
        mut params: Value,
        timeouts: &RequestTimeouts,
    ) -> Result<Value, Fault> {
        let original = (method.to_owned(), params.clone());
        if let Some((_, cached)) = self.cached_retry.lock().await.iter().find(|(request, _)| *request == original) {
            return Ok(cached.clone());
        }
        let mut earlier = Map::new();
        for round in 0..MAX_ROUNDS {
            let result = match self.request_once(method, params.clone(), timeouts).await {
                // "The client SHOULD select a mutually supported version" (2026-07-28, versioning).
                Err(fault) if self.modern && fault.supports(MODERN) && !self.flaw.is(Defect::GivesUpWhenRejected) => {
                    self.request_once(method, params.clone(), timeouts).await?
                }
                // "SHOULD call `tools/list` …, then retry" (2026-07-28, streamable-http, client behavior).
                Err(fault) if fault.code == Some(HEADER_MISMATCH) && !self.flaw.is(Defect::GivesUpOnMismatch) => {
                    let listed = self.request_once("tools/list", json!({}), timeouts).await?;
                    self.learn(listed["tools"].as_array().map_or(&[][..], Vec::as_slice));
                    self.request_once(method, params.clone(), timeouts).await?
                }
                result => result?,
            };
            let kind = result["resultType"].as_str().unwrap_or("complete");
            let may_be_task = method == "tools/call" || self.flaw.is(Defect::AwaitsTasksOfReads);
            let is_task = kind == "task" && self.setup.user.has_tasks() && may_be_task;
            let is_known = ["complete", "input_required"].contains(&kind) || is_task;
            if self.modern && !is_known && !self.flaw.is(Defect::TakesAnyResultType) {
                return Err(Fault::new("malformed-result", format!("the type of the result is `{kind}`")));
            }
            if self.modern && result["resultType"].is_null() && self.flaw.is(Defect::NeedsResultType) {
                return Err(Fault::new("malformed-result", "the result has no type"));
            }
            let is_last = kind != "input_required" || self.flaw.is(Defect::TakesQuestionsForResults);
            if !self.modern || is_last {
                if round > 0 && self.flaw.is(Defect::CachesRetries) {
                    self.cached_retry.lock().await.push((original, result.clone()));
                }
                return Ok(result);
            }
            let members = ["inputResponses", "requestState"];
            params.as_object_mut().into_iter().for_each(|params| params.retain(|name, _| !members.contains(&&**name)));
            if let Some(asked) = result["inputRequests"].as_object() {
                let urls = asked.values().filter_map(|one| one["params"]["url"].as_str());
                self.fetch_all(Defect::FetchesUrls, urls).await;
                params["inputResponses"] = self.answers(asked)?;
                if self.flaw.is(Defect::RepeatsResponses) {
                    earlier.extend(params["inputResponses"].as_object().cloned().unwrap_or_default());
                    params["inputResponses"] = earlier.clone().into();
                }
            }
            if let Some(state) = result.get("requestState").filter(|_| !self.flaw.is(Defect::LosesState)) {
                params["requestState"] = state.clone();
                if self.flaw.is(Defect::MixesUpStates) {
                    let mut last = self.last_state.lock().await;
                    params["requestState"] = last.replace(state.clone()).unwrap_or_else(|| state.clone());
                }
            }
        }
        Err(Fault::new("too-many-rounds", format!("`{method}` requires input again and again")))
    }

    pub(crate) fn answers(&self, asked: &Map<String, Value>) -> Result<Value, Fault> {
        let mut answers = Map::new();
        for (key, request) in asked {
            let method = request["method"].as_str().unwrap_or_default();
            let refused = || Fault::new("input-refused", format!("this client has no `{method}`"));
            let answer = self.setup.user.answer(method, &request["params"]).ok_or_else(refused)?;
            let first = answers.values().next().filter(|_| self.flaw.is(Defect::AnswersOneForAll)).cloned();
            answers.insert(key.clone(), first.unwrap_or(answer));
        }
        Ok(answers.into())
    }

    pub(crate) async fn request_once(
        &self,
        method: &str,
        params: Value,
        timeouts: &RequestTimeouts,
    ) -> Result<Value, Fault> {
        let (id, mut incoming) = self.send(method, params).await?;
        let began = Instant::now();
        let end = if self.flaw.is(Defect::NoCeiling) { began + ENDLESS } else { began + timeouts.ceiling };
        let mut deadline = began + timeouts.silence;
        loop {
            tokio::select! {
                one = incoming.recv() => match one {
                    Some(Incoming::Result(result)) => return Ok(result),
                    Some(Incoming::Failed(fault)) => return Err(fault),
                    Some(Incoming::Progress)
                        if self.flaw.is(Defect::IgnoresProgress) || self.flaw.has(Habit::KeepsTimeouts) => {}
                    Some(Incoming::Progress) => deadline = Instant::now() + timeouts.silence,
                    None => return Err(Fault::new("connection-lost", "the connection was closed")),
                },
                () = sleep_until(deadline.min(end)), if !self.flaw.is(Defect::NoTimeout) => {
                    self.cancel(id).await;
                    return Err(Fault::new("timed-out", format!("no response to `{method}` in time")));
                }
                () = timeouts.cancel.cancelled() => {
                    self.cancel(id).await;
                    return Err(Fault::new("cancelled", format!("`{method}` was canceled")));
                }
            }
        }
    }

    async fn send(&self, method: &str, mut params: Value) -> Result<(u64, mpsc::UnboundedReceiver<Incoming>), Fault> {
        let id = self.ids.fetch_add(1, Ordering::Relaxed);
        if self.modern && !self.flaw.is(Defect::NoModernMeta) {
            params["_meta"] = metadata(&self.setup.user);
            if let Some(level) = &*self.log_level.lock().unwrap_or_else(PoisonError::into_inner) {
                params["_meta"][LOG_LEVEL] = level.clone();
            }
        }
        if method == "tools/call" {
            params["_meta"]["progressToken"] = id.into();
        }
        let incoming = self.inbox.open(id)?;
        let sent = self.link.send(json!({ "jsonrpc": "2.0", "id": id, "method": method, "params": params })).await;
        sent.inspect_err(|_| self.inbox.forget(id)).map(|()| (id, incoming))
    }

    /// Sends this many requests without waiting for the responses.
    pub(crate) async fn flood(&self, count: usize) {
        for _ in 0..count {
            if self.send("tools/list", json!({})).await.is_err() {
                return;
            }
        }
    }

    /// Sends a notification.
    pub(crate) async fn notify(&self, method: &str, params: Value) -> Result<(), Fault> {
        self.link.send(json!({ "jsonrpc": "2.0", "method": method, "params": params })).await
    }

    /// Cancels a request (basic/utilities/cancellation).
    async fn cancel(&self, id: u64) {
        self.inbox.forget(id);
        if self.flaw.is(Defect::NoCancel) {
            return;
        }
        let (link, modern) = (Arc::clone(&self.link), self.modern);
        if self.flaw.has(Habit::CancelsInBackground) {
            tokio::spawn(async move {
                sleep(BACKGROUND_DELAY).await;
                cancel(&link, id, modern).await;
            });
        } else {
            cancel(&link, id, modern).await;
        }
    }

    /// Calls tools that cannot be called, and fetches what schemas refer to, if that is the defect of the client.
    pub(crate) async fn misuse(&self, tools: &[Value]) -> Result<(), Fault> {
        if self.flaw.is(Defect::CallsInvalidTools) {
            for tool in
                tools.iter().filter(|tool| tool["name"].as_str().is_some_and(|name| name.starts_with("invalid")))
            {
                let params = json!({ "name": tool["name"], "arguments": {} });
                self.request("tools/call", params, &RequestTimeouts::new(self.setup.call)).await?;
            }
        }
        let schemas = tools.iter().flat_map(|tool| [&tool["inputSchema"], &tool["outputSchema"]]);
        let properties = schemas.filter_map(|schema| schema["properties"].as_object());
        let references = properties.flat_map(|all| all.values()).filter_map(|property| property["$ref"].as_str());
        self.fetch_all(Defect::FetchesReferences, references).await;
        Ok(())
    }

    /// Fetches URLs over HTTP, if that is the defect of the client.
    async fn fetch_all(&self, defect: Defect, urls: impl Iterator<Item = &str>) {
        if let (Link::Http(http), true) = (&*self.link, self.flaw.is(defect)) {
            for url in urls {
                http.fetch(url).await;
            }
        }
    }

    /// Learns from listed tools how they are called.
    pub(crate) fn learn(&self, tools: &[Value]) {
        if let Link::Http(http) = &*self.link {
            http.learn(tools);
        }
    }

    /// Whether the process of the server has exited.
    pub(crate) fn has_exited(&self) -> bool {
        !self.is_http() && self.inbox.is_lost()
    }

    pub(crate) fn is_http(&self) -> bool {
        !matches!(*self.link, Link::Stdio(_))
    }

    /// Opens the stream for messages of the server (2025-03-26 to 2025-11-25, Streamable HTTP).
    pub(crate) async fn listen_for_notices(&self) -> Result<(), Fault> {
        match &*self.link {
            Link::Http(http) => http.listen().await,
            Link::Stdio(_) | Link::Sse(_) => Ok(()),
        }
    }

    /// Subscribes to changes (2026-07-28, subscriptions).
    pub(crate) async fn subscribe(&mut self, within: Duration) -> Result<(), Fault> {
        let lists =
            [("tools", "toolsListChanged"), ("prompts", "promptsListChanged"), ("resources", "resourcesListChanged")];
        let announced = |(list, _): &(&str, &str)| self.greeting["capabilities"][list]["listChanged"] == true;
        let filter: Map<_, _> =
            lists.into_iter().filter(announced).map(|(_, key)| (key.to_owned(), true.into())).collect();
        let (_, incoming) = self.send("subscriptions/listen", json!({ "notifications": filter })).await?;
        self.subscription = Some(incoming);
        // A server may not support the subscription.
        let _ = timeout(within, self.inbox.subscribed.notified()).await;
        Ok(())
    }

    /// Subscribes to a resource: with a request, or since 2026-07-28 with a stream.
    pub(crate) async fn subscribe_resource(&self, uri: &Value) -> Result<Value, Fault> {
        if !self.modern {
            let timeouts = RequestTimeouts::new(self.setup.call);
            return self.request("resources/subscribe", json!({ "uri": uri }), &timeouts).await.map(|_| Value::Null);
        }
        let filter = json!({ "notifications": { "resourceSubscriptions": [uri] } });
        let opened = self.send("subscriptions/listen", filter).await?;
        let _ = timeout(self.setup.call, self.inbox.subscribed.notified()).await;
        self.watched.lock().await.insert(uri.as_str().unwrap_or_default().to_owned(), opened);
        Ok(Value::Null)
    }

    /// The resources with a stream.
    pub(crate) async fn watched_resources(&self) -> Vec<Value> {
        self.watched.lock().await.keys().map(|uri| json!(uri)).collect()
    }

    /// Ends the subscription to a resource.
    pub(crate) async fn unsubscribe_resource(&self, uri: &Value) -> Result<Value, Fault> {
        if !self.modern {
            let timeouts = RequestTimeouts::new(self.setup.call);
            return self.request("resources/unsubscribe", json!({ "uri": uri }), &timeouts).await.map(|_| Value::Null);
        }
        if let Some((id, _)) = self.watched.lock().await.remove(uri.as_str().unwrap_or_default()) {
            self.cancel(id).await;
        }
        Ok(Value::Null)
    }

    /// Sets the log level of all further requests (2026-07-28).
    pub(crate) fn set_log_level(&self, level: &Value) {
        *self.log_level.lock().unwrap_or_else(PoisonError::into_inner) = Some(level.clone());
    }

    /// Closes the connection.
    pub(crate) async fn close(&self) {
        self.inbox.close();
        self.link.close().await;
    }
}

async fn cancel(link: &Link, id: u64, modern: bool) {
    if !link.close_request(id, modern).await {
        let params = json!({ "requestId": id, "reason": "the response is not needed" });
        // A lost connection needs no notification.
        let _ = link.send(json!({ "jsonrpc": "2.0", "method": "notifications/cancelled", "params": params })).await;
    }
}

/// Probes a server with a process of its own (2026-07-28, basic/versioning).
async fn probe(endpoint: &Value, setup: &Setup) -> Result<(), Fault> {
    let inbox = Arc::new(Inbox::new("probe", Report::none(), setup.user.clone(), Flaw::default()));
    let link = Link::open(endpoint, setup, &inbox, Flaw::default())?;
    let mut incoming = inbox.open(1)?;
    let params = json!({ "_meta": metadata(&setup.user) });
    let request = json!({ "jsonrpc": "2.0", "id": 1, "method": "server/discover", "params": params });
    if link.send(request).await.is_ok() {
        // An older server may not respond.
        let _ = timeout(Duration::from_millis(500), incoming.recv()).await;
    }
    inbox.close();
    link.close().await;
    Ok(())
}
