//! `--watch`: runs repeat when files change.

#![expect(clippy::unwrap_used, reason = "a test may panic")]

use std::{
    fs,
    io::{BufRead as _, BufReader, pipe},
    path::Path,
    process::{Child, Command},
    sync::mpsc::{Receiver, channel},
    thread,
    time::Duration,
};

const PROGRAM: &str = env!("CARGO_BIN_EXE_mcp-workbench");
/// Timeout of each wait. Only a failing test waits for it.
const TIMEOUT: Duration = Duration::from_secs(60);

const GOOD: &str = "extends: minimal\n";
const BAD: &str = "extends: minimal\nfaults:\n  \
                   - { fault: { rewrite: { set: { /result/tools/*/inputSchema/type: nonsense } } }, when: { method: tools/list } }\n";

/// A watching command, which is killed when this is dropped.
struct Watching {
    child: Child,
    lines: Receiver<String>,
}

impl Watching {
    fn start(directory: &Path, arguments: &[&str]) -> Self {
        let search = format!("{}:{}", Path::new(PROGRAM).parent().unwrap().display(), std::env::var("PATH").unwrap());
        let mut command = Command::new(PROGRAM);
        command.args(arguments).current_dir(directory).env("PATH", search);
        // Runs are written into the watched directory, which must not start further ones.
        command.env("MCP_WORKBENCH_RUNS", directory.join("runs"));
        // One pipe for both outputs keeps the order of their lines.
        let (reader, writer) = pipe().unwrap();
        let child = command.stdout(writer.try_clone().unwrap()).stderr(writer).spawn().unwrap();
        // The command has copies of the writer, without which the pipe closes.
        drop(command);
        let (sender, lines) = channel();
        thread::spawn(move || {
            BufReader::new(reader).lines().map_while(Result::ok).try_for_each(|line| sender.send(line))
        });
        Self { child, lines }
    }

    /// The lines until the command waits for changes.
    fn until_waiting(&self) -> Vec<String> {
        let mut before = Vec::new();
        loop {
            let line = self.lines.recv_timeout(TIMEOUT);
            let line = line.unwrap_or_else(|error| panic!("{error} after {before:#?}"));
            if line.starts_with("waiting for changes of ") {
                return before;
            }
            before.push(line);
        }
    }
}

impl Drop for Watching {
    fn drop(&mut self) {
        self.child.kill().unwrap();
        self.child.wait().unwrap();
    }
}

/// Replaces a file at once, as editors do.
fn replace(file: &Path, text: &str) {
    let new = file.ancestors().nth(2).unwrap().join("new");
    fs::write(&new, text).unwrap();
    fs::rename(new, file).unwrap();
}

fn has(lines: &[String], expected: &str) -> bool {
    lines.iter().any(|line| line.contains(expected))
}

#[test]
fn a_changed_server_is_validated_again_and_compared() {
    let directory = tempfile::tempdir().unwrap();
    let work = directory.path().join("work");
    let script = work.join("script.yaml");
    fs::create_dir(&work).unwrap();
    fs::write(&script, GOOD).unwrap();
    let watching = Watching::start(
        &work,
        &[
            "validate",
            "--watch",
            "--only",
            "server/tools",
            "--revision",
            "2025-11-25",
            "--",
            "mcp-workbench",
            "mock",
            "stdio",
            "script.yaml",
        ],
    );
    let first = watching.until_waiting();
    assert!(has(&first, "PASSED") && !has(&first, "broken"), "{first:#?}");
    replace(&script, BAD);
    let second = watching.until_waiting();
    assert!(has(&second, "script.yaml changed") && has(&second, "FAILED") && has(&second, "broken"), "{second:#?}");
    // A script with an error stops the server, and the next change fixes it.
    replace(&script, "tols: []\n");
    let third = watching.until_waiting();
    assert!(has(&third, "error: ") || has(&third, "FAILED"), "{third:#?}");
    replace(&script, GOOD);
    let last = watching.until_waiting();
    assert!(has(&last, "PASSED") && has(&last, "fixed"), "{last:#?}");
}

#[test]
fn a_changed_scenario_is_run_again() {
    let directory = tempfile::tempdir().unwrap();
    let scenario = directory.path().join("mine/echo.yaml");
    let text = |expected: &str| {
        format!(
            "scenario: mine/echo\ntitle: The client shows the text\nsubject: client\nrevisions: [\"2025-11-25\"]\n\
             transports: [stdio]\nserver: {{ extends: minimal }}\nsteps:\n  - connect: {{}}\n  \
             - call: {{ tool: echo, arguments: {{ text: hi }}, expect: {{ text: {expected} }} }}\n"
        )
    };
    fs::create_dir(scenario.parent().unwrap()).unwrap();
    fs::write(&scenario, text("hi")).unwrap();
    let watching = Watching::start(directory.path(), &["conformance", "--watch", "--scenarios", "mine"]);
    let first = watching.until_waiting();
    assert!(has(&first, "PASSED"), "{first:#?}");
    replace(&scenario, &text("ho"));
    let second = watching.until_waiting();
    assert!(has(&second, "FAILED") && has(&second, "mine/echo"), "{second:#?}");
}

#[test]
fn a_command_without_files_needs_a_path() {
    let output =
        Command::new(PROGRAM).args(["validate", "--watch", "--url", "http://127.0.0.1:1/mcp"]).output().unwrap();
    let text = String::from_utf8(output.stderr).unwrap();
    assert_eq!(output.status.code(), Some(2), "{text}");
    assert!(text.contains("no files to watch") && text.contains("--watch-path"), "{text}");
}
