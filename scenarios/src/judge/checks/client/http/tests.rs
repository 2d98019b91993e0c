use evidence::ConnectionEvent;
use serde_json::json;

use crate::{
    judge::checks::testing::{
        EvidenceBuilder, blocked, call, error, fails, http_of_latest, initialize, modern, not_applicable, note,
        outcome, passes, result,
    },
    model::Revision,
};

const LATEST: Revision = Revision::V2025_11_25;

fn greeted() -> EvidenceBuilder {
    EvidenceBuilder::http(LATEST).greet()
}

#[test]
fn both_kinds_of_answer_are_accepted() {
    let id = "http-accept";
    passes(id, greeted().verb("GET").verb("DELETE").without("accept"));
    passes(id, greeted().client(call(1, "x")).with("accept", "Text/Event-Stream;q=0.9 , application/json"));
    for accept in ["application/json", "text/event-stream", "*/*", "application/jsonp, text/event-stream"] {
        fails(id, greeted().client(call(1, "x")).with("accept", accept), "without");
    }
    fails(id, greeted().client(call(1, "x")).without("accept"), "no Accept");
    fails(id, greeted().verb("GET").with("accept", "application/json"), "a GET");
    not_applicable(id, EvidenceBuilder::sse().greet().client(call(1, "x")).without("accept"));
    not_applicable(id, EvidenceBuilder::stdio(LATEST).greet());
}

#[test]
fn a_body_is_called_what_it_is() {
    let id = "http-content-type";
    passes(id, greeted().client(call(1, "x")).with("content-type", "application/json; charset=utf-8"));
    fails(id, greeted().client(call(1, "x")).with("content-type", "text/plain"), "text/plain");
    fails(id, EvidenceBuilder::sse().greet().client(call(1, "x")).without("content-type"), "Content-Type");
    not_applicable(id, EvidenceBuilder::stdio(LATEST).greet());
}

#[test]
fn messages_are_posted() {
    let id = "http-messages-are-posted";
    passes(id, greeted().client(call(1, "x")).verb("GET").verb("DELETE"));
    fails(id, greeted().verb("PUT").status(405), "with PUT");
    fails(id, EvidenceBuilder::http(Revision::V2026_07_28).verb("PATCH"), "with PATCH");
    not_applicable(id, EvidenceBuilder::sse().greet().verb("PUT"));
    let redirected = |to: &str| greeted().client(call(1, "x")).status(307).with("location", to);
    fails(id, redirected("/mcp?moved").get("/mcp?moved"), "GET after a redirect");
    fails(id, redirected("http://127.0.0.1/other").get("/other"), "GET after a redirect");
    passes(id, redirected("/mcp?moved").client(call(1, "x")).get("/mcp"));
    passes(id, redirected("/mcp").get("/mcp"));
}

#[test]
fn messages_go_to_the_announced_uri() {
    let id = "messages-to-endpoint";
    let opened = || EvidenceBuilder::sse().greet().client(call(1, "x"));
    passes(id, opened());
    passes(id, opened().stream("messages?session=2").get("/other"));
    passes(id, opened().stream("http://127.0.0.1:80/messages?session=2").verb("DELETE"));
    fails(id, opened().verb("POST"), "a POST went to `/mcp`");
    not_applicable(id, EvidenceBuilder::sse());
    not_applicable(id, greeted().client(call(1, "x")));
}

#[test]
fn the_revision_is_named_after_the_handshake() {
    let id = "http-revision-header";
    passes(id, greeted().client(call(1, "x")).verb("DELETE"));
    fails(id, greeted().client(call(1, "x")).without("mcp-protocol-version"), "a POST has no");
    fails(id, greeted().verb("DELETE").without("mcp-protocol-version"), "a DELETE has no");
    not_applicable(
        id,
        EvidenceBuilder::http(Revision::V2025_03_26).greet().client(call(1, "x")).without("mcp-protocol-version"),
    );
    not_applicable(id, EvidenceBuilder::http(LATEST).client(initialize(0, "2025-11-25")));
}

#[test]
fn the_revision_named_is_the_one_agreed_on() {
    let id = "speaks-negotiated-revision";
    passes(id, greeted().client(call(1, "x")));
    fails(id, greeted().client(call(1, "x")).with("mcp-protocol-version", "2025-06-18"), "`2025-06-18`");
    // The server's word counts, not the client's.
    let agreed = result(0, json!({"protocolVersion": "2025-06-18", "capabilities": {}}));
    let older = || EvidenceBuilder::http(LATEST).client(initialize(0, "2025-11-25")).server(agreed.clone()).opens("s");
    passes(id, older().client(call(1, "x")).with("mcp-protocol-version", "2025-06-18"));
    fails(id, older().client(call(1, "x")).with("mcp-protocol-version", "2025-11-25"), "2025-06-18 was negotiated");
}

