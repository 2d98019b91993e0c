use evidence::ConnectionEvent;
use serde_json::json;

use crate::{
    judge::checks::testing::{
        EvidenceBuilder, call, cancel, error, fails, initialize, modern, not_applicable, passes, request, result,
    },
    model::Revision,
};

const LATEST: Revision = Revision::V2025_11_25;

#[test]
fn initialize_is_not_cancelled() {
    let id = "initialize-not-cancelled";
    fails(id, EvidenceBuilder::stdio(LATEST).client(initialize(0, "2025-11-25")).client(cancel(0)), "cancelled");
    passes(id, EvidenceBuilder::stdio(LATEST).greet().client(call(1, "x")).client(cancel(1)));
    not_applicable(id, EvidenceBuilder::stdio(LATEST).greet());
}

#[test]
fn a_probe_under_the_id_of_initialize_may_be_what_is_cancelled() {
    let probe = EvidenceBuilder::stdio(LATEST).client(modern(0, "server/discover", json!({})));
    passes("initialize-not-cancelled", probe.client(initialize(0, "2025-11-25")).client(cancel(0)));
}

#[test]
fn open_requests_may_be_cancelled() {
    let id = "cancels-only-own-open-requests";
    for story in EvidenceBuilder::legacy() {
        passes(id, story.client(call(1, "x")).client(cancel(1)));
    }
    for story in EvidenceBuilder::legacy() {
        fails(id, story.client(call(1, "x")).client(cancel("1")), "no request with the id `\"1\"`");
    }
    not_applicable(id, EvidenceBuilder::stdio(LATEST).greet().client(call(1, "x")));
}

#[test]
fn an_answer_may_cross_the_cancellation() {
    let id = "cancels-only-own-open-requests";
    for story in EvidenceBuilder::legacy() {
        passes(id, story.client(call(1, "x")).server(result(1, json!({}))).wait(200).client(cancel(1)));
    }
    for story in EvidenceBuilder::legacy() {
        let story = story.client(call(1, "x")).server(result(1, json!({})));
        fails(id, story.wait(300).client(cancel(1)), "had been answered");
    }
    // Two of them, and no time for a timeout.
    for story in EvidenceBuilder::legacy() {
        let story = story.client(call(1, "x")).server(result(1, json!({}))).client(cancel(1));
        let story = story.client(call(2, "x")).server(result(2, json!({}))).client(cancel(2));
        fails(id, story, "2 requests were cancelled right after their responses");
    }
    for story in EvidenceBuilder::legacy() {
        let story = story.client(call(1, "x")).wait(300).server(result(1, json!({}))).client(cancel(1));
        passes(id, story.client(call(2, "x")).wait(300).server(result(2, json!({}))).client(cancel(2)));
    }
    // Other checks report a client that reads no batches.
    let batch = json!([result(1, json!({}))]);
    let greeted = EvidenceBuilder::stdio(Revision::V2025_03_26).greet();
    passes(id, greeted.client(call(1, "x")).server(batch).wait(300).client(cancel(1)));
}

#[test]
fn an_answer_that_cannot_be_understood_is_none() {
    let story = EvidenceBuilder::stdio(LATEST).greet().client(call(1, "x")).server(json!({"id": 1, "result": {}}));
    passes("cancels-only-own-open-requests", story.wait(900).client(cancel(1)));
}

#[test]
fn the_request_was_sent_to_the_same_server() {
    let id = "cancels-only-own-open-requests";
    let two = || EvidenceBuilder::stdio(LATEST).at("one").greet().client(call(1, "x")).at("two").greet();
    passes(id, two().at("one").client(cancel(1)));
    fails(id, two().client(cancel(1)), "`two`");
    // Another run of the same server knows nothing of it.
    fails(
        id,
        EvidenceBuilder::stdio(LATEST).greet().client(call(1, "x")).on(2).greet().client(cancel(1)),
        "no request",
    );
}

#[test]
fn over_http_a_cancellation_may_overtake_its_request() {
    passes(
        "cancels-only-own-open-requests",
        EvidenceBuilder::http(LATEST).greet().client(cancel(1)).client(call(1, "x")),
    );
    fails(
        "cancels-only-own-open-requests",
        EvidenceBuilder::stdio(LATEST).greet().client(cancel(1)).client(call(1, "x")),
        "no request",
    );
}

#[test]
fn a_cancellation_names_a_request() {
    let id = "cancels-only-own-open-requests";
    let nameless = json!({"jsonrpc": "2.0", "method": "notifications/cancelled", "params": {}});
    // It may mean a task.
    let task = json!({"jsonrpc": "2.0", "id": 1, "method": "tools/call", "params": {"name": "x", "task": {}}});
    not_applicable(id, EvidenceBuilder::stdio(LATEST).greet().client(task).client(nameless.clone()));
    fails(id, EvidenceBuilder::stdio(LATEST).greet().client(nameless.clone()), "names no request");
    fails(id, EvidenceBuilder::stdio(Revision::V2025_06_18).greet().client(nameless), "names no request");
    let answered = EvidenceBuilder::stdio(LATEST).greet().client(call(1, "x")).server(error(1, -32603)).wait(300);
    fails(id, answered.client(cancel(1)), "had been answered");
}

