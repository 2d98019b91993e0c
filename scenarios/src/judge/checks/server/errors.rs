//! Checks on how a server takes what it cannot understand: unknown methods, broken JSON, unknown notifications.

use mock_servers::Body;

use super::talk::{Exchange, asked, brief, exchanges, named, ruling, said};
use crate::{
    evidence::Evidence,
    judge::check::{Check, Ruling},
};

/// The method that scenarios ask for and no server has.
const UNKNOWN: &str = "workbench/no-such-method";

/// The checks of this theme.
pub(super) const ALL: &[Check] = &[
    named(
        "unknown-method-is-refused",
        "messages/unknown-method",
        "a method that does not exist is answered with an error",
        refused,
    ),
    named("unknown-method-code", "messages/method-not-found", "the error says -32601 (method not found)", code),
    named(
        "survives-broken-json",
        "messages/survives-broken-json",
        "a message that is no JSON does not end the conversation",
        survives,
    ),
    named(
        "broken-json-code",
        "messages/parse-error",
        "if broken JSON is answered, then with -32700 (parse error) or -32600",
        parse_error,
    ),
    named(
        "survives-unknown-notification",
        "messages/unknown-notification",
        "a notification that nobody knows does not end the conversation",
        ignores,
    ),
];

fn refused(evidence: &Evidence) -> Ruling {
    let all = asked(evidence, UNKNOWN);
    let Some(exchange) = all.first() else { return not_asked() };
    match (exchange.error(), exchange.answer) {
        (Some(error), _) => Ruling::held(format!("the error is {}", brief(error)), exchange.frames()),
        (None, Some((_, answer))) => Ruling::broken(format!("the answer is {}", brief(answer)), exchange.frames()),
        (None, None) => Ruling::broken("there is no answer", exchange.frames()),
    }
}

fn code(evidence: &Evidence) -> Ruling {
    let all = asked(evidence, UNKNOWN);
    let Some(exchange) = all.first() else { return not_asked() };
    match exchange.code() {
        Some(-32601) => Ruling::held("it does", exchange.frames()),
        Some(other) => Ruling::broken(format!("it says {other}"), exchange.frames()),
        None => Ruling::Blocked("the method was not refused with a code".to_owned()),
    }
}

fn not_asked() -> Ruling {
    Ruling::NotApplicable("no unknown method was asked for".to_owned())
}

/// The first thing that we wrote and that is no JSON.
fn garbage(evidence: &Evidence) -> Option<u64> {
    let mut texts = evidence.frames.iter().filter(|frame| frame.from_client() && matches!(frame.body, Body::Text(_)));
    texts.next().map(|frame| frame.seq)
}

fn survives(evidence: &Evidence) -> Ruling {
    match garbage(evidence) {
        Some(seq) => alive_after(evidence, seq),
        None => Ruling::NotApplicable("no broken JSON was sent".to_owned()),
    }
}

fn ignores(evidence: &Evidence) -> Ruling {
    let mut strange = evidence.frames.iter().filter(|frame| {
        frame.from_client() && frame.is_notification() && frame.method() != Some("notifications/initialized")
    });
    match strange.next() {
        Some(frame) => alive_after(evidence, frame.seq),
        None => Ruling::NotApplicable("no unknown notification was sent".to_owned()),
    }
}

/// Whether a request that was sent after this frame is answered, with whatever.
fn alive_after(evidence: &Evidence, seq: u64) -> Ruling {
    let later: Vec<Exchange<'_>> =
        exchanges(evidence).into_iter().filter(|exchange| exchange.asked.seq > seq).collect();
    let Some(last) = later.last() else { return Ruling::Blocked("nothing was asked afterwards".to_owned()) };
    if last.answer.is_some() {
        Ruling::held("a request after it is answered", [vec![seq], last.frames()].concat())
    } else {
        Ruling::broken("no request after it is answered", vec![seq, last.asked.seq])
    }
}

fn parse_error(evidence: &Evidence) -> Ruling {
    let Some(seq) = garbage(evidence) else { return Ruling::NotApplicable("no broken JSON was sent".to_owned()) };
    let next =
        exchanges(evidence).into_iter().find(|exchange| exchange.asked.seq > seq).map(|exchange| exchange.asked.seq);
    let errors: Vec<_> = said(evidence)
        .filter(|(frame, _)| frame.seq > seq && next.is_none_or(|next| frame.seq < next))
        .filter_map(|(frame, message)| Some((frame.seq, message.get("error")?)))
        .collect();
    let wrong = errors.iter().filter(|(_, error)| !matches!(error["code"].as_i64(), Some(-32700 | -32600)));
    let faults = wrong.map(|(frame, error)| (*frame, format!("the error is {}", brief(error)))).collect();
    let frames: Vec<u64> = errors.iter().map(|(frame, _)| *frame).collect();
    ruling(faults, &frames, "it is".to_owned(), "the server does not answer broken JSON, and need not")
}
