//! A client on rmcp as a subject of `mcp-workbench conformance`: runs the steps of a case, and reports them.

mod contract;
mod sdk;

use std::{collections::BTreeMap, process::ExitCode, sync::Arc, time::Duration};

use futures::future::join_all;
use rmcp::model::ServerNotification;
use serde_json::{Value, json};
use tokio::task::JoinHandle;
use tokio_util::sync::CancellationToken;

use crate::{
    contract::{CONTEXT, Call, Failure, duration, in_time, now, write},
    sdk::Session,
};

/// Maximum number of pages of a list, if the scenario sets none.
const MAX_PAGES: u64 = 1_000;

/// A running call, and what cancels it.
type Started = (JoinHandle<Result<Value, Failure>>, CancellationToken);

#[derive(Default)]
struct Runner {
    sessions: BTreeMap<String, Arc<Session>>,
    started: BTreeMap<String, Started>,
    /// What ends the subscription to each resource (2026-07-28).
    subscriptions: BTreeMap<String, CancellationToken>,
    /// The metadata of calls: the log level (2026-07-28).
    meta: Option<Value>,
}

#[tokio::main]
async fn main() -> ExitCode {
    drop(rustls::crypto::ring::default_provider().install_default());
    let mut runner = Runner::default();
    let steps = CONTEXT["steps"].as_array().cloned().unwrap_or_default();
    if !steps.iter().any(|step| step.get("connect").is_some()) {
        for server in servers() {
            runner.perform(None, "connect", &json!({ "server": server })).await;
        }
    }
    for (position, step) in steps.iter().enumerate() {
        if let Some((kind, options)) = step.as_object().and_then(|step| step.iter().next()) {
            runner.perform(Some(position), kind, options).await;
        }
    }
    for server in runner.sessions.keys().cloned().collect::<Vec<_>>() {
        runner.perform(None, "disconnect", &json!({ "server": server })).await;
    }
    ExitCode::SUCCESS
}

fn servers() -> Vec<String> {
    CONTEXT["servers"].as_object().into_iter().flatten().map(|(name, _)| name.clone()).collect()
}

fn only(options: &Value) -> Option<String> {
    let named = options["server"].as_str().map(str::to_owned);
    named.or_else(|| servers().into_iter().next().filter(|_| servers().len() == 1))
}

/// The time limit of a step, or that of the scenario.
fn limit(options: &Value, key: &str) -> Option<Duration> {
    duration(&options["timeout"]).or_else(|| duration(&CONTEXT["client"][key]))
}

/// Whether a server declares the capability at this JSON Pointer.
fn declares(session: &Session, capability: &str) -> bool {
    let capabilities = session.peer_info().map(|info| json!(info.capabilities)).unwrap_or_default();
    capabilities.pointer(capability).is_some_and(|value| !matches!(value, Value::Null | Value::Bool(false)))
}

/// All pages of a list; none if the server does not declare it.
async fn pages(session: &Session, kind: &str) -> Result<Vec<Value>, Failure> {
    let (_, method, member, capability) =
        contract::LISTS.into_iter().find(|(step, ..)| *step == kind).unwrap_or_default();
    let (mut items, mut params) = (Vec::new(), json!({}));
    if !declares(session, &format!("/{capability}")) {
        return Ok(items);
    }
    for _ in 0..CONTEXT["client"]["max_pages"].as_u64().unwrap_or(MAX_PAGES) {
        let page = sdk::request(session, method, params).await?;
        items.extend(page[member].as_array().cloned().unwrap_or_default());
        match page.get("nextCursor") {
            Some(cursor) if !cursor.is_null() => params = json!({ "cursor": cursor }),
            _ => return Ok(items),
        }
    }
    Err(Failure::new("rejected", "the list has too many pages"))
}

