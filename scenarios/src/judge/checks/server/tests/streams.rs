//! Checks of the streams and sessions of HTTP.

use super::*;

const SESSION: [(&str, &str); 1] = [("mcp-session-id", "[session]")];
const OTHER: [(&str, &str); 1] = [("mcp-session-id", "[session 2]")];
const RESUMED: [(&str, &str); 2] = [("mcp-session-id", "[session]"), ("last-event-id", "a-1")];

fn event(talk: Talk, id: Option<&str>, body: Body) -> Talk {
    let http = Http { event_id: id.map(str::to_owned), ..status(200, "text/event-stream") };
    talk.frame(Direction::ServerToClient, body, Some(http))
}

fn says(talk: Talk, id: Option<&str>, message: Value) -> Talk {
    event(talk, id, Body::json(message))
}

fn ended(talk: Talk, after_us: u64) -> Talk {
    let mut talk = talk.frame(Direction::ServerToClient, Body::Event(ConnectionEvent::ClosedByServer), None);
    if let Some(last) = talk.0.frames.last_mut() {
        last.at_us += after_us;
    }
    talk
}

fn reply(id: u64) -> Value {
    json!({ "jsonrpc": "2.0", "id": id, "result": { "of": id } })
}

fn ping(id: u64) -> Value {
    json!({ "jsonrpc": "2.0", "id": id, "method": "ping" })
}

fn progress() -> Value {
    json!({ "jsonrpc": "2.0", "method": "notifications/progress", "params": { "progressToken": 1, "progress": 1 } })
}

/// A request with a progress token.
fn with_token(token: u64) -> Talk {
    let params = json!({ "_meta": { "progressToken": token } });
    http().post(&SESSION, json!({ "jsonrpc": "2.0", "id": 1, "method": "ping", "params": params }))
}

fn post(id: u64) -> Talk {
    http().post(&SESSION, ping(id))
}

/// A request that names its revision.
fn post_with_revision(id: u64) -> Talk {
    http().post(&[SESSION[0], ("mcp-protocol-version", "2025-11-25")], ping(id))
}

fn sse(first: &str) -> Talk {
    let http = Http { status: Some(200), event: Some(first.to_owned()), ..Http::default() };
    let talk = Talk::new(Transport::HttpSse, Revision::V2024_11_05);
    talk.frame(Direction::ServerToClient, Body::Text("/messages".to_owned()), Some(http))
}

fn typed(kind: &str) -> Talk {
    let http = Http { event: Some(kind.to_owned()), ..status(200, "text/event-stream") };
    post(1).frame(Direction::ServerToClient, Body::json(reply(1)), Some(http))
}

/// Two streams with ids, of which the first one is resumed and replays this.
fn resumed(message: Value) -> Talk {
    let talk = says(post(1), Some("a-1"), progress());
    let talk = says(talk, Some("a-2"), reply(1));
    let talk = says(talk.post(&SESSION, ping(2)), Some("b-1"), reply(2));
    says(talk.bodiless("GET", &RESUMED), Some("a-2"), message)
}

/// A stream that is resumed after the event `a-1`, and then has an event with this id.
fn resumed_with(id: &str) -> Talk {
    let talk = says(says(post(1), Some("a-1"), progress()), Some("a-2"), reply(1));
    says(talk.bodiless("GET", &RESUMED), Some(id), progress())
}

/// Two equal calls. The connection of the second one is lost, and the stream that resumes it has this message.
fn lost(message: Option<Value>) -> Talk {
    let call = |id: u64| json!({ "jsonrpc": "2.0", "id": id, "method": "tools/call", "params": { "name": "slow" } });
    let talk = says(http().post(&SESSION, call(1)), Some("a-2"), reply(1));
    let talk = says(talk.bodiless("GET", &RESUMED), Some("a-2"), reply(1));
    let talk = bare(talk.post(&SESSION, call(2)), Some("b-1"), None);
    let talk = talk.frame(Direction::ClientToServer, Body::Event(ConnectionEvent::ClosedByPeer), None);
    let mut talk = bare(talk.bodiless("GET", &[SESSION[0], ("last-event-id", "b-1")]), None, None);
    talk.0.elapsed_us = 20_000_000;
    match message {
        Some(message) => says(talk, Some("b-2"), message),
        None => talk,
    }
}

