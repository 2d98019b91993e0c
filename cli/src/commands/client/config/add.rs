//! `client add` and `client add-json`: add a server to a configuration file.

use std::{io::Read as _, process::ExitCode};

use agent::config::{MAX_BYTES, Scope, edit::Edit};
use anyhow::anyhow;
use scenarios::model::Transport;
use serde_json::{Map, Value, json};

use super::{Destination, secret::ClientSecret};
use crate::{
    commands::{
        client::error::{ClientCommandError, settle},
        target::{header, variable},
    },
    error::{CommandError, CommandResult},
    print,
    transport::TransportArg,
};

/// The arguments of `client add`.
#[derive(Debug, clap::Args)]
pub(crate) struct Args {
    /// Name of the server.
    name: String,
    /// URL of the server; or put its command after `--`.
    #[arg(conflicts_with = "command", required_unless_present = "command")]
    url: Option<String>,
    /// Transport of the URL [default: Streamable HTTP, or HTTP+SSE if the server supports nothing else].
    #[arg(long, value_name = "TRANSPORT", value_enum)]
    transport: Option<TransportArg>,
    /// HTTP header to send with every request (`X-Team: blue`); `${NAME}` is replaced by the environment variable.
    #[arg(long, value_name = "NAME: VALUE", requires = "url", value_parser = header)]
    header: Vec<(String, String)>,
    /// Environment variable with a bearer token.
    #[arg(long, value_name = "VARIABLE", requires = "url")]
    bearer_token_env_var: Option<String>,
    /// ID of a registered OAuth client.
    #[arg(long, value_name = "ID", requires = "url")]
    client_id: Option<String>,
    /// Environment variable with the secret of the client.
    #[arg(long, value_name = "VARIABLE", requires = "client_id")]
    client_secret_env_var: Option<String>,
    /// Ask for the secret of the client, and store it with the tokens. Without a terminal, read a line of stdin.
    #[arg(long, requires = "client_id", conflicts_with = "client_secret_env_var")]
    client_secret: bool,
    /// Port of the redirect URL on 127.0.0.1.
    #[arg(long, value_name = "PORT", requires = "url")]
    callback_port: Option<u16>,
    /// Environment variable of the command; `${NAME}` is replaced by another variable.
    #[arg(long, value_name = "NAME=VALUE", requires = "command", value_parser = variable)]
    env: Vec<(String, String)>,
    /// Command that starts the server.
    #[arg(last = true, value_name = "COMMAND")]
    command: Vec<String>,
    #[command(flatten)]
    into: Destination,
}

/// The arguments of `client add-json`.
#[derive(Debug, clap::Args)]
pub(crate) struct JsonArgs {
    /// Name of the server.
    name: String,
    /// Its entry in `.mcp.json`, as JSON; `-` reads stdin.
    entry: String,
    #[command(flatten)]
    into: Destination,
}

/// Adds a server.
pub(crate) fn run(args: &Args) -> CommandResult {
    settle(add(args), args.into.json)
}

/// Adds a server from JSON.
pub(crate) fn run_json(args: &JsonArgs) -> CommandResult {
    let entry = read(&args.entry).and_then(|text| parse(&text));
    settle(entry.and_then(|entry| write(&args.name, entry, &args.into)), args.into.json)
}

fn add(args: &Args) -> Result<ExitCode, ClientCommandError> {
    let entry = entry_from_args(args)?;
    let secret = match (&args.url, &args.client_id) {
        (Some(url), Some(id)) if args.client_secret => Some(ClientSecret::read(url, id)?),
        _ => None,
    };
    // A rejected entry must not replace a stored secret.
    let done = write(&args.name, entry, &args.into)?;
    secret.iter().try_for_each(ClientSecret::store)?;
    Ok(done)
}

