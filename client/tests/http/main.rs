//! Streamable HTTP and HTTP+SSE, against stub servers on 127.0.0.1.

#![expect(clippy::unwrap_used, reason = "a test fails where something is missing")]

mod faults;
mod sse;
mod unix;

use std::{
    collections::BTreeMap,
    convert::Infallible,
    sync::{Arc, Mutex},
    time::Duration,
};

use axum::{
    Router,
    body::{Body, Bytes},
    extract::Request,
    response::Response,
};
use futures::StreamExt;
use mcp_workbench_client::{
    CallError, CallOptions, ClientEventKind, ConnectError, ConnectFailure, Connection, Endpoint, Era, EventSink,
    HttpEndpoint, Revision, RevisionChoice, ServerConfig, Stage, Transport, connect_with,
};
use serde_json::{Value, json};
use test_support::{json_rpc, serve, wait_until};
use tokio::sync::mpsc;

/// A request that the server received.
#[derive(Debug, Clone)]
struct Seen {
    method: String,
    path: String,
    headers: BTreeMap<String, String>,
    body: Value,
}

type Log = Arc<Mutex<Vec<Seen>>>;

/// Starts a server that responds by a closure. Returns its URL without a path, and the received requests.
async fn start(answer: impl Fn(&Seen) -> Response + Clone + Send + Sync + 'static) -> (String, Log) {
    let (app, log) = router(answer);
    (serve(app).await, log)
}

fn router(answer: impl Fn(&Seen) -> Response + Clone + Send + Sync + 'static) -> (Router, Log) {
    let log = Log::default();
    let entries = Arc::clone(&log);
    let app = Router::new().fallback(move |request: Request| {
        let (entries, answer) = (Arc::clone(&entries), answer.clone());
        async move {
            let (parts, body) = request.into_parts();
            let body = axum::body::to_bytes(body, 1_000_000).await.unwrap();
            let headers =
                parts.headers.iter().map(|(name, value)| (name.to_string(), value.to_str().unwrap().to_owned()));
            let body = serde_json::from_slice(&body).unwrap_or_default();
            let seen = Seen {
                method: parts.method.to_string(),
                path: parts.uri.path().to_owned(),
                headers: headers.collect(),
                body,
            };
            entries.lock().unwrap().push(seen.clone());
            answer(&seen)
        }
    });
    (app, log)
}

fn status(code: u16) -> Response {
    Response::builder().status(code).body(Body::empty()).unwrap()
}

fn json_body(code: u16, value: &Value) -> Response {
    let builder = Response::builder().status(code).header("content-type", "application/json");
    builder.body(Body::from(value.to_string())).unwrap()
}

fn answer(seen: &Seen, result: Value) -> Value {
    json_rpc::result(&seen.body["id"], result)
}

fn refusal(seen: &Seen, code: i64) -> Value {
    json_rpc::error(&seen.body["id"], code)
}

fn event_stream(text: String) -> Response {
    Response::builder().header("content-type", "text/event-stream").body(Body::from(text)).unwrap()
}

fn hello(seen: &Seen) -> Value {
    json_rpc::initialize_result(seen.body["params"]["protocolVersion"].clone())
}

fn text(text: &str) -> Value {
    json!({"content": [{"type": "text", "text": text}], "x-kept": 1})
}

async fn connect(endpoint: Endpoint, protocol: RevisionChoice) -> (Result<Connection, ConnectError>, EventSink) {
    let events = EventSink::default();
    let mut config = ServerConfig::new("stub", endpoint);
    config.protocol = protocol;
    config.timeouts.probe = Duration::from_millis(300);
    config.timeouts.startup = Duration::from_secs(5);
    (connect_with(config, events.clone().into()).await, events)
}

fn at(url: &str) -> HttpEndpoint {
    let headers = BTreeMap::from([("x-user".to_owned(), "me".to_owned())]);
    HttpEndpoint { url: format!("{url}/mcp"), headers, ..HttpEndpoint::default() }
}

