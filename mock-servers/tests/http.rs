//! The Streamable HTTP front over real sockets.

#![expect(clippy::unwrap_used, reason = "a test that cannot go on has failed")]

use std::time::Duration;

use futures::StreamExt;
use mcp_workbench_mock_servers::{Body, ConnectionEvent, Frame, HttpMock, Recorder, Script};
use reqwest::{Client, RequestBuilder, Response, StatusCode};
use serde_json::{Value, json};

const LEGACY: &str = "2025-11-25";
const MODERN: &str = "2026-07-28";
/// Long enough for any machine; no test waits for it unless it fails.
const BOUND: Duration = Duration::from_secs(10);

struct Server {
    mock: HttpMock,
    recorder: Recorder,
    client: Client,
    session: Option<String>,
}

impl Server {
    async fn start(script: Value, revision: &str) -> Self {
        let script: Script = serde_json::from_value(script).unwrap();
        let recorder = Recorder::in_memory("mock");
        let mock = HttpMock::start(script, revision, 7, recorder.clone()).await.unwrap();
        Self { mock, recorder, client: test_support::http_client(), session: None }
    }

    /// Starts a server and a legacy session on it.
    async fn legacy(script: Value) -> Self {
        let mut server = Self::start(script, LEGACY).await;
        let response = server.post(&initialize(LEGACY)).send().await.unwrap();
        server.session = Some(response.headers()["mcp-session-id"].to_str().unwrap().to_owned());
        assert_eq!(response.json::<Value>().await.unwrap()["result"]["protocolVersion"], LEGACY);
        let ready = json!({"jsonrpc": "2.0", "method": "notifications/initialized"});
        assert_eq!(server.post(&ready).send().await.unwrap().status(), StatusCode::ACCEPTED);
        server
    }

    fn bare(&self, message: &Value) -> RequestBuilder {
        let accept = "application/json, text/event-stream";
        self.client.post(self.mock.url()).header("accept", accept).json(message).timeout(BOUND)
    }

    fn post(&self, message: &Value) -> RequestBuilder {
        match &self.session {
            Some(session) => self.bare(message).header("mcp-session-id", session),
            None => self.bare(message),
        }
    }

    /// A modern request with its metadata and its headers.
    fn modern(&self, id: u64, method: &str, mut params: Value) -> RequestBuilder {
        params["_meta"]["io.modelcontextprotocol/protocolVersion"] = MODERN.into();
        params["_meta"]["io.modelcontextprotocol/clientCapabilities"] = json!({"elicitation": {}});
        let name = params["name"].as_str().unwrap_or_default().to_owned();
        let message = json!({"jsonrpc": "2.0", "id": id, "method": method, "params": params});
        self.bare(&message).header("mcp-protocol-version", MODERN).header("mcp-method", method).header("mcp-name", name)
    }

    /// Waits until the transcript satisfies the condition.
    async fn seen(&self, condition: impl FnMut(&[Frame]) -> bool) {
        let seen = tokio::time::timeout(BOUND, self.recorder.wait_until(condition)).await;
        assert!(seen.is_ok(), "never seen; the transcript is {:#?}", self.recorder.frames());
    }

    async fn mark_seen(&self, mark: ConnectionEvent) {
        self.seen(|frames| frames.iter().any(|frame| frame.body == Body::Event(mark))).await;
    }
}

fn initialize(version: &str) -> Value {
    let info = json!({"name": "test", "version": "1"});
    let capabilities = json!({"elicitation": {}, "roots": {}});
    let params = json!({"protocolVersion": version, "capabilities": capabilities, "clientInfo": info});
    json!({"jsonrpc": "2.0", "id": 0, "method": "initialize", "params": params})
}

fn call(id: u64, tool: &str) -> Value {
    json!({"jsonrpc": "2.0", "id": id, "method": "tools/call", "params": {
        "name": tool, "arguments": {}, "_meta": {"progressToken": "p"},
    }})
}

fn one_rule(actions: Value) -> Value {
    json!({"tools": [{"name": "echo"}], "on": [{"when": {"method": "tools/call"}, "do": actions}]})
}

/// The data of all events until the stream ends.
async fn events(response: Response) -> Vec<Value> {
    assert_eq!(response.headers()["content-type"], "text/event-stream");
    let text = response.text().await.unwrap();
    let data = text.lines().filter_map(|line| line.strip_prefix("data: ")).filter(|data| !data.is_empty());
    data.map(|data| data.parse().unwrap()).collect()
}

