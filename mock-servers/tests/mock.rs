//! Mock servers as values: built, called on real sockets, and compared with expectations.

#![expect(clippy::unwrap_used, reason = "a test that cannot go on has failed")]

#[path = "mock/client.rs"]
mod client;
#[path = "mock/control.rs"]
mod control;
#[path = "mock/duplex.rs"]
mod duplex;

use std::time::Duration;

use client::Client;
use mcp_workbench_mock_servers::{
    MockServer, Recorder, Script,
    mock::{Expect, HttpTransport, error, structured, text},
    script::{Fault, Prompt, Resource, ResourceTemplate, Tool, When},
};
use serde_json::json;

/// Long enough for any machine; no test waits for it unless it fails.
const BOUND: Duration = Duration::from_secs(10);

async fn echo() -> MockServer {
    MockServer::builder().tool(Tool::new("echo").replies(text("{{arguments.text}}"))).start().await.unwrap()
}

/// What a task panicked with.
async fn panic_of(task: impl Future<Output = ()> + Send + 'static) -> String {
    let panic = tokio::spawn(task).await.unwrap_err().into_panic();
    panic.downcast_ref::<String>().cloned().unwrap()
}

#[tokio::test]
async fn a_described_server_offers_and_answers_what_was_described() {
    let server = MockServer::builder()
        .tool(Tool::new("echo").described("Says it again.").replies(text("{{arguments.text}}")))
        .tool(Tool::new("sum").takes(json!({"type": "object"})).replies(structured(json!({"sum": 3}))))
        .on(When::call("echo").with_arguments(json!({"text": "no"})).then(error(-32000, "not that")))
        .on(When::call("echo").nth(1).then(Fault::Duplicate))
        .start()
        .await
        .unwrap();
    let client = Client::connect(&server.url()).await;
    let tools = client.ask("tools/list", json!({})).await;
    assert_eq!(tools["result"]["tools"][0]["description"], "Says it again.");
    assert_eq!(tools["result"]["tools"][1]["inputSchema"], json!({"type": "object"}));
    assert_eq!(client.call("sum", json!({})).await["result"]["structuredContent"], json!({"sum": 3}));
    assert_eq!(client.call("echo", json!({"text": "no"})).await["error"]["message"], "not that");
    server.stop().await;
}

#[tokio::test]
async fn offers_resources_and_prompts() {
    let server = MockServer::builder()
        .resource(Resource::new("test://one").holds("uno").typed("text/plain"))
        .resource_template(ResourceTemplate::new("test://{name}/x").holds("<{{variables.name}}>"))
        .prompt(Prompt::new("greet").takes("who").says("hello {{arguments.who}}").answers("hi"))
        .start()
        .await
        .unwrap();
    let client = Client::connect(&server.url()).await;
    let read =
        async |uri: &str| client.ask("resources/read", json!({"uri": uri})).await["result"]["contents"][0].clone();
    assert_eq!(read("test://one").await, json!({"uri": "test://one", "mimeType": "text/plain", "text": "uno"}));
    assert_eq!(read("test://two/x").await["text"], "<two>");
    let prompt = client.ask("prompts/get", json!({"name": "greet", "arguments": {"who": "you"}})).await;
    let said = |text: &str| json!({"type": "text", "text": text});
    let messages =
        json!([{"role": "user", "content": said("hello you")}, {"role": "assistant", "content": said("hi")}]);
    assert_eq!(prompt["result"]["messages"], messages, "{prompt}");
    let refused = client.ask("prompts/get", json!({"name": "greet"})).await;
    assert!(refused["error"].is_object(), "{refused}");
}

#[tokio::test]
async fn builders_write_the_same_script_that_people_write() {
    let built = MockServer::builder()
        .tool(Tool::new("echo").replies("hi"))
        .on(When::call("echo").nth(2).then(Fault::Silence).then(text("late")))
        .to_script()
        .clone();
    let written: Script = serde_saphyr::from_str(
        "tools: [{ name: echo, reply: { text: hi } }]\n\
         on: [{ when: { method: tools/call, tool: echo, nth: 2 }, do: [{ fault: silence }, { reply: { text: late } }] }]",
    )
    .unwrap();
    assert_eq!(built, written);
}

#[tokio::test]
async fn supports_every_revision_by_default() {
    let server = echo().await;
    for revision in ["2024-11-05", "2025-11-25"] {
        assert_eq!(Client::connect_with(&server.url(), revision).await.agreed, revision);
    }
    let discovered = client::discover(&server.url()).await;
    assert_eq!(discovered["result"]["supportedVersions"][0], "2026-07-28", "{discovered}");
    let old = MockServer::builder().revision("2025-06-18").start().await.unwrap();
    assert_eq!(Client::connect_with(&old.url(), "2025-11-25").await.agreed, "2025-06-18");
}

