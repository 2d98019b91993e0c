//! Expectations on processes, and on what the client uses.

use evidence::{Body, ConnectionEvent, Frame};
use reports::model::{Profile, Verdict};

use super::{Expected, millis};
use crate::{
    evidence::Outcome,
    model::{ByteSize, ClientStep},
};

impl Expected<'_> {
    /// What the client used.
    pub(super) fn usage(&mut self) {
        let Some(expected) = self.scenario.expect.usage else { return };
        let Some(used) = self.evidence.process.as_ref().and_then(|process| process.usage) else {
            let (expected, observed) = ("the client stays within its limits", "nothing was sampled");
            return self.push("expect.usage", Verdict::Skipped, expected.into(), observed.into(), vec![]);
        };
        if let Some(limit) = expected.memory {
            let (held, observed) = (used.memory <= limit.0, format!("it used {}", ByteSize(used.memory)));
            self.add(
                "expect.usage.memory",
                held,
                format!("the client uses at most {limit} of memory"),
                observed,
                vec![],
            );
        }
        if let Some(limit) = expected.cpu {
            let held = u128::from(used.cpu_us) <= limit.0.as_micros();
            let observed = format!("it used {}", millis(used.cpu_us));
            self.add(
                "expect.usage.cpu",
                held,
                format!("the client uses at most {limit} of CPU time"),
                observed,
                vec![],
            );
        }
    }

    /// The processes of the case.
    pub(super) fn processes(&mut self) {
        let Some(expected) = &self.scenario.expect.processes else { return };
        let Some(process) = &self.evidence.process else {
            let observed = "no process was observed".to_owned();
            return self.push("expect.processes", Verdict::Blocked, "processes are observed".into(), observed, vec![]);
        };
        if let Some(wanted) = expected.started {
            let starts = |frame: &&Frame| {
                matches!(frame.body, Body::Event(ConnectionEvent::Opened | ConnectionEvent::ChildStarted))
            };
            let frames: Vec<u64> = self.evidence.frames.iter().filter(starts).map(|frame| frame.seq).collect();
            let observed = format!("{} were started", frames.len());
            let expected = format!("at least {wanted} server processes are started");
            self.add("expect.processes.started", frames.len() >= wanted, expected, observed, frames);
        }
        if let Some(limit) = expected.gone_after_disconnect {
            let began = self.evidence.steps.iter().find(|outcome| {
                let step = outcome.step.and_then(|index| self.scenario.steps.client().get(index));
                let happened = !matches!(outcome.outcome, Outcome::Skipped(_));
                happened && matches!(step, Some(ClientStep::Disconnect(_)))
            });
            let expected = format!("no server process exists {limit} after the start of the disconnect");
            let is_untimed = began.is_some_and(|outcome| !outcome.is_timed());
            let Some(began) = began.filter(|_| !is_untimed).map(|outcome| outcome.began_us) else {
                if is_untimed || self.evidence.profile == Profile::Sdk {
                    return;
                }
                let observed = "the client did not reach the disconnect".to_owned();
                return self.push(
                    "expect.processes.gone_after_disconnect",
                    Verdict::Blocked,
                    expected,
                    observed,
                    vec![],
                );
            };
            let last = process.seen.iter().filter(|seen| seen.server).map(|seen| seen.last_us).max();
            let lived = last.unwrap_or(began).saturating_sub(began);
            // The workbench terminated processes that outlived the client, so their lifetime is unknown.
            let left = process.left.iter().filter(|left| left.server).count();
            let held = left == 0 && u128::from(lived) <= limit.0.as_micros();
            let observed = match left {
                0 => format!("the last one was seen {} after it", millis(lived)),
                left => format!("{left} outlived the client"),
            };
            self.add("expect.processes.gone_after_disconnect", held, expected, observed, vec![]);
        }
    }
}
