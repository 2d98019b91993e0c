//! Streams of events over Streamable HTTP: their ids, how they are resumed and polled, and what a script decides about
//! them.

#![expect(clippy::unwrap_used, reason = "a test that cannot go on has failed")]

use std::{pin::Pin, time::Duration};

use bytes::Bytes;
use futures::{Stream, StreamExt};
use mcp_workbench_mock_servers::{Body, ConnectionEvent, Frame, HttpMock, Recorder, Script};
use reqwest::{Client, RequestBuilder, Response, StatusCode};
use serde_json::{Value, json};

const POLLING: &str = "2025-11-25";
const RESUMING: &str = "2025-06-18";
const MODERN: &str = "2026-07-28";
/// Long enough for any machine; no test waits for it unless it fails.
const BOUND: Duration = Duration::from_secs(10);

struct Server {
    mock: HttpMock,
    recorder: Recorder,
    client: Client,
    revision: &'static str,
    session: Option<String>,
}

impl Server {
    async fn start(script: Value, revision: &'static str) -> Self {
        let script: Script = serde_json::from_value(script).unwrap();
        let recorder = Recorder::in_memory("mock");
        let mock = HttpMock::start(script, revision, 7, recorder.clone()).await.unwrap();
        let client = test_support::http_client();
        let mut server = Self { mock, recorder, client, revision, session: None };
        if revision != MODERN {
            server.session = server.initialize().await;
        }
        server
    }

    async fn initialize(&self) -> Option<String> {
        let params = json!({"protocolVersion": self.revision, "capabilities": {"elicitation": {}}, "clientInfo": {
            "name": "test", "version": "1",
        }});
        let message = json!({"jsonrpc": "2.0", "id": 0, "method": "initialize", "params": params});
        let response = self.bare(&message).send().await.unwrap();
        assert_eq!(response.status(), StatusCode::OK);
        let session = response.headers().get("mcp-session-id").map(|id| id.to_str().unwrap().to_owned());
        let id = session.clone();
        let ready = self.bare(&json!({"jsonrpc": "2.0", "method": "notifications/initialized"}));
        let ready = id.into_iter().fold(ready, |request, id| request.header("mcp-session-id", id));
        assert_eq!(ready.header("mcp-protocol-version", self.revision).send().await.unwrap().status(), 202);
        session
    }

    fn bare(&self, message: &Value) -> RequestBuilder {
        let accept = "application/json, text/event-stream";
        self.client.post(self.mock.url()).header("accept", accept).json(message).timeout(BOUND)
    }

    fn in_session(&self, request: RequestBuilder) -> RequestBuilder {
        let request = request.header("mcp-protocol-version", self.revision);
        self.session.iter().fold(request, |request, id| request.header("mcp-session-id", id))
    }

    fn call(&self, id: u64, tool: &str) -> RequestBuilder {
        let mut params = json!({"name": tool, "arguments": {}, "_meta": {"progressToken": id}});
        if self.revision == MODERN {
            params["_meta"]["io.modelcontextprotocol/protocolVersion"] = MODERN.into();
            params["_meta"]["io.modelcontextprotocol/clientCapabilities"] = json!({});
        }
        let message = json!({"jsonrpc": "2.0", "id": id, "method": "tools/call", "params": params});
        let request = self.in_session(self.bare(&message));
        request.header("mcp-method", "tools/call").header("mcp-name", tool)
    }

    fn get(&self) -> RequestBuilder {
        self.in_session(self.client.get(self.mock.url()).header("accept", "text/event-stream").timeout(BOUND))
    }

    async fn resume(&self, last: &str) -> Events {
        Events::from_response(self.get().header("last-event-id", last).send().await.unwrap())
    }

    async fn refuses(&self, last: &str) -> bool {
        self.get().header("last-event-id", last).send().await.unwrap().status() == StatusCode::BAD_REQUEST
    }

    async fn seen(&self, condition: impl FnMut(&[Frame]) -> bool) {
        let seen = tokio::time::timeout(BOUND, self.recorder.wait_until(condition)).await;
        assert!(seen.is_ok(), "never seen; the transcript is {:#?}", self.recorder.frames());
    }

    /// Waits until this many connections have ended.
    async fn ended(&self, mark: ConnectionEvent, times: usize) {
        self.seen(|frames| frames.iter().filter(|frame| frame.body == Body::Event(mark)).count() == times).await;
    }
}

/// One event as it came.
#[derive(Debug, Clone, Default, PartialEq)]
struct Event {
    id: Option<String>,
    retry: Option<String>,
    data: Option<String>,
}