fn bare(talk: Talk, id: Option<&str>, retry: Option<&str>) -> Talk {
    let http =
        Http { event_id: id.map(str::to_owned), retry: retry.map(str::to_owned), ..status(200, "text/event-stream") };
    talk.frame(Direction::ServerToClient, Body::Event(ConnectionEvent::Bodiless), Some(http))
}

/// A stream that the server closes before the response, and the GET that resumes it.
fn closed_early(retry: Option<&str>) -> Talk {
    let talk = ended(bare(post(1), Some("a-1"), retry), 0);
    talk.bodiless("GET", &RESUMED)
}

fn variety(bits: u64) -> Talk {
    http().step(json!({ "assigned": 9, "distinct": 9, "bits": bits }))
}

fn in_unknown_session(code: u16) -> Talk {
    http().post(&[("mcp-session-id", "workbench-no-such-session")], call("ping")).says_with(code, json!({}))
}

fn after_delete(code: u16) -> Talk {
    http().bodiless("DELETE", &SESSION).replies(200, "").post(&SESSION, call("ping")).says_with(code, json!({}))
}

pub(super) fn table() -> Vec<Row> {
    let get = |headers: &[(&str, &str)]| http().bodiless("GET", headers);
    let both = |first: Value, second: Value| says(says(post(1), None, first).bodiless("GET", &SESSION), None, second);
    let charset = |code: u16| {
        http().post(&[("content-type", "application/json; charset=utf-8")], call("ping")).says_with(code, reply(1))
    };
    let broken = |code: u16| {
        let sent = Body::Text("{".to_owned());
        http().frame(Direction::ClientToServer, sent, Some(envelope("POST", &[]))).says_with(code, json!({}))
    };
    let unanswered = |later_us: u64| {
        let odd = json!({ "jsonrpc": "2.0", "id": 1, "method": "tools/list", "params": null });
        let mut talk = broken(400).ask(odd).ask(call("ping")).says(reply(1));
        talk.0.frames.last_mut().expect("a frame").at_us += later_us;
        talk
    };
    let closed = || {
        let sent = Body::Text("{".to_owned());
        let talk = http().frame(Direction::ClientToServer, sent, Some(envelope("POST", &[])));
        talk.frame(Direction::ServerToClient, Body::Event(ConnectionEvent::ClosedByServer), None)
    };
    let answer = || http().post(&SESSION, reply(7));
    let misplaced = || {
        let talk = http().post(&SESSION, ping(1)).post(&SESSION, ping(2));
        says(talk, None, reply(1))
    };
    vec![
        ("event-is-a-message", event(post(1), None, Body::Text("pong".to_owned())), says(post(1), None, reply(1))),
        ("event-has-the-type-message", typed("response"), typed("message")),
        ("endpoint-event-comes-first", sse("message"), sse("endpoint")),
        (
            "event-ids-are-unique",
            says(says(post(1), Some("1"), reply(1)).post(&SESSION, ping(2)), Some("1"), reply(2)),
            says(says(post(1), Some("1"), reply(1)).post(&SESSION, ping(2)), Some("2"), reply(2)),
        ),
        (
            "response-ends-the-stream",
            ended(says(post(1), None, reply(1)), 6_000_000),
            ended(says(post(1), None, reply(1)), 1_000),
        ),
        ("no-response-on-another-stream", says(get(&SESSION), None, reply(1)), says(get(&SESSION), None, progress())),
        ("response-on-the-stream-of-its-request", misplaced(), says(post(1), None, reply(1))),
        ("message-on-one-stream", both(progress(), progress()), both(progress(), ping(9))),
        ("resumed-stream-has-its-own-messages", resumed(reply(2)), resumed(reply(1))),
        ("resumed-stream-goes-on-after-the-event", resumed_with("a-1"), resumed_with("a-2")),
        ("call-outlives-its-connection", lost(None), lost(Some(reply(2)))),
        ("sessions-are-separate", says(get(&OTHER), None, progress()), says(get(&OTHER), None, ping(3))),
        (
            "stream-has-progress-of-its-request",
            says(with_token(2), None, progress()),
            says(with_token(1), None, progress()),
        ),
        (
            "stream-begins-with-an-event-id",
            says(post_with_revision(1), Some("a-1"), reply(1)),
            says(
                event(post_with_revision(1), Some("a-0"), Body::Event(ConnectionEvent::Bodiless)),
                Some("a-1"),
                reply(1),
            ),
        ),
        (
            "closed-stream-has-a-retry",
            says(closed_early(None), Some("a-2"), reply(1)),
            says(closed_early(Some("50")), Some("a-2"), reply(1)),
        ),
        ("event-retry-is-a-number", bare(post(1), None, Some("soon")), bare(post(1), None, Some("50"))),
        (
            "get-stream-has-no-progress-of-requests",
            says(with_token(1).bodiless("GET", &SESSION), None, progress()),
            says(with_token(2).bodiless("GET", &SESSION), None, progress()),
        ),
        ("http-session-ids-are-random", variety(13), variety(122)),
        ("http-unknown-session-is-rejected", in_unknown_session(200), in_unknown_session(404)),
        ("http-unknown-session-is-404", in_unknown_session(400), in_unknown_session(404)),
        ("http-ended-session-is-rejected", after_delete(200), after_delete(400)),
        (
            "http-missing-revision-is-tolerated",
            http().ask(call("ping")).says_with(400, json!({})),
            http().ask(call("ping")).says(reply(1)),
        ),
        ("http-response-is-accepted", answer().replies(200, ""), answer().replies(202, "")),
        ("http-broken-json-is-4xx", broken(200), broken(400)),
        ("http-input-has-a-response", unanswered(5_000_000), unanswered(3_000_000)),
        ("http-input-has-a-response", closed(), broken(500)),
        ("http-valid-header-forms", charset(415), charset(200)),
        (
            "http-json-body-is-one-object",
            http().ask(call("ping")).says(json!([reply(1)])),
            http().ask(call("ping")).says(reply(1)),
        ),
    ]
}

