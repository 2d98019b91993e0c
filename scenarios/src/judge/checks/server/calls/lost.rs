//! Calls of tools that have no response.

use std::collections::{HashMap, HashSet};

use evidence::{Body, ConnectionEvent, Frame};
use serde_json::Value;

use super::{Call, NO_CALLS, calls, with_violations};
use crate::judge::{
    check::{CheckOutcome, Findings},
    transcript::{Transcript, http::status},
};

/// A call without a response that was cancelled sooner than this, in microseconds, may just be slow.
const PATIENCE_US: u64 = 8_000_000;
/// The same, if an equal call was fast, or any call of the tool and this one has invalid arguments.
const PATIENCE_WITH_FAST_US: u64 = 4_500_000;
/// A call with a later response is slow.
const LATE_US: u64 = 1_000_000;

/// Whether an HTTP server rejected a request because of its size: 413 (RFC 9110, 15.5.14), or 431 (RFC 6585, 5).
fn is_too_large(transcript: &Transcript<'_>, request: &Frame) -> bool {
    matches!(transcript.reply(request).and_then(status), Some(413 | 431))
}

/// When the workbench closed the exchange of a request, which cancels it (2026-07-28, basic/patterns/cancellation).
fn closed_at(transcript: &Transcript<'_>, request: &Frame) -> Option<u64> {
    let exchange = transcript.connection_of(request).filter(|_| transcript.is_http())?;
    let closed = |frame: &&&Frame| frame.from_client() && frame.body == Body::Event(ConnectionEvent::ClosedByPeer);
    exchange.frames.iter().find(closed).map(|frame| frame.at_us)
}

/// Words in the name of a tool that waits for an event or a time.
const WAITS: [&str; 7] = ["poll", "wait", "watch", "listen", "sleep", "delay", "subscribe"];

fn waits_on_purpose(call: &Call<'_, '_>) -> bool {
    let name = call.name.to_ascii_lowercase();
    name.split(|letter: char| !letter.is_ascii_alphanumeric()).any(|word| WAITS.contains(&word))
}

pub(super) fn answered(transcript: &Transcript<'_>) -> CheckOutcome {
    let mut cancelled = HashMap::new();
    let mut progress: Vec<&Value> = Vec::new();
    for message in transcript.messages() {
        if let Some(id) = message.cancels() {
            cancelled.insert(id.to_string(), message.at_us());
        }
        if message.is("notifications/progress") {
            progress.extend(message.param("progressToken"));
        }
    }
    let calls = calls(transcript);
    let mut sent: HashMap<&str, Vec<u64>> = HashMap::new();
    for call in &calls {
        sent.entry(call.name).or_default().push(call.request.request.seq());
    }
    let is_fast = |call: &&Call<'_, '_>| {
        let (request, of_tool) = (call.request.request, &sent[call.name]);
        let next = of_tool.get(of_tool.partition_point(|seq| *seq <= request.seq()));
        // A tool that waits for an event may end one call because of the next.
        call.request.response.is_some_and(|response| {
            response.at_us() < request.at_us() + LATE_US && next.is_none_or(|next| *next > response.seq())
        })
    };
    let fast: HashSet<(&str, String)> = calls.iter().filter(is_fast).map(Call::kind).collect();
    let succeeds = |call: &&Call<'_, '_>| call.success().is_some() && is_fast(call);
    let fast_tools: HashSet<&str> = calls.iter().filter(succeeds).map(|call| call.name).collect();
    let open = calls.iter().filter(|call| call.request.response.is_none());
    // What a tool refuses needs no more time than what it does.
    let invalid = with_violations(open)
        .into_iter()
        .filter(|(call, violation)| violation.is_some() && fast_tools.contains(call.name));
    let invalid: HashSet<u64> = invalid.map(|(call, _)| call.request.request.seq()).collect();
    let is_lost = |call: &Call<'_, '_>| {
        let has_fast = call.request.response.is_none() && fast.contains(&call.kind());
        let is_quick = has_fast || invalid.contains(&call.request.request.seq());
        let patience_us = if is_quick { PATIENCE_WITH_FAST_US } else { PATIENCE_US };
        let request = call.request.request;
        let given_up = request.id().and_then(|id| cancelled.get(&id.to_string()).copied());
        let given_up = given_up.or_else(|| closed_at(transcript, request.frame));
        let waited = given_up.map_or(patience_us, |at| at.saturating_sub(request.at_us()));
        let token = call.request.param("_meta").and_then(|meta| meta.get("progressToken"));
        let works = !has_fast && token.is_some_and(|token| progress.contains(&token));
        let is_slow = waited < patience_us || works;
        call.request.response.is_none() && !is_slow && !is_too_large(transcript, request.frame)
    };
    let is_late = |call: &Call<'_, '_>| {
        let request = call.request;
        request.response.is_some_and(|response| response.at_us() > request.request.at_us() + LATE_US)
    };
    let waits = |call: &&Call<'_, '_>| is_lost(call) || is_late(call);
    let waiting: HashSet<&str> = calls.iter().filter(waits).map(|call| call.name).collect();
    let mut findings = Findings::default();
    for call in &calls {
        let hint = call.tool.pointer("/annotations/openWorldHint").and_then(Value::as_bool);
        let message = || format!("the call of `{}` has no response", call.name);
        match is_lost(call) {
            false => findings.saw(call.request.last_frame()),
            true if !fast_tools.contains(call.name) && waits_on_purpose(call) => {
                findings.known(call.request.last_frame(), format!("{}, and it may wait on purpose", message()));
            }
            // Several tools without a response, or with a late one, wait for the same network. A refusal needs none.
            true if hint == Some(true)
                || (hint.is_none() && waiting.len() > 1 && !invalid.contains(&call.request.request.seq())) =>
            {
                findings.known(call.request.last_frame(), format!("{}, and it may wait for its network", message()));
            }
            true => findings.check(call.request.last_frame(), Err(message())),
        }
    }
    findings.or_not_applicable("calls", NO_CALLS)
}
