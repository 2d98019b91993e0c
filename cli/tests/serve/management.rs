//! `serve --management`.

use std::{
    io::{BufRead as _, BufReader},
    path::Path,
    process::{Child, Command, Stdio},
};

use reqwest::StatusCode;
use serde_json::{Value, json};
use test_support::http_client;

use crate::kit::{Serving, WORKBENCH};

#[tokio::test(flavor = "multi_thread")]
async fn a_server_is_added_and_used_with_the_api() {
    let directory = tempfile::tempdir().expect("a directory");
    let config = directory.path().join("config.toml");
    std::fs::write(&config, "permissions = { deny = [\"*/test_simple_text\"] }\n").expect("a file");
    let config = config.to_str().expect("text");
    let serving = Serving::start(&["--management", "127.0.0.1:0", "--config", config], None, directory.path());
    let (url, token) = (serving.url.clone(), serving.token.clone().expect("a token was made"));
    let http = http_client();
    assert_eq!(http.get(format!("{url}/healthz")).send().await.expect("a response").status(), StatusCode::OK);
    assert_eq!(http.get(format!("{url}/mcp")).send().await.expect("a response").status(), StatusCode::UNAUTHORIZED);
    let config = json!({ "type": "stdio", "command": WORKBENCH, "args": ["mock", "stdio", "everything"] });
    let added = http.post(format!("{url}/mcp")).bearer_auth(&token).json(&json!({ "name": "mock", "config": config }));
    let added: Value = added.send().await.expect("a response").json().await.expect("JSON");
    assert_eq!(added, json!({ "mock": { "status": "connected" } }));
    let tools = http.get(format!("{url}/mcp/mock/tools")).bearer_auth(&token).send().await.expect("a response");
    let tools: Value = tools.json().await.expect("JSON");
    assert!(tools["tools"].as_array().is_some_and(|tools| tools.len() > 3), "{tools}");
    let called = http.post(format!("{url}/tools/call")).bearer_auth(&token);
    let called = called.json(&json!({ "name": "mcp__mock__test_simple_text" })).send().await.expect("a response");
    assert_eq!(called.status(), StatusCode::FORBIDDEN, "the rules of the file apply");
    let code = tokio::task::spawn_blocking(move || serving.interrupt()).await.expect("no panic");
    assert_eq!(code, Some(0));
}

/// A server with login, whose frames are recorded.
const SCRIPT: &str = "\
tools:
  - { name: echo, input_schema: { type: object }, reply: { text: '{{arguments.text}}' } }
  - { name: reverse, input_schema: { type: object }, reply: { text: reversed } }
";

/// A process that does not outlive a failed test.
struct KilledOnDrop(Child);

impl Drop for KilledOnDrop {
    fn drop(&mut self) {
        let _ = self.0.kill();
        let _ = self.0.wait();
    }
}

/// The names of the tools whose calls the server received.
fn called_tools(record: &Path) -> Vec<String> {
    let record = std::fs::read_to_string(record).expect("a record");
    let frames = record.lines().filter_map(|line| serde_json::from_str::<Value>(line).ok());
    let calls = frames.filter(|frame| frame["body"]["json"]["method"] == "tools/call");
    calls.filter_map(|frame| frame["body"]["json"]["params"]["name"].as_str().map(str::to_owned)).collect()
}

#[test]
fn a_python_program_logs_in_calls_answers_and_removes() {
    let directory = tempfile::tempdir().expect("a directory");
    let (script, record) = (directory.path().join("script.yaml"), directory.path().join("record.jsonl"));
    std::fs::write(&script, SCRIPT).expect("a file");
    let mut oauth = Command::new(WORKBENCH);
    oauth.args(["mock", "oauth", "--json", "--protect"]).arg(&script).arg("--record").arg(&record);
    let mut oauth = KilledOnDrop(oauth.stdout(Stdio::piped()).spawn().expect("the program starts"));
    let mut line = String::new();
    BufReader::new(oauth.0.stdout.take().expect("standard output")).read_line(&mut line).expect("a line");
    let resource: Value = serde_json::from_str(&line).expect("JSON");
    let config = directory.path().join("config.toml");
    std::fs::write(&config, "").expect("a file");
    let config = ["--config", config.to_str().expect("text")];
    let serving = Serving::start(
        &[&["--management", "127.0.0.1:0", "--answer", "form"], &config[..]].concat(),
        None,
        directory.path(),
    );
    let program = Path::new(env!("CARGO_MANIFEST_DIR")).join("tests/serve/management.py");
    let mut python = Command::new("python3");
    python.arg(program).args([&serving.url, serving.token.as_ref().expect("a token was made")]);
    let output =
        python.arg(resource["resource"].as_str().expect("a URL")).arg(WORKBENCH).output().expect("python3 runs");
    let stderr = String::from_utf8_lossy(&output.stderr);
    assert!(output.status.success() && output.stdout == b"done\n", "{stderr}");
    assert_eq!(called_tools(&record), ["echo"], "a denied call is not sent");
    let credentials = std::fs::read_dir(directory.path().join("credentials")).into_iter().flatten().flatten();
    assert_eq!(credentials.filter(|entry| entry.path().is_file()).count(), 0, "the login was removed");
    assert_eq!(serving.interrupt(), Some(0));
}
