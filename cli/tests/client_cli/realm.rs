//! An authorization server, what it protects, and somebody who logs in there.

use std::{fs, os::unix::fs::PermissionsExt as _, path::Path, process::Stdio};

use serde_json::{Value, json};
use tempfile::TempDir;
use tokio::{
    io::{AsyncBufReadExt as _, AsyncReadExt as _, AsyncWriteExt as _, BufReader},
    process::{Child, Command},
    time::timeout,
};

use crate::kit::{BOUND, PROGRAM, Ran, command};

/// An authorization server with what it protects, and a user with a store of their own.
pub(crate) struct Realm {
    pub(crate) folder: TempDir,
    pub(crate) url: String,
    pub(crate) issuer: String,
    pub(crate) process: Child,
}

impl Realm {
    pub(crate) async fn start(script: &str) -> Self {
        let folder = tempfile::tempdir().unwrap();
        let (authorization, audit) = (folder.path().join("auth.yaml"), folder.path().join("audit.jsonl"));
        fs::write(&authorization, script).unwrap();
        let mut command = Command::new(PROGRAM);
        command.args(["mock", "oauth"]).arg(&authorization).args(["--protect", "minimal", "--json", "--audit"]);
        let mut process = command.arg(&audit).stdout(Stdio::piped()).kill_on_drop(true).spawn().unwrap();
        let mut lines = BufReader::new(process.stdout.take().unwrap()).lines();
        let line = timeout(BOUND, lines.next_line()).await.expect("a line in time").unwrap().unwrap();
        let said: Value = serde_json::from_str(&line).unwrap();
        let text = |name: &str| said[name].as_str().unwrap().to_owned();
        Self { folder, url: text("resource"), issuer: text("issuer"), process }
    }

    pub(crate) fn store(&self) -> std::path::PathBuf {
        self.folder.path().join("credentials")
    }

    pub(crate) fn command(&self, arguments: &[&str]) -> Command {
        let mut command = command(arguments);
        command.env("MCP_WORKBENCH_CREDENTIALS", "file").env("MCP_WORKBENCH_CREDENTIALS_DIR", self.store());
        command.env_remove("BROWSER").env_remove("MCP_WORKBENCH_CLIENT_SECRET");
        command
    }

    pub(crate) async fn client(&self, arguments: &[&str]) -> Ran {
        Ran::of(self.command(arguments)).await
    }

    pub(crate) async fn call(&self) -> Ran {
        self.client(&["call", "echo", "text=hello", "--json", "--url", &self.url]).await
    }

    /// Logs in with a browser on this machine that follows every redirect.
    pub(crate) async fn log_in(&self, more: &[&str]) -> Ran {
        let mut login = Login::start(self.command(&[&["login", "--no-browser", "--json", &self.url], more].concat()));
        let page = login.page().await;
        let shown = client::http_client::builder()
            .build()
            .expect("an HTTP client")
            .get(page)
            .send()
            .await
            .unwrap()
            .text()
            .await
            .unwrap();
        assert!(shown.contains("You can close this window"), "{shown}");
        login.end().await
    }

    /// The files in which credentials are kept.
    pub(crate) fn entries(&self) -> Vec<std::path::PathBuf> {
        let Ok(folder) = fs::read_dir(self.store()) else { return Vec::new() };
        folder.map(|entry| entry.unwrap().path()).filter(|path| path.is_file()).collect()
    }

    /// Makes the token that is kept one that has ended.
    pub(crate) fn end_token(&self) {
        let [entry] = self.entries().try_into().expect("one entry");
        let mut kept: Value = serde_json::from_slice(&fs::read(&entry).unwrap()).unwrap();
        let end = kept.pointer_mut("/credentials/expires_at").expect("an end");
        *end = json!(1_000_000_000);
        write_private(&entry, kept.to_string());
    }

    /// What the authorization server has noted under this name.
    pub(crate) fn audit(&self, event: &str) -> Vec<Value> {
        let log = fs::read_to_string(self.folder.path().join("audit.jsonl")).unwrap();
        let entries = log.lines().map(|line| serde_json::from_str::<Value>(line).unwrap());
        entries.map(|entry| entry["event"][event].clone()).filter(|event| !event.is_null()).collect()
    }

    /// Which grants tokens were asked for by.
    pub(crate) fn grants(&self) -> Vec<String> {
        let asked = self.audit("token-requested");
        asked.iter().map(|asked| asked["grant"].as_str().unwrap().to_owned()).collect()
    }
}

/// A login that waits for its user.
pub(crate) struct Login {
    child: Child,
    stderr: BufReader<tokio::process::ChildStderr>,
    pub(crate) told: String,
}

impl Login {
    pub(crate) fn start(mut command: Command) -> Self {
        command.stdin(Stdio::piped()).stdout(Stdio::piped()).stderr(Stdio::piped());
        let mut child = command.spawn().unwrap();
        let stderr = BufReader::new(child.stderr.take().unwrap());
        Self { child, stderr, told: String::new() }
    }

    /// Waits until a line that starts so is told.
    pub(crate) async fn told(&mut self, start: &str) -> String {
        let line = timeout(BOUND, async {
            loop {
                let before = self.told.len();
                assert_ne!(self.stderr.read_line(&mut self.told).await.unwrap(), 0, "no `{start}` in {}", self.told);
                let line = self.told[before..].trim();
                if line.starts_with(start) {
                    return line.to_owned();
                }
            }
        });
        line.await.expect("a line in time")
    }

    /// The address of the page where the user is to log in.
    pub(crate) async fn page(&mut self) -> String {
        self.told("http://").await
    }

    pub(crate) async fn paste(&mut self, line: &str) {
        let stdin = self.child.stdin.as_mut().unwrap();
        stdin.write_all(format!("{line}\n").as_bytes()).await.unwrap();
    }

    pub(crate) async fn end(mut self) -> Ran {
        timeout(BOUND, self.stderr.read_to_string(&mut self.told)).await.expect("an end in time").unwrap();
        let mut ran = Ran::from(timeout(BOUND, self.child.wait_with_output()).await.expect("an end in time").unwrap());
        ran.stderr = self.told;
        ran
    }
}

/// Writes a file that nobody else may read.
pub(crate) fn write_private(path: &Path, contents: impl AsRef<[u8]>) {
    fs::write(path, contents).unwrap();
    fs::set_permissions(path, fs::Permissions::from_mode(0o600)).unwrap();
}
