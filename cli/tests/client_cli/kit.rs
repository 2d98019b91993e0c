//! Runs client commands, and the mock servers that they connect to.

use std::{
    fs,
    path::{Path, PathBuf},
    process::{Output, Stdio},
    time::Duration,
};

use serde_json::Value;
use tempfile::TempDir;
use tokio::{
    io::{AsyncBufReadExt as _, BufReader},
    process::{Child, Command},
    time::timeout,
};

/// The program.
pub(crate) const PROGRAM: &str = env!("CARGO_BIN_EXE_mcp-workbench");
/// Timeout of each wait. Only a failing test waits for it.
pub(crate) const TIMEOUT: Duration = Duration::from_secs(60);

/// A server with the profile `everything` and special tools.
const SCRIPT: &str = "\
extends: everything
tools:
  - name: echo
    description: \"Says it again.\\nIn the same words.\"
    input_schema: { type: object, properties: { text: { type: string }, times: { type: integer } } }
    reply: { text: '{{arguments.text}}', structured: { given: '{{arguments}}' } }
  - { name: stuck, input_schema: { type: object } }
skills: [{ path: changed, description: A skill., files: { a.md: { text: new, digest: 'sha256:00' } } }]
faults: [{ name: silence, fault: silence, when: { method: tools/call, tool: stuck } }]
";

/// Transport of a test; `Unix` is Streamable HTTP over a Unix socket.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum TestTransport {
    Stdio,
    Http,
    Sse,
    Unix,
}

impl TestTransport {
    pub(crate) const ALL: [Self; 4] = [Self::Stdio, Self::Http, Self::Sse, Self::Unix];
}

/// A server. Its process is killed when this is dropped.
pub(crate) struct Server {
    directory: TempDir,
    /// The last arguments of a client command, which name the server.
    pub(crate) arguments: Vec<String>,
    _process: Option<Child>,
}

impl Server {
    /// Starts an HTTP server; the client starts a stdio server.
    pub(crate) async fn start(transport: TestTransport) -> Self {
        let directory = tempfile::tempdir().unwrap();
        let (script, record) = (directory.path().join("script.yaml"), directory.path().join("record.jsonl"));
        fs::write(&script, SCRIPT).unwrap();
        let record = ["--record".to_owned(), text(&record)];
        if transport == TestTransport::Stdio {
            let command = ["--", PROGRAM, "mock", "stdio"].map(str::to_owned).into_iter();
            return Self {
                arguments: command.chain([text(&script)]).chain(record).collect(),
                directory,
                _process: None,
            };
        }
        let mut command = Command::new(PROGRAM);
        command.args(["mock", "serve"]).arg(&script).args(record);
        match transport {
            TestTransport::Sse => command.args(["--transport", "sse"]),
            TestTransport::Unix => {
                let socket = format!("unix:{}", text(&directory.path().join("mock.sock")));
                command.args(["--listen", &socket])
            }
            _ => &mut command,
        };
        let mut process = command.stdout(Stdio::piped()).kill_on_drop(true).spawn().unwrap();
        let mut lines = BufReader::new(process.stdout.take().unwrap()).lines();
        let url = timeout(TIMEOUT, lines.next_line()).await.expect("a line within the timeout").unwrap().unwrap();
        Self { arguments: vec!["--url".to_owned(), url], directory, _process: Some(process) }
    }

    /// Runs a client command with this server.
    pub(crate) async fn client(&self, arguments: &[&str]) -> Ran {
        Ran::run(self.command(arguments)).await
    }

    /// A client command with this server.
    pub(crate) fn command(&self, arguments: &[&str]) -> Command {
        let mut command = command(arguments);
        command.args(&self.arguments);
        command
    }

    /// The recorded frames.
    pub(crate) fn frames(&self) -> Vec<Value> {
        let record = fs::read_to_string(self.directory.path().join("record.jsonl")).unwrap_or_default();
        // The last line may be incomplete.
        record.lines().filter_map(|line| serde_json::from_str(line).ok()).collect()
    }

    /// Whether the server has received a message with this method.
    pub(crate) fn has_received(&self, method: &str) -> bool {
        self.frames()
            .iter()
            .any(|frame| frame["direction"] == "client-to-server" && frame["body"]["json"]["method"] == method)
    }

    /// Waits for a message with this method.
    pub(crate) async fn wait_for(&self, method: &str) {
        let received = async {
            while !self.has_received(method) {
                tokio::time::sleep(Duration::from_millis(20)).await;
            }
        };
        timeout(TIMEOUT, received).await.unwrap_or_else(|_| panic!("`{method}` was not received: {:?}", self.frames()));
    }
}

/// A client command without the variables of the environment.
pub(crate) fn command(arguments: &[&str]) -> Command {
    let mut command = Command::new(PROGRAM);
    command.arg("client").args(arguments).stdin(Stdio::null()).kill_on_drop(true);
    // The rules of the user who runs the tests do not apply.
    command.env("MCP_WORKBENCH_CONFIG_DIR", env!("CARGO_TARGET_TMPDIR"));
    for variable in [
        "MCP_TIMEOUT",
        "MCP_TOOL_TIMEOUT",
        "MCP_WORKBENCH_TIMEOUT",
        "MCP_WORKBENCH_TOOL_TIMEOUT",
        "MAX_MCP_OUTPUT_TOKENS",
        "MCP_WORKBENCH_MAX_OUTPUT_TOKENS",
        "ENABLE_TOOL_SEARCH",
        "MCP_WORKBENCH_TOOL_SEARCH",
    ] {
        command.env_remove(variable);
    }
    command
}

fn text(path: &Path) -> String {
    PathBuf::from(path).into_os_string().into_string().unwrap()
}

/// Result of a command.
#[derive(Debug)]
pub(crate) struct Ran {
    pub(crate) code: Option<i32>,
    pub(crate) stdout: String,
    pub(crate) stderr: String,
}

impl Ran {
    pub(crate) async fn run(mut command: Command) -> Self {
        let output = timeout(TIMEOUT, command.output()).await.expect("an exit within the timeout").unwrap();
        Self::from(output)
    }

    /// Standard output as JSON.
    pub(crate) fn json(&self) -> Value {
        serde_json::from_str(&self.stdout).unwrap_or_else(|error| panic!("{error}: {self:?}"))
    }

    /// Standard output of a successful command.
    pub(crate) fn success(&self) -> &str {
        assert_eq!(self.code, Some(0), "{self:?}");
        &self.stdout
    }
}

impl From<Output> for Ran {
    fn from(output: Output) -> Self {
        let text = |bytes| String::from_utf8(bytes).unwrap();
        Self { code: output.status.code(), stdout: text(output.stdout), stderr: text(output.stderr) }
    }
}
