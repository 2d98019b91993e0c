//! Failures of HTTP+SSE: lost streams, expired sessions, rate limits.

use std::sync::atomic::{AtomicBool, AtomicUsize, Ordering};

use super::*;

/// A server with one stream at a time. Each stream has its own URL for messages. The tool `stuck` is never answered,
/// `hang-up` ends the stream, and `forget` expires the session.
#[derive(Clone, Default)]
struct Old {
    streams: Arc<AtomicUsize>,
    out: Arc<Mutex<Option<mpsc::UnboundedSender<String>>>>,
    forgotten: Arc<AtomicBool>,
}

impl Old {
    fn get(&self) -> Response {
        let number = self.streams.fetch_add(1, Ordering::SeqCst) + 1;
        let (out, lines) = mpsc::unbounded_channel();
        out.send(format!("event: endpoint\ndata: /post/{number}\n\n")).unwrap();
        *self.out.lock().unwrap() = Some(out);
        self.forgotten.store(false, Ordering::SeqCst);
        let lines = futures::stream::unfold(lines, |mut lines| async {
            Some((Ok::<_, Infallible>(lines.recv().await?), lines))
        });
        Response::builder().header("content-type", "text/event-stream").body(Body::from_stream(lines)).unwrap()
    }

    fn answer(&self, seen: &Seen) -> Response {
        if seen.method == "GET" {
            return self.get();
        }
        let current = format!("/post/{}", self.streams.load(Ordering::SeqCst));
        if seen.path != current || self.forgotten.load(Ordering::SeqCst) {
            return status(404);
        }
        let result = match (seen.body["method"].as_str(), seen.body["params"]["name"].as_str()) {
            (Some("initialize"), _) => hello(seen),
            (_, Some("hang-up")) => {
                *self.out.lock().unwrap() = None;
                return status(202);
            }
            (_, Some("forget")) => {
                self.forgotten.store(true, Ordering::SeqCst);
                return status(404);
            }
            (Some("tools/call"), name) if name != Some("stuck") => text("here"),
            _ => return status(202),
        };
        if let Some(out) = &*self.out.lock().unwrap() {
            out.send(format!("event: message\ndata: {}\n\n", answer(seen, result))).unwrap();
        }
        status(202)
    }
}

async fn old(server: Old) -> (Connection, EventSink, Log) {
    let (url, log) = start(move |seen: &Seen| server.answer(seen)).await;
    let (connection, events) = connect(Endpoint::Sse(at(&url)), RevisionChoice::Auto).await;
    (connection.unwrap(), events, log)
}

async fn call(connection: &Connection, tool: &str) -> Result<String, CallError> {
    connection.call(tool, json!({}), CallOptions::default()).await.map(|result| result.text())
}

#[tokio::test]
async fn a_lost_stream_fails_pending_calls_and_a_new_session_continues() {
    for how in ["hang-up", "forget"] {
        let (connection, events, log) = old(Old::default()).await;
        let mut heard = events.subscribe();
        assert_eq!(call(&connection, "any").await.unwrap(), "here");
        let ended = async {
            wait_until("the stuck call", || {
                log.lock().unwrap().iter().any(|seen| seen.body["params"]["name"] == "stuck")
            })
            .await;
            call(&connection, how).await
        };
        let (stuck, ended) = tokio::join!(call(&connection, "stuck"), ended);
        assert_eq!(stuck.unwrap_err().kind(), "session-lost", "{how}");
        let expected = if how == "forget" { "http-status" } else { "session-lost" };
        assert_eq!(ended.unwrap_err().kind(), expected, "{how}");
        // A call in between waits for the new session.
        assert_eq!(call(&connection, "any").await.unwrap(), "here", "{how}");
        let renewed =
            std::iter::from_fn(|| heard.try_recv().ok()).filter(|event| event.kind == ClientEventKind::SessionRenewed);
        assert_eq!(renewed.count(), 1, "{how}");
        assert!(connection.is_stale(), "the tools of the new session may be others");
        let log: Vec<_> = log.lock().unwrap().iter().filter(|seen| seen.path == "/post/2").cloned().collect();
        let methods: Vec<_> = log.iter().map(|seen| seen.body["method"].as_str().unwrap()).collect();
        assert_eq!(methods, ["initialize", "notifications/initialized", "tools/call"], "{how}");
        wait_until("no pending request", || connection.requests_under_way() == 0).await;
        connection.close().await;
    }
}

#[tokio::test]
async fn a_stream_that_is_lost_before_the_handshake_fails_the_connection() {
    let server = Old::default();
    let (url, log) = start(move |seen: &Seen| {
        if seen.body["method"] == "initialize" {
            *server.out.lock().unwrap() = None;
            return status(202);
        }
        server.answer(seen)
    })
    .await;
    let (connection, _) = connect(Endpoint::Sse(at(&url)), RevisionChoice::Auto).await;
    let error = connection.unwrap_err();
    assert_eq!((error.stage, error.kind()), (Stage::Initialize, "transport"), "{error:?}");
    assert_eq!(log.lock().unwrap().iter().filter(|seen| seen.method == "GET").count(), 1);
}

