//! Every command, over every transport.

use serde_json::json;

use crate::kit::{Server, TestTransport};

#[tokio::test]
async fn every_command_works_over_every_transport() {
    for transport in TestTransport::ALL {
        let server = Server::start(transport).await;
        let found = server.client(&["connect", "--json"]).await;
        assert_eq!(found.code, Some(0), "{transport:?}: {found:?}");
        let (transport, revision) = match transport {
            TestTransport::Stdio => ("stdio", "2026-07-28"),
            TestTransport::Http | TestTransport::Unix => ("streamable-http", "2026-07-28"),
            TestTransport::Sse => ("sse", "2025-11-25"),
        };
        let found = found.json();
        assert_eq!((&found["transport"], &found["revision"]), (&json!(transport), &json!(revision)), "{transport:?}");
        assert!(found["greeting"]["capabilities"]["tools"].is_object(), "{found}");

        let tools = server.client(&["tools"]).await;
        assert!(tools.success().contains("\necho\n    Says it again.\nstuck\n"), "{tools:?}");
        let called = server.client(&["call", "echo", "text=7", "--json"]).await;
        called.success();
        assert_eq!(called.json()["content"], json!([{"type": "text", "text": "7"}]), "{transport:?}");
        let read = server.client(&["read", "test://static-text"]).await;
        assert_eq!(read.success(), "This is the content of the static text resource.\n");
        let prompt = server.client(&["prompt", "test_prompt_with_arguments", "arg1=a", "arg2=b=c"]).await;
        assert_eq!(prompt.success(), "user: Prompt with arguments: arg1='a', arg2='b=c'\n");
        let listed = server.client(&["request", "resources/templates/list", "--json"]).await;
        listed.success();
        assert!(listed.json()["resourceTemplates"].is_array(), "{transport:?}: {listed:?}");
        let ping = server.client(&["ping", "--count", "2", "--json"]).await;
        ping.success();
        let method = if revision == "2026-07-28" { "server/discover" } else { "ping" };
        assert_eq!(ping.json()["method"], method, "{transport:?}");
        assert_eq!(ping.json()["times_ms"].as_array().map(Vec::len), Some(2), "{ping:?}");
        let status = server.client(&["status", "--json"]).await;
        status.success();
        assert_eq!((&status.json()["status"], &status.json()["transport"]), (&json!("connected"), &json!(transport)));
    }
}

#[tokio::test]
async fn any_request_can_be_sent_but_a_call_of_a_tool() {
    let server = Server::start(TestTransport::Http).await;
    let read = server.client(&["request", "resources/read", "--params", "{\"uri\": \"test://static-text\"}"]).await;
    assert!(read.success().contains("This is the content of the static text resource."), "{read:?}");
    let unknown = server.client(&["request", "acme/reindex", "--json"]).await;
    assert_eq!((unknown.code, &unknown.json()["error"]["kind"]), (Some(1), &json!("rpc-error")), "{unknown:?}");
    assert!(unknown.stderr.contains("-32601"), "{unknown:?}");
    // It would bypass the permission rules.
    let call = server.client(&["request", "tools/call", "--params", "{\"name\": \"echo\"}"]).await;
    assert!(call.code == Some(2) && call.stderr.contains("client call"), "{call:?}");
    assert!(!server.has_received("tools/call"), "a tool was called");
    let array = server.client(&["request", "ping", "--params", "[1]"]).await;
    assert!(array.code == Some(2) && array.stderr.contains("--params is not a JSON object"), "{array:?}");
}

#[tokio::test]
async fn a_transport_a_revision_and_headers_can_be_chosen() {
    let server = Server::start(TestTransport::Http).await;
    let chosen = ["connect", "--json", "--transport", "http", "--revision", "2025-06-18", "--header", "x-team: blue"];
    let found = server.client(&chosen).await;
    found.success();
    assert_eq!(found.json()["revision"], "2025-06-18");
    let frames = server.frames();
    let sent: Vec<_> = frames.iter().filter(|frame| frame["http"]["method"] == "POST").collect();
    assert!(sent.len() > 1 && sent.iter().all(|frame| frame["http"]["headers"]["x-team"] == "blue"), "{sent:?}");
    // The server does not support it, and the client tries no other transport.
    let refused = server.client(&["connect", "--json", "--transport", "sse"]).await;
    assert_eq!((refused.code, &refused.json()["error"]["kind"]), (Some(3), &json!("http-status")), "{refused:?}");
}

#[tokio::test]
async fn lists_print_names() {
    let server = Server::start(TestTransport::Stdio).await;
    let one = server.client(&["tools", "echo", "--json"]).await;
    one.success();
    assert_eq!(one.json()["inputSchema"]["properties"]["times"]["type"], "integer");
    let all = server.client(&["tools", "--json"]).await.json();
    assert!(all["tools"].as_array().unwrap().len() > 5 && all["pages"].is_number(), "{all}");
    let resources = server.client(&["read"]).await;
    assert!(resources.success().starts_with("test://static-text\n    A text that stays the same.\n"), "{resources:?}");
    let resources = server.client(&["read", "--json"]).await.json();
    assert!(!resources["resourceTemplates"].as_array().unwrap().is_empty(), "{resources}");
    let prompts = server.client(&["prompt"]).await;
    assert!(prompts.success().starts_with("test_simple_prompt\n"), "{prompts:?}");
}

#[tokio::test]
async fn skills_are_verified_before_they_are_printed() {
    let server = Server::start(TestTransport::Http).await;
    let skills = server.client(&["skills"]).await;
    assert!(skills.success().contains("skill://changed/SKILL.md\n    A skill.\n"), "{skills:?}");
    assert!(!server.has_received("resources/read"), "files are read before they are needed");
    let loaded = server.client(&["skills", "skill://changed/SKILL.md"]).await;
    assert!(loaded.success().starts_with("---\nname: "), "{loaded:?}");
    let changed = server.client(&["skills", "skill://changed/a.md", "--json"]).await;
    assert_eq!((changed.code, &changed.json()["error"]["kind"]), (Some(1), &json!("skill-mismatch")), "{changed:?}");
    assert!(!changed.stdout.contains("new"), "{changed:?}");
    let unknown = server.client(&["skills", "skill://unknown/SKILL.md"]).await;
    assert_eq!(unknown.code, Some(1), "{unknown:?}");
    assert!(server.has_received("resources/read"), "the loaded files were read");
}
