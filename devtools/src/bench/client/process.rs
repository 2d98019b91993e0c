//! The processes of the measured clients.

use std::{
    env,
    ffi::OsString,
    fs,
    io::{BufRead as _, BufReader, Write as _},
    path::PathBuf,
    process::{Child, ChildStdin, ChildStdout, Command, Stdio},
    time::Duration,
};

use anyhow::{Context as _, anyhow};

use super::{
    super::mock::BenchServer,
    caller::{Figures, Kind},
};
use crate::root;

/// The program on the TypeScript SDK. It is copied to the directory of the SDK.
const TYPESCRIPT: (&str, &str) = ("bench.mjs", include_str!("../../../interop/bench.mjs"));

/// The load of one row.
#[derive(Debug)]
pub(super) struct Load {
    /// URL of the server; `None` over stdio.
    pub(super) url: Option<String>,
    pub(super) revision: &'static str,
    pub(super) in_flight: usize,
}

impl Load {
    pub(super) fn transport(&self) -> &'static str {
        if self.url.is_some() { "http" } else { "stdio" }
    }

    fn arguments(&self) -> Vec<OsString> {
        let mut arguments: Vec<OsString> =
            vec!["--revision".into(), self.revision.into(), "--in-flight".into(), self.in_flight.to_string().into()];
        if let Some(url) = &self.url {
            arguments.extend(["--url".into(), url.into()]);
        }
        arguments
    }
}

/// A connected client. Dropping it stops its process.
#[derive(Debug)]
pub(super) struct BenchClient {
    pub(super) name: &'static str,
    child: Child,
    input: Option<ChildStdin>,
    output: BufReader<ChildStdout>,
}

impl BenchClient {
    /// Starts a client of this program.
    pub(super) fn start(kind: Kind, load: &Load) -> anyhow::Result<Self> {
        let mut command = Command::new(env::current_exe().context("cannot find this program")?);
        command.args(["bench", "client", "caller", kind.name()]).args(load.arguments());
        Self::spawn(kind.name(), command)
    }

    /// Starts the client on the TypeScript SDK, if `interop` has installed it.
    pub(super) fn typescript(load: &Load) -> anyhow::Result<Option<Self>> {
        let Some(directory) = installed() else { return Ok(None) };
        let program = directory.join(TYPESCRIPT.0);
        fs::write(&program, TYPESCRIPT.1).with_context(|| format!("cannot write {}", program.display()))?;
        let mut command = Command::new(directory.join("node_modules/node/bin/node"));
        // Node.js warns of the number of listeners that the SDK adds.
        command.arg("--no-warnings").arg(program).args(load.arguments());
        if load.url.is_none() {
            let (server, arguments) = BenchServer::stdio_command(load.revision)?;
            command.arg("--").arg(server).args(arguments);
        }
        Self::spawn("typescript", command).map(Some)
    }

    fn spawn(name: &'static str, mut command: Command) -> anyhow::Result<Self> {
        command.stdin(Stdio::piped()).stdout(Stdio::piped());
        let mut child = command.spawn().with_context(|| format!("cannot start the client `{name}`"))?;
        let input = child.stdin.take();
        let output = child.stdout.take().ok_or_else(|| anyhow!("the client `{name}` has no standard output"))?;
        Ok(Self { name, child, input, output: BufReader::new(output) })
    }

    /// Calls for this time and returns the measurement.
    pub(super) fn call(&mut self, each: Duration) -> anyhow::Result<Figures> {
        let sent = self.input.as_mut().map(|input| writeln!(input, "{}", each.as_millis()));
        let mut line = String::new();
        let read = sent.transpose().and_then(|_| self.output.read_line(&mut line));
        match read {
            Ok(read) if read > 0 => serde_json::from_str(&line)
                .with_context(|| format!("`{}` printed {line:?} instead of a measurement", self.name)),
            _ => Err(anyhow!("the client `{}` exited without a measurement; its error is above", self.name)),
        }
    }
}

impl Drop for BenchClient {
    fn drop(&mut self) {
        // A client exits when its input closes, after it has stopped its server.
        self.input = None;
        let mut rest = String::new();
        let _ = std::io::Read::read_to_string(&mut self.output, &mut rest);
        let _ = self.child.wait();
    }
}

/// Whether the TypeScript SDK is installed.
pub(super) fn has_typescript() -> bool {
    installed().is_some()
}

/// The directory in which `interop` installs packages of npm.
fn installed() -> Option<PathBuf> {
    let directory = root().join("interop/node");
    let exists = |path: &str| directory.join(path).exists();
    (exists("node_modules/node/bin/node") && exists("node_modules/@modelcontextprotocol/client")).then_some(directory)
}
