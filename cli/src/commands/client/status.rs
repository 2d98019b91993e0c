//! `client status`: connection and authorization status of a server, or the stored logins.

use std::process::ExitCode;

use agent::host::{Host, HostConfig, HostOptions};
use client::{
    ConnectFailure, Status,
    manager::{ServerError, StartMode},
};
use serde_json::{Value, json};

use super::{
    access, config, connect,
    error::{ClientCommandError, settle},
    host,
    target::ServerArgs,
};
use crate::{
    error::{CommandError, CommandResult, ENVIRONMENT},
    interrupt::{self, Interrupts},
    print,
};

/// The arguments of `client status`.
#[derive(Debug, clap::Args)]
pub(crate) struct Args {
    #[command(flatten)]
    target: ServerArgs,
}

/// Tries to connect and prints the status; without a server, lists the stored credentials. A server that cannot be used
/// is a result, with exit code 3.
pub(crate) fn run(args: &Args) -> CommandResult {
    interrupt::runtime()?.block_on(async {
        let mut interrupts = Interrupts::watch()?;
        let checked = tokio::select! {
            interrupt = interrupts.next() => return Err(interrupt.terminate()),
            checked = check(&args.target), if args.target.is_given() => checked,
            listed = list_credentials(args.target.json), if !args.target.is_given() => return settle(listed, args.target.json),
        };
        settle(checked.and_then(|(report, code)| Ok(print_status(&report, args.target.json).map(|()| code)?)), args.target.json)
    })
}

async fn check(target: &ServerArgs) -> Result<(Value, ExitCode), ClientCommandError> {
    let mut server = target.find(&target.files().load()?, &config::settings()?)?;
    server.managed.start = StartMode::OnDemand;
    let name = server.managed.name().to_owned();
    let config = HostConfig::default().with_servers([server]);
    let options = HostOptions { credentials: host::credentials(&config)?, ..HostOptions::default() };
    let host = Host::start(config, options).await.map_err(CommandError::internal)?;
    let outcome = host.connection(&name).await;
    let status = host.statuses().remove(&name).unwrap_or(Status::Disconnected);
    let mut report = json!(status);
    report["server"] = name.into();
    let code = match &outcome {
        Ok(connection) => {
            let found = connect::connection_json(connection);
            for field in ["transport", "revision", "why"] {
                report[field] = found[field].clone();
            }
            ExitCode::SUCCESS
        }
        Err(error) => {
            report["reason"] = CommandError::environment(error.clone()).message().into();
            if let ServerError::Start(error) = error
                && let ConnectFailure::Auth { source } = &*error.failure
                && let Some(command) = source.command()
            {
                report["command"] = command.into();
            }
            ExitCode::from(ENVIRONMENT)
        }
    };
    host.close().await;
    Ok((report, code))
}

fn print_status(report: &Value, json: bool) -> Result<(), CommandError> {
    if json {
        return print::json(report);
    }
    let field = |name: &str| report.get(name).and_then(Value::as_str).unwrap_or_default();
    let detail = match report.get("revision") {
        Some(_) => format!(" ({}, {})", field("transport"), field("revision")),
        None if report.get("reason").is_some() => format!(": {}", field("reason")),
        None => String::new(),
    };
    print::text(&format!("{}: {}{detail}", field("server"), field("status")))
}

/// Lists the stored credentials without tokens.
async fn list_credentials(json: bool) -> Result<ExitCode, ClientCommandError> {
    let store = access::store()?;
    let listing = store.list().await?;
    let mut servers = Vec::new();
    for key in listing.keys.iter().filter(|key| !key.is_client_secret()) {
        // It may have been removed in the meantime.
        let Some(credentials) = store.load(key).await? else { continue };
        servers.push(json!({
            "url": key.url,
            "issuer": credentials.issuer,
            "scopes": credentials.scopes,
            "expiresAt": credentials.expires_at,
            "good": credentials.is_valid(),
            "renewable": credentials.refresh_token.is_some(),
        }));
    }
    if json {
        let broken = access::broken(&listing);
        print::json(&json!({ "store": store.describe(), "servers": servers, "broken": broken }))?;
    } else {
        servers.iter().try_for_each(|server| print::text(&logged_in(server)))?;
        if servers.is_empty() {
            print::text("no stored credentials")?;
        }
    }
    access::broken_entries_result(listing, json)
}

fn logged_in(server: &Value) -> String {
    let text = |name: &str| server.get(name).and_then(Value::as_str).unwrap_or_default();
    let end = match (server["good"] == true, server["renewable"] == true) {
        (true, _) => "logged in",
        (false, true) => "logged in, access token expired",
        (false, false) => "expired",
    };
    format!("{}: {end} (granted by {})", text("url"), text("issuer"))
}