impl Event {
    fn json(&self) -> Value {
        self.data.as_ref().unwrap().parse().unwrap()
    }

    fn last_id(&self) -> &str {
        self.id.as_deref().unwrap()
    }
}

struct Events {
    stream: Pin<Box<dyn Stream<Item = reqwest::Result<Bytes>> + Send>>,
    text: String,
}

impl Events {
    fn from_response(response: Response) -> Self {
        assert_eq!(
            (response.status(), &response.headers()["content-type"]),
            (StatusCode::OK, &"text/event-stream".parse().unwrap())
        );
        Self { stream: Box::pin(response.bytes_stream()), text: String::new() }
    }

    /// The next event; none when the stream ends in good order.
    async fn next(&mut self) -> Option<Event> {
        while !self.text.contains("\n\n") {
            let piece = tokio::time::timeout(BOUND, self.stream.next()).await.expect("an event in time")?;
            self.text.push_str(std::str::from_utf8(&piece.expect("the connection holds")).unwrap());
        }
        let (event, rest) = self.text.split_once("\n\n").unwrap();
        let field = |name: &str| {
            let line = event.lines().find_map(|line| line.strip_prefix(name)?.strip_prefix(": "));
            line.map(str::to_owned)
        };
        let event = Event { id: field("id"), retry: field("retry"), data: field("data") };
        self.text = rest.to_owned();
        Some(event)
    }

    async fn message(&mut self) -> Event {
        self.next().await.expect("the stream goes on")
    }

    async fn rest(mut self) -> Vec<Event> {
        let mut events = Vec::new();
        while let Some(event) = self.next().await {
            events.push(event);
        }
        events
    }
}

fn script(actions: Value) -> Value {
    json!({"tools": [{"name": "echo"}, {"name": "other"}], "on": [{"when": {"tool": "echo"}, "do": actions}]})
}

fn three_reports() -> Value {
    script(json!([{"progress": {"progress": 1, "times": 3}}]))
}

/// Waits for the client before it goes on, so that a test decides when.
fn asking() -> Value {
    script(json!([
        {"progress": {"progress": 1}}, {"request": {"method": "elicitation/create", "params": {"message": "?"}, "anyway": true}},
        {"progress": {"progress": 2}}, {"reply": {"text": "done"}},
    ]))
}

async fn answer(server: &Server, request: &Value) {
    let result = json!({"jsonrpc": "2.0", "id": request["id"], "result": {"action": "decline"}});
    assert_eq!(server.in_session(server.bare(&result)).send().await.unwrap().status(), StatusCode::ACCEPTED);
}

#[tokio::test]
async fn streams_begin_with_an_id_and_every_event_has_its_own() {
    let server = Server::start(three_reports(), POLLING).await;
    let mut ids = Vec::new();
    for number in 1..=2 {
        let events = Events::from_response(server.call(number, "echo").send().await.unwrap()).rest().await;
        assert_eq!(events.len(), 5);
        assert_eq!((events[0].data.as_deref(), &events[0].retry), (Some(""), &None), "{:?}", events[0]);
        assert_eq!(events[4].json()["id"], number);
        ids.extend(events.into_iter().map(|event| event.id.unwrap()));
    }
    let unique: std::collections::HashSet<_> = ids.iter().collect();
    assert_eq!(unique.len(), 10, "{ids:?}");
    let recorded = |frames: &[Frame]| {
        let sent = frames.iter().filter_map(|frame| frame.http.as_ref()?.event_id.clone());
        sent.collect::<Vec<_>>()
    };
    assert_eq!(recorded(&server.recorder.frames()), ids);
}

#[tokio::test]
async fn ids_and_what_is_there_for_them_come_with_the_revisions_that_know_them() {
    let server = Server::start(three_reports(), RESUMING).await;
    let events = Events::from_response(server.call(1, "echo").send().await.unwrap()).rest().await;
    assert_eq!(events.len(), 4, "nothing without data, which older clients take for a message");
    assert!(events.iter().all(|event| event.id.is_some()));
    for server in [
        Server::start(three_reports(), MODERN).await,
        Server::start(three_reports(), "2024-11-05").await,
        Server::start(
            json!({"http": {"resumable": false}, "tools": [{"name": "echo"}], "on": [
                {"when": {"tool": "echo"}, "do": {"progress": {"progress": 1, "times": 3}}},
            ]}),
            POLLING,
        )
        .await,
    ] {
        let events = Events::from_response(server.call(1, "echo").send().await.unwrap()).rest().await;
        assert_eq!(events.len(), 4);
        assert!(events.iter().all(|event| event.id.is_none()), "{}: {events:?}", server.revision);
    }
}

