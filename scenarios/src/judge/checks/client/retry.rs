//! What a client does about a request that was refused for now (RFC 9110, section 10.2.3).

use mock_servers::Frame;

use super::{
    findings::Findings,
    session::{exchanges, header},
};
use crate::{
    evidence::Evidence,
    judge::check::{Check, Ruling, Scope},
    model::{Subject, Transport},
};

/// How much earlier than asked a request may come: clocks of two processes are compared, and so is rounding.
const SLACK_US: u64 = 100_000;

pub(super) const ALL: &[Check] = &[Check {
    id: "waits-as-asked",
    requirement: "http/retry-after",
    subject: Subject::Client,
    scope: Scope::Named,
    expected: "a request that was refused with `Retry-After` is not made again before that time",
    rule: waits_as_asked,
}];

fn waits_as_asked(evidence: &Evidence) -> Ruling {
    if evidence.transport != Transport::StreamableHttp {
        return Ruling::NotApplicable("nothing was sent over Streamable HTTP".to_owned());
    }
    let mut findings = Findings::default();
    for exchange in exchanges(evidence) {
        let refusal = exchange.frames.iter().find_map(|frame| asked_wait(frame).map(|wait| (*frame, wait)));
        let (Some(request), Some((refusal, wait_us))) = (exchange.request(), refusal) else { continue };
        let again = evidence.frames.iter().find(|frame| frame.seq > refusal.seq && is_again(frame, request));
        let after = again.map(|again| again.at_us.saturating_sub(refusal.at_us));
        let early = after.filter(|after| after + SLACK_US < wait_us);
        findings.judge(
            refusal.seq,
            early.map_or(Ok(()), |after| {
                Err(format!("a request came again {} ms after it was put off for {} ms", after / 1000, wait_us / 1000))
            }),
        );
    }
    findings.or_blocked("refusals", "no request was refused with `Retry-After`")
}

/// How long this refusal asks to wait, in microseconds.
fn asked_wait(frame: &Frame) -> Option<u64> {
    frame.http.as_ref()?.status.filter(|status| matches!(status, 429 | 503))?;
    header(frame, "retry-after")?.trim().parse::<u64>().ok()?.checked_mul(1_000_000)
}

/// Whether the client asks the same of the same server.
fn is_again(frame: &Frame, request: &Frame) -> bool {
    let what = |frame: &Frame| {
        let json = frame.json()?;
        Some((json.get("method")?.clone(), json.pointer("/params/name").cloned()))
    };
    frame.from_client()
        && frame.server == request.server
        && what(request).is_some_and(|asked| what(frame) == Some(asked))
}

#[cfg(test)]
mod tests;
