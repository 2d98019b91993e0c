//! `record`: records a session between any client and any server.

mod http;
mod lines;
mod stdio;

use std::{net::SocketAddr, path::PathBuf};

use anyhow::anyhow;
use clap::builder::NonEmptyStringValueParser;
use evidence::{
    Recorder,
    redaction::{REDACTED, redact_value},
};
use scenarios::{
    model::Transport,
    recording::{self, FORMAT, Header, RecordingError, SERVER},
};
use serde_json::Value;
use url::Url;

use super::target::without_secrets;
use crate::{
    error::{CommandError, CommandResult},
    transport::TransportArg,
};

/// The arguments of `record`.
#[derive(Debug, clap::Args)]
#[command(
    after_help = "Configure the client to start `mcp-workbench record --output DIR -- COMMAND` instead of COMMAND. \
                  `mcp-workbench judge DIR` checks both sides, `mcp-workbench mock serve --from DIR` repeats the server."
)]
pub(crate) struct Args {
    /// Directory of the recording. A client may start its server several times: all sessions are recorded.
    #[arg(long, value_name = "DIR")]
    output: PathBuf,
    /// URL of a server. The recorder prints the URL that the client uses instead, and runs until SIGINT or SIGTERM.
    #[arg(long, value_name = "URL")]
    url: Option<Url>,
    /// Loopback address at which the recorder listens for the client.
    #[arg(long, value_name = "ADDRESS", requires = "url", default_value = "127.0.0.1:0")]
    listen: SocketAddr,
    /// Transport of the URL: streamable-http or sse.
    #[arg(long, value_enum, requires = "url", default_value_t = TransportArg(Transport::StreamableHttp))]
    transport: TransportArg,
    /// Command of the server.
    #[arg(
        last = true,
        required_unless_present = "url",
        conflicts_with = "url",
        value_name = "COMMAND",
        value_parser = NonEmptyStringValueParser::new()
    )]
    command: Vec<String>,
}

/// Records the sessions of a command, whose exit code it returns, or of a URL.
pub(crate) fn run(args: &Args) -> CommandResult {
    match &args.url {
        Some(url) if !matches!(url.scheme(), "http" | "https") => {
            Err(CommandError::input(anyhow!("{url} is not an HTTP URL")))
        }
        Some(_) if args.transport.0 == Transport::Stdio => {
            Err(CommandError::input(anyhow!("stdio needs a command, not a URL")))
        }
        Some(url) => {
            let recorder = recorder(args, args.transport.0, without_secrets(url.clone()).to_string())?;
            http::run(args.listen, url.clone(), recorder)
        }
        None => {
            let recorder = recorder(args, Transport::Stdio, redacted(&args.command))?;
            stdio::run(&args.command, &recorder)
        }
    }
}

fn recorder(args: &Args, transport: Transport, target: String) -> Result<Recorder, CommandError> {
    let header = Header { format: FORMAT, workbench: env!("CARGO_PKG_VERSION").to_owned(), transport, target };
    let file = recording::create(&args.output, &header).map_err(|error| match error {
        RecordingError::Io { .. } => CommandError::environment(error),
        error => CommandError::input(error),
    })?;
    // Frames are written as they pass. One or two stay in memory, however long the session is.
    Recorder::latest(SERVER, 1, Some(&file)).map_err(CommandError::environment)
}

/// The command without secrets that are recognized by the names of their options.
fn redacted(command: &[String]) -> String {
    let mut shown: Vec<String> = Vec::new();
    let mut is_secret = false;
    for argument in command {
        let bare = argument.trim_start_matches('-');
        let dashes = &argument[..argument.len() - bare.len()];
        let mut value = Value::from(if is_secret { REDACTED } else { bare });
        redact_value(&mut value);
        shown.push(format!("{dashes}{}", value.as_str().unwrap_or_default()));
        let name = bare.to_ascii_lowercase();
        let names_secret = ["token", "secret", "password", "api-key", "apikey"].iter().any(|word| name.ends_with(word));
        is_secret = !dashes.is_empty() && names_secret;
    }
    shown.join(" ")
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn secrets_of_a_command_are_not_shown() {
        let command = ["server", "--password=a1", "--api-key", "b2", "--port", "80", "-H", "Authorization: Bearer c3"];
        let shown = redacted(&command.map(str::to_owned));
        assert_eq!(shown, "server --password=[secret] --api-key [secret] --port 80 -H Authorization: Bearer [secret]");
    }
}