#[test]
fn a_server_without_sessions_may_ignore_session_ids() {
    let mut talk = in_unknown_session(200);
    talk.0.steps = vec![outcome(None, json!({ "newest_revisions": ["2025-11-25"] }))];
    assert!(matches!(outcome_of("http-unknown-session-is-rejected", &talk), CheckOutcome::NotApplicable(_)));
}

#[test]
fn sessions_may_use_the_same_ids_but_each_has_its_response() {
    let both = |talk: Talk| talk.post(&SESSION, ping(1)).post(&OTHER, ping(1));
    let id = "response-on-the-stream-of-its-request";
    let own = says(says(http().post(&SESSION, ping(1)), None, reply(1)).post(&OTHER, ping(1)), None, reply(1));
    assert!(matches!(outcome_of(id, &own), CheckOutcome::Passed { .. }));
    let foreign = says(says(both(http()), None, reply(1)), None, reply(1));
    assert!(matches!(outcome_of(id, &foreign), CheckOutcome::Failed { .. }));
}

#[test]
fn the_response_to_another_client_with_the_same_id_is_not_that_to_this_one() {
    let judge = |mut talk: Talk| {
        talk.0.elapsed_us = 20_000_000;
        outcome_of("requests-are-answered", &talk)
    };
    let first = || says(http().post(&[], ping(1)), None, reply(1));
    assert!(matches!(judge(says(first().post(&[], ping(1)), None, reply(1))), CheckOutcome::Passed { .. }));
    assert!(matches!(judge(first().post(&[], ping(1))), CheckOutcome::Failed { .. }));
    assert!(matches!(
        judge(says(http().post(&[], ping(1)).post(&[], ping(1)), None, reply(1))),
        CheckOutcome::Failed { .. }
    ));
}

