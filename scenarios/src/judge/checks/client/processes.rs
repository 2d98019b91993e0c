//! The end: of the client, and of the servers that it started.

use mock_servers::{Body, Mark};

use super::{RACE_US, findings::Findings, session::sessions};
use crate::{
    evidence::{Evidence, ProcessSeen},
    judge::check::{Check, Ruling, Scope},
    model::{Subject, Transport},
};

pub(super) const ALL: &[Check] = &[
    Check {
        id: "no-process-left",
        requirement: "client/no-process-left",
        subject: Subject::Client,
        scope: Scope::Always,
        expected: "no process that the client started outlives it",
        rule: no_process_left,
    },
    Check {
        id: "ends-by-itself",
        requirement: "client/ends-by-itself",
        subject: Subject::Client,
        scope: Scope::Always,
        expected: "the client comes to its end without being killed",
        rule: ends_by_itself,
    },
    Check {
        id: "closes-before-killing",
        requirement: "client/closes-before-killing",
        subject: Subject::Client,
        scope: Scope::Named,
        expected: "a server sees the end of its input before it is told to end by a signal",
        rule: closes_before_killing,
    },
];

fn no_process_left(evidence: &Evidence) -> Ruling {
    let Some(process) = &evidence.process else {
        return Ruling::NotApplicable("no process was watched".to_owned());
    };
    if !process.left.is_empty() {
        let told: Vec<_> = process.left.iter().take(3).map(in_words).collect();
        let number = process.left.len();
        return Ruling::broken(format!("{number} processes were left: {}", told.join("; ")), vec![]);
    }
    if process.seen.is_empty() {
        return Ruling::NotApplicable("the client was not seen to start a process".to_owned());
    }
    Ruling::held(format!("{} processes were seen, and none was left", process.seen.len()), vec![])
}

fn in_words(process: &ProcessSeen) -> String {
    format!("{} (pid {})", process.command.chars().take(120).collect::<String>(), process.pid)
}

fn ends_by_itself(evidence: &Evidence) -> Ruling {
    let Some(process) = &evidence.process else {
        return Ruling::NotApplicable("no process was watched".to_owned());
    };
    if process.killed_on_purpose {
        return Ruling::NotApplicable("the scenario has the client killed".to_owned());
    }
    match (evidence.timed_out, process.signal, process.code) {
        (true, _, _) => Ruling::broken("it was still running when the time limit had passed", vec![]),
        (false, Some(signal), _) => Ruling::broken(format!("it was ended by signal {signal}"), vec![]),
        (false, None, Some(code)) => Ruling::held(format!("it ended with exit code {code}"), vec![]),
        (false, None, None) => Ruling::broken("it was not seen to end", vec![]),
    }
}

fn closes_before_killing(evidence: &Evidence) -> Ruling {
    if evidence.transport != Transport::Stdio {
        return Ruling::NotApplicable("the client started no server".to_owned());
    }
    let killed = evidence.process.as_ref().filter(|process| process.killed_on_purpose).map(|process| process.ended_us);
    let mut findings = Findings::default();
    for session in sessions(evidence) {
        let ends: Vec<_> = session.frames.iter().filter(|frame| matches!(frame.body, Body::Mark(_))).collect();
        let first = |mark: Mark| ends.iter().find(|frame| frame.body == Body::Mark(mark));
        let (closed, signal) = (first(Mark::ClosedByPeer), first(Mark::Sigterm));
        // What a client that was killed had prepared for its death is no order to be kept.
        let posthumous = |at_us: u64| killed.is_some_and(|ended| ended.is_none_or(|ended| at_us + RACE_US >= ended));
        match (closed, signal) {
            (_, Some(signal)) if posthumous(signal.at_us) => {}
            // The signal may be noticed before the end of an input that was closed first.
            (Some(closed), Some(signal)) if closed.seq < signal.seq || closed.at_us <= signal.at_us + RACE_US / 5 => {
                findings.saw(closed.seq);
            }
            (_, Some(signal)) => {
                findings.saw(signal.seq);
                let words = format!("`{}` got SIGTERM while its input was open", session.server);
                findings.breach(words, [signal.seq]);
            }
            (Some(closed), None) => findings.saw(closed.seq),
            (None, None) => {}
        }
    }
    findings.or_blocked("servers", "no server lived to see the end of its input or a signal")
}

#[cfg(test)]
mod tests;
