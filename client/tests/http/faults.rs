//! HTTP failures: oversized responses, expired sessions, rate limits, interrupted streams, redirects.

use std::sync::atomic::{AtomicUsize, Ordering};

use super::*;

/// A response with a text of this length, with members in the order of the TypeScript SDK.
fn padded(seen: &Seen, bytes: usize) -> String {
    let result = text(&"x".repeat(bytes));
    format!(r#"{{"result":{result},"jsonrpc":"2.0","id":{}}}"#, seen.body["id"])
}

async fn connect_bounded(url: &str, bytes: usize) -> Connection {
    let mut config = ServerConfig::new("stub", Endpoint::StreamableHttp(at(url)));
    config.limits.message_bytes = bytes;
    config.timeouts.call = Duration::from_secs(10);
    connect_with(config, EventSink::default().into()).await.unwrap()
}

#[tokio::test]
async fn an_oversized_response_fails_only_its_own_call() {
    for legacy in [false, true] {
        let (url, log) = start(move |seen: &Seen| match seen.body["params"]["name"].as_str() {
            Some("body") => json_body(200, &serde_json::from_str(&padded(seen, 20_000)).unwrap()),
            Some("event") => event_stream(format!("id: 1\ndata: {}\n\n", padded(seen, 20_000))),
            // Another long message first, then the response.
            Some("told") => {
                let long = json!({"jsonrpc": "2.0", "method": "notifications/message", "params": {"data": "x".repeat(20_000)}});
                event_stream(format!("data: {long}\n\ndata: {}\n\n", padded(seen, 10)))
            }
            _ if legacy => legacy_streamable(seen),
            _ => streamable(seen),
        })
        .await;
        let connection = connect_bounded(&url, 10_000).await;
        let call = async |tool| connection.call(tool, json!({}), CallOptions::default()).await;
        for tool in ["body", "event"] {
            let outcome = call(tool).await;
            assert!(matches!(outcome, Err(CallError::OversizeReply { limit: 10_000 })), "{tool}: {outcome:?}");
        }
        assert_eq!(call("told").await.unwrap().text(), "x".repeat(10));
        assert_eq!(call("good").await.unwrap().text(), "streamed");
        // It was not requested again, for example by resuming.
        let resumed = log.lock().unwrap().iter().filter(|seen| seen.headers.contains_key("last-event-id")).count();
        assert_eq!(resumed, 0);
        connection.close().await;
    }
}

#[tokio::test]
async fn an_expired_session_is_renewed_once_for_all_its_calls() {
    let sessions = Arc::new(AtomicUsize::new(0));
    let opened = Arc::clone(&sessions);
    let (url, log) = start(move |seen: &Seen| {
        let current = format!("s{}", opened.load(Ordering::SeqCst));
        match seen.body["method"].as_str().unwrap_or_default() {
            "server/discover" => status(400),
            "initialize" => {
                let session = format!("s{}", opened.fetch_add(1, Ordering::SeqCst) + 1);
                let mut response = json_body(200, &answer(seen, hello(seen)));
                response.headers_mut().insert("mcp-session-id", session.parse().unwrap());
                response
            }
            // The first session expires immediately.
            "tools/call" if current == "s1" || seen.headers["mcp-session-id"] != current => status(404),
            "tools/call" => json_body(200, &answer(seen, text("done"))),
            "notifications/initialized" => status(202),
            _ => status(405),
        }
    })
    .await;
    let (connection, events) = connect(Endpoint::StreamableHttp(at(&url)), RevisionChoice::Auto).await;
    let connection = connection.unwrap();
    let mut heard = events.subscribe();
    let calls = (0..32).map(|_| connection.call("any", json!({}), CallOptions::default()));
    for outcome in futures::future::join_all(calls).await {
        assert_eq!(outcome.unwrap().text(), "done");
    }
    assert_eq!(sessions.load(Ordering::SeqCst), 2, "one handshake, and one more");
    let told =
        std::iter::from_fn(|| heard.try_recv().ok()).filter(|event| event.kind == ClientEventKind::SessionRenewed);
    assert_eq!(told.count(), 1);
    assert!(connection.is_stale(), "the tools of the new session may be others");
    connection.close().await;
    let log = log.lock().unwrap();
    assert!(log.iter().any(|seen| seen.method == "DELETE" && seen.headers["mcp-session-id"] == "s2"));
}

#[tokio::test]
async fn the_stream_of_a_lost_session_is_not_reopened() {
    let sessions = Arc::new(AtomicUsize::new(0));
    let (lost, _) = tokio::sync::watch::channel(false);
    let (opened, losing) = (Arc::clone(&sessions), lost.clone());
    let (url, log) = start(move |seen: &Seen| {
        let stream = |parts| Response::builder().header("content-type", "text/event-stream").body(parts).unwrap();
        match (seen.method.as_str(), seen.body["method"].as_str().unwrap_or_default()) {
            (_, "server/discover") => status(400),
            (_, "initialize") => {
                let number = opened.fetch_add(1, Ordering::SeqCst) + 1;
                let reply = answer(seen, hello(seen)).to_string();
                // The client has time to reopen the stream of the first session before it knows the second one.
                let wait = Duration::from_millis(if number == 1 { 0 } else { 500 });
                let body = futures::stream::once(async move {
                    tokio::time::sleep(wait).await;
                    Ok::<_, Infallible>(format!("data: {reply}\n\n"))
                });
                let mut response = stream(Body::from_stream(body));
                response.headers_mut().insert("mcp-session-id", format!("s{number}").parse().unwrap());
                response
            }
            ("GET", _) => {
                // It ends when the session is lost.
                let mut lost = losing.subscribe();
                let first = futures::stream::once(async { Ok::<_, Infallible>("retry: 20\n\n") });
                let rest = futures::stream::once(async move {
                    let _ = lost.wait_for(|lost| *lost).await;
                    Ok("\n")
                });
                stream(Body::from_stream(first.chain(rest)))
            }
            (_, "tools/call") if seen.headers["mcp-session-id"] == "s1" => {
                losing.send_replace(true);
                status(404)
            }
            (_, "tools/call") => json_body(200, &answer(seen, text("done"))),
            _ => status(202),
        }
    })
    .await;
    let (connection, _) = connect(Endpoint::StreamableHttp(at(&url)), RevisionChoice::Auto).await;
    let connection = connection.unwrap();
    wait_until("the stream", || log.lock().unwrap().iter().any(|seen| seen.method == "GET")).await;
    assert_eq!(connection.call("any", json!({}), CallOptions::default()).await.unwrap().text(), "done");
    connection.close().await;
    let log = log.lock().unwrap();
    let lost = log.iter().position(|seen| seen.body["method"] == "tools/call").unwrap();
    let reopened: Vec<_> = log[lost..].iter().filter(|seen| seen.method == "GET").collect();
    assert!(reopened.iter().all(|seen| seen.headers["mcp-session-id"] == "s2"), "{reopened:?}");
}

#[tokio::test]
async fn failed_calls_leave_no_entries_and_each_is_cancelled_independently() {
    for protocol in [RevisionChoice::Pinned(Revision::V2026_07_28), RevisionChoice::Pinned(Revision::V2025_11_25)] {
        let (url, log) = start(|seen: &Seen| match seen.body["method"].as_str().unwrap_or_default() {
            "tools/call" if seen.body["params"]["name"] == "refused" => status(500),
            // This response never arrives.
            "tools/call" => {
                let body = Body::from_stream(futures::stream::pending::<Result<Bytes, Infallible>>());
                Response::builder().header("content-type", "text/event-stream").body(body).unwrap()
            }
            "server/discover" => json_body(200, &answer(seen, json_rpc::discover_result(&["2026-07-28"]))),
            "notifications/cancelled" => status(500),
            _ => legacy_streamable(seen),
        })
        .await;
        let (connection, _) = connect(Endpoint::StreamableHttp(at(&url)), protocol).await;
        let connection = connection.unwrap();
        let options = || CallOptions { timeout: Some(Duration::from_millis(50)), ..CallOptions::default() };
        for (tool, kind) in [("refused", "http-status"), ("stuck", "timed-out"), ("stuck", "timed-out")] {
            assert_eq!(connection.call(tool, json!({}), options()).await.unwrap_err().kind(), kind);
        }
        wait_until("no pending request", || connection.requests_under_way() == 0).await;
        if connection.era() == Era::Legacy {
            let told = || {
                let log = log.lock().unwrap();
                log.iter().filter(|seen| seen.body["method"] == "notifications/cancelled").count()
            };
            wait_until("two cancellations", || told() == 2).await;
        }
        connection.close().await;
    }
}

#[tokio::test]
async fn a_session_that_cannot_be_renewed_fails_its_calls_as_lost() {
    let handshakes = Arc::new(AtomicUsize::new(0));
    let (url, _) = start(move |seen: &Seen| match seen.body["method"].as_str().unwrap_or_default() {
        "initialize" if handshakes.fetch_add(1, Ordering::SeqCst) > 0 => json_body(200, &refusal(seen, -32000)),
        "tools/call" => status(404),
        _ => legacy_streamable(seen),
    })
    .await;
    let (connection, _) = connect(Endpoint::StreamableHttp(at(&url)), RevisionChoice::Auto).await;
    let connection = connection.unwrap();
    let calls = (0..4).map(|_| connection.call("any", json!({}), CallOptions::default()));
    for outcome in futures::future::join_all(calls).await {
        assert_eq!(outcome.unwrap_err().kind(), "session-lost");
    }
}

#[tokio::test]
async fn without_a_session_404_is_an_error_status() {
    let (url, log) = start(|seen: &Seen| match seen.body["method"].as_str() {
        Some("tools/call") => status(404),
        _ => streamable(seen),
    })
    .await;
    let (connection, _) = connect(Endpoint::StreamableHttp(at(&url)), RevisionChoice::Auto).await;
    let outcome = connection.unwrap().call("any", json!({}), CallOptions::default()).await;
    assert!(matches!(outcome, Err(CallError::HttpStatus { status: 404, .. })), "{outcome:?}");
    assert_eq!(log.lock().unwrap().iter().filter(|seen| seen.body["method"] == "tools/call").count(), 1);
}

fn retry_after(code: u16, value: &str) -> Response {
    let mut response = status(code);
    response.headers_mut().insert("retry-after", value.parse().unwrap());
    response
}

#[tokio::test]
async fn a_rate_limited_request_is_sent_again_after_the_delay() {
    for (code, value, refusals, expected, sent) in [
        (429, "0", 2, "ok", 3),
        (503, "Sun, 06 Nov 1994 08:49:37 GMT", 1, "ok", 2),
        (429, "0", 9, "http-status", 4),
        (429, "86400", 9, "http-status", 1),
        (500, "0", 9, "http-status", 1),
    ] {
        let count = Arc::new(AtomicUsize::new(0));
        let (url, log) = start(move |seen: &Seen| match seen.body["method"].as_str() {
            Some("tools/call") if count.fetch_add(1, Ordering::SeqCst) < refusals => retry_after(code, value),
            _ => streamable(seen),
        })
        .await;
        let (connection, _) = connect(Endpoint::StreamableHttp(at(&url)), RevisionChoice::Auto).await;
        let outcome = connection.unwrap().call("good", json!({}), CallOptions::default()).await;
        assert_eq!(outcome.map_or_else(|error| error.kind(), |_| "ok"), expected, "{code} {value}");
        let calls = log.lock().unwrap().iter().filter(|seen| seen.body["method"] == "tools/call").count();
        assert_eq!(calls, sent, "{code} {value}");
    }
}

#[tokio::test]
async fn a_rate_limited_probe_does_not_indicate_the_legacy_era() {
    let count = Arc::new(AtomicUsize::new(0));
    let (url, _) = start(move |seen: &Seen| match count.fetch_add(1, Ordering::SeqCst) {
        0 => retry_after(429, "0"),
        _ => streamable(seen),
    })
    .await;
    let (connection, _) = connect(Endpoint::StreamableHttp(at(&url)), RevisionChoice::Auto).await;
    assert_eq!(connection.unwrap().era(), Era::Modern);
    let (url, _) = start(|_: &Seen| status(429)).await;
    let (connection, _) = connect(Endpoint::StreamableHttp(at(&url)), RevisionChoice::Auto).await;
    let failure = connection.unwrap_err();
    assert!(matches!(&*failure.failure, ConnectFailure::HttpStatus { status: 429, .. }), "{failure}");
}

#[tokio::test]
async fn a_stream_that_ends_before_its_response_is_resumed() {
    let gets = Arc::new(AtomicUsize::new(0));
    let (url, log) = start(move |seen: &Seen| match (seen.method.as_str(), seen.headers.get("last-event-id")) {
        // The first attempt to resume fails temporarily.
        ("GET", Some(_)) if gets.fetch_add(1, Ordering::SeqCst) == 0 => status(502),
        ("GET", Some(_)) => {
            let reply = json!({"jsonrpc": "2.0", "id": 0, "result": text("resumed")});
            let id = REQUEST.lock().unwrap().clone();
            event_stream(format!(
                "id: e2\ndata: {}\n\n",
                reply.to_string().replace(r#""id":0"#, &format!(r#""id":{id}"#))
            ))
        }
        (_, _) if seen.body["method"] == "tools/call" => {
            *REQUEST.lock().unwrap() = seen.body["id"].clone();
            event_stream("id: e1\nretry: 30\ndata:\n\n".into())
        }
        _ => legacy_streamable(seen),
    })
    .await;
    static REQUEST: Mutex<Value> = Mutex::new(Value::Null);
    let (connection, _) = connect(Endpoint::StreamableHttp(at(&url)), RevisionChoice::Auto).await;
    let connection = connection.unwrap();
    let result = connection.call("any", json!({}), CallOptions::default()).await.unwrap();
    assert_eq!(result.text(), "resumed");
    let log = log.lock().unwrap();
    let resumed: Vec<_> = log.iter().filter(|seen| seen.headers.contains_key("last-event-id")).collect();
    assert!(resumed.len() >= 2 && resumed.iter().all(|seen| seen.headers["last-event-id"] == "e1"), "{resumed:?}");
    assert!(resumed.iter().all(|seen| seen.headers["mcp-session-id"] == "s1" && seen.headers["x-user"] == "me"));
}

/// Number of GETs that a server with these responses receives.
async fn gets(answer_get: impl Fn(usize) -> Response + Clone + Send + Sync + 'static, wanted: usize) -> usize {
    let count = Arc::new(AtomicUsize::new(0));
    let counted = Arc::clone(&count);
    let (url, _) = start(move |seen: &Seen| match seen.method.as_str() {
        "GET" => answer_get(counted.fetch_add(1, Ordering::SeqCst)),
        _ => legacy_streamable(seen),
    })
    .await;
    let (connection, _) = connect(Endpoint::StreamableHttp(at(&url)), RevisionChoice::Auto).await;
    let connection = connection.unwrap();
    wait_until("the GETs", || count.load(Ordering::SeqCst) >= wanted).await;
    assert!(connection.call("good", json!({}), CallOptions::default()).await.is_ok());
    // Another attempt would follow within 1.25 seconds.
    let _ = tokio::time::timeout(
        Duration::from_millis(1_500),
        wait_until("one GET more", || count.load(Ordering::SeqCst) > wanted),
    )
    .await;
    connection.close().await;
    count.load(Ordering::SeqCst)
}

#[tokio::test]
async fn the_session_stream_is_reopened_after_it_ends_or_fails() {
    let never = || futures::stream::pending::<Result<Bytes, Infallible>>();
    let open = move || {
        let body = Body::from_stream(never());
        Response::builder().header("content-type", "text/event-stream").body(body).unwrap()
    };
    let reopened = gets(move |count| if count == 0 { event_stream("retry: 20\n\n".into()) } else { open() }, 2);
    let tried_again = gets(move |count| if count == 0 { status(502) } else { open() }, 2);
    let (reopened, tried_again) = tokio::join!(reopened, tried_again);
    assert_eq!((reopened, tried_again), (2, 2));
}

#[tokio::test]
async fn an_unsupported_session_stream_is_not_requested_again() {
    let tries = [400, 401, 403, 404, 405].map(|code| gets(move |_| status(code), 1));
    assert_eq!(futures::future::join_all(tries).await, [1; 5]);
    // The same after it was open once.
    let ended = gets(|count| if count == 0 { event_stream("retry: 20\n\n".into()) } else { status(403) }, 2).await;
    assert_eq!(ended, 2);
}

fn redirect(code: u16, to: &str) -> Response {
    let mut response = status(code);
    response.headers_mut().insert("location", to.parse().unwrap());
    response
}

#[tokio::test]
async fn a_redirect_to_another_origin_receives_nothing() {
    let (stranger, stranger_log) = start(streamable).await;
    for legacy in [false, true] {
        let to = stranger.clone();
        let (url, _) = start(move |seen: &Seen| match seen.body["method"].as_str() {
            Some("tools/call") => redirect(307, &format!("{to}/mcp?token=secret")),
            _ if legacy => legacy_streamable(seen),
            _ => streamable(seen),
        })
        .await;
        let (connection, _) = connect(Endpoint::StreamableHttp(at(&url)), RevisionChoice::Auto).await;
        let connection = connection.unwrap();
        let outcome = connection.call("any", json!({}), CallOptions::default()).await;
        let Err(CallError::RedirectRefused { to, .. }) = outcome else { panic!("{outcome:?}") };
        assert_eq!(to, format!("{stranger}/mcp"));
    }
    let to = stranger.clone();
    let (url, _) = start(move |_: &Seen| redirect(308, &format!("{to}/mcp"))).await;
    for endpoint in [Endpoint::StreamableHttp(at(&url)), Endpoint::Auto(at(&url)), Endpoint::Sse(at(&url))] {
        let (connection, _) = connect(endpoint, RevisionChoice::Auto).await;
        assert_eq!(connection.unwrap_err().kind(), "redirect-refused");
    }
    assert_eq!(stranger_log.lock().unwrap().len(), 0, "the stranger was spoken to");
}

#[tokio::test]
async fn a_redirect_within_the_origin_keeps_the_message_or_is_rejected() {
    for (code, expected) in
        [(307, "ok"), (308, "ok"), (301, "redirect-refused"), (302, "redirect-refused"), (303, "redirect-refused")]
    {
        let (url, log) = start(move |seen: &Seen| match seen.body["method"].as_str() {
            Some("tools/call") if seen.path == "/mcp" => redirect(code, "/moved"),
            _ => streamable(seen),
        })
        .await;
        let (connection, _) = connect(Endpoint::StreamableHttp(at(&url)), RevisionChoice::Auto).await;
        let outcome = connection.unwrap().call("good", json!({}), CallOptions::default()).await;
        assert_eq!(outcome.map_or_else(|error| error.kind(), |_| "ok"), expected, "{code}");
        let log = log.lock().unwrap();
        let moved: Vec<_> = log.iter().filter(|seen| seen.path == "/moved").collect();
        assert_eq!(moved.len(), usize::from(expected == "ok"));
        assert!(moved.iter().all(|seen| seen.method == "POST" && seen.headers["x-user"] == "me"));
    }
}

#[tokio::test]
async fn a_helper_runs_again_when_its_headers_are_rejected() {
    let directory = tempfile::tempdir().unwrap();
    let count = directory.path().join("count");
    // Each token differs: the first one has expired by the second call.
    let script =
        format!("echo x >> {0}; echo \"{{\\\"x-key\\\": \\\"$(wc -l < {0} | tr -d ' ')\\\"}}\"", count.display());
    let (url, log) = start(|seen: &Seen| match (seen.body["method"].as_str(), seen.headers["x-key"].as_str()) {
        (Some("tools/call"), "1") => status(401),
        _ => streamable(seen),
    })
    .await;
    let mut endpoint = at(&url);
    let helper = mcp_workbench_client::HeadersHelper {
        args: vec!["-c".into(), script],
        ..mcp_workbench_client::HeadersHelper::new("sh")
    };
    endpoint.headers_helper = Some(helper);
    let (connection, _) = connect(Endpoint::StreamableHttp(endpoint), RevisionChoice::Auto).await;
    let connection = connection.unwrap();
    assert_eq!(connection.call("good", json!({}), CallOptions::default()).await.unwrap().text(), "streamed");
    assert_eq!(std::fs::read_to_string(&count).unwrap().lines().count(), 2);
    assert!(log.lock().unwrap().iter().all(|seen| seen.headers["x-user"] == "me"));
}

#[tokio::test]
async fn the_remembered_transport_is_tried_first_and_dropped_if_it_fails() {
    use mcp_workbench_client::{ConnectOptions, Remembered};
    let methods = |log: &Log| {
        let log = log.lock().unwrap();
        log.iter().filter_map(|seen| seen.body["method"].as_str().map(str::to_owned)).collect::<Vec<_>>()
    };
    let connect = async |url: &str, remembered: Remembered| {
        let options = ConnectOptions { remembered: Some(remembered), ..ConnectOptions::default() };
        connect_with(ServerConfig::new("stub", Endpoint::Auto(at(url))), options).await.unwrap()
    };
    // A legacy server receives no probe.
    let (url, log) = start(legacy_streamable).await;
    let remembered = Remembered { transport: Transport::StreamableHttp, era: Era::Legacy };
    let connection = connect(&url, remembered).await;
    assert_eq!((connection.remembered(), methods(&log)[0].as_str()), (remembered, "initialize"));
    assert!(connection.why().contains("last time"), "{}", connection.why());
    // If the server changed, the transport and the era are detected again.
    for transport in [Transport::StreamableHttp, Transport::HttpSse] {
        let (url, log) = start(|seen: &Seen| match seen.body["method"].as_str() {
            Some("initialize") => json_body(404, &refusal(seen, -32601)),
            _ => streamable(seen),
        })
        .await;
        let connection = connect(&url, Remembered { transport, era: Era::Legacy }).await;
        assert_eq!(connection.remembered(), Remembered { transport: Transport::StreamableHttp, era: Era::Modern });
        assert!(connection.why().contains("last time: "), "{}", connection.why());
        assert_eq!(methods(&log).last().map(String::as_str), Some("server/discover"));
    }
}
