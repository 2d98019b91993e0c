//! `lock`: locks a server's tool definitions and detects changes.

use std::{fs, path::PathBuf};

use agent::lock::{Identity, Lock};
use anyhow::{Context as _, anyhow};
use clap::Subcommand;
use client::{Connection, Severity};

use crate::{
    commands::{
        client::{error::ClientCommandError, session, target::ServerArgs},
        schema::diff::{self, SeverityArg},
    },
    error::{CommandError, CommandResult, exit_code},
    print,
};

/// The arguments of `lock`.
#[derive(Debug, clap::Args)]
pub(crate) struct Args {
    #[command(subcommand)]
    kind: Kind,
}

#[derive(Debug, Subcommand)]
enum Kind {
    /// Write the tools of a server to a lock file.
    Write(Write),
    /// Compare the tools of a server with a lock file.
    Check(Check),
}

#[derive(Debug, clap::Args)]
struct Write {
    /// The lock file.
    file: PathBuf,
    #[command(flatten)]
    server: ServerArgs,
}

#[derive(Debug, clap::Args)]
struct Check {
    /// The lock file.
    file: PathBuf,
    /// Most severe change to accept.
    #[arg(long, value_name = "SEVERITY", default_value = "compatible")]
    allow: SeverityArg,
    /// Reject every change.
    #[arg(long, conflicts_with = "allow")]
    exact: bool,
    #[command(flatten)]
    server: ServerArgs,
}

/// Writes or checks a lock file.
pub(crate) fn run(args: Args) -> CommandResult {
    match args.kind {
        Kind::Write(args) => write(args),
        Kind::Check(args) => check(args),
    }
}

fn write(args: Write) -> CommandResult {
    require_server(&args.server)?;
    session::run(&args.server, |connection| async move {
        let lock = current_lock(&connection).await?;
        let file = args.file.display();
        fs::write(&args.file, lock.to_text())
            .with_context(|| format!("{file} cannot be written"))
            .map_err(CommandError::environment)?;
        print::note(&format!("{file}: {} tools of {}", lock.tools().len(), lock.server.name));
        Ok(exit_code(true))
    })
}

fn check(args: Check) -> CommandResult {
    require_server(&args.server)?;
    let file = args.file.display().to_string();
    let text = fs::read_to_string(&args.file)
        .with_context(|| format!("{file} cannot be read"))
        .map_err(CommandError::input)?;
    let before = Lock::read(&text).with_context(|| file.clone()).map_err(CommandError::input)?;
    let allowed = if args.exact { None } else { Some(Severity::from(args.allow)) };
    let json = args.server.json;
    session::run(&args.server, |connection| async move {
        let drift = before.drift(&current_lock(&connection).await?);
        diff::print_changes(&drift, json)?;
        let accepted = drift.severity() <= allowed;
        if !accepted {
            print::note(&format!("the tools differ from {file}; `lock write` updates it"));
        }
        Ok(exit_code(accepted))
    })
}

fn require_server(server: &ServerArgs) -> Result<(), CommandError> {
    if server.is_given() {
        return Ok(());
    }
    Err(CommandError::input(anyhow!("no server is named")).with_help("add `--url URL`, or a command after `--`"))
}

async fn current_lock(connection: &Connection) -> Result<Lock, ClientCommandError> {
    let list = connection.list_tools().await?;
    let identity = Identity::from_initialization(&connection.greeting().unwrap_or_default());
    Ok(Lock::new(identity, connection.revision(), &list.tools))
}
