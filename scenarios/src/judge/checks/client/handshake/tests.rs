use evidence::ConnectionEvent;
use serde_json::{Value, json};

use crate::{
    judge::checks::testing::{
        EvidenceBuilder, blocked, call, cancel, error, fails, initialize, modern, not_applicable, note, passes,
        request, result,
    },
    model::Revision,
};

const LATEST: Revision = Revision::V2025_11_25;

fn ping(id: u64) -> Value {
    json!({"jsonrpc": "2.0", "id": id, "method": "ping"})
}

fn agreed(id: u64, revision: &str) -> Value {
    result(id, json!({"protocolVersion": revision, "capabilities": {"tools": {}}}))
}

#[test]
fn a_session_begins_with_initialize() {
    let id = "initialize-first";
    for story in EvidenceBuilder::legacy() {
        passes(id, story.client(call(1, "x")));
    }
    for story in [EvidenceBuilder::stdio(LATEST), EvidenceBuilder::http(LATEST), EvidenceBuilder::sse()] {
        fails(id, story.client(call(1, "x")).greet(), "`tools/call` was sent before");
    }
    fails(id, EvidenceBuilder::stdio(LATEST).client(note("notifications/initialized")).greet(), "initialized");
    not_applicable(id, EvidenceBuilder::stdio(Revision::V2026_07_28).client(modern(1, "tools/list", json!({}))));
}

#[test]
fn pings_probes_and_withdrawn_probes_may_go_before() {
    for story in [EvidenceBuilder::stdio(LATEST), EvidenceBuilder::http(LATEST)] {
        let story = story.client(ping(90)).client(modern(91, "server/discover", json!({})));
        passes("initialize-first", story.client(cancel(91)).client(modern(92, "tools/list", json!({}))).greet());
    }
}

#[test]
fn initialize_is_sent_once_in_a_session() {
    let id = "initialize-first";
    fails(id, EvidenceBuilder::stdio(LATEST).greet().client(initialize(5, "2025-11-25")), "again");
    // Another try after a refusal, another process, and a session that was lost are new beginnings.
    passes(id, EvidenceBuilder::stdio(LATEST).client(initialize(0, "2026-01-01")).server(error(0, -32602)).greet());
    passes(id, EvidenceBuilder::stdio(LATEST).greet().mark(ConnectionEvent::Exit).on(2).greet());
    passes(id, EvidenceBuilder::http(LATEST).greet().client(call(1, "x")).status(404).greet().client(call(1, "x")));
    passes(id, EvidenceBuilder::stdio(LATEST).at("one").greet().at("two").greet());
}

#[test]
fn nothing_but_pings_is_asked_while_initialize_is_open() {
    let id = "waits-for-initialize-result";
    let open = || EvidenceBuilder::stdio(LATEST).client(initialize(0, "2025-11-25"));
    passes(id, open().client(ping(1)).server(agreed(0, "2025-11-25")).client(call(2, "x")));
    fails(id, open().client(call(1, "x")).server(agreed(0, "2025-11-25")), "`tools/call`");
    fails(id, open().client(request(1, "tools/list", json!({}))), "`tools/list`");
    passes(id, open().client(modern(1, "server/discover", json!({}))));
}

#[test]
fn initialized_goes_before_every_other_request() {
    let id = "initialized-before-operation";
    for story in EvidenceBuilder::legacy() {
        passes(id, story.client(call(1, "x")));
    }
    let early = |story: EvidenceBuilder| story.client(initialize(0, "2025-11-25")).server(agreed(0, "2025-11-25"));
    fails(id, early(EvidenceBuilder::stdio(LATEST)).client(call(1, "x")), "`tools/call`");
    let late = early(EvidenceBuilder::stdio(LATEST)).client(call(1, "x")).client(note("notifications/initialized"));
    fails(id, late, "`tools/call`");
    passes(id, early(EvidenceBuilder::stdio(LATEST)).client(ping(1)).client(note("notifications/initialized")));
}

#[test]
fn two_posts_may_overtake_each_other() {
    let id = "initialized-before-operation";
    let early = || {
        EvidenceBuilder::http(LATEST)
            .client(initialize(0, "2025-11-25"))
            .server(agreed(0, "2025-11-25"))
            .client(call(1, "x"))
    };
    passes(id, early().client(note("notifications/initialized")));
    fails(id, early().wait(400).client(note("notifications/initialized")), "`tools/call`");
}

