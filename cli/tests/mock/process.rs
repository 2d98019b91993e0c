//! The program as a child process.

use std::{os::unix::process::ExitStatusExt as _, process::Stdio, time::Duration};

use rustix::process::{Pid, Signal, kill_process};
use serde_json::Value;
use tokio::{
    io::{AsyncBufReadExt as _, AsyncReadExt as _, AsyncWriteExt as _, BufReader, Lines},
    process::{Child, ChildStderr, ChildStdin, ChildStdout, Command},
    time::timeout,
};

/// Timeout of each wait. Only a failing test waits for it.
const TIMEOUT: Duration = Duration::from_secs(30);

/// A running process, which is killed when this is dropped.
pub(crate) struct Process {
    child: Child,
    stdin: Option<ChildStdin>,
    lines: Lines<BufReader<ChildStdout>>,
    /// Standard error, once a line of it was read.
    errors: Option<Lines<BufReader<ChildStderr>>>,
}

/// Result of a process.
#[derive(Debug, PartialEq, Eq)]
pub(crate) struct Exit {
    /// Exit code; `None` after a signal.
    pub(crate) code: Option<i32>,
    /// The signal that terminated it.
    pub(crate) signal: Option<i32>,
    /// Standard error.
    pub(crate) stderr: String,
}

impl Process {
    pub(crate) fn start(arguments: &[&str]) -> Self {
        let mut command = Command::new(env!("CARGO_BIN_EXE_mcp-workbench"));
        command.args(arguments).stdin(Stdio::piped()).stdout(Stdio::piped()).stderr(Stdio::piped());
        let mut child = command.kill_on_drop(true).spawn().unwrap();
        let (stdin, stdout) = (child.stdin.take(), child.stdout.take().unwrap());
        Self { child, stdin, lines: BufReader::new(stdout).lines(), errors: None }
    }

    /// Starts the program, and reads its first line as JSON.
    pub(crate) async fn start_with_json(arguments: &[&str]) -> (Self, Value) {
        let mut process = Self::start(arguments);
        let line = process.json().await;
        (process, line)
    }

    pub(crate) fn id(&self) -> u32 {
        self.child.id().unwrap()
    }

    /// The next line of standard output.
    pub(crate) async fn line(&mut self) -> String {
        let line = timeout(TIMEOUT, self.lines.next_line()).await.expect("a line within the timeout").unwrap();
        line.expect("a line before the output closes")
    }

    /// The next line of standard output as JSON.
    pub(crate) async fn json(&mut self) -> Value {
        serde_json::from_str(&self.line().await).unwrap()
    }

    /// The next line of standard error.
    pub(crate) async fn error_line(&mut self) -> String {
        let lines = self.errors.get_or_insert_with(|| BufReader::new(self.child.stderr.take().unwrap()).lines());
        let line = timeout(TIMEOUT, lines.next_line()).await.expect("a line within the timeout").unwrap();
        line.expect("a line before the error output closes")
    }

    /// Writes a message to standard input.
    pub(crate) async fn send(&mut self, message: &Value) {
        let stdin = self.stdin.as_mut().unwrap();
        stdin.write_all(format!("{message}\n").as_bytes()).await.unwrap();
    }

    /// Closes standard input.
    pub(crate) fn close_stdin(&mut self) {
        self.stdin = None;
    }

    pub(crate) fn signal(&self, signal: Signal) {
        let id = Pid::from_raw(i32::try_from(self.id()).unwrap()).unwrap();
        kill_process(id, signal).unwrap();
    }

    /// Waits until the process exits.
    pub(crate) async fn wait(mut self) -> Exit {
        let mut stderr = String::new();
        let reading = self.child.stderr.as_mut().unwrap().read_to_string(&mut stderr);
        timeout(TIMEOUT, reading).await.expect("an exit within the timeout").unwrap();
        let status = timeout(TIMEOUT, self.child.wait()).await.expect("an exit within the timeout").unwrap();
        Exit { code: status.code(), signal: status.signal(), stderr }
    }
}

/// Runs the program until it exits.
pub(crate) async fn run(arguments: &[&str]) -> Exit {
    let mut process = Process::start(arguments);
    process.close_stdin();
    process.wait().await
}
