//! Runs: verdicts, figures, progress, limits and the end of processes.

use std::{fs, sync::Arc, time::Duration};

use client::CallOptions;
use mcp_workbench_serve::Limits;
use mock_servers::{
    MockServer, mock,
    script::{Fault, Tool, When},
};
use serde_json::json;
use tokio_util::sync::CancellationToken;

use crate::kit::{ERAS, bench, call, connected, error, gone, mock_server, pid, progress, silent};

pub(crate) async fn a_server_is_validated_with_progress_and_evidence() {
    let bench = bench(Limits::default());
    let session = connected(&bench.workbench, ERAS[0]).await;
    let mut events = session.client.events();
    let server = mock_server().await;
    let arguments = json!({ "server": { "url": server.url() } });
    let result = call(&session.client, "validate_server", arguments).await;
    let report = result.structured().expect("a value");
    assert_eq!(report["passed"], true, "{report:#}");
    assert_eq!(report["subject"], server.url());
    assert!(report["counts"]["passed"].as_u64().is_some_and(|count| count > 20), "{report:#}");
    let steps = progress(&mut events);
    let cases = ["passed", "failed", "warned", "blocked", "skipped"].map(|word| report["counts"][word].as_u64());
    let cases: u64 = cases.into_iter().flatten().sum();
    assert_eq!(steps.len() as u64, cases + 1, "one for the probe, one for each case");
    assert!(steps.windows(2).all(|pair| pair[0].0 < pair[1].0), "{steps:?}");
    assert_eq!(steps.last().map(|last| Some(last.0)), steps.last().map(|last| last.1), "the last is the whole");
    let journal = fs::read_to_string(report["journal"].as_str().expect("a path")).expect("the journal");
    assert_eq!(journal.lines().count() as u64, cases + 2, "a first line, one for each case, and the end");
    server.stop().await;

    let server = mock_server().await;
    let arguments =
        json!({ "server": { "url": server.url() }, "only": ["tool-names-*"], "revisions": ["2025-11-25"], "seed": 7 });
    let result = call(&session.client, "validate_server", arguments).await;
    let report = result.structured().expect("a value");
    assert_eq!((&report["passed"], &report["seed"]), (&json!(true), &json!(7)), "{report:#}");
    assert!(report["counts"]["passed"].as_u64().is_some_and(|count| (1..5).contains(&count)), "{report:#}");
    for (arguments, words) in [
        (json!({ "quick": true, "revisions": ["2025-11-25"] }), "exclude"),
        (json!({ "transport": "stdio" }), "needs a `command`"),
        (json!({ "areas": ["tool"] }), "tools"),
        (json!({ "callTools": ["["] }), "callTools"),
    ] {
        let mut arguments = arguments;
        arguments["server"] = json!({ "url": server.url() });
        let rejected = call(&session.client, "validate_server", arguments).await;
        assert!(error(&rejected)["message"].as_str().is_some_and(|text| text.contains(words)), "{rejected:?}");
    }
    server.stop().await;

    // A ping that is answered with the wrong id.
    let broken = When::method("ping").then(Fault::WrongId);
    let server = MockServer::builder()
        .tool(Tool::new("t").replies(mock::text("x")))
        .on(broken)
        .start()
        .await
        .expect("it starts");
    let arguments = json!({ "server": { "url": server.url() }, "scenarios": ["server/handshake"] });
    let result = call(&session.client, "validate_server", arguments).await;
    let report = result.structured().expect("a value");
    assert_eq!(report["passed"], false, "{report:#}");
    let failure = &report["failures"][0];
    assert!(failure["id"].as_str().is_some_and(|id| id.starts_with("server/handshake@")), "{report:#}");
    let rule = &failure["checks"][0]["requirement"];
    assert!(rule["url"].as_str().is_some_and(|url| url.starts_with("https://")), "{failure:#}");
    assert!(!failure["evidence"].as_array().expect("a list").is_empty(), "{failure:#}");
    assert!(result.text().contains("FAILED") && result.text().contains(rule["id"].as_str().expect("an id")));
}

