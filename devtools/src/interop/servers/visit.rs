//! Executes the steps of a server with the built-in client.

use std::{
    fs::File,
    io::Write as _,
    path::Path,
    time::{Duration, Instant},
};

use anyhow::Context as _;
use client::{
    CallOptions, ClientEvent, ClientEventKind, ConnectOptions, Connection, HostLink, Root, ServerConfig, Timeouts,
    connect_with,
};
use serde_json::{Map, Value, json};
use tokio::sync::broadcast::Receiver;

use super::{
    ServerVariant,
    plan::{ClientAction, Step},
    user::User,
};
use crate::interop::{axes::newest_revision, expect::Expect, outcome::Row};

/// Startup timeout on a busy machine.
const START_TIMEOUT: Duration = Duration::from_secs(90);
/// Timeout of one request.
const REQUEST_TIMEOUT: Duration = Duration::from_secs(30);
/// Timeout of a step that is repeated.
const REPEAT_TIMEOUT: Duration = Duration::from_secs(10);
/// Interval between repetitions.
const REPEAT_INTERVAL: Duration = Duration::from_millis(50);

/// Executes the steps. The results are written to the directory.
pub(super) async fn visit(
    variant: ServerVariant,
    config: ServerConfig,
    steps: Vec<Step>,
    directory: &Path,
) -> anyhow::Result<Vec<Row>> {
    let mut log = File::create(directory.join("results.jsonl")).context("cannot write the results")?;
    let timeouts = Timeouts {
        startup: START_TIMEOUT,
        probe: REQUEST_TIMEOUT,
        call: REQUEST_TIMEOUT,
        request: REQUEST_TIMEOUT,
        ..Timeouts::default()
    };
    let user = User::start();
    let options = ConnectOptions { host: Some(user.link.clone()), ..ConnectOptions::default() };
    let connection = match connect_with(ServerConfig { timeouts, ..config }, options).await {
        Ok(connection) => connection,
        Err(error) => return Ok(vec![Row::new("connect", Some(chain(&error)))]),
    };
    let mut visitor = Visitor { events: connection.events(), link: user.link.clone(), connection };
    let mut rows = vec![judge(&mut log, "connect", &connected_state(variant), Ok(visitor.connection_state()))?];
    for step in &steps {
        let seen = visitor.execute(step).await;
        rows.push(judge(&mut log, step.name, &step.expect, seen)?);
    }
    for line in visitor.connection.stderr() {
        writeln!(log, "{}", json!({ "stderr": line }))?;
    }
    let closed = visitor.close().await;
    rows.push(judge(&mut log, "close", &closed_state(), Ok(closed))?);
    Ok(rows)
}

/// The expected properties of the connection.
fn connected_state(variant: ServerVariant) -> Expect {
    let transport = variant.transport;
    Expect::Exactly(json!({ "revision": newest_revision(variant.era), "transport": transport }))
}

/// The expected result of closing: no killed process, and none left.
fn closed_state() -> Expect {
    Expect::Exactly(json!({ "transport_closed": true, "killed": false, "left_behind": [] }))
}

fn judge(log: &mut File, name: &str, expect: &Expect, seen: Result<Value, String>) -> anyhow::Result<Row> {
    let entry = match &seen {
        Ok(seen) => json!({ "step": name, "seen": seen }),
        Err(error) => json!({ "step": name, "failed": error }),
    };
    writeln!(log, "{entry}").context("cannot write the results")?;
    Ok(Row::new(name, seen.map_or_else(Some, |seen| expect.mismatch(&seen))))
}

struct Visitor {
    connection: Connection,
    events: Receiver<ClientEvent>,
    link: HostLink,
}

impl Visitor {
    fn connection_state(&self) -> Value {
        json!({ "revision": self.connection.revision(), "transport": self.connection.transport() })
    }

    /// Executes a step, repeatedly if the step allows it.
    async fn execute(&mut self, step: &Step) -> Result<Value, String> {
        let start = Instant::now();
        loop {
            let seen = self.perform(&step.action).await;
            let matches = seen.as_ref().is_ok_and(|seen| step.expect.mismatch(seen).is_none());
            if matches || !step.eventually || start.elapsed() > REPEAT_TIMEOUT {
                return seen;
            }
            tokio::time::sleep(REPEAT_INTERVAL).await;
        }
    }

