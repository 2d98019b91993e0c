use evidence::ConnectionEvent;
use serde_json::{Value, json};

use crate::{
    judge::checks::testing::{
        EvidenceBuilder, call, cancel, error, fails, initialize, modern, not_applicable, passes, request, result,
    },
    model::Revision,
};

const ID: &str = "answers-server-requests";

fn ping(id: &str) -> Value {
    json!({"jsonrpc": "2.0", "id": id, "method": "ping"})
}

fn sampling(id: &str) -> Value {
    request(id, "sampling/createMessage", json!({"messages": []}))
}

#[test]
fn each_request_gets_one_answer() {
    for story in EvidenceBuilder::legacy() {
        let story = story.client(call(1, "x")).server(ping("p")).server(sampling("s"));
        passes(ID, story.client(result("p", json!({}))).client(error("s", -32601)).wait(9000));
    }
    for story in EvidenceBuilder::legacy() {
        fails(
            ID,
            story.client(call(1, "x")).server(ping("p")).wait(1100),
            "`ping` with the id `\"p\"` was not answered",
        );
    }
    for story in EvidenceBuilder::legacy() {
        let twice = story.client(call(1, "x")).server(sampling("s")).client(result("s", json!({})));
        fails(ID, twice.client(error("s", -1)), "answered 2 times");
    }
    not_applicable(ID, EvidenceBuilder::stdio(Revision::V2025_11_25).greet());
}

#[test]
fn a_ping_gets_an_empty_result() {
    let pinged = || EvidenceBuilder::stdio(Revision::V2025_11_25).greet().server(ping("p"));
    passes(ID, pinged().client(result("p", json!({"_meta": {"a": 1}}))));
    fails(ID, pinged().client(result("p", json!({"ok": true}))), "`ping` was answered with");
    fails(ID, pinged().client(error("p", -32601)), "`ping` was answered with");
}

#[test]
fn a_ping_is_answered_promptly() {
    let id = "pings-answered-promptly";
    let pinged = |ms| EvidenceBuilder::stdio(Revision::V2025_11_25).greet().server(ping("p")).wait(ms);
    passes(id, pinged(1900).client(result("p", json!({}))));
    fails(id, pinged(2100).client(result("p", json!({}))), "`ping` was answered after 21");
    not_applicable(id, pinged(2100));
    let streamed = EvidenceBuilder::http(Revision::V2025_11_25).greet().client(call(1, "x")).server(ping("p"));
    not_applicable(id, streamed.wait(2100).client(result("p", json!({}))));
    // A user takes longer.
    let sampled = EvidenceBuilder::stdio(Revision::V2025_11_25).greet().server(sampling("s"));
    not_applicable(id, sampled.wait(2100).client(result("s", json!({}))));
}

#[test]
fn a_ping_during_the_handshake_is_answered_too() {
    let story = EvidenceBuilder::stdio(Revision::V2025_11_25).client(initialize(0, "2025-11-25"));
    fails(ID, story.server(ping("p")).wait(1100), "was not answered");
}

#[test]
fn who_has_no_time_left_need_not_answer() {
    for story in EvidenceBuilder::legacy() {
        not_applicable(ID, story.client(call(1, "x")).server(ping("p")).wait(500));
    }
    let asked = || EvidenceBuilder::stdio(Revision::V2025_11_25).greet().server(ping("p")).wait(300);
    not_applicable(ID, asked().mark(ConnectionEvent::ClosedByPeer).wait(5000));
    not_applicable(ID, asked().mark(ConnectionEvent::Exit).wait(5000));
    not_applicable(ID, asked().killed().wait(5000));
    // A model or a person takes longer than a ping.
    not_applicable(ID, EvidenceBuilder::stdio(Revision::V2025_11_25).greet().server(sampling("s")).wait(2500));
    fails(ID, EvidenceBuilder::stdio(Revision::V2025_11_25).greet().server(sampling("s")).wait(3500), "sampling");
}

