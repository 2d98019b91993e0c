//! Executes steps.

use std::{sync::Arc, time::Duration};

use client::{CallOptions, Drift, ListError, Severity, ToolList, qualified_name};
use futures::future::join_all;
use mock_servers::HumanDuration;
use serde_json::{Value, json};
use tokio_util::sync::CancellationToken;

use super::{
    DriveError,
    listener::Listener,
    outcome::{call_outcome, list_error, step_error},
    session::{OpenCall, Session},
    user,
};
use crate::{
    contract::{ReportLine, now_us},
    evidence::Outcome,
    model::{Await, Call, ClientStep, Complete, GetPrompt, LogLevel, ResourceStep, Root, Target},
};

/// Default timeout of `await`.
const AWAIT: Duration = Duration::from_secs(2);

impl Session<'_> {
    /// Executes one step and reports its outcome.
    pub(super) async fn execute(&mut self, index: usize, step: &ClientStep) -> Result<(), DriveError> {
        let began = now_us();
        let (server, outcome) = match step {
            ClientStep::Connect(step) => {
                let timeout = step.timeout.map(|HumanDuration(limit)| limit);
                match self.server_name(step.server.as_deref()) {
                    Some(name) => (Some(name.clone()), self.connect(&name, timeout).await),
                    None => (None, self.connect_all(timeout).await),
                }
            }
            ClientStep::List(step) => (step.server.clone(), self.list(step.server.as_deref()).await),
            ClientStep::Call(step) => {
                self.restart(step.server.as_deref()).await;
                (step.server.clone(), self.call(step).await)
            }
            ClientStep::Start(step) => (step.server.clone(), self.start(step).await),
            ClientStep::Finish(step) => (None, self.finish(&step.call, false).await),
            ClientStep::Cancel(step) => (None, self.finish(&step.call, true).await),
            ClientStep::Await(step) => (step.server.clone(), await_event(&self.listener, step).await),
            ClientStep::Refresh(step) => (step.server.clone(), self.refresh(step.server.as_deref()).await),
            ClientStep::Disconnect(step) => (step.server.clone(), self.disconnect(step.server.as_deref()).await),
            ClientStep::Reconnect(step) => {
                let Some(name) = self.server_name(step.server.as_deref()) else { return self.nameless(index) };
                self.disconnect(Some(&name)).await;
                let outcome = self.connect(&name, None).await;
                (Some(name), outcome)
            }
            ClientStep::Roots(step) => (None, self.set_roots(&step.roots)),
            ClientStep::Resources(Target { server, .. })
            | ClientStep::ResourceTemplates(Target { server, .. })
            | ClientStep::Prompts(Target { server, .. })
            | ClientStep::Read(ResourceStep { server, .. })
            | ClientStep::Subscribe(ResourceStep { server, .. })
            | ClientStep::Unsubscribe(ResourceStep { server, .. })
            | ClientStep::Prompt(GetPrompt { server, .. })
            | ClientStep::Complete(Complete { server, .. })
            | ClientStep::LogLevel(LogLevel { server, .. }) => {
                (server.clone(), self.feature(step, server.as_deref()).await)
            }
            // The file is invalid: these steps need an agent.
            ClientStep::Search(_)
            | ClientStep::Command(_)
            | ClientStep::Mention(_)
            | ClientStep::Status(_)
            | ClientStep::LogIn(_)
            | ClientStep::Restart(_) => (None, step_error("invalid-config", "the step needs `client.agent`")),
            ClientStep::Die(_) => {
                self.report.write(&ReportLine::Die { pid: std::process::id() })?;
                std::future::pending().await
            }
        };
        self.report.outcome(Some(index), server.as_deref(), began, outcome)
    }

    fn nameless(&self, index: usize) -> Result<(), DriveError> {
        let outcome = step_error("invalid-config", "the step must name a server");
        self.report.outcome(Some(index), None, now_us(), outcome)
    }

    async fn list(&mut self, server: Option<&str>) -> Outcome {
        let wanted = self.connections.iter().filter(|(name, _)| server.is_none_or(|server| server == *name));
        let lists = join_all(wanted.map(|(name, one)| async move { (name.clone(), one.list_tools().await) })).await;
        let (mut tools, mut rejected, mut failed) = (Vec::new(), Vec::new(), Vec::new());
        let mut last_error = None;
        for (name, list) in lists {
            match list {
                Ok(list) => {
                    tools.extend(list.tools.iter().map(|tool| self.described(&name, tool.name())));
                    rejected.extend(
                        list.rejected
                            .iter()
                            .map(|one| json!({ "server": name, "name": one.name, "reason": one.reason })),
                    );
                    self.catalog.set_server(&name, &list.tools);
                    self.seen.insert(name.clone(), Arc::clone(&list));
                    self.latest.insert(name, list);
                }
                Err(error) => {
                    let error = list_error(&error);
                    failed.push(json!({ "server": name, "kind": error.kind, "message": error.message }));
                    last_error = Some(error);
                }
            }
        }
        match last_error {
            // The step fails only if no list could be read, or the list of a named server.
            Some(error) if server.is_some() || tools.is_empty() => Outcome::Error(error),
            _ if self.connections.is_empty() => step_error("connection-lost", "not connected to any server"),
            _ => Outcome::Value(json!({ "tools": tools, "rejected": rejected, "failed": failed })),
        }
    }

    fn described(&self, server: &str, tool: &str) -> Value {
        json!({ "server": server, "name": tool, "qualified": qualified_name(server, tool, self.name_limit) })
    }

    async fn call(&self, step: &Call) -> Outcome {
        match self.begin(step, CancellationToken::new()).await {
            Ok(call) => call_outcome(call.finish().await),
            Err(outcome) => outcome,
        }
    }

    async fn start(&mut self, step: &Call) -> Outcome {
        let cancel = CancellationToken::new();
        match self.begin(step, cancel.clone()).await {
            Ok(call) => {
                let name = step.name.clone().unwrap_or_else(|| step.tool.clone());
                self.calls.insert(name, OpenCall { end: tokio::spawn(call.finish()), cancel });
                Outcome::Value(Value::Null)
            }
            Err(outcome) => outcome,
        }
    }

    /// Sends a call with the fingerprint of the tool from the last `list` step, so that the client can reject stale calls.
    async fn begin(&self, step: &Call, cancel: CancellationToken) -> Result<client::PendingCall, Outcome> {
        let (server, tool) = match self.catalog.resolve(&step.tool).filter(|_| step.qualified) {
            Some(entry) => (Some(entry.server.clone()), entry.tool.name().to_owned()),
            None if step.qualified => {
                return Err(step_error("unknown-tool", format!("unknown tool `{}`", step.tool)));
            }
            None => (self.server_name(step.server.as_deref()), step.tool.clone()),
        };
        let connection = self.connection(server.as_deref())?;
        let seen = server.and_then(|server| self.seen.get(&server));
        let seen = seen.and_then(|list| list.tools.iter().find(|one| one.name() == tool));
        let options = CallOptions { seen: seen.map(|tool| tool.fingerprint()), cancel, ..call_options(step) };
        let arguments = step.arguments.clone().unwrap_or_default();
        let begun = connection.start_call(&tool, Value::Object(arguments), options).await;
        begun.map_err(|error| call_outcome(Err(error)))
    }

    async fn finish(&mut self, name: &str, cancel: bool) -> Outcome {
        let Some(call) = self.calls.remove(name) else {
            return step_error("invalid-config", format!("no call `{name}` was started"));
        };
        if cancel {
            call.cancel.cancel();
        }
        match call.end.await {
            Ok(result) => call_outcome(result),
            Err(cause) => step_error("other", format!("the call panicked: {cause}")),
        }
    }

    fn set_roots(&self, roots: &[Root]) -> Outcome {
        let Some(user) = &self.user else { return step_error("invalid-config", "the case has no user") };
        user.set_roots(roots.iter().map(user::root).collect());
        Outcome::Value(Value::Null)
    }

    /// Reads the tools again and compares them with the last list, which may be from before a reconnect.
    async fn refresh(&mut self, server: Option<&str>) -> Outcome {
        let Some(name) = self.server_name(server) else {
            return step_error("invalid-config", "the step must name a server");
        };
        let connection = match self.connection(Some(&name)) {
            Ok(connection) => connection,
            Err(outcome) => return outcome,
        };
        let read: Result<Arc<ToolList>, ListError> = match connection.refresh().await {
            Ok(_) => connection.list_tools().await,
            Err(error) => Err(error),
        };
        let list = match read {
            Ok(list) => list,
            Err(error) => return Outcome::Error(list_error(&error)),
        };
        let before = self.latest.get(&name).map(|list| list.tools.clone()).unwrap_or_default();
        let drift = Drift::between(&before, &list.tools);
        self.catalog.set_server(&name, &list.tools);
        self.latest.insert(name, list);
        let changes = |severity| -> Vec<Value> {
            drift
                .with_severity(severity)
                .map(|change| json!({ "tool": change.tool, "what": change.to_string() }))
                .collect()
        };
        Outcome::Value(json!({
            "breaking": changes(Severity::Breaking),
            "compatible": changes(Severity::Compatible),
            "cosmetic": changes(Severity::Cosmetic),
        }))
    }
}

/// The time limits of a call.
pub(super) fn call_options(step: &Call) -> CallOptions {
    CallOptions {
        timeout: step.timeout.map(|HumanDuration(limit)| limit),
        ceiling: step.ceiling.map(|HumanDuration(limit)| limit),
        ..CallOptions::default()
    }
}

/// Waits for an event.
pub(super) async fn await_event(listener: &Listener, step: &Await) -> Outcome {
    let within = step.within.map_or(AWAIT, |HumanDuration(within)| within);
    match listener.wait(step.event, step.server.as_deref(), within).await {
        Some(detail) => Outcome::Value(detail),
        None => step_error("timed-out", format!("the client did not report {:?} within {within:?}", step.event)),
    }
}