/// The data of the next event of a stream that stays open.
async fn next_event(stream: &mut (impl futures::Stream<Item = reqwest::Result<bytes::Bytes>> + Unpin)) -> Value {
    let mut text = String::new();
    loop {
        let piece = tokio::time::timeout(BOUND, stream.next()).await.expect("an event in time");
        text.push_str(&String::from_utf8_lossy(&piece.expect("the stream is open").unwrap()));
        // What comes first in 2025-11-25 is an id without data.
        let data = text.lines().filter_map(|line| line.strip_prefix("data: ")).find(|data| !data.is_empty());
        if let Some(data) = data.filter(|_| text.ends_with("\n\n")) {
            return data.parse().unwrap();
        }
    }
}

#[tokio::test]
async fn answers_a_call_with_one_json_object_and_records_both_sides() {
    let server = Server::legacy(json!({"tools": [{"name": "echo"}]})).await;
    let response = server.post(&call(1, "echo")).header("authorization", "Bearer s3cret").send().await.unwrap();
    assert_eq!(response.headers()["content-type"], "application/json");
    assert_eq!(response.json::<Value>().await.unwrap()["result"]["content"][0]["text"], "echo: {}");
    let frames = server.recorder.frames();
    let [request, reply] = &frames[frames.len() - 2..] else { panic!("two frames") };
    assert_eq!(request.connection, reply.connection);
    let http = request.http.as_ref().unwrap();
    assert_eq!((http.method.as_deref(), http.path.as_deref()), (Some("POST"), Some("/mcp")));
    assert_eq!(http.headers["authorization"], "Bearer [secret]");
    assert_eq!(Some(&http.headers["mcp-session-id"]), server.session.as_ref());
    assert_eq!(reply.http.as_ref().unwrap().status, Some(200));
    assert!(request.from_client() && request.is_request() && reply.is_response());
}

#[tokio::test]
async fn streams_as_soon_as_something_comes_before_the_answer() {
    let actions = json!([{"progress": {"progress": 1, "times": 2}}, {"notify": {"method": "notifications/message"}}]);
    let server = Server::legacy(one_rule(actions)).await;
    let events = events(server.post(&call(1, "echo")).send().await.unwrap()).await;
    let methods: Vec<_> = events.iter().map(|event| event["method"].as_str().unwrap_or("answer")).collect();
    assert_eq!(methods, ["notifications/progress", "notifications/progress", "notifications/message", "answer"]);
    assert_eq!(events[1]["params"], json!({"progressToken": "p", "progress": 2}));
    server.mark_seen(ConnectionEvent::ClosedByServer).await;
}

#[tokio::test]
async fn asks_on_the_stream_and_answers_with_the_response() {
    let actions = json!([
        {"request": {"method": "elicitation/create", "params": {"message": "name?"}}},
        {"reply": {"text": "hello {{response.content.name}}"}},
    ]);
    let server = Server::legacy(one_rule(actions)).await;
    let mut stream = server.post(&call(1, "echo")).send().await.unwrap().bytes_stream();
    let request = next_event(&mut stream).await;
    assert_eq!(request["method"], "elicitation/create");
    let result = json!({"action": "accept", "content": {"name": "Ada"}});
    let response = json!({"jsonrpc": "2.0", "id": request["id"], "result": result});
    assert_eq!(server.post(&response).send().await.unwrap().status(), StatusCode::ACCEPTED);
    assert_eq!(next_event(&mut stream).await["result"]["content"][0]["text"], "hello Ada");
    assert!(stream.next().await.is_none());
}

#[tokio::test]
async fn guards_sessions() {
    let mut server = Server::legacy(json!({})).await;
    let ping = json!({"jsonrpc": "2.0", "id": 1, "method": "ping"});
    let status = |request: RequestBuilder| async { request.send().await.unwrap().status().as_u16() };
    assert_eq!(status(server.post(&ping)).await, 200);
    assert_eq!(status(server.bare(&ping)).await, 400);
    assert_eq!(status(server.bare(&ping).header("mcp-session-id", "unknown")).await, 404);
    assert_eq!(status(server.post(&ping).header("mcp-protocol-version", LEGACY)).await, 200);
    assert_eq!(status(server.post(&ping).header("mcp-protocol-version", "1999-01-01")).await, 400);
    assert_eq!(status(server.post(&ping).header("mcp-protocol-version", MODERN)).await, 400);
    let delete = server.client.delete(server.mock.url());
    assert_eq!(status(delete.header("mcp-session-id", server.session.as_ref().unwrap())).await, 204);
    assert_eq!(status(server.post(&ping)).await, 404);
    server.session = None;
    assert_eq!(status(server.client.delete(server.mock.url())).await, 400);
}

