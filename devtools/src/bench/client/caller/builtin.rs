//! The built-in client.

use anyhow::Context as _;
use client::{CallOptions, Connection, Endpoint, HttpEndpoint, RevisionChoice, ServerConfig, StdioEndpoint, connect};

use super::{CallerArgs, User, arguments, check_text};
use crate::bench::mock::{BenchServer, TOOL};

/// A user of a shared connection.
pub(super) struct Builtin(Connection);

/// All users of one connection.
pub(super) async fn users(args: &CallerArgs) -> anyhow::Result<Vec<Builtin>> {
    let endpoint = match &args.url {
        Some(url) => Endpoint::StreamableHttp(HttpEndpoint { url: url.clone(), ..HttpEndpoint::default() }),
        None => {
            let (command, args) = BenchServer::stdio_command(&args.revision)?;
            Endpoint::Stdio(StdioEndpoint { command, args, ..StdioEndpoint::default() })
        }
    };
    let mut config = ServerConfig::new("bench", endpoint);
    config.protocol = RevisionChoice::Pinned(args.revision.parse().context("not a revision")?);
    let connection = connect(config).await.context("the built-in client cannot connect")?;
    Ok((0..args.in_flight).map(|_| Builtin(connection.clone())).collect())
}

impl User for Builtin {
    async fn call(&mut self) -> anyhow::Result<()> {
        let result = self.0.call(TOOL, arguments(), CallOptions::default()).await?;
        check_text(Some(&result.text()))
    }
}
