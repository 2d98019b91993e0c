//! The sandbox state, against servers in memory.

#![expect(clippy::unwrap_used, reason = "a test fails where something is missing")]

#[expect(dead_code, reason = "each test file uses its own part of the support")]
mod support;

use mcp_workbench_client::{
    CallOptions, ConnectOptions, Connection, Revision, RevisionChoice, SandboxState, ServerConfig,
};
use serde_json::{Value, json};
use support::{Transcript, config, connect_to, discover_result, initialize_result, methods, result};

const UPDATE: &str = "codex/sandbox-state/update";

/// A connection of either era to a server with these experimental capabilities.
async fn connected(experimental: &Value, revision: Revision, sandbox: &SandboxState) -> (Connection, Transcript) {
    let experimental = experimental.clone();
    let answer = move |message: &Value| {
        let mut greeting = match message["method"].as_str().unwrap_or_default() {
            "initialize" => initialize_result("2025-11-25"),
            "server/discover" => discover_result(&["2026-07-28"]),
            "tools/call" => return result(message, json!({"content": []})),
            UPDATE => return result(message, json!({})),
            _ => return vec![],
        };
        greeting["capabilities"]["experimental"] = experimental.clone();
        result(message, greeting)
    };
    let config = ServerConfig { protocol: RevisionChoice::Pinned(revision), ..config() };
    let options = ConnectOptions { sandbox: Some(sandbox.clone()), ..ConnectOptions::default() };
    let (connection, transcript) = connect_to(config, options, answer).await;
    (connection.unwrap(), transcript)
}

fn updates(transcript: &Transcript) -> Vec<Value> {
    let sent = transcript.lock().unwrap();
    sent.iter().filter(|message| message["method"] == UPDATE).map(|message| message["params"]["cwd"].clone()).collect()
}

async fn until_updates(transcript: &Transcript, expected: &[&str]) {
    let probe = || Some(updates(transcript)).filter(|sent| sent == expected).ok_or_else(|| updates(transcript));
    test_support::wait_for(&format!("{expected:?}"), probe).await;
}

#[tokio::test(start_paused = true)]
async fn an_interested_server_receives_the_state_and_each_change() {
    for revision in [Revision::V2025_11_25, Revision::V2026_07_28] {
        let sandbox = SandboxState::new(json!({"cwd": "/a"}));
        let (_connection, transcript) = connected(&json!({"codex/sandbox-state": {}}), revision, &sandbox).await;
        until_updates(&transcript, &["/a"]).await;
        sandbox.set(json!({"cwd": "/b"}));
        until_updates(&transcript, &["/a", "/b"]).await;
        sandbox.set(json!({"cwd": "/b"}));
        // Paused time advances when all tasks are idle.
        tokio::time::sleep(std::time::Duration::from_secs(1)).await;
        assert_eq!(updates(&transcript), ["/a", "/b"], "nothing has changed");
        sandbox.set(json!({"cwd": "/c"}));
        until_updates(&transcript, &["/a", "/b", "/c"]).await;
    }
}

#[tokio::test(start_paused = true)]
async fn an_interested_server_receives_the_state_with_each_call() {
    for revision in [Revision::V2025_11_25, Revision::V2026_07_28] {
        let sandbox = SandboxState::new(json!({"cwd": "/a"}));
        let (connection, transcript) = connected(&json!({"codex/sandbox-state-meta": {}}), revision, &sandbox).await;
        for state in ["/a", "/b"] {
            sandbox.set(json!({"cwd": state}));
            connection.call("t", json!({}), CallOptions::default()).await.unwrap();
            let is_call = |message: &&Value| message["method"] == "tools/call";
            let call = transcript.lock().unwrap().iter().rfind(is_call).cloned().unwrap();
            assert_eq!(call["params"]["_meta"]["codex/sandbox-state-meta"], json!({"cwd": state}));
            assert!(call["params"]["_meta"]["progressToken"].is_number(), "{call}");
        }
        assert!(updates(&transcript).is_empty());
    }
}

#[tokio::test(start_paused = true)]
async fn other_servers_receive_nothing() {
    let sandbox = SandboxState::new(json!({"cwd": "/secret"}));
    let (connection, transcript) = connected(&json!({"other": {}}), Revision::V2025_11_25, &sandbox).await;
    sandbox.set(json!({"cwd": "/secret/2"}));
    connection.call("t", json!({}), CallOptions::default()).await.unwrap();
    connection.close().await;
    assert!(!methods(&transcript).contains(&UPDATE.to_owned()));
    assert!(!format!("{transcript:?}").contains("/secret"));
}
