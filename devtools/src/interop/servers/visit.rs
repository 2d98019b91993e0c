//! A visit: the built-in client connects, does one step after the other, and leaves.

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
    Subject,
    plan::{Deed, Step},
    user::User,
};
use crate::interop::{expect::Expect, outcome::Row, sdk::Transport};

/// How long a server may take to start on a busy machine.
const STARTING: Duration = Duration::from_secs(90);
/// How long one request may take.
const REQUEST: Duration = Duration::from_secs(30);
/// How long something that the server does by and by may take to show.
const SETTLING: Duration = Duration::from_secs(10);
/// How often to look whether it does.
const LOOK: Duration = Duration::from_millis(50);

/// Visits a server. What was seen is kept in the folder.
pub(super) async fn visit(
    subject: Subject,
    config: ServerConfig,
    steps: Vec<Step>,
    folder: &Path,
) -> anyhow::Result<Vec<Row>> {
    let mut kept = File::create(folder.join("seen.jsonl")).context("cannot keep what was seen")?;
    let timeouts =
        Timeouts { startup: STARTING, probe: REQUEST, call: REQUEST, request: REQUEST, ..Timeouts::default() };
    let user = User::present();
    let options = ConnectOptions { host: Some(user.link.clone()), ..ConnectOptions::default() };
    let connection = match connect_with(ServerConfig { timeouts, ..config }, options).await {
        Ok(connection) => connection,
        Err(error) => return Ok(vec![Row::of("connect", Some(chain(&error)))]),
    };
    let mut visitor = Visitor { events: connection.events(), link: user.link.clone(), connection };
    let mut rows = vec![judged(&mut kept, "connect", &arrival(subject), Ok(visitor.arrived()))?];
    for step in &steps {
        let seen = visitor.take(step).await;
        rows.push(judged(&mut kept, step.name, &step.expect, seen)?);
    }
    for line in visitor.connection.stderr() {
        writeln!(kept, "{}", json!({ "stderr": line }))?;
    }
    let left = visitor.leave().await;
    rows.push(judged(&mut kept, "close", &departure(), Ok(left))?);
    Ok(rows)
}

/// How the client should have got there.
fn arrival(subject: Subject) -> Expect {
    let transport = match subject.transport {
        Transport::Stdio => "stdio",
        Transport::Http => "streamable-http",
        Transport::Sse => "sse",
    };
    Expect::Exactly(json!({ "revision": subject.era.revision(), "transport": transport }))
}

/// How it should have left: nothing had to be killed, and nothing was left behind.
fn departure() -> Expect {
    Expect::Exactly(json!({ "transport_closed": true, "killed": false, "left_behind": [] }))
}

fn judged(kept: &mut File, name: &str, expect: &Expect, seen: Result<Value, String>) -> anyhow::Result<Row> {
    let told = match &seen {
        Ok(seen) => json!({ "step": name, "seen": seen }),
        Err(error) => json!({ "step": name, "failed": error }),
    };
    writeln!(kept, "{told}").context("cannot keep what was seen")?;
    Ok(Row::of(name, seen.map_or_else(Some, |seen| expect.objection(&seen))))
}

struct Visitor {
    connection: Connection,
    events: Receiver<ClientEvent>,
    link: HostLink,
}

impl Visitor {
    fn arrived(&self) -> Value {
        json!({ "revision": self.connection.revision(), "transport": self.connection.transport() })
    }

    /// Takes a step; again and again for a while, where the server needs time.
    async fn take(&mut self, step: &Step) -> Result<Value, String> {
        let begun = Instant::now();
        loop {
            let seen = self.act(&step.deed).await;
            let holds = seen.as_ref().is_ok_and(|seen| step.expect.objection(seen).is_none());
            if holds || !step.by_and_by || begun.elapsed() > SETTLING {
                return seen;
            }
            tokio::time::sleep(LOOK).await;
        }
    }

    async fn act(&mut self, deed: &Deed) -> Result<Value, String> {
        let connection = self.connection.clone();
        match deed {
            Deed::Tools => {
                let list = connection.list_tools().await.map_err(|error| chain(&error))?;
                Ok(list.tools.iter().map(|tool| tool.name()).collect())
            }
            Deed::Resources => named(connection.list_resources().await, "uri"),
            Deed::Templates => named(connection.list_resource_templates().await, "uriTemplate"),
            Deed::Prompts => named(connection.list_prompts().await, "name"),
            Deed::Call(tool, arguments) => self.call(tool, arguments).await.map(|result| result.text().into()),
            Deed::Structured(tool, arguments, pointer) => {
                let result = self.call(tool, arguments).await?;
                let value = result.structured().and_then(|value| value.pointer(pointer));
                value.cloned().ok_or_else(|| format!("no `{pointer}` in {:?}", result.wire()))
            }
            Deed::Refused(tool, arguments) => {
                let result = connection.call(tool, arguments.clone(), CallOptions::default()).await;
                match result {
                    Ok(result) if result.is_error() => Ok(result.text().into()),
                    Ok(result) => Err(format!("it was not refused: {}", result.text())),
                    Err(error) => Ok(error.kind().into()),
                }
            }
            Deed::Progress(tool, arguments) => {
                self.told();
                self.call(tool, arguments).await?;
                Ok(self.told().into())
            }
            Deed::Read(uri) => at(connection.read_resource(uri).await, "/contents/0/text"),
            Deed::Prompt(name, arguments) => {
                let arguments = arguments.as_object().cloned().unwrap_or_default();
                at(connection.get_prompt(name, arguments).await, "/messages/0/content/text")
            }
            Deed::Complete(reference, argument, value) => {
                let known = connection.complete(reference.clone(), argument, value, Map::new()).await;
                at(known, "/completion/values")
            }
            Deed::WorkAt(uri) => {
                self.link.set_roots(vec![Root { uri: uri.clone(), name: Some("workplace".to_owned()) }]);
                Ok(Value::Null)
            }
        }
    }

    async fn call(&self, tool: &str, arguments: &Value) -> Result<client::ToolResult, String> {
        let result = self.connection.call(tool, arguments.clone(), CallOptions::default()).await;
        let result = result.map_err(|error| chain(&error))?;
        if result.is_error() { Err(format!("the tool failed: {}", result.text())) } else { Ok(result) }
    }

    /// How far calls have said to be since the last time.
    fn told(&mut self) -> Vec<Value> {
        let mut told = Vec::new();
        while let Ok(event) = self.events.try_recv() {
            if let ClientEventKind::Progress { progress, .. } = event.kind {
                told.push(progress.into());
            }
        }
        told
    }

    async fn leave(self) -> Value {
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
