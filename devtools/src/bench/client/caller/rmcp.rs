//! rmcp, used as in its examples.

use std::{process::Stdio, sync::Arc};

use anyhow::{Context as _, anyhow};
use rmcp::{
    RoleClient,
    model::{CallToolRequestParams, ClientCapabilities, Implementation, InitializeRequestParams, ProtocolVersion},
    service::{ClientLifecycleMode, RunningService, serve_client_with_lifecycle},
    transport::{StreamableHttpClientTransport, streamable_http_client::StreamableHttpClientTransportConfig},
};
use tokio::process::{Child, Command};

use super::{CallerArgs, User, arguments, check_text};
use crate::bench::mock::{BenchServer, LEGACY, MODERN, TOOL};

/// A user of a shared client.
pub(super) struct Rmcp {
    client: Arc<RunningService<RoleClient, InitializeRequestParams>>,
    /// The process of a stdio server.
    _child: Option<Arc<Child>>,
}

/// All users of one client.
pub(super) async fn users(args: &CallerArgs) -> anyhow::Result<Vec<Rmcp>> {
    let (params, mode) = lifecycle(&args.revision)?;
    let (client, child) = match &args.url {
        Some(url) => {
            let transport = StreamableHttpClientTransport::with_client(
                client::http_client::builder().build()?,
                StreamableHttpClientTransportConfig::with_uri(url.as_str()),
            );
            (serve_client_with_lifecycle(params, transport, mode).await?, None)
        }
        None => {
            let (command, arguments) = BenchServer::stdio_command(&args.revision)?;
            let mut command = Command::new(command);
            command.args(arguments).stdin(Stdio::piped()).stdout(Stdio::piped()).kill_on_drop(true);
            let mut child = command.spawn().context("cannot start the mock server")?;
            let pipes = child.stdout.take().zip(child.stdin.take()).context("the mock server has no pipes")?;
            (serve_client_with_lifecycle(params, pipes, mode).await?, Some(Arc::new(child)))
        }
    };
    let client = Arc::new(client);
    Ok((0..args.in_flight).map(|_| Rmcp { client: Arc::clone(&client), _child: child.clone() }).collect())
}

fn lifecycle(revision: &str) -> anyhow::Result<(InitializeRequestParams, ClientLifecycleMode)> {
    let (version, mode) = match revision {
        LEGACY => (ProtocolVersion::V_2025_11_25, ClientLifecycleMode::Initialize),
        MODERN => {
            let preferred_versions = vec![ProtocolVersion::V_2026_07_28];
            (ProtocolVersion::V_2026_07_28, ClientLifecycleMode::Discover { preferred_versions })
        }
        other => return Err(anyhow!("revision {other} is not measured")),
    };
    let params = InitializeRequestParams::new(ClientCapabilities::default(), Implementation::new("bench", "1"));
    Ok((params.with_protocol_version(version), mode))
}

impl User for Rmcp {
    async fn call(&mut self) -> anyhow::Result<()> {
        let mut params = CallToolRequestParams::new(TOOL);
        params.arguments = arguments().as_object().cloned();
        let result = self.client.call_tool(params).await?;
        let text = result.content.first().and_then(|block| block.as_text());
        check_text(text.map(|text| text.text.as_str()))
    }
}
