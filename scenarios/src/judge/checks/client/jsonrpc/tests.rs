use mock_servers::Mark;
use serde_json::{Value, json};

use crate::{
    judge::checks::testing::{
        Story, broken, call, cancel, error, held, initialize, modern, note, request, result, silent,
    },
    model::Revision,
};

const LATEST: Revision = Revision::V2025_11_25;

#[test]
fn sound_messages_of_every_kind_are_json_rpc() {
    let id = "messages-are-jsonrpc";
    for story in Story::legacy() {
        let story = story.client(call("a", "x")).client(request(2.0, "ping", json!({})));
        let story = story.client(result(7, json!({}))).client(error(Value::Null, -32700));
        held(id, story.client(json!({"jsonrpc": "2.0", "error": {"code": -1, "message": ""}})));
    }
    silent(id, Story::stdio(LATEST));
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
        broken("messages-are-jsonrpc", Story::stdio(LATEST).greet().client(message), words);
    }
}

#[test]
fn batches_exist_in_one_revision() {
    let id = "messages-are-jsonrpc";
    let batch = json!([call(1, "x"), note("notifications/roots/list_changed")]);
    held(id, Story::stdio(Revision::V2025_03_26).greet().client(batch.clone()));
    for revision in [Revision::V2025_06_18, LATEST, Revision::V2026_07_28] {
        broken(id, Story::stdio(revision).client(batch.clone()), "batch");
    }
    // What was negotiated counts, not what was asked for.
    let older = Story::stdio(LATEST).client(initialize(0, "2025-11-25"));
    let older = older.server(result(0, json!({"protocolVersion": "2025-03-26", "capabilities": {}})));
    held(id, older.client(batch));
    broken(id, Story::stdio(Revision::V2025_03_26).greet().client(json!([])), "empty");
    broken(id, Story::stdio(Revision::V2025_03_26).client(json!([initialize(0, "2025-03-26")])), "initialize");
}

#[test]
fn what_is_posted_to_an_authorization_server_is_no_json_rpc() {
    held("messages-are-jsonrpc", Story::http(LATEST).greet().client(json!({"redirect_uris": []})));
}

#[test]
fn standard_input_holds_messages_only() {
    let id = "stdin-holds-only-messages";
    held(id, Story::stdio(LATEST).greet());
    held(id, Story::stdio(LATEST).greet().text("  "));
    broken(id, Story::stdio(LATEST).text("starting...").greet(), "starting");
    silent(id, Story::http(LATEST).greet());
}

#[test]
fn a_killed_client_may_stop_in_the_middle_of_a_line() {
    let id = "stdin-holds-only-messages";
    let torn = || Story::stdio(LATEST).greet().text("{\"jsonrpc\": \"2.");
    held(id, torn().mark(Mark::ClosedByPeer).killed());
    broken(id, torn().mark(Mark::ClosedByPeer).ends(|_| {}), "jsonrpc");
    broken(id, torn().client(call(1, "x")).killed(), "jsonrpc");
}

#[test]
fn a_message_too_long_to_be_kept_is_not_held_against_the_client() {
    held("stdin-holds-only-messages", Story::stdio(LATEST).greet().text("{\"jsonrpc\"[cut: 9 bytes more]"));
}

#[test]
fn an_id_is_used_once_in_a_session() {
    let id = "request-ids-unique";
    for story in Story::legacy() {
        held(id, story.client(call(1, "x")).server(result(1, json!({}))).client(call("1", "x")));
    }
    for story in Story::legacy() {
        broken(id, story.client(call(1, "x")).server(result(1, json!({}))).client(call(1, "y")), "the id `1`");
    }
}

#[test]
fn another_session_counts_anew() {
    let id = "request-ids-unique";
    let again = Story::stdio(LATEST).greet().client(call(1, "x")).mark(Mark::ClosedByPeer).on(2).greet();
    held(id, again.client(call(1, "x")));
    held(id, Story::http(LATEST).greet().client(call(1, "x")).greet().client(call(1, "x")));
    let two = Story::stdio(LATEST).at("one").greet().at("two").greet();
    held(id, two.at("one").client(call(1, "x")).at("two").client(call(1, "x")));
    held(id, Story::sse().greet().client(call(1, "x")).stream("/messages?session=2").greet().client(call(1, "x")));
}

#[test]
fn a_probe_stands_apart_from_the_session_that_follows() {
    let probe = Story::stdio(LATEST).client(modern(0, "server/discover", json!({}))).server(error(0, -32601));
    held("request-ids-unique", probe.greet().client(call(1, "x")));
}

#[test]
fn a_handshake_that_is_tried_again_may_take_the_same_id() {
    let refused = Story::stdio(LATEST).client(initialize(0, "2025-11-25")).server(error(0, -32602));
    held("request-ids-unique", refused.greet());
}

#[test]
fn a_message_belongs_to_the_stream_that_it_was_posted_for() {
    let two = Story::sse().greet().client(call(1, "x")).stream("/messages?session=2").greet().client(call(1, "y"));
    let mut evidence = two.told();
    let last = evidence.frames.last_mut().and_then(|frame| frame.http.as_mut()).unwrap();
    last.path = Some("/messages?session=1".to_owned());
    let ruling = super::request_ids_unique(&evidence);
    assert!(matches!(ruling, crate::judge::check::Ruling::Broken { .. }), "{ruling:?}");
}

#[test]
fn http_may_lose_a_request_that_is_then_sent_again() {
    let id = "request-ids-unique";
    held(id, Story::http(LATEST).greet().client(call(1, "x")).status(401).client(call(1, "x")));
    broken(id, Story::http(LATEST).greet().client(call(1, "x")).status(401).client(call(1, "y")), "the id `1`");
    broken(id, Story::stdio(LATEST).greet().client(call(1, "x")).client(call(1, "x")), "the id `1`");
}

#[test]
fn since_2026_an_id_is_free_again_once_it_is_answered() {
    let id = "request-ids-unique";
    let ask = || Story::stdio(Revision::V2026_07_28).client(modern(1, "tools/list", json!({})));
    held(id, ask().server(result(1, json!({}))).client(modern(1, "tools/list", json!({}))));
    held(id, ask().client(cancel(1)).client(modern(1, "tools/list", json!({}))));
    broken(id, ask().client(modern(1, "tools/list", json!({}))), "the id `1`");
}
