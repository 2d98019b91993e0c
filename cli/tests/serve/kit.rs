//! Starts `serve` or `ui`, validates it and waits for its exit.

use std::{
    io::{BufRead as _, BufReader, Read as _},
    process::{Child, ChildStdout, Command, Stdio},
    time::{Duration, Instant},
};

use reports::{Run, Verdict};
use rustix::process::{Pid, Signal, kill_process};
use serde_json::Value;

pub(crate) const WORKBENCH: &str = env!("CARGO_BIN_EXE_mcp-workbench");
pub(crate) const TOKEN_VARIABLE: &str = "MCP_WORKBENCH_SERVE_TOKEN";

/// A running `serve` or `ui` with its address.
pub(crate) struct Serving {
    pub(crate) child: Child,
    pub(crate) url: String,
    pub(crate) token: Option<String>,
    _stdout: BufReader<ChildStdout>,
}

impl Serving {
    pub(crate) fn start(arguments: &[&str], token: Option<&str>, directory: &std::path::Path) -> Self {
        Self::start_command("serve", arguments, token, directory)
    }

    pub(crate) fn start_command(
        name: &str,
        arguments: &[&str],
        token: Option<&str>,
        directory: &std::path::Path,
    ) -> Self {
        let mut command = Command::new(WORKBENCH);
        command.arg(name).args(arguments).arg("--json").env_remove(TOKEN_VARIABLE);
        command.env("MCP_WORKBENCH_RUNS", directory.join("runs"));
        command
            .env("MCP_WORKBENCH_CREDENTIALS", "file")
            .env("MCP_WORKBENCH_CREDENTIALS_DIR", directory.join("credentials"));
        command.envs(token.map(|token| (TOKEN_VARIABLE, token)));
        command.stdin(Stdio::null()).stdout(Stdio::piped()).stderr(Stdio::piped());
        let mut child = command.spawn().expect("the program starts");
        let mut stdout = BufReader::new(child.stdout.take().expect("standard output"));
        let mut line = String::new();
        stdout.read_line(&mut line).expect("a line");
        let addresses: Value = serde_json::from_str(&line).unwrap_or_else(|_| panic!("no JSON: {line:?}"));
        let text = |key: &str| addresses[key].as_str().map(str::to_owned);
        Self { child, url: text("url").expect("a URL"), token: text("token"), _stdout: stdout }
    }

    pub(crate) fn pid(&self) -> Pid {
        Pid::from_child(&self.child)
    }

    /// Sends SIGINT and waits for the exit.
    pub(crate) fn interrupt(mut self) -> Option<i32> {
        kill_process(self.pid(), Signal::INT).expect("it runs");
        exit_code_within(&mut self.child, Duration::from_secs(20))
    }
}

impl Drop for Serving {
    fn drop(&mut self) {
        let _ = self.child.kill();
        let _ = self.child.wait();
    }
}

/// The exit code of a process that exits within the limit.
pub(crate) fn exit_code_within(child: &mut Child, limit: Duration) -> Option<i32> {
    let end = Instant::now() + limit;
    while Instant::now() < end {
        if let Some(status) = child.try_wait().expect("it can be waited for") {
            return status.code();
        }
        std::thread::sleep(Duration::from_millis(10));
    }
    let _ = child.kill();
    panic!("the process did not exit within {limit:?}");
}

/// The run of `validate` with a server.
pub(crate) fn validate(target: &[&str]) -> Run {
    let directory = tempfile::tempdir().expect("a directory");
    let mut command = Command::new(WORKBENCH);
    command.args(["validate", "--quiet", "--format", "json"]).args(target);
    let output =
        command.env_remove(TOKEN_VARIABLE).env("MCP_WORKBENCH_RUNS", directory.path()).output().expect("it runs");
    let text = String::from_utf8_lossy(&output.stdout);
    serde_json::from_str(&text)
        .unwrap_or_else(|error| panic!("{error}: {text}\n{}", String::from_utf8_lossy(&output.stderr)))
}

/// Checks that `serve` does not pass. rmcp, on which it is built, numbers the events of every stream from zero, and sends the
/// response to a cancelled call on the stream of a GET, which shows on a busy machine; and `serve` takes a token of the user
/// instead of OAuth.
const NOT_PASSED: [&str; 4] = [
    "event-ids-are-unique",
    "no-response-after-cancellation",
    "no-response-on-another-stream",
    "protected-resource-has-metadata",
];

/// Checks that no case failed, was blocked or warned, and that cases of both eras passed.
pub(crate) fn assert_conforming(run: &Run) {
    let checks = run.cases.iter().flat_map(|case| case.checks.iter().map(move |check| (case, check)));
    let broken: Vec<_> = checks
        .filter(|(_, check)| check.verdict > Verdict::Passed && !NOT_PASSED.contains(&check.id.as_str()))
        .map(|(case, check)| format!("{} {}: {check:?}", check.verdict.as_str(), case.id))
        .collect();
    assert!(broken.is_empty(), "{broken:#?}");
    assert!(run.complete && run.counts().passed > 25, "{:?}", run.counts());
    for revision in ["2025-11-25", "2026-07-28"] {
        assert!(
            run.cases.iter().any(|case| case.revision == revision && case.verdict == Verdict::Passed),
            "{revision}"
        );
    }
}

/// The standard error of a process.
pub(crate) fn stderr_text(child: &mut Child) -> String {
    let mut text = String::new();
    child.stderr.take().expect("standard error").read_to_string(&mut text).expect("text");
    text
}