#[test]
fn a_resumed_stream_may_repeat_responses_and_ids() {
    let talk = resumed(reply(1));
    for id in
        ["event-ids-are-unique", "request-answered-once", "message-on-one-stream", "no-response-on-another-stream"]
    {
        assert!(!matches!(outcome_of(id, &talk), CheckOutcome::Failed { .. }), "{id}");
    }
}

#[test]
fn an_id_that_a_resumed_stream_has_for_another_message_is_not_a_repetition() {
    let other = says(says(post(1), Some("a-1"), reply(1)).bodiless("GET", &RESUMED), Some("a-1"), progress());
    assert!(matches!(outcome_of("event-ids-are-unique", &other), CheckOutcome::Failed { .. }));
    let empty = || event(post(1), Some("a-1"), Body::Event(ConnectionEvent::Bodiless));
    let primed = says(empty().bodiless("GET", &RESUMED), Some("a-1"), json!({}));
    assert!(!matches!(outcome_of("event-ids-are-unique", &primed), CheckOutcome::Failed { .. }));
    assert!(!matches!(outcome_of("resumed-stream-goes-on-after-the-event", &other), CheckOutcome::Failed { .. }));
}

#[test]
fn a_list_that_changes_twice_may_be_announced_on_two_streams() {
    let changed = || json!({ "jsonrpc": "2.0", "method": "notifications/tools/list_changed" });
    let opened = |talk: Talk| event(talk.bodiless("GET", &SESSION), None, Body::Event(ConnectionEvent::Bodiless));
    // The newest stream has the changes, of which the first occurred before it was opened.
    let newest = says(opened(says(opened(http()), None, changed())), None, changed());
    assert!(matches!(outcome_of("message-on-one-stream", &newest), CheckOutcome::Passed { .. }));
    let mut both = says(says(opened(opened(http())), None, changed()), None, changed());
    if let [.., copy, last] = both.0.frames.as_mut_slice() {
        copy.connection = last.connection - 1;
    }
    assert!(matches!(outcome_of("message-on-one-stream", &both), CheckOutcome::Failed { .. }));
}

#[test]
fn sessions_may_use_the_same_event_ids_and_replay_equal_messages() {
    let other = says(http().post(&OTHER, ping(1)), Some("a-1"), reply(1));
    let own = says(says(other.post(&SESSION, ping(1)), Some("a-1"), progress()), Some("a-2"), reply(1));
    let resumed = says(own.bodiless("GET", &RESUMED), Some("a-2"), reply(1));
    assert!(matches!(outcome_of("resumed-stream-has-its-own-messages", &resumed), CheckOutcome::Passed { .. }));
}

#[test]
fn a_stream_that_is_closed_early_has_its_response_when_it_is_resumed() {
    let late = |mut talk: Talk| {
        talk.0.elapsed_us = 20_000_000;
        outcome_of("requests-are-answered", &talk)
    };
    assert!(matches!(late(says(closed_early(Some("5")), Some("a-2"), reply(1))), CheckOutcome::Passed { .. }));
    // The server closes the connection again and again.
    assert!(matches!(late(ended(bare(closed_early(None), Some("a-2"), None), 0)), CheckOutcome::Failed { .. }));
    assert!(matches!(late(closed_early(Some("5")).replies(405, "")), CheckOutcome::Failed { .. }));
    assert!(matches!(outcome_of("closed-stream-has-a-retry", &closed_early(None)), CheckOutcome::NotApplicable(_)));
}