#[tokio::test]
async fn guards_its_door() {
    let server = Server::start(json!({}), LEGACY).await;
    let status = |request: RequestBuilder| async { request.send().await.unwrap().status().as_u16() };
    let hello = initialize(LEGACY);
    assert_eq!(status(server.bare(&hello).header("origin", "http://evil.example")).await, 403);
    assert_eq!(status(server.bare(&hello).header("host", "evil.example")).await, 403);
    assert_eq!(status(server.client.post(server.mock.url()).json(&hello)).await, 406);
    assert_eq!(status(server.client.post(server.mock.url()).body("{}")).await, 415);
    assert_eq!(status(server.client.put(server.mock.url())).await, 405);
    assert_eq!(status(server.client.get(server.mock.url().replace("/mcp", "/other"))).await, 404);
    assert_eq!(status(server.bare(&hello)).await, 200);
    let garbage = server.bare(&hello).body("{").send().await.unwrap();
    assert_eq!(garbage.status(), 400);
    assert_eq!(garbage.json::<Value>().await.unwrap()["error"]["code"], -32700);
}

#[tokio::test]
async fn announces_changes_on_the_get_stream_even_when_it_opens_late() {
    let actions = json!({"change": {"put": [{"name": "fresh"}], "announce": true}});
    let server = Server::legacy(one_rule(actions)).await;
    server.post(&call(1, "echo")).send().await.unwrap();
    let get = server.client.get(server.mock.url()).header("accept", "text/event-stream");
    let get = get.header("mcp-session-id", server.session.as_ref().unwrap()).send().await.unwrap();
    let mut stream = get.bytes_stream();
    assert_eq!(next_event(&mut stream).await["method"], "notifications/tools/list_changed");
    server.post(&call(2, "echo")).send().await.unwrap();
    assert_eq!(next_event(&mut stream).await["method"], "notifications/tools/list_changed");
    drop(stream);
    server.mark_seen(ConnectionEvent::ClosedByPeer).await;
}

#[tokio::test]
async fn drops_the_connection_where_the_script_says_so() {
    let server = Server::legacy(one_rule(json!({"fault": "close"}))).await;
    assert!(server.post(&call(1, "echo")).send().await.is_err());
    let notify_first = json!([{"progress": {"progress": 1}}, {"fault": "close"}]);
    let server = Server::legacy(one_rule(notify_first)).await;
    let mut stream = server.post(&call(1, "echo")).send().await.unwrap().bytes_stream();
    assert_eq!(next_event(&mut stream).await["method"], "notifications/progress");
    assert!(stream.next().await.unwrap().is_err());
    server.mark_seen(ConnectionEvent::ClosedByServer).await;
}

