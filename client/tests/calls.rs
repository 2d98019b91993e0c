//! Lists and calls, against servers in memory. Time is paused.

#![expect(clippy::unwrap_used, reason = "a test fails where something is missing")]

mod support;

use std::{sync::Arc, time::Duration};

use mcp_workbench_client::{
    CallError, CallOptions, ClientEventKind, Connection, EventSink, Revision, RevisionChoice, ServerConfig, TimeoutKind,
};
use serde_json::{Value, json};
use support::{CLOSE, Transcript, config, connect_to, error, legacy, methods, modern, result, sent, until_sent};
use tokio::time::Instant;

fn pinned(revision: Revision) -> ServerConfig {
    ServerConfig { protocol: RevisionChoice::Pinned(revision), ..config() }
}

async fn connected(rest: impl FnMut(&Value) -> Vec<String> + Send + 'static) -> (Connection, Transcript) {
    let (connection, transcript) = connect_to(pinned(Revision::V2025_11_25), EventSink::default(), legacy(rest)).await;
    (connection.unwrap(), transcript)
}

fn tool(name: &str) -> Value {
    json!({"name": name, "inputSchema": {"type": "object"}})
}

fn page(message: &Value, tools: &[Value], next: Value) -> Vec<String> {
    result(message, json!({"tools": tools, "nextCursor": next}))
}

fn text(text: &str) -> Value {
    json!({"content": [{"type": "text", "text": text}], "x-kept": {"a": [1]}})
}

#[tokio::test(start_paused = true)]
async fn follows_every_page_and_keeps_what_rmcp_would_drop() {
    let (connection, transcript) = connected(|message| match message["params"]["cursor"].as_str() {
        None => page(message, &[tool("a"), json!({"name": "bad", "inputSchema": 7}), tool("b")], json!("two")),
        Some(_) => page(message, &[json!({"name": "c", "inputSchema": {}, "x-kept": 1}), tool("a")], Value::Null),
    })
    .await;
    let list = connection.list_tools().await.unwrap();
    let names: Vec<_> = list.tools.iter().map(|tool| tool.name()).collect();
    assert_eq!((names.as_slice(), list.pages), (["a", "b", "c"].as_slice(), 2));
    assert_eq!(list.get("c").unwrap().wire()["x-kept"], 1);
    assert_eq!(list.rejected.iter().map(|tool| tool.name.as_deref().unwrap()).collect::<Vec<_>>(), ["bad", "a"]);
    let asked = methods(&transcript).iter().filter(|method| *method == "tools/list").count();
    connection.list_tools().await.unwrap();
    assert_eq!((asked, methods(&transcript).iter().filter(|method| *method == "tools/list").count()), (2, 2));
}

#[tokio::test(start_paused = true)]
async fn a_list_that_cannot_be_followed_names_the_page_and_keeps_the_rest() {
    let (connection, transcript) = connected(|message| page(message, &[tool("a")], json!("same"))).await;
    let failure = connection.list_tools().await.unwrap_err();
    assert_eq!((failure.kind(), failure.page, failure.so_far.tools.len()), ("repeated-cursor", 2, 1));
    assert_eq!(methods(&transcript).iter().filter(|method| *method == "tools/list").count(), 2);

    let (connection, _) = connected(|message| match message["params"]["cursor"].as_str() {
        None => page(message, &[tool("a")], json!("two")),
        Some(_) => error(message, -32602),
    })
    .await;
    let failure = connection.list_tools().await.unwrap_err();
    assert_eq!((failure.kind(), failure.page, failure.so_far.tools.len()), ("rpc-error", 2, 1));

    let (connection, _) = connected(|message| result(message, json!({"items": []}))).await;
    assert_eq!(connection.list_tools().await.unwrap_err().kind(), "malformed-result");
}

