use evidence::ConnectionEvent;
use serde_json::{Value, json};

use crate::{
    judge::checks::testing::{EvidenceBuilder, blocked, call, cancel, fails, modern, not_applicable, passes, result},
    model::Revision,
};

const ID: &str = "timeout-sends-cancel";
const MODERN: Revision = Revision::V2026_07_28;

fn modern_call(id: u64, tool: &str) -> Value {
    modern(id, "tools/call", json!({"name": tool}))
}

#[test]
fn a_call_that_is_given_up_is_cancelled() {
    for story in EvidenceBuilder::legacy() {
        passes(
            ID,
            story
                .client(call(1, "stuck"))
                .wait(500)
                .client(cancel(1))
                .client(call(2, "x"))
                .server(result(2, json!({}))),
        );
    }
    for story in EvidenceBuilder::legacy() {
        fails(
            ID,
            story.client(call(1, "stuck")).wait(500).client(call(2, "x")).server(result(2, json!({}))),
            "`stuck`",
        );
    }
    for story in EvidenceBuilder::legacy() {
        fails(ID, story.client(call(1, "stuck")).wait(500).client(cancel(9)), "`stuck`");
    }
    let modern = || EvidenceBuilder::stdio(MODERN).client(modern_call(1, "stuck")).wait(500);
    passes(ID, modern().client(cancel(1)));
    fails(ID, modern().mark(ConnectionEvent::ClosedByPeer), "`stuck`");
}

#[test]
fn over_stdio_a_notification_cancels_in_2026() {
    let id = "cancels-by-notification";
    let silent = || EvidenceBuilder::stdio(MODERN).client(modern_call(1, "stuck"));
    let called = || silent().timed_out_step(500);
    not_applicable(id, silent().mark(ConnectionEvent::ClosedByPeer));
    passes(id, called().client(cancel(1)));
    fails(id, called().client(cancel(9)), "`stuck`");
    fails(id, called().mark(ConnectionEvent::ClosedByPeer), "`stuck`");
    blocked(id, called().server(result(1, json!({}))));
    not_applicable(id, EvidenceBuilder::http(MODERN).client(modern_call(1, "stuck")));
    not_applicable(id, EvidenceBuilder::stdio(Revision::V2025_11_25).greet().client(call(1, "stuck")));
}

#[test]
fn a_call_is_cancelled_before_the_next_one_has_a_response() {
    let id = "cancelled-before-later-responses";
    let stuck = || EvidenceBuilder::http(MODERN).client(modern_call(1, "stuck")).wait(300);
    let next = |story: EvidenceBuilder, ms| {
        story
            .client(modern_call(2, "slow"))
            .wait(ms)
            .server(result(2, json!({})))
            .on(1)
            .mark(ConnectionEvent::ClosedByPeer)
    };
    passes(id, stuck().mark(ConnectionEvent::ClosedByPeer).client(modern_call(2, "slow")).server(result(2, json!({}))));
    // In the background, it may take a moment.
    passes(id, next(stuck(), 400));
    fails(id, next(stuck(), 1200), "the call of `stuck` was cancelled after the next call");
    not_applicable(id, stuck());
}

#[test]
fn without_a_call_given_up_there_is_nothing_to_judge() {
    for story in EvidenceBuilder::legacy() {
        blocked(ID, story.client(call(1, "x")).server(result(1, json!({}))));
    }
}

#[test]
fn over_modern_http_closing_the_stream_is_the_sign() {
    let call = || EvidenceBuilder::http(MODERN).client(modern_call(1, "stuck")).wait(500);
    passes(ID, call().mark(ConnectionEvent::ClosedByPeer));
    passes(ID, call().mark(ConnectionEvent::ClosedByPeer).timed_out_step(510));
    // A late reply changes nothing, and `notifications/cancelled` has no meaning there.
    passes(ID, call().mark(ConnectionEvent::ClosedByPeer).server(result(1, json!({}))));
    fails(ID, call().client(cancel(1)), "`stuck`");
    fails(ID, call().timed_out_step(510).wait(4000).on(1).mark(ConnectionEvent::ClosedByPeer), "after it was given up");
    // Without sessions an answer belongs to the exchange that carries it, whatever its id.
    let same = EvidenceBuilder::http(MODERN).client(modern_call(1, "stuck")).client(modern_call(1, "x"));
    fails(ID, same.server(result(1, json!({}))), "`stuck`");
    let other = EvidenceBuilder::http(MODERN).client(modern_call(1, "stuck")).client(modern_call(2, "x"));
    fails(ID, other.server(result(2, json!({}))).mark(ConnectionEvent::ClosedByPeer), "`stuck`");
}

#[test]
fn what_the_server_ended_was_not_given_up() {
    let stdio = || EvidenceBuilder::stdio(Revision::V2025_11_25).greet().client(call(1, "crash"));
    blocked(ID, stdio().mark(ConnectionEvent::Exit));
    blocked(ID, stdio().mark(ConnectionEvent::ClosedByServer).mark(ConnectionEvent::ClosedByPeer));
    fails(ID, stdio().mark(ConnectionEvent::ClosedByPeer).mark(ConnectionEvent::Exit), "`crash`");
    let http = || EvidenceBuilder::http(Revision::V2025_11_25).greet().client(call(1, "crash"));
    blocked(ID, http().status(500));
    blocked(ID, http().mark(ConnectionEvent::ClosedByServer));
    blocked(ID, http().on(0).mark(ConnectionEvent::Exit));
    // The server ends the stream of a request that is cancelled.
    let stream = http().connection();
    passes(ID, http().wait(500).client(cancel(1)).status(202).on(stream).mark(ConnectionEvent::ClosedByServer));
    blocked(ID, EvidenceBuilder::sse().greet().client(call(1, "crash")).on(1).mark(ConnectionEvent::ClosedByServer));
}

#[test]
fn a_client_that_was_killed_gave_nothing_up() {
    blocked(
        ID,
        EvidenceBuilder::stdio(Revision::V2025_11_25)
            .greet()
            .client(call(1, "slow"))
            .mark(ConnectionEvent::ClosedByPeer)
            .killed(),
    );
}

#[test]
fn an_answer_after_the_timeout_does_not_hide_the_missing_sign() {
    let late = |story: EvidenceBuilder| story.client(call(1, "slow")).wait(500).timed_out_step(510);
    for story in EvidenceBuilder::legacy() {
        fails(ID, late(story).wait(400).server(result(1, json!({}))), "`slow`");
    }
    for story in EvidenceBuilder::legacy() {
        passes(ID, late(story).client(cancel(1)).wait(400).server(result(1, json!({}))));
    }
    // An answer on the heels of the timeout may have crossed it.
    for story in EvidenceBuilder::legacy() {
        blocked(ID, late(story).wait(100).server(result(1, json!({}))));
    }
}

#[test]
fn with_two_calls_open_the_timeout_may_be_that_of_either() {
    let story = EvidenceBuilder::stdio(Revision::V2025_11_25)
        .greet()
        .client(call(1, "stuck"))
        .client(call(2, "slow"))
        .wait(500);
    let story = story.timed_out_step(520).client(cancel(1)).wait(900);
    passes(ID, story.server(result(2, json!({}))));
}
