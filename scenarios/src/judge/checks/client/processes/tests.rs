use evidence::ConnectionEvent;

use crate::{
    judge::checks::testing::{EvidenceBuilder, blocked, fails, not_applicable, outcome, passes, process},
    model::Revision,
};

fn story() -> EvidenceBuilder {
    EvidenceBuilder::stdio(Revision::V2025_11_25).greet()
}

#[test]
fn nothing_outlives_the_client() {
    let id = "no-process-left";
    passes(id, story().ends(|seen| seen.seen.push(process("mock"))));
    fails(id, story().ends(|seen| seen.left.push(process("sleep 60"))), "sleep 60 (pid 7)");
    // Also not a client that was killed.
    fails(id, story().killed().ends(|seen| seen.left.push(process("mock"))), "mock");
    not_applicable(id, story());
    not_applicable(id, story().ends(|_| {}));
}

#[test]
fn a_client_ends_by_itself() {
    let id = "ends-by-itself";
    passes(id, story().ends(|_| {}));
    passes(id, story().ends(|seen| seen.code = Some(1)));
    fails(id, story().ends(|seen| (seen.code, seen.signal) = (None, Some(11))), "signal 11");
    fails(id, story().ends(|seen| (seen.code, seen.ended_us) = (None, None)), "not seen to exit");
    not_applicable(id, story().killed());
    not_applicable(id, story());
    let mut late = story().ends(|_| {}).build();
    late.timed_out = true;
    let judged = outcome("ends-by-itself", &late);
    assert!(matches!(judged, crate::judge::check::CheckOutcome::NotApplicable(_)), "{judged:?}");
}

#[test]
fn input_is_closed_before_a_signal_is_sent() {
    let id = "closes-before-killing";
    passes(id, story().mark(ConnectionEvent::ClosedByPeer).mark(ConnectionEvent::Exit));
    passes(
        id,
        story()
            .mark(ConnectionEvent::ClosedByPeer)
            .wait(500)
            .mark(ConnectionEvent::Sigterm)
            .mark(ConnectionEvent::Exit),
    );
    fails(id, story().mark(ConnectionEvent::Sigterm).mark(ConnectionEvent::Exit), "SIGTERM");
    fails(id, story().mark(ConnectionEvent::Sigterm).wait(500).mark(ConnectionEvent::ClosedByPeer), "SIGTERM");
    // The two may be noticed in either order, and without a pause between them the server has no time to exit.
    fails(id, story().mark(ConnectionEvent::Sigterm).mark(ConnectionEvent::ClosedByPeer), "0 ms after");
    fails(id, story().mark(ConnectionEvent::ClosedByPeer).wait(5).mark(ConnectionEvent::Sigterm), "6 ms after");
    // A second server fares no worse because the first was closed.
    fails(id, story().mark(ConnectionEvent::ClosedByPeer).at("two").greet().mark(ConnectionEvent::Sigterm), "`two`");
}

#[test]
fn what_ends_otherwise_cannot_be_judged() {
    let id = "closes-before-killing";
    blocked(id, story().mark(ConnectionEvent::Exit));
    blocked(id, story().mark(ConnectionEvent::Sigterm).killed());
    not_applicable(id, EvidenceBuilder::http(Revision::V2025_11_25).greet());
}
