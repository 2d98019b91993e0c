use serde_json::{Value, json};

use crate::{
    judge::checks::testing::{EvidenceBuilder, fails, modern, not_applicable, passes, result},
    model::Revision,
};

const MODERN: Revision = Revision::V2026_07_28;

fn required(id: u64, state: Option<&str>) -> Value {
    let form = json!({"method": "elicitation/create", "params": {"message": "?", "requestedSchema": {}}});
    let mut required = json!({"resultType": "input_required", "inputRequests": {"one": form}});
    if let Some(state) = state {
        required["requestState"] = json!(state);
    }
    result(id, required)
}

fn call(id: u64, tool: &str, state: Option<&str>, answers: Value) -> Value {
    let mut params = json!({"name": tool, "arguments": {"a": 1}});
    if let Some(state) = state {
        params["requestState"] = json!(state);
    }
    if !answers.is_null() {
        params["inputResponses"] = answers;
    }
    modern(id, "tools/call", params)
}

fn answered() -> Value {
    json!({"one": {"action": "decline"}})
}

fn asked(state: Option<&str>) -> EvidenceBuilder {
    EvidenceBuilder::stdio(MODERN).client(call(1, "x", None, Value::Null)).server(required(1, state))
}

#[test]
fn the_state_is_repeated() {
    let id = "retry-echoes-state";
    passes(id, asked(Some("s")).client(call(2, "x", Some("s"), answered())));
    passes(id, asked(None).client(call(2, "x", None, answered())));
    fails(id, asked(Some("s")).client(call(2, "x", Some("t"), answered())), "is \"t\", that of the result is \"s\"");
    fails(id, asked(Some("s")).client(call(2, "x", None, answered())), "is missing");
    fails(id, asked(None).client(call(2, "x", Some("t"), answered())), "that of the result is missing");
    // A second call without input is not a retry.
    not_applicable(id, asked(Some("s")).client(call(2, "x", None, Value::Null)));
}

#[test]
fn input_belongs_to_its_request() {
    let id = "input-only-for-its-request";
    let two = || asked(Some("s")).client(call(2, "y", None, Value::Null)).server(required(2, Some("t")));
    passes(id, two().client(call(3, "y", Some("t"), answered())).client(call(4, "x", Some("s"), answered())));
    fails(id, two().client(call(3, "y", Some("s"), answered())), "another request");
    fails(id, two().client(call(3, "z", None, answered())), "required input");
}

#[test]
fn each_input_request_has_a_response_of_its_kind() {
    let id = "retry-has-all-responses";
    passes(id, asked(Some("s")).client(call(2, "x", Some("s"), json!({"one": {"action": "cancel"}, "older": {}}))));
    fails(
        id,
        asked(Some("s")).client(call(2, "x", Some("s"), json!({}))),
        "one: `elicitation/create` was not answered",
    );
    fails(id, asked(Some("s")).client(call(2, "x", Some("s"), json!({"one": {"action": "maybe"}}))), "/action");
    fails(id, asked(Some("s")).client(call(2, "x", Some("s"), json!({"one": {"roots": []}}))), "/action");
}

#[test]
fn a_retry_answers_only_the_input_requests_of_its_result() {
    let id = "retry-answers-only-input-requests";
    let more = || json!({"one": {"action": "cancel"}, "older": {"action": "cancel"}});
    passes(id, asked(Some("s")).client(call(2, "x", Some("s"), answered())));
    passes(id, asked(Some("s")).client(call(2, "x", Some("s"), Value::Null)));
    fails(id, asked(Some("s")).client(call(2, "x", Some("s"), more())), "no input `\"older\"`");
    // The server has nothing but the request.
    passes(id, asked(None).client(call(2, "x", None, more())));
}

#[test]
fn a_retry_has_a_new_id() {
    let id = "retry-has-a-new-id";
    passes(id, asked(None).client(call(2, "x", None, answered())));
    fails(id, asked(None).client(call(1, "x", None, answered())), "the id `1` was used again");
}

#[test]
fn a_response_of_another_server_with_the_same_id_is_none() {
    let id = "input-only-for-its-request";
    let two = || EvidenceBuilder::stdio(MODERN).at("a").client(call(1, "x", None, Value::Null)).at("b");
    let asked = || two().client(call(1, "x", None, Value::Null)).at("a").server(required(1, Some("s")));
    passes(id, asked().client(call(2, "x", Some("s"), answered())));
    fails(id, asked().at("b").client(call(2, "x", Some("s"), answered())), "no result of this request");
}
