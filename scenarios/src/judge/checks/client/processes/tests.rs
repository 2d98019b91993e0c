use mock_servers::Mark;

use crate::{
    judge::checks::testing::{Story, blocked, broken, held, process, silent},
    model::Revision,
};

fn story() -> Story {
    Story::stdio(Revision::V2025_11_25).greet()
}

#[test]
fn nothing_outlives_the_client() {
    let id = "no-process-left";
    held(id, story().ends(|seen| seen.seen.push(process("mock"))));
    broken(id, story().ends(|seen| seen.left.push(process("sleep 60"))), "sleep 60 (pid 7)");
    // Also not a client that was killed.
    broken(id, story().killed().ends(|seen| seen.left.push(process("mock"))), "mock");
    silent(id, story());
    silent(id, story().ends(|_| {}));
}

#[test]
fn a_client_ends_by_itself() {
    let id = "ends-by-itself";
    held(id, story().ends(|_| {}));
    held(id, story().ends(|seen| seen.code = Some(1)));
    broken(id, story().ends(|seen| (seen.code, seen.signal) = (None, Some(11))), "signal 11");
    broken(id, story().ends(|seen| (seen.code, seen.ended_us) = (None, None)), "not seen to end");
    silent(id, story().killed());
    silent(id, story());
    let mut late = story().ends(|_| {}).told();
    late.timed_out = true;
    let ruling = super::ends_by_itself(&late);
    assert!(matches!(ruling, crate::judge::check::Ruling::Broken { .. }), "{ruling:?}");
}

#[test]
fn input_is_closed_before_a_signal_is_sent() {
    let id = "closes-before-killing";
    held(id, story().mark(Mark::ClosedByPeer).mark(Mark::Exit));
    held(id, story().mark(Mark::ClosedByPeer).wait(500).mark(Mark::Sigterm).mark(Mark::Exit));
    broken(id, story().mark(Mark::Sigterm).mark(Mark::Exit), "SIGTERM");
    broken(id, story().mark(Mark::Sigterm).wait(500).mark(Mark::ClosedByPeer), "SIGTERM");
    // The two may be noticed in either order.
    held(id, story().mark(Mark::Sigterm).mark(Mark::ClosedByPeer));
    // A second server fares no worse because the first was closed.
    broken(id, story().mark(Mark::ClosedByPeer).at("two").greet().mark(Mark::Sigterm), "`two`");
}

#[test]
fn what_ends_otherwise_cannot_be_judged() {
    let id = "closes-before-killing";
    blocked(id, story().mark(Mark::Exit));
    blocked(id, story().mark(Mark::Sigterm).killed());
    silent(id, Story::http(Revision::V2025_11_25).greet());
}