/// A server of either era, with sessions in the legacy one. Responses to calls are event streams.
fn streamable(seen: &Seen) -> Response {
    let modern = seen.body["params"]["_meta"]["io.modelcontextprotocol/protocolVersion"] == "2026-07-28";
    match (seen.method.as_str(), seen.body["method"].as_str().unwrap_or_default()) {
        ("DELETE", _) => status(200),
        ("GET", _) => status(405),
        (_, "server/discover") if modern => json_body(200, &answer(seen, json_rpc::discover_result(&["2026-07-28"]))),
        (_, "tools/list") => {
            let tools = json!([{"name": "good", "inputSchema": {"type": "object"}, "x-kept": 1}, {"name": "bad", "inputSchema": 7}]);
            json_body(200, &answer(seen, json!({"tools": tools, "resultType": "complete"})))
        }
        (_, "tools/call") if seen.body["params"]["name"] == "stuck" => {
            let never = futures::stream::pending::<Result<Bytes, Infallible>>();
            Response::builder().header("content-type", "text/event-stream").body(Body::from_stream(never)).unwrap()
        }
        (_, "tools/call") => {
            let token = &seen.body["params"]["_meta"]["progressToken"];
            let progress = json!({"jsonrpc": "2.0", "method": "notifications/progress", "params": {"progressToken": token, "progress": 0.5}});
            event_stream(format!("data: {progress}\n\ndata: {}\n\n", answer(seen, text("streamed"))))
        }
        _ => status(202),
    }
}

fn legacy_streamable(seen: &Seen) -> Response {
    match seen.body["method"].as_str().unwrap_or_default() {
        "server/discover" => json_body(400, &json!({"error": "no session"})),
        "initialize" => {
            let mut response = json_body(200, &answer(seen, hello(seen)));
            response.headers_mut().insert("mcp-session-id", "s1".parse().unwrap());
            response
        }
        "notifications/initialized" => json_body(200, &json!({})),
        _ => streamable(seen),
    }
}

#[tokio::test]
async fn a_modern_server_is_used_without_a_handshake() {
    let (url, log) = start(streamable).await;
    let (connection, _) = connect(Endpoint::Auto(at(&url)), RevisionChoice::Auto).await;
    let connection = connection.unwrap();
    assert_eq!((connection.revision(), connection.transport()), (Revision::V2026_07_28, Transport::StreamableHttp));
    let list = connection.list_tools().await.unwrap();
    assert_eq!((list.tools.len(), list.rejected.len()), (1, 1));
    assert_eq!(list.tools[0].wire()["x-kept"], 1);
    let mut events = connection.events();
    let result = connection.call("good", json!({}), CallOptions::default()).await.unwrap();
    assert_eq!((result.text().as_str(), &result.wire()["x-kept"]), ("streamed", &json!(1)));
    let heard = std::iter::from_fn(|| events.try_recv().ok());
    assert!(heard.map(|event| event.kind).any(|what| matches!(what, ClientEventKind::Progress { progress: 0.5, .. })));
    connection.close().await;
    let log = log.lock().unwrap();
    let call = log.iter().find(|seen| seen.body["method"] == "tools/call").unwrap();
    assert_eq!(call.headers["mcp-protocol-version"], "2026-07-28");
    // It was a direct call: ids of rmcp are small.
    assert!(call.body["id"].as_i64() >= Some(1_000_000), "{}", call.body);
    assert_eq!((call.headers["mcp-method"].as_str(), call.headers["mcp-name"].as_str()), ("tools/call", "good"));
    assert_eq!(call.headers["x-user"], "me");
    assert!(log.iter().all(|seen| seen.method == "POST"));
}

