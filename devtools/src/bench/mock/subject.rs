//! The servers that are measured: the mock server of the product, and the bare servers of this program.

use std::{
    env,
    ffi::OsStr,
    fs,
    io::{BufRead as _, BufReader},
    net::SocketAddr,
    path::{Path, PathBuf},
    process::{Child, ChildStdin, ChildStdout, Command, Stdio},
};

use anyhow::{Context as _, anyhow, bail};

use crate::product;

/// The profile that is measured.
const PROFILE: &str = "minimal";

fn this() -> anyhow::Result<PathBuf> {
    env::current_exe().context("cannot find this program")
}

fn stdio_arguments(revision: &str) -> [&str; 5] {
    ["mock", "stdio", PROFILE, "--revision", revision]
}

/// A process that serves. Dropping it ends it.
#[derive(Debug)]
pub(in crate::bench) struct Subject {
    child: Child,
    stdout: Option<BufReader<ChildStdout>>,
}

impl Subject {
    /// `mock serve` over Streamable HTTP.
    pub(in crate::bench) fn mock_http(revision: &str) -> anyhow::Result<(Self, SocketAddr)> {
        let arguments =
            ["mock", "serve", PROFILE, "--transport", "http", "--listen", "127.0.0.1:0", "--revision", revision];
        Self::start(&product()?, arguments)?.listening()
    }

    /// `mock stdio`.
    pub(super) fn mock_stdio(revision: &str) -> anyhow::Result<Self> {
        Self::start(&product()?, stdio_arguments(revision))
    }

    /// The command that is `mock stdio`, for a client that starts its server itself.
    pub(in crate::bench) fn stdio_command(revision: &str) -> anyhow::Result<(String, Vec<String>)> {
        let program =
            product()?.into_os_string().into_string().map_err(|_| anyhow!("this program's path is no text"))?;
        Ok((program, stdio_arguments(revision).map(str::to_owned).to_vec()))
    }

    /// The bare HTTP server that gives this reply.
    pub(super) fn bare_http(reply: &Path) -> anyhow::Result<(Self, SocketAddr)> {
        Self::start(&this()?, [OsStr::new("bench"), "mock".as_ref(), "bare-http".as_ref(), reply.as_ref()])?.listening()
    }

    /// The bare child that gives this reply to each line.
    pub(super) fn bare_stdio(reply: &Path) -> anyhow::Result<Self> {
        Self::start(&this()?, [OsStr::new("bench"), "mock".as_ref(), "bare-stdio".as_ref(), reply.as_ref()])
    }

    fn start(program: &Path, arguments: impl IntoIterator<Item = impl AsRef<OsStr>>) -> anyhow::Result<Self> {
        let mut child = Command::new(program)
            .args(arguments)
            .stdin(Stdio::piped())
            .stdout(Stdio::piped())
            .spawn()
            .context("cannot start a server to measure")?;
        let stdout = child.stdout.take().map(BufReader::new);
        Ok(Self { child, stdout })
    }

    /// Waits for the URL that the server prints when it listens.
    fn listening(mut self) -> anyhow::Result<(Self, SocketAddr)> {
        let stdout = self.stdout.as_mut().ok_or_else(|| anyhow!("the server has no standard output"))?;
        let mut line = String::new();
        loop {
            line.clear();
            if stdout.read_line(&mut line).context("cannot read what the server prints")? == 0 {
                bail!("the server ended before it listened");
            }
            if let Some(address) = address(&line) {
                return Ok((self, address));
            }
        }
    }

    /// Its standard input and output.
    pub(super) fn pipes(&mut self) -> anyhow::Result<(ChildStdin, ChildStdout)> {
        let stdin = self.child.stdin.take().ok_or_else(|| anyhow!("the server's input is taken"))?;
        let stdout = self.stdout.take().ok_or_else(|| anyhow!("the server's output is taken"))?;
        Ok((stdin, stdout.into_inner()))
    }

    /// Its resident memory in bytes.
    pub(super) fn memory(&self) -> anyhow::Result<u64> {
        let id = self.child.id();
        let path = format!("/proc/{id}/status");
        let kilobytes = match fs::read_to_string(path) {
            Ok(status) => status.lines().find_map(|line| line.strip_prefix("VmRSS:")).map(|rest| rest.to_owned()),
            // Not on every system is there a /proc.
            Err(_) => {
                let shown = Command::new("ps").args(["-o", "rss=", "-p", &id.to_string()]).output();
                Some(String::from_utf8_lossy(&shown.context("cannot ask for the server's memory")?.stdout).into_owned())
            }
        };
        let number = kilobytes.as_deref().and_then(|text| text.split_whitespace().next()?.parse::<u64>().ok());
        Ok(number.ok_or_else(|| anyhow!("the system does not tell the server's memory"))? * 1024)
    }

    /// Fails if the server has ended, which nobody told it to.
    pub(super) fn must_live(&mut self) -> anyhow::Result<()> {
        match self.child.try_wait().context("cannot look after the server")? {
            None => Ok(()),
            Some(status) => bail!("the server ended by itself: {status}"),
        }
    }
}

impl Drop for Subject {
    fn drop(&mut self) {
        // One that has ended already needs no more than to be waited for.
        let _ = self.child.kill();
        let _ = self.child.wait();
    }
}

/// The address in a line that holds an `http:` URL.
fn address(line: &str) -> Option<SocketAddr> {
    let rest = line.split_once("http://")?.1;
    rest.split(['/', ' ', '\n', '"']).next()?.parse().ok()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn reads_the_address_in_what_a_server_prints() {
        let expected = Some(SocketAddr::from(([127, 0, 0, 1], 4711)));
        assert_eq!(address("http://127.0.0.1:4711/mcp\n"), expected);
        assert_eq!(address("listening on http://127.0.0.1:4711\n"), expected);
        assert_eq!(address("starting\n"), None);
    }
}
