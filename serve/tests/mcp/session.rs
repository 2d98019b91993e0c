//! Features of the workbench, and errors of invalid requests.

use agent::policy::{Platform, Policy, PolicyDirectory};
use client::{CallError, CallOptions};
use mcp_workbench_serve::Limits;
use serde_json::{Map, Value, json};

use crate::kit::{ERAS, bench, bench_under, call, connected, error};

pub(crate) async fn is_a_server_of_both_eras() {
    let bench = bench(Limits::default());
    for revision in ERAS {
        let session = connected(&bench.workbench, revision).await;
        assert_eq!(session.client.revision(), revision);
        let greeting = session.client.greeting().expect("a greeting");
        assert!(greeting.to_string().contains("mcp-workbench"), "{greeting}");
        assert!(greeting["instructions"].as_str().is_some_and(|words| words.contains("validate_server")), "{greeting}");
        let list = session.client.list_tools().await.expect("a list");
        assert!(list.rejected.is_empty() && list.tools.len() >= 7, "{list:?}");
        let found = call(&session.client, "list_scenarios", json!({ "subject": "server" })).await;
        let scenarios = found.structured().expect("a value")["scenarios"].as_array().expect("a list").clone();
        assert!(scenarios.iter().any(|scenario| scenario["id"] == "server/tools"), "{revision}");
        assert!(scenarios.iter().all(|scenario| scenario["subject"] == "server"));
        let explained = call(&session.client, "explain_requirement", json!({ "id": "tools/listed" })).await;
        let explained = explained.structured().expect("a value");
        assert_eq!(explained["requirement"]["id"], "tools/listed");
        assert!(explained["scenarios"].as_array().expect("a list").contains(&json!("server/tools")), "{explained}");
        session.client.close().await;
        session.served.await.expect("no panic").expect("it ends well when its client leaves");
    }
}

pub(crate) async fn invalid_arguments_are_a_result_with_help() {
    let bench = bench(Limits::default());
    let session = connected(&bench.workbench, ERAS[0]).await;
    let url = "http://127.0.0.1:9/mcp";
    for (tool, arguments, kind, word) in [
        ("validate_server", json!({}), "invalid-arguments", "server"),
        ("validate_server", json!({ "server": {} }), "invalid-arguments", "neither"),
        ("validate_server", json!({ "server": { "url": url, "cmd": "x" } }), "invalid-arguments", "cmd"),
        (
            "validate_server",
            json!({ "server": { "url": url }, "scenarios": ["server/tolls"] }),
            "invalid-arguments",
            "tolls",
        ),
        ("validate_server", json!({ "server": { "url": url }, "startupTimeout": "1h" }), "over-limit", "1h"),
        ("validate_server", json!({ "server": { "url": url } }), "no-response", "127.0.0.1:9"),
        ("validate_server", json!({ "server": { "command": "/no/such/program" } }), "spawn-failed", "/no/such/program"),
        ("run_scenarios", json!({ "revisions": ["2020-01-01"] }), "invalid-arguments", "2020-01-01"),
        ("bench_server", json!({ "server": { "url": url }, "tool": "t", "rate": 1e6 }), "over-limit", "rate"),
        (
            "bench_server",
            json!({ "server": { "url": url }, "tool": "t", "rate": 1, "users": 1 }),
            "invalid-arguments",
            "both",
        ),
        ("bench_server", json!({ "server": { "url": url }, "tool": "t", "duration": "2h" }), "over-limit", "2h"),
        ("list_tools", json!({ "server": { "command": "/no/such/program" } }), "spawn-failed", "/no/such/program"),
        ("diff_tools", json!({ "old": {}, "new": {} }), "invalid-arguments", "old"),
        (
            "diff_tools",
            json!({ "old": { "tools": [{ "name": "a" }] }, "new": { "tools": [] } }),
            "invalid-arguments",
            "inputSchema",
        ),
        ("explain_requirement", json!({ "id": "tools/liste" }), "invalid-arguments", "tools/liste"),
    ] {
        let result = call(&session.client, tool, arguments.clone()).await;
        let error = error(&result);
        assert_eq!(error["kind"], kind, "{tool} {arguments}: {error}");
        assert!(error["message"].as_str().is_some_and(|message| message.contains(word)), "{tool} {arguments}: {error}");
        assert!(result.text().contains(error["message"].as_str().unwrap_or("?")), "the text contains the message too");
    }
    let unknown = call(&session.client, "explain_requirement", json!({ "id": "tools/liste" })).await;
    assert!(error(&unknown)["help"].as_str().is_some_and(|help| help.contains("tools/listed")), "{unknown:?}");
}