#[tokio::test]
async fn headers_from_arguments_are_sent_with_a_call() {
    let (url, log) = start(|seen| match seen.body["method"].as_str() {
        Some("tools/list") => {
            let region = json!({"type": "string", "x-mcp-header": "Region"});
            let schema = json!({"type": "object", "properties": {"region": region}});
            json_body(200, &answer(seen, json!({"tools": [{"name": "there", "inputSchema": schema}]})))
        }
        _ => streamable(seen),
    })
    .await;
    let (connection, _) = connect(Endpoint::Auto(at(&url)), RevisionChoice::Auto).await;
    let connection = connection.unwrap();
    let call = async |tool: &str| {
        connection.call(tool, json!({"region": "eu"}), CallOptions::default()).await.unwrap();
        log.lock().unwrap().last().unwrap().headers.clone()
    };
    // The schema is not known yet.
    assert!(!call("there").await.contains_key("mcp-param-region"));
    connection.list_tools().await.unwrap();
    assert_eq!(call("there").await["mcp-param-region"], "eu");
    // Other names are encoded (2026-07-28, streamable HTTP, "Value Encoding").
    assert_eq!(call("größe").await["mcp-name"], "=?base64?Z3LDtsOfZQ==?=");
    assert_eq!(call("=?base64?eA==?=").await["mcp-name"], "=?base64?PT9iYXNlNjQ/ZUE9PT89?=");
}

#[tokio::test]
async fn a_modern_stream_that_ends_before_its_response_is_not_resumed() {
    let (url, log) = start(|seen| match seen.body["method"].as_str() {
        Some("tools/call") => event_stream("id: e1\nretry: 1\ndata:\n\n".into()),
        _ => streamable(seen),
    })
    .await;
    let (connection, _) = connect(Endpoint::Auto(at(&url)), RevisionChoice::Auto).await;
    let outcome = connection.unwrap().call("good", json!({}), CallOptions::default()).await;
    assert_eq!(outcome.unwrap_err().kind(), "connection-lost");
    // "Resumable SSE streams via `Last-Event-ID` are not supported" (2026-07-28, streamable HTTP).
    assert!(log.lock().unwrap().iter().all(|seen| seen.method == "POST"));
}

#[tokio::test]
async fn slow_calls_do_not_block_others() {
    let (url, log) = start(streamable).await;
    let mut config = ServerConfig::new("stub", Endpoint::StreamableHttp(at(&url)));
    config.limits.concurrent_requests = 2;
    let connection = connect_with(config, EventSink::default().into()).await.unwrap();
    let mut stuck = Vec::new();
    for _ in 0..3 {
        stuck.push(connection.start_call("stuck", json!({}), CallOptions::default()).await.unwrap());
    }
    let is_stuck = |seen: &&Seen| seen.body["params"]["name"] == "stuck";
    wait_until("two stuck calls", || log.lock().unwrap().iter().filter(is_stuck).count() >= 2).await;
    let options = CallOptions { timeout: Some(Duration::from_secs(5)), ..CallOptions::default() };
    assert_eq!(connection.call("good", json!({}), options).await.unwrap().text(), "streamed");
}

#[tokio::test]
async fn server_requests_before_a_response_are_answered() {
    let (url, log) = start(|seen| match seen.body["method"].as_str() {
        Some("tools/call") => {
            let asked = json!({"jsonrpc": "2.0", "id": "p1", "method": "ping"});
            event_stream(format!("data: {asked}\n\ndata: {}\n\n", answer(seen, text("streamed"))))
        }
        _ => legacy_streamable(seen),
    })
    .await;
    let (connection, _) = connect(Endpoint::Auto(at(&url)), RevisionChoice::Auto).await;
    let connection = connection.unwrap();
    let call = connection.start_call("good", json!({}), CallOptions::default()).await.unwrap();
    // The call is sent before its result is awaited.
    assert!(call.request_id().as_i64() >= Some(1_000_000), "it goes past rmcp");
    let made = |seen: &Seen| seen.body["id"] == call.request_id();
    wait_until("the call is sent", || log.lock().unwrap().iter().any(made)).await;
    assert_eq!(call.finish().await.unwrap().text(), "streamed");
    let answered = |seen: &Seen| seen.body["id"] == "p1" && seen.body["result"].is_object();
    wait_until("the ping is answered", || log.lock().unwrap().iter().any(answered)).await;
}

