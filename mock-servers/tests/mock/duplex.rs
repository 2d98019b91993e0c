//! A server in this process, at the other end of a byte stream.

use std::time::Duration;

use mcp_workbench_mock_servers::{
    MockServer,
    faults::{Delay, Truncate},
    mock::{Expect, text},
    script::{Fault, FaultRule, Tool, When},
};
use serde_json::{Value, json};
use tokio::{
    io::{AsyncBufReadExt as _, AsyncWriteExt as _, BufReader, DuplexStream},
    time::timeout,
};

/// Long enough for any machine; no test waits for it unless it fails.
const BOUND: Duration = Duration::from_secs(10);

async fn say(stream: &mut BufReader<DuplexStream>, message: &Value) {
    stream.write_all(format!("{message}\n").as_bytes()).await.unwrap();
}

/// The next line; none at the end.
async fn next_line(stream: &mut BufReader<DuplexStream>) -> Option<String> {
    let mut line = String::new();
    let read = timeout(BOUND, stream.read_line(&mut line)).await.expect("a line in time").unwrap();
    (read > 0).then_some(line)
}

async fn initialize(stream: &mut BufReader<DuplexStream>) -> Value {
    let params =
        json!({"protocolVersion": "2025-11-25", "capabilities": {}, "clientInfo": {"name": "t", "version": "1"}});
    say(stream, &json!({"jsonrpc": "2.0", "id": 0, "method": "initialize", "params": params})).await;
    serde_json::from_str(&next_line(stream).await.unwrap()).unwrap()
}

fn call(id: u64) -> Value {
    let params = json!({"name": "echo", "arguments": {"text": "hi"}});
    json!({"jsonrpc": "2.0", "id": id, "method": "tools/call", "params": params})
}

fn echo() -> mcp_workbench_mock_servers::mock::Builder {
    MockServer::builder().tool(Tool::new("echo").replies(text("{{arguments.text}}")))
}

#[tokio::test]
async fn speaks_line_by_line_and_is_held_to_account() {
    let (server, stream) = echo().duplex();
    let mut stream = BufReader::new(stream);
    server.expect(Expect::call("echo").times(1));
    assert_eq!(initialize(&mut stream).await["result"]["protocolVersion"], "2025-11-25");
    say(&mut stream, &call(1)).await;
    let answer: Value = serde_json::from_str(&next_line(&mut stream).await.unwrap()).unwrap();
    assert_eq!(answer["result"]["content"][0]["text"], "hi", "{answer}");
    stream.write_all(b"{ no json\n").await.unwrap();
    assert!(next_line(&mut stream).await.unwrap().contains("-32700"));
    drop(stream);
    server.until_idle(BOUND).await;
    let last = server.frames().pop().unwrap();
    assert_eq!(serde_json::to_value(&last.body).unwrap(), json!({"event": "closed-by-peer"}));
    server.stop().await;
}

#[tokio::test]
async fn executes_faults_rules_and_delays_and_closes_on_stop() {
    let fault = FaultRule::named("cut", Fault::Truncate(Truncate(5))).off().when(When::call("echo"));
    let late = Fault::Delay(Delay("1ms".parse().unwrap()));
    let (server, stream) = echo().fault(fault).on(When::call("echo").nth(1).then(late).then(text("late"))).duplex();
    let mut stream = BufReader::new(stream);
    initialize(&mut stream).await;
    say(&mut stream, &call(1)).await;
    assert!(next_line(&mut stream).await.unwrap().contains("late"));
    assert!(server.faults().enable("cut"));
    say(&mut stream, &call(2)).await;
    assert_eq!(next_line(&mut stream).await.as_deref(), Some("{\"jso"));
    assert_eq!(next_line(&mut stream).await, None);
    server.stop().await;
}