#[test]
fn over_http_the_end_of_an_exchange_is_not_the_end_of_the_session() {
    let story = || EvidenceBuilder::http(Revision::V2025_11_25).greet().client(call(1, "x")).server(ping("p"));
    fails(ID, story().wait(400).mark(ConnectionEvent::ClosedByServer).wait(1000), "was not answered");
    // What was said into a stream that the client had closed was not heard.
    not_applicable(ID, story().mark(ConnectionEvent::ClosedByPeer).wait(5000));
    not_applicable(ID, story().wait(300).verb("DELETE").wait(5000));
    not_applicable(ID, story().wait(300).on(0).mark(ConnectionEvent::Exit).wait(5000));
    not_applicable(
        ID,
        EvidenceBuilder::sse().greet().server(ping("p")).wait(300).on(1).mark(ConnectionEvent::ClosedByPeer).wait(5000),
    );
}

#[test]
fn the_end_of_another_exchange_excuses_nobody() {
    let initialized = initialize(0, "2025-11-25");
    let agreed = result(0, json!({"protocolVersion": "2025-11-25", "capabilities": {}}));
    let story = EvidenceBuilder::http(Revision::V2025_11_25)
        .client(initialized)
        .server(agreed)
        .mark(ConnectionEvent::ClosedByServer);
    let asked = || {
        story_with_ping(
            EvidenceBuilder::http(Revision::V2025_11_25).greet().verb("GET").mark(ConnectionEvent::ClosedByPeer),
        )
    };
    fails(ID, story_with_ping(story).wait(1100), "was not answered");
    fails(ID, asked().wait(1100), "was not answered");
    // With a new session the old one is over.
    not_applicable(ID, asked().wait(300).greet().wait(900));
}

fn story_with_ping(story: EvidenceBuilder) -> EvidenceBuilder {
    story.client(call(1, "x")).server(ping("p"))
}

#[test]
fn what_the_server_may_not_ask_or_takes_back_needs_no_answer() {
    let greeted = || EvidenceBuilder::stdio(Revision::V2025_11_25).greet();
    not_applicable(ID, greeted().server(sampling("s")).server(cancel("s")).wait(5000));
    fails(ID, greeted().server(sampling("s")).wait(4000).server(cancel("s")).wait(1000), "was not answered");
    not_applicable(ID, greeted().server(request(Value::Null, "ping", json!({}))).wait(5000));
    not_applicable(ID, greeted().server(json!({"id": 1, "method": "ping"})).wait(5000));
    not_applicable(ID, EvidenceBuilder::stdio(Revision::V2026_07_28).server(ping("p")).wait(5000));
}

#[test]
fn two_servers_may_ask_under_one_id() {
    let two = EvidenceBuilder::stdio(Revision::V2025_11_25)
        .at("one")
        .greet()
        .server(ping("p"))
        .client(result("p", json!({})));
    passes(ID, two.at("two").greet().server(ping("p")).client(result("p", json!({}))));
}

#[test]
fn since_2026_clients_send_no_responses() {
    let id = "modern-sends-no-responses";
    let story = || EvidenceBuilder::stdio(Revision::V2026_07_28).client(modern(1, "tools/list", json!({})));
    passes(id, story().client(cancel(1)));
    fails(id, story().server(ping("p")).client(result("p", json!({}))), "it sent the response");
    not_applicable(id, EvidenceBuilder::stdio(Revision::V2025_11_25).greet().client(result("p", json!({}))));
    // A server of both eras may be spoken to in the old way.
    not_applicable(id, EvidenceBuilder::stdio(Revision::V2026_07_28).greet().client(result("p", json!({}))));
}

#[test]
fn an_unknown_request_gets_an_error_of_its_own_code() {
    let asked =
        || EvidenceBuilder::stdio(Revision::V2025_11_25).greet().server(request("u", "example/none", json!({})));
    let (rejected, code) = ("unknown-requests-rejected", "unknown-requests-code");
    for id in [rejected, code] {
        passes(id, asked().client(error("u", -32601)));
        not_applicable(id, EvidenceBuilder::stdio(Revision::V2025_11_25).greet().server(ping("u")));
    }
    fails(rejected, asked().client(result("u", json!({}))), "`example/none` was answered with");
    passes(code, asked().client(result("u", json!({}))));
    passes(rejected, asked().client(error("u", -32602)));
    fails(code, asked().client(error("u", -32602)), "-32602");
}
