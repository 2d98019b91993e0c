use evidence::ConnectionEvent;
use serde_json::{Value, json};

use crate::{
    judge::checks::testing::{
        EvidenceBuilder, call, cancel, error, fails, http_of_latest, initialize, modern, not_applicable, note, outcome,
        passes, request, result,
    },
    model::Revision,
};

const LATEST: Revision = Revision::V2025_11_25;

#[test]
fn sound_messages_of_every_kind_are_json_rpc() {
    let id = "messages-are-jsonrpc";
    for story in EvidenceBuilder::legacy() {
        let story = story.client(call("a", "x")).client(request(2.0, "ping", json!({})));
        let story = story.client(result(7, json!({}))).client(error(Value::Null, -32700));
        passes(id, story.client(json!({"jsonrpc": "2.0", "error": {"code": -1, "message": ""}})));
    }
    not_applicable(id, EvidenceBuilder::stdio(LATEST));
}

#[test]
fn each_departure_from_json_rpc_is_found() {
    for (message, words) in [
        (json!({"id": 1, "method": "ping"}), "jsonrpc"),
        (json!({"jsonrpc": 2.0, "id": 1, "method": "ping"}), "jsonrpc"),
        (request(Value::Null, "ping", json!({})), "the id `null`"),
        (request(1.5, "ping", json!({})), "the id `1.5`"),
        (request(true, "ping", json!({})), "the id `true`"),
        (request(1, "ping", json!([])), "params"),
        (request(1, "ping", Value::Null), "params"),
        (json!({"jsonrpc": "2.0", "id": 1, "method": 5}), "method"),
        (
            json!({"jsonrpc": "2.0", "id": 1, "result": {}, "error": {"code": 1, "message": ""}}),
            "a result and an error",
        ),
        (json!({"jsonrpc": "2.0", "id": 1, "method": "ping", "result": {}}), "a request and a response"),
        (json!({"jsonrpc": "2.0", "id": 1}), "neither"),
        (result(Value::Null, json!({})), "no id"),
        (result(1, json!("text")), "not an object"),
        (json!({"jsonrpc": "2.0", "id": 1, "error": {"code": "x", "message": ""}}), "code"),
        (json!("hello"), "not an object"),
    ] {
        fails("messages-are-jsonrpc", EvidenceBuilder::stdio(LATEST).greet().client(message), words);
    }
}

#[test]
fn batches_exist_in_one_revision() {
    let id = "messages-are-jsonrpc";
    let batch = json!([call(1, "x"), note("notifications/roots/list_changed")]);
    passes(id, EvidenceBuilder::stdio(Revision::V2025_03_26).greet().client(batch.clone()));
    for revision in [Revision::V2025_06_18, LATEST, Revision::V2026_07_28] {
        fails(id, EvidenceBuilder::stdio(revision).client(batch.clone()), "batch");
    }
    // What was negotiated counts, not what was asked for.
    let older = EvidenceBuilder::stdio(LATEST).client(initialize(0, "2025-11-25"));
    let older = older.server(result(0, json!({"protocolVersion": "2025-03-26", "capabilities": {}})));
    passes(id, older.client(batch));
    fails(id, EvidenceBuilder::stdio(Revision::V2025_03_26).greet().client(json!([])), "empty");
    fails(id, EvidenceBuilder::stdio(Revision::V2025_03_26).client(json!([initialize(0, "2025-03-26")])), "initialize");
}

#[test]
fn what_is_posted_to_an_authorization_server_is_no_json_rpc() {
    passes("messages-are-jsonrpc", EvidenceBuilder::http(LATEST).greet().client(json!({"redirect_uris": []})));
    let answer = EvidenceBuilder::http(LATEST).greet().client(json!({"id": 1, "result": {}}));
    fails("messages-are-jsonrpc", answer, "jsonrpc");
}

#[test]
fn standard_input_holds_messages_only() {
    let id = "stdin-holds-only-messages";
    passes(id, EvidenceBuilder::stdio(LATEST).greet());
    fails(id, EvidenceBuilder::stdio(LATEST).greet().text(""), "an empty line");
    fails(id, EvidenceBuilder::stdio(LATEST).text("starting...").greet(), "starting");
    not_applicable(id, EvidenceBuilder::http(LATEST).greet());
}

#[test]
fn a_killed_client_may_stop_in_the_middle_of_a_line() {
    let id = "stdin-holds-only-messages";
    let torn = || EvidenceBuilder::stdio(LATEST).greet().text("{\"jsonrpc\": \"2.");
    passes(id, torn().mark(ConnectionEvent::ClosedByPeer).killed());
    fails(id, torn().mark(ConnectionEvent::ClosedByPeer).ends(|_| {}), "jsonrpc");
    fails(id, torn().client(call(1, "x")).killed(), "jsonrpc");
}

#[test]
fn a_message_too_long_to_be_kept_is_not_held_against_the_client() {
    passes("stdin-holds-only-messages", EvidenceBuilder::stdio(LATEST).greet().text("{\"jsonrpc\"[cut: 9 bytes more]"));
}

