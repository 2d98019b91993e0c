//! Executes the steps of a case in order and reports their outcomes.

mod agent;
mod calls;
mod features;
mod lists;

use std::{
    collections::{BTreeMap, HashMap, HashSet},
    sync::Arc,
    time::Duration,
};

use futures::future::join_all;
use serde_json::{Map, Value, json};
use tokio::task::JoinHandle;
use tokio_util::sync::CancellationToken;

use self::agent::Agent;
use super::{
    connection::{Connection, RequestTimeouts},
    defect::{Defect, Flaw},
    fault::Fault,
    habit::Habit,
    listing::Listing,
    report::{Report, now_us},
    setup::{Setup, period},
};

/// A started call.
struct OpenCall {
    end: JoinHandle<Result<Value, Fault>>,
    cancel: CancellationToken,
}

struct Driver<'a> {
    context: &'a Value,
    setup: Setup,
    report: Report,
    flaw: Flaw,
    connections: BTreeMap<String, Arc<Connection>>,
    calls: HashMap<String, OpenCall>,
    /// The tools of each server in the last `list` step, on which calls are based.
    seen: HashMap<String, Listing>,
    /// The last received tools of each server, across reconnects.
    latest: HashMap<String, Listing>,
    /// Server and tool of each qualified name.
    catalogue: HashMap<String, (String, String)>,
    /// The origins of servers that need a handshake.
    legacy: HashSet<String>,
    /// The results of reads by lower-case URI, for a client that confuses them.
    cached: HashMap<String, Value>,
    /// The agent, in cases of agents.
    agent: Option<Agent>,
}

/// Executes all steps. It does not return from a `die` step.
pub(crate) async fn drive(context: &Value, report: Report, flaw: Flaw) -> anyhow::Result<()> {
    let mut driver = Driver::new(context, report, flaw);
    // Each step is an object with one member, whose name is the kind of the step.
    let steps = context["steps"].as_array().into_iter().flatten().filter_map(|step| step.as_object()?.iter().next());
    let steps: Vec<(&String, &Value)> = steps.collect();
    driver.set_user_away(driver.agent.is_some());
    if !steps.iter().any(|(kind, _)| *kind == "connect") {
        driver.connect_by_default().await;
    }
    for (index, (kind, step)) in steps.into_iter().enumerate() {
        driver.take(index, kind, step).await;
    }
    driver.end().await;
    Ok(())
}

/// Connects to all servers, and sends requests until a server is lost.
pub(crate) async fn flood(context: &Value, flaw: Flaw) {
    let mut driver = Driver::new(context, Report::none(), flaw);
    driver.connect_by_default().await;
    for connection in driver.connections.values() {
        connection.flood(100_000).await;
    }
}

/// Connects to all servers and disconnects.
pub(crate) async fn only_connect(context: &Value, report: Report, flaw: Flaw) {
    let mut driver = Driver::new(context, report, flaw);
    driver.connect_by_default().await;
    driver.end().await;
}

impl<'a> Driver<'a> {
    fn new(context: &'a Value, report: Report, flaw: Flaw) -> Self {
        Self {
            context,
            setup: Setup::read(context, flaw),
            report,
            flaw,
            connections: BTreeMap::new(),
            calls: HashMap::new(),
            seen: HashMap::new(),
            latest: HashMap::new(),
            catalogue: HashMap::new(),
            legacy: HashSet::new(),
            cached: HashMap::new(),
            agent: Agent::new(context),
        }
    }
}