#[tokio::test]
async fn rate_limits_are_respected_over_http_sse() {
    let put_off = Arc::new(AtomicUsize::new(0));
    let (server, refusals) = (Old::default(), Arc::clone(&put_off));
    let (url, _) = start(move |seen: &Seen| {
        let patient = seen.method == "GET" || seen.body["method"] == "tools/call";
        // Each of them is rejected once.
        if patient && refusals.fetch_add(1, Ordering::SeqCst) % 2 == 0 {
            let mut response = status(429);
            response.headers_mut().insert("retry-after", "0".parse().unwrap());
            return response;
        }
        server.answer(seen)
    })
    .await;
    let (connection, events) = connect(Endpoint::Sse(at(&url)), RevisionChoice::Auto).await;
    let connection = connection.unwrap();
    let mut heard = events.subscribe();
    assert_eq!(call(&connection, "any").await.unwrap(), "here");
    assert_eq!(put_off.load(Ordering::SeqCst), 4);
    let told = std::iter::from_fn(|| heard.try_recv().ok()).map(|event| event.kind);
    assert!(told.into_iter().any(|what| what == ClientEventKind::Throttled { status: 429, wait_ms: 50 }));
}

#[tokio::test]
async fn a_helper_runs_again_over_http_sse_too() {
    let directory = tempfile::tempdir().unwrap();
    let count = directory.path().join("count");
    // It prints a different token each time.
    let script = format!("echo x >> {0}; printf '{{\"x-token\": \"%s\"}}' $(wc -l < {0})", count.display());
    let server = Old::default();
    let (url, log) = start(move |seen: &Seen| {
        let token = seen.headers.get("x-token").map(String::as_str);
        if seen.body["method"] == "tools/call" && token == Some("1") { status(401) } else { server.answer(seen) }
    })
    .await;
    let mut helper = mcp_workbench_client::HeadersHelper::new("sh");
    helper.args = vec!["-c".into(), script];
    let endpoint = HttpEndpoint { headers_helper: Some(helper), ..at(&url) };
    let (connection, _) = connect(Endpoint::Sse(endpoint), RevisionChoice::Auto).await;
    assert_eq!(call(&connection.unwrap(), "any").await.unwrap(), "here");
    let log = log.lock().unwrap();
    let calls = log.iter().filter(|seen| seen.body["method"] == "tools/call");
    assert_eq!(calls.map(|seen| seen.headers["x-token"].as_str()).collect::<Vec<_>>(), ["1", "2"]);
}

/// A legacy Streamable HTTP server that opens the session's stream after `opens`, and the order in which it handled
/// that request and the call.
async fn first_call(opens: Option<Duration>) -> (Duration, Vec<&'static str>) {
    let order = Arc::new(Mutex::new(Vec::new()));
    let seen_order = Arc::clone(&order);
    let app = Router::new().fallback(move |request: Request| {
        let order = Arc::clone(&seen_order);
        async move {
            let (parts, body) = request.into_parts();
            if parts.method == "GET" {
                match opens {
                    Some(opens) => tokio::time::sleep(opens).await,
                    None => std::future::pending().await,
                }
                order.lock().unwrap().push("stream");
                let body = Body::from_stream(futures::stream::pending::<Result<Bytes, Infallible>>());
                return Response::builder().header("content-type", "text/event-stream").body(body).unwrap();
            }
            let body = axum::body::to_bytes(body, 1_000_000).await.unwrap();
            let body: Value = serde_json::from_slice(&body).unwrap_or_default();
            let seen = Seen { method: "POST".into(), path: "/".into(), headers: BTreeMap::new(), body };
            match seen.body["method"].as_str().unwrap_or_default() {
                "initialize" => {
                    let mut response = json_body(200, &answer(&seen, hello(&seen)));
                    response.headers_mut().insert("mcp-session-id", "s".parse().unwrap());
                    response
                }
                "tools/call" => {
                    order.lock().unwrap().push("call");
                    json_body(200, &answer(&seen, text("done")))
                }
                _ => status(202),
            }
        }
    });
    let url = serve(app).await;
    let protocol = RevisionChoice::Pinned(Revision::V2025_11_25);
    let (connection, _) = connect(Endpoint::StreamableHttp(at(&url)), protocol).await;
    let connection = connection.unwrap();
    let begun = std::time::Instant::now();
    assert_eq!(call(&connection, "any").await.unwrap(), "done");
    let took = begun.elapsed();
    // The client waits for it once.
    let begun = std::time::Instant::now();
    assert_eq!(call(&connection, "any").await.unwrap(), "done");
    assert!(begun.elapsed() < Duration::from_millis(400), "{:?}", begun.elapsed());
    let order = order.lock().unwrap().clone();
    (took, order)
}

#[tokio::test]
async fn the_first_call_of_a_session_waits_briefly_for_its_stream() {
    let (_, order) = first_call(Some(Duration::from_millis(150))).await;
    assert_eq!(order, ["stream", "call", "call"]);
    let (took, order) = first_call(None).await;
    assert_eq!(order, ["call", "call"]);
    assert!(took >= Duration::from_millis(400), "it did not wait: {took:?}");
}
