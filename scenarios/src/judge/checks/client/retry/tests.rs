use evidence::ConnectionEvent;

use crate::{
    judge::checks::testing::{EvidenceBuilder, blocked, call, fails, not_applicable, passes},
    model::Revision,
};

fn refused() -> EvidenceBuilder {
    EvidenceBuilder::http(Revision::V2025_11_25).greet().client(call(1, "x")).status(429).with("retry-after", "2")
}

#[test]
fn nobody_comes_back_early() {
    let id = "waits-as-asked";
    passes(id, refused());
    passes(id, refused().wait(2_000).client(call(2, "x")));
    passes(id, refused().client(call(2, "another")));
    fails(id, refused().wait(1_000).client(call(2, "x")), "2000 ms");
    fails(id, refused().client(call(1, "x")).wait(9_000).client(call(1, "x")), "instead of");
    let hour = EvidenceBuilder::http(Revision::V2025_11_25)
        .greet()
        .client(call(1, "x"))
        .status(503)
        .with("retry-after", "soon");
    blocked(id, hour);
    not_applicable(id, EvidenceBuilder::stdio(Revision::V2025_11_25).greet());
}

/// A call whose stream is closed, and is resumed after so many milliseconds.
fn closed(retry_ms: Option<u64>, waited_ms: u64) -> EvidenceBuilder {
    let builder = EvidenceBuilder::http(Revision::V2025_11_25).greet().client(call(1, "x")).event("1-0", retry_ms);
    builder.mark(ConnectionEvent::ClosedByServer).wait(waited_ms).verb("GET").with("last-event-id", "1-0")
}

#[test]
fn a_closed_stream_is_resumed_after_its_interval() {
    let id = "waits-for-retry-interval";
    passes(id, closed(Some(500), 500));
    // A longer wait is allowed, and clocks differ.
    passes(id, closed(Some(500), 5_000));
    passes(id, closed(Some(500), 450));
    fails(id, closed(Some(500), 100), "instead of 500 ms");
    not_applicable(id, closed(None, 0));
    not_applicable(id, EvidenceBuilder::http(Revision::V2025_11_25).greet());
}

#[test]
fn a_stream_is_resumed_from_its_last_event() {
    let id = "resumes-from-the-last-event";
    let broken = || {
        let call = EvidenceBuilder::http(Revision::V2025_11_25).greet().client(call(1, "x"));
        call.event("1-0", None).event("1-1", None).event("1-2", None).mark(ConnectionEvent::ClosedByServer)
    };
    passes(id, broken().verb("GET").with("last-event-id", "1-2"));
    // The last event may have been incomplete.
    passes(id, broken().verb("GET").with("last-event-id", "1-1"));
    fails(id, broken().verb("GET").with("last-event-id", "1-0"), "the last ones are `1-2`, `1-1`");
    // The client closed the stream, so the last event may not have arrived.
    let left = EvidenceBuilder::http(Revision::V2025_11_25).greet().client(call(1, "x")).event("1-0", None);
    not_applicable(id, left.event("1-1", None).verb("GET").with("last-event-id", "1-0"));
    not_applicable(id, broken());
    let again = |id: &str| {
        let resumed = broken().verb("GET").with("last-event-id", "1-2").event("1-3", None).event("1-4", None);
        resumed.mark(ConnectionEvent::ClosedByServer).verb("GET").with("last-event-id", id)
    };
    passes(id, again("1-4"));
    passes(id, again("1-3"));
    fails(id, again("1-2"), "the last ones are `1-4`, `1-3`");
    // The stream ended before its first event.
    let empty = broken().verb("GET").with("last-event-id", "1-2").mark(ConnectionEvent::ClosedByServer);
    passes(id, empty.verb("GET").with("last-event-id", "1-2"));
}

#[test]
fn a_polled_stream_of_the_server_is_resumed_with_its_last_event() {
    let id = "resumes-from-the-last-event";
    let closed = |retry_ms| {
        let story = EvidenceBuilder::http(Revision::V2025_11_25).greet().verb("GET");
        story.event("1-0", None).event("1-1", retry_ms).mark(ConnectionEvent::ClosedByServer)
    };
    passes(id, closed(Some(100)).verb("GET").with("last-event-id", "1-1"));
    fails(id, closed(Some(100)).verb("GET"), "without Last-Event-ID");
    // Another stream is opened beside the resumed one.
    passes(id, closed(Some(100)).verb("GET").verb("GET").with("last-event-id", "1-1"));
    not_applicable(id, closed(Some(100)).client(call(1, "x")));
    // Without an interval the server may have ended the stream.
    not_applicable(id, closed(None).verb("GET"));
}
