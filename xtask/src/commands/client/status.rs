//! `client status`: whether a server can be used, and if not, what it wants; or where the user is logged in.

use std::process::ExitCode;

use client::{ConnectFailure, ConnectOptions, Manager, ManagerOptions, Status, manager::ServerError};
use serde_json::{Value, json};

use super::{
    access, connect, say,
    target::{ServerArgs, Target},
    trouble::{Trouble, settle},
};
use crate::{
    failure::{CommandResult, ENVIRONMENT, Failure},
    interrupt::{self, Interrupts},
};

/// The arguments of `client status`.
#[derive(Debug, clap::Args)]
pub(crate) struct Args {
    #[command(flatten)]
    target: ServerArgs,
}

/// Tries to connect, and tells what came of it; without a server, tells which ones there are credentials for. A server that cannot be used is an answer, and an exit code.
pub(crate) fn run(args: &Args) -> CommandResult {
    interrupt::runtime()?.block_on(async {
        let mut interrupts = Interrupts::watch()?;
        let asked = tokio::select! {
            interrupt = interrupts.next() => return Err(interrupt.die()),
            asked = ask(&args.target), if args.target.is_given() => asked,
            kept = kept(args.target.json), if !args.target.is_given() => return settle(kept, args.target.json),
        };
        settle(asked.and_then(|(told, code)| Ok(tell(&told, args.target.json).map(|()| code)?)), args.target.json)
    })
}

async fn ask(target: &ServerArgs) -> Result<(Value, ExitCode), Trouble> {
    let Target { server, authorizer } = target.target()?;
    let name = server.name().to_owned();
    let connect = ConnectOptions { authorizer, ..ConnectOptions::default() };
    let manager = Manager::new(ManagerOptions { connect, ..ManagerOptions::default() });
    manager.apply(vec![server]).await.map_err(Failure::fault)?;
    let outcome = manager.connection(&name).await;
    let status = manager.status(&name).unwrap_or(Status::Disconnected);
    let mut told = json!(status);
    told["server"] = name.into();
    let code = match &outcome {
        Ok(connection) => {
            let found = connect::found(connection);
            for field in ["transport", "revision", "why"] {
                told[field] = found[field].clone();
            }
            ExitCode::SUCCESS
        }
        Err(error) => {
            told["reason"] = Failure::environment(error.clone()).message().into();
            if let ServerError::Start(error) = error
                && let ConnectFailure::Auth { source } = &*error.failure
                && let Some(command) = source.command()
            {
                told["command"] = command.into();
            }
            ExitCode::from(ENVIRONMENT)
        }
    };
    manager.close().await;
    Ok((told, code))
}

fn tell(told: &Value, json: bool) -> Result<(), Failure> {
    if json {
        return say::json(told);
    }
    let field = |name: &str| told.get(name).and_then(Value::as_str).unwrap_or_default();
    let detail = match told.get("revision") {
        Some(_) => format!(" ({}, {})", field("transport"), field("revision")),
        None if told.get("reason").is_some() => format!(": {}", field("reason")),
        None => String::new(),
    };
    say::text(&format!("{}: {}{detail}", field("server"), field("status")))
}

/// Tells what is kept. No token is shown.
async fn kept(json: bool) -> Result<ExitCode, Trouble> {
    let store = access::store()?;
    let listing = store.list().await?;
    let mut servers = Vec::new();
    for key in &listing.keys {
        // What was removed in the meantime is not told.
        let Some(credentials) = store.load(key).await? else { continue };
        servers.push(json!({
            "url": key.url,
            "issuer": credentials.issuer,
            "scopes": credentials.scopes,
            "expiresAt": credentials.expires_at,
            "good": credentials.is_good(),
            "renewable": credentials.refresh_token.is_some(),
        }));
    }
    if json {
        let broken = access::broken(&listing);
        say::json(&json!({ "store": store.describe(), "servers": servers, "broken": broken }))?;
    } else {
        servers.iter().try_for_each(|server| say::text(&logged_in(server)))?;
        if servers.is_empty() {
            say::text("logged in nowhere")?;
        }
    }
    access::told_of(listing, json)
}

fn logged_in(server: &Value) -> String {
    let text = |name: &str| server.get(name).and_then(Value::as_str).unwrap_or_default();
    let end = match (server["good"] == true, server["renewable"] == true) {
        (true, _) => "logged in",
        (false, true) => "logged in, to be renewed",
        (false, false) => "ended",
    };
    format!("{}: {end} (granted by {})", text("url"), text("issuer"))
}
