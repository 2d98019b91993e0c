//! The client against a server with every fault at once, each on one message in a hundred: nothing hangs, nothing panics,
//! and each call ends, with a result or a typed error, within its limit.
//!
//! A few seconds in CI. `MCP_WORKBENCH_SOAK=600 cargo test -p mcp-workbench-scenarios --test soak` takes ten minutes.

#![expect(clippy::unwrap_used, reason = "a test fails where something is missing")]

use std::{
    collections::BTreeMap,
    sync::{
        Arc, Mutex,
        atomic::{AtomicU64, Ordering},
    },
    time::{Duration, Instant},
};

use client::{
    CallOptions, Connection, Endpoint, HttpEndpoint, ProtocolChoice, Revision, ServerConfig, connect, connect_over,
};
use mock_servers::{
    MockServer,
    faults::FaultRule,
    mock::Transport,
    script::{Fault, Script},
};
use serde_json::json;

/// How long in CI.
const SECONDS: u64 = 5;
/// How many callers use a connection at the same time.
const CALLERS: usize = 8;
/// What a call may take by its options, and how late its end may be on a busy machine.
const CALL_LIMIT: Duration = Duration::from_millis(1_500);
const LATENESS: Duration = Duration::from_secs(5);
const PROBABILITY: f64 = 0.01;

/// Every fault of an answer, in the words of a script. Those of a process alone are not among them.
fn faults() -> Vec<FaultRule> {
    let faults = [
        json!({"exit": {"code": 3}}),
        json!("silence"),
        json!({"delay": "20ms"}),
        json!({"latency": {"from": "1ms", "to": "50ms"}}),
        json!({"late-reply": "2s"}),
        json!({"reorder": {"within": "100ms"}}),
        json!({"garbage": "npm WARN deprecated"}),
        json!({"log-lines": {"count": 2, "text": "WARN"}}),
        json!({"notification-flood": {"count": 200}}),
        json!("close"),
        json!({"disconnect": {"moment": "amid"}}),
        json!({"truncate": 9}),
        json!({"http-status": {"status": 503, "body": "no"}}),
        json!({"retry-after": {"value": "0"}}),
        json!({"redirect": {"to": {"same-origin": "/nowhere"}}}),
        json!("session-expiry"),
        json!({"wrong-content-type": "text/html"}),
        json!("wrong-id"),
        json!("null-id"),
        json!("float-id"),
        json!("string-id"),
        json!("unknown-fields"),
        json!("both-result-and-error"),
        json!("neither-result-nor-error"),
        json!("duplicate"),
        json!({"deep-nesting": 500}),
        json!({"oversize": 200_000}),
        json!({"fragment": {"cut": {"every": 7}, "pause": "1ms"}}),
        json!({"coalesce": {"messages": 2}}),
        json!({"slow-drip": {"bytes": 16, "every": "1ms"}}),
        json!("byte-order-mark"),
        json!({"invalid-utf8": {}}),
        json!({"malformed-json": {}}),
        json!({"line-ends": "crlf"}),
        json!("no-event-id"),
        json!({"bad-retry": "soon"}),
    ];
    // A server that listens would refuse every connection after its exit.
    let rules = faults.into_iter().map(|fault| {
        let rule = json!({"fault": fault, "probability": PROBABILITY, "when": {"method": "tools/call"}});
        serde_json::from_value(rule.clone()).unwrap_or_else(|error| panic!("{rule}: {error}"))
    });
    rules.collect()
}

fn script(exits: bool) -> Script {
    let mut script: Script = serde_json::from_value(json!({
        "tools": [{"name": "echo", "reply": {"text": "{{arguments.text}}"}}],
    }))
    .unwrap();
    script.faults = faults();
    script.faults.retain(|rule| exits || !matches!(rule.fault, Fault::Exit(_)));
    script
}

/// What the calls came to, by kind.
#[derive(Debug, Default)]
struct Tally {
    outcomes: Mutex<BTreeMap<&'static str, u64>>,
    connections: AtomicU64,
    slowest: Mutex<Duration>,
}

impl Tally {
    fn count(&self, outcome: &'static str, took: Duration) {
        *self.outcomes.lock().unwrap().entry(outcome).or_default() += 1;
        let mut slowest = self.slowest.lock().unwrap();
        *slowest = took.max(*slowest);
        assert!(took < CALL_LIMIT + LATENESS, "a call took {took:?}");
    }
}

