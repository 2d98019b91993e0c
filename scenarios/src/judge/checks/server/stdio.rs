//! The process of a server: its output and its exit.

use serde_json::Value;

use crate::{
    evidence::Outcome,
    judge::{
        check::{Check, CheckOutcome, Findings, Rule, Scope, brief},
        transcript::{Body, ConnectionEvent, Frame, Transcript},
    },
};

pub(super) const CHECKS: &[Check] = &[
    Check {
        id: "stdout-holds-only-messages",
        requirement: "transports/stdout",
        scope: Scope::Always,
        expected: "standard output has only messages, one per line",
        rule: Rule::Case(stdout),
    },
    Check {
        id: "exits-when-input-closes",
        requirement: "transports/exit-on-end-of-input",
        scope: Scope::Named,
        expected: "the server exits soon when its input is closed",
        rule: Rule::Case(exits),
    },
    Check {
        id: "exits-on-sigterm",
        requirement: "transports/exit-on-sigterm",
        scope: Scope::Named,
        expected: "the server exits after SIGTERM",
        rule: Rule::Case(exits_on_sigterm),
    },
    Check {
        id: "server-leaves-no-process",
        requirement: "workbench/server-leaves-no-process",
        scope: Scope::Always,
        expected: "no process that the server started outlives it",
        rule: Rule::Case(processes),
    },
];

fn stdout(transcript: &Transcript<'_>) -> CheckOutcome {
    let frames = transcript.evidence.frames.iter();
    let lines = frames.filter(|frame| !frame.from_client() && !matches!(frame.body, Body::Event(_)));
    let fault = |line: &&Frame| match &line.body {
        // A line without text is not a message either (basic/transports, stdio).
        Body::Text(text) if text.trim().is_empty() => Some("stdout has an empty line".to_owned()),
        Body::Text(text) => Some(format!("stdout has the line `{}`", text.chars().take(120).collect::<String>())),
        Body::Json(value) if !is_message(value) => Some(format!("stdout has the value {}", brief(value))),
        _ => None,
    };
    let lines = lines.map(|line| (line.seq, line));
    Findings::from_each(lines, fault).or_not_applicable("lines", "the server wrote nothing")
}

/// Whether a value can be meant as a message or a batch. Other checks judge its form.
fn is_message(value: &Value) -> bool {
    let members = ["method", "result", "error", "id"];
    value.is_array() || members.iter().any(|name| value.get(name).is_some())
}

fn exits(transcript: &Transcript<'_>) -> CheckOutcome {
    let closed = transcript.evidence.frames.iter();
    let closed = closed.filter(|frame| frame.body == Body::Event(ConnectionEvent::ClosedByPeer)).map(|frame| frame.seq);
    let exit = first_exit(transcript);
    // A server may finish its work first.
    let is_idle = transcript.requests().iter().all(|request| request.response.is_some());
    match exit.filter(|(exited, after)| *exited && *after > NOT_PROMPT_MS && is_idle) {
        Some((_, after)) => CheckOutcome::failed(
            format!("the server exits only {after} ms after the end of its input"),
            closed.collect(),
        ),
        None => exit_outcome(exit, closed.collect(), "no step closed the input"),
    }
}

/// Clients kill a server that has not exited after a few seconds, and the interpreter of some servers takes one of them.
const NOT_PROMPT_MS: u64 = 9_000;

/// Whether the server exited at the first step that stops it, and after how many milliseconds.
fn first_exit(transcript: &Transcript<'_>) -> Option<(bool, u64)> {
    let steps = transcript.evidence.steps.iter().filter(|step| step.step.is_some());
    let mut exits = steps.filter_map(|step| match &step.outcome {
        Outcome::Value(value) => Some((value.get("exited")?.as_bool()?, value.get("elapsed_ms")?.as_u64()?)),
        _ => None,
    });
    exits.next()
}

fn exit_outcome(exited: Option<(bool, u64)>, frames: Vec<u64>, nothing: &str) -> CheckOutcome {
    match exited {
        Some((true, after)) => CheckOutcome::passed(format!("the server exits within {after} ms"), frames),
        Some((false, after)) => CheckOutcome::failed(format!("the server still runs after {after} ms"), frames),
        None => CheckOutcome::not_applicable(nothing),
    }
}

/// The frames with SIGTERM.
fn sigterms(transcript: &Transcript<'_>) -> Vec<u64> {
    let frames = transcript.evidence.frames.iter();
    frames.filter(|frame| frame.body == Body::Event(ConnectionEvent::Sigterm)).map(|frame| frame.seq).collect()
}

fn exits_on_sigterm(transcript: &Transcript<'_>) -> CheckOutcome {
    let sigterms = sigterms(transcript);
    if sigterms.is_empty() {
        return CheckOutcome::not_applicable("no step sent SIGTERM");
    }
    exit_outcome(first_exit(transcript), sigterms, "no step sent SIGTERM")
}

fn processes(transcript: &Transcript<'_>) -> CheckOutcome {
    let Some(process) = &transcript.evidence.process else {
        return CheckOutcome::not_applicable("the workbench did not start the server");
    };
    // Only the first process of the tree gets the signal. If it is a launcher, the server itself still runs.
    if !sigterms(transcript).is_empty() {
        return CheckOutcome::not_applicable("the server was stopped with a signal");
    }
    if process.left.is_empty() {
        return CheckOutcome::passed(format!("{} processes were seen, and none is left", process.seen.len()), vec![]);
    }
    let left: Vec<String> = process.left.iter().map(|left| format!("{} (`{}`)", left.pid, left.command)).collect();
    CheckOutcome::failed(format!("these processes are left: {}", left.join(", ")), vec![])
}
