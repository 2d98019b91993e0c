//! Connecting, against servers in memory. Time is paused.

#![expect(clippy::unwrap_used, reason = "a test fails where something is missing")]

#[expect(dead_code, reason = "each test file uses its own part of the support")]
mod support;

use std::time::Duration;

use mcp_workbench_client::{Era, EventSink, Revision, RevisionChoice, Stage};
use serde_json::json;
use support::{
    CLOSE, config, connect_to, discover_result, error, initialize_result, legacy, methods, modern, result, sent,
};

#[tokio::test(start_paused = true)]
async fn falls_back_to_initialize_on_any_error_that_is_not_modern() {
    for code in [-32601, -32600, -32602, -32000, 7] {
        let (connection, transcript) = connect_to(config(), EventSink::default(), {
            let mut rest = legacy(|_| vec![]);
            move |message| if message["method"] == "server/discover" { error(message, code) } else { rest(message) }
        })
        .await;
        let connection = connection.unwrap();
        assert_eq!(connection.revision(), Revision::V2025_11_25);
        assert_eq!(methods(&transcript)[..2], ["server/discover", "initialize"]);
        assert_eq!(connection.greeting().unwrap()["serverInfo"]["x-kept"], true);
        assert!(connection.why().contains(&code.to_string()), "{}", connection.why());
    }
}

#[tokio::test(start_paused = true)]
async fn falls_back_when_the_probe_times_out() {
    let begun = tokio::time::Instant::now();
    let (connection, transcript) = connect_to(config(), EventSink::default(), {
        let mut rest = legacy(|_| vec![]);
        move |message| if message["method"] == "server/discover" { vec![] } else { rest(message) }
    })
    .await;
    assert_eq!(connection.unwrap().era(), Era::Legacy);
    assert_eq!(begun.elapsed().as_secs(), 2);
    // The probe is not cancelled, because a legacy server does not know it.
    assert!(!methods(&transcript).contains(&"notifications/cancelled".to_owned()));
}

#[tokio::test(start_paused = true)]
async fn stays_modern_with_a_modern_server() {
    let (connection, transcript) = connect_to(config(), EventSink::default(), modern(|_| vec![])).await;
    assert_eq!(connection.unwrap().revision(), Revision::V2026_07_28);
    assert!(!methods(&transcript).contains(&"initialize".to_owned()));
    let probe = sent(&transcript, "server/discover").unwrap();
    assert_eq!(probe["params"]["_meta"]["io.modelcontextprotocol/protocolVersion"], "2026-07-28");
}

#[tokio::test(start_paused = true)]
async fn uses_the_handshake_if_all_supported_revisions_have_one() {
    let (connection, _) = connect_to(config(), EventSink::default(), {
        let mut rest = legacy(|_| vec![]);
        move |message| match message["method"].as_str() {
            Some("server/discover") => result(message, discover_result(&["2025-06-18"])),
            _ => rest(message),
        }
    })
    .await;
    assert_eq!(connection.unwrap().era(), Era::Legacy);
}

#[tokio::test(start_paused = true)]
async fn a_pinned_revision_is_used() {
    for revision in Revision::ALL {
        let config = mcp_workbench_client::ServerConfig { protocol: RevisionChoice::Pinned(revision), ..config() };
        let answer: support::Answer = match revision.era() {
            Era::Legacy => Box::new(legacy(|_| vec![])),
            Era::Modern => Box::new(modern(|_| vec![])),
        };
        let (connection, transcript) = connect_to(config, EventSink::default(), answer).await;
        assert_eq!(connection.unwrap().revision(), revision);
        let first = if revision.era() == Era::Legacy { "initialize" } else { "server/discover" };
        assert_eq!(methods(&transcript)[0], first);
    }
}

#[tokio::test(start_paused = true)]
async fn disconnects_from_a_server_with_an_unknown_revision() {
    for offered in ["1999-01-01", "2026-07-28", ""] {
        let (connection, transcript) =
            connect_to(config(), EventSink::default(), move |message| match message["method"].as_str() {
                Some("initialize") => result(message, initialize_result(offered)),
                _ => error(message, -32601),
            })
            .await;
        let failure = connection.unwrap_err();
        assert_eq!((failure.kind(), failure.stage), ("version-mismatch", Stage::Initialize), "{offered}");
        assert_eq!(methods(&transcript), ["server/discover", "initialize"]);
    }
}