#[tokio::test]
async fn a_stream_that_broke_goes_on_where_the_client_lost_it() {
    for revision in ["2025-03-26", RESUMING, POLLING] {
        let server = Server::start(asking(), revision).await;
        let mut events = Events::from_response(server.call(1, "echo").send().await.unwrap());
        let mut first = events.message().await;
        if revision == POLLING {
            first = events.message().await;
        }
        assert_eq!(first.json()["method"], "notifications/progress");
        let request = events.message().await;
        drop(events);
        server.ended(ConnectionEvent::ClosedByPeer, 1).await;
        // What is said while nobody listens is kept.
        answer(&server, &request.json()).await;
        let rest = server.resume(first.last_id()).await.rest().await;
        let said: Vec<_> = rest.iter().map(Event::json).collect();
        assert_eq!(said[0], request.json(), "the client says that it has seen no more than the first");
        assert_eq!(said[1]["params"]["progress"], 2);
        assert_eq!(said[2]["result"]["content"][0]["text"], "done");
        assert_eq!(said.len(), 3);
        assert_eq!(rest[0].id, request.id, "an event keeps its id");
        // The end is said again to a client that lost the end.
        let last = server.resume(rest[1].last_id()).await.rest().await;
        assert_eq!(last, rest[2..]);
        assert_eq!(server.resume(last[0].last_id()).await.rest().await, []);
    }
}

#[tokio::test]
async fn resuming_replays_one_stream_alone_and_goes_on_live() {
    let server = Server::start(asking(), POLLING).await;
    let mut lost = Events::from_response(server.call(1, "echo").send().await.unwrap());
    let mut held = Events::from_response(server.call(2, "echo").send().await.unwrap());
    let (begun, other) = (lost.message().await, held.message().await);
    let (_, _, asked) = (lost.message().await, held.message().await, lost.message().await);
    let asked_elsewhere = held.message().await;
    drop(lost);
    let mut events = server.resume(begun.last_id()).await;
    assert_eq!(events.message().await.json()["params"]["progressToken"], 1);
    assert_eq!(events.message().await, asked);
    answer(&server, &asked_elsewhere.json()).await;
    let elsewhere: Vec<_> = held.rest().await.iter().map(|event| event.json()["id"].clone()).collect();
    assert_eq!(elsewhere, [Value::Null, json!(2)]);
    answer(&server, &asked.json()).await;
    let live: Vec<_> = events.rest().await.iter().map(|event| event.json()["id"].clone()).collect();
    assert_eq!(live, [Value::Null, json!(1)]);
    assert!(other.id.is_some());
}

#[tokio::test]
async fn a_client_that_comes_back_before_it_is_missed_gets_the_stream() {
    let server = Server::start(asking(), POLLING).await;
    let mut abandoned = Events::from_response(server.call(1, "echo").send().await.unwrap());
    let begun = abandoned.message().await;
    let (_, asked) = (abandoned.message().await, abandoned.message().await);
    let mut events = server.resume(begun.last_id()).await;
    assert_eq!(abandoned.next().await, None, "no message goes out on two connections");
    let (_, again) = (events.message().await, events.message().await);
    assert_eq!(again, asked);
    drop(abandoned);
    answer(&server, &asked.json()).await;
    assert_eq!(events.rest().await.last().unwrap().json()["id"], 1, "the old connection's end is not the new one's");
}

#[tokio::test]
async fn refuses_to_go_on_from_what_it_does_not_know() {
    let server = Server::start(three_reports(), POLLING).await;
    let events = Events::from_response(server.call(1, "echo").send().await.unwrap()).rest().await;
    let stream = events[0].last_id().split('-').next().unwrap();
    for unknown in ["", "x", "0-0", &format!("{stream}-5"), &format!("{stream}-99"), "99999-0"] {
        assert!(server.refuses(unknown).await, "{unknown}");
    }
    // Another session's streams are nobody else's business.
    let own = server.session.clone();
    let other = Server { session: server.initialize().await, ..server };
    assert_ne!(other.session, own);
    assert!(other.refuses(events[0].last_id()).await);
    let rightful = Server { session: own, ..other };
    assert_eq!(rightful.resume(events[0].last_id()).await.rest().await.len(), 4);
}

