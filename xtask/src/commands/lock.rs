//! `lock`: hold a server to the tools that it once had.

use std::{fs, path::PathBuf};

use agent::lock::{Identity, Lock};
use anyhow::{Context as _, anyhow};
use clap::Subcommand;
use client::{Connection, Severity};

use crate::{
    commands::{
        client::{say, session, target::ServerArgs, trouble::Trouble},
        schema::diff::{self, Least},
    },
    failure::{CommandResult, Failure, held},
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
    /// Up to which severity changes are taken.
    #[arg(long, value_name = "SEVERITY", default_value = "compatible")]
    allow: Least,
    /// Take no change at all.
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
    named(&args.server)?;
    session::run(&args.server, |connection, _| async move {
        let lock = locked(&connection).await?;
        let file = args.file.display();
        fs::write(&args.file, lock.to_text())
            .with_context(|| format!("{file} cannot be written"))
            .map_err(Failure::environment)?;
        say::aside(&format!("{file}: {} tools of {}", lock.tools().len(), lock.server.name));
        Ok(held(true))
    })
}

fn check(args: Check) -> CommandResult {
    named(&args.server)?;
    let file = args.file.display().to_string();
    let text =
        fs::read_to_string(&args.file).with_context(|| format!("{file} cannot be read")).map_err(Failure::input)?;
    let before = Lock::read(&text).with_context(|| file.clone()).map_err(Failure::input)?;
    let most = if args.exact { None } else { Some(Severity::from(args.allow)) };
    let json = args.server.json;
    session::run(&args.server, |connection, _| async move {
        let drift = before.drift(&locked(&connection).await?);
        diff::tell(&drift, json)?;
        let taken = drift.severity() <= most;
        if !taken {
            say::aside(&format!("{file} does not hold any more; `lock write` writes it anew"));
        }
        Ok(held(taken))
    })
}

fn named(server: &ServerArgs) -> Result<(), Failure> {
    if server.is_given() {
        return Ok(());
    }
    Err(Failure::input(anyhow!("no server is given")).advise("name one by --url URL, or by -- COMMAND"))
}

async fn locked(connection: &Connection) -> Result<Lock, Trouble> {
    let list = connection.list_tools().await?;
    let identity = Identity::of_greeting(&connection.greeting().unwrap_or_default());
    Ok(Lock::of(identity, connection.revision(), &list.tools))
}
