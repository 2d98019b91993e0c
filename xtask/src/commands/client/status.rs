//! `client status`: whether a server can be used, and if not, what it wants.

use std::process::ExitCode;

use client::{ManagedServer, Manager, ManagerOptions, Status};
use serde_json::{Value, json};

use super::{
    connect, say,
    target::ServerArgs,
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

/// Tries to connect, and tells what came of it. A server that cannot be used is an answer, and an exit code.
pub(crate) fn run(args: &Args) -> CommandResult {
    interrupt::runtime()?.block_on(async {
        let mut interrupts = Interrupts::watch()?;
        let asked = tokio::select! {
            interrupt = interrupts.next() => return Err(interrupt.die()),
            asked = ask(&args.target) => asked,
        };
        settle(asked.and_then(|(told, code)| Ok(tell(&told, args.target.json).map(|()| code)?)), args.target.json)
    })
}

async fn ask(target: &ServerArgs) -> Result<(Value, ExitCode), Trouble> {
    let server = ManagedServer::new(target.config()?);
    let name = server.name().to_owned();
    let manager = Manager::new(ManagerOptions::default());
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
