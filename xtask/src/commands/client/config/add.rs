//! `client add` and `client add-json`: a server is written into a file of configuration.

use std::{io::Read as _, process::ExitCode};

use agent::config::{MAX_BYTES, Scope, edit::Edit};
use anyhow::anyhow;
use serde_json::{Map, Value, json};

use super::{EditedScope, Files, say};
use crate::{
    commands::{
        client::trouble::{Trouble, settle},
        target::{header, variable},
    },
    failure::{CommandResult, Failure},
};

/// Where it is written.
#[derive(Debug, clap::Args)]
struct Destination {
    /// Whose configuration it becomes a part of.
    #[arg(long, value_name = "SCOPE", default_value = "local", conflicts_with = "config")]
    scope: EditedScope,
    #[command(flatten)]
    files: Files,
    /// Put it in the place of one of the same name.
    #[arg(long)]
    force: bool,
    /// Print JSON, failures included.
    #[arg(long)]
    json: bool,
}

/// The arguments of `client add`.
#[derive(Debug, clap::Args)]
pub(crate) struct Args {
    /// How the server is to be called.
    name: String,
    /// Its URL; or give a command after `--`.
    #[arg(conflicts_with = "command", required_unless_present = "command")]
    url: Option<String>,
    /// How to speak with it; found out for a URL where it is not given.
    #[arg(long, value_name = "TRANSPORT")]
    transport: Option<Wire>,
    /// A header to send with everything (`X-Team: blue`); `${NAME}` stands for a variable.
    #[arg(long, value_name = "NAME: VALUE", requires = "url", value_parser = header)]
    header: Vec<(String, String)>,
    /// The variable that holds a bearer token.
    #[arg(long, value_name = "VARIABLE", requires = "url")]
    bearer_token_env_var: Option<String>,
    /// A variable to set for the command; `${NAME}` stands for another.
    #[arg(long, value_name = "NAME=VALUE", requires = "command", value_parser = variable)]
    env: Vec<(String, String)>,
    /// The command that starts the server.
    #[arg(last = true, value_name = "COMMAND")]
    command: Vec<String>,
    #[command(flatten)]
    into: Destination,
}

/// How a server is spoken to.
#[derive(Debug, Clone, Copy, PartialEq, Eq, clap::ValueEnum)]
enum Wire {
    /// Standard input and output of a command.
    Stdio,
    /// Streamable HTTP.
    Http,
    /// HTTP+SSE of 2024-11-05.
    Sse,
    /// Streamable HTTP, or HTTP+SSE where the server speaks no other.
    Auto,
}

/// The arguments of `client add-json`.
#[derive(Debug, clap::Args)]
pub(crate) struct JsonArgs {
    /// How the server is to be called.
    name: String,
    /// What stands behind its name in `.mcp.json`; `-` reads it from standard input.
    entry: String,
    #[command(flatten)]
    into: Destination,
}

/// Adds a server.
pub(crate) fn run(args: &Args) -> CommandResult {
    let entry = entry_of(args);
    settle(entry.and_then(|entry| write(&args.name, entry, &args.into)), args.into.json)
}

/// Adds a server, given as JSON.
pub(crate) fn run_json(args: &JsonArgs) -> CommandResult {
    let entry = read(&args.entry).and_then(|text| parse(&text));
    settle(entry.and_then(|entry| write(&args.name, entry, &args.into)), args.into.json)
}

fn entry_of(args: &Args) -> Result<Map<String, Value>, Trouble> {
    let kind = match (args.transport, &args.url) {
        (Some(Wire::Stdio) | None, None) => "stdio",
        (Some(Wire::Http), Some(_)) => "http",
        (Some(Wire::Sse), Some(_)) => "sse",
        (Some(Wire::Auto) | None, Some(_)) => "auto",
        (Some(Wire::Stdio), Some(_)) => return Err(refuse("a server over stdio has a command, not a URL")),
        (Some(_), None) => return Err(refuse("this transport has a URL, not a command")),
    };
    let mut entry = Map::new();
    let mut put = |name: &str, value: Value| drop(entry.insert(name.to_owned(), value));
    put("type", kind.into());
    if let Some(url) = &args.url {
        // `add name npx …` is what other clients let people write.
        if !url.contains("://") && !url.contains("${") {
            return Err(refuse("that is no URL").advise("a command stands behind `--`"));
        }
        put("url", url.as_str().into());
        if !args.header.is_empty() {
            put("headers", table(&args.header, "header")?);
        }
        if let Some(variable) = &args.bearer_token_env_var {
            put("bearerTokenEnvVar", variable.as_str().into());
        }
    }
    if let Some((command, rest)) = args.command.split_first() {
        put("command", command.as_str().into());
        put("args", json!(rest));
        if !args.env.is_empty() {
            put("env", table(&args.env, "variable")?);
        }
    }
    Ok(entry)
}

fn table(pairs: &[(String, String)], what: &str) -> Result<Value, Trouble> {
    let mut table = Map::new();
    for (name, value) in pairs {
        if table.insert(name.clone(), value.as_str().into()).is_some() {
            return Err(refuse(format!("the {what} `{name}` is given twice")));
        }
    }
    Ok(Value::Object(table))
}

fn refuse(message: impl Into<String>) -> Trouble {
    Trouble::input("invalid-arguments", anyhow!(message.into()))
}

/// The JSON of the command line. What others can see in a list of processes need not be given there.
fn read(given: &str) -> Result<String, Trouble> {
    if given != "-" {
        return Ok(given.to_owned());
    }
    let mut text = String::new();
    let read = std::io::stdin().take(MAX_BYTES as u64).read_to_string(&mut text);
    read.map(|_| text).map_err(|cause| Failure::environment(cause).into())
}

fn parse(text: &str) -> Result<Map<String, Value>, Trouble> {
    // What the parser says quotes nothing of the text.
    let value: Value = serde_json::from_str(text).map_err(|cause| refuse(format!("not JSON: {cause}")))?;
    match value {
        Value::Object(entry) if entry.contains_key("mcpServers") => {
            Err(refuse("this is a whole file").advise("give what stands behind the name of the server"))
        }
        Value::Object(entry) => Ok(entry),
        _ => Err(refuse("the entry of a server is a JSON object")),
    }
}

fn write(name: &str, entry: Map<String, Value>, into: &Destination) -> Result<ExitCode, Trouble> {
    let place = into.files.place(into.scope.scope())?;
    let shared = if place.scope == Scope::Project { plain_values(&entry) } else { Vec::new() };
    place.edit(&Edit::Add { name: name.to_owned(), entry, replace: into.force }, "added to", into.json)?;
    for value in shared {
        say::aside(&format!("the value of `{value}` is in a file that is shared now; `${{NAME}}` would keep it out"));
    }
    Ok(ExitCode::SUCCESS)
}

/// The headers and variables whose values stand in the entry word for word.
fn plain_values(entry: &Map<String, Value>) -> Vec<String> {
    let tables = ["headers", "env"].into_iter().filter_map(|key| entry.get(key)?.as_object());
    let plain = |value: &Value| value.as_str().is_some_and(|text| !text.contains("${"));
    tables.flatten().filter(|(_, value)| plain(value)).map(|(name, _)| name.clone()).collect()
}
