//! The program as a client, and as the server that it is a client of.

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
/// Long enough for any machine; no test waits for it unless it fails.
pub(crate) const BOUND: Duration = Duration::from_secs(60);

/// A server with something of everything, and with tools that are out of the ordinary.
const SCRIPT: &str = "\
extends: everything
tools:
  - name: echo
    description: \"Says it again.\\nIn the same words.\"
    input_schema: { type: object, properties: { text: { type: string }, times: { type: integer } } }
    reply: { text: '{{arguments.text}}', structured: { given: '{{arguments}}' } }
  - { name: stuck, input_schema: { type: object } }
faults: [{ name: silence, fault: silence, when: { method: tools/call, tool: stuck } }]
";

/// How the server is reached.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Way {
    Stdio,
    Http,
    Sse,
    Unix,
}

impl Way {
    pub(crate) const ALL: [Self; 4] = [Self::Stdio, Self::Http, Self::Sse, Self::Unix];
}

/// A server, and the arguments that lead to it. Its process is killed when this is dropped.
pub(crate) struct Server {
    folder: TempDir,
    /// What comes last on the command line.
    pub(crate) place: Vec<String>,
    _process: Option<Child>,
}

impl Server {
    /// Starts it, or lets the client do that.
    pub(crate) async fn start(way: Way) -> Self {
        let folder = tempfile::tempdir().unwrap();
        let (script, record) = (folder.path().join("script.yaml"), folder.path().join("record.jsonl"));
        fs::write(&script, SCRIPT).unwrap();
        let record = ["--record".to_owned(), text(&record)];
        if way == Way::Stdio {
            let command = ["--", PROGRAM, "mock", "stdio"].map(str::to_owned).into_iter();
            return Self { place: command.chain([text(&script)]).chain(record).collect(), folder, _process: None };
        }
        let mut command = Command::new(PROGRAM);
        command.args(["mock", "serve"]).arg(&script).args(record);
        match way {
            Way::Sse => command.args(["--transport", "sse"]),
            Way::Unix => {
                let socket = format!("unix:{}", text(&folder.path().join("mock.sock")));
                command.args(["--listen", &socket])
            }
            _ => &mut command,
        };
        let mut process = command.stdout(Stdio::piped()).kill_on_drop(true).spawn().unwrap();
        let mut lines = BufReader::new(process.stdout.take().unwrap()).lines();
        let url = timeout(BOUND, lines.next_line()).await.expect("a line in time").unwrap().unwrap();
        Self { place: vec!["--url".to_owned(), url], folder, _process: Some(process) }
    }

    /// Runs a command of the client against it.
    pub(crate) async fn client(&self, arguments: &[&str]) -> Ran {
        Ran::of(self.command(arguments)).await
    }

    /// The same, to be started.
    pub(crate) fn command(&self, arguments: &[&str]) -> Command {
        let mut command = command(arguments);
        command.args(&self.place);
        command
    }

    /// The frames that it has seen so far.
    pub(crate) fn frames(&self) -> Vec<Value> {
        let record = fs::read_to_string(self.folder.path().join("record.jsonl")).unwrap_or_default();
        // The last line may be on its way to the file.
        record.lines().filter_map(|line| serde_json::from_str(line).ok()).collect()
    }

    /// Whether a client has sent a message of this method.
    pub(crate) fn heard(&self, method: &str) -> bool {
        self.frames()
            .iter()
            .any(|frame| frame["direction"] == "client-to-server" && frame["body"]["json"]["method"] == method)
    }

    /// Waits until it has.
    pub(crate) async fn until_heard(&self, method: &str) {
        let heard = async {
            while !self.heard(method) {
                tokio::time::sleep(Duration::from_millis(20)).await;
            }
        };
        timeout(BOUND, heard).await.unwrap_or_else(|_| panic!("`{method}` was not heard: {:?}", self.frames()));
    }
}

/// A command of the client, without what the surroundings of the test say.
pub(crate) fn command(arguments: &[&str]) -> Command {
    let mut command = Command::new(PROGRAM);
    command.arg("client").args(arguments).stdin(Stdio::null()).kill_on_drop(true);
    for variable in ["MCP_TIMEOUT", "MCP_TOOL_TIMEOUT", "MCP_WORKBENCH_TIMEOUT", "MCP_WORKBENCH_TOOL_TIMEOUT"] {
        command.env_remove(variable);
    }
    command
}

fn text(path: &Path) -> String {
    PathBuf::from(path).into_os_string().into_string().unwrap()
}

/// A command that came to its end.
#[derive(Debug)]
pub(crate) struct Ran {
    pub(crate) code: Option<i32>,
    pub(crate) stdout: String,
    pub(crate) stderr: String,
}

impl Ran {
    pub(crate) async fn of(mut command: Command) -> Self {
        let output = timeout(BOUND, command.output()).await.expect("an end in time").unwrap();
        Self::from(output)
    }

    /// What it printed as JSON.
    pub(crate) fn json(&self) -> Value {
        serde_json::from_str(&self.stdout).unwrap_or_else(|error| panic!("{error}: {self:?}"))
    }

    /// What it printed, if all went well.
    pub(crate) fn said(&self) -> &str {
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
