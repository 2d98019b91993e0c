//! Starts HTTP servers. Over stdio the client starts the server.

use std::{collections::BTreeMap, net::TcpListener, path::Path};

use anyhow::Context as _;
use client::{Endpoint, HttpEndpoint, StdioEndpoint};
use scenarios::model::Transport;

use super::{ServerVariant, TestServer, Workspace};
use crate::interop::{axes::short_name, child, server::Server, tools::Tools};

/// A server that can be connected to.
#[derive(Debug)]
pub(super) struct Launched {
    pub(super) endpoint: Endpoint,
    /// The process of an HTTP server.
    pub(super) server: Option<Server>,
}

/// Command line and environment of a server.
struct Program {
    command: String,
    args: Vec<String>,
    env: BTreeMap<String, String>,
}

/// Starts an HTTP server, or returns the command of a stdio server.
pub(super) async fn launch(
    tools: &Tools,
    variant: ServerVariant,
    workspace: &Workspace,
    directory: &Path,
) -> anyhow::Result<Launched> {
    let Program { command, args, env } = program(tools, variant, workspace);
    if variant.transport == Transport::Stdio {
        let endpoint = StdioEndpoint { command, args, env, ..StdioEndpoint::default() };
        return Ok(Launched { endpoint: Endpoint::Stdio(endpoint), server: None });
    }
    let mut started = child::command(&command)?;
    started.args(&args).envs(&env);
    let process = if variant.server == TestServer::Everything {
        // It prints no URL in a stable format, but accepts a port.
        let port = TcpListener::bind("127.0.0.1:0").context("no free port")?.local_addr()?.port();
        started.env("PORT", port.to_string());
        let path = if variant.transport == Transport::HttpSse { "sse" } else { "mcp" };
        Server::start_at(started, &format!("http://127.0.0.1:{port}/{path}"), directory).await?
    } else {
        Server::start_program(started, variant.server.as_str(), directory).await?
    };
    // The client has to detect the transport.
    let endpoint = Endpoint::Auto(HttpEndpoint { url: process.url.clone(), ..HttpEndpoint::default() });
    Ok(Launched { endpoint, server: Some(process) })
}

fn program(tools: &Tools, variant: ServerVariant, workspace: &Workspace) -> Program {
    let ServerVariant { server, transport, .. } = variant;
    let node = |program: std::path::PathBuf| (tools.node(), vec![program.to_string_lossy().into_owned()]);
    let module = |name: &str| (tools.python(), vec!["-m".to_owned(), name.to_owned()]);
    let (command, mut args) = match server {
        TestServer::Everything | TestServer::Filesystem | TestServer::Memory => {
            node(tools.published_server(server.as_str()))
        }
        TestServer::TypeScript1 | TestServer::TypeScript2 => {
            node(tools.node_program(&format!("server-{}.mjs", server.as_str())))
        }
        TestServer::Python => {
            (tools.python(), vec![tools.python_program("server_python.py").to_string_lossy().into_owned()])
        }
        TestServer::Time => module("mcp_server_time"),
        TestServer::Fetch => module("mcp_server_fetch"),
        TestServer::Git => module("mcp_server_git"),
    };
    args.extend(match server {
        TestServer::Everything if transport == Transport::StreamableHttp => vec!["streamableHttp".to_owned()],
        TestServer::Everything | TestServer::TypeScript1 | TestServer::TypeScript2 | TestServer::Python => {
            vec![short_name(transport).to_owned()]
        }
        TestServer::Fetch => vec!["--allow-private-ips".to_owned()],
        TestServer::Git => vec!["--repository".to_owned(), workspace.text("allowed")],
        // The filesystem server gets its directories from `roots/list`.
        TestServer::Filesystem | TestServer::Memory | TestServer::Time => Vec::new(),
    });
    let env: &[(&str, String)] = match server {
        TestServer::Memory => &[("MEMORY_FILE_PATH", workspace.text("memory.json"))],
        // A proxy would not reach the website.
        TestServer::Fetch => &[("NO_PROXY", "127.0.0.1".to_owned())],
        TestServer::Git => &[
            ("GIT_AUTHOR_NAME", "Ada".to_owned()),
            ("GIT_AUTHOR_EMAIL", "ada@example.com".to_owned()),
            ("GIT_COMMITTER_NAME", "Ada".to_owned()),
            ("GIT_COMMITTER_EMAIL", "ada@example.com".to_owned()),
        ],
        _ => &[],
    };
    let env = env.iter().map(|(name, value)| ((*name).to_owned(), value.clone())).collect();
    Program { command: command.to_string_lossy().into_owned(), args, env }
}
