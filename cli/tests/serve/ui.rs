//! `ui`: the page, and the end of runs with their processes.

use std::{
    path::Path,
    process::Command,
    time::{Duration, Instant},
};

use reqwest::StatusCode;
use serde_json::{Value, json};
use test_support::http_client;

use crate::kit::{Serving, TOKEN_VARIABLE, WORKBENCH};

/// A `ui` with a server that appends its process id to a file and never responds.
fn with_silent_server(directory: &Path) -> Serving {
    let script = "echo $$ >> pids && exec sleep 1000";
    let server = json!({ "command": "sh", "args": ["-c", script], "cwd": directory, "enabled": false });
    let config = directory.join("servers.json");
    std::fs::write(&config, json!({ "mcpServers": { "silent": server } }).to_string()).expect("a file");
    let config = config.to_str().expect("text");
    Serving::start_command("ui", &["--address", "127.0.0.1:0", "--config", config], None, directory)
}

/// Waits until something holds, within a limit.
async fn until<T>(what: &str, mut holds: impl FnMut() -> Option<T>) -> T {
    let end = Instant::now() + Duration::from_secs(20);
    while Instant::now() < end {
        if let Some(found) = holds() {
            return found;
        }
        tokio::time::sleep(Duration::from_millis(10)).await;
    }
    panic!("timeout: {what}");
}

/// Starts a validation of the silent server, and waits until a process of the server runs.
async fn start_run(serving: &Serving, directory: &Path) {
    let token = serving.token.as_deref().expect("a token");
    let started = http_client().post(format!("{}/runs", serving.url)).bearer_auth(token);
    let started = started.json(&json!({ "server": "silent" })).send().await.expect("a response");
    assert_eq!(started.status(), StatusCode::ACCEPTED);
    until("the server starts", || (running(directory) > 0).then_some(())).await;
}

/// Number of processes of the server that run. A validation starts several.
fn running(directory: &Path) -> usize {
    let pids = std::fs::read_to_string(directory.join("pids")).unwrap_or_default();
    pids.lines().filter(|pid| Path::new("/proc").join(pid).exists()).count()
}

#[tokio::test(flavor = "multi_thread")]
async fn a_cancelled_run_stops_with_its_processes() {
    let directory = tempfile::tempdir().expect("a directory");
    let serving = with_silent_server(directory.path());
    start_run(&serving, directory.path()).await;
    let token = serving.token.as_deref().expect("a token");
    let cancelled = http_client().post(format!("{}/runs/1/cancel", serving.url)).bearer_auth(token);
    let cancelled: Value = cancelled.send().await.expect("a response").json().await.expect("JSON");
    assert_eq!((&cancelled["status"], &cancelled["error"]["kind"]), (&json!("failed"), &json!("cancelled")));
    until("the server stops", || (running(directory.path()) == 0).then_some(())).await;
    assert_eq!(tokio::task::spawn_blocking(|| serving.interrupt()).await.expect("no panic"), Some(0));
}

#[tokio::test(flavor = "multi_thread")]
async fn an_interrupt_stops_the_active_run_with_its_processes() {
    let directory = tempfile::tempdir().expect("a directory");
    let serving = with_silent_server(directory.path());
    start_run(&serving, directory.path()).await;
    assert_eq!(tokio::task::spawn_blocking(|| serving.interrupt()).await.expect("no panic"), Some(0));
    until("the server stops", || (running(directory.path()) == 0).then_some(())).await;
}

#[tokio::test(flavor = "multi_thread")]
async fn the_page_is_served_and_its_data_needs_the_token() {
    let directory = tempfile::tempdir().expect("a directory");
    let serving = with_silent_server(directory.path());
    let page = http_client().get(format!("{}/", serving.url)).send().await.expect("a response");
    assert_eq!(page.status(), StatusCode::OK);
    assert!(page.headers().contains_key("content-security-policy"));
    let data = http_client().get(format!("{}/mcp", serving.url)).send().await.expect("a response");
    assert_eq!(data.status(), StatusCode::UNAUTHORIZED);
    let data =
        http_client().get(format!("{}/mcp", serving.url)).bearer_auth(serving.token.as_deref().expect("a token"));
    let data: Value = data.send().await.expect("a response").json().await.expect("JSON");
    assert_eq!(data, json!({ "silent": { "status": "disabled" } }));
}

#[test]
fn other_machines_cannot_reach_the_page() {
    let output = Command::new(WORKBENCH).args(["ui", "--address", "0.0.0.0:0"]).env_remove(TOKEN_VARIABLE).output();
    let output = output.expect("the program starts");
    let stderr = String::from_utf8_lossy(&output.stderr);
    assert_eq!(output.status.code(), Some(2), "{stderr}");
    assert!(stderr.contains("reachable from other machines") && stderr.contains("help: "), "{stderr}");
}