#[tokio::test]
async fn expectations_that_are_met_let_the_server_go_in_silence() {
    let server = echo().await;
    server.expect(Expect::method("initialize").times(1));
    server.expect(Expect::call("echo").with_arguments(json!({"text": "hi"})).times(1..=2));
    server.expect(Expect::method("ping").never());
    server.expect(
        Expect::method("tools/call").with_params(json!({"name": "echo"})).with_header("Accept", client::ACCEPT),
    );
    assert!(server.verify().is_err());
    let client = Client::connect(&server.url()).await;
    client.call("echo", json!({"text": "hi", "more": 1})).await;
    server.verify().unwrap();
    server.stop().await;
}

#[tokio::test]
async fn a_dropped_server_tells_what_did_not_come_and_what_came_instead() {
    let message = panic_of(async {
        let server = echo().await;
        server.expect(Expect::call("echo").with_arguments(json!({"text": "hi", "n": {"a": 1}})).times(1));
        server.expect(Expect::method("initialize").times(2..));
        let client = Client::connect(&server.url()).await;
        client.call("other", json!({"text": "hi"})).await;
        client.call("echo", json!({"text": "ho", "n": {"a": 1, "b": 2}})).await;
    });
    assert_eq!(
        message.await,
        "the client did not do what the mock server expects\n\
         expected tools/call of `echo` with arguments {\"text\":\"hi\",\"n\":{\"a\":1}}, exactly once; received 0 times\n\
         \x20 received, nearest first:\n\
         \x20   tools/call {\"name\":\"echo\",\"arguments\":{\"text\":\"ho\",\"n\":{\"a\":1,\"b\":2}}}  (arguments.text is \"ho\")\n\
         \x20   tools/call {\"name\":\"other\",\"arguments\":{\"text\":\"hi\"}}  (another tool, arguments.n is absent)\n\
         \x20   initialize {\"protocolVersion\":\"2025-11-25\",\"capabilities\":{},\"clientInfo\":{\"name\":\"test\",\"version\":\"1\"}}\n\
         \x20   notifications/initialized\n\
         expected initialize, at least 2 times; received once\n\
         \x20 received, nearest first:\n\
         \x20   initialize {\"protocolVersion\":\"2025-11-25\",\"capabilities\":{},\"clientInfo\":{\"name\":\"test\",\"version\":\"1\"}}\n\
         \x20   notifications/initialized\n\
         \x20   tools/call {\"name\":\"other\",\"arguments\":{\"text\":\"hi\"}}\n\
         \x20   tools/call {\"name\":\"echo\",\"arguments\":{\"text\":\"ho\",\"n\":{\"a\":1,\"b\":2}}}"
    );
}

#[tokio::test]
async fn a_server_that_nobody_spoke_to_says_so_and_a_panic_is_not_covered_up() {
    let silent = panic_of(async {
        let server = echo().await;
        server.expect(Expect::method("ping"));
        server.stop().await;
    });
    assert_eq!(
        silent.await,
        "the client did not do what the mock server expects\n\
         expected ping, at least once; received 0 times\n  no message was received"
    );
    let panicking = panic_of(async {
        let server = echo().await;
        server.expect(Expect::method("ping"));
        panic!("{}", "the test's own");
    });
    assert_eq!(panicking.await, "the test's own");
}

#[tokio::test]
async fn a_scope_counts_only_what_comes_while_it_lasts() {
    let server = echo().await;
    let client = Client::connect(&server.url()).await;
    client.call("echo", json!({"text": "before"})).await;
    let scope = server.expect_scoped(Expect::call("echo").times(1));
    client.call("echo", json!({"text": "within"})).await;
    drop(scope);
    let scope = server.expect_scoped(Expect::call("echo").times(..2));
    let unmet = server.expect_scoped(Expect::call("echo"));
    assert!(unmet.finish().unwrap_err().to_string().contains("received 0 times\n  no message was received"));
    scope.finish().unwrap();
    let dropped = panic_of(async move { drop(server.expect_scoped(Expect::method("ping").times(3))) });
    assert!(dropped.await.contains("expected ping, exactly 3 times; received 0 times"));
}

#[tokio::test]
async fn waits_for_what_is_still_on_its_way() {
    let server = echo().await;
    server.expect(Expect::method("notifications/cancelled"));
    let url = server.url();
    let client = tokio::spawn(async move {
        let client = Client::connect(&url).await;
        client.notify("notifications/cancelled", json!({"requestId": 9})).await;
    });
    server.verify_within(BOUND).await.unwrap();
    client.await.unwrap();
    let unmet = echo().await;
    unmet.expect(Expect::method("ping"));
    assert!(unmet.verify_within(Duration::ZERO).await.is_err());
    unmet.reset();
}