/// Opens a subscription to a resource and reports its updates. Returns what ends it.
async fn subscribe(session: &Session, server: String, uri: &str) -> Result<CancellationToken, Failure> {
    let filter = contract::typed(json!({ "resourceSubscriptions": [uri] }));
    let mut subscription = session.listen(filter).await.map_err(sdk::failure)?;
    let stop = CancellationToken::new();
    let stopped = stop.clone();
    tokio::spawn(async move {
        loop {
            tokio::select! {
                () = stopped.cancelled() => return drop(subscription.cancel().await),
                next = subscription.next() => match next {
                    Ok(Some(ServerNotification::ResourceUpdatedNotification(updated))) => {
                        contract::notice("resource-updated", &server, json!(updated.params));
                    }
                    Ok(Some(_)) => {}
                    Ok(None) | Err(_) => return,
                },
            }
        }
    });
    Ok(stop)
}

impl Runner {
    async fn perform(&mut self, position: Option<usize>, kind: &str, options: &Value) {
        let began = now();
        let outcome = match self.step(kind, options).await {
            Ok(value) => json!({ "value": value }),
            Err(Failure { kind: "skipped", message, .. }) => json!({ "skipped": message }),
            Err(Failure { kind, message, code }) => {
                json!({ "error": { "kind": kind, "message": message, "code": code } })
            }
        };
        write(
            &json!({ "step": { "step": position, "server": only(options), "began_us": began, "ended_us": now(), "outcome": outcome } }),
        );
    }

    async fn step(&mut self, kind: &str, options: &Value) -> Result<Value, Failure> {
        match kind {
            _ if options["qualified"] == true => Err(Failure::new("skipped", "an SDK has no names for a model")),
            _ if CONTEXT["transport"] == "sse" => Err(Failure::new("skipped", "rmcp has no HTTP+SSE")),
            "connect" => self.connect(options).await,
            "list" => in_time(limit(options, "call_timeout"), self.tools(options)).await,
            "resources" | "resource-templates" | "prompts" => {
                in_time(limit(options, "call_timeout"), self.list(kind, options)).await
            }
            "call" => {
                let (session, call) = self.call(options)?;
                sdk::call(&session, call).await
            }
            "start" => {
                let (session, mut call) = self.call(options)?;
                let stop = CancellationToken::new();
                // Only a call that a step cancels: one that can be cancelled does not answer input requests.
                call.stop = contract::is_cancelled(&options["as"]).then(|| stop.clone());
                let running = tokio::spawn(async move { sdk::call(&session, call).await });
                self.started.insert(options["as"].as_str().unwrap_or_default().to_owned(), (running, stop));
                tokio::task::yield_now().await;
                Ok(Value::Null)
            }
            "finish" | "cancel" => {
                let name = options["call"].as_str().unwrap_or_default();
                let (running, stop) =
                    self.started.remove(name).ok_or_else(|| Failure::new("rejected", "no such call"))?;
                if kind == "cancel" {
                    stop.cancel();
                }
                running.await.map_err(|error| Failure::new("rejected", &error.to_string()))?
            }
            "await" => {
                let limit = duration(&options["within"]).unwrap_or(Duration::from_secs(2));
                let event = options["event"].as_str().unwrap_or_default();
                let waiting = async { Ok(contract::wait(event, options["server"].as_str()).await) };
                in_time(Some(limit), waiting).await
            }
            "disconnect" => {
                let wanted = only(options);
                let named: Vec<String> = self
                    .sessions
                    .keys()
                    .filter(|one| wanted.as_ref().is_none_or(|name| name == *one))
                    .cloned()
                    .collect();
                for server in named {
                    self.disconnect(&server).await;
                }
                Ok(json!({ "ended": true }))
            }
            "reconnect" => {
                if let Some(server) = only(options) {
                    self.disconnect(&server).await;
                }
                self.connect(options).await
            }
            "roots" => {
                contract::set_roots(options["roots"].clone());
                // Servers of 2026-07-28 are not notified: they request the roots when they need them.
                let is_notified = CONTEXT["revision"] != "2026-07-28";
                for session in self.sessions.values().filter(|_| is_notified) {
                    session.notify_roots_list_changed().await.map_err(Failure::closed)?;
                }
                Ok(Value::Null)
            }
            _ => in_time(limit(options, "call_timeout"), self.feature(kind, options)).await,
        }
    }