#[tokio::test(start_paused = true)]
async fn a_call_returns_the_raw_result_or_the_error() {
    let (connection, transcript) = connected(|message| match message["params"]["name"].as_str() {
        Some("echo") => result(message, text("hello")),
        Some("odd") => result(message, json!({"content": "text"})),
        Some("both") => vec![json!({"jsonrpc": "2.0", "id": message["id"], "result": {}, "error": {}}).to_string()],
        Some("neither") => vec![json!({"jsonrpc": "2.0", "id": message["id"]}).to_string()],
        Some("string-id") => {
            vec![json!({"jsonrpc": "2.0", "id": message["id"].to_string(), "result": text("id")}).to_string()]
        }
        Some("float-id") => {
            vec![json!({"jsonrpc": "2.0", "id": message["id"].as_f64(), "result": text("id")}).to_string()]
        }
        _ => error(message, -32602),
    })
    .await;
    let call = |name: &'static str| connection.call(name, json!({"a": 1}), CallOptions::default());
    let result = call("echo").await.unwrap();
    assert_eq!((result.text().as_str(), &result.wire()["x-kept"]), ("hello", &json!({"a": [1]})));
    assert_eq!(sent(&transcript, "tools/call").unwrap()["params"]["arguments"], json!({"a": 1}));
    assert_eq!(call("string-id").await.unwrap().text(), "id");
    assert_eq!(call("float-id").await.unwrap().text(), "id");
    assert_eq!(call("odd").await.unwrap_err().kind(), "malformed-result");
    assert_eq!(call("both").await.unwrap_err().kind(), "malformed-result");
    assert_eq!(call("neither").await.unwrap_err().kind(), "malformed-result");
    assert!(matches!(call("none").await, Err(CallError::Rpc { code: -32602, .. })));
}

#[tokio::test(start_paused = true)]
async fn a_call_that_times_out_is_cancelled_at_the_server() {
    for modern_era in [false, true] {
        let answer: support::Answer =
            if modern_era { Box::new(modern(|_| vec![])) } else { Box::new(legacy(|_| vec![])) };
        let (connection, transcript) = connect_to(config(), EventSink::default(), answer).await;
        let connection = connection.unwrap();
        let begun = Instant::now();
        let outcome = connection.call("stuck", Value::Null, CallOptions::default()).await;
        assert!(
            matches!(outcome, Err(CallError::TimedOut { clock: TimeoutKind::Idle, limit }) if limit.as_secs() == 60)
        );
        assert_eq!(begun.elapsed().as_secs(), 60);
        let cancelled = until_sent(&transcript, "notifications/cancelled").await;
        assert_eq!(cancelled["params"]["requestId"], sent(&transcript, "tools/call").unwrap()["id"]);
    }
}

#[tokio::test(start_paused = true)]
async fn progress_resets_the_timeout_but_not_the_ceiling() {
    // The server reports progress once for each message that it receives.
    let ticking = |_: &Value| {
        vec![
            json!({"jsonrpc": "2.0", "method": "notifications/progress",
        "params": {"progressToken": 1, "progress": 1}})
            .to_string(),
        ]
    };
    let (connection, transcript) = connected({
        let mut token = Value::Null;
        move |message| {
            if message["method"] == "tools/call" {
                token = message["params"]["_meta"]["progressToken"].clone();
                return vec![];
            }
            let mut line: Value = serde_json::from_str(&ticking(message)[0]).unwrap();
            line["params"]["progressToken"] = token.clone();
            vec![line.to_string()]
        }
    })
    .await;
    let mut events = connection.events();
    let tick = {
        let connection = connection.clone();
        tokio::spawn(async move {
            loop {
                tokio::time::sleep(Duration::from_secs(3)).await;
                // The server reports progress for a list request that it never answers.
                drop(tokio::time::timeout(Duration::from_millis(1), connection.refresh()).await);
            }
        })
    };
    let begun = Instant::now();
    let seconds = |seconds| Some(Duration::from_secs(seconds));
    let options = CallOptions { timeout: seconds(5), ceiling: seconds(21), ..CallOptions::default() };
    let pending = connection.start_call("slow", Value::Null, options).await.unwrap();
    let id = pending.id();
    let outcome = pending.finish().await;
    assert!(matches!(outcome, Err(CallError::TimedOut { clock: TimeoutKind::Ceiling, .. })), "{outcome:?}");
    assert_eq!(begun.elapsed().as_secs(), 21);
    let heard = std::iter::from_fn(|| events.try_recv().ok());
    assert!(
        heard.filter(|event| matches!(event.kind, ClientEventKind::Progress { call, .. } if call == id)).count() >= 5
    );

    let begun = Instant::now();
    let options = CallOptions { timeout: seconds(5), reset_on_progress: false, ..CallOptions::default() };
    let outcome = connection.call("slow", Value::Null, options).await;
    assert!(matches!(outcome, Err(CallError::TimedOut { clock: TimeoutKind::Idle, .. })), "{outcome:?}");
    assert_eq!(begun.elapsed().as_secs(), 5);
    tick.abort();
    assert!(methods(&transcript).len() > 5);
}

