use serde_json::{Value, json};

use crate::{
    judge::checks::testing::{EvidenceBuilder, cancel, error, fails, modern, not_applicable, passes, request, result},
    model::Revision,
};

fn call(id: u64, token: Value) -> Value {
    request(id, "tools/call", json!({"name": "x", "_meta": {"progressToken": token}}))
}

#[test]
fn open_requests_have_different_tokens() {
    let id = "progress-tokens-unique";
    for story in EvidenceBuilder::legacy() {
        passes(id, story.client(call(1, json!("a"))).client(call(2, json!("b"))).client(call(3, json!(1))));
    }
    for story in EvidenceBuilder::legacy() {
        passes(id, story.client(call(1, json!("a"))).server(error(1, -1)).client(call(2, json!("a"))));
    }
    for story in EvidenceBuilder::legacy() {
        passes(id, story.client(call(1, json!("a"))).client(cancel(1)).client(call(2, json!("a"))));
    }
    for story in EvidenceBuilder::legacy() {
        fails(
            id,
            story.client(call(1, json!(5))).client(call(2, json!(5))),
            "the token `5` belongs to an open request",
        );
    }
    not_applicable(id, EvidenceBuilder::stdio(Revision::V2025_11_25).greet());
}

#[test]
fn a_closed_exchange_frees_its_token() {
    let id = "progress-tokens-unique";
    let call = |id: u64| modern(id, "tools/call", json!({"name": "x"}));
    let token = |id: u64| {
        let mut message = call(id);
        message["params"]["_meta"]["progressToken"] = json!("a");
        message
    };
    let story = || EvidenceBuilder::http(Revision::V2026_07_28).client(token(1));
    passes(id, story().mark(evidence::ConnectionEvent::ClosedByPeer).client(token(2)));
    passes(id, story().status(503).client(token(1)));
    fails(id, story().client(token(2)), "belongs to an open request");
}

#[test]
fn progress_names_a_token_of_the_server() {
    let id = "client-progress-is-wanted";
    let progress = |token: &str| {
        let params = json!({"progressToken": token, "progress": 1});
        json!({"jsonrpc": "2.0", "method": "notifications/progress", "params": params})
    };
    let asked = || {
        let sampling = request("s", "sampling/createMessage", json!({"_meta": {"progressToken": "t"}}));
        EvidenceBuilder::stdio(Revision::V2025_11_25).greet().server(sampling)
    };
    passes(id, asked().client(progress("t")).client(result("s", json!({}))));
    fails(id, asked().client(progress("u")), "no request has the token `\"u\"`");
}

#[test]
fn progress_of_the_client_increases() {
    let id = "client-progress-increases";
    let progress = |token: &str, progress: f64| {
        let params = json!({ "progressToken": token, "progress": progress });
        json!({ "jsonrpc": "2.0", "method": "notifications/progress", "params": params })
    };
    let story = |values: &[(&str, f64)]| {
        let greeted = EvidenceBuilder::stdio(Revision::V2025_11_25).greet();
        values.iter().fold(greeted, |story, (token, value)| story.client(progress(token, *value)))
    };
    passes(id, story(&[("a", 0.0), ("b", 0.0), ("a", 0.5), ("b", 7.0)]));
    fails(id, story(&[("a", 0.5), ("a", 0.5)]), "progress 0.5 follows 0.5");
    fails(id, story(&[("a", 2.0), ("b", 3.0), ("a", 1.0)]), "progress 1 follows 2");
    not_applicable(id, story(&[]));
    let again = request("s", "sampling/createMessage", json!({"_meta": {"progressToken": "a"}}));
    passes(id, story(&[("a", 2.0)]).server(again).client(progress("a", 1.0)));
    let http = || EvidenceBuilder::http(Revision::V2025_11_25).greet().client(progress("a", 2.0));
    passes(id, http().client(progress("a", 1.0)));
    fails(id, http().status(202).client(progress("a", 1.0)), "progress 1 follows 2");
}