    /// Connects to one server, or to all at once.
    async fn connect(&mut self, options: &Value) -> Result<Value, Failure> {
        let limit = limit(options, "startup_timeout");
        if let Some(server) = only(options) {
            let session = in_time(limit, sdk::connect(&server)).await?;
            let info = session.peer_info().map(|info| json!(&*info)).unwrap_or_default();
            self.sessions.insert(server.clone(), Arc::new(session));
            return Ok(json!({
                "server": server,
                "transport": CONTEXT["transport"],
                "revision": info["protocolVersion"],
                "server_info": info["serverInfo"],
                "capabilities": info["capabilities"],
                "instructions": info["instructions"],
            }));
        }
        let names = servers();
        let connecting = names.iter().map(|server| in_time(limit, sdk::connect(server)));
        let mut failed = Vec::new();
        for (server, connected) in names.iter().zip(join_all(connecting).await) {
            match connected {
                Ok(session) => drop(self.sessions.insert(server.clone(), Arc::new(session))),
                Err(error) => failed.push(json!({ "server": server, "kind": error.kind, "message": error.message })),
            }
        }
        let connected: Vec<_> = self.sessions.keys().map(|server| json!({ "server": server })).collect();
        Ok(json!({ "connected": connected, "failed": failed }))
    }

    async fn disconnect(&mut self, server: &str) {
        let Some(session) = self.sessions.remove(server) else { return };
        match Arc::try_unwrap(session) {
            Ok(session) => drop(session.cancel().await),
            Err(shared) => shared.cancellation_token().cancel(),
        }
    }

    async fn tools(&self, options: &Value) -> Result<Value, Failure> {
        let wanted = options["server"].as_str();
        let mut tools = Vec::new();
        for (server, session) in self.sessions.iter().filter(|(name, _)| wanted.is_none_or(|one| one == *name)) {
            let listed = pages(session, "list").await?;
            tools.extend(listed.into_iter().map(|mut tool| {
                tool["server"] = json!(server);
                tool
            }));
        }
        Ok(json!({ "tools": tools, "rejected": [] }))
    }

    async fn list(&self, kind: &str, options: &Value) -> Result<Value, Failure> {
        let (_, _, member, _) = contract::LISTS.into_iter().find(|(step, ..)| *step == kind).unwrap_or_default();
        Ok(json!({ member: pages(&*self.session(options)?, kind).await? }))
    }

    /// The steps for resources, prompts, completion and logging.
    async fn feature(&mut self, kind: &str, options: &Value) -> Result<Value, Failure> {
        let (method, params, capability) = contract::request(kind, options)?;
        let session = self.session(options)?;
        if !declares(&session, capability) {
            return Err(Failure::new("rejected", &format!("the server does not declare {capability}")));
        }
        // 2026-07-28 has subscriptions instead, and the level in each call.
        match (kind, CONTEXT["revision"] == "2026-07-28") {
            ("log-level", true) => self.meta = Some(json!({ "io.modelcontextprotocol/logLevel": options["level"] })),
            ("subscribe", true) => {
                let server = only(options).unwrap_or_default();
                let uri = options["uri"].as_str().unwrap_or_default();
                self.subscriptions.insert(uri.to_owned(), subscribe(&session, server, uri).await?);
            }
            ("unsubscribe", true) => {
                let ended = self.subscriptions.remove(options["uri"].as_str().unwrap_or_default());
                ended.iter().for_each(CancellationToken::cancel);
            }
            _ => return sdk::request(&session, method, params).await,
        }
        Ok(Value::Null)
    }

    /// The session of a step.
    fn session(&self, options: &Value) -> Result<Arc<Session>, Failure> {
        let server = only(options).ok_or_else(|| Failure::new("rejected", "no server is named"))?;
        self.sessions.get(&server).cloned().ok_or_else(|| Failure::new("closed", "not connected"))
    }

    /// The session and the call of a step.
    fn call(&self, options: &Value) -> Result<(Arc<Session>, Call), Failure> {
        let session = self.session(options)?;
        let mut call = json!({ "name": options["tool"] });
        if let Some(arguments) = options.get("arguments").filter(|arguments| !arguments.is_null()) {
            call["arguments"] = arguments.clone();
        }
        if let Some(meta) = &self.meta {
            call["_meta"] = meta.clone();
        }
        let limit = limit(options, "call_timeout");
        Ok((session, Call { call, limit, stop: None }))
    }
}