#[tokio::test]
async fn a_legacy_server_gets_a_handshake_a_session_and_its_end() {
    let (url, log) = start(legacy_streamable).await;
    let events = EventSink::default();
    let mut heard = events.subscribe();
    let config = ServerConfig::new("stub", Endpoint::StreamableHttp(at(&url)));
    let connection = connect_with(config, events.into()).await.unwrap();
    assert_eq!(connection.revision(), Revision::V2025_11_25);
    assert!(connection.why().contains("400"), "{}", connection.why());
    assert_eq!(connection.call("good", json!({}), CallOptions::default()).await.unwrap().text(), "streamed");
    connection.close().await;
    let log = log.lock().unwrap();
    let call = log.iter().find(|seen| seen.body["method"] == "tools/call").unwrap();
    assert_eq!(
        (call.headers["mcp-session-id"].as_str(), call.headers["mcp-protocol-version"].as_str()),
        ("s1", "2025-11-25")
    );
    assert!(log.iter().any(|seen| seen.method == "DELETE" && seen.headers["mcp-session-id"] == "s1"));
    let told = std::iter::from_fn(|| heard.try_recv().ok()).map(|event| event.kind).collect::<Vec<_>>();
    assert!(told.contains(&ClientEventKind::NotificationAnswered { status: 200 }), "{told:?}");
}

#[tokio::test]
async fn a_timeout_closes_the_stream_in_the_modern_era_and_sends_a_notification_in_the_legacy_era() {
    for legacy in [false, true] {
        let (dropped, mut was_dropped) = mpsc::unbounded_channel();
        let (url, log) = start(move |seen: &Seen| {
            if seen.body["params"]["name"] != "stuck" {
                return if legacy { legacy_streamable(seen) } else { streamable(seen) };
            }
            let notice = Notice(dropped.clone());
            let never = futures::stream::pending::<Result<Bytes, Infallible>>().map(move |item| {
                let _ = &notice;
                item
            });
            Response::builder().header("content-type", "text/event-stream").body(Body::from_stream(never)).unwrap()
        })
        .await;
        let (connection, _) = connect(Endpoint::StreamableHttp(at(&url)), RevisionChoice::Auto).await;
        let connection = connection.unwrap();
        let options = CallOptions { timeout: Some(Duration::from_millis(100)), ..CallOptions::default() };
        let outcome = connection.call("stuck", Value::Null, options).await;
        assert!(matches!(outcome, Err(CallError::TimedOut { .. })));
        let cancelled = || log.lock().unwrap().iter().any(|seen| seen.body["method"] == "notifications/cancelled");
        if legacy {
            wait_until("a cancellation", cancelled).await;
        } else {
            tokio::time::timeout(Duration::from_secs(5), was_dropped.recv()).await.unwrap();
            assert!(!cancelled());
        }
        assert!(connection.call("good", json!({}), CallOptions::default()).await.is_ok());
        connection.close().await;
    }
}

struct Notice(mpsc::UnboundedSender<()>);

impl Drop for Notice {
    fn drop(&mut self) {
        let _ = self.0.send(());
    }
}