#[test]
fn a_request_is_cancelled_once() {
    let id = "cancels-only-own-open-requests";
    let cancelled = || EvidenceBuilder::stdio(LATEST).greet().client(call(1, "x")).client(cancel(1));
    passes(id, cancelled());
    fails(id, cancelled().client(cancel(1)), "cancelled twice");
    // Over HTTP the first POST may be lost.
    passes(id, EvidenceBuilder::http(LATEST).greet().client(call(1, "x")).client(cancel(1)).client(cancel(1)));
}

#[test]
fn a_late_response_ends_no_other_call() {
    let id = "late-responses-do-no-harm";
    let late = |story: EvidenceBuilder| {
        let story = story.client(call(1, "slow")).client(cancel(1)).client(call(2, "quick"));
        (story.connection(), story.server(result(1, json!({}))))
    };
    for story in EvidenceBuilder::legacy() {
        let (_, story) = late(story);
        passes(id, story.server(result(2, json!({}))).mark(ConnectionEvent::ClosedByPeer));
    }
    for story in [EvidenceBuilder::stdio(Revision::V2025_11_25), EvidenceBuilder::http(Revision::V2025_11_25)] {
        let (connection, story) = late(story.greet());
        fails(id, story.on(connection).mark(ConnectionEvent::ClosedByPeer), "the call of `quick` was abandoned");
    }
    let stdio = || late(EvidenceBuilder::stdio(Revision::V2025_11_25).greet()).1;
    // Later it has another reason, and a cancellation is no harm.
    passes(id, stdio().wait(2000).mark(ConnectionEvent::ClosedByPeer));
    passes(id, stdio().client(cancel(2)).mark(ConnectionEvent::ClosedByPeer));
    not_applicable(id, EvidenceBuilder::stdio(Revision::V2025_11_25).greet().client(call(1, "slow")));
}

#[test]
fn a_late_notification_ends_no_call() {
    let id = "late-responses-do-no-harm";
    let cancelled =
        |request: i64| json!({"jsonrpc": "2.0", "method": "notifications/cancelled", "params": {"requestId": request}});
    let asked = |answered: bool| {
        let story = EvidenceBuilder::stdio(LATEST).greet().client(call(1, "slow"));
        let story = story.server(json!({"jsonrpc": "2.0", "id": 7, "method": "ping"}));
        if answered { story.client(result(7, json!({}))) } else { story }
    };
    fails(
        id,
        asked(true).server(cancelled(7)).mark(ConnectionEvent::ClosedByPeer),
        "the call of `slow` was abandoned after a late `notifications/cancelled`",
    );
    passes(id, asked(true).server(cancelled(7)).server(result(1, json!({}))).mark(ConnectionEvent::ClosedByPeer));
    not_applicable(id, asked(false).server(cancelled(7)).mark(ConnectionEvent::ClosedByPeer));
    let progress =
        json!({"jsonrpc": "2.0", "method": "notifications/progress", "params": {"progressToken": "t", "progress": 1}});
    let with_token = |token: &str| {
        let mut slow = call(1, "slow");
        slow["params"]["_meta"] = json!({"progressToken": token});
        EvidenceBuilder::stdio(LATEST).greet().client(slow).client(cancel(1)).client(call(2, "quick"))
    };
    fails(
        id,
        with_token("t").server(progress.clone()).mark(ConnectionEvent::ClosedByPeer),
        "the call of `quick` was abandoned after a late `notifications/progress`",
    );
    not_applicable(id, with_token("u").server(progress).mark(ConnectionEvent::ClosedByPeer));
}

#[test]
fn a_cancelled_request_of_the_server_gets_no_response() {
    let id = "cancelled-requests-not-answered";
    for story in EvidenceBuilder::legacy() {
        let asked = story.server(request("a", "elicitation/create", json!({})));
        let withdrawn = asked.server(cancel("a"));
        fails(id, withdrawn.wait(300).client(result("a", json!({"action": "decline"}))), "after its cancellation");
    }
    for story in EvidenceBuilder::legacy() {
        // The response and the cancellation may cross, but not always.
        let asked = story.server(request("a", "elicitation/create", json!({})));
        let declined = |id: &str| result(id, json!({"action": "decline"}));
        let crossed = asked.server(cancel("a")).wait(200).client(declined("a"));
        let again = crossed.server(request("b", "elicitation/create", json!({}))).server(cancel("b"));
        fails(id, again.client(declined("b")), "2 requests were answered right after");
    }
    for story in EvidenceBuilder::legacy() {
        let asked = story.server(request("a", "elicitation/create", json!({}))).server(cancel("a"));
        passes(id, asked.wait(200).client(result("a", json!({"action": "decline"}))));
    }
    let greeted = || EvidenceBuilder::stdio(LATEST).greet().server(request(1, "roots/list", json!({})));
    passes(
        id,
        greeted().server(cancel(1)).server(request(1, "ping", json!({}))).wait(300).client(result(1, json!({}))),
    );
    not_applicable(id, greeted().server(cancel(2)).wait(300).client(result(1, json!({}))));
    // The client's own requests have ids of their own.
    let called = greeted().client(call(1, "x")).client(cancel(1)).wait(300);
    not_applicable(id, called.client(result(1, json!({}))));
}
