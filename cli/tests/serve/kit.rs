//! What the tests share: the program, what it says, and its end.

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

/// `serve` with these arguments, which says where it listens.
pub(crate) struct Serving {
    pub(crate) child: Child,
    pub(crate) url: String,
    pub(crate) token: Option<String>,
    _stdout: BufReader<ChildStdout>,
}

impl Serving {
    pub(crate) fn start(arguments: &[&str], token: Option<&str>, folder: &std::path::Path) -> Self {
        let mut command = Command::new(WORKBENCH);
        command.arg("serve").args(arguments).arg("--json").env_remove(TOKEN_VARIABLE);
        command.env("MCP_WORKBENCH_RUNS", folder.join("runs"));
        command
            .env("MCP_WORKBENCH_CREDENTIALS", "file")
            .env("MCP_WORKBENCH_CREDENTIALS_DIR", folder.join("credentials"));
        command.envs(token.map(|token| (TOKEN_VARIABLE, token)));
        command.stdin(Stdio::null()).stdout(Stdio::piped()).stderr(Stdio::piped());
        let mut child = command.spawn().expect("it starts");
        let mut stdout = BufReader::new(child.stdout.take().expect("standard output"));
        let mut line = String::new();
        stdout.read_line(&mut line).expect("a line");
        let told: Value = serde_json::from_str(&line).unwrap_or_else(|_| panic!("no JSON: {line:?}"));
        let text = |key: &str| told[key].as_str().map(str::to_owned);
        Self { child, url: text("url").expect("a URL"), token: text("token"), _stdout: stdout }
    }

    pub(crate) fn pid(&self) -> Pid {
        Pid::from_child(&self.child)
    }

    /// Interrupts it, and waits for its end.
    pub(crate) fn interrupt(mut self) -> Option<i32> {
        kill_process(self.pid(), Signal::INT).expect("it runs");
        ended_within(&mut self.child, Duration::from_secs(20))
    }
}

impl Drop for Serving {
    fn drop(&mut self) {
        let _ = self.child.kill();
        let _ = self.child.wait();
    }
}

/// The exit code of a process that ends in time.
pub(crate) fn ended_within(child: &mut Child, limit: Duration) -> Option<i32> {
    let end = Instant::now() + limit;
    while Instant::now() < end {
        if let Some(status) = child.try_wait().expect("it can be waited for") {
            return status.code();
        }
        std::thread::sleep(Duration::from_millis(10));
    }
    let _ = child.kill();
    panic!("it has not ended within {limit:?}");
}

/// What `validate` finds about a server.
pub(crate) fn validated(target: &[&str]) -> Run {
    let folder = tempfile::tempdir().expect("a folder");
    let mut command = Command::new(WORKBENCH);
    command.args(["validate", "--quiet", "--format", "json"]).args(target);
    let output = command.env_remove(TOKEN_VARIABLE).env("MCP_WORKBENCH_RUNS", folder.path()).output().expect("it runs");
    let text = String::from_utf8_lossy(&output.stdout);
    serde_json::from_str(&text)
        .unwrap_or_else(|error| panic!("{error}: {text}\n{}", String::from_utf8_lossy(&output.stderr)))
}

/// Holds a run of `validate` against what a sound server gets: nothing failed, blocked or warned, in both eras.
pub(crate) fn is_sound(run: &Run) {
    let broken: Vec<_> = run
        .cases
        .iter()
        .filter(|case| case.verdict.is_failure() || case.verdict == Verdict::Warned)
        .map(|case| format!("{} {}: {:?}", case.verdict.as_str(), case.id, case.checks.first()))
        .collect();
    assert!(broken.is_empty(), "{broken:#?}");
    assert!(run.passed() && run.counts().passed > 25, "{:?}", run.counts());
    for revision in ["2025-11-25", "2026-07-28"] {
        assert!(
            run.cases.iter().any(|case| case.revision == revision && case.verdict == Verdict::Passed),
            "{revision}"
        );
    }
}

/// All of standard error.
pub(crate) fn complaint(child: &mut Child) -> String {
    let mut text = String::new();
    child.stderr.take().expect("standard error").read_to_string(&mut text).expect("text");
    text
}
