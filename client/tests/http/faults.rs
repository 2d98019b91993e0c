//! What a server, or something on the way to it, can do to an exchange, and what the client makes of it.

use std::sync::atomic::{AtomicUsize, Ordering};

use super::*;

/// An answer whose text is so long, in the order in which the TypeScript SDK writes its members.
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
async fn an_oversize_reply_costs_only_its_own_call() {
    for legacy in [false, true] {
        let (url, log) = start(move |seen: &Seen| match seen.body["params"]["name"].as_str() {
            Some("body") => json_body(200, &serde_json::from_str(&padded(seen, 20_000)).unwrap()),
            Some("event") => event_stream(format!("id: 1\ndata: {}\n\n", padded(seen, 20_000))),
            // Something long that is not the answer, and then the answer.
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
        // It was not asked for once more, by resumption for instance.
        let resumed = log.lock().unwrap().iter().filter(|seen| seen.headers.contains_key("last-event-id")).count();
        assert_eq!(resumed, 0);
        connection.close().await;
    }
}

#[tokio::test]
async fn a_forgotten_session_is_renewed_once_for_all_calls_that_met_it() {
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
            // The first session is forgotten as soon as it stands.
            "tools/call" if current == "s1" || seen.headers["mcp-session-id"] != current => status(404),
            "tools/call" => json_body(200, &answer(seen, text("done"))),
            "notifications/initialized" => status(202),
            _ => status(405),
        }
    })
    .await;
    let (connection, events) = connect(Endpoint::StreamableHttp(at(&url)), ProtocolChoice::Auto).await;
    let connection = connection.unwrap();
    let mut heard = events.subscribe();
    let calls = (0..32).map(|_| connection.call("any", json!({}), CallOptions::default()));
    for outcome in futures::future::join_all(calls).await {
        assert_eq!(outcome.unwrap().text(), "done");
    }
    assert_eq!(sessions.load(Ordering::SeqCst), 2, "one handshake, and one more");
    let told = std::iter::from_fn(|| heard.try_recv().ok()).filter(|event| event.what == Happening::SessionRenewed);
    assert_eq!(told.count(), 1);
    assert!(connection.is_stale(), "the tools of the new session may be others");
    connection.close().await;
    let log = log.lock().unwrap();
    assert!(log.iter().any(|seen| seen.method == "DELETE" && seen.headers["mcp-session-id"] == "s2"));
}