fn entry_from_args(args: &Args) -> Result<Map<String, Value>, ClientCommandError> {
    let kind = match (args.transport.map(|transport| transport.0), &args.url) {
        (Some(Transport::Stdio) | None, None) => "stdio",
        (Some(Transport::StreamableHttp), Some(_)) => "http",
        (Some(Transport::HttpSse), Some(_)) => "sse",
        (None, Some(_)) => "auto",
        (Some(Transport::Stdio), Some(_)) => return Err(invalid("stdio needs a command, not a URL")),
        (Some(_), None) => return Err(invalid("this transport needs a URL, not a command")),
    };
    let mut entry = Map::new();
    let mut put = |name: &str, value: Value| drop(entry.insert(name.to_owned(), value));
    put("type", kind.into());
    if let Some(url) = &args.url {
        // Other clients accept `add name npx …`.
        if !url.contains("://") && !url.contains("${") {
            return Err(invalid("not a URL").with_help("put the command of a server after `--`"));
        }
        put("url", url.as_str().into());
        if !args.header.is_empty() {
            put("headers", table(&args.header, "header")?);
        }
        if let Some(variable) = &args.bearer_token_env_var {
            put("bearerTokenEnvVar", variable.as_str().into());
        }
        if let Some(oauth) = oauth(args) {
            put("oauth", oauth);
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

/// The login settings of the options.
fn oauth(args: &Args) -> Option<Value> {
    let text = |value: &Option<String>| value.as_deref().map(Value::from);
    let settings = [
        ("clientId", text(&args.client_id)),
        ("clientSecretEnvVar", text(&args.client_secret_env_var)),
        ("callbackPort", args.callback_port.map(Value::from)),
    ];
    let settings = settings.into_iter().filter_map(|(key, value)| Some((key.to_owned(), value?)));
    let settings: Map<String, Value> = settings.collect();
    (!settings.is_empty()).then(|| settings.into())
}

fn table(pairs: &[(String, String)], what: &str) -> Result<Value, ClientCommandError> {
    let mut table = Map::new();
    for (name, value) in pairs {
        if table.insert(name.clone(), value.as_str().into()).is_some() {
            return Err(invalid(format!("duplicate {what} `{name}`")));
        }
    }
    Ok(Value::Object(table))
}

fn invalid(message: impl Into<String>) -> ClientCommandError {
    ClientCommandError::input("invalid-arguments", anyhow!(message.into()))
}

/// The JSON of the command line or stdin, which hides it from process lists.
fn read(given: &str) -> Result<String, ClientCommandError> {
    if given != "-" {
        return Ok(given.to_owned());
    }
    let mut text = String::new();
    let read = std::io::stdin().take(MAX_BYTES as u64).read_to_string(&mut text);
    read.map(|_| text).map_err(|cause| CommandError::environment(cause).into())
}

fn parse(text: &str) -> Result<Map<String, Value>, ClientCommandError> {
    // The message of the parser does not quote the text.
    let value: Value = serde_json::from_str(text).map_err(|cause| invalid(format!("not JSON: {cause}")))?;
    match value {
        Value::Object(entry) if entry.contains_key("mcpServers") => {
            Err(invalid("this is a complete file").with_help("pass only the object of one server"))
        }
        Value::Object(entry) => Ok(entry),
        _ => Err(invalid("the entry of a server must be a JSON object")),
    }
}

fn write(name: &str, entry: Map<String, Value>, into: &Destination) -> Result<ExitCode, ClientCommandError> {
    let target = into.target()?;
    let shared = if target.scope == Scope::Project { plain_values(&entry) } else { Vec::new() };
    target.edit(&Edit::Add { name: name.to_owned(), entry, replace: into.force }, "added to", into.json)?;
    for value in shared {
        print::note(&format!(
            "the value of `{value}` is stored in a shared file; `${{NAME}}` would refer to an environment variable"
        ));
    }
    Ok(ExitCode::SUCCESS)
}

/// The headers and variables with literal values.
fn plain_values(entry: &Map<String, Value>) -> Vec<String> {
    let tables = ["headers", "env"].into_iter().filter_map(|key| entry.get(key)?.as_object());
    let plain = |value: &Value| value.as_str().is_some_and(|text| !text.contains("${"));
    tables.flatten().filter(|(_, value)| plain(value)).map(|(name, _)| name.clone()).collect()
}
