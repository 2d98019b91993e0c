//! The process of a server: its output and its exit.

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
        expected: "the server exits when its input is closed",
        rule: Rule::Case(exits),
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
        Body::Text(text) if !text.trim().is_empty() => {
            Some(format!("it has the line `{}`", text.chars().take(120).collect::<String>()))
        }
        Body::Json(value) if !(value.is_object() || value.is_array()) => {
            Some(format!("it has the value {}", brief(value)))
        }
        _ => None,
    };
    let lines = lines.map(|line| (line.seq, line));
    Findings::from_each(lines, fault).or_not_applicable("lines", "the server wrote nothing")
}

fn exits(transcript: &Transcript<'_>) -> CheckOutcome {
    let closed = transcript.evidence.frames.iter();
    let closed = closed.filter(|frame| frame.body == Body::Event(ConnectionEvent::ClosedByPeer)).map(|frame| frame.seq);
    let steps = transcript.evidence.steps.iter().filter(|step| step.step.is_some());
    let exited = steps.filter_map(|step| match &step.outcome {
        Outcome::Value(value) => Some((value.get("exited")?.as_bool()?, value.get("elapsed_ms")?.as_u64()?)),
        _ => None,
    });
    match exited.into_iter().next() {
        Some((true, after)) => CheckOutcome::passed(format!("it exits within {after} ms"), closed.collect()),
        Some((false, after)) => CheckOutcome::failed(format!("it still runs after {after} ms"), closed.collect()),
        None => CheckOutcome::not_applicable("no step closed the input"),
    }
}

fn processes(transcript: &Transcript<'_>) -> CheckOutcome {
    let Some(process) = &transcript.evidence.process else {
        return CheckOutcome::not_applicable("the workbench did not start the server");
    };
    if process.left.is_empty() {
        return CheckOutcome::passed(format!("{} processes were seen, and none is left", process.seen.len()), vec![]);
    }
    let left: Vec<String> = process.left.iter().map(|left| format!("{} (`{}`)", left.pid, left.command)).collect();
    CheckOutcome::failed(format!("left: {}", left.join(", ")), vec![])
}
