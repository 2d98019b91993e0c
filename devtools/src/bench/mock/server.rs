//! The measured servers: the mock server of the product and the baseline servers of this program.

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

/// The measured profile.
const PROFILE: &str = "minimal";

fn this() -> anyhow::Result<PathBuf> {
    env::current_exe().context("cannot find this program")
}

fn stdio_arguments(revision: &str) -> [&str; 5] {
    ["mock", "stdio", PROFILE, "--revision", revision]
}

/// The process of a server. Dropping it stops the process.
#[derive(Debug)]
pub(in crate::bench) struct BenchServer {
    child: Child,
    stdout: Option<BufReader<ChildStdout>>,
}

impl BenchServer {
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

    /// The command of `mock stdio`, for a client that starts its server.
    pub(in crate::bench) fn stdio_command(revision: &str) -> anyhow::Result<(String, Vec<String>)> {
        let program =
            product()?.into_os_string().into_string().map_err(|_| anyhow!("the path of the product is not UTF-8"))?;
        Ok((program, stdio_arguments(revision).map(str::to_owned).to_vec()))
    }

    /// The baseline HTTP server with this response.
    pub(super) fn baseline_http(reply: &Path) -> anyhow::Result<(Self, SocketAddr)> {
        Self::start(&this()?, [OsStr::new("bench"), "mock".as_ref(), "baseline-http".as_ref(), reply.as_ref()])?
            .listening()
    }

    /// The baseline stdio server with this response.
    pub(super) fn baseline_stdio(reply: &Path) -> anyhow::Result<Self> {
        Self::start(&this()?, [OsStr::new("bench"), "mock".as_ref(), "baseline-stdio".as_ref(), reply.as_ref()])
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

    /// Waits until the server prints its URL.
    fn listening(mut self) -> anyhow::Result<(Self, SocketAddr)> {
        let stdout = self.stdout.as_mut().ok_or_else(|| anyhow!("the server has no standard output"))?;
        let mut line = String::new();
        loop {
            line.clear();
            if stdout.read_line(&mut line).context("cannot read the output of the server")? == 0 {
                bail!("the server exited before it listened");
            }
            if let Some(address) = address(&line) {
                return Ok((self, address));
            }
        }
    }

    /// Its standard input and output.
    pub(super) fn pipes(&mut self) -> anyhow::Result<(ChildStdin, ChildStdout)> {
        let stdin = self.child.stdin.take().ok_or_else(|| anyhow!("the server has no standard input"))?;
        let stdout = self.stdout.take().ok_or_else(|| anyhow!("the server has no standard output"))?;
        Ok((stdin, stdout.into_inner()))
    }

    /// Its resident memory in bytes.
    pub(super) fn memory(&self) -> anyhow::Result<u64> {
        let id = self.child.id();
        let path = format!("/proc/{id}/status");
        let kilobytes = match fs::read_to_string(path) {
            Ok(status) => status.lines().find_map(|line| line.strip_prefix("VmRSS:")).map(|rest| rest.to_owned()),
            // Other systems have no /proc.
            Err(_) => {
                let output = Command::new("ps").args(["-o", "rss=", "-p", &id.to_string()]).output();
                Some(String::from_utf8_lossy(&output.context("cannot run `ps`")?.stdout).into_owned())
            }
        };
        let number = kilobytes.as_deref().and_then(|text| text.split_whitespace().next()?.parse::<u64>().ok());
        Ok(number.ok_or_else(|| anyhow!("cannot read the memory of the server"))? * 1024)
    }

    /// Fails if the server has exited.
    pub(super) fn require_running(&mut self) -> anyhow::Result<()> {
        match self.child.try_wait().context("cannot check the process of the server")? {
            None => Ok(()),
            Some(status) => bail!("the server exited: {status}"),
        }
    }
}

impl Drop for BenchServer {
    fn drop(&mut self) {
        // Killing an exited process has no effect.
        let _ = self.child.kill();
        let _ = self.child.wait();
    }
}

/// The address in a line with an `http:` URL.
fn address(line: &str) -> Option<SocketAddr> {
    let rest = line.split_once("http://")?.1;
    rest.split(['/', ' ', '\n', '"']).next()?.parse().ok()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn reads_the_address_in_the_output() {
        let expected = Some(SocketAddr::from(([127, 0, 0, 1], 4711)));
        assert_eq!(address("http://127.0.0.1:4711/mcp\n"), expected);
        assert_eq!(address("listening on http://127.0.0.1:4711\n"), expected);
        assert_eq!(address("starting\n"), None);
    }
}
