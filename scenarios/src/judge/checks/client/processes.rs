//! The exit of the client and of the servers that it started.

use super::RACE_US;
use crate::{
    evidence::ObservedProcess,
    judge::{
        check::{Check, CheckOutcome, Findings, Rule, Scope},
        transcript::{Body, ConnectionEvent, Transcript},
    },
};

pub(super) const CHECKS: &[Check] = &[
    Check {
        id: "no-process-left",
        requirement: "client/no-process-left",
        scope: Scope::Always,
        expected: "no process that the client started outlives it",
        rule: Rule::Case(no_process_left),
    },
    Check {
        id: "ends-by-itself",
        requirement: "client/ends-by-itself",
        scope: Scope::Always,
        expected: "the client exits without being killed",
        rule: Rule::Case(ends_by_itself),
    },
    Check {
        id: "closes-before-killing",
        requirement: "client/closes-before-killing",
        scope: Scope::Named,
        expected: "the client closes the input of a server and gives it time before it sends a signal",
        rule: Rule::Case(closes_before_killing),
    },
];

/// The shortest time that lets a server exit by itself.
const GRACE_US: u64 = 30_000;

const NO_PROCESS: &str = "no process was observed";

fn no_process_left(transcript: &Transcript<'_>) -> CheckOutcome {
    let Some(process) = &transcript.evidence.process else { return CheckOutcome::not_applicable(NO_PROCESS) };
    if !process.left.is_empty() {
        let left: Vec<_> = process.left.iter().take(3).map(describe).collect();
        return CheckOutcome::failed(format!("{} processes are left: {}", process.left.len(), left.join("; ")), vec![]);
    }
    if process.seen.is_empty() {
        return CheckOutcome::not_applicable("the client was not seen to start a process");
    }
    CheckOutcome::passed(format!("{} processes were seen, and none is left", process.seen.len()), vec![])
}

fn describe(process: &ObservedProcess) -> String {
    format!("{} (pid {})", process.command.chars().take(120).collect::<String>(), process.pid)
}

fn ends_by_itself(transcript: &Transcript<'_>) -> CheckOutcome {
    let Some(process) = &transcript.evidence.process else { return CheckOutcome::not_applicable(NO_PROCESS) };
    if process.killed_on_purpose {
        return CheckOutcome::not_applicable("the scenario kills the client");
    }
    if transcript.evidence.timed_out {
        // The requirement of the scenario decides how severe that is.
        return CheckOutcome::not_applicable("the timeout of the case is a result of its own");
    }
    match (process.signal, process.code) {
        (Some(signal), _) => CheckOutcome::failed(format!("it was terminated by signal {signal}"), vec![]),
        (None, Some(code)) => CheckOutcome::passed(format!("it exited with code {code}"), vec![]),
        (None, None) => CheckOutcome::failed("it was not seen to exit", vec![]),
    }
}

fn closes_before_killing(transcript: &Transcript<'_>) -> CheckOutcome {
    let process = transcript.evidence.process.as_ref();
    let killed = process.filter(|process| process.killed_on_purpose).map(|process| process.ended_us);
    let mut findings = Findings::default();
    for session in transcript.sessions() {
        let first = |event| session.frames.iter().find(|frame| frame.body == Body::Event(event));
        let (closed, signal) = (first(ConnectionEvent::ClosedByPeer), first(ConnectionEvent::Sigterm));
        // A signal that was set up for the death of the client says nothing about the order of its shutdown.
        let posthumous = |at_us: u64| killed.is_some_and(|ended| ended.is_none_or(|ended| at_us + RACE_US >= ended));
        match (closed, signal) {
            (_, Some(signal)) if posthumous(signal.at_us) => {}
            // The server may notice the signal before the end of an input that was closed first.
            (Some(closed), Some(signal)) if closed.seq < signal.seq || closed.at_us <= signal.at_us + RACE_US / 5 => {
                let waited_us = signal.at_us.saturating_sub(closed.at_us);
                let message = || {
                    format!("`{}` received SIGTERM {} ms after the end of its input", session.server, waited_us / 1000)
                };
                findings.check(signal.seq, if waited_us < GRACE_US { Err(message()) } else { Ok(()) });
            }
            (_, Some(signal)) => {
                let message = format!("`{}` received SIGTERM while its input was open", session.server);
                findings.check(signal.seq, Err(message));
            }
            (Some(closed), None) => findings.saw(closed.seq),
            (None, None) => {}
        }
    }
    findings.or_blocked("servers", "no server observed the end of its input or a signal")
}

#[cfg(test)]
mod tests;
