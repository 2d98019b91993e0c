//! Validation runs: verdicts as events, reports, comparison, and one run at a time.

use mock_servers::{
    MockServer, mock,
    script::{Fault, Tool, When},
};
use reqwest::{Method, StatusCode};
use serde_json::{Value, json};

use crate::kit::{Api, TOKEN, is_error, mock_server, response};

/// The events of a run until its end.
async fn events(api: &Api, id: &str) -> Vec<(String, Value)> {
    let sent = api.request(Method::GET, &format!("/runs/{id}/events")).bearer_auth(TOKEN).send();
    let text = sent.await.expect("a response").text().await.expect("it ends");
    let blocks = text.split("\n\n").filter(|block| !block.trim().is_empty() && !block.starts_with(':'));
    blocks
        .map(|block| {
            let line = |name: &str| block.lines().find_map(|line| line.strip_prefix(name)).expect("a field").trim();
            (line("event:").to_owned(), serde_json::from_str(line("data:")).expect("JSON"))
        })
        .collect()
}

/// The last event of a run.
pub(crate) async fn end(api: &Api, id: &str) -> Value {
    events(api, id).await.pop().expect("an event").1
}

async fn add(api: &Api, name: &str, server: &MockServer) {
    let body = json!({ "name": name, "config": { "url": server.url(), "headers": { "X-Key": "s3cr3t-of-a-header" } } });
    assert_eq!(api.post("/mcp", Some(body)).await.0, StatusCode::OK);
}

async fn run(api: &Api, body: Value) -> (String, Vec<(String, Value)>) {
    let (status, started) = api.post("/runs", Some(body)).await;
    assert_eq!((status, &started["status"]), (StatusCode::ACCEPTED, &json!("running")), "{started}");
    let id = started["id"].as_str().expect("an id").to_owned();
    let events = events(api, &id).await;
    (id, events)
}

#[tokio::test]
async fn a_run_sends_its_verdicts_and_has_reports() {
    let api = Api::start().await;
    let server = mock_server().await;
    add(&api, "good", &server).await;
    // A ping that is answered with the wrong id, and a result with a configured secret.
    let broken = MockServer::builder()
        .tool(Tool::new("t").replies(mock::text("s3cr3t-of-a-header")))
        .on(When::method("ping").then(Fault::WrongId))
        .start()
        .await
        .expect("it starts");
    add(&api, "broken", &broken).await;

    let options = json!({ "server": "good", "revisions": ["2025-11-25"], "only": ["server/handshake"], "seed": 7 });
    let (good, events) = run(&api, options.clone()).await;
    let names: Vec<&str> = events.iter().map(|(name, _)| name.as_str()).collect();
    assert_eq!((names[0], names[names.len() - 1]), ("started", "end"), "{names:?}");
    let cases: Vec<&Value> = events.iter().filter(|(name, _)| name == "case").map(|(_, data)| data).collect();
    let end = &events[events.len() - 1].1;
    assert_eq!((&end["status"], &end["passed"]), (&json!("finished"), &json!(true)), "{end:#}");
    assert_eq!((&end["header"]["planned"], end["finished"].as_u64()), (&json!(cases.len()), Some(cases.len() as u64)));
    assert_eq!(end["header"]["seed"], 7);
    assert!(!cases.is_empty() && cases.iter().all(|case| case["checks"].is_array()), "{cases:#?}");

    let (_, report) = api.get(&format!("/runs/{good}/report")).await;
    assert_eq!((&report["format"], report["cases"].as_array().map(Vec::len)), (&json!(1), Some(cases.len())));
    let html = api.request(Method::GET, &format!("/runs/{good}/report?format=html")).bearer_auth(TOKEN).send().await;
    let html = html.expect("a response").text().await.expect("text");
    assert!(html.starts_with("<!DOCTYPE html>") && html.contains("server/handshake"), "{html}");
    is_error(&api.get(&format!("/runs/{good}/report?format=pdf")).await, 400, "unknown-format");

    let mut options = options;
    options["server"] = json!("broken");
    options["callTools"] = json!(["all"]);
    options["only"] = json!(["server/handshake", "server/tools"]);
    let (bad, events) = run(&api, options).await;
    let end = &events[events.len() - 1].1;
    assert_eq!(end["passed"], false, "{end:#}");
    let failed = events.iter().find(|(_, data)| data["verdict"] == "failed").expect("a failed case");
    assert_eq!(failed.1["scenario"], "server/handshake");
    assert!(!failed.1["frames"].as_array().expect("frames").is_empty());
    let text = format!("{events:?} {}", api.get(&format!("/runs/{bad}/report")).await.1);
    assert!(!text.contains("s3cr3t-of-a-header"), "secrets are redacted");

    let (_, comparison) = api.get(&format!("/runs/{bad}/comparison?old={good}")).await;
    assert!(comparison["counts"]["broken"].as_u64().is_some_and(|count| count > 0), "{comparison:#}");
    is_error(&api.get(&format!("/runs/{bad}/comparison")).await, 400, "invalid-query");

    // Another process with the same directory lists the runs, and renders them.
    let (_, list) = api.get("/runs").await;
    let ids: Vec<&Value> = list["runs"].as_array().expect("runs").iter().map(|run| &run["id"]).collect();
    assert_eq!(ids, [&json!(bad), &json!(good)], "the newest first, without their journals");
    let later = Api::sharing_runs(&api).await;
    let (_, list) = later.get("/runs").await;
    let earlier = list["runs"].as_array().expect("runs");
    assert_eq!(earlier.len(), 2, "{list:#}");
    let id = earlier[0]["id"].as_str().expect("an id");
    assert_eq!(later.get(&format!("/runs/{id}/report")).await.1["header"]["run_id"], id);
    // A journal outside the directory of all runs.
    std::fs::rename(later.runs().join(id), later.runs().with_file_name("outside")).expect("it is moved");
    for wrong in ["..%2Foutside", id, "none"] {
        is_error(&later.get(&format!("/runs/{wrong}/report")).await, 404, "unknown-run");
    }
}

