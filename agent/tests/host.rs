//! The host of an agent, over real sockets.

#![expect(clippy::unwrap_used, reason = "a test fails where something is missing")]

use std::{sync::Arc, time::Duration};

use client::{Endpoint, HttpEndpoint, ManagedServer, ServerConfig};
use mcp_workbench_agent::{
    config::{Sandbox, SandboxPolicy},
    filter::{ContentPart, ModelCapabilities},
    host::{Host, HostConfig, HostError, HostEvent, HostOptions, HostServer, Visibility},
    instructions::InstructionLimits,
    permissions::{ApprovalChoice, Permissions, RuleTexts, Rules, approval_channel},
    policy::{Platform, Policy, PolicyDirectory},
    schema::Provider,
    search::SearchMode,
};
use mock_servers::{MockServer, script::Script};
use serde_json::{Value, json};
use tokio::time::timeout;

const TIMEOUT: Duration = Duration::from_secs(20);

/// A server with a tool whose schema another tool changes.
fn script() -> Value {
    json!({
        "name": "mock",
        "instructions": "Call `read` first.",
        "capabilities": {"tools": {"listChanged": true}},
        "tools": [
            {"name": "read", "description": "Reads a note", "reply": {"text": "note"}},
            {"name": "write", "description": "Writes a note", "reply": {"text": "written"}},
            {"name": "picture", "reply": {"content": [{"image": {"data": "aGVsbG8=", "mime_type": "image/png"}}]}},
            {"name": "change"},
        ],
        "on": [{
            "when": {"tool": "change"},
            "do": [
                {"change": {
                    "put": [{"name": "read", "input_schema": {"type": "object", "required": ["id"], "properties": {"id": {"type": "string"}}}}],
                    "announce": true,
                }},
                {"reply": {"text": "done"}},
            ],
        }],
    })
}

async fn mock(script: Value) -> MockServer {
    MockServer::start(serde_json::from_value::<Script>(script).unwrap()).await.unwrap()
}

fn server(name: &str, url: String) -> HostServer {
    let endpoint = Endpoint::StreamableHttp(HttpEndpoint { url, ..HttpEndpoint::default() });
    HostServer::new(ManagedServer::new(ServerConfig::new(name, endpoint)))
}

fn rules(texts: &RuleTexts) -> Permissions {
    Permissions::new(Rules::global(texts).unwrap())
}

fn allow_all() -> Permissions {
    rules(&RuleTexts { allow: vec!["*/*".into()], ..RuleTexts::default() })
}

async fn host(mock: &MockServer, permissions: Permissions, options: HostOptions) -> Host {
    let config = HostConfig { permissions, ..HostConfig::default() }.with_servers([server("mock", mock.url())]);
    let host = Host::start(config, options).await.unwrap();
    timeout(TIMEOUT, host.ready()).await.unwrap();
    host
}

fn calls(mock: &MockServer) -> usize {
    mock.received().iter().filter(|message| message.method() == Some("tools/call")).count()
}

async fn call(host: &Host, name: &str) -> Result<Vec<ContentPart>, HostError> {
    let called = timeout(TIMEOUT, host.call(name, json!({}), Default::default())).await.unwrap();
    called.map(|called| called.content.parts)
}

#[tokio::test(flavor = "multi_thread")]
async fn a_call_against_an_old_definition_is_not_sent() {
    let mock = mock(script()).await;
    let host = host(&mock, allow_all(), HostOptions::default()).await;
    assert_eq!(host.tools().tools.len(), 4);
    assert_eq!(call(&host, "mcp__mock__read").await.unwrap(), [ContentPart::Text { text: "note".into() }]);
    let mut events = host.events();
    call(&host, "mcp__mock__change").await.unwrap();
    let refreshed = async {
        loop {
            if let HostEvent::Server(event) = events.recv().await.unwrap()
                && matches!(event.kind, client::ClientEventKind::Refreshed { .. })
            {
                break;
            }
        }
    };
    timeout(TIMEOUT, refreshed).await.unwrap();
    let before = calls(&mock);
    let stale = call(&host, "mcp__mock__read").await.unwrap_err();
    assert_eq!((stale.kind(), calls(&mock)), ("stale", before));
    // The host may still be reading the new list, until the model gets the new definition.
    let mut changes = host.tool_changes();
    let renewed = async {
        while !host
            .tools()
            .get("mcp__mock__read")
            .is_some_and(|tool| tool.tool().input_schema().unwrap().contains_key("required"))
        {
            changes.changed().await.unwrap();
        }
    };
    timeout(TIMEOUT, renewed).await.unwrap();
    assert!(call(&host, "mcp__mock__read").await.is_ok());
    host.close().await;
}