#[tokio::test]
async fn what_is_remembered_of_a_stream_is_bounded() {
    let server = Server::start(script(json!([{"progress": {"progress": 1, "times": 1500}}])), POLLING).await;
    let events = Events::from_response(server.call(1, "echo").send().await.unwrap()).rest().await;
    assert_eq!(events.len(), 1502);
    assert!(server.refuses(events[0].last_id()).await);
    assert!(server.refuses(events[500].last_id()).await);
    assert_eq!(server.resume(events[501].last_id()).await.rest().await, events[502..]);
    // A session keeps 32 streams without a connection.
    for number in 2..=34 {
        Events::from_response(server.call(number, "echo").send().await.unwrap()).rest().await;
    }
    assert!(server.refuses(events[1500].last_id()).await, "more streams push it out");
}

#[tokio::test]
async fn a_client_polls_a_stream_that_the_server_closes() {
    let actions = json!([
        {"progress": {"progress": 1}}, {"close-stream": {"retry": "50ms"}},
        {"request": {"method": "elicitation/create", "params": {"message": "?"}, "anyway": true}}, {"close-stream": {}}, {"reply": {"text": "done"}},
    ]);
    let server = Server::start(script(actions), POLLING).await;
    let first = Events::from_response(server.call(1, "echo").send().await.unwrap()).rest().await;
    let last = first.last().unwrap();
    assert_eq!((first.len(), last.retry.as_deref(), last.data.as_deref()), (3, Some("50"), Some("")));
    let mut second = server.resume(last.last_id()).await;
    let asked = second.message().await;
    answer(&server, &asked.json()).await;
    let more = second.rest().await;
    assert_eq!(more, [], "it is closed a second time, without a word about when to come back");
    let third = server.resume(asked.last_id()).await.rest().await;
    assert_eq!((third.len(), &third[0].json()["result"]["content"][0]["text"]), (1, &json!("done")));
    server.ended(ConnectionEvent::ClosedByServer, 3).await;
}

#[tokio::test]
async fn a_stream_without_ids_ends_where_it_is_closed() {
    let actions =
        json!([{"progress": {"progress": 1}}, {"close-stream": {"retry": "50ms"}}, {"reply": {"text": "lost"}}]);
    let server = Server::start(script(actions), MODERN).await;
    let events = Events::from_response(server.call(1, "echo").send().await.unwrap()).rest().await;
    assert_eq!((events.len(), events[0].retry.as_ref()), (1, None));
}

#[tokio::test]
async fn get_streams_are_primed_polled_and_resumed_too() {
    let change = json!({"change": {"put": [{"name": "fresh"}], "announce": true}});
    let mut rules = script(change);
    rules["http"] = json!({"retry": "70ms"});
    rules["on"]
        .as_array_mut()
        .unwrap()
        .push(json!({"when": {"method": "GET", "nth": 2}, "do": {"close-stream": {"retry": "1s"}}}));
    let server = Server::start(rules, POLLING).await;
    let mut events = Events::from_response(server.get().send().await.unwrap());
    let primed = events.message().await;
    assert_eq!((primed.retry.as_deref(), primed.data.as_deref()), (Some("70"), Some("")));
    server.call(1, "echo").send().await.unwrap();
    let changed = events.message().await;
    assert_eq!(changed.json()["method"], "notifications/tools/list_changed");
    drop(events);
    server.ended(ConnectionEvent::ClosedByPeer, 1).await;
    // Said while no stream is open: it waits, and is not said twice.
    server.call(2, "echo").send().await.unwrap();
    let polled = Events::from_response(server.get().send().await.unwrap()).rest().await;
    assert_eq!((polled.len(), polled[1].retry.as_deref()), (2, Some("1000")));
    let mut resumed = server.resume(primed.last_id()).await;
    assert_eq!(resumed.message().await, changed);
    let waited = resumed.message().await;
    assert_eq!(waited.json()["method"], "notifications/tools/list_changed");
    assert_ne!(waited.id, changed.id);
    server.call(3, "echo").send().await.unwrap();
    assert_eq!(resumed.message().await.json()["method"], "notifications/tools/list_changed");
}

#[tokio::test]
async fn each_message_goes_out_on_one_get_stream_alone() {
    let server =
        Server::start(script(json!({"change": {"put": [{"name": "fresh"}], "announce": true}})), RESUMING).await;
    let mut older = Events::from_response(server.get().send().await.unwrap());
    let mut newer = Events::from_response(server.get().send().await.unwrap());
    server.call(1, "echo").send().await.unwrap();
    assert_eq!(newer.message().await.json()["method"], "notifications/tools/list_changed");
    drop(newer);
    server.ended(ConnectionEvent::ClosedByPeer, 1).await;
    server.call(2, "echo").send().await.unwrap();
    let first = older.message().await;
    drop(server.mock);
    assert!(older.stream.next().await.is_none_or(|piece| piece.is_err()), "one message alone came here: {first:?}");
}

