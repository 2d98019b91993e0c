//! Runs the workbench and reads its report.

use std::{
    ffi::OsString,
    fs,
    path::{Path, PathBuf},
    process::{Command, Stdio},
    time::{Duration, Instant},
};

use anyhow::Context as _;
use reports::Run;

/// Timeout until killed processes disappear.
const EXIT_TIMEOUT: Duration = Duration::from_secs(3);

/// Result of a run.
pub(crate) struct Ran {
    /// Exit code of the workbench.
    pub(crate) code: Option<i32>,
    /// The report.
    pub(crate) run: Run,
    /// Command lines of remaining processes.
    pub(crate) left: Vec<String>,
}

/// Runs cases against the client of this command. The profile is that of the workbench for commands, unless it is given.
pub(crate) fn conformance(client: &str, profile: Option<&str>, cases: &[&str], jobs: usize) -> anyhow::Result<Ran> {
    // All processes of the run have this directory in their environment or command line, which identifies remaining ones.
    let marked = tempfile::Builder::new().prefix("broken-clients-").tempdir()?;
    let output = marked.path().join("output");
    let ended = Command::new(env!("CARGO_BIN_EXE_mcp-workbench"))
        .arg("conformance")
        .args(cases)
        .args(profile.map(|profile| format!("--profile={profile}")))
        .args(["--client-command", client, "--format", "json", "--quiet", "--jobs", &jobs.to_string(), "--output"])
        .arg(&output)
        .env("TMPDIR", marked.path())
        .stdin(Stdio::null())
        .output()
        .context("cannot start the workbench")?;
    let text = fs::read_to_string(output.join("run.json"))
        .with_context(|| format!("the workbench wrote no report: {}", String::from_utf8_lossy(&ended.stderr)))?;
    Ok(Ran { code: ended.status.code(), run: serde_json::from_str(&text)?, left: left_behind(marked.path()) })
}

/// The command that starts this program as a client.
pub(crate) fn client_command(options: &str) -> anyhow::Result<String> {
    let program = std::env::current_exe()?;
    Ok(format!("exec '{}' client {options}", program.display()))
}

fn left_behind(marker: &Path) -> Vec<String> {
    let deadline = Instant::now() + EXIT_TIMEOUT;
    loop {
        let left: Vec<String> = processes().filter_map(|folder| marked(&folder, marker)).collect();
        if left.is_empty() || Instant::now() > deadline {
            return left;
        }
        // There is no event for the exit of a process that is not a child.
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