#[tokio::test(start_paused = true)]
async fn cancelling_and_dropping_a_call_notify_the_server_and_late_responses_are_ignored() {
    let (connection, transcript) = connected(|message| match message["method"].as_str() {
        // The response follows the cancellation.
        Some("notifications/cancelled") => {
            let id = &message["params"]["requestId"];
            vec![json!({"jsonrpc": "2.0", "id": id, "result": text("late")}).to_string()]
        }
        Some("tools/call") if message["params"]["name"] == "quick" => result(message, text("quick")),
        _ => vec![],
    })
    .await;
    let mut events = connection.events();
    let pending = connection.start_call("stuck", Value::Null, CallOptions::default()).await.unwrap();
    pending.cancel();
    assert!(matches!(pending.finish().await, Err(CallError::Cancelled)));
    until_sent(&transcript, "notifications/cancelled").await;
    drop(connection.start_call("stuck", Value::Null, CallOptions::default()).await.unwrap());
    let quick = connection.call("quick", Value::Null, CallOptions::default()).await.unwrap();
    assert_eq!(quick.text(), "quick");
    let mut late = 0;
    while late < 2 {
        if let ClientEventKind::Skipped { reason, .. } = events.recv().await.unwrap().kind {
            assert_eq!(serde_json::to_value(reason).unwrap(), "late-reply");
            late += 1;
        }
    }
    let told = methods(&transcript).iter().filter(|method| *method == "notifications/cancelled").count();
    assert_eq!(told, 2);
}

#[tokio::test(start_paused = true)]
async fn a_stuck_call_does_not_block_others() {
    let (connection, _) = connected(|message| match message["params"]["name"].as_str() {
        Some("quick") => result(message, text("done")),
        _ => vec![],
    })
    .await;
    let stuck = connection.start_call("stuck", Value::Null, CallOptions::default()).await.unwrap();
    let begun = Instant::now();
    let calls = (0..50).map(|_| connection.call("quick", Value::Null, CallOptions::default()));
    assert!(futures::future::join_all(calls).await.into_iter().all(|outcome| outcome.is_ok()));
    assert!(begun.elapsed() < Duration::from_secs(1));
    drop(stuck);
}

#[tokio::test(start_paused = true)]
async fn a_lost_connection_fails_pending_and_later_requests() {
    let (connection, _) = connected(|_| vec![CLOSE.into()]).await;
    let mut events = connection.events();
    let outcome = connection.call("any", Value::Null, CallOptions::default()).await;
    assert_eq!(outcome.unwrap_err().kind(), "connection-lost");
    let outcome = connection.call("any", Value::Null, CallOptions::default()).await;
    assert_eq!(outcome.unwrap_err().kind(), "connection-lost");
    while !matches!(events.recv().await.unwrap().kind, ClientEventKind::Disconnected { .. }) {}
    assert!(connection.is_closed());
}

fn changing_server(era: Revision) -> impl FnMut(&Value) -> Vec<String> + Send + 'static {
    let mut state = 0;
    let mut listening = Value::Null;
    move |message| {
        let changed = json!({"jsonrpc": "2.0", "method": "notifications/tools/list_changed",
            "params": {"_meta": {"io.modelcontextprotocol/subscriptionId": listening}}});
        match message["method"].as_str() {
            Some("subscriptions/listen") => {
                listening = message["id"].clone();
                vec![]
            }
            Some("tools/list") => {
                let required = if state == 0 { json!([]) } else { json!(["path"]) };
                let schema = json!({"type": "object", "properties": {"path": {}}, "required": required});
                match state {
                    2 => error(message, -32603),
                    _ => result(message, json!({"tools": [{"name": "t", "inputSchema": schema}, tool("u")]})),
                }
            }
            Some("tools/call") if message["params"]["name"] == "change" => {
                state += 1;
                assert!(era == Revision::V2025_11_25 || !listening.is_null(), "no subscription");
                [changed.to_string()].into_iter().chain(result(message, text("changed"))).collect()
            }
            Some("tools/call") => result(message, text("called")),
            _ => vec![],
        }
    }
}

