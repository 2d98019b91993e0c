//! Runs the workbench as its users do, and reads what it found.

use std::{
    ffi::OsString,
    fs,
    path::{Path, PathBuf},
    process::{Command, Stdio},
    time::{Duration, Instant},
};

use anyhow::Context as _;
use reports::Run;

/// How long processes that were killed may take to vanish.
const VANISH: Duration = Duration::from_secs(3);

/// What a run came to.
pub(crate) struct Ran {
    /// The exit code of the workbench.
    pub(crate) code: Option<i32>,
    /// What it wrote.
    pub(crate) run: Run,
    /// The command lines of the processes that were still there.
    pub(crate) left: Vec<String>,
}

/// Runs cases against the client of this command.
pub(crate) fn conformance(client: &str, cases: &[&str], jobs: usize) -> anyhow::Result<Ran> {
    // Every file of the run lies in this folder, and every process below the run has it in its environment, or in its
    // command line: so those that stay are found.
    let marked = tempfile::Builder::new().prefix("broken-clients-").tempdir()?;
    let output = marked.path().join("output");
    let ended = Command::new(env!("CARGO_BIN_EXE_mcp-workbench"))
        .arg("conformance")
        .args(cases)
        .args(["--client-command", client, "--format", "json", "--quiet", "--jobs", &jobs.to_string(), "--output"])
        .arg(&output)
        .env("TMPDIR", marked.path())
        .stdin(Stdio::null())
        .output()
        .context("the workbench cannot be started")?;
    let text = fs::read_to_string(output.join("run.json"))
        .with_context(|| format!("the workbench wrote no run: {}", String::from_utf8_lossy(&ended.stderr)))?;
    Ok(Ran { code: ended.status.code(), run: serde_json::from_str(&text)?, left: left_behind(marked.path()) })
}

/// The command that starts this program as a client.
pub(crate) fn client_command(options: &str) -> anyhow::Result<String> {
    let program = std::env::current_exe()?;
    Ok(format!("exec '{}' client {options}", program.display()))
}

fn left_behind(marker: &Path) -> Vec<String> {
    let deadline = Instant::now() + VANISH;
    loop {
        let left: Vec<String> = processes().filter_map(|folder| marked(&folder, marker)).collect();
        if left.is_empty() || Instant::now() > deadline {
            return left;
        }
        // What was killed is gone as soon as the system comes to it; there is no event to wait for.
        std::thread::sleep(Duration::from_millis(20));
    }
}

fn processes() -> impl Iterator<Item = PathBuf> {
    let entries = fs::read_dir("/proc").into_iter().flatten().flatten();
    entries.map(|entry| entry.path()).filter(|path| path.file_name().is_some_and(is_number))
}

fn is_number(name: &std::ffi::OsStr) -> bool {
    name.to_str().is_some_and(|name| name.bytes().all(|byte| byte.is_ascii_digit()))
}

/// The command line of a process that belongs to the run.
fn marked(folder: &Path, marker: &Path) -> Option<String> {
    let marker = OsString::from(marker).into_string().ok()?;
    let read = |file| fs::read(folder.join(file)).map(|bytes| String::from_utf8_lossy(&bytes).replace('\0', " "));
    let command = read("cmdline").ok()?;
    let environment = read("environ").unwrap_or_default();
    (command.contains(&marker) || environment.contains(&marker)).then_some(command)
}