#[test]
fn an_id_is_used_once_in_a_session() {
    let id = "request-ids-unique";
    for story in EvidenceBuilder::legacy() {
        passes(id, story.client(call(1, "x")).server(result(1, json!({}))).client(call("1", "x")));
    }
    for story in EvidenceBuilder::legacy() {
        fails(id, story.client(call(1, "x")).server(result(1, json!({}))).client(call(1, "y")), "the id `1`");
    }
}

#[test]
fn a_message_that_http_lost_may_be_sent_again() {
    let id = "request-ids-unique";
    let sent = || EvidenceBuilder::http(LATEST).greet().client(call(1, "x"));
    passes(id, sent().status(401).client(call(1, "x")));
    passes(id, sent().client(call(1, "x")));
    // The response had begun, so the server has the request.
    let begun = sent().server(json!({"jsonrpc": "2.0", "method": "notifications/progress"}));
    fails(id, begun.client(call(1, "x")), "the id `1`");
}

#[test]
fn another_session_counts_anew() {
    let id = "request-ids-unique";
    let again =
        EvidenceBuilder::stdio(LATEST).greet().client(call(1, "x")).mark(ConnectionEvent::ClosedByPeer).on(2).greet();
    passes(id, again.client(call(1, "x")));
    passes(id, EvidenceBuilder::http(LATEST).greet().client(call(1, "x")).greet().client(call(1, "x")));
    let two = EvidenceBuilder::stdio(LATEST).at("one").greet().at("two").greet();
    passes(id, two.at("one").client(call(1, "x")).at("two").client(call(1, "x")));
    passes(
        id,
        EvidenceBuilder::sse().greet().client(call(1, "x")).stream("/messages?session=2").greet().client(call(1, "x")),
    );
}

#[test]
fn a_probe_stands_apart_from_the_session_that_follows() {
    let probe = EvidenceBuilder::stdio(LATEST).client(modern(0, "server/discover", json!({}))).server(error(0, -32601));
    passes("request-ids-unique", probe.greet().client(call(1, "x")));
}

#[test]
fn a_handshake_that_is_tried_again_may_take_the_same_id() {
    let refused = EvidenceBuilder::stdio(LATEST).client(initialize(0, "2025-11-25")).server(error(0, -32602));
    passes("request-ids-unique", refused.greet());
}

#[test]
fn a_message_belongs_to_the_stream_that_it_was_posted_for() {
    let first = |endpoint: &str| EvidenceBuilder::sse().stream(endpoint).greet().client(call(1, "x"));
    for (endpoint, posted_to) in [
        ("/messages?session=1", "/messages?session=1"),
        ("http://localhost/messages?session=1", "/messages?session=1"),
        ("messages?session=1", "/mcp/messages?session=1"),
    ] {
        let mut evidence = first(endpoint).stream("/messages?session=2").greet().client(call(1, "y")).build();
        http_of_latest(&mut evidence).path = Some(posted_to.to_owned());
        let judged = outcome("request-ids-unique", &evidence);
        assert!(matches!(judged, crate::judge::check::CheckOutcome::Failed { .. }), "{endpoint}: {judged:?}");
    }
}

#[test]
fn http_may_lose_a_request_that_is_then_sent_again() {
    let id = "request-ids-unique";
    passes(id, EvidenceBuilder::http(LATEST).greet().client(call(1, "x")).status(401).client(call(1, "x")));
    fails(
        id,
        EvidenceBuilder::http(LATEST).greet().client(call(1, "x")).status(401).client(call(1, "y")),
        "the id `1`",
    );
    fails(id, EvidenceBuilder::stdio(LATEST).greet().client(call(1, "x")).client(call(1, "x")), "the id `1`");
}

#[test]
fn since_2026_an_id_is_free_again_once_it_is_answered() {
    let id = "request-ids-unique";
    let ask = || EvidenceBuilder::stdio(Revision::V2026_07_28).client(modern(1, "tools/list", json!({})));
    passes(id, ask().server(result(1, json!({}))).client(modern(1, "tools/list", json!({}))));
    passes(id, ask().client(cancel(1)).client(modern(1, "tools/list", json!({}))));
    fails(id, ask().client(modern(1, "tools/list", json!({}))), "the id `1`");
}

#[test]
fn a_call_whose_stream_broke_is_sent_again_with_another_id() {
    let id = "request-ids-unique";
    let ask = || modern(1, "tools/call", json!({ "name": "x" }));
    let begun = || EvidenceBuilder::http(Revision::V2026_07_28).client(ask()).server(note("notifications/message"));
    let broken = || begun().mark(ConnectionEvent::ClosedByServer);
    fails(id, broken().client(ask()), "the id `1`");
    passes(id, broken().client(modern(2, "tools/call", json!({ "name": "x" }))));
    passes(id, broken().client(modern(1, "tools/call", json!({ "name": "y" }))));
    passes(id, begun().mark(ConnectionEvent::ClosedByPeer).client(ask()));
    passes(id, begun().server(result(1, json!({}))).mark(ConnectionEvent::ClosedByServer).client(ask()));
    let rejected = EvidenceBuilder::http(Revision::V2026_07_28).client(ask()).status(401);
    passes(id, rejected.mark(ConnectionEvent::ClosedByServer).client(ask()));
}