pub(crate) async fn a_client_is_tested() {
    let bench = bench(Limits::default());
    let session = connected(&bench.workbench, ERAS[1]).await;
    // A client that does nothing fails everything.
    let arguments = json!({
        "clientCommand": "true", "scenarios": ["handshake/basic"], "transports": ["streamable-http"], "seed": 7
    });
    let result = call(&session.client, "run_scenarios", arguments).await;
    let report = result.structured().expect("a value");
    assert_eq!((&report["passed"], &report["seed"], &report["subject"]), (&json!(false), &json!(7), &json!("true")));
    let failures = report["failures"].as_array().expect("a list");
    assert!(!failures.is_empty() && report["counts"]["passed"] == 0, "{report:#}");
    let known = call(&session.client, "run_scenarios", json!({ "scenarios": ["handshake/basics"] })).await;
    assert!(error(&known)["message"].as_str().is_some_and(|words| words.contains("handshake/basic")), "{known:?}");
}

pub(crate) async fn a_server_is_load_tested_within_limits() {
    let bench = bench(Limits::default());
    let session = connected(&bench.workbench, ERAS[0]).await;
    let server = mock_server().await;
    let arguments = json!({
        "server": { "url": server.url() }, "tool": "echo", "users": 2, "duration": "300ms", "warmup": "50ms",
        "thresholds": ["error_rate <= 0%"]
    });
    let measured = call(&session.client, "bench_server", arguments).await;
    let value = measured.structured().expect("a value");
    assert_eq!(value["passed"], true, "{value:#}");
    assert!(value["load"]["succeeded"].as_u64().is_some_and(|count| count > 0), "{value:#}");
    assert!(measured.text().contains("latency: p50"), "{}", measured.text());
    let none = json!({ "server": { "url": server.url() }, "tool": "none", "duration": "100ms", "warmup": "0s" });
    let rejected = call(&session.client, "bench_server", none).await;
    assert_eq!(error(&rejected)["kind"], "unknown-tool", "{rejected:?}");
}

pub(crate) async fn tools_are_listed_and_compared() {
    let bench = bench(Limits::default());
    let session = connected(&bench.workbench, ERAS[0]).await;
    let server = mock_server().await;
    let at = json!({ "url": server.url() });
    let listed = call(&session.client, "list_tools", json!({ "server": at, "name": "mine" })).await;
    let tools = listed.structured().expect("a value")["tools"].clone();
    assert_eq!((&tools[0]["name"], &tools[0]["qualifiedName"]), (&json!("echo"), &json!("mcp__mine__echo")));
    assert_eq!(tools[0]["inputSchema"]["type"], "object");
    let short = call(&session.client, "list_tools", json!({ "server": at, "schemas": false })).await;
    assert!(short.structured().expect("a value")["tools"][0].get("inputSchema").is_none());

    // What `list_tools` gives is what `diff_tools` takes.
    let same = call(&session.client, "diff_tools", json!({ "old": { "tools": tools }, "new": { "server": at } })).await;
    assert_eq!(same.structured().expect("a value")["changes"], json!([]), "{same:?}");
    let read: Vec<_> = tools
        .as_array()
        .expect("a list")
        .iter()
        .cloned()
        .map(|mut tool| {
            tool.as_object_mut().expect("an object").remove("qualifiedName");
            Arc::new(client::Tool::read(tool).expect("a tool").0)
        })
        .collect();
    let lock = agent::lock::Lock::new(agent::lock::Identity::default(), ERAS[0], &read).to_text();
    let lock: serde_json::Value = serde_json::from_str(&lock).expect("JSON");
    let same = call(&session.client, "diff_tools", json!({ "old": { "lock": lock }, "new": { "server": at } })).await;
    assert_eq!(same.structured().expect("a value")["changes"], json!([]), "{same:?}");
    let none = call(&session.client, "diff_tools", json!({ "old": { "lock": {} }, "new": { "server": at } })).await;
    assert_eq!(error(&none)["kind"], "invalid-arguments");
    let mut before = tools.as_array().expect("a list").clone();
    before[0]["description"] = json!("Says it twice");
    before.push(json!({ "name": "gone", "inputSchema": { "type": "object" } }));
    let changed =
        call(&session.client, "diff_tools", json!({ "old": { "tools": before }, "new": { "server": at } })).await;
    let changed = changed.structured().expect("a value");
    assert_eq!(
        (&changed["severity"], &changed["breaking"], &changed["cosmetic"]),
        (&json!("breaking"), &json!(1), &json!(1))
    );
}

