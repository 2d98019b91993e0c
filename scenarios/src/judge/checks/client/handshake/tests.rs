use mock_servers::Mark;
use serde_json::{Value, json};

use crate::{
    judge::checks::testing::{
        Story, blocked, broken, call, cancel, error, held, initialize, modern, note, request, result, silent,
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
    for story in Story::legacy() {
        held(id, story.client(call(1, "x")));
    }
    for story in [Story::stdio(LATEST), Story::http(LATEST), Story::sse()] {
        broken(id, story.client(call(1, "x")).greet(), "`tools/call` was sent before");
    }
    broken(id, Story::stdio(LATEST).client(note("notifications/initialized")).greet(), "initialized");
    silent(id, Story::stdio(Revision::V2026_07_28).client(modern(1, "tools/list", json!({}))));
}

#[test]
fn pings_probes_and_withdrawn_probes_may_go_before() {
    for story in [Story::stdio(LATEST), Story::http(LATEST)] {
        let story = story.client(ping(90)).client(modern(91, "server/discover", json!({})));
        held("initialize-first", story.client(cancel(91)).client(modern(92, "tools/list", json!({}))).greet());
    }
}

#[test]
fn initialize_is_sent_once_in_a_session() {
    let id = "initialize-first";
    broken(id, Story::stdio(LATEST).greet().client(initialize(5, "2025-11-25")), "again");
    // Another try after a refusal, another process, and a session that was lost are new beginnings.
    held(id, Story::stdio(LATEST).client(initialize(0, "2026-01-01")).server(error(0, -32602)).greet());
    held(id, Story::stdio(LATEST).greet().mark(Mark::Exit).on(2).greet());
    held(id, Story::http(LATEST).greet().client(call(1, "x")).status(404).greet().client(call(1, "x")));
    held(id, Story::stdio(LATEST).at("one").greet().at("two").greet());
}

#[test]
fn nothing_but_pings_is_asked_while_initialize_is_open() {
    let id = "waits-for-initialize-result";
    let open = || Story::stdio(LATEST).client(initialize(0, "2025-11-25"));
    held(id, open().client(ping(1)).server(agreed(0, "2025-11-25")).client(call(2, "x")));
    broken(id, open().client(call(1, "x")).server(agreed(0, "2025-11-25")), "`tools/call`");
    broken(id, open().client(request(1, "tools/list", json!({}))), "`tools/list`");
    held(id, open().client(modern(1, "server/discover", json!({}))));
}

#[test]
fn initialized_goes_before_every_other_request() {
    let id = "initialized-before-operation";
    for story in Story::legacy() {
        held(id, story.client(call(1, "x")));
    }
    let early = |story: Story| story.client(initialize(0, "2025-11-25")).server(agreed(0, "2025-11-25"));
    broken(id, early(Story::stdio(LATEST)).client(call(1, "x")), "`tools/call`");
    let late = early(Story::stdio(LATEST)).client(call(1, "x")).client(note("notifications/initialized"));
    broken(id, late, "`tools/call`");
    held(id, early(Story::stdio(LATEST)).client(ping(1)).client(note("notifications/initialized")));
}

#[test]
fn two_posts_may_overtake_each_other() {
    let id = "initialized-before-operation";
    let early =
        || Story::http(LATEST).client(initialize(0, "2025-11-25")).server(agreed(0, "2025-11-25")).client(call(1, "x"));
    held(id, early().client(note("notifications/initialized")));
    broken(id, early().wait(400).client(note("notifications/initialized")), "`tools/call`");
}

#[test]
fn a_client_that_leaves_at_once_owes_no_initialized() {
    let story = Story::stdio(LATEST).client(initialize(0, "2025-11-25")).server(agreed(0, "1999-01-01"));
    silent("initialized-before-operation", story.mark(Mark::ClosedByPeer));
}

#[test]
fn initialize_says_who_asks_for_what() {
    let id = "initialize-params";
    held(id, Story::stdio(LATEST).greet());
    for (member, words) in
        [("protocolVersion", "protocolVersion"), ("capabilities", "capabilities"), ("clientInfo", "name")]
    {
        let mut message = initialize(0, "2025-11-25");
        message["params"][member] = Value::Null;
        broken(id, Story::stdio(LATEST).client(message), words);
    }
    let mut message = initialize(0, "2025-11-25");
    message["params"]["clientInfo"] = json!({"name": "x"});
    broken(id, Story::stdio(LATEST).client(message), "version");
}

#[test]
fn only_what_was_declared_is_used() {
    let id = "uses-negotiated-capabilities";
    held(id, Story::stdio(LATEST).greet().client(call(1, "x")).client(ping(2)));
    broken(id, Story::stdio(LATEST).greet_with(json!({})).client(call(1, "x")), "`tools`");
    let subscribe = request(1, "resources/subscribe", json!({"uri": "a:b"}));
    broken(
        id,
        Story::stdio(LATEST).greet_with(json!({"resources": {}})).client(subscribe.clone()),
        "resources/subscribe",
    );
    held(id, Story::stdio(LATEST).greet_with(json!({"resources": {"subscribe": true}})).client(subscribe));
    // In the older revisions this was advice.
    silent(id, Story::stdio(Revision::V2025_03_26).greet_with(json!({})).client(call(1, "x")));
}

#[test]
fn a_failed_handshake_is_not_gone_on_with() {
    let id = "no-request-after-failure";
    let failed = || Story::stdio(LATEST).client(initialize(0, "2025-11-25")).server(agreed(0, "1999-01-01"));
    held(id, failed().mark(Mark::ClosedByPeer));
    broken(id, failed().client(note("notifications/initialized")), "1999-01-01");
    broken(id, failed().client(call(1, "x")), "`tools/call`");
    let refused = || Story::stdio(LATEST).client(initialize(0, "2025-11-25")).server(error(0, -32602));
    broken(id, refused().client(call(1, "x")), "error");
    // Another try is no going on.
    held(id, refused().greet().client(call(1, "x")));
    held(id, refused().client(modern(1, "server/discover", json!({}))).client(modern(2, "tools/list", json!({}))));
    blocked(id, Story::stdio(LATEST).greet());
    // An older revision that exists is a good answer.
    blocked(id, Story::stdio(LATEST).client(initialize(0, "2025-11-25")).server(agreed(0, "2024-11-05")));
}
