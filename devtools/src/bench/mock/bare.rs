//! What the mock is measured against: servers that do nothing but give a fixed reply. Each is a process of its own, as
//! the mock is, and ends when its standard input does, so that none outlives a bench that was killed.

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

/// A bare server.
#[derive(Debug, Subcommand)]
pub(crate) enum Bare {
    /// Answer every POST with the bytes of a file.
    #[command(hide = true)]
    BareHttp {
        /// The file.
        reply: PathBuf,
    },
    /// Answer every line with the bytes of a file.
    #[command(hide = true)]
    BareStdio {
        /// The file.
        reply: PathBuf,
    },
}

/// Serves until standard input ends.
pub(super) fn run(bare: &Bare) -> CommandResult {
    match bare {
        Bare::BareHttp { reply } => interrupt::runtime()?.block_on(serve(read(reply)?)),
        Bare::BareStdio { reply } => echo(&read(reply)?).map_err(CommandError::environment),
    }
    .map(|()| ExitCode::SUCCESS)
}

fn read(path: &Path) -> Result<Vec<u8>, CommandError> {
    fs::read(path).with_context(|| format!("cannot read {}", path.display())).map_err(CommandError::input)
}

/// The shortest axum server that takes a body and gives one back as JSON.
async fn serve(reply: Vec<u8>) -> Result<(), CommandError> {
    let reply = Bytes::from(reply);
    let answer = move |_: Bytes| std::future::ready(([(CONTENT_TYPE, "application/json")], reply.clone()));
    let socket = tokio::net::TcpListener::bind(("127.0.0.1", 0)).await.map_err(CommandError::environment)?;
    let address = socket.local_addr().map_err(CommandError::environment)?;
    writeln!(io::stdout(), "http://{address}/mcp").map_err(CommandError::environment)?;
    let socket = socket.tap_io(|stream| {
        if let Err(cause) = stream.set_nodelay(true) {
            tracing::debug!(%cause, "no TCP_NODELAY");
        }
    });
    // A thread of the runtime may block on the input: nothing else uses it.
    let input_ended = tokio::task::spawn_blocking(|| io::stdin().lock().read_to_end(&mut Vec::new()));
    let serving = axum::serve(socket, Router::new().route("/mcp", post(answer)));
    tokio::select! {
        served = serving => served.map_err(CommandError::environment),
        _ = input_ended => Ok(()),
    }
}

/// Writes the reply for each line; the replies to lines that came together go out together.
fn echo(reply: &[u8]) -> io::Result<()> {
    let mut input = BufReader::with_capacity(64 * 1024, io::stdin().lock());
    // Locked and unbuffered but for this: standard output of its own accord writes out every line.
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