#[tokio::test]
async fn after_a_reset_nothing_is_expected_and_nothing_has_come() {
    let server = echo().await;
    let client = Client::connect(&server.url()).await;
    server.expect(Expect::method("ping"));
    let received = server.received();
    assert_eq!(
        received.iter().filter_map(|one| one.method()).collect::<Vec<_>>(),
        ["initialize", "notifications/initialized"]
    );
    assert_eq!(received[0].header("Content-Type"), Some("application/json"));
    server.reset();
    assert_eq!(server.received(), []);
    server.verify().unwrap();
    client.call("echo", json!({"text": "after"})).await;
    assert_eq!(server.received()[0].tool(), Some("echo"));
    assert_eq!(server.received()[0].arguments(), Some(&json!({"text": "after"})));
}

#[tokio::test]
async fn secrets_are_compared_as_they_are_kept() {
    let server = echo().await;
    server.expect(Expect::call("echo").with_arguments(json!({"password": "hunter2", "text": "hi"})).times(1));
    let client = Client::connect(&server.url()).await;
    client.call("echo", json!({"password": "hunter2", "text": "hi"})).await;
    assert!(!format!("{:?}", server.received()).contains("hunter2"));
    server.stop().await;
}

#[tokio::test]
async fn listens_on_unix_sockets_with_tls_and_over_the_older_transport() {
    let folder = tempfile::tempdir().unwrap();
    let unix = MockServer::builder().unix(folder.path().join("mock.sock")).start().await.unwrap();
    assert_eq!(unix.uri(), format!("unix://{}/mock.sock", folder.path().display()));
    unix.stop().await;
    assert!(!folder.path().join("mock.sock").exists());
    let encrypted = MockServer::builder().tls().start().await.unwrap();
    assert!(encrypted.url().starts_with("https://127.0.0.1:") && encrypted.url().ends_with("/mcp"));
    assert!(encrypted.certificate_pem().unwrap().starts_with("-----BEGIN CERTIFICATE-----"));
    let older = MockServer::builder().transport(HttpTransport::Sse).start().await.unwrap();
    let stream = test_support::http_client().get(older.url()).send().await.unwrap();
    assert_eq!(stream.headers()["content-type"], "text/event-stream");
    assert_eq!(older.uri() + "/sse", older.url());
}

#[tokio::test]
async fn a_recorder_of_ones_own_gets_every_frame() {
    let folder = tempfile::tempdir().unwrap();
    let file = folder.path().join("record.jsonl");
    let recorder = Recorder::in_memory_and_file("mine", &file).unwrap();
    let server = MockServer::builder().recorder(recorder.clone()).start().await.unwrap();
    Client::connect(&server.url()).await;
    server.expect(Expect::method("initialize"));
    assert_eq!(server.frames(), recorder.frames());
    server.stop().await;
    let written = std::fs::read_to_string(&file).unwrap();
    assert!(written.contains("\"server\":\"mine\"") && written.contains("\"method\":\"initialize\""), "{written}");
}

/// When a task of this server was created, in seconds since 1970.
async fn created(calendar: bool) -> u64 {
    let tasks = json!({"requests": {"tools": {"call": {}}}});
    let script = json!({"capabilities": {"tasks": tasks}, "tools": [{"name": "long", "task": {"support": "required", "after": "1h"}}]});
    let builder = MockServer::builder().script(serde_json::from_value(script).unwrap());
    let server = if calendar { builder.calendar() } else { builder }.start().await.unwrap();
    let client = Client::connect(&server.url()).await;
    let task = client.ask("tools/call", json!({"name": "long", "arguments": {}, "task": {"ttl": 60_000}})).await;
    let created = task["result"]["task"]["createdAt"].as_str().unwrap_or_else(|| panic!("{task}")).to_owned();
    let created = humantime::parse_rfc3339(&created).unwrap();
    created.duration_since(std::time::UNIX_EPOCH).unwrap().as_secs()
}

#[tokio::test]
async fn time_is_the_same_in_every_run_unless_it_is_to_be_that_of_the_calendar() {
    let now = || std::time::SystemTime::now().duration_since(std::time::UNIX_EPOCH).unwrap().as_secs();
    assert_eq!(created(false).await, 1_785_196_800);
    let before = now();
    let is_recent = created(true).await;
    assert!((before..=now()).contains(&is_recent), "{before} {is_recent} {}", now());
}