#[test]
fn a_client_that_leaves_at_once_owes_no_initialized() {
    let story = EvidenceBuilder::stdio(LATEST).client(initialize(0, "2025-11-25")).server(agreed(0, "1999-01-01"));
    not_applicable("initialized-before-operation", story.mark(ConnectionEvent::ClosedByPeer));
}

#[test]
fn initialize_says_who_asks_for_what() {
    let id = "initialize-params";
    passes(id, EvidenceBuilder::stdio(LATEST).greet());
    for (member, words) in
        [("protocolVersion", "protocolVersion"), ("capabilities", "capabilities"), ("clientInfo", "name")]
    {
        let mut message = initialize(0, "2025-11-25");
        message["params"][member] = Value::Null;
        fails(id, EvidenceBuilder::stdio(LATEST).client(message), words);
    }
    let mut message = initialize(0, "2025-11-25");
    message["params"]["clientInfo"] = json!({"name": "x"});
    fails(id, EvidenceBuilder::stdio(LATEST).client(message), "version");
}

#[test]
fn only_what_was_declared_is_used() {
    let id = "uses-negotiated-capabilities";
    passes(id, EvidenceBuilder::stdio(LATEST).greet().client(call(1, "x")).client(ping(2)));
    fails(id, EvidenceBuilder::stdio(LATEST).greet_with(json!({})).client(call(1, "x")), "`tools`");
    let subscribe = request(1, "resources/subscribe", json!({"uri": "a:b"}));
    fails(
        id,
        EvidenceBuilder::stdio(LATEST).greet_with(json!({"resources": {}})).client(subscribe.clone()),
        "resources/subscribe",
    );
    passes(id, EvidenceBuilder::stdio(LATEST).greet_with(json!({"resources": {"subscribe": true}})).client(subscribe));
    // In the older revisions this was advice.
    not_applicable(id, EvidenceBuilder::stdio(Revision::V2025_03_26).greet_with(json!({})).client(call(1, "x")));
}

#[test]
fn a_failed_handshake_is_not_gone_on_with() {
    let id = "no-request-after-failure";
    let failed = || EvidenceBuilder::stdio(LATEST).client(initialize(0, "2025-11-25")).server(agreed(0, "1999-01-01"));
    passes(id, failed().mark(ConnectionEvent::ClosedByPeer));
    fails(id, failed().client(note("notifications/initialized")), "1999-01-01");
    fails(id, failed().client(call(1, "x")), "`tools/call`");
    let refused = || EvidenceBuilder::stdio(LATEST).client(initialize(0, "2025-11-25")).server(error(0, -32602));
    fails(id, refused().client(call(1, "x")), "error");
    // Another try is no going on.
    passes(id, refused().greet().client(call(1, "x")));
    passes(id, refused().client(modern(1, "server/discover", json!({}))).client(modern(2, "tools/list", json!({}))));
    blocked(id, EvidenceBuilder::stdio(LATEST).greet());
    // An older revision that exists is a good answer.
    blocked(id, EvidenceBuilder::stdio(LATEST).client(initialize(0, "2025-11-25")).server(agreed(0, "2024-11-05")));
}

#[test]
fn a_later_handshake_requests_no_older_revision() {
    let id = "requests-its-latest-revision";
    let first = |answer: Value| EvidenceBuilder::stdio(LATEST).client(initialize(0, "2025-11-25")).server(answer);
    let again = |story: EvidenceBuilder, revision: &str| {
        story.mark(ConnectionEvent::Exit).on(2).client(initialize(1, revision)).server(agreed(1, revision))
    };
    passes(id, again(first(agreed(0, "2025-11-25")), "2025-11-25"));
    fails(id, again(first(agreed(0, "2025-11-25")), "2024-11-05"), "2024-11-05 after 2025-11-25");
    // The server offered the older one, or rejected the newer one.
    passes(id, again(first(agreed(0, "2025-06-18")), "2025-06-18"));
    passes(id, again(first(error(0, -32602)), "2024-11-05"));
    not_applicable(id, first(agreed(0, "2025-11-25")));
    // The client supports the newer one too, or not.
    let older = || EvidenceBuilder::stdio(LATEST).client(initialize(0, "2024-11-05")).server(agreed(0, "2025-11-25"));
    fails(
        id,
        older().client(note("notifications/initialized")),
        "requests 2024-11-05, and the client goes on with 2025-11-25",
    );
    not_applicable(id, older().mark(ConnectionEvent::ClosedByPeer));
}