#[tokio::test(start_paused = true)]
async fn a_pinned_revision_is_not_replaced() {
    let protocol = RevisionChoice::Pinned(Revision::V2025_06_18);
    let config = mcp_workbench_client::ServerConfig { protocol, ..config() };
    let (connection, _) =
        connect_to(config, EventSink::default(), |message| result(message, initialize_result("2024-11-05"))).await;
    assert_eq!(connection.unwrap_err().kind(), "version-mismatch");
}

#[tokio::test(start_paused = true)]
async fn a_silent_server_fails_after_the_startup_timeout() {
    let begun = tokio::time::Instant::now();
    let (connection, transcript) = connect_to(config(), EventSink::default(), |_| vec![]).await;
    let failure = connection.unwrap_err();
    assert_eq!((failure.kind(), failure.stage), ("startup-timeout", Stage::Initialize));
    assert_eq!(begun.elapsed().as_secs(), 10);
    // "The client MUST NOT attempt to cancel its `initialize` request" (2025-11-25, cancellation).
    assert_eq!(methods(&transcript), ["server/discover", "initialize"]);
}

#[tokio::test(start_paused = true)]
async fn a_response_with_a_wrong_id_is_ignored() {
    let wrong = |message: &serde_json::Value| {
        vec![json!({"jsonrpc": "2.0", "id": 4711, "result": initialize_result("2025-11-25")}).to_string()]
            .into_iter()
            .chain(legacy(|_| vec![])(message))
            .collect()
    };
    let (connection, _) = connect_to(config(), EventSink::default(), wrong).await;
    assert_eq!(connection.unwrap().era(), Era::Legacy);
    let only_wrong = |_: &serde_json::Value| vec![json!({"jsonrpc": "2.0", "id": 4711, "result": {}}).to_string()];
    let (connection, _) = connect_to(config(), EventSink::default(), only_wrong).await;
    assert_eq!(connection.unwrap_err().kind(), "startup-timeout");
}

#[tokio::test(start_paused = true)]
async fn invalid_lines_before_the_response_are_skipped_up_to_a_limit() {
    let noisy = |lines: usize| {
        let mut rest = legacy(|_| vec![]);
        move |message: &serde_json::Value| {
            let garbage = ["Listening on stdio…", "{\"a\":1}", "[]", "\u{1b}[31m"].into_iter().cycle();
            garbage.take(lines).map(str::to_owned).chain(rest(message)).collect()
        }
    };
    let (connection, _) = connect_to(config(), EventSink::default(), noisy(40)).await;
    assert_eq!(connection.unwrap().era(), Era::Legacy);
    let mut small = config();
    small.limits.garbage = 20;
    let (connection, _) = connect_to(small, EventSink::default(), noisy(40)).await;
    assert_eq!(connection.unwrap_err().kind(), "protocol-violation");
}

#[tokio::test(start_paused = true)]
async fn a_closed_connection_and_an_error_are_distinguished() {
    let (connection, _) = connect_to(config(), EventSink::default(), |_| vec![CLOSE.into()]).await;
    assert_eq!(connection.unwrap_err().kind(), "connection-lost");
    let (connection, _) = connect_to(config(), EventSink::default(), |message| error(message, -32603)).await;
    let failure = connection.unwrap_err();
    assert_eq!((failure.kind(), failure.stage), ("rpc-error", Stage::Initialize));
    let (connection, _) =
        connect_to(config(), EventSink::default(), |message| result(message, json!({"protocolVersion": "2025-11-25"})))
            .await;
    assert_eq!(connection.unwrap_err().kind(), "protocol-violation");
}

#[tokio::test(start_paused = true)]
async fn pings_during_the_handshake_are_answered() {
    let (connection, transcript) = connect_to(config(), EventSink::default(), {
        let mut rest = legacy(|_| vec![]);
        move |message| {
            let mut lines = rest(message);
            if message["method"] == "initialize" {
                lines.insert(0, json!({"jsonrpc": "2.0", "id": "p", "method": "ping"}).to_string());
            }
            lines
        }
    })
    .await;
    let connection = connection.unwrap();
    let answered =
        || transcript.lock().unwrap().iter().any(|message| message["id"] == "p" && message["result"].is_object());
    assert!(answered());
    assert!(tokio::time::timeout(Duration::from_secs(1), connection.close()).await.is_ok());
}