pub(crate) async fn servers_that_the_administrator_does_not_allow_are_not_started() {
    let root = tempfile::tempdir().expect("a directory");
    let directory = PolicyDirectory::own(Platform::Linux);
    let settings = directory.settings(root.path());
    std::fs::create_dir_all(settings.parent().expect("a parent")).expect("a directory");
    std::fs::write(settings, r#"{"deniedMcpServers": [{"serverCommand": ["/no/such/program"]}]}"#).expect("a file");
    let bench = bench_under(Limits::default(), Policy::read(&directory, root.path()));
    let session = connected(&bench.workbench, ERAS[0]).await;
    let calls = |server: &Value| {
        [
            ("validate_server", json!({ "server": server })),
            ("bench_server", json!({ "server": server, "tool": "t" })),
            ("list_tools", json!({ "server": server })),
            ("diff_tools", json!({ "old": { "tools": [] }, "new": { "server": server } })),
            ("convert_schema", json!({ "server": server, "provider": "openai" })),
        ]
    };
    for (server, kind) in [
        (json!({ "command": "/no/such/program" }), "not-allowed"),
        (json!({ "command": "/no/such/program", "args": ["--other"] }), "spawn-failed"),
    ] {
        for (tool, arguments) in calls(&server) {
            let result = call(&session.client, tool, arguments).await;
            // A load says that there is no connection, whatever the reason.
            let told = error(&result)["kind"].as_str().expect("a kind").replace("no-connection", "spawn-failed");
            assert_eq!(told, kind, "{tool}: {result:?}");
        }
    }
}

pub(crate) async fn unknown_names_are_protocol_errors() {
    let bench = bench(Limits::default());
    for revision in ERAS {
        let session = connected(&bench.workbench, revision).await;
        let code = |error: CallError| match error {
            CallError::Rpc { code, .. } => code,
            other => panic!("{other}"),
        };
        let called = session.client.call("no_such_tool", json!({}), CallOptions::default()).await;
        assert_eq!(code(called.expect_err("there is none")), -32602);
        let read = session.client.read_resource("mcp-workbench://scenarios/no/such").await;
        let modern = revision == ERAS[1];
        assert_eq!(code(read.expect_err("there is none")), if modern { -32602 } else { -32002 });
        let server = Map::from_iter([("server".to_owned(), json!("node server.js"))]);
        let prompt = session.client.get_prompt("no_such_prompt", server).await;
        assert_eq!(code(prompt.expect_err("there is none")), -32602);
        let prompt = session.client.get_prompt("test_server", Map::new()).await;
        assert_eq!(code(prompt.expect_err("an argument is missing")), -32602);
    }
}

pub(crate) async fn the_catalog_and_the_register_can_be_read() {
    let bench = bench(Limits::default());
    let session = connected(&bench.workbench, ERAS[1]).await;
    let listed = session.client.list_resources().await.expect("a list");
    assert_eq!(listed.len(), 2);
    assert_eq!(session.client.list_resource_templates().await.expect("a list").len(), 2);
    let text = async |uri: &str| {
        let read = session.client.read_resource(uri).await.unwrap_or_else(|error| panic!("{uri}: {error}"));
        read["contents"][0]["text"].as_str().expect("text").to_owned()
    };
    for resource in &listed {
        let uri = resource["uri"].as_str().expect("a URI");
        let value: Value = serde_json::from_str(&text(uri).await).expect("JSON");
        assert!(
            value
                .as_object()
                .is_some_and(|map| map.values().all(|list| list.as_array().is_some_and(|list| list.len() > 20))),
            "{uri}"
        );
    }
    assert!(text("mcp-workbench://scenarios/server/tools").await.contains("scenario: server/tools"));
    let requirement: Value =
        serde_json::from_str(&text("mcp-workbench://requirements/tools/listed").await).expect("JSON");
    assert_eq!(requirement["requirement"]["id"], "tools/listed");
}

pub(crate) async fn a_prompt_names_the_server() {
    let bench = bench(Limits::default());
    let session = connected(&bench.workbench, ERAS[0]).await;
    assert_eq!(session.client.list_prompts().await.expect("a list")[0]["name"], "test_server");
    let arguments = json!({ "server": "node server.js", "focus": "cursors" });
    let arguments = arguments.as_object().expect("an object").clone();
    let prompt = session.client.get_prompt("test_server", arguments).await.expect("a prompt");
    let words = prompt["messages"][0]["content"]["text"].as_str().expect("text");
    assert!(
        words.contains("`node server.js`") && words.contains("cursors") && words.contains("validate_server"),
        "{words}"
    );
}