    async fn perform(&mut self, action: &ClientAction) -> Result<Value, String> {
        let connection = self.connection.clone();
        match action {
            ClientAction::Tools => {
                let list = connection.list_tools().await.map_err(|error| chain(&error))?;
                Ok(list.tools.iter().map(|tool| tool.name()).collect())
            }
            ClientAction::Resources => named(connection.list_resources().await, "uri"),
            ClientAction::Templates => named(connection.list_resource_templates().await, "uriTemplate"),
            ClientAction::Prompts => named(connection.list_prompts().await, "name"),
            ClientAction::Call(tool, arguments) => self.call(tool, arguments).await.map(|result| result.text().into()),
            ClientAction::Structured(tool, arguments, pointer) => {
                let result = self.call(tool, arguments).await?;
                let value = result.structured().and_then(|value| value.pointer(pointer));
                value.cloned().ok_or_else(|| format!("no `{pointer}` in {:?}", result.wire()))
            }
            ClientAction::FailingCall(tool, arguments) => {
                let result = connection.call(tool, arguments.clone(), CallOptions::default()).await;
                match result {
                    Ok(result) if result.is_error() => Ok(result.text().into()),
                    Ok(result) => Err(format!("the call succeeded: {}", result.text())),
                    Err(error) => Ok(error.kind().into()),
                }
            }
            ClientAction::Progress(tool, arguments) => {
                self.progress();
                self.call(tool, arguments).await?;
                Ok(self.progress().into())
            }
            ClientAction::Read(uri) => at(connection.read_resource(uri).await, "/contents/0/text"),
            ClientAction::Prompt(name, arguments) => {
                let arguments = arguments.as_object().cloned().unwrap_or_default();
                at(connection.get_prompt(name, arguments).await, "/messages/0/content/text")
            }
            ClientAction::Complete(reference, argument, value) => {
                let known = connection.complete(reference.clone(), argument, value, Map::new()).await;
                at(known, "/completion/values")
            }
            ClientAction::SetRoot(uri) => {
                self.link.set_roots(vec![Root { uri: uri.clone(), name: Some("root".to_owned()) }]);
                Ok(Value::Null)
            }
        }
    }

    async fn call(&self, tool: &str, arguments: &Value) -> Result<client::ToolResult, String> {
        let result = self.connection.call(tool, arguments.clone(), CallOptions::default()).await;
        let result = result.map_err(|error| chain(&error))?;
        if result.is_error() { Err(format!("the tool failed: {}", result.text())) } else { Ok(result) }
    }

    /// The progress values that arrived since the last call.
    fn progress(&mut self) -> Vec<Value> {
        let mut values = Vec::new();
        while let Ok(event) = self.events.try_recv() {
            if let ClientEventKind::Progress { progress, .. } = event.kind {
                values.push(progress.into());
            }
        }
        values
    }

    async fn close(self) -> Value {
        let report = self.connection.close().await;
        let process = report.process;
        json!({
            "transport_closed": report.transport_closed,
            "killed": process.as_ref().is_some_and(|process| process.ending == client::process::Ending::Killed),
            "left_behind": process.map(|process| process.left_behind).unwrap_or_default(),
        })
    }
}

fn named<E: std::error::Error>(list: Result<Vec<Value>, E>, field: &str) -> Result<Value, String> {
    let list = list.map_err(|error| chain(&error))?;
    Ok(list.into_iter().map(|mut item| item.get_mut(field).map(Value::take).unwrap_or_default()).collect())
}

fn at<E: std::error::Error>(result: Result<Map<String, Value>, E>, pointer: &str) -> Result<Value, String> {
    let result = Value::Object(result.map_err(|error| chain(&error))?);
    result.pointer(pointer).cloned().ok_or_else(|| format!("no `{pointer}` in {result}"))
}

/// An error with its causes.
fn chain(error: &dyn std::error::Error) -> String {
    let mut text = error.to_string();
    let mut cause = error.source();
    while let Some(error) = cause {
        text.push_str(": ");
        text.push_str(&error.to_string());
        cause = error.source();
    }
    text
}