#[tokio::test]
async fn one_run_is_active_and_a_cancelled_one_ends() {
    let api = Api::start().await;
    // The first response never arrives, so that the run stays active.
    let silent = MockServer::builder().on(When::method("ping").then(Fault::Silence)).start().await.expect("it starts");
    add(&api, "silent", &silent).await;
    let (status, started) = api.post("/runs", Some(json!({ "server": "silent" }))).await;
    assert_eq!(status, StatusCode::ACCEPTED, "{started}");
    is_error(&api.post("/runs", Some(json!({ "server": "silent" }))).await, 409, "run-active");
    is_error(&api.get("/runs/1/report").await, 409, "run-active");
    let (_, cancelled) = api.post("/runs/1/cancel", None).await;
    assert_ne!(cancelled["status"], "running", "{cancelled:#}");
    assert_ne!(cancelled["complete"], true, "{cancelled:#}");
    let (_, again) = run(&api, json!({ "server": "silent", "only": ["tool-names-*"] })).await;
    assert_eq!(again[again.len() - 1].0, "end");
}

#[tokio::test]
async fn invalid_runs_are_rejected() {
    let api = Api::start().await;
    let server = mock_server().await;
    add(&api, "good", &server).await;
    let start = |body: Value| async { api.post("/runs", Some(body)).await };
    is_error(&start(json!({ "server": "none" })).await, 404, "unknown-server");
    is_error(&start(json!({ "server": "good", "tools": true })).await, 400, "invalid-body");
    is_error(&start(json!({ "server": "good", "only": ["no-such-check"] })).await, 400, "invalid-arguments");
    is_error(
        &start(json!({ "server": "good", "quick": true, "revisions": ["2025-11-25"] })).await,
        400,
        "invalid-arguments",
    );
    is_error(&start(json!({ "server": "good", "transport": "stdio" })).await, 400, "invalid-arguments");
    is_error(&api.get("/runs/1").await, 404, "unknown-run");
    is_error(&api.post("/runs/1/cancel", None).await, 404, "unknown-run");
    assert_eq!(api.get("/runs").await.1, json!({ "runs": [] }));
}

#[tokio::test]
async fn runs_need_the_token_an_own_host_and_an_own_origin() {
    let api = Api::start().await;
    for (method, path) in [
        (Method::GET, "/runs"),
        (Method::POST, "/runs"),
        (Method::GET, "/runs/1"),
        (Method::POST, "/runs/1/cancel"),
        (Method::GET, "/runs/1/report"),
        (Method::GET, "/runs/1/comparison"),
        (Method::GET, "/mcp/s/conversions"),
    ] {
        let request = || api.request(method.clone(), path);
        is_error(&response(request()).await, 401, "invalid-token");
        is_error(&response(request().bearer_auth(TOKEN).header("host", "evil.example")).await, 403, "host-not-allowed");
        let foreign = request().bearer_auth(TOKEN).header("origin", "http://evil.example");
        is_error(&response(foreign).await, 403, "origin-not-allowed");
    }
}

#[tokio::test]
async fn a_tool_is_converted_for_each_provider() {
    let api = Api::start().await;
    let schema = json!({ "type": "object", "properties": { "q": { "not": { "type": "string" } } } });
    let server = MockServer::builder().tool(Tool::new("search").takes(schema).replies(mock::text("x")));
    let server = server.start().await.expect("it starts");
    add(&api, "s", &server).await;
    let (_, all) = api.get("/mcp/s/conversions?tool=search").await;
    let providers: Vec<&str> =
        all.as_array().expect("a list").iter().filter_map(|one| one["provider"].as_str()).collect();
    assert_eq!(providers, ["openai", "openai-chat", "anthropic", "gemini", "gemini-json-schema"]);
    assert_eq!(all[3]["tools"][0]["name"], "mcp__s__search");
    assert_eq!(all[3]["tools"][0]["wider"], 1, "{all:#}");
    is_error(&api.get("/mcp/s/conversions?tool=none").await, 404, "unknown-tool");
    is_error(&api.get("/mcp/s/conversions").await, 400, "invalid-query");
}
