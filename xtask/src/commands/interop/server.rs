//! This program as a mock server, in a process of its own.

use std::{fs::File, io::Write as _, path::Path, process::Stdio, time::Duration};

use anyhow::{Context as _, anyhow, bail};
use tokio::io::{AsyncBufReadExt as _, BufReader, Lines};

use super::{
    child::{self, Output, Supervised},
    tools::Tools,
};

/// How long a mock server may take to say where it listens.
const STARTING: Duration = Duration::from_secs(20);

/// A mock server that listens. It ends when this is dropped.
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
        let output = Output::in_folder(folder, "server");
        let mut command = child::command(&tools.workbench)?;
        command.arg("mock").args(arguments);
        command.stdout(Stdio::piped()).stderr(File::create(&output.stderr)?);
        let mut supervised = Supervised::start(command).context("cannot start a mock server")?;
        let stdout = supervised.child.stdout.take().context("no standard output")?;
        let mut lines = BufReader::new(stdout).lines();
        let mut kept = File::create(&output.stdout)?;
        let url = match tokio::time::timeout(STARTING, address(&mut lines, &mut kept)).await {
            Ok(Ok(Some(url))) => url,
            Ok(Ok(None)) => bail!("`mock {}` ended: {}", arguments.join(" "), output.complaint()),
            Ok(Err(error)) => return Err(error).context("cannot read what a mock server says"),
            Err(_) => bail!("`mock {}` has not said where it listens: {}", arguments.join(" "), output.complaint()),
        };
        // It must never wait for somebody to read on.
        tokio::spawn(async move {
            while let Ok(Some(line)) = lines.next_line().await {
                let _ = writeln!(kept, "{line}");
            }
        });
        Ok(Self { url, supervised, output })
    }

    /// Ends it. A server that has ended before did not survive what was done to it.
    pub(super) async fn end(mut self) -> anyhow::Result<()> {
        if let Some(status) = self.supervised.child.try_wait()? {
            return Err(anyhow!("the mock server ended by itself, {status}: {}", self.output.complaint()));
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
