//! Checks of transports and processes.

use super::*;

pub(super) fn table() -> Vec<Row> {
    let told = json!({ "jsonrpc": "2.0", "method": "notifications/initialized" });
    let left =
        ObservedProcess { pid: 2, parent: 1, command: "sleep".to_owned(), server: true, first_us: 0, last_us: 9 };
    let strange =
        |code: u16| http().post(&[("mcp-protocol-version", "1999-01-01")], call("ping")).says_with(code, json!({}));
    let opaque = |code: u16| {
        let refused = http().post(&[("origin", "http://evil.invalid")], call("ping")).says_with(403, json!({}));
        refused.post(&[("origin", "null")], call("ping")).says_with(code, json!({}))
    };
    let origin = |code: u16| http().post(&[("origin", "http://evil.invalid")], call("ping")).says_with(code, json!({}));
    let without = |code: u16| http().ask(call("ping")).says_with(code, json!({}));
    let delete = |code: u16| http().bodiless("DELETE", &session()).replies(code, "");
    let after = |code: u16| delete(200).post(&session(), call("ping")).says_with(code, json!({}));
    let mut bad_session = http();
    bad_session.0.steps = vec![outcome(None, json!({ "session": { "visible_ascii": false } }))];
    vec![
        (
            "stdout-holds-only-messages",
            stdio().text(Direction::ServerToClient, "Listening…"),
            stdio().says(call("ping")),
        ),
        (
            "exits-when-input-closes",
            stdio().step(json!({ "exited": false, "elapsed_ms": 4000 })).close(),
            stdio().step(json!({ "exited": true, "elapsed_ms": 3 })).close(),
        ),
        (
            "server-leaves-no-process",
            stdio().process(ProcessEvidence { left: vec![left], ..ProcessEvidence::default() }),
            stdio().process(ProcessEvidence::default()),
        ),
        (
            "http-reply-is-json-or-events",
            http().ask(call("ping")).replies(200, "text/html"),
            http().ask(call("ping")).replies(200, "Text/Event-Stream; charset=utf-8"),
        ),
        ("http-notification-is-accepted", http().ask(told.clone()).replies(200, ""), http().ask(told).replies(202, "")),
        ("http-session-id-is-visible-ascii", bad_session, http()),
        (
            "http-get-opens-a-stream-or-405",
            http().bodiless("GET", &[]).replies(200, "text/html"),
            http().bodiless("GET", &[]).replies(405, ""),
        ),
        ("http-unsupported-revision-is-400", strange(200), strange(400)),
        ("http-foreign-origin-is-refused", origin(200), origin(403)),
        ("http-opaque-origin-is-refused", opaque(200), opaque(403)),
        ("http-missing-session-is-400", without(404), without(400)),
        // A 400 is no working DELETE.
        ("http-delete-ends-the-session-or-405", delete(400), delete(204)),
        ("http-ended-session-is-404", after(200), after(404)),
    ]
}

#[test]
fn the_exchange_of_a_cancelled_request_may_end_without_a_body() {
    let ends = |cancelled: &str| {
        let cancel = json!({ "requestId": cancelled });
        let asked = http().ask(json!({ "jsonrpc": "2.0", "id": "a", "method": "ping" }));
        let mut talk = asked.ask(json!({ "jsonrpc": "2.0", "method": "notifications/cancelled", "params": cancel }));
        let request = talk.0.frames.len() - 2;
        talk = talk.replies(202, "");
        let connection = talk.0.frames[request].connection;
        talk.0.frames.last_mut().expect("a reply").connection = connection;
        talk
    };
    assert!(fails("http-reply-is-json-or-events", &ends("b")));
    assert!(!fails("http-reply-is-json-or-events", &ends("a")));
}

#[test]
fn an_empty_line_is_not_a_message() {
    for line in ["", " "] {
        assert!(fails("stdout-holds-only-messages", &stdio().text(Direction::ServerToClient, line)), "{line:?}");
    }
}

