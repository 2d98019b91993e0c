//! An authorization server with a protected resource, and logins of a user.

use std::{fs, os::unix::fs::PermissionsExt as _, path::Path, process::Stdio};

use serde_json::{Value, json};
use tempfile::TempDir;
use test_support::http_client;
use tokio::{
    io::{AsyncBufReadExt as _, AsyncReadExt as _, AsyncWriteExt as _, BufReader},
    process::{Child, Command},
    time::timeout,
};

use crate::kit::{PROGRAM, Ran, TIMEOUT, command};

/// An authorization server, its protected resource, and a credential store.
pub(crate) struct OAuthFixture {
    pub(crate) directory: TempDir,
    pub(crate) url: String,
    pub(crate) issuer: String,
    pub(crate) process: Child,
}

impl OAuthFixture {
    pub(crate) async fn start(script: &str) -> Self {
        let directory = tempfile::tempdir().unwrap();
        let (authorization, audit) = (directory.path().join("auth.yaml"), directory.path().join("audit.jsonl"));
        fs::write(&authorization, script).unwrap();
        let mut command = Command::new(PROGRAM);
        command.args(["mock", "oauth"]).arg(&authorization).args(["--protect", "minimal", "--json", "--audit"]);
        let mut process = command.arg(&audit).stdout(Stdio::piped()).kill_on_drop(true).spawn().unwrap();
        let mut lines = BufReader::new(process.stdout.take().unwrap()).lines();
        let line = timeout(TIMEOUT, lines.next_line()).await.expect("a line within the timeout").unwrap().unwrap();
        let addresses: Value = serde_json::from_str(&line).unwrap();
        let text = |name: &str| addresses[name].as_str().unwrap().to_owned();
        Self { directory, url: text("resource"), issuer: text("issuer"), process }
    }

    pub(crate) fn store(&self) -> std::path::PathBuf {
        self.directory.path().join("credentials")
    }

    pub(crate) fn command(&self, arguments: &[&str]) -> Command {
        self.with_store(command(arguments))
    }

    fn with_store(&self, mut command: Command) -> Command {
        command.env("MCP_WORKBENCH_CREDENTIALS", "file").env("MCP_WORKBENCH_CREDENTIALS_DIR", self.store());
        command.env_remove("BROWSER").env_remove("MCP_WORKBENCH_CLIENT_SECRET");
        command
    }

    /// Validates the tools of the protected resource.
    pub(crate) async fn validate(&self, arguments: &[&str]) -> Ran {
        self.validate_all(&[&["--quiet", "--only", "server/tools"], arguments].concat()).await
    }

    /// Validates the protected resource.
    pub(crate) async fn validate_all(&self, arguments: &[&str]) -> Ran {
        let mut command = Command::new(PROGRAM);
        command.args(["validate", "--url", &self.url]).args(arguments);
        command.stdin(Stdio::null()).kill_on_drop(true).env("MCP_WORKBENCH_RUNS", self.directory.path());
        Ran::run(self.with_store(command)).await
    }

    pub(crate) async fn client(&self, arguments: &[&str]) -> Ran {
        Ran::run(self.command(arguments)).await
    }

    pub(crate) async fn call(&self) -> Ran {
        self.client(&["call", "echo", "text=hello", "--json", "--url", &self.url]).await
    }

    /// Logs in with a browser that follows every redirect.
    pub(crate) async fn log_in(&self, more: &[&str]) -> Ran {
        let mut login = Login::start(self.command(&[&["login", "--no-browser", "--json", &self.url], more].concat()));
        let page = login.page().await;
        let shown = http_client().get(page).send().await.unwrap().text().await.unwrap();
        assert!(shown.contains("You can close this window"), "{shown}");
        login.wait().await
    }

    /// The files of the credential store.
    pub(crate) fn entries(&self) -> Vec<std::path::PathBuf> {
        let Ok(directory) = fs::read_dir(self.store()) else { return Vec::new() };
        directory.map(|entry| entry.unwrap().path()).filter(|path| path.is_file()).collect()
    }

    /// Marks the stored access token as expired.
    pub(crate) fn expire_token(&self) {
        let [entry] = self.entries().try_into().expect("one entry");
        let mut stored: Value = serde_json::from_slice(&fs::read(&entry).unwrap()).unwrap();
        let expiry = stored.pointer_mut("/credentials/expires_at").expect("an expiry time");
        *expiry = json!(1_000_000_000);
        write_private(&entry, stored.to_string());
    }

    /// The events with this name in the audit log.
    pub(crate) fn audit(&self, event: &str) -> Vec<Value> {
        let log = fs::read_to_string(self.directory.path().join("audit.jsonl")).unwrap();
        let entries = log.lines().map(|line| serde_json::from_str::<Value>(line).unwrap());
        entries.map(|entry| entry["event"][event].clone()).filter(|event| !event.is_null()).collect()
    }

    /// The grants of the token requests.
    pub(crate) fn grants(&self) -> Vec<String> {
        let requests = self.audit("token-requested");
        requests.iter().map(|request| request["grant"].as_str().unwrap().to_owned()).collect()
    }
}

/// A running login.
pub(crate) struct Login {
    child: Child,
    stderr: BufReader<tokio::process::ChildStderr>,
    pub(crate) stderr_text: String,
}

impl Login {
    pub(crate) fn start(mut command: Command) -> Self {
        command.stdin(Stdio::piped()).stdout(Stdio::piped()).stderr(Stdio::piped());
        let mut child = command.spawn().unwrap();
        let stderr = BufReader::new(child.stderr.take().unwrap());
        Self { child, stderr, stderr_text: String::new() }
    }

    /// Waits for a line of stderr that starts with this text.
    pub(crate) async fn wait_for_line(&mut self, start: &str) -> String {
        let line = timeout(TIMEOUT, async {
            loop {
                let before = self.stderr_text.len();
                assert_ne!(
                    self.stderr.read_line(&mut self.stderr_text).await.unwrap(),
                    0,
                    "no `{start}` in {}",
                    self.stderr_text
                );
                let line = self.stderr_text[before..].trim();
                if line.starts_with(start) {
                    return line.to_owned();
                }
            }
        });
        line.await.expect("a line within the timeout")
    }

    /// The URL of the login page.
    pub(crate) async fn page(&mut self) -> String {
        self.wait_for_line("http://").await
    }

    pub(crate) async fn paste(&mut self, line: &str) {
        let stdin = self.child.stdin.as_mut().unwrap();
        stdin.write_all(format!("{line}\n").as_bytes()).await.unwrap();
    }

    pub(crate) async fn wait(mut self) -> Ran {
        timeout(TIMEOUT, self.stderr.read_to_string(&mut self.stderr_text))
            .await
            .expect("an exit within the timeout")
            .unwrap();
        let mut ran = Ran::from(
            timeout(TIMEOUT, self.child.wait_with_output()).await.expect("an exit within the timeout").unwrap(),
        );
        ran.stderr = self.stderr_text;
        ran
    }
}

/// Writes a file with mode 0600.
pub(crate) fn write_private(path: &Path, contents: impl AsRef<[u8]>) {
    fs::write(path, contents).unwrap();
    fs::set_permissions(path, fs::Permissions::from_mode(0o600)).unwrap();
}
