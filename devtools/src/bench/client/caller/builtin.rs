//! The client of this program.

use anyhow::Context as _;
use client::{CallOptions, Connection, Endpoint, HttpEndpoint, RevisionChoice, ServerConfig, StdioEndpoint, connect};

use super::{CallerArgs, User, arguments, must_be_the_answer};
use crate::bench::mock::{Server, TOOL};

/// One of those who share a connection.
pub(super) struct Builtin(Connection);

/// All users of one connection.
pub(super) async fn users(args: &CallerArgs) -> anyhow::Result<Vec<Builtin>> {
    let endpoint = match &args.url {
        Some(url) => Endpoint::StreamableHttp(HttpEndpoint { url: url.clone(), ..HttpEndpoint::default() }),
        None => {
            let (command, args) = Server::stdio_command(&args.revision)?;
            Endpoint::Stdio(StdioEndpoint { command, args, ..StdioEndpoint::default() })
        }
    };
    let mut config = ServerConfig::new("bench", endpoint);
    config.protocol = RevisionChoice::Pinned(args.revision.parse().context("not a revision")?);
    let connection = connect(config).await.context("the client of this program cannot connect")?;
    Ok((0..args.in_flight).map(|_| Builtin(connection.clone())).collect())
}

impl User for Builtin {
    async fn call(&mut self) -> anyhow::Result<()> {
        let result = self.0.call(TOOL, arguments(), CallOptions::default()).await?;
        must_be_the_answer(Some(&result.text()))
    }
}
