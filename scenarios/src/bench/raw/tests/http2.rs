//! The raw driver over HTTP/2, against mock servers and against servers that are built for one test.

use std::{
    pin::Pin,
    sync::{
        Mutex,
        atomic::{AtomicUsize, Ordering::Relaxed},
    },
};

use ::http::{Request, Response};
use bytes::Bytes;
use h2::{Reason, server};
use rustls::{ClientConfig, ServerConfig as TlsConfig, pki_types::ServerName};
use tokio::io::{AsyncRead, AsyncWrite};
use tokio_rustls::TlsAcceptor;

use super::*;
use crate::bench::raw::{http2, request::http2_head};

/// How a server of a test responds to a request.
enum Reply {
    /// This status, type and body. `ID` is replaced by the id of the request.
    Body(u16, &'static str, String),
    /// Events, one DATA frame each. With `true` the stream stays open.
    Events(Vec<&'static str>, bool),
    Reset(Reason),
    Silence,
    /// GOAWAY at once, without a response.
    GoAway,
    /// A result, and GOAWAY.
    Last,
    /// The connection is closed.
    Close,
}

/// A result.
const RESULT: &str = r#"{"jsonrpc":"2.0","id":ID,"result":{"content":[{"type":"text","text":"hello"}]}}"#;

fn result() -> Reply {
    Reply::Body(200, "application/json", RESULT.to_owned())
}

/// What a server has seen.
#[derive(Default)]
struct Seen {
    connections: AtomicUsize,
    requests: AtomicUsize,
    /// The number of requests of each connection.
    by_connection: Mutex<Vec<usize>>,
}

/// A server in a thread of its own.
struct Server {
    address: Address,
    seen: Arc<Seen>,
}

type Decide = Arc<dyn Fn(usize) -> Reply + Send + Sync>;

/// Starts a server. `decide` has the reply to each request, by its number.
fn server(settings: server::Builder, decide: impl Fn(usize) -> Reply + Send + Sync + 'static) -> Server {
    start_server(settings, Arc::new(decide), None)
}

fn start_server(settings: server::Builder, decide: Decide, tls: Option<TlsAcceptor>) -> Server {
    let listener = TcpListener::bind("127.0.0.1:0").unwrap();
    listener.set_nonblocking(true).unwrap();
    let address = Address::Tcp(listener.local_addr().unwrap());
    let seen = Arc::new(Seen::default());
    let server = Server { address, seen: Arc::clone(&seen) };
    thread::spawn(move || {
        let runtime = tokio::runtime::Builder::new_current_thread().enable_all().build().unwrap();
        runtime.block_on(async {
            let listener = tokio::net::TcpListener::from_std(listener).unwrap();
            while let Ok((stream, _)) = listener.accept().await {
                let number = seen.connections.fetch_add(1, Relaxed);
                seen.by_connection.lock().unwrap().push(0);
                stream.set_nodelay(true).unwrap();
                let (settings, decide, seen, tls) =
                    (settings.clone(), Arc::clone(&decide), Arc::clone(&seen), tls.clone());
                tokio::spawn(async move {
                    let stream: Pin<Box<dyn Both>> = match tls {
                        Some(tls) => {
                            let Ok(stream) = tls.accept(stream).await else { return };
                            Box::pin(stream)
                        }
                        None => Box::pin(stream),
                    };
                    serve(settings, stream, &decide, (&seen, number)).await;
                });
            }
        });
    });
    server
}

trait Both: AsyncRead + AsyncWrite + Send {}

impl<T: AsyncRead + AsyncWrite + Send> Both for T {}

/// Serves one connection.
async fn serve(settings: server::Builder, stream: Pin<Box<dyn Both>>, decide: &Decide, (seen, number): (&Seen, usize)) {
    let Ok(mut connection) = settings.handshake::<_, Bytes>(stream).await else { return };
    while let Some(Ok((request, mut respond))) = connection.accept().await {
        seen.by_connection.lock().unwrap()[number] += 1;
        let reply = decide(seen.requests.fetch_add(1, Relaxed));
        match reply {
            Reply::GoAway => connection.abrupt_shutdown(Reason::NO_ERROR),
            Reply::Close => return,
            Reply::Reset(reason) => respond.send_reset(reason),
            Reply::Last => {
                connection.graceful_shutdown();
                tokio::spawn(respond_to(request, respond, result()));
            }
            other => drop(tokio::spawn(respond_to(request, respond, other))),
        }
    }
}

async fn respond_to(request: Request<h2::RecvStream>, mut respond: server::SendResponse<Bytes>, reply: Reply) {
    let (head, mut body) = request.into_parts();
    assert_eq!((head.method.as_str(), head.uri.path()), ("POST", "/mcp"));
    let mut text = Vec::new();
    while let Some(part) = body.data().await {
        // A call that timed out while it waited is sent and reset at once.
        let Ok(part) = part else { return };
        text.extend_from_slice(&part);
    }
    assert_eq!(head.headers["content-length"], text.len().to_string());
    let id = serde_json::from_slice::<Value>(&text).unwrap()["id"].to_string();
    let (status, content_type, parts, stays_open) = match reply {
        Reply::Body(status, content_type, body) => (status, content_type, vec![body], false),
        Reply::Events(events, stays_open) => {
            (200, "text/event-stream", events.into_iter().map(str::to_owned).collect(), stays_open)
        }
        _ => return std::future::pending().await,
    };
    let head = Response::builder().status(status).header("content-type", content_type).body(()).unwrap();
    // From here on the client may reset the stream.
    let Ok(mut stream) = respond.send_response(head, false) else { return };
    for part in parts {
        let _ = stream.send_data(part.replace("ID", &id).into(), false);
    }
    if stays_open {
        return std::future::pending().await;
    }
    let _ = stream.send_data(Bytes::new(), true);
}

/// A load on a server, with one thread and this number of connections.
fn run_on(address: &Address, users: usize, connections: usize, more: &Value) -> LoadResult {
    let mut all = json!({ "shape": { "closed": { "users": users } }, "duration": "50ms", "http2": true });
    all.as_object_mut().unwrap().extend(more.as_object().unwrap().clone());
    let plan = LoadPlan::new(&load("echo", "hello", &all)).unwrap();
    let url = "http://127.0.0.1/mcp".parse().unwrap();
    let head = client::RequestHead { url, socket: None, headers: reqwest::header::HeaderMap::new() };
    let params = Template::new(&json!({ "name": "echo" }), &|_| None).unwrap();
    let requests = OperationRequests { first: EncodedRequest::body("tools/call", params), page: None };
    let route = http2::Route {
        address: Arc::new(address.clone()),
        requests: Requests::new(vec![requests], Arc::default()),
        heads: [http2_head(&head).unwrap()].into(),
    };
    let verifier = Verifier::new(plan.iterations());
    let deadline = Instant::now() + plan.timeout();
    let worker = Http2Worker::connect(vec![route; connections], verifier, (0, 1), deadline).unwrap();
    let timing = Arc::new(Timing::new(&plan));
    let pacer = Pacer::new(&plan, Share { worker: 0, workers: 1 }, users, Arc::clone(&timing), Arc::default());
    let (generated, recorder) = worker.run(pacer).unwrap();
    crate::bench::finish(&plan, &timing, &generated, recorder)
}

fn requests(server: &Server) -> u64 {
    server.seen.requests.load(Relaxed) as u64
}

fn connections(server: &Server) -> usize {
    server.seen.connections.load(Relaxed)
}

#[test]
fn the_server_counts_as_many_calls_on_as_many_connections() {
    for (users, wanted) in [(1, 1), (5, 1), (6, 3), (4, 4)] {
        let server = server(server::Builder::new(), |_| result());
        let result = run_on(&server.address, users, wanted, &json!({}));
        assert!(result.succeeded > 10 && result.errors.is_empty() && result.unfinished == 0, "{result:?}");
        assert_eq!((requests(&server), connections(&server)), (result.sent, wanted));
        // A frame has a head of 9 bytes.
        assert!(result.bytes_sent > 40 * result.sent && result.bytes_received > 90 * result.sent, "{result:?}");
    }
}

#[test]
fn users_share_connections_evenly() {
    for (users, each) in [(4, 2), (2, 1)] {
        let server = server(server::Builder::new(), |_| Reply::Silence);
        // Long enough for a first call on a busy machine, and too short for a second one.
        let result = run_on(&server.address, users, 2, &json!({ "timeout": "400ms", "duration": "300ms" }));
        assert_eq!((kinds(&result), result.sent), (vec![TIMED_OUT], users as u64), "{result:?}");
        assert_eq!(*server.seen.by_connection.lock().unwrap(), [each, each]);
    }
}

#[test]
fn wrong_results_and_statuses_fail() {
    let json = |text: &str| Reply::Body(200, "application/json", text.to_owned());
    let expected = json!({ "expect": { "text": "goodbye" } });
    for (reply, more, kind, text) in [
        (result(), expected, UNEXPECTED_RESULT, "goodbye"),
        (json(r#"{"jsonrpc":"2.0","id":9999999999,"result":{}}"#), json!({}), "protocol-violation", "9999999999"),
        (json(r#"{"jsonrpc":"2.0","id":ID,"error":{"code":1,"message":"no"}}"#), json!({}), "rpc-error", "no"),
        (json("{"), json!({}), "protocol-violation", "JSON-RPC"),
        (json(r#"{"jsonrpc":"2.0","id":"a","method":"roots/list"}"#), json!({}), "server-request", "roots/list"),
        (Reply::Body(503, "text/plain", "busy".to_owned()), json!({}), "http-status", "HTTP 503"),
        (Reply::Body(200, "text/plain", RESULT.to_owned()), json!({}), "http-status", "without a JSON body"),
    ] {
        let reply = Mutex::new(reply);
        let server = server(server::Builder::new(), move |_| match &*reply.lock().unwrap() {
            Reply::Body(status, content_type, text) => Reply::Body(*status, content_type, text.clone()),
            _ => unreachable!(),
        });
        let result = run_on(&server.address, 2, 1, &more);
        assert_eq!((kinds(&result), result.succeeded, connections(&server)), (vec![kind], 0, 1), "{result:?}");
        assert!(result.error_samples[kind].text.contains(text), "{result:?}");
    }
}

#[test]
fn a_stream_that_is_reset_fails_its_call_only() {
    let server = server(server::Builder::new(), |number| match number % 3 {
        0 => Reply::Reset(Reason::REFUSED_STREAM),
        _ => result(),
    });
    let result = run_on(&server.address, 3, 1, &json!({}));
    assert_eq!((kinds(&result), connections(&server)), (vec!["connection-lost"], 1), "{result:?}");
    assert_eq!(result.errors["connection-lost"], requests(&server).div_ceil(3));
    assert_eq!(result.error_samples["connection-lost"].text, "the server reset the stream (REFUSED_STREAM)");
    assert!(result.succeeded > 0);
}

#[test]
fn a_connection_that_ends_is_opened_again() {
    for reply in [|| Reply::GoAway, || Reply::Close] as [fn() -> Reply; 2] {
        let server = server(server::Builder::new(), move |number| if number % 5 == 4 { reply() } else { result() });
        // Time for ten calls, also on a busy machine.
        let result = run_on(&server.address, 1, 1, &json!({ "duration": "500ms" }));
        assert_eq!(kinds(&result), ["connection-lost"], "{result:?}");
        let text = "the connection was closed without a response";
        assert!(result.error_samples["connection-lost"].text.starts_with(text), "{result:?}");
        let lost = result.errors["connection-lost"];
        // The last call may be the one that closes its connection.
        assert!(lost > 1 && (lost..=lost + 1).contains(&(connections(&server) as u64)), "{result:?}");
        assert_eq!((requests(&server), result.succeeded + lost), (result.sent, result.sent));
    }
}

#[test]
fn a_call_that_the_server_does_not_process_fails() {
    const SETTINGS: &str = "\0\0\0\x04\0\0\0\0\0";
    // The last stream that was processed is 0 (RFC 9113, 6.8).
    const GOAWAY: &str = "\0\0\x08\x07\0\0\0\0\0\0\0\0\0\0\0\0\x0b";
    let (address, connections) = broken_server(&[SETTINGS, GOAWAY]);
    let result = run_on(&Address::Tcp(address), 1, 1, &json!({}));
    assert_eq!((kinds(&result), result.succeeded), (vec!["connection-lost"], 0), "{result:?}");
    let text = "the server closes the connection (GOAWAY, ENHANCE_YOUR_CALM)";
    assert_eq!(result.error_samples["connection-lost"].text, text);
    assert!(connections.load(Relaxed) > 1);
}

#[test]
fn a_graceful_end_of_a_connection_fails_no_call() {
    let server = server(server::Builder::new(), |number| if number % 5 == 4 { Reply::Last } else { result() });
    let result = run_on(&server.address, 3, 1, &json!({}));
    assert!(result.errors.is_empty() && result.succeeded > 5, "{result:?}");
    assert!(connections(&server) > 1, "{result:?}");
    assert_eq!(requests(&server), result.sent);
}

#[test]
fn calls_wait_for_the_limit_of_streams() {
    let limited = || server::Builder::new().max_concurrent_streams(2).clone();
    let quick = server(limited(), |_| result());
    let result = run_on(&quick.address, 6, 1, &json!({}));
    assert!(result.errors.is_empty() && result.succeeded > 6, "{result:?}");
    // Two calls without a response let four others wait. All six time out, and make room for the next ones.
    let slow = server(limited(), |number| if number < 2 { Reply::Silence } else { self::result() });
    let result = run_on(&slow.address, 6, 1, &json!({ "timeout": "20ms", "duration": "100ms" }));
    assert_eq!((result.errors.get(TIMED_OUT), result.errors.len()), (Some(&6), 1), "{result:?}");
    assert!(result.succeeded > 0 && connections(&slow) == 1, "{result:?}");
    let longest = result.latency.unwrap().max_us;
    assert!(longest >= 20_000, "the wait is a part of the latency: {longest}");
}

#[test]
fn the_result_in_an_event_stream_is_found_and_the_rest_is_read() {
    const NOTIFICATION: &str = ": a comment\n\ndata: {\"jsonrpc\":\"2.0\",\"method\":\"notifications/message\"}\n\n";
    const START: &str = "event: message\r\ndata: {\"jsonrpc\":\"2.0\",\r\n";
    const END: &str = "data: \"id\":ID,\"result\":{\"content\":[]}}\r\n\r\n";
    let ended = server(server::Builder::new(), |_| Reply::Events(vec![NOTIFICATION, START, END, NOTIFICATION], false));
    let result = run_on(&ended.address, 2, 1, &json!({}));
    assert!(result.errors.is_empty() && result.succeeded > 2, "{result:?}");
    // A stream that stays open delays no other call.
    let open = server(server::Builder::new(), |_| Reply::Events(vec![NOTIFICATION, START, END], true));
    let result = run_on(&open.address, 2, 1, &json!({}));
    assert!(result.errors.is_empty() && result.succeeded > 2, "{result:?}");
    let cut = server(server::Builder::new(), |_| Reply::Events(vec![NOTIFICATION, START], false));
    let result = run_on(&cut.address, 2, 1, &json!({}));
    assert_eq!((kinds(&result), result.succeeded), (vec!["connection-lost"], 0), "{result:?}");
    assert_eq!(result.error_samples["connection-lost"].text, "the stream ended without the response");
}

#[test]
fn streams_that_stay_open_after_the_result_are_reset_at_the_deadline() {
    const EVENT: &str = "data: {\"jsonrpc\":\"2.0\",\"id\":ID,\"result\":{\"content\":[]}}\n\n";
    let limited = server::Builder::new().max_concurrent_streams(2).clone();
    let server = server(limited, |_| Reply::Events(vec![EVENT], true));
    let result = run_on(
        &server.address,
        1,
        1,
        &json!({
            "shape": { "closed": { "users": 1, "think_time": "20ms" } }, "timeout": "60ms", "duration": "200ms",
        }),
    );
    // The third call waits until the first stream is reset, 40 ms before its own deadline.
    assert!(result.errors.is_empty() && result.succeeded > 3, "{result:?}");
}

#[test]
fn a_response_may_be_larger_than_the_windows() {
    let text = "x".repeat(3 * 1024 * 1024);
    let server = server(server::Builder::new(), move |_| {
        let body = RESULT.replace("hello", &text);
        Reply::Body(200, "application/json", body)
    });
    let result = run_on(&server.address, 8, 1, &json!({ "duration": "100ms" }));
    assert!(result.succeeded >= 8 && result.errors.is_empty(), "{result:?}");
    assert!(result.bytes_received <= result.succeeded * (3 * 1024 * 1024 + 10_000));
}

#[test]
fn servers_without_http2_or_without_a_listener_fail_calls() {
    let (address, _) = broken_server(&["HTTP/1.1 400 Bad Request\r\ncontent-length: 0\r\n\r\n"]);
    let result = run_on(&Address::Tcp(address), 1, 1, &json!({}));
    assert_eq!((kinds(&result), result.succeeded), (vec!["transport"], 0), "{result:?}");
    let unused = TcpListener::bind("127.0.0.1:0").unwrap().local_addr().unwrap();
    let refused = run_on(&Address::Tcp(unused), 3, 1, &json!({}));
    assert_eq!((kinds(&refused), refused.succeeded), (vec!["connect-failed"], 0), "{refused:?}");
    // The attempts are a millisecond apart.
    assert!(refused.errors["connect-failed"] <= 3 * 60, "{refused:?}");
}

/// The configurations of a client, and of a server with these protocols.
fn tls(protocols: &[&str]) -> (ClientConfig, TlsAcceptor) {
    let _ = rustls::crypto::ring::default_provider().install_default();
    let identity = rcgen::generate_simple_self_signed(["localhost".to_owned()]).unwrap();
    let mut roots = rustls::RootCertStore::empty();
    roots.add(identity.cert.der().clone()).unwrap();
    let client = ClientConfig::builder().with_root_certificates(roots).with_no_client_auth();
    let key = rustls::pki_types::PrivateKeyDer::try_from(identity.signing_key.serialize_der()).unwrap();
    let mut server =
        TlsConfig::builder().with_no_client_auth().with_single_cert(vec![identity.cert.der().clone()], key).unwrap();
    server.alpn_protocols = protocols.iter().map(|protocol| protocol.as_bytes().to_vec()).collect();
    (client, TlsAcceptor::from(Arc::new(server)))
}

#[test]
fn tls_negotiates_http2() {
    let address = |server: &Server, config: ClientConfig| {
        let Address::Tcp(address) = server.address else { unreachable!() };
        Address::Tls(address, Arc::new(config), ServerName::try_from("localhost").unwrap())
    };
    let (config, acceptor) = tls(&["http/1.1", "h2"]);
    let server = start_server(server::Builder::new(), Arc::new(|_| result()), Some(acceptor));
    let result = run_on(&address(&server, config), 2, 1, &json!({}));
    assert!(result.errors.is_empty() && result.succeeded == requests(&server), "{result:?}");
    for (protocols, text) in [(&["http/1.1"][..], "NoApplicationProtocol"), (&[], "did not choose HTTP/2")] {
        let (config, acceptor) = tls(protocols);
        let server = start_server(server::Builder::new(), Arc::new(|_| self::result()), Some(acceptor));
        let result = run_on(&address(&server, config), 1, 1, &json!({}));
        assert_eq!((kinds(&result), requests(&server)), (vec!["connect-failed"], 0), "{result:?}");
        assert!(result.error_samples["connect-failed"].text.contains(text), "{result:?}");
    }
}

#[tokio::test(flavor = "multi_thread")]
async fn a_mock_server_counts_the_same_calls_in_both_eras() {
    for revision in ["2025-11-25", "2026-07-28"] {
        let script = json!({ "tools": [
            { "name": "echo", "reply": { "text": "{{arguments.text}}" } },
            { "name": "broken", "reply": { "text": "no", "is_error": true } },
        ], "page_size": 1 });
        let recorder = FrameRecorder::in_memory("mock");
        let (mock, config) = start(serde_json::from_value(script).unwrap(), revision, recorder.clone()).await;
        let steps = json!({
            "http2": true,
            "steps": [{ "list": "tools" }, { "call": { "tool": "echo", "arguments": { "text": "{{user}} of {{iteration}}" },
                "expect": { "values": [{ "path": "$.content[0].text", "matches": "^[1-3] of [0-9]+$" }] } } }],
            "shape": { "closed": { "users": 3 } },
            "duration": "100ms",
        });
        let result = run_load(&config, &serde_json::from_value(steps).unwrap()).await;
        assert!(result.succeeded > 0 && result.errors.is_empty(), "{result:?}");
        assert_eq!(params(&recorder, "tools/call").len() as u64, result.succeeded);
        let broken = load("broken", "", &json!({ "http2": true }));
        assert_eq!(kinds(&run_load(&config, &broken).await), [TOOL_ERROR]);
        let open = json!({ "http2": true, "shape": { "open": { "rate": 400 } }, "duration": "200ms" });
        let result = run_load(&config, &load("echo", "hello", &open)).await;
        assert_eq!((result.offered, result.succeeded + result.unfinished), (80, 80), "{result:?}");
        mock.stop().await;
    }
}
