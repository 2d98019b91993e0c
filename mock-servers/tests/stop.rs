//! Servers that are stopped: streams end in good order, what is under way is answered, and nothing else is waited for.

#![expect(clippy::unwrap_used, reason = "a test that cannot go on has failed")]

#[path = "stop/line.rs"]
mod line;

use std::time::Duration;

use line::{BOUND, Line, bare, listen_for_changes, modern, post, server, session_of};
use mcp_workbench_mock_servers::{
    MockServer,
    listen::{Limits, Options},
    mock::HttpTransport,
};
use serde_json::{Value, json};

/// Longer than any test may take: who waits for it fails.
const FOR_EVER: Duration = Duration::from_secs(3_600);

fn slow(delay: &str) -> Value {
    json!({"tools": [{"name": "echo"}], "on": [{"when": {"tool": "echo"}, "do": {"fault": {"delay": delay}}}]})
}

fn patient() -> Options {
    Options::default().with_limits(Limits::default().with_stop_time(FOR_EVER))
}

async fn stopped(server: MockServer) {
    tokio::time::timeout(BOUND, server.stop()).await.expect("the server stops in time");
}

#[tokio::test]
async fn a_subscription_gets_its_result_and_its_stream_ends() {
    let server =
        server(json!({"capabilities": {"tools": {"listChanged": true}}}), HttpTransport::Http, patient()).await;
    let mut line = Line::to(&server).await;
    line.say(&listen_for_changes(7)).await;
    line.until("subscriptions/acknowledged").await;
    stopped(server).await;
    let rest = line.rest().await;
    let data = rest.lines().find_map(|line| line.strip_prefix("data: ")).unwrap_or_else(|| panic!("{rest}"));
    let result = json!({"resultType": "complete", "_meta": {"io.modelcontextprotocol/subscriptionId": 7}});
    let answer: Value = data.parse().unwrap();
    assert_eq!((&answer["id"], &answer["result"]["resultType"]), (&json!(7), &result["resultType"]), "{answer}");
    let id = "io.modelcontextprotocol/subscriptionId";
    assert_eq!(answer["result"]["_meta"][id], result["_meta"][id], "{answer}");
    assert!(rest.ends_with("\r\n0\r\n\r\n"), "the body has its last chunk: {rest:?}");
}

#[tokio::test]
async fn the_stream_of_a_session_ends_whether_the_server_is_stopped_or_dropped() {
    for drops in [false, true] {
        let server = server(json!({}), HttpTransport::Http, patient()).await;
        let session = session_of(&server).await;
        let mut line = Line::to(&server).await;
        let get = format!("GET /mcp HTTP/1.1\r\nhost: localhost\r\naccept: text/event-stream\r\n{session}\r\n");
        line.say(&get).await;
        line.until("text/event-stream").await;
        if drops {
            drop(server)
        } else {
            stopped(server).await
        }
        let rest = line.rest().await;
        assert!(rest.ends_with("0\r\n\r\n"), "{rest:?}");
    }
}

