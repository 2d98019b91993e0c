//! `client connect`: prints identity, revision and capabilities of a server.

use std::process::ExitCode;

use client::Connection;
use serde_json::{Value, json};

use super::{session, target::ServerArgs};
use crate::{
    error::{CommandError, CommandResult},
    print,
};

/// The arguments of `client connect`.
#[derive(Debug, clap::Args)]
pub(crate) struct Args {
    #[command(flatten)]
    target: ServerArgs,
}

/// Connects, prints the server's properties, and closes the connection.
pub(crate) fn run(args: &Args) -> CommandResult {
    session::run(&args.target, |connection| async move { Ok(print_server(&connection, args.target.json)?) })
}

fn print_server(connection: &Connection, json: bool) -> Result<ExitCode, CommandError> {
    let greeting = connection.greeting().unwrap_or_default();
    if json {
        let mut found = connection_json(connection);
        found["greeting"] = greeting;
        print::json(&found)?;
    } else {
        print::text(&describe(connection, &greeting))?;
    }
    Ok(ExitCode::SUCCESS)
}

/// Properties of a connection.
pub(super) fn connection_json(connection: &Connection) -> Value {
    json!({
        "server": connection.name(),
        "transport": connection.transport(),
        "revision": connection.revision(),
        "era": connection.era(),
        "why": connection.why(),
    })
}

fn describe(connection: &Connection, greeting: &Value) -> String {
    let transport = json!(connection.transport());
    let mut lines = vec![
        format!("connected to {}", server_name(greeting).unwrap_or_else(|| connection.name().to_owned())),
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

/// Name and version of the server, from the result or its metadata (2026-07-28, basic, `_meta`).
fn server_name(greeting: &Value) -> Option<String> {
    let in_meta = || greeting.get("_meta")?.get("io.modelcontextprotocol/serverInfo");
    let info = greeting.get("serverInfo").or_else(in_meta)?;
    let name = info.get("name")?.as_str()?;
    Some(match info.get("version").and_then(Value::as_str) {
        Some(version) => format!("{name} {version}"),
        None => name.to_owned(),
    })
}