#[test]
fn a_stream_with_event_ids_may_be_closed_before_the_response() {
    let mut talk = ended(event(post(1), Some("a-1"), Body::Event(ConnectionEvent::Bodiless)), 0);
    talk.0.elapsed_us = 20_000_000;
    assert!(!matches!(outcome_of("requests-are-answered", &talk), CheckOutcome::Failed { .. }));
    let mut talk = ended(event(post(1), None, Body::Event(ConnectionEvent::Bodiless)), 0);
    talk.0.elapsed_us = 20_000_000;
    assert!(matches!(outcome_of("requests-are-answered", &talk), CheckOutcome::Failed { .. }));
}

#[test]
fn streams_of_requests_without_a_revision_may_begin_with_a_message() {
    let talk = says(post(1), Some("a-1"), reply(1));
    assert!(matches!(outcome_of("stream-begins-with-an-event-id", &talk), CheckOutcome::NotApplicable(_)));
}

#[test]
fn the_cancellation_of_a_request_with_a_response_is_accepted() {
    let id = "survives-cancellation";
    let with = |cancelled: u64, status: u16| {
        let cancel =
            json!({ "jsonrpc": "2.0", "method": "notifications/cancelled", "params": { "requestId": cancelled } });
        let talk = post(1).says(reply(1)).post(&SESSION, cancel).replies(status, "");
        outcome_of(id, &talk.post(&SESSION, ping(2)).says(reply(2)))
    };
    let CheckOutcome::Failed { frames, .. } = with(1, 404) else { panic!("it fails") };
    assert_eq!(frames.len(), 2, "the cancellation and its response");
    assert!(matches!(with(1, 202), CheckOutcome::Passed { .. }));
    // An unknown request.
    assert!(matches!(with(77, 400), CheckOutcome::Passed { .. }));
    let without_request = |status: u16| {
        let cancel = json!({ "jsonrpc": "2.0", "method": "notifications/cancelled", "params": {} });
        let talk = http().post(&SESSION, cancel).replies(status, "").post(&SESSION, ping(2)).says(reply(2));
        fails(id, &talk)
    };
    assert!(without_request(400));
    assert!(!without_request(202));
}

#[test]
fn a_session_does_not_resume_the_stream_of_another_one() {
    let resume = |talk: Talk| talk.bodiless("GET", &[OTHER[0], ("last-event-id", "a-1")]);
    assert!(fails("sessions-are-separate", &says(resume(http()), Some("a-2"), reply(8))));
    let updated = || json!({ "jsonrpc": "2.0", "method": "notifications/resources/updated" });
    let after =
        |id: &str| says(resume(says(http().bodiless("GET", &SESSION), Some("a-2"), updated())), Some(id), updated());
    assert!(fails("sessions-are-separate", &after("a-2")));
    assert!(!fails("sessions-are-separate", &after("b-1")), "an event of its own");
    // The ids of events are unique in their session only, and that of the first one belongs to its own `initialize`.
    let begun = |session: &[(&str, &str)]| {
        let initialize = json!({ "jsonrpc": "2.0", "id": 8, "method": "initialize" });
        let mut talk = says(http().post(&[("mcp-session-id", "")], initialize), Some("a-2"), reply(8));
        let headers = session.iter().map(|(name, value)| ((*name).to_owned(), (*value).to_owned()));
        talk.http().headers_mut().extend(headers);
        talk
    };
    assert!(!fails("sessions-are-separate", &says(resume(begun(&OTHER)), Some("a-2"), reply(8))), "its own response");
    assert!(fails("sessions-are-separate", &says(resume(begun(&SESSION)), Some("a-2"), reply(8))));
}

#[test]
fn the_cancellation_in_another_session_is_none() {
    let cancelled = |session: &[(&str, &str)]| {
        let cancel = json!({ "jsonrpc": "2.0", "method": "notifications/cancelled", "params": { "requestId": 1 } });
        let mut talk = post(1).post(session, cancel).replies(202, "");
        talk.0.elapsed_us = 20_000_000;
        fails("requests-are-answered", &talk)
    };
    assert!(cancelled(&OTHER));
    assert!(!cancelled(&SESSION));
}