#[tokio::test]
async fn calls_that_fail_leave_nothing_in_the_books_and_each_is_cancelled_whatever_comes_of_the_others() {
    for protocol in [ProtocolChoice::Pinned(Revision::V2026_07_28), ProtocolChoice::Pinned(Revision::V2025_11_25)] {
        let (url, log) = start(|seen: &Seen| match seen.body["method"].as_str().unwrap_or_default() {
            "tools/call" if seen.body["params"]["name"] == "refused" => status(500),
            // An answer that never comes.
            "tools/call" => {
                let body = Body::from_stream(futures::stream::pending::<Result<Bytes, Infallible>>());
                Response::builder().header("content-type", "text/event-stream").body(body).unwrap()
            }
            "server/discover" => json_body(200, &answer(seen, discovered())),
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
        until(|| connection.requests_under_way() == 0).await;
        if connection.era() == Era::Legacy {
            let told = || {
                let log = log.lock().unwrap();
                log.iter().filter(|seen| seen.body["method"] == "notifications/cancelled").count()
            };
            until(|| told() == 2).await;
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
    let (connection, _) = connect(Endpoint::StreamableHttp(at(&url)), ProtocolChoice::Auto).await;
    let connection = connection.unwrap();
    let calls = (0..4).map(|_| connection.call("any", json!({}), CallOptions::default()));
    for outcome in futures::future::join_all(calls).await {
        assert_eq!(outcome.unwrap_err().kind(), "session-lost");
    }
}

#[tokio::test]
async fn without_a_session_404_is_a_status() {
    let (url, log) = start(|seen: &Seen| match seen.body["method"].as_str() {
        Some("tools/call") => status(404),
        _ => streamable(seen),
    })
    .await;
    let (connection, _) = connect(Endpoint::StreamableHttp(at(&url)), ProtocolChoice::Auto).await;
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
async fn a_server_that_asks_for_patience_is_left_alone_and_asked_again() {
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
        let (connection, _) = connect(Endpoint::StreamableHttp(at(&url)), ProtocolChoice::Auto).await;
        let outcome = connection.unwrap().call("good", json!({}), CallOptions::default()).await;
        assert_eq!(outcome.map_or_else(|error| error.kind(), |_| "ok"), expected, "{code} {value}");
        let calls = log.lock().unwrap().iter().filter(|seen| seen.body["method"] == "tools/call").count();
        assert_eq!(calls, sent, "{code} {value}");
    }
}

#[tokio::test]
async fn a_probe_that_is_put_off_is_no_sign_of_the_legacy_era() {
    let count = Arc::new(AtomicUsize::new(0));
    let (url, _) = start(move |seen: &Seen| match count.fetch_add(1, Ordering::SeqCst) {
        0 => retry_after(429, "0"),
        _ => streamable(seen),
    })
    .await;
    let (connection, _) = connect(Endpoint::StreamableHttp(at(&url)), ProtocolChoice::Auto).await;
    assert_eq!(connection.unwrap().era(), Era::Modern);
    let (url, _) = start(|_: &Seen| status(429)).await;
    let (connection, _) = connect(Endpoint::StreamableHttp(at(&url)), ProtocolChoice::Auto).await;
    let failure = connection.unwrap_err();
    assert!(matches!(&*failure.failure, ConnectFailure::HttpStatus { status: 429, .. }), "{failure}");
}

#[tokio::test]
async fn a_stream_that_ends_before_its_answer_is_resumed_where_it_ended() {
    let gets = Arc::new(AtomicUsize::new(0));
    let (url, log) = start(move |seen: &Seen| match (seen.method.as_str(), seen.headers.get("last-event-id")) {
        // The first try to resume fails as something that passes.
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
    let (connection, _) = connect(Endpoint::StreamableHttp(at(&url)), ProtocolChoice::Auto).await;
    let connection = connection.unwrap();
    let result = connection.call("any", json!({}), CallOptions::default()).await.unwrap();
    assert_eq!(result.text(), "resumed");
    let log = log.lock().unwrap();
    let resumed: Vec<_> = log.iter().filter(|seen| seen.headers.contains_key("last-event-id")).collect();
    assert!(resumed.len() >= 2 && resumed.iter().all(|seen| seen.headers["last-event-id"] == "e1"), "{resumed:?}");
    assert!(resumed.iter().all(|seen| seen.headers["mcp-session-id"] == "s1" && seen.headers["x-user"] == "me"));
}

/// The GETs of a server that answers them so.
async fn gets(answer_get: impl Fn(usize) -> Response + Clone + Send + Sync + 'static, wanted: usize) -> usize {
    let count = Arc::new(AtomicUsize::new(0));
    let counted = Arc::clone(&count);
    let (url, _) = start(move |seen: &Seen| match seen.method.as_str() {
        "GET" => answer_get(counted.fetch_add(1, Ordering::SeqCst)),
        _ => legacy_streamable(seen),
    })
    .await;
    let (connection, _) = connect(Endpoint::StreamableHttp(at(&url)), ProtocolChoice::Auto).await;
    let connection = connection.unwrap();
    until(|| count.load(Ordering::SeqCst) >= wanted).await;
    assert!(connection.call("good", json!({}), CallOptions::default()).await.is_ok());
    // The next try would come after a second and a quarter at most.
    let _ = tokio::time::timeout(Duration::from_millis(1_500), until(|| count.load(Ordering::SeqCst) > wanted)).await;
    connection.close().await;
    count.load(Ordering::SeqCst)
}

#[tokio::test]
async fn a_stream_of_the_session_is_opened_again_after_it_ends_and_after_it_could_not_be_opened() {
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
async fn a_stream_that_is_not_to_be_had_is_not_asked_for_again() {
    let tries = [400, 401, 403, 404, 405].map(|code| gets(move |_| status(code), 1));
    assert_eq!(futures::future::join_all(tries).await, [1; 5]);
    // Nor where it was to be had once.
    let ended = gets(|count| if count == 0 { event_stream("retry: 20\n\n".into()) } else { status(403) }, 2).await;
    assert_eq!(ended, 2);
}

fn redirect(code: u16, to: &str) -> Response {
    let mut response = status(code);
    response.headers_mut().insert("location", to.parse().unwrap());
    response
}

#[tokio::test]
async fn a_redirect_to_another_origin_gets_nothing() {
    let (stranger, stranger_log) = start(streamable).await;
    for legacy in [false, true] {
        let to = stranger.clone();
        let (url, _) = start(move |seen: &Seen| match seen.body["method"].as_str() {
            Some("tools/call") => redirect(307, &format!("{to}/mcp?token=secret")),
            _ if legacy => legacy_streamable(seen),
            _ => streamable(seen),
        })
        .await;
        let (connection, _) = connect(Endpoint::StreamableHttp(at(&url)), ProtocolChoice::Auto).await;
        let connection = connection.unwrap();
        let outcome = connection.call("any", json!({}), CallOptions::default()).await;
        let Err(CallError::RedirectRefused { to, .. }) = outcome else { panic!("{outcome:?}") };
        assert_eq!(to, format!("{stranger}/mcp"));
    }
    let to = stranger.clone();
    let (url, _) = start(move |_: &Seen| redirect(308, &format!("{to}/mcp"))).await;
    for endpoint in [Endpoint::StreamableHttp(at(&url)), Endpoint::Auto(at(&url)), Endpoint::Sse(at(&url))] {
        let (connection, _) = connect(endpoint, ProtocolChoice::Auto).await;
        assert_eq!(connection.unwrap_err().kind(), "redirect-refused");
    }
    assert_eq!(stranger_log.lock().unwrap().len(), 0, "the stranger was spoken to");
}

#[tokio::test]
async fn a_redirect_within_the_origin_keeps_the_message_or_is_refused() {
    for (code, expected) in
        [(307, "ok"), (308, "ok"), (301, "redirect-refused"), (302, "redirect-refused"), (303, "redirect-refused")]
    {
        let (url, log) = start(move |seen: &Seen| match seen.body["method"].as_str() {
            Some("tools/call") if seen.path == "/mcp" => redirect(code, "/moved"),
            _ => streamable(seen),
        })
        .await;
        let (connection, _) = connect(Endpoint::StreamableHttp(at(&url)), ProtocolChoice::Auto).await;
        let outcome = connection.unwrap().call("good", json!({}), CallOptions::default()).await;
        assert_eq!(outcome.map_or_else(|error| error.kind(), |_| "ok"), expected, "{code}");
        let log = log.lock().unwrap();
        let moved: Vec<_> = log.iter().filter(|seen| seen.path == "/moved").collect();
        assert_eq!(moved.len(), usize::from(expected == "ok"));
        assert!(moved.iter().all(|seen| seen.method == "POST" && seen.headers["x-user"] == "me"));
    }
}

#[tokio::test]
async fn a_helper_is_asked_again_when_what_it_said_is_refused() {
    let folder = tempfile::tempdir().unwrap();
    let count = folder.path().join("count");
    // Each answer is another: what was good at first has expired by the second call.
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
    let (connection, _) = connect(Endpoint::StreamableHttp(endpoint), ProtocolChoice::Auto).await;
    let connection = connection.unwrap();
    assert_eq!(connection.call("good", json!({}), CallOptions::default()).await.unwrap().text(), "streamed");
    assert_eq!(std::fs::read_to_string(&count).unwrap().lines().count(), 2);
    assert!(log.lock().unwrap().iter().all(|seen| seen.headers["x-user"] == "me"));
}

#[tokio::test]
async fn what_worked_last_time_is_tried_first_and_forgotten_where_it_fails() {
    use mcp_workbench_client::{ConnectOptions, Remembered};
    let methods = |log: &Log| {
        let log = log.lock().unwrap();
        log.iter().filter_map(|seen| seen.body["method"].as_str().map(str::to_owned)).collect::<Vec<_>>()
    };
    let connect = async |url: &str, remembered: Remembered| {
        let options = ConnectOptions { remembered: Some(remembered), ..ConnectOptions::default() };
        connect_with(ServerConfig::new("stub", Endpoint::Auto(at(url))), options).await.unwrap()
    };
    // A server of the legacy era is spared the probe.
    let (url, log) = start(legacy_streamable).await;
    let remembered = Remembered { transport: TransportKind::StreamableHttp, era: Era::Legacy };
    let connection = connect(&url, remembered).await;
    assert_eq!((connection.remembered(), methods(&log)[0].as_str()), (remembered, "initialize"));
    assert!(connection.why().contains("last time"), "{}", connection.why());
    // A server that has moved on is found out anew, whatever is remembered.
    for transport in [TransportKind::StreamableHttp, TransportKind::Sse] {
        let (url, log) = start(|seen: &Seen| match seen.body["method"].as_str() {
            Some("initialize") => json_body(404, &refusal(seen, -32601)),
            _ => streamable(seen),
        })
        .await;
        let connection = connect(&url, Remembered { transport, era: Era::Legacy }).await;
        assert_eq!(connection.remembered(), Remembered { transport: TransportKind::StreamableHttp, era: Era::Modern });
        assert!(connection.why().contains("last time: "), "{}", connection.why());
        assert_eq!(methods(&log).last().map(String::as_str), Some("server/discover"));
    }
}