pub(crate) async fn tools_are_converted_for_providers_with_changes() {
    let bench = bench(Limits::default());
    let session = connected(&bench.workbench, ERAS[1]).await;
    let server = mock_server().await;
    let nasty = json!({
        "type": "object", "properties": { "n": { "type": "integer", "multipleOf": 3 } }, "required": ["n"]
    });
    let tools =
        json!([{ "name": "nasty", "inputSchema": nasty }, { "name": "bad", "inputSchema": { "properties": 7 } }]);
    for provider in ["openai", "openai-chat", "anthropic", "gemini", "gemini-json-schema"] {
        let arguments = json!({ "provider": provider, "server": { "url": server.url() }, "name": "mine" });
        let converted = call(&session.client, "convert_schema", arguments).await;
        let value = converted.structured().expect("a value");
        assert_eq!(value["tools"][0]["name"], "mcp__mine__echo", "{value:#}");
        assert!(value["tools"][0]["definition"].to_string().contains("mcp__mine__echo"), "{value:#}");
        // One that cannot be read costs itself alone.
        let given = call(&session.client, "convert_schema", json!({ "provider": provider, "tools": tools })).await;
        let value = given.structured().expect("a value");
        assert_eq!(
            (&value["tools"][0]["name"], &value["rejected"][0]["name"]),
            (&json!("nasty"), &json!("bad")),
            "{value:#}"
        );
    }
    // Gemini has no multiples.
    let given = call(&session.client, "convert_schema", json!({ "provider": "gemini", "tools": tools })).await;
    assert!(given.text().contains("`multipleOf`"), "{}", given.text());
    let neither = call(&session.client, "convert_schema", json!({ "provider": "gemini" })).await;
    assert_eq!(error(&neither)["kind"], "invalid-arguments");
}

pub(crate) async fn a_cancelled_run_ends_its_processes() {
    for revision in ERAS {
        for tool in ["validate_server", "list_tools"] {
            let bench = bench(Limits::default());
            let session = connected(&bench.workbench, revision).await;
            let (server, file) = silent(&bench);
            let cancel = CancellationToken::new();
            let options = CallOptions { cancel: cancel.clone(), ..CallOptions::default() };
            let called = session.client.call(tool, json!({ "server": server }), options);
            let ((), outcome) = tokio::join!(
                async {
                    let pid = pid(&file).await;
                    cancel.cancel();
                    gone(&pid).await;
                },
                called
            );
            assert!(outcome.is_err(), "{tool}: {outcome:?}");
            // The place for runs is free again.
            let next = call(&session.client, "validate_server", json!({ "server": { "url": "http://127.0.0.1:9/" } }));
            let next = tokio::time::timeout(Duration::from_secs(10), next).await.expect("it does not wait");
            assert_eq!(error(&next)["kind"], "no-response");
        }
    }
}

pub(crate) async fn a_disconnect_ends_the_runs_of_a_client() {
    for revision in ERAS {
        let bench = bench(Limits::default());
        let session = connected(&bench.workbench, revision).await;
        let (server, file) = silent(&bench);
        let client = session.client.clone();
        let calling = tokio::spawn(async move {
            client.call("validate_server", json!({ "server": server }), CallOptions::default()).await
        });
        let pid = pid(&file).await;
        session.client.close().await;
        session.served.await.expect("no panic").expect("it ends well");
        bench.workbench.close().await;
        gone(&pid).await;
        assert!(calling.await.expect("no panic").is_err());
    }
}