impl Driver<'_> {
    async fn take(&mut self, index: usize, kind: &str, step: &Value) {
        if kind == "refresh" && self.flaw.has(Habit::SkipsRefresh) {
            return self.report.skipped(Some(index));
        }
        let began = now_us();
        let server = step["server"].as_str().map(str::to_owned).or_else(|| self.only_server());
        let outcome = self.carry_out(kind, step, server.as_deref()).await;
        let silent = self.flaw.is(Defect::SilentSpawnFailure) && kind == "connect" && outcome.is_err();
        if !silent {
            self.report.outcome(Some(index), server.as_deref(), began, outcome);
        }
    }

    /// Executes a step. `server` is the named server, or the only one.
    async fn carry_out(&mut self, kind: &str, step: &Value, server: Option<&str>) -> Result<Value, Fault> {
        match kind {
            "connect" => self.connect(server, period(&step["timeout"])).await,
            "list" => self.list_for_model(step["server"].as_str()).await,
            "call" if self.agent.is_some() => self.call_for_model(step, server).await,
            "call" => {
                self.start_again(server).await?;
                self.call(step).await
            }
            "search" => self.search(step).await,
            "command" => self.command(step, server).await,
            "mention" => self.mention(step, server).await,
            "status" => Ok(self.status()),
            "log-in" => self.log_in(server).await,
            "restart" => self.restart_agent().await,
            "start" => self.start(step),
            "finish" => self.finish(step, false).await,
            "cancel" => self.finish(step, true).await,
            "await" => {
                let within = period(&step["within"]).unwrap_or(Duration::from_secs(2));
                self.report.wait(step["event"].as_str().unwrap_or_default(), step["server"].as_str(), within).await
            }
            "refresh" => self.refresh(server).await,
            "disconnect" => self.disconnect(step["server"].as_str()).await,
            "reconnect" => {
                let _ = self.disconnect(server).await;
                self.connect(server, None).await
            }
            "roots" => self.set_roots(&step["roots"]).await,
            "resources" | "resource-templates" | "prompts" | "read" | "subscribe" | "unsubscribe" | "prompt"
            | "complete" | "log-level" => self.feature(kind, step, server).await,
            "die" => {
                self.report.die();
                std::future::pending().await
            }
            _ => Err(Fault::new("invalid-config", format!("`{kind}` is no step of a client"))),
        }
    }

    /// Changes the roots and notifies servers with a handshake (client/roots).
    async fn set_roots(&self, roots: &Value) -> Result<Value, Fault> {
        self.setup.user.set_roots(roots);
        let told = if self.flaw.is(Defect::TellsOneServerOfRoots) { 1 } else { self.connections.len() };
        for connection in self.connections.values().take(told) {
            let has_roots = !self.flaw.is(Defect::KeepsRootsToItself) && !self.flaw.has(Habit::DeclaresNothing);
            if !connection.modern && has_roots {
                connection.notify("notifications/roots/list_changed", json!({})).await?;
            }
        }
        Ok(Value::Null)
    }

    fn only_server(&self) -> Option<String> {
        let servers = self.context["servers"].as_object()?;
        servers.keys().next().filter(|_| servers.len() == 1).cloned()
    }

    /// Connects to every server without a `connect` step.
    async fn connect_by_default(&mut self) {
        let began = now_us();
        for (name, outcome) in self.connect_all(None).await {
            match (&mut self.agent, &outcome) {
                (Some(agent), Err(fault)) => agent.failed(name, fault),
                _ => self.report.outcome(None, Some(&name), began, outcome),
            }
        }
    }

    /// Connects to all servers in parallel, so that one that hangs does not delay the others.
    async fn connect_all(&mut self, limit: Option<Duration>) -> Vec<(String, Result<Value, Fault>)> {
        let mut names: Vec<String> =
            self.context["servers"].as_object().into_iter().flat_map(Map::keys).cloned().collect();
        if let Some(agent) = self.agent.as_ref().filter(|_| !self.flaw.is(Defect::StartsDeniedServers)) {
            names.retain(|name| agent.may_start(name));
        }
        if let Some(agent) = self.agent.as_ref().filter(|_| !self.flaw.is(Defect::StartsDisabledServers)) {
            names.retain(|name| !agent.is_disabled(name));
        }
        let mut attempts = Vec::new();
        if self.flaw.is(Defect::ConnectsOneByOne) {
            for name in &names {
                attempts.push(self.attempt(name, limit).await);
            }
        } else {
            attempts = join_all(names.iter().map(|name| self.attempt(name, limit))).await;
        }
        let ended = names.into_iter().zip(attempts);
        ended.map(|(name, attempt)| (name.clone(), self.keep(&name, attempt))).collect()
    }

    /// The step `connect`: to the named server, or to all.
    async fn connect(&mut self, server: Option<&str>, limit: Option<Duration>) -> Result<Value, Fault> {
        if let Some(name) = server {
            let attempt = self.attempt(name, limit).await;
            return self.keep(name, attempt);
        }
        let (mut connected, mut failed) = (Vec::new(), Vec::new());
        for (name, outcome) in self.connect_all(limit).await {
            match outcome {
                Ok(value) => connected.push(value),
                Err(fault) => failed.push(json!({ "server": name, "kind": fault.kind, "message": fault.message })),
            }
        }
        Ok(json!({ "connected": connected, "failed": failed }))
    }

    /// "the client SHOULD restart it" (2026-07-28, basic/transports/stdio, unexpected termination).
    async fn start_again(&mut self, server: Option<&str>) -> Result<(), Fault> {
        let Some(name) = server.filter(|_| !self.flaw.is(Defect::NeverRestarts)) else { return Ok(()) };
        // Agents start every server again, and other clients those without a handshake.
        let is_ready = |connection: &Arc<Connection>| connection.modern || self.agent.is_some();
        if self.connections.get(name).is_some_and(|connection| is_ready(connection) && connection.has_exited()) {
            let watched = self.connections[name].watched_resources().await;
            self.disconnect(server).await?;
            self.connect(server, None).await?;
            let kept = if self.flaw.is(Defect::SubscribesToOneAgain) { 1 } else { watched.len() };
            for uri in watched.iter().take(kept).filter(|_| !self.flaw.is(Defect::SubscribesOnce)) {
                self.connections[name].subscribe_resource(uri).await?;
            }
        }
        Ok(())
    }

    async fn attempt(&self, name: &str, limit: Option<Duration>) -> Result<Connection, Fault> {
        let mut setup = self.setup.clone();
        setup.startup = limit.unwrap_or(setup.startup);
        if self.agent.as_ref().is_some_and(|agent| agent.declines(name)) && !self.flaw.is(Defect::AsksDeniedQuestions) {
            setup.user = setup.user.declining();
        }
        if let Some(agent) = &self.agent {
            setup.headers.extend(agent.headers(name, self.flaw)?);
        }
        // "SHOULD cache the result for the lifetime of the … origin (HTTP)" (2026-07-28, basic/versioning).
        setup.auto &= !self.legacy.contains(name) || self.flaw.is(Defect::ProbesAgain);
        let endpoint = &self.context["servers"][name];
        let connection = Connection::open(name, endpoint, setup, self.report.clone(), self.flaw).await?;
        if self.flaw.is(Defect::AsksForToolsWithoutCapability) {
            connection.request("tools/list", json!({}), &RequestTimeouts::new(self.setup.call)).await.ok();
        }
        Ok(connection)
    }

    fn keep(&mut self, name: &str, attempt: Result<Connection, Fault>) -> Result<Value, Fault> {
        let connection = attempt?;
        let greeting = &connection.greeting;
        // 2026-07-28 moved the server's identity into `_meta`.
        let info = greeting.get("serverInfo").unwrap_or(&greeting["_meta"]["io.modelcontextprotocol/serverInfo"]);
        let connected = json!({
            "server": name,
            "revision": connection.revision,
            "transport": self.context["transport"],
            "server_info": info,
            "capabilities": greeting["capabilities"],
            "instructions": greeting["instructions"],
        });
        if !connection.modern && connection.is_http() {
            self.legacy.insert(name.to_owned());
        }
        self.connections.insert(name.to_owned(), Arc::new(connection));
        Ok(connected)
    }

    async fn disconnect(&mut self, server: Option<&str>) -> Result<Value, Fault> {
        let leaving = match server {
            Some(name) => vec![self.connections.remove(name).ok_or_else(|| unconnected(name))?],
            None => std::mem::take(&mut self.connections).into_values().collect(),
        };
        join_all(leaving.iter().map(|connection| connection.close())).await;
        Ok(json!({ "ended": leaving.len() }))
    }

    /// Cancels open calls and closes all connections.
    async fn end(&mut self) {
        for (_, call) in self.calls.drain() {
            call.cancel.cancel();
            let _ = call.end.await;
        }
        if self.flaw.is(Defect::DisconnectsLate) {
            tokio::time::sleep(Duration::from_secs(6)).await;
        }
        if !self.connections.is_empty() {
            let began = now_us();
            let outcome = self.disconnect(None).await;
            self.report.outcome(None, None, began, outcome);
        }
    }
}

fn unclear() -> Fault {
    Fault::new("invalid-config", "the step has to say which server it means")
}

fn unconnected(server: &str) -> Fault {
    Fault::new("connection-lost", format!("there is no connection to `{server}`"))
}
