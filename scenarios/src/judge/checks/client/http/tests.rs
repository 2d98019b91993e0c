use mock_servers::Mark;
use serde_json::json;

use crate::{
    judge::checks::testing::{Story, blocked, broken, call, error, held, initialize, modern, result, silent},
    model::Revision,
};

const LATEST: Revision = Revision::V2025_11_25;

fn greeted() -> Story {
    Story::http(LATEST).greet()
}

#[test]
fn both_kinds_of_answer_are_accepted() {
    let id = "http-accept";
    held(id, greeted().verb("GET").verb("DELETE").without("accept"));
    held(id, greeted().client(call(1, "x")).with("accept", "Text/Event-Stream;q=0.9 , application/json"));
    for accept in ["application/json", "text/event-stream", "*/*", "application/jsonp, text/event-stream"] {
        broken(id, greeted().client(call(1, "x")).with("accept", accept), "without");
    }
    broken(id, greeted().client(call(1, "x")).without("accept"), "no Accept");
    broken(id, greeted().verb("GET").with("accept", "application/json"), "a GET");
    silent(id, Story::sse().greet().client(call(1, "x")).without("accept"));
    silent(id, Story::stdio(LATEST).greet());
}

#[test]
fn a_body_is_called_what_it_is() {
    let id = "http-content-type";
    held(id, greeted().client(call(1, "x")).with("content-type", "application/json; charset=utf-8"));
    broken(id, greeted().client(call(1, "x")).with("content-type", "text/plain"), "text/plain");
    broken(id, Story::sse().greet().client(call(1, "x")).without("content-type"), "Content-Type");
    silent(id, Story::stdio(LATEST).greet());
}

#[test]
fn the_revision_is_named_after_the_handshake() {
    let id = "http-revision-header";
    held(id, greeted().client(call(1, "x")).verb("DELETE"));
    broken(id, greeted().client(call(1, "x")).without("mcp-protocol-version"), "a POST has no");
    broken(id, greeted().verb("DELETE").without("mcp-protocol-version"), "a DELETE has no");
    silent(id, Story::http(Revision::V2025_03_26).greet().client(call(1, "x")).without("mcp-protocol-version"));
    silent(id, Story::http(LATEST).client(initialize(0, "2025-11-25")));
}

#[test]
fn the_revision_named_is_the_one_agreed_on() {
    let id = "speaks-negotiated-revision";
    held(id, greeted().client(call(1, "x")));
    broken(id, greeted().client(call(1, "x")).with("mcp-protocol-version", "2025-06-18"), "`2025-06-18`");
    // The server's word counts, not the client's.
    let agreed = result(0, json!({"protocolVersion": "2025-06-18", "capabilities": {}}));
    let older = || Story::http(LATEST).client(initialize(0, "2025-11-25")).server(agreed.clone()).opens("s");
    held(id, older().client(call(1, "x")).with("mcp-protocol-version", "2025-06-18"));
    broken(id, older().client(call(1, "x")).with("mcp-protocol-version", "2025-11-25"), "2025-06-18 was negotiated");
}

#[test]
fn the_session_is_on_every_request() {
    let id = "http-session-echoed";
    held(id, greeted().client(call(1, "x")).verb("GET").verb("DELETE"));
    broken(id, greeted().client(call(1, "x")).without("mcp-session-id"), "a POST carries no session id");
    broken(id, greeted().verb("GET").without("mcp-session-id"), "a GET carries no session id");
    broken(id, greeted().client(call(1, "x")).with("mcp-session-id", "other"), "`other`");
    broken(id, Story::http(LATEST).client(initialize(0, "2025-11-25")).with("mcp-session-id", "old"), "`initialize`");
    silent(id, Story::stdio(LATEST).greet());
}

#[test]
fn a_session_that_was_lost_is_followed_by_another() {
    let id = "http-session-echoed";
    let again = greeted().client(call(1, "x")).status(404).greet().client(call(1, "x"));
    // A request that was under way with the old id is no mistake.
    held(id, again.client(call(2, "y")).with("mcp-session-id", "session-1"));
}

#[test]
fn what_is_no_part_of_the_session_needs_no_id() {
    let id = "http-session-echoed";
    let probe = || greeted().client(modern(9, "server/discover", json!({}))).status(400);
    held(id, probe().greet().client(call(1, "x")));
    let registration = greeted().client(json!({"redirect_uris": []})).without("mcp-session-id");
    let mut evidence = registration.told();
    let request = evidence.frames.last_mut().and_then(|frame| frame.http.as_mut()).unwrap();
    request.path = Some("/register".to_owned());
    let judged = super::http_session_echoed(&evidence);
    assert!(matches!(judged, crate::judge::check::Ruling::Held { .. }), "{judged:?}");
}

#[test]
fn a_session_is_ended_by_delete() {
    let id = "session-ended";
    held(id, greeted().client(call(1, "x")).verb("DELETE").status(405));
    broken(id, greeted().client(call(1, "x")).server(error(1, -1)), "`session-1` was never ended");
    // The first of two sessions is no longer needed either.
    broken(id, greeted().greet().verb("DELETE"), "`session-1` was never ended");
    blocked(id, Story::http(LATEST).client(initialize(0, "2025-11-25")));
    silent(id, Story::stdio(LATEST).greet());
}

#[test]
fn nobody_can_end_a_session_that_is_gone() {
    let id = "session-ended";
    held(id, greeted().client(call(1, "x")).status(404).greet().verb("DELETE"));
    silent(id, greeted().killed());
    blocked(id, greeted().on(0).mark(Mark::Exit));
}
