//! A server that listens, in a process of its own: this program as a mock server, or somebody else's.

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

/// How long a server may take to say where it listens, or to listen there.
const STARTING: Duration = Duration::from_secs(20);
/// How often to try whether it does.
const KNOCK: Duration = Duration::from_millis(50);

/// A server that listens. It ends when this is dropped.
#[derive(Debug)]
pub(super) struct Server {
    /// Where it listens.
    pub(super) url: String,
    supervised: Supervised,
    output: Output,
}

impl Server {
    /// Starts `mcp-workbench mock …`; its output is kept in the folder.
    pub(super) async fn start(tools: &Tools, arguments: &[&str], folder: &Path) -> anyhow::Result<Self> {
        let mut command = child::command(&tools.workbench)?;
        command.arg("mock").args(arguments);
        Self::start_program(command, &format!("mock {}", arguments.join(" ")), folder).await
    }

    /// Starts a program that prints where it listens.
    pub(super) async fn start_program(mut command: Command, what: &str, folder: &Path) -> anyhow::Result<Self> {
        let output = Output::in_folder(folder, "server");
        command.stdout(Stdio::piped()).stderr(File::create(&output.stderr)?);
        let mut supervised = Supervised::start(command).with_context(|| format!("cannot start `{what}`"))?;
        let stdout = supervised.child.stdout.take().context("no standard output")?;
        let mut lines = BufReader::new(stdout).lines();
        let mut kept = File::create(&output.stdout)?;
        let url = match tokio::time::timeout(STARTING, address(&mut lines, &mut kept)).await {
            Ok(Ok(Some(url))) => url,
            Ok(Ok(None)) => bail!("`{what}` ended: {}", output.complaint()),
            Ok(Err(error)) => return Err(error).with_context(|| format!("cannot read what `{what}` says")),
            Err(_) => bail!("`{what}` has not said where it listens: {}", output.complaint()),
        };
        // It must never wait for somebody to read on.
        tokio::spawn(async move {
            while let Ok(Some(line)) = lines.next_line().await {
                let _ = writeln!(kept, "{line}");
            }
        });
        Ok(Self { url, supervised, output })
    }

    /// Starts a program that was told where to listen, and waits until it does.
    pub(super) async fn start_at(mut command: Command, url: &str, folder: &Path) -> anyhow::Result<Self> {
        let output = Output::in_folder(folder, "server");
        command.stdout(File::create(&output.stdout)?).stderr(File::create(&output.stderr)?);
        let at = Url::parse(url)?;
        let place = at.socket_addrs(|| None)?.first().copied().context("the address has no host")?;
        let server = Self {
            url: url.to_owned(),
            supervised: Supervised::start(command).with_context(|| format!("cannot start the server of {url}"))?,
            output,
        };
        let listening = async {
            while TcpStream::connect(place).await.is_err() {
                tokio::time::sleep(KNOCK).await;
            }
        };
        match tokio::time::timeout(STARTING, listening).await {
            Ok(()) => Ok(server),
            Err(_) => bail!("nobody listens at {url}: {}", server.output.complaint()),
        }
    }

    /// Ends it. A server that has ended before did not survive what was done to it.
    pub(super) async fn end(mut self) -> anyhow::Result<()> {
        if let Some(status) = self.supervised.child.try_wait()? {
            return Err(anyhow!("the server ended by itself, {status}: {}", self.output.complaint()));
        }
        self.supervised.end().await;
        Ok(())
    }
}

/// The first URL that it prints.
async fn address<R>(lines: &mut Lines<R>, kept: &mut File) -> std::io::Result<Option<String>>
where
    R: tokio::io::AsyncBufRead + Unpin,
{
    while let Some(line) = lines.next_line().await? {
        writeln!(kept, "{line}")?;
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
    fn finds_the_url_in_what_a_server_prints() {
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
