//! The program, started and talked to.

use std::{os::unix::process::ExitStatusExt as _, process::Stdio, time::Duration};

use rustix::process::{Pid, Signal, kill_process};
use serde_json::Value;
use tokio::{
    io::{AsyncBufReadExt as _, AsyncReadExt as _, AsyncWriteExt as _, BufReader, Lines},
    process::{Child, ChildStdin, ChildStdout, Command},
    time::timeout,
};

/// Long enough for any machine; no test waits for it unless it fails.
const BOUND: Duration = Duration::from_secs(30);

/// A process at work. It is killed when this is dropped.
pub(crate) struct Process {
    child: Child,
    stdin: Option<ChildStdin>,
    lines: Lines<BufReader<ChildStdout>>,
}

/// How a process ended.
#[derive(Debug, PartialEq, Eq)]
pub(crate) struct Ended {
    /// Its exit code; none if a signal ended it.
    pub(crate) code: Option<i32>,
    /// The signal that ended it, if one did.
    pub(crate) signal: Option<i32>,
    /// What it wrote to standard error.
    pub(crate) stderr: String,
}

impl Process {
    pub(crate) fn start(arguments: &[&str]) -> Self {
        let mut command = Command::new(env!("CARGO_BIN_EXE_mcp-workbench"));
        command.args(arguments).stdin(Stdio::piped()).stdout(Stdio::piped()).stderr(Stdio::piped());
        let mut child = command.kill_on_drop(true).spawn().unwrap();
        let (stdin, stdout) = (child.stdin.take(), child.stdout.take().unwrap());
        Self { child, stdin, lines: BufReader::new(stdout).lines() }
    }

    pub(crate) fn id(&self) -> u32 {
        self.child.id().unwrap()
    }

    /// The next line that it says.
    pub(crate) async fn line(&mut self) -> String {
        let line = timeout(BOUND, self.lines.next_line()).await.expect("a line in time").unwrap();
        line.expect("a line before the end")
    }

    /// Writes a message to its standard input.
    pub(crate) async fn say(&mut self, message: &Value) {
        let stdin = self.stdin.as_mut().unwrap();
        stdin.write_all(format!("{message}\n").as_bytes()).await.unwrap();
    }

    /// Closes its standard input.
    pub(crate) fn hang_up(&mut self) {
        self.stdin = None;
    }

    pub(crate) fn signal(&self, signal: Signal) {
        let id = Pid::from_raw(i32::try_from(self.id()).unwrap()).unwrap();
        kill_process(id, signal).unwrap();
    }

    /// Waits for its end.
    pub(crate) async fn end(mut self) -> Ended {
        let mut stderr = String::new();
        let reading = self.child.stderr.as_mut().unwrap().read_to_string(&mut stderr);
        timeout(BOUND, reading).await.expect("an end in time").unwrap();
        let status = timeout(BOUND, self.child.wait()).await.expect("an end in time").unwrap();
        Ended { code: status.code(), signal: status.signal(), stderr }
    }
}

/// Runs the program to its end.
pub(crate) async fn run(arguments: &[&str]) -> Ended {
    let mut process = Process::start(arguments);
    process.hang_up();
    process.end().await
}