/// Calls until the connection is over or the time is.
async fn call(connection: &Connection, until: Instant, tally: &Tally) {
    let mut number = 0;
    while Instant::now() < until && !connection.is_closed() {
        number += 1;
        let begun = Instant::now();
        let options = CallOptions { timeout: Some(CALL_LIMIT), reset_on_progress: false, ..CallOptions::default() };
        let text = format!("call {number}");
        let called = connection.call("echo", json!({ "text": text }), options);
        let outcome = tokio::time::timeout(CALL_LIMIT + LATENESS, called).await.expect("a call hangs");
        let outcome = match outcome {
            // A result is the result of this call, whatever happened around it.
            Ok(result) if !result.is_error() => {
                assert_eq!(result.text(), text);
                "ok"
            }
            Ok(_) => "tool-error",
            Err(error) => error.kind(),
        };
        tally.count(outcome, begun.elapsed());
    }
}

async fn soak<F: Future<Output = Option<Connection>>>(connect: impl Fn() -> F, seconds: u64) -> Tally {
    let tally = Tally::default();
    let until = Instant::now() + Duration::from_secs(seconds);
    while Instant::now() < until {
        let Some(connection) = tokio::time::timeout(Duration::from_secs(20), connect()).await.expect("a start hangs")
        else {
            continue;
        };
        tally.connections.fetch_add(1, Ordering::Relaxed);
        futures::future::join_all((0..CALLERS).map(|_| call(&connection, until, &tally))).await;
        tokio::time::timeout(Duration::from_secs(20), connection.close()).await.expect("a close hangs");
    }
    tally
}

fn seconds() -> u64 {
    std::env::var("MCP_WORKBENCH_SOAK").ok().and_then(|seconds| seconds.parse().ok()).unwrap_or(SECONDS)
}

fn judge(tally: &Tally) {
    println!("{tally:?}");
    let outcomes = tally.outcomes.lock().unwrap();
    let all: u64 = outcomes.values().sum();
    let good = outcomes.get("ok").copied().unwrap_or_default();
    assert!(good * 2 > all, "fewer than half of the calls succeed: {outcomes:?}");
    // If no fault was met, nothing was shown.
    assert!(outcomes.contains_key("oversize-reply") && outcomes.contains_key("timed-out"), "{outcomes:?}");
}

fn config(endpoint: Endpoint, revision: Revision) -> ServerConfig {
    let mut config = ServerConfig::new("soaked", endpoint);
    config.protocol = ProtocolChoice::Pinned(revision);
    config.limits.message_bytes = 100_000;
    config.limits.garbage = u64::MAX;
    config
}

async fn over_http(transport: Transport, revision: Revision) {
    let mut builder = MockServer::builder().script(script(false)).transport(transport).seed(7);
    builder = builder.revision(revision.to_string());
    let server = Arc::new(builder.start().await.unwrap());
    let tally = soak(
        || async {
            let endpoint = HttpEndpoint { url: server.url(), ..HttpEndpoint::default() };
            let endpoint =
                if transport == Transport::Sse { Endpoint::Sse(endpoint) } else { Endpoint::StreamableHttp(endpoint) };
            connect(config(endpoint, revision)).await.ok()
        },
        seconds(),
    )
    .await;
    judge(&tally);
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn streamable_http_of_the_legacy_era_with_every_fault() {
    over_http(Transport::Http, Revision::V2025_11_25).await;
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn streamable_http_of_the_modern_era_with_every_fault() {
    over_http(Transport::Http, Revision::V2026_07_28).await;
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn lines_with_every_fault() {
    let seed = AtomicU64::new(0);
    let servers = Mutex::new(Vec::new());
    let connect = || async {
        let builder = MockServer::builder().script(script(true)).seed(seed.fetch_add(1, Ordering::Relaxed));
        let (server, stream) = builder.duplex();
        // The one before has ended with its connection.
        *servers.lock().unwrap() = vec![server];
        let (reader, writer) = tokio::io::split(stream);
        let nowhere = Endpoint::Stdio(client::StdioEndpoint::default());
        let config = config(nowhere, Revision::V2025_11_25);
        connect_over(config, reader, writer, client::ConnectOptions::default()).await.ok()
    };
    judge(&soak(connect, seconds()).await);
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn http_and_sse_with_every_fault() {
    over_http(Transport::Sse, Revision::V2024_11_05).await;
}
