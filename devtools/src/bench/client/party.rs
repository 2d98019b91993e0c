//! The processes of the clients that are measured.

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
    super::mock::Server,
    caller::{Figures, Kind},
};
use crate::root;

/// The program that drives the TypeScript SDK. It is copied to where the SDK is found.
const TYPESCRIPT: (&str, &str) = ("bench.mjs", include_str!("../../../interop/bench.mjs"));

/// What the callers of one row have to do.
#[derive(Debug)]
pub(super) struct Load {
    /// The server's URL; none over stdio.
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

/// A client, ready to call. Dropping it ends it.
#[derive(Debug)]
pub(super) struct Party {
    pub(super) name: &'static str,
    child: Child,
    input: Option<ChildStdin>,
    output: BufReader<ChildStdout>,
}

impl Party {
    /// A caller of this program.
    pub(super) fn start(kind: Kind, load: &Load) -> anyhow::Result<Self> {
        let mut command = Command::new(env::current_exe().context("cannot find this program")?);
        command.args(["bench", "client", "caller", kind.name()]).args(load.arguments());
        Self::spawn(kind.name(), command)
    }

    /// The TypeScript SDK, where `interop` has installed it.
    pub(super) fn typescript(load: &Load) -> anyhow::Result<Option<Self>> {
        let Some(folder) = installed() else { return Ok(None) };
        let program = folder.join(TYPESCRIPT.0);
        fs::write(&program, TYPESCRIPT.1).with_context(|| format!("cannot write {}", program.display()))?;
        let mut command = Command::new(folder.join("node_modules/node/bin/node"));
        // The SDK keeps more listeners on one signal than Node likes.
        command.arg("--no-warnings").arg(program).args(load.arguments());
        if load.url.is_none() {
            let (server, arguments) = Server::stdio_command(load.revision)?;
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

    /// Has it call for this time.
    pub(super) fn call(&mut self, each: Duration) -> anyhow::Result<Figures> {
        let asked = self.input.as_mut().map(|input| writeln!(input, "{}", each.as_millis()));
        let mut line = String::new();
        let read = asked.transpose().and_then(|_| self.output.read_line(&mut line));
        match read {
            Ok(read) if read > 0 => {
                serde_json::from_str(&line).with_context(|| format!("`{}` says {line:?} instead of figures", self.name))
            }
            _ => Err(anyhow!("the client `{}` ended before its figures; it says why above", self.name)),
        }
    }
}

impl Drop for Party {
    fn drop(&mut self) {
        // The end of its input is the end of a caller, which first ends what it has started itself.
        self.input = None;
        let mut rest = String::new();
        let _ = std::io::Read::read_to_string(&mut self.output, &mut rest);
        let _ = self.child.wait();
    }
}

/// Whether there is a TypeScript SDK to measure.
pub(super) fn has_typescript() -> bool {
    installed().is_some()
}

/// Where `interop` installs what comes from npm.
fn installed() -> Option<PathBuf> {
    let folder = root().join("interop/node");
    let is_there = |path: &str| folder.join(path).exists();
    (is_there("node_modules/node/bin/node") && is_there("node_modules/@modelcontextprotocol/client")).then_some(folder)
}
