//! A listening server in a process of its own: a mock server of the product, or another program.

use std::{
    fs::File,
    io::Write as _,
    path::Path,
    process::{Command, Stdio},
    time::Duration,
};

use anyhow::{Context as _, anyhow, bail};
use tokio::{
    io::{AsyncBufReadExt as _, BufReader, Lines},
    net::TcpStream,
};
use url::Url;

use super::{
    child::{self, Output, Supervised},
    tools::Tools,
};

/// Timeout until a server listens.
const START_TIMEOUT: Duration = Duration::from_secs(20);
/// Interval between connection attempts.
const RETRY_INTERVAL: Duration = Duration::from_millis(50);

/// A listening server. Dropping it stops the server.
#[derive(Debug)]
pub(super) struct Server {
    /// URL of the server.
    pub(super) url: String,
    supervised: Supervised,
    output: Output,
}

impl Server {
    /// Starts `mcp-workbench mock …`. Its output is written to the directory.
    pub(super) async fn start(tools: &Tools, arguments: &[&str], directory: &Path) -> anyhow::Result<Self> {
        let mut command = child::command(&tools.workbench)?;
        command.arg("mock").args(arguments);
        Self::start_program(command, &format!("mock {}", arguments.join(" ")), directory).await
    }

    /// Starts a program that prints its URL.
    pub(super) async fn start_program(mut command: Command, what: &str, directory: &Path) -> anyhow::Result<Self> {
        let output = Output::in_directory(directory, "server");
        command.stdout(Stdio::piped()).stderr(File::create(&output.stderr)?);
        let mut supervised = Supervised::start(command).with_context(|| format!("cannot start `{what}`"))?;
        let stdout = supervised.child.stdout.take().context("no standard output")?;
        let mut lines = BufReader::new(stdout).lines();
        let mut log = File::create(&output.stdout)?;
        let url = match tokio::time::timeout(START_TIMEOUT, first_url(&mut lines, &mut log)).await {
            Ok(Ok(Some(url))) => url,
            Ok(Ok(None)) => bail!("`{what}` exited: {}", output.last_lines()),
            Ok(Err(error)) => return Err(error).with_context(|| format!("cannot read the output of `{what}`")),
            Err(_) => bail!("`{what}` printed no URL: {}", output.last_lines()),
        };
        // A full pipe would block the server.
        tokio::spawn(async move {
            while let Ok(Some(line)) = lines.next_line().await {
                let _ = writeln!(log, "{line}");
            }
        });
        Ok(Self { url, supervised, output })
    }

    /// Starts a program that listens at a given URL, and waits until it accepts connections.
    pub(super) async fn start_at(mut command: Command, url: &str, directory: &Path) -> anyhow::Result<Self> {
        let output = Output::in_directory(directory, "server");
        command.stdout(File::create(&output.stdout)?).stderr(File::create(&output.stderr)?);
        let at = Url::parse(url)?;
        let address = at.socket_addrs(|| None)?.first().copied().context("the URL has no host")?;
        let server = Self {
            url: url.to_owned(),
            supervised: Supervised::start(command).with_context(|| format!("cannot start the server of {url}"))?,
            output,
        };
        let listening = async {
            while TcpStream::connect(address).await.is_err() {
                tokio::time::sleep(RETRY_INTERVAL).await;
            }
        };
        match tokio::time::timeout(START_TIMEOUT, listening).await {
            Ok(()) => Ok(server),
            Err(_) => bail!("no server listens at {url}: {}", server.output.last_lines()),
        }
    }

    /// Stops the server. Fails if it has exited before.
    pub(super) async fn stop(mut self) -> anyhow::Result<()> {
        if let Some(status) = self.supervised.child.try_wait()? {
            return Err(anyhow!("the server exited, {status}: {}", self.output.last_lines()));
        }
        self.supervised.stop().await;
        Ok(())
    }
}

/// The first URL in the output.
async fn first_url<R>(lines: &mut Lines<R>, log: &mut File) -> std::io::Result<Option<String>>
where
    R: tokio::io::AsyncBufRead + Unpin,
{
    while let Some(line) = lines.next_line().await? {
        writeln!(log, "{line}")?;
        if let Some(url) = url_in(&line) {
            return Ok(Some(url));
        }
    }
    Ok(None)
}

fn url_in(line: &str) -> Option<String> {
    let start = line.find("http://").or_else(|| line.find("https://"))?;
    let ends = |character: char| character.is_whitespace() || "\"'<>,)".contains(character);
    let url = &line[start..];
    Some(url[..url.find(ends).unwrap_or(url.len())].to_owned())
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn finds_the_url_in_the_output() {
        for line in [
            "listening on http://127.0.0.1:1/mcp (two eras)",
            "{\"url\":\"http://127.0.0.1:1/mcp\"}",
            "http://127.0.0.1:1/mcp",
        ] {
            assert_eq!(url_in(line).as_deref(), Some("http://127.0.0.1:1/mcp"), "{line}");
        }
        assert_eq!(url_in("starting"), None);
    }
}
