//! `client get`: the configuration of a server, without secrets.

use std::process::ExitCode;

use agent::config::Configured;
use serde_json::Value;

use super::{NameArgs, entry};
use crate::{
    commands::client::error::{ClientCommandError, settle},
    error::{CommandResult, INPUT},
    print,
};

/// Prints the entry: only the names of headers and variables, not their values.
pub(crate) fn run(args: &NameArgs) -> CommandResult {
    settle(show(args), args.json)
}

fn show(args: &NameArgs) -> Result<ExitCode, ClientCommandError> {
    let configuration = args.files.load()?;
    let entry = entry(&configuration, &args.name)?;
    if args.json {
        print::json(&entry.view())?;
    } else {
        print_entry(entry)?;
    }
    Ok(if entry.server.is_some() { ExitCode::SUCCESS } else { ExitCode::from(INPUT) })
}

fn print_entry(entry: &Configured) -> Result<(), ClientCommandError> {
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
            print::text(&format!("{:<18}{}", format!("{key}:"), text.replace('\n', " ")))?;
        }
    }
    entry.problems.iter().for_each(|problem| print::note(&problem.to_string()));
    if let Some(advice) = entry.server.as_ref().and_then(agent::config::Server::advice) {
        print::note(&format!("help: {advice}"));
    }
    Ok(())
}
