//! The built-in client.

use anyhow::Context as _;
use client::{CallOptions, Connection, Endpoint, HttpEndpoint, RevisionChoice, ServerConfig, StdioEndpoint, connect};

use super::{CallerArgs, User, arguments, check_text};
use crate::bench::mock::{BenchServer, TOOL};

/// A user of a shared connection.
pub(super) struct Builtin(Connection);

/// The name of the server.
pub(super) const SERVER: &str = "bench";

/// All users of one connection.
pub(super) async fn users(args: &CallerArgs) -> anyhow::Result<Vec<Builtin>> {
    let connection = connect(config(args)?).await.context("the built-in client cannot connect")?;
    Ok((0..args.in_flight).map(|_| Builtin(connection.clone())).collect())
}

/// The configuration of the server.
pub(super) fn config(args: &CallerArgs) -> anyhow::Result<ServerConfig> {
    let endpoint = match &args.url {
        Some(url) => Endpoint::StreamableHttp(HttpEndpoint { url: url.clone(), ..HttpEndpoint::default() }),
        None => {
            let (command, args) = BenchServer::stdio_command(&args.revision)?;
            Endpoint::Stdio(StdioEndpoint { command, args, ..StdioEndpoint::default() })
        }
    };
    let mut config = ServerConfig::new(SERVER, endpoint);
    config.protocol = RevisionChoice::Pinned(args.revision.parse().context("not a revision")?);
    Ok(config)
}

impl User for Builtin {
    async fn call(&mut self) -> anyhow::Result<()> {
        let result = self.0.call(TOOL, arguments(), CallOptions::default()).await?;
        check_text(Some(&result.text()))
    }
}
