//! rmcp as its own examples use it.

use std::{process::Stdio, sync::Arc};

use anyhow::{Context as _, anyhow};
use rmcp::{
    RoleClient,
    model::{CallToolRequestParams, ClientCapabilities, Implementation, InitializeRequestParams, ProtocolVersion},
    service::{ClientLifecycleMode, RunningService, serve_client_with_lifecycle},
    transport::{StreamableHttpClientTransport, streamable_http_client::StreamableHttpClientTransportConfig},
};
use tokio::process::{Child, Command};

use super::{CallerArgs, User, arguments, must_be_the_answer};
use crate::bench::mock::{LEGACY, MODERN, Server, TOOL};

/// One of those who share a client.
pub(super) struct Rmcp {
    client: Arc<RunningService<RoleClient, InitializeRequestParams>>,
    /// The server's process, over stdio.
    _child: Option<Arc<Child>>,
}

/// All users of one client.
pub(super) async fn users(args: &CallerArgs) -> anyhow::Result<Vec<Rmcp>> {
    let (hello, mode) = manner(&args.revision)?;
    let (client, child) = match &args.url {
        Some(url) => {
            let transport = StreamableHttpClientTransport::with_client(
                client::http_client::builder().build()?,
                StreamableHttpClientTransportConfig::with_uri(url.as_str()),
            );
            (serve_client_with_lifecycle(hello, transport, mode).await?, None)
        }
        None => {
            let (command, arguments) = Server::stdio_command(&args.revision)?;
            let mut command = Command::new(command);
            command.args(arguments).stdin(Stdio::piped()).stdout(Stdio::piped()).kill_on_drop(true);
            let mut child = command.spawn().context("the mock server cannot be started")?;
            let pipes = child.stdout.take().zip(child.stdin.take()).context("the mock server has no pipes")?;
            (serve_client_with_lifecycle(hello, pipes, mode).await?, Some(Arc::new(child)))
        }
    };
    let client = Arc::new(client);
    Ok((0..args.in_flight).map(|_| Rmcp { client: Arc::clone(&client), _child: child.clone() }).collect())
}

fn manner(revision: &str) -> anyhow::Result<(InitializeRequestParams, ClientLifecycleMode)> {
    let (version, mode) = match revision {
        LEGACY => (ProtocolVersion::V_2025_11_25, ClientLifecycleMode::Initialize),
        MODERN => {
            let preferred_versions = vec![ProtocolVersion::V_2026_07_28];
            (ProtocolVersion::V_2026_07_28, ClientLifecycleMode::Discover { preferred_versions })
        }
        other => return Err(anyhow!("{other} is not measured")),
    };
    let hello = InitializeRequestParams::new(ClientCapabilities::default(), Implementation::new("bench", "1"));
    Ok((hello.with_protocol_version(version), mode))
}

impl User for Rmcp {
    async fn call(&mut self) -> anyhow::Result<()> {
        let mut params = CallToolRequestParams::new(TOOL);
        params.arguments = arguments().as_object().cloned();
        let result = self.client.call_tool(params).await?;
        let text = result.content.first().and_then(|block| block.as_text());
        must_be_the_answer(text.map(|text| text.text.as_str()))
    }
}
