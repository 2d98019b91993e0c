//! `client connect`: finds out what a server is and what it speaks.

use std::process::ExitCode;

use client::Connection;
use serde_json::{Value, json};

use super::{say, session, target::ServerArgs};
use crate::failure::{CommandResult, Failure};

/// The arguments of `client connect`.
#[derive(Debug, clap::Args)]
pub(crate) struct Args {
    #[command(flatten)]
    target: ServerArgs,
}

/// Connects, tells what was found, and closes the connection.
pub(crate) fn run(args: &Args) -> CommandResult {
    session::run(&args.target, |connection, _| async move { Ok(tell(&connection, args.target.json)?) })
}

fn tell(connection: &Connection, json: bool) -> Result<ExitCode, Failure> {
    let greeting = connection.greeting().unwrap_or_default();
    if json {
        let mut found = found(connection);
        found["greeting"] = greeting;
        say::json(&found)?;
    } else {
        say::text(&in_words(connection, &greeting))?;
    }
    Ok(ExitCode::SUCCESS)
}

/// How a server was reached, for programs.
pub(super) fn found(connection: &Connection) -> Value {
    json!({
        "server": connection.name(),
        "transport": connection.transport(),
        "revision": connection.revision(),
        "era": connection.era(),
        "why": connection.why(),
    })
}

fn in_words(connection: &Connection, greeting: &Value) -> String {
    let transport = json!(connection.transport());
    let mut lines = vec![
        format!("connected to {}", of_itself(greeting).unwrap_or_else(|| connection.name().to_owned())),
        format!("transport:    {}", transport.as_str().unwrap_or_default()),
        format!("revision:     {} ({})", connection.revision(), connection.why()),
    ];
    if let Some(capabilities) = greeting.get("capabilities").and_then(Value::as_object) {
        let names: Vec<_> = capabilities.keys().map(String::as_str).collect();
        lines.push(format!("capabilities: {}", if names.is_empty() { "none".to_owned() } else { names.join(", ") }));
    }
    if let Some(instructions) = greeting.get("instructions").and_then(Value::as_str) {
        lines.push(format!("instructions: {instructions}"));
    }
    lines.join("\n")
}

/// What the server calls itself: in the result, or in its metadata (2026-07-28, basic, `_meta`).
fn of_itself(greeting: &Value) -> Option<String> {
    let in_meta = || greeting.get("_meta")?.get("io.modelcontextprotocol/serverInfo");
    let info = greeting.get("serverInfo").or_else(in_meta)?;
    let name = info.get("name")?.as_str()?;
    Some(match info.get("version").and_then(Value::as_str) {
        Some(version) => format!("{name} {version}"),
        None => name.to_owned(),
    })
}
