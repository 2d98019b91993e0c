//! Checks on a server's process: what it writes, and how it ends.

use mock_servers::{Body, Mark};

use super::talk::{always, brief, is_mark, named, ruling};
use crate::{
    evidence::{Evidence, Outcome},
    judge::check::{Check, Ruling},
    model::Transport,
    peer::is_blank,
};

/// The checks of this theme.
pub(super) const ALL: &[Check] = &[
    always(
        "stdout-holds-only-messages",
        "transports/stdout",
        "standard output holds nothing but messages, one a line",
        stdout,
    ),
    named(
        "exits-when-input-closes",
        "transports/exit-on-end-of-input",
        "the server exits when its input is closed",
        exits,
    ),
    always(
        "server-leaves-no-process",
        "workbench/server-leaves-no-process",
        "no process that the server started outlives it",
        processes,
    ),
];

const NO_PROCESS: &str = "the server is not a process of ours";

fn stdout(evidence: &Evidence) -> Ruling {
    if evidence.transport != Transport::Stdio {
        return Ruling::NotApplicable(NO_PROCESS.to_owned());
    }
    let said: Vec<_> =
        evidence.frames.iter().filter(|frame| !frame.from_client() && !matches!(frame.body, Body::Mark(_))).collect();
    let wrong = said.iter().filter_map(|frame| match &frame.body {
        Body::Text(text) if !is_blank(&frame.body) => {
            Some((frame.seq, format!("it holds `{}`", text.chars().take(120).collect::<String>())))
        }
        Body::Json(value) if !(value.is_object() || value.is_array()) => {
            Some((frame.seq, format!("it holds {}", brief(value))))
        }
        _ => None,
    });
    let frames: Vec<u64> = said.iter().map(|frame| frame.seq).collect();
    ruling(wrong.collect(), &frames, format!("all {} lines are messages", said.len()), "the server wrote nothing")
}

fn exits(evidence: &Evidence) -> Ruling {
    if evidence.transport != Transport::Stdio {
        return Ruling::NotApplicable(NO_PROCESS.to_owned());
    }
    let closed: Vec<u64> =
        evidence.frames.iter().filter(|frame| is_mark(frame, Mark::ClosedByPeer)).map(|frame| frame.seq).collect();
    let exited = evidence.steps.iter().filter(|step| step.step.is_some()).find_map(|step| match &step.outcome {
        Outcome::Value(value) => Some((value.get("exited")?.as_bool()?, value.get("elapsed_ms")?.as_u64()?)),
        _ => None,
    });
    match exited {
        Some((true, after)) => Ruling::held(format!("it exits within {after} ms"), closed),
        Some((false, after)) => Ruling::broken(format!("it still runs after {after} ms"), closed),
        None => Ruling::NotApplicable("the input was not closed as a step".to_owned()),
    }
}

fn processes(evidence: &Evidence) -> Ruling {
    let Some(process) = &evidence.process else { return Ruling::NotApplicable(NO_PROCESS.to_owned()) };
    if process.left.is_empty() {
        return Ruling::held(format!("none does; {} were seen below it", process.seen.len()), vec![]);
    }
    let left: Vec<String> = process.left.iter().map(|left| format!("{} (`{}`)", left.pid, left.command)).collect();
    Ruling::broken(format!("left: {}", left.join(", ")), vec![])
}
