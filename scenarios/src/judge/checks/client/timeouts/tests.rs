use mock_servers::Mark;
use serde_json::{Value, json};

use crate::{
    judge::checks::testing::{Story, blocked, broken, call, cancel, held, modern, result},
    model::Revision,
};

const ID: &str = "timeout-sends-cancel";
const MODERN: Revision = Revision::V2026_07_28;

fn modern_call(id: u64, tool: &str) -> Value {
    modern(id, "tools/call", json!({"name": tool}))
}

#[test]
fn a_call_that_is_given_up_is_cancelled() {
    for story in Story::legacy() {
        held(
            ID,
            story
                .client(call(1, "stuck"))
                .wait(500)
                .client(cancel(1))
                .client(call(2, "x"))
                .server(result(2, json!({}))),
        );
    }
    for story in Story::legacy() {
        broken(
            ID,
            story.client(call(1, "stuck")).wait(500).client(call(2, "x")).server(result(2, json!({}))),
            "`stuck`",
        );
    }
    for story in Story::legacy() {
        broken(ID, story.client(call(1, "stuck")).wait(500).client(cancel(9)), "`stuck`");
    }
    let modern = || Story::stdio(MODERN).client(modern_call(1, "stuck")).wait(500);
    held(ID, modern().client(cancel(1)));
    broken(ID, modern().mark(Mark::ClosedByPeer), "`stuck`");
}

#[test]
fn without_a_call_given_up_there_is_nothing_to_judge() {
    for story in Story::legacy() {
        blocked(ID, story.client(call(1, "x")).server(result(1, json!({}))));
    }
}

#[test]
fn over_modern_http_closing_the_stream_is_the_sign() {
    let call = || Story::http(MODERN).client(modern_call(1, "stuck")).wait(500);
    held(ID, call().mark(Mark::ClosedByPeer));
    held(ID, call().mark(Mark::ClosedByPeer).timed_out_step(510));
    // A late reply changes nothing, and `notifications/cancelled` has no meaning there.
    held(ID, call().mark(Mark::ClosedByPeer).server(result(1, json!({}))));
    broken(ID, call().client(cancel(1)), "`stuck`");
    broken(ID, call().timed_out_step(510).wait(4000).on(1).mark(Mark::ClosedByPeer), "before the server was told");
    // Without sessions an answer belongs to the exchange that carries it, whatever its id.
    let same = Story::http(MODERN).client(modern_call(1, "stuck")).client(modern_call(1, "x"));
    broken(ID, same.server(result(1, json!({}))), "`stuck`");
    let other = Story::http(MODERN).client(modern_call(1, "stuck")).client(modern_call(2, "x"));
    broken(ID, other.server(result(2, json!({}))).mark(Mark::ClosedByPeer), "`stuck`");
}

#[test]
fn what_the_server_ended_was_not_given_up() {
    let stdio = || Story::stdio(Revision::V2025_11_25).greet().client(call(1, "crash"));
    blocked(ID, stdio().mark(Mark::Exit));
    blocked(ID, stdio().mark(Mark::ClosedByServer).mark(Mark::ClosedByPeer));
    broken(ID, stdio().mark(Mark::ClosedByPeer).mark(Mark::Exit), "`crash`");
    let http = || Story::http(Revision::V2025_11_25).greet().client(call(1, "crash"));
    blocked(ID, http().status(500));
    blocked(ID, http().mark(Mark::ClosedByServer));
    blocked(ID, http().on(0).mark(Mark::Exit));
    // The server ends the stream of a request that is cancelled.
    let stream = http().connection();
    held(ID, http().wait(500).client(cancel(1)).status(202).on(stream).mark(Mark::ClosedByServer));
    blocked(ID, Story::sse().greet().client(call(1, "crash")).on(1).mark(Mark::ClosedByServer));
}

#[test]
fn a_client_that_was_killed_gave_nothing_up() {
    blocked(ID, Story::stdio(Revision::V2025_11_25).greet().client(call(1, "slow")).mark(Mark::ClosedByPeer).killed());
}

#[test]
fn an_answer_after_the_timeout_does_not_hide_the_missing_sign() {
    let late = |story: Story| story.client(call(1, "slow")).wait(500).timed_out_step(510);
    for story in Story::legacy() {
        broken(ID, late(story).wait(400).server(result(1, json!({}))), "`slow`");
    }
    for story in Story::legacy() {
        held(ID, late(story).client(cancel(1)).wait(400).server(result(1, json!({}))));
    }
    // An answer on the heels of the timeout may have crossed it.
    for story in Story::legacy() {
        blocked(ID, late(story).wait(100).server(result(1, json!({}))));
    }
}

#[test]
fn with_two_calls_open_the_timeout_may_be_that_of_either() {
    let story = Story::stdio(Revision::V2025_11_25).greet().client(call(1, "stuck")).client(call(2, "slow")).wait(500);
    let story = story.timed_out_step(520).client(cancel(1)).wait(900);
    held(ID, story.server(result(2, json!({}))));
}
