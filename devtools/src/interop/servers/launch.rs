//! Starts servers: over stdio the client does it, over HTTP they run beside it.

use std::{collections::BTreeMap, net::TcpListener, path::Path};

use anyhow::Context as _;
use client::{Endpoint, HttpEndpoint, StdioEndpoint};

use super::{Kind, Place, Subject};
use crate::interop::{child, sdk::Transport, server::Server, tools::Tools};

/// A server that can be connected to.
#[derive(Debug)]
pub(super) struct Launched {
    pub(super) endpoint: Endpoint,
    /// What runs beside the client.
    pub(super) server: Option<Server>,
}

/// How a server is started.
struct Program {
    command: String,
    args: Vec<String>,
    env: BTreeMap<String, String>,
}

/// Starts a server, or says how the client is to do it.
pub(super) async fn launch(tools: &Tools, subject: Subject, place: &Place, folder: &Path) -> anyhow::Result<Launched> {
    let Program { command, args, env } = program(tools, subject, place);
    if subject.transport == Transport::Stdio {
        let endpoint = StdioEndpoint { command, args, env, ..StdioEndpoint::default() };
        return Ok(Launched { endpoint: Endpoint::Stdio(endpoint), server: None });
    }
    let mut started = child::command(&command)?;
    started.args(&args).envs(&env);
    let server = if subject.kind == Kind::Everything {
        // It does not say where it listens in words that stay, but listens where it is told to.
        let port = TcpListener::bind("127.0.0.1:0").context("no free port")?.local_addr()?.port();
        started.env("PORT", port.to_string());
        let path = if subject.transport == Transport::Sse { "sse" } else { "mcp" };
        Server::start_at(started, &format!("http://127.0.0.1:{port}/{path}"), folder).await?
    } else {
        Server::start_program(started, subject.kind.word(), folder).await?
    };
    // Which of the two transports it is, is for the client to find out.
    let endpoint = Endpoint::Auto(HttpEndpoint { url: server.url.clone(), ..HttpEndpoint::default() });
    Ok(Launched { endpoint, server: Some(server) })
}

fn program(tools: &Tools, subject: Subject, place: &Place) -> Program {
    let Subject { kind, transport, .. } = subject;
    let node = |program: std::path::PathBuf| (tools.node(), vec![program.to_string_lossy().into_owned()]);
    let module = |name: &str| (tools.python(), vec!["-m".to_owned(), name.to_owned()]);
    let (command, mut args) = match kind {
        Kind::Everything | Kind::Filesystem | Kind::Memory => node(tools.published_server(kind.word())),
        Kind::TypeScript1 | Kind::TypeScript2 => node(tools.node_program(&format!("server-{}.mjs", kind.word()))),
        Kind::Python => (tools.python(), vec![tools.python_program("server_python.py").to_string_lossy().into_owned()]),
        Kind::Time => module("mcp_server_time"),
        Kind::Fetch => module("mcp_server_fetch"),
        Kind::Git => module("mcp_server_git"),
    };
    args.extend(match kind {
        Kind::Everything if transport == Transport::Http => vec!["streamableHttp".to_owned()],
        Kind::Everything | Kind::TypeScript1 | Kind::TypeScript2 | Kind::Python => vec![transport.word().to_owned()],
        Kind::Fetch => vec!["--allow-private-ips".to_owned()],
        Kind::Git => vec!["--repository".to_owned(), place.text("allowed")],
        // It is not told its directories: it has to ask for roots.
        Kind::Filesystem | Kind::Memory | Kind::Time => Vec::new(),
    });
    let env: &[(&str, String)] = match kind {
        Kind::Memory => &[("MEMORY_FILE_PATH", place.text("memory.json"))],
        // The website is not to be looked for behind a proxy.
        Kind::Fetch => &[("NO_PROXY", "127.0.0.1".to_owned())],
        Kind::Git => &[
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
