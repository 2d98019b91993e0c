//! Baseline servers with a constant response. Each is a process of its own, like the mock server. It exits when its standard
//! input closes, so that none outlives a killed benchmark.

use std::{
    fs,
    io::{self, BufRead as _, BufReader, Read as _, Write as _},
    path::{Path, PathBuf},
    process::ExitCode,
};

use anyhow::Context as _;
use axum::{Router, body::Bytes, http::header::CONTENT_TYPE, routing::post, serve::ListenerExt as _};
use clap::Subcommand;

use crate::{
    error::{CommandError, CommandResult},
    interrupt,
};

/// A baseline server.
#[derive(Debug, Subcommand)]
pub(crate) enum BaselineServer {
    /// Respond to every POST with the bytes of a file.
    #[command(hide = true)]
    BaselineHttp {
        /// File with the response.
        reply: PathBuf,
    },
    /// Respond to every line with the bytes of a file.
    #[command(hide = true)]
    BaselineStdio {
        /// File with the response.
        reply: PathBuf,
    },
}

/// Serves until standard input closes.
pub(super) fn run(server: &BaselineServer) -> CommandResult {
    match server {
        BaselineServer::BaselineHttp { reply } => interrupt::runtime()?.block_on(serve(read(reply)?)),
        BaselineServer::BaselineStdio { reply } => echo(&read(reply)?).map_err(CommandError::environment),
    }
    .map(|()| ExitCode::SUCCESS)
}

fn read(path: &Path) -> Result<Vec<u8>, CommandError> {
    fs::read(path).with_context(|| format!("cannot read {}", path.display())).map_err(CommandError::input)
}

/// The shortest axum server that reads a body and returns JSON.
async fn serve(reply: Vec<u8>) -> Result<(), CommandError> {
    let reply = Bytes::from(reply);
    let handler = move |_: Bytes| std::future::ready(([(CONTENT_TYPE, "application/json")], reply.clone()));
    let socket = tokio::net::TcpListener::bind(("127.0.0.1", 0)).await.map_err(CommandError::environment)?;
    let address = socket.local_addr().map_err(CommandError::environment)?;
    writeln!(io::stdout(), "http://{address}/mcp").map_err(CommandError::environment)?;
    let socket = socket.tap_io(|stream| {
        if let Err(cause) = stream.set_nodelay(true) {
            tracing::debug!(%cause, "no TCP_NODELAY");
        }
    });
    // This blocks a thread of the runtime that no other task needs.
    let input_ended = tokio::task::spawn_blocking(|| io::stdin().lock().read_to_end(&mut Vec::new()));
    let serving = axum::serve(socket, Router::new().route("/mcp", post(handler)));
    tokio::select! {
        served = serving => served.map_err(CommandError::environment),
        _ = input_ended => Ok(()),
    }
}

/// Writes the response for each line. Responses to lines that arrived together are written together.
fn echo(reply: &[u8]) -> io::Result<()> {
    let mut input = BufReader::with_capacity(64 * 1024, io::stdin().lock());
    // The standard library flushes standard output after each line, so the batch is buffered here.
    let (mut batch, mut line) = (Vec::with_capacity(64 * 1024), Vec::new());
    let mut output = io::stdout().lock();
    while input.read_until(b'\n', &mut line)? > 0 {
        line.clear();
        batch.extend_from_slice(reply);
        if !input.buffer().contains(&b'\n') {
            output.write_all(&batch)?;
            output.flush()?;
            batch.clear();
        }
    }
    Ok(())
}