#[test]
fn the_session_is_on_every_request() {
    let id = "http-session-echoed";
    passes(id, greeted().client(call(1, "x")).verb("GET").verb("DELETE"));
    fails(id, greeted().client(call(1, "x")).without("mcp-session-id"), "a POST has no session id");
    fails(id, greeted().verb("GET").without("mcp-session-id"), "a GET has no session id");
    fails(id, greeted().client(call(1, "x")).with("mcp-session-id", "other"), "`other`");
    fails(
        id,
        EvidenceBuilder::http(LATEST).client(initialize(0, "2025-11-25")).with("mcp-session-id", "old"),
        "`initialize`",
    );
    not_applicable(id, EvidenceBuilder::stdio(LATEST).greet());
}

#[test]
fn a_stream_may_be_opened_before_the_session_id_is_read() {
    let id = "http-session-echoed";
    let answer = result(0, json!({"protocolVersion": "2025-11-25", "capabilities": {}}));
    let opened = EvidenceBuilder::http(LATEST).client(initialize(0, "2025-11-25")).server(answer).opens("session-1");
    let opened = opened.verb("GET").client(note("notifications/initialized"));
    passes(id, opened.with("mcp-session-id", "session-1"));
}

#[test]
fn a_stream_may_be_opened_before_another_session_begins() {
    let id = "http-session-echoed";
    let first = || EvidenceBuilder::http(LATEST).greet().verb("GET").without("mcp-session-id");
    passes(id, first().greet());
    passes(id, first().verb("DELETE").greet());
    fails(id, first().client(note("notifications/cancelled")), "no session id");
    fails(id, first(), "no session id");
}

#[test]
fn a_session_that_was_lost_is_followed_by_another() {
    let id = "http-session-echoed";
    let again = || greeted().client(call(1, "x")).status(404).greet().client(call(1, "x"));
    // A request that was under way with the old id is no mistake.
    let again = || again().client(call(2, "y")).with("mcp-session-id", "session-1");
    passes(id, again());
    fails(id, again().client(call(3, "z")).with("mcp-session-id", "session-1"), "of the lost session");
}

#[test]
fn the_stream_of_a_new_session_has_its_id() {
    let id = "http-session-echoed";
    let lost = || greeted().client(call(1, "x")).status(404);
    let stale = |builder: EvidenceBuilder| builder.verb("GET").with("mcp-session-id", "session-1");
    fails(id, stale(lost().greet().client(call(1, "x"))), "of the lost one");
    passes(id, stale(lost().greet().client(call(1, "x"))).verb("GET"));
    // The stream may be opened again before the client has read the id of the new session.
    let renewing = lost().client(initialize(2, "2025-11-25"));
    let renewing = renewing.server(result(2, json!({"protocolVersion": "2025-11-25", "capabilities": {}})));
    let renewed = stale(renewing.opens("session-9")).client(note("notifications/initialized"));
    passes(id, renewed.with("mcp-session-id", "session-9").client(call(3, "x")).with("mcp-session-id", "session-9"));
}

#[test]
fn what_is_no_part_of_the_session_needs_no_id() {
    let id = "http-session-echoed";
    let probe = || greeted().client(modern(9, "server/discover", json!({}))).status(400);
    passes(id, probe().greet().client(call(1, "x")));
    let registration = greeted().client(json!({"redirect_uris": []})).without("mcp-session-id");
    let mut evidence = registration.build();
    let request = http_of_latest(&mut evidence);
    request.path = Some("/register".to_owned());
    let judged = outcome("http-session-echoed", &evidence);
    assert!(matches!(judged, crate::judge::check::CheckOutcome::Passed { .. }), "{judged:?}");
}

#[test]
fn a_session_is_ended_by_delete() {
    let id = "session-ended";
    passes(id, greeted().client(call(1, "x")).verb("DELETE").status(405));
    fails(id, greeted().client(call(1, "x")).server(error(1, -1)), "`session-1` was not closed");
    // The first of two sessions is no longer needed either.
    fails(id, greeted().greet().verb("DELETE"), "`session-1` was not closed");
    blocked(id, EvidenceBuilder::http(LATEST).client(initialize(0, "2025-11-25")));
    not_applicable(id, EvidenceBuilder::stdio(LATEST).greet());
}

#[test]
fn nobody_can_end_a_session_that_is_gone() {
    let id = "session-ended";
    passes(id, greeted().client(call(1, "x")).status(404).greet().verb("DELETE"));
    not_applicable(id, greeted().killed());
    blocked(id, greeted().on(0).mark(ConnectionEvent::Exit));
}