#[tokio::test]
async fn a_probe_that_is_rejected_empty_or_not_answered_leads_to_the_handshake() {
    for kind in 0..4 {
        let (url, _) = start(move |seen: &Seen| match (seen.body["method"].as_str(), kind) {
            (Some("server/discover"), 0) => status(400),
            (Some("server/discover"), 1) => json_body(400, &refusal(seen, -32000)),
            (Some("server/discover"), 2) => json_body(200, &refusal(seen, -32601)),
            (Some("server/discover"), _) => {
                let never = futures::stream::pending::<Result<Bytes, Infallible>>();
                Response::builder().header("content-type", "text/event-stream").body(Body::from_stream(never)).unwrap()
            }
            _ => legacy_streamable(seen),
        })
        .await;
        let (connection, _) = connect(Endpoint::StreamableHttp(at(&url)), RevisionChoice::Auto).await;
        assert_eq!(connection.unwrap().era(), Era::Legacy, "case {kind}");
    }
}

#[tokio::test]
async fn a_modern_error_does_not_lead_to_the_handshake() {
    let (url, log) = start(|seen: &Seen| {
        let mut refusal = refusal(seen, -32022);
        refusal["error"]["data"] = json!({"supported": ["2099-01-01"], "requested": "2026-07-28"});
        json_body(400, &refusal)
    })
    .await;
    let (connection, _) = connect(Endpoint::Auto(at(&url)), RevisionChoice::Auto).await;
    let failure = connection.unwrap_err();
    assert_eq!((failure.kind(), failure.stage), ("version-mismatch", Stage::Probe), "{failure}");
    assert!(log.lock().unwrap().iter().all(|seen| seen.body["method"] == "server/discover"));
}

#[tokio::test]
async fn statuses_are_distinguished() {
    for (code, kind) in [(401, "needs-auth"), (403, "needs-auth"), (500, "http-status"), (404, "http-status")] {
        let (url, _) = start(move |_: &Seen| {
            let mut response =
                json_body(code, &json!({"jsonrpc": "2.0", "id": null, "error": {"code": 1, "message": "x"}}));
            response.headers_mut().remove("content-type");
            response.headers_mut().insert("www-authenticate", "Bearer x".parse().unwrap());
            response
        })
        .await;
        let (connection, _) = connect(Endpoint::StreamableHttp(at(&url)), RevisionChoice::Auto).await;
        let failure = connection.unwrap_err();
        assert_eq!(failure.kind(), kind, "{failure}");
        if let ConnectFailure::NeedsAuth { challenge, .. } = &*failure.failure {
            assert_eq!(challenge.as_deref(), Some("Bearer x"));
        }
    }
    let (connection, _) = connect(Endpoint::StreamableHttp(at("http://127.0.0.1:1")), RevisionChoice::Auto).await;
    assert_eq!(connection.unwrap_err().kind(), "transport");
    let (connection, _) = connect(Endpoint::Auto(at("ftp://127.0.0.1")), RevisionChoice::Auto).await;
    assert_eq!(connection.unwrap_err().kind(), "invalid-config");
}

#[tokio::test]
async fn a_call_with_an_error_status_or_a_truncated_response_fails_immediately() {
    let (url, _) = start(|seen: &Seen| match seen.body["params"]["name"].as_str() {
        Some("status") => status(503),
        Some("wrong-id") => json_body(200, &json!({"jsonrpc": "2.0", "id": 4711, "result": {}})),
        Some("cut-off") => event_stream("data: {\"jsonrpc\":\n\n".into()),
        Some("html") => Response::builder().header("content-type", "text/html").body(Body::from("<p>")).unwrap(),
        _ => streamable(seen),
    })
    .await;
    let (connection, _) = connect(Endpoint::StreamableHttp(at(&url)), RevisionChoice::Auto).await;
    let connection = connection.unwrap();
    let call = async |tool| connection.call(tool, Value::Null, CallOptions::default()).await.unwrap_err().kind();
    assert_eq!(call("status").await, "http-status");
    assert_eq!(call("wrong-id").await, "malformed-result");
    assert_eq!(call("html").await, "transport");
    assert_eq!(call("cut-off").await, "connection-lost");
    assert!(connection.call("good", Value::Null, CallOptions::default()).await.is_ok());
}