#[test]
fn a_stream_needs_a_session_too_unless_it_is_one_of_http_sse() {
    let id = "http-missing-session-is-400";
    let refused = || http().ask(call("ping")).says_with(400, json!({}));
    let opened = |talk: Talk| talk.bodiless("GET", &[]).replies(200, "text/event-stream");
    assert!(fails(id, &opened(refused())));
    assert!(!fails(id, &refused().bodiless("GET", &[]).replies(405, "")));
    assert!(!fails(id, &opened(http())));
    let error = json!({ "jsonrpc": "2.0", "id": 1, "error": { "code": -32600, "message": "no session" } });
    assert!(fails(id, &http().ask(call("ping")).says_with(200, error)));
    let http = Http { event: Some("endpoint".to_owned()), ..status(200, "text/event-stream") };
    let older = opened(refused()).frame(Direction::ServerToClient, Body::Text("/messages".to_owned()), Some(http));
    assert!(!fails(id, &older));
}

#[test]
fn a_status_page_fails_only_as_the_response_to_get() {
    let page = || json!({ "status": "ok" });
    let got = http().bodiless("GET", &[]).says_with(200, page());
    assert!(fails("http-get-opens-a-stream-or-405", &got));
    assert!(!fails("jsonrpc-version", &got));
    assert!(fails("jsonrpc-version", &http().ask(call("ping")).says(page())));
}

#[test]
fn every_method_gets_404_in_an_ended_session() {
    let ended = || http().bodiless("DELETE", &session()).replies(202, "");
    for (method, code, is_broken) in [
        ("GET", 404, false),
        ("GET", 405, false),
        ("GET", 400, true),
        ("GET", 200, true),
        ("DELETE", 404, false),
        ("DELETE", 405, false),
        ("DELETE", 400, true),
        // It is idempotent.
        ("DELETE", 204, false),
    ] {
        let talk = ended().bodiless(method, &session()).replies(code, "text/event-stream");
        assert_eq!(fails("http-ended-session-is-404", &talk), is_broken, "{method} {code}");
    }
    assert!(fails("http-ended-session-is-404", &ended().post(&session(), call("ping")).replies(405, "")));
    let notification = json!({ "jsonrpc": "2.0", "method": "notifications/roots/list_changed" });
    assert!(fails("http-ended-session-is-404", &ended().post(&session(), notification.clone()).replies(202, "")));
    assert!(!fails("http-ended-session-is-404", &ended().post(&session(), notification).replies(404, "")));
    // The server does not end sessions.
    let kept = http().bodiless("DELETE", &session()).replies(405, "").bodiless("GET", &session()).replies(200, "");
    assert!(matches!(outcome_of("http-ended-session-is-404", &kept), CheckOutcome::NotApplicable(_)));
    // Another session goes on.
    let other = [("mcp-session-id", "[session 2]")];
    let talk = ended().bodiless("GET", &other).replies(200, "text/event-stream");
    assert!(matches!(outcome_of("http-ended-session-is-404", &talk), CheckOutcome::NotApplicable(_)));
}

#[test]
fn a_host_of_the_same_foreign_name_is_no_proof() {
    let rebound = [("host", "evil.invalid"), ("origin", "http://evil.invalid")];
    let with = |code: u16| {
        let refused = http().post(&rebound[1..], call("ping")).says_with(403, json!({}));
        let check = all().find(|check| check.id == "http-foreign-origin-is-refused").expect("a check");
        run(check, &refused.post(&rebound, call("ping")).says_with(code, json!({})).0)
    };
    assert!(matches!(with(200), CheckOutcome::Failed { .. }));
    // The status of a wrong host.
    assert!(matches!(with(421), CheckOutcome::Passed { .. }));
}

#[test]
fn a_server_exits_soon_unless_it_still_works() {
    let after = |talk: Talk, ms: u64| {
        let check = all().find(|check| check.id == "exits-when-input-closes").expect("a check");
        run(check, &talk.step(json!({ "exited": true, "elapsed_ms": ms })).close().0)
    };
    assert!(matches!(after(stdio(), 15_000), CheckOutcome::Failed { .. }));
    assert!(matches!(after(stdio(), 6_000), CheckOutcome::Passed { .. }), "a slow interpreter");
    assert!(matches!(after(stdio().ask(call("tools/call")), 15_000), CheckOutcome::Passed { .. }));
}