#[tokio::test]
async fn what_is_under_way_is_answered_and_nobody_else_is_let_in() {
    let server = server(slow("400ms"), HttpTransport::Http, Options::default()).await;
    let address = server.address().unwrap().tcp().unwrap();
    let mut line = Line::to(&server).await;
    line.say(&modern(1, "tools/call", json!({"name": "echo"}))).await;
    server.until(BOUND, |came| came.len() == 1).await;
    let stopping = tokio::spawn(server.stop());
    let refused = async { while tokio::net::TcpStream::connect(address).await.is_ok() {} };
    tokio::time::timeout(BOUND, refused).await.expect("connections are refused");
    assert!(!stopping.is_finished(), "an answer is under way");
    let rest = line.rest().await;
    assert!(rest.starts_with("HTTP/1.1 200 OK") && rest.contains(r#""text":"echo: {}""#), "{rest}");
    tokio::time::timeout(BOUND, stopping).await.unwrap().unwrap();
}

#[tokio::test]
async fn a_stream_that_waits_for_its_answer_gets_it() {
    let script = json!({"tools": [{"name": "echo"}], "on": [{"when": {"tool": "echo"}, "do": [
        {"log": {"level": "error", "data": "begun"}}, {"fault": {"delay": "300ms"}},
    ]}], "http": {"respond": "sse"}});
    let server = server(script, HttpTransport::Http, Options::default()).await;
    let mut line = Line::to(&server).await;
    line.say(&modern(1, "tools/call", json!({"name": "echo"}))).await;
    line.until("text/event-stream").await;
    stopped(server).await;
    let rest = line.rest().await;
    assert!(rest.contains(r#""text":"echo: {}""#) && rest.ends_with("\r\n0\r\n\r\n"), "{rest:?}");
}

#[tokio::test]
async fn an_answer_that_never_comes_or_too_late_is_not_waited_for() {
    let silent = json!({"tools": [{"name": "echo"}], "on": [{"when": {"tool": "echo"}, "do": {"fault": "silence"}}]});
    for script in [silent, slow("7200s")] {
        let server = server(script, HttpTransport::Http, patient()).await;
        let mut line = Line::to(&server).await;
        line.say(&modern(1, "tools/call", json!({"name": "echo"}))).await;
        server.until(BOUND, |came| came.len() == 1).await;
        stopped(server).await;
        assert_eq!(line.rest().await, "", "the connection is closed without an answer");
    }
}

#[tokio::test]
async fn a_body_that_takes_too_long_is_broken_off() {
    let script = json!({"tools": [{"name": "echo"}], "on": [{"when": {"tool": "echo"}, "do": {"fault": {"slow-drip": {
        "every": "600s",
    }}}}]});
    let options = Options::default().with_limits(Limits::default().with_stop_time(Duration::from_millis(100)));
    let server = server(script, HttpTransport::Http, options).await;
    let mut line = Line::to(&server).await;
    line.say(&modern(1, "tools/call", json!({"name": "echo"}))).await;
    line.until("\r\n\r\n").await;
    stopped(server).await;
    assert!(!line.rest_or_reset().await.contains("jsonrpc"));
}

#[tokio::test]
async fn a_server_that_dies_by_its_script_ends_nothing_in_good_order() {
    let script = json!({
        "capabilities": {"tools": {"listChanged": true}}, "tools": [{"name": "echo"}],
        "on": [{"when": {"tool": "echo"}, "do": {"fault": {"exit": {}}}}],
    });
    let server = server(script, HttpTransport::Http, patient()).await;
    let mut line = Line::to(&server).await;
    line.say(&listen_for_changes(7)).await;
    line.until("subscriptions/acknowledged").await;
    Line::to(&server).await.say(&modern(1, "tools/call", json!({"name": "echo"}))).await;
    let rest = line.rest_or_reset().await;
    assert!(!rest.contains("complete") && !rest.ends_with("0\r\n\r\n"), "{rest:?}");
    stopped(server).await;
}

#[tokio::test]
async fn a_stream_of_the_old_kind_carries_what_is_under_way_and_ends() {
    let server = server(slow("300ms"), HttpTransport::Sse, Options::default()).await;
    let mut line = Line::to(&server).await;
    line.say("GET /sse HTTP/1.1\r\nhost: localhost\r\naccept: text/event-stream\r\n\r\n").await;
    let head = line.until("\n\n").await;
    let path = head.lines().find_map(|line| line.strip_prefix("data: ")).unwrap().to_owned();
    for (id, method) in [(0, "initialize"), (1, "tools/call")] {
        let params = json!({"protocolVersion": "2024-11-05", "name": "echo"});
        let message = json!({"jsonrpc": "2.0", "id": id, "method": method, "params": params});
        let mut poster = Line::to(&server).await;
        poster.say(&post(&path, "", &message)).await;
        poster.until("202 Accepted").await;
    }
    stopped(server).await;
    let rest = line.rest().await;
    assert!(rest.contains(r#""text":"echo: {}""#) && rest.ends_with("\r\n0\r\n\r\n"), "{rest:?}");
}

#[tokio::test]
async fn a_stream_of_the_old_kind_with_nothing_to_wait_for_ends_at_once() {
    let server = server(slow("7200s"), HttpTransport::Sse, patient()).await;
    let mut line = Line::to(&server).await;
    line.say("GET /sse HTTP/1.1\r\nhost: localhost\r\naccept: text/event-stream\r\n\r\n").await;
    line.until("\n\n").await;
    stopped(server).await;
    assert!(line.rest().await.ends_with("0\r\n\r\n"));
}

#[tokio::test]
async fn a_server_in_this_process_says_what_is_under_way_and_its_last_words() {
    let mut script = slow("200ms");
    script["capabilities"] = json!({"tools": {"listChanged": true}});
    let (server, stream) = MockServer::duplex(serde_json::from_value(script).unwrap());
    let mut line = Line::over(stream);
    line.say(&format!("{}\n", bare::listening(7))).await;
    line.say(&format!("{}\n", bare::call(8))).await;
    line.until("subscriptions/acknowledged").await;
    server.until(BOUND, |came| came.len() == 2).await;
    stopped(server).await;
    let rest = line.rest().await;
    let said: Vec<Value> =
        rest.lines().filter(|line| line.starts_with("{\"jsonrpc")).map(|line| line.parse().unwrap()).collect();
    let last: Vec<_> = said.iter().filter(|one| one.get("result").is_some()).map(|one| &one["id"]).collect();
    assert_eq!(last, [&json!(8), &json!(7)], "{rest}");
}