/// A server of 2024-11-05. `endpoint` is the data of its `endpoint` event.
async fn sse_server(endpoint: &'static str) -> (String, Log) {
    let (out, lines) = mpsc::unbounded_channel::<String>();
    let lines = Arc::new(Mutex::new(Some(lines)));
    start(move |seen: &Seen| {
        if seen.method == "GET" {
            let first = format!("event: endpoint\ndata: {endpoint}\n\n");
            let rest = lines.lock().unwrap().take().expect("one stream");
            let rest = futures::stream::unfold(rest, |mut rest| async { Some((rest.recv().await?, rest)) });
            let all = futures::stream::once(async { first }).chain(rest).map(Ok::<_, Infallible>);
            return Response::builder()
                .header("content-type", "text/event-stream")
                .body(Body::from_stream(all))
                .unwrap();
        }
        let result = match seen.body["method"].as_str().unwrap_or_default() {
            // Only that URL accepts messages, not the one of the stream.
            _ if !seen.headers.contains_key("content-type") => return status(400),
            "server/discover" => return status(405),
            "initialize"
                if seen.body["params"]["protocolVersion"] == "2025-11-25" && !seen.headers.contains_key("x-user") =>
            {
                return status(405);
            }
            "initialize" => hello(seen),
            "tools/call" => text("by event"),
            _ => return status(202),
        };
        out.send(format!("event: message\ndata: {}\n\n", answer(seen, result))).unwrap();
        status(202)
    })
    .await
}

#[tokio::test]
async fn an_http_sse_server_can_be_used() {
    let (url, log) = sse_server("/messages?session=1").await;
    let (connection, _) = connect(Endpoint::Sse(at(&url)), RevisionChoice::Auto).await;
    let connection = connection.unwrap();
    assert_eq!((connection.transport(), connection.era()), (Transport::HttpSse, Era::Legacy));
    assert_eq!(connection.call("any", json!({}), CallOptions::default()).await.unwrap().text(), "by event");
    connection.close().await;
    assert!(log.lock().unwrap().iter().all(|seen| seen.headers["x-user"] == "me"));
}

#[tokio::test]
async fn an_endpoint_with_another_origin_is_rejected() {
    let (url, log) = sse_server("http://127.0.0.2:1/messages").await;
    let (connection, _) = connect(Endpoint::Sse(at(&url)), RevisionChoice::Auto).await;
    assert_eq!(connection.unwrap_err().kind(), "protocol-violation");
    assert_eq!(log.lock().unwrap().len(), 1);
}

#[tokio::test]
async fn http_sse_is_tried_last_and_the_reason_is_reported() {
    let stream = Arc::new(Mutex::new(None::<mpsc::UnboundedSender<String>>));
    let writer = Arc::clone(&stream);
    let opened = move || -> Option<mpsc::UnboundedSender<String>> { stream.lock().unwrap().clone() };
    let (url, _) = start(move |seen: &Seen| match (seen.method.as_str(), opened()) {
        ("GET", _) => {
            let (out, lines) = mpsc::unbounded_channel();
            out.send("event: endpoint\ndata: /post\n\n".to_owned()).unwrap();
            *writer.lock().unwrap() = Some(out);
            let lines = futures::stream::unfold(lines, |mut lines| async { Some((lines.recv().await?, lines)) });
            let body = Body::from_stream(lines.map(Ok::<_, Infallible>));
            Response::builder().header("content-type", "text/event-stream").body(body).unwrap()
        }
        (_, None) => status(405),
        (_, Some(out)) => {
            if seen.body["method"] == "initialize" {
                out.send(format!("data: {}\n\n", answer(seen, hello(seen)))).unwrap();
            }
            status(202)
        }
    })
    .await;
    let (connection, _) = connect(Endpoint::Auto(at(&url)), RevisionChoice::Auto).await;
    let connection = connection.unwrap();
    assert_eq!(connection.transport(), Transport::HttpSse);
    assert!(connection.why().contains("405"), "{}", connection.why());
}