#[tokio::test]
async fn truncates_the_answer() {
    let server = Server::legacy(one_rule(json!({"fault": {"truncate": 20}}))).await;
    let response = server.post(&call(1, "echo")).send().await.unwrap();
    assert!(response.content_length().unwrap() > 20);
    let mut stream = response.bytes_stream();
    assert_eq!(stream.next().await.unwrap().unwrap(), r#"{"jsonrpc":"2.0","id"#);
    assert!(stream.next().await.unwrap().is_err());
}

#[tokio::test]
async fn answers_with_the_status_of_the_script() {
    let fault = json!({"fault": {"http-status": {"status": 503, "headers": {"retry-after": "1"}, "body": "busy"}}});
    let server = Server::legacy(one_rule(fault)).await;
    let response = server.post(&call(1, "echo")).send().await.unwrap();
    assert_eq!((response.status().as_u16(), response.headers()["retry-after"].to_str().unwrap()), (503, "1"));
    assert_eq!(response.text().await.unwrap(), "busy");
}

#[tokio::test]
async fn garbage_and_duplicates_arrive_as_events() {
    let server = Server::legacy(one_rule(json!([{"fault": {"garbage": "not json"}}, {"fault": "duplicate"}]))).await;
    let text = server.post(&call(1, "echo")).send().await.unwrap().text().await.unwrap();
    assert_eq!(text.matches("data: not json\n").count(), 1);
    assert_eq!(text.matches("\"id\":1,\"result\"").count(), 2);
}

#[tokio::test]
async fn exit_refuses_new_connections_after_the_last_answer() {
    let server = Server::legacy(one_rule(json!([{"reply": {"text": "bye"}}, {"fault": {"exit": {}}}]))).await;
    let silent = server.client.get(server.mock.url()).header("accept", "text/event-stream");
    let silent = silent.header("mcp-session-id", server.session.as_ref().unwrap()).send().await.unwrap();
    let answer = server.post(&call(1, "echo")).send().await.unwrap().json::<Value>().await.unwrap();
    assert_eq!(answer["result"]["content"][0]["text"], "bye");
    let mut silent = silent.bytes_stream();
    let ended = async { while let Some(Ok(_)) = silent.next().await {} };
    tokio::time::timeout(BOUND, ended).await.expect("open streams end");
    let fresh = test_support::http_client();
    assert!(fresh.get(server.mock.url()).send().await.unwrap_err().is_connect());
    server.mark_seen(ConnectionEvent::Exit).await;
}

#[tokio::test]
async fn stopping_closes_everything() {
    let server = Server::legacy(one_rule(json!({"fault": "silence"}))).await;
    let pending = tokio::spawn(server.post(&call(1, "echo")).send());
    server.seen(|frames| frames.iter().any(|frame| frame.method() == Some("tools/call"))).await;
    let url = server.mock.url();
    tokio::time::timeout(BOUND, server.mock.stop()).await.unwrap();
    assert!(pending.await.unwrap().is_err());
    assert!(server.client.get(url).send().await.unwrap_err().is_connect());
}

#[tokio::test]
async fn one_stuck_call_does_not_hold_up_another() {
    let rules = json!({"tools": [{"name": "echo"}, {"name": "stuck"}], "on": [
        {"when": {"tool": "stuck"}, "do": {"fault": "silence"}},
    ]});
    let server = Server::legacy(rules).await;
    let stuck = tokio::spawn(server.post(&call(1, "stuck")).send());
    server.seen(|frames| frames.iter().any(|frame| frame.id() == Some(&json!(1)))).await;
    assert_eq!(server.post(&call(2, "echo")).send().await.unwrap().status(), 200);
    stuck.abort();
    server.mark_seen(ConnectionEvent::ClosedByPeer).await;
}

#[tokio::test]
async fn a_cancelled_call_ends_without_an_answer() {
    let server = Server::legacy(one_rule(json!([{"progress": {"progress": 1}}, {"fault": "silence"}]))).await;
    let mut stream = server.post(&call(1, "echo")).send().await.unwrap().bytes_stream();
    next_event(&mut stream).await;
    let cancel = json!({"jsonrpc": "2.0", "method": "notifications/cancelled", "params": {"requestId": 1}});
    assert_eq!(server.post(&cancel).send().await.unwrap().status(), StatusCode::ACCEPTED);
    assert!(stream.next().await.is_none());
}

#[tokio::test]
async fn serves_modern_requests_without_sessions() {
    let server = Server::start(json!({"tools": [{"name": "echo"}]}), MODERN).await;
    let response = server.modern(1, "server/discover", json!({})).send().await.unwrap();
    assert!(!response.headers().contains_key("mcp-session-id"));
    assert_eq!(response.json::<Value>().await.unwrap()["result"]["supportedVersions"], json!([MODERN]));
    let answer = server.modern(2, "tools/call", json!({"name": "echo"})).send().await.unwrap();
    assert_eq!(answer.json::<Value>().await.unwrap()["result"]["resultType"], "complete");
    let code = |request: RequestBuilder| async {
        let response = request.send().await.unwrap();
        (response.status().as_u16(), response.json::<Value>().await.unwrap()["error"]["code"].as_i64().unwrap())
    };
    assert_eq!(code(server.modern(3, "no/such", json!({}))).await, (404, -32601));
    assert_eq!(code(server.modern(4, "tools/call", json!({"name": "absent"}))).await, (200, -32602));
    assert_eq!(code(server.bare(&call(5, "echo"))).await, (400, -32020));
    assert_eq!(code(server.bare(&initialize(LEGACY))).await, (400, -32022));
    let meta = json!({"_meta": {"io.modelcontextprotocol/protocolVersion": "2027-01-01"}});
    let future = json!({"jsonrpc": "2.0", "id": 6, "method": "tools/list", "params": meta});
    assert_eq!(code(server.bare(&future).header("mcp-protocol-version", "2027-01-01")).await, (400, -32022));
    for request in [server.client.get(server.mock.url()), server.client.delete(server.mock.url())] {
        assert_eq!(request.send().await.unwrap().status(), StatusCode::METHOD_NOT_ALLOWED);
    }
}

#[tokio::test]
async fn listens_for_changes_until_the_client_closes_the_stream() {
    let actions = json!({"change": {"remove": ["other"], "announce": true}});
    let server = Server::start(one_rule(actions), MODERN).await;
    let wish = json!({"notifications": {"toolsListChanged": true, "promptsListChanged": true}});
    let mut stream = server.modern(9, "subscriptions/listen", wish).send().await.unwrap().bytes_stream();
    let subscription = json!({"io.modelcontextprotocol/subscriptionId": 9});
    let acknowledged = next_event(&mut stream).await;
    assert_eq!(acknowledged["method"], "notifications/subscriptions/acknowledged");
    assert_eq!(acknowledged["params"], json!({"_meta": subscription, "notifications": {"toolsListChanged": true}}));
    server.modern(1, "tools/call", json!({"name": "echo"})).send().await.unwrap();
    let changed = next_event(&mut stream).await;
    assert_eq!(changed["method"], "notifications/tools/list_changed");
    assert_eq!(changed["params"]["_meta"], subscription);
    drop(stream);
    server.mark_seen(ConnectionEvent::ClosedByPeer).await;
    let answer = server.modern(2, "tools/call", json!({"name": "echo"})).send().await.unwrap();
    assert_eq!(answer.headers()["content-type"], "application/json");
}

#[tokio::test]
async fn closing_the_stream_cancels_a_modern_request() {
    let script = json!({"tools": [{"name": "echo"}], "on": [
        {"when": {"method": "tools/call", "nth": 1}, "do": [
            {"progress": {"progress": 1}}, {"fault": {"delay": "200ms"}}, {"change": {"remove": ["echo"]}},
        ]},
        {"when": {"method": "tools/call", "nth": 2}, "do": {"fault": {"delay": "300ms"}}},
        {"when": {"method": "tools/call", "nth": 3}, "do": [
            {"progress": {"progress": 1}}, {"request": {"method": "sampling/createMessage"}},
        ]},
    ]});
    let server = Server::start(script, MODERN).await;
    let call = |id: u64| server.modern(id, "tools/call", json!({"name": "echo", "_meta": {"progressToken": id}}));
    let mut stream = call(1).send().await.unwrap().bytes_stream();
    next_event(&mut stream).await;
    drop(stream);
    server.mark_seen(ConnectionEvent::ClosedByPeer).await;
    // The first call would have taken the tool away by the time the second is answered.
    let second = call(2).send().await.unwrap().json::<Value>().await.unwrap();
    assert_eq!(second["result"]["resultType"], "complete", "{second}");
    // A capability that the client lacks is an error of its own, also in the middle of a stream.
    let events = events(call(3).send().await.unwrap()).await;
    assert_eq!(events.last().unwrap()["error"]["code"], -32021);
}

#[tokio::test]
async fn serves_both_eras_on_one_endpoint() {
    let mut server = Server::start(json!({"tools": [{"name": "echo"}], "revisions": [LEGACY, MODERN]}), MODERN).await;
    let modern = server.modern(1, "tools/call", json!({"name": "echo"})).send().await.unwrap();
    assert_eq!(modern.json::<Value>().await.unwrap()["result"]["resultType"], "complete");
    let response = server.bare(&initialize(LEGACY)).send().await.unwrap();
    server.session = Some(response.headers()["mcp-session-id"].to_str().unwrap().to_owned());
    let legacy = server.post(&call(2, "echo")).send().await.unwrap().json::<Value>().await.unwrap();
    assert!(legacy["result"].get("resultType").is_none());
}

#[tokio::test]
async fn rules_for_get_and_delete_decide_about_streams_and_sessions() {
    let script = json!({"on": [
        {"when": {"method": "GET"}, "do": {"fault": {"http-status": {"status": 405}}}},
        {"when": {"method": "DELETE"}, "do": {"fault": {"http-status": {"status": 405}}}},
    ]});
    let server = Server::legacy(script).await;
    let session = server.session.as_ref().unwrap();
    for request in [server.client.get(server.mock.url()), server.client.delete(server.mock.url())] {
        let request = request.header("accept", "text/event-stream").header("mcp-session-id", session);
        assert_eq!(request.send().await.unwrap().status(), StatusCode::METHOD_NOT_ALLOWED);
    }
    let ping = json!({"jsonrpc": "2.0", "id": 1, "method": "ping"});
    assert_eq!(server.post(&ping).send().await.unwrap().status(), StatusCode::OK, "the session lives on");
}

#[tokio::test]
async fn accepts_a_notification_before_the_client_answers_what_it_asks_for() {
    let script = json!({"on": [
        {"when": {"method": "notifications/initialized"}, "do": {"request": {"method": "roots/list"}}},
        {"when": {"method": "notifications/roots/list_changed"}, "do": [
            {"fault": {"delay": "1ms"}}, {"fault": {"http-status": {"status": 500}}},
        ]},
    ]});
    // The handshake of `legacy` would hang if the server waited for the answer before it accepted.
    let server = Server::legacy(script).await;
    let get = server.client.get(server.mock.url()).header("accept", "text/event-stream");
    let get = get.header("mcp-session-id", server.session.as_ref().unwrap()).send().await.unwrap();
    assert_eq!(next_event(&mut get.bytes_stream()).await["method"], "roots/list");
    let changed = json!({"jsonrpc": "2.0", "method": "notifications/roots/list_changed"});
    assert_eq!(server.post(&changed).send().await.unwrap().status(), StatusCode::INTERNAL_SERVER_ERROR);
}

#[tokio::test]
async fn invalid_requests_are_handled_as_the_script_decides() {
    let call = call(1, "echo");
    let status = async |server: &Server, request: RequestBuilder| {
        assert!(server.session.is_some());
        request.send().await.unwrap().status().as_u16()
    };
    for (validation, expected) in [
        (json!({}), [403, 400, 404, 400, 405]),
        (
            json!({
                "origin": {"status": 400}, "missing_session": {"status": 404}, "unknown_session": {"status": 400},
                "revision_header": {"status": 500}, "methods": {"status": 404},
            }),
            [400, 404, 400, 500, 404],
        ),
        (
            json!({
                "origin": "skip", "missing_session": "skip", "unknown_session": "skip", "revision_header": "skip",
                "methods": "skip",
            }),
            [200, 200, 200, 200, 204],
        ),
    ] {
        let server = Server::legacy(json!({"tools": [{"name": "echo"}], "http": {"validation": validation}})).await;
        let requests = [
            server.post(&call).header("origin", "https://example.com"),
            server.bare(&call),
            server.bare(&call).header("mcp-session-id", "unknown"),
            server.post(&call).header("mcp-protocol-version", "1999-01-01"),
            server.client.put(server.mock.url()),
        ];
        let mut statuses = Vec::new();
        for request in requests {
            statuses.push(status(&server, request).await);
        }
        assert_eq!(statuses, expected, "{validation}");
    }
}

#[tokio::test]
async fn a_stream_stays_open_after_its_response() {
    let script = json!({"tools": [{"name": "echo"}], "http": {"respond": "sse", "keep_streams_open": true}});
    let server = Server::start(script, LEGACY).await;
    // The body of the response does not end, so only its headers are read.
    let response = server.post(&initialize(LEGACY)).send().await.unwrap();
    let session = response.headers()["mcp-session-id"].to_str().unwrap().to_owned();
    let server = Server { session: Some(session), ..server };
    let mut stream = server.post(&call(1, "echo")).send().await.unwrap().bytes_stream();
    assert_eq!(next_event(&mut stream).await["id"], 1);
    let more = tokio::time::timeout(Duration::from_millis(100), stream.next()).await;
    assert!(more.is_err(), "{more:?}");
}
