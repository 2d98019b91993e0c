//! `client get`: all that may be shown of one configured server.

use std::process::ExitCode;

use agent::config::Configured;
use serde_json::Value;

use super::{Files, entry, say};
use crate::{
    commands::client::trouble::{Trouble, settle},
    failure::{CommandResult, INPUT},
};

/// The arguments of `client get`.
#[derive(Debug, clap::Args)]
pub(crate) struct Args {
    /// The server.
    name: String,
    #[command(flatten)]
    files: Files,
    /// Print JSON, failures included.
    #[arg(long)]
    json: bool,
}

/// Shows it: of headers and variables the names, and never what they hold.
pub(crate) fn run(args: &Args) -> CommandResult {
    settle(show(args), args.json)
}

fn show(args: &Args) -> Result<ExitCode, Trouble> {
    let configuration = args.files.load()?;
    let entry = entry(&configuration, &args.name)?;
    if args.json {
        say::json(&entry.view())?;
    } else {
        tell(entry)?;
    }
    Ok(if entry.server.is_some() { ExitCode::SUCCESS } else { ExitCode::from(INPUT) })
}

fn tell(entry: &Configured) -> Result<(), Trouble> {
    let view = entry.view();
    for (key, value) in view.as_object().into_iter().flatten() {
        let text = match (key.as_str(), value) {
            ("problems", _) => continue,
            ("hides", Value::Array(hidden)) => {
                let text = |hidden: &Value, key: &str| hidden[key].as_str().unwrap_or_default().to_owned();
                let hidden =
                    hidden.iter().map(|hidden| format!("{} ({})", text(hidden, "scope"), text(hidden, "file")));
                hidden.collect::<Vec<_>>().join(", ")
            }
            (_, Value::String(text)) => text.clone(),
            (_, Value::Array(items)) => {
                let items = items.iter().map(|item| item.as_str().map_or_else(|| item.to_string(), str::to_owned));
                items.collect::<Vec<_>>().join(" ")
            }
            (_, other) => other.to_string(),
        };
        if !text.is_empty() {
            say::text(&format!("{:<18}{}", format!("{key}:"), text.replace('\n', " ")))?;
        }
    }
    entry.problems.iter().for_each(|problem| say::aside(&problem.to_string()));
    if let Some(advice) = entry.server.as_ref().and_then(agent::config::Server::advice) {
        say::aside(&format!("advice: {advice}"));
    }
    Ok(())
}