#[tokio::test]
async fn answers_in_the_form_that_the_script_wants() {
    let mut always = script(json!([{"progress": {"progress": 1}}]));
    always["http"] = json!({"respond": "sse"});
    for revision in [POLLING, MODERN] {
        let server = Server::start(always.clone(), revision).await;
        let events = Events::from_response(server.call(1, "other").send().await.unwrap()).rest().await;
        assert_eq!(events.last().unwrap().json()["id"], 1);
        // What has a status of its own is no stream.
        let absent = server.bare(&json!({"jsonrpc": "2.0", "id": 1, "method": "no/such"})).send().await.unwrap();
        assert_eq!(
            (absent.status(), &absent.headers()["content-type"]),
            (StatusCode::BAD_REQUEST, &"application/json".parse().unwrap())
        );
    }
    always["http"] = json!({"respond": "json"});
    let server = Server::start(always, POLLING).await;
    let mut aside = Events::from_response(server.get().send().await.unwrap());
    aside.message().await;
    let alone = server.call(1, "echo").send().await.unwrap();
    assert_eq!(alone.headers()["content-type"], "application/json");
    assert_eq!(alone.json::<Value>().await.unwrap()["id"], 1);
    assert_eq!(aside.message().await.json()["method"], "notifications/progress", "it goes out where it can");
    let one = json!([{"respond": "sse"}, {"reply": {"text": "streamed"}}]);
    let server = Server::start(script(one), POLLING).await;
    assert_eq!(server.call(1, "other").send().await.unwrap().headers()["content-type"], "application/json");
    let events = Events::from_response(server.call(2, "echo").send().await.unwrap()).rest().await;
    assert_eq!((events.len(), events[1].json()["id"].as_u64()), (2, Some(2)));
}

#[tokio::test]
async fn a_stateless_server_serves_the_handshake_revisions_without_sessions() {
    let script = json!({"http": {"stateless": true}, "tools": [{"name": "echo"}], "revisions": ["2025-03-26", RESUMING, POLLING], "on": [
        {"when": {"tool": "echo"}, "do": [{"request": {"method": "elicitation/create", "anyway": true}}, {"reply": {"text": "{{response.action}}"}}]},
    ]});
    let server = Server::start(script, POLLING).await;
    assert_eq!(server.session, None);
    let mut events = Events::from_response(server.call(1, "echo").send().await.unwrap());
    let asked = events.message().await;
    assert_eq!(asked.id, None, "without a session there is nothing to resume");
    answer(&server, &asked.json()).await;
    assert_eq!(events.message().await.json()["result"]["content"][0]["text"], "decline");
    for request in [server.get(), server.client.delete(server.mock.url())] {
        assert_eq!(request.send().await.unwrap().status(), StatusCode::METHOD_NOT_ALLOWED);
    }
    let ping = json!({"jsonrpc": "2.0", "id": 1, "method": "ping"});
    assert_eq!(server.bare(&ping).send().await.unwrap().status(), StatusCode::OK, "as a client of 2025-03-26");
    let foreign = server.bare(&ping).header("mcp-protocol-version", "1999-01-01").send().await.unwrap();
    assert_eq!(foreign.status(), StatusCode::BAD_REQUEST);
}

#[tokio::test]
async fn the_end_of_a_session_ends_its_own_streams_and_answers_nothing() {
    let mut silent = asking();
    silent["on"].as_array_mut().unwrap().push(json!({"when": {"tool": "other"}, "do": {"fault": "silence"}}));
    let server = Server::start(silent, POLLING).await;
    let mut call = Events::from_response(server.call(1, "echo").send().await.unwrap());
    let begun = call.message().await;
    let unanswered = tokio::spawn(server.call(2, "other").send());
    server.seen(|frames| frames.iter().any(|frame| frame.from_client() && frame.id() == Some(&json!(2)))).await;
    let get = Events::from_response(server.get().send().await.unwrap());
    let ended = server.in_session(server.client.delete(server.mock.url())).send().await.unwrap();
    assert_eq!(ended.status(), StatusCode::NO_CONTENT);
    assert_eq!(get.rest().await.len(), 1);
    let resumed = server.get().header("last-event-id", begun.last_id()).send().await.unwrap();
    assert_eq!(resumed.status(), StatusCode::NOT_FOUND);
    // What was asked before looks neither answered nor lost because of it: it hangs until the client hangs up.
    let refused = |frame: &&Frame| frame.http.as_ref().is_some_and(|http| http.status == Some(404));
    server.seen(|frames| frames.iter().filter(refused).count() == 1).await;
    assert!(!unanswered.is_finished());
    unanswered.abort();
    drop(call);
}