#[tokio::test(start_paused = true)]
async fn a_change_makes_the_list_stale_and_rejects_calls_based_on_it() {
    for era in [Revision::V2025_11_25, Revision::V2026_07_28] {
        let answer: support::Answer = if era == Revision::V2026_07_28 {
            Box::new(modern(changing_server(era)))
        } else {
            Box::new(legacy(changing_server(era)))
        };
        let (connection, transcript) = connect_to(pinned(era), EventSink::default(), answer).await;
        let connection = connection.unwrap();
        let before = connection.list_tools().await.unwrap();
        let seen = Some(before.get("t").unwrap().fingerprint());
        let call = |tool: &'static str, seen| {
            connection.call(tool, Value::Null, CallOptions { seen, ..CallOptions::default() })
        };
        assert_eq!(call("t", seen).await.unwrap().text(), "called");
        if era == Revision::V2026_07_28 {
            until_sent(&transcript, "subscriptions/listen").await;
        }
        call("change", None).await.unwrap();
        assert!(connection.is_stale());
        let calls = |transcript: &Transcript| methods(transcript).iter().filter(|m| *m == "tools/call").count();
        let count = calls(&transcript);
        let failure = call("t", seen).await.unwrap_err();
        assert!(matches!(&failure, CallError::Stale { change, .. } if change.contains("path")), "{failure}");
        assert_eq!(calls(&transcript), count, "a stale call was sent");
        assert!(call("u", Some(before.get("u").unwrap().fingerprint())).await.is_ok());
        let now = connection.list_tools().await.unwrap();
        assert!(!connection.is_stale());
        assert!(call("t", Some(now.get("t").unwrap().fingerprint())).await.is_ok());

        // The list can no longer be read, so the old one is kept and remains stale.
        call("change", None).await.unwrap();
        assert_eq!(connection.list_tools().await.unwrap_err().kind(), "rpc-error");
        assert!(connection.is_stale());
        assert!(Arc::ptr_eq(&connection.known_tools().unwrap(), &now));
    }
}

#[tokio::test(start_paused = true)]
async fn a_call_of_a_removed_tool_is_rejected_before_it_is_sent() {
    let mut lists = 0;
    let (connection, transcript) = connected(move |message| match message["method"].as_str() {
        Some("tools/list") => {
            lists += 1;
            let tools = if lists == 1 { vec![tool("t")] } else { vec![] };
            page(message, &tools, Value::Null)
        }
        _ => result(message, text("called")),
    })
    .await;
    connection.list_tools().await.unwrap();
    let drift = connection.refresh().await.unwrap();
    assert_eq!(drift.changes[0].what, "the tool was removed");
    let failure = connection.call("t", Value::Null, CallOptions::default()).await.unwrap_err();
    assert_eq!(failure.kind(), "unknown-tool");
    // The server rejects tools that were never listed.
    assert!(connection.call("hidden", Value::Null, CallOptions::default()).await.is_ok());
    assert_eq!(methods(&transcript).iter().filter(|method| *method == "tools/call").count(), 1);
}

#[tokio::test]
async fn an_oversized_line_fails_only_its_own_call() {
    let mut config = config();
    config.limits.message_bytes = 10_000;
    let server = legacy(|message| match message["params"]["name"].as_str() {
        Some("long") => {
            let result = json!({"content": [{"type": "text", "text": "x".repeat(50_000)}]});
            // In the order of the TypeScript SDK: the id comes last.
            vec![format!(r#"{{"result":{result},"jsonrpc":"2.0","id":{}}}"#, message["id"])]
        }
        Some("stray") => {
            let stray = json!({"jsonrpc": "2.0", "method": "notifications/message", "params": "x".repeat(50_000)});
            [vec![stray.to_string()], result(message, json!({"content": []}))].concat()
        }
        _ => result(message, json!({"content": [{"type": "text", "text": "short"}]})),
    });
    let (connection, _) = connect_to(config, EventSink::default(), server).await;
    let connection = connection.unwrap();
    let call = async |tool: &'static str| connection.call(tool, Value::Null, CallOptions::default()).await;
    let (long, short, stray) = tokio::join!(call("long"), call("short"), call("stray"));
    assert!(matches!(long, Err(CallError::OversizeReply { limit: 10_000 })), "{long:?}");
    assert_eq!(short.unwrap().text(), "short");
    assert!(stray.is_ok(), "{stray:?}");
    assert!(!connection.is_closed());
}