#[tokio::test(flavor = "multi_thread")]
async fn a_denied_call_is_not_sent_and_reported() {
    let mock = mock(script()).await;
    let permissions =
        rules(&RuleTexts { deny: vec!["*/write".into()], allow: vec!["*/*".into()], ..RuleTexts::default() });
    let host = host(&mock, permissions, HostOptions::default()).await;
    let mut events = host.events();
    let denied = call(&host, "mcp__mock__write").await.unwrap_err();
    assert_eq!((denied.kind(), calls(&mock)), ("denied", 0));
    let HostEvent::Call(report) = events.recv().await.unwrap() else { panic!("no report") };
    assert_eq!((report.outcome.as_str(), report.server.as_deref()), ("denied", Some("mock")));
    assert!(report.reason.unwrap().contains("the global deny rule `*/write` decides"));
    assert!(call(&host, "mcp__mock__read").await.is_ok());
    let unknown = call(&host, "mcp__mock__rea").await.unwrap_err();
    assert!(
        matches!(&unknown, HostError::UnknownTool { nearest: Some(near), .. } if near == "mcp__mock__read"),
        "{unknown:?}"
    );
    assert_eq!(calls(&mock), 1);
    // A policy that is applied later stops calls of servers that are connected.
    let root = tempfile::tempdir().unwrap();
    let directory = PolicyDirectory::own(Platform::Linux);
    std::fs::create_dir_all(directory.settings(root.path()).parent().unwrap()).unwrap();
    std::fs::write(directory.settings(root.path()), r#"{"deniedMcpServers": [{"serverName": "mock"}]}"#).unwrap();
    let policy = Arc::new(Policy::read(&directory, root.path()));
    let config = HostConfig { permissions: allow_all(), policy, ..HostConfig::default() };
    host.apply(config.with_servers([server("mock", mock.url())])).await.unwrap();
    assert_eq!(call(&host, "mcp__mock__read").await.unwrap_err().kind(), "not-allowed");
    assert_eq!(calls(&mock), 1);
    host.close().await;
}

#[tokio::test(flavor = "multi_thread")]
async fn an_approval_for_the_session_is_remembered() {
    let mock = mock(script()).await;
    let (approver, mut requests) = approval_channel(8);
    let options = HostOptions { approver: Arc::new(approver), ..HostOptions::default() };
    let host = host(&mock, Permissions::default(), options).await;
    let calling = tokio::spawn({
        let host = host.clone();
        async move { call(&host, "mcp__mock__write").await }
    });
    let pending = timeout(TIMEOUT, requests.recv()).await.unwrap().unwrap();
    assert_eq!((pending.request.server.as_str(), pending.request.tool.as_str()), ("mock", "write"));
    assert_eq!(calls(&mock), 0);
    pending.respond(ApprovalChoice::Session);
    assert!(calling.await.unwrap().is_ok());
    assert!(call(&host, "mcp__mock__write").await.is_ok());
    assert!(requests.try_recv().is_err());
    assert_eq!(calls(&mock), 2);
    host.close().await;
}

#[tokio::test(flavor = "multi_thread")]
async fn deferred_tools_are_found_loaded_and_called() {
    let mock = mock(script()).await;
    for references in [false, true] {
        let options = HostOptions {
            provider: Some(Provider::Anthropic),
            search: SearchMode::Always,
            references,
            ..HostOptions::default()
        };
        let host = host(&mock, allow_all(), options).await;
        let tools = host.tools();
        assert!(tools.tools.iter().all(|tool| tool.visibility == Visibility::Deferred));
        let names = |definitions: &[Value]| -> Vec<(String, bool)> {
            let name = |one: &Value| (one["name"].as_str().unwrap().to_owned(), one["defer_loading"] == true);
            definitions.iter().map(name).collect()
        };
        let shown = names(&tools.definitions());
        assert_eq!(shown.last().unwrap(), &("ToolSearch".to_owned(), false));
        assert_eq!(shown.len(), if references { 5 } else { 1 }, "{shown:?}");
        let found = host.call("ToolSearch", json!({"query": "writes"}), Default::default()).await.unwrap();
        let expected = if references {
            json!({"type": "tool_reference", "tool_name": "mcp__mock__write"})
        } else {
            json!([tools.get("mcp__mock__write").unwrap().definition().unwrap()])
        };
        assert_eq!(found.content.parts, [ContentPart::Json { value: expected }]);
        assert_eq!(host.loaded().into_iter().collect::<Vec<_>>(), ["mcp__mock__write"]);
        let after = host.tools();
        assert_eq!(after.get("mcp__mock__write").unwrap().visibility, Visibility::Loaded);
        assert!(names(&after.definitions()).contains(&("mcp__mock__write".to_owned(), references)));
        assert!(call(&host, "mcp__mock__write").await.is_ok());
        host.close().await;
    }
}

#[tokio::test(flavor = "multi_thread")]
async fn media_is_kept_only_for_models_that_support_it() {
    let mock = mock(script()).await;
    for (images, expected) in [
        (true, ContentPart::Image { mime: "image/png".into(), data: "aGVsbG8=".into() }),
        (false, ContentPart::Text { text: "[image: image/png, 5 bytes]".into() }),
    ] {
        let options =
            HostOptions { capabilities: ModelCapabilities { images, audio: false }, ..HostOptions::default() };
        let host = host(&mock, allow_all(), options).await;
        assert_eq!(call(&host, "mcp__mock__picture").await.unwrap(), [expected]);
        host.close().await;
    }
}

#[tokio::test(flavor = "multi_thread")]
async fn a_server_that_does_not_respond_delays_no_other() {
    let (good, stuck) = (
        mock(script()).await,
        mock(json!({"tools": [{"name": "x"}], "faults": [{"name": "s", "fault": "silence", "when": {"method": "tools/list"}}]})).await,
    );
    let config = HostConfig { permissions: allow_all(), ..HostConfig::default() };
    let config = config.with_servers([server("good", good.url()), server("stuck", stuck.url())]);
    let host = Host::start(config, HostOptions::default()).await.unwrap();
    let mut changes = host.tool_changes();
    let seen = async {
        while host.tools().get("mcp__good__read").is_none() {
            changes.changed().await.unwrap();
        }
    };
    timeout(TIMEOUT, seen).await.unwrap();
    assert!(call(&host, "mcp__good__read").await.is_ok());
    assert!(host.tools().get("mcp__stuck__x").is_none());
    host.close().await;
}

#[tokio::test(flavor = "multi_thread")]
async fn instructions_are_quoted_with_their_server() {
    let mock = mock(script()).await;
    let host = host(&mock, allow_all(), HostOptions::default()).await;
    let instructions = host.instructions(InstructionLimits::default()).await;
    assert_eq!(instructions.text, "Instructions of the MCP server `mock`, quoted:\n> Call `read` first.\n\n");
    let short = host.instructions(InstructionLimits { server: 4, total: 100 }).await;
    assert!(short.text.contains("> Call\n(truncated)") && short.truncated == ["mock"], "{short:?}");
    host.close().await;
}

/// The policies that a server received.
fn sandbox_updates(mock: &MockServer) -> Vec<Value> {
    let received = mock.received();
    let updates = received.iter().filter(|message| message.method() == Some("codex/sandbox-state/update"));
    updates.map(|message| message.params().unwrap()["sandboxPolicy"]["type"].clone()).collect()
}

#[tokio::test(flavor = "multi_thread")]
async fn the_sandbox_is_sent_at_the_start_and_at_each_change_to_interested_servers() {
    let interested = mock(json!({
        "extends": "minimal", "capabilities": { "tools": {}, "experimental": { "codex/sandbox-state": {} } },
    }))
    .await;
    let other = mock(json!({ "extends": "minimal" })).await;
    let config = |policy: Option<SandboxPolicy>| {
        HostConfig {
            sandbox: policy.map(|policy| Sandbox { policy, cwd: None }),
            permissions: allow_all(),
            ..HostConfig::default()
        }
        .with_servers([server("interested", interested.url()), server("other", other.url())])
    };
    let host = Host::start(config(Some(SandboxPolicy::ReadOnly)), HostOptions::default()).await.unwrap();
    timeout(TIMEOUT, host.ready()).await.unwrap();
    let wait_for = async |expected: &[&str]| {
        let probe = || {
            Some(sandbox_updates(&interested))
                .filter(|sent| sent == expected)
                .ok_or_else(|| sandbox_updates(&interested))
        };
        test_support::wait_for(&format!("{expected:?}"), probe).await;
    };
    wait_for(&["read-only"]).await;
    let write = SandboxPolicy::WorkspaceWrite { writable_roots: vec!["/w".into()], network_access: false };
    host.apply(config(Some(write.clone()))).await.unwrap();
    wait_for(&["read-only", "workspace-write"]).await;
    // Nothing changes, and an unknown sandbox is not sent.
    host.apply(config(Some(write))).await.unwrap();
    host.apply(config(None)).await.unwrap();
    host.apply(config(Some(SandboxPolicy::DangerFullAccess))).await.unwrap();
    wait_for(&["read-only", "workspace-write", "danger-full-access"]).await;
    assert_eq!(sandbox_updates(&other), Vec::<Value>::new());
    host.close().await;
}
