//! Evaluates the expectations of a scenario on steps, frames, processes and events.

mod processes;

use std::borrow::Cow;

use evidence::{Direction, Frame, Http};
use regex::Regex;
use reports::model::{CheckResult, Profile, Requirement, Verdict};
use serde_json::Value;

use super::{
    Transcript,
    check::brief,
    derived::{Observed, Shown, derive},
    values::evaluate,
};
use crate::{
    evidence::{Evidence, Outcome, StepError, StepOutcome, is_authorization},
    model::{
        AnyStep, ClientStep, Expect, FrameExpectation, HttpExpectation, Scenario, Sender, Subject, ValueExpectation,
    },
    parameter_headers,
};

/// Maximum number of frames that the result of a step names.
const MAX_STEP_FRAMES: usize = 10;

/// Expected errors of steps for which a client sends no request.
const WITHOUT_A_REQUEST: [&str; 7] =
    ["spawn-failed", "stale", "unknown-tool", "denied", "not-allowed", "invalid-arguments", "rejected-by-client"];

/// The steps that every library of a client can do. It may lack others, such as setting a log level.
const EVERY_LIBRARY_HAS: [&str; 7] = ["connect", "reconnect", "disconnect", "list", "call", "start", "finish"];

/// The expectations of one case, and their results.
pub(super) struct Expected<'a> {
    scenario: &'a Scenario,
    evidence: &'a Evidence,
    requirement: Requirement,
    /// What the frames show of each step of a client.
    shown: Vec<Shown>,
    /// The first step that the client skipped. What follows it cannot be judged.
    skipped: Option<usize>,
    found: Vec<CheckResult>,
}

impl<'a> Expected<'a> {
    pub(super) fn new(scenario: &'a Scenario, transcript: &Transcript<'a>, requirement: Requirement) -> Self {
        let shown = derive(scenario, transcript);
        let evidence = transcript.evidence;
        let skipped = evidence.first_skipped_step().filter(|_| scenario.subject == Subject::Client);
        Self { scenario, evidence, requirement, shown, skipped, found: Vec::new() }
    }

    /// Returns the results of all expectations.
    pub(super) fn judge(mut self) -> Vec<CheckResult> {
        self.implicit_connections();
        for (index, step) in self.scenario.steps.iter().enumerate() {
            self.step(index, step);
        }
        if self.skipped.is_some() {
            return self.found;
        }
        let revision = self.evidence.revision;
        let frames = self.scenario.expect.frames.iter().enumerate();
        for (index, expectation) in frames.filter(|(_, one)| one.until.is_none_or(|until| revision <= until)) {
            self.frames(index, expectation);
        }
        self.processes();
        self.usage();
        self.events();
        if let Some(limit) = self.scenario.expect.within {
            let held = u128::from(self.evidence.elapsed_us) <= limit.0.as_micros();
            let observed = format!("it took {}", millis(self.evidence.elapsed_us));
            self.add("expect.within", held, format!("the case finishes within {limit}"), observed, vec![]);
        }
        self.found
    }

    fn add(&mut self, id: impl Into<String>, held: bool, expected: String, observed: String, frames: Vec<u64>) {
        let verdict = if held { Verdict::Passed } else { self.violation() };
        self.push(id, verdict, expected, observed, frames);
    }

    fn push(&mut self, id: impl Into<String>, verdict: Verdict, expected: String, observed: String, frames: Vec<u64>) {
        let requirement = self.requirement.clone();
        self.found.push(CheckResult { id: id.into(), verdict, requirement, expected, observed, frames });
    }

    /// The verdict on a violation of the scenario's requirement.
    fn violation(&self) -> Verdict {
        self.evidence.profile.violation(self.requirement.level)
    }

    /// Connections without a step must succeed too.
    fn implicit_connections(&mut self) {
        let failed = self.evidence.steps.iter().filter(|step| step.step.is_none());
        for outcome in failed {
            let Outcome::Error(error) = &outcome.outcome else { continue };
            let server = outcome.server.as_deref().unwrap_or("server");
            // The handshake scenarios cover a server that rejects the handshake; others cannot judge it.
            let verdict = match self.scenario.subject {
                Subject::Client => self.violation(),
                Subject::Server => Verdict::Blocked,
            };
            self.push(
                format!("connect[{server}]"),
                verdict,
                format!("the connection to `{server}` is opened and closed without error"),
                describe(error),
                vec![],
            );
        }
    }

    fn step(&mut self, index: usize, step: AnyStep<'_>) {
        let id = format!("steps[{index}].{}", step.kind());
        if self.skipped.is_some_and(|skipped| skipped < index) {
            let reason = "the client skipped an earlier step".to_owned();
            return self.push(id, Verdict::Skipped, "the step finishes".into(), reason, vec![]);
        }
        if let AnyStep::Client(ClientStep::Die(_)) = step {
            return self.death(id);
        }
        let is_sdk = self.evidence.profile == Profile::Sdk;
        if is_sdk && let AnyStep::Client(ClientStep::Await(_) | ClientStep::Refresh(_)) = step {
            let reason = "only agents report events and changes".to_owned();
            return self.push(id, Verdict::Skipped, "the step finishes".into(), reason, vec![]);
        }
        let outcome = self.evidence.steps.iter().find(|outcome| outcome.step == Some(index));
        let Some(outcome) = outcome else {
            return self.unreported(index, id, step);
        };
        let frames = || self.frames_of(outcome);
        match (&outcome.outcome, &step.expect().error) {
            (Outcome::Skipped(reason), _) => {
                let (verdict, reason) = match self.scenario.subject {
                    Subject::Client => {
                        let may_lack = is_sdk && !EVERY_LIBRARY_HAS.contains(&step.kind());
                        let verdict = if may_lack { Verdict::Skipped } else { Verdict::Blocked };
                        (verdict, format!("the client skipped it: {reason}"))
                    }
                    Subject::Server => (Verdict::Skipped, reason.clone()),
                };
                self.push(id, verdict, "the step finishes".into(), reason, vec![]);
            }
            (Outcome::Value(_), _) if self.connects_without_message(step, outcome) => {
                let reason = "the client connected without a message, which the revision allows".to_owned();
                self.push(id, Verdict::Skipped, "the step finishes".into(), reason, vec![]);
            }
            (Outcome::Value(value), None) => {
                self.add(&id, true, "the step succeeds".into(), brief(value), vec![]);
                self.value(&id, step.expect(), value);
                self.timing(&id, step.expect(), outcome);
            }
            (Outcome::Value(_), Some(wanted)) if self.may_succeed(step.expect()) => {
                let reason = "the client does not check this: an earlier step did not fail either".to_owned();
                self.push(id, Verdict::Skipped, format!("it fails with `{wanted}`"), reason, vec![]);
            }
            (Outcome::Value(value), Some(wanted)) => {
                self.add(
                    id,
                    false,
                    format!("it fails with `{wanted}`"),
                    format!("it succeeded: {}", brief(value)),
                    vec![],
                );
            }
            (Outcome::Error(error), None) if step.expect().either => {
                self.add(&id, true, "the step finishes".into(), describe(error), vec![]);
                self.timing(&id, step.expect(), outcome);
            }
            (Outcome::Error(error), None) if self.is_lost(error) => {
                let frames = frames();
                self.push(id, Verdict::Blocked, "the step succeeds".into(), describe(error), frames);
            }
            (Outcome::Error(error), None) => {
                let frames = frames();
                self.add(id, false, "the step succeeds".into(), describe(error), frames);
            }
            (Outcome::Error(error), Some(wanted)) => {
                if let Some(reason) = self.unattempted(index, wanted) {
                    return self.push(id, Verdict::Blocked, "the step fails with the server".into(), reason, vec![]);
                }
                // The kinds of errors are those of the contract, which a library need not have.
                let held = is_sdk || error.is_one_of(wanted);
                self.add(&id, held, format!("it fails with `{wanted}`"), describe(error), vec![]);
                self.error(&id, step.expect(), error);
                self.timing(&id, step.expect(), outcome);
            }
        }
    }

    /// Whether the step must fail only if an earlier one failed, and that one did not.
    fn may_succeed(&self, expect: &Expect) -> bool {
        let failed = |outcome: &&StepOutcome| matches!(outcome.outcome, Outcome::Error(_));
        let has_failed = |index| self.evidence.steps.iter().filter(failed).any(|outcome| outcome.step == Some(index));
        expect.if_failed.is_some_and(|earlier| !has_failed(earlier))
    }

    /// The step at which the client is killed.
    fn death(&mut self, id: String) {
        let killed = self.evidence.process.as_ref().is_some_and(|process| process.killed_on_purpose);
        let (verdict, observed) = match killed {
            true => (Verdict::Passed, "it was killed"),
            false if self.evidence.timed_out => (self.violation(), "it did not reach this step"),
            false => (Verdict::Blocked, "it exited before it could be killed"),
        };
        self.push(id, verdict, "the client reaches this step and is killed".into(), observed.into(), vec![]);
    }

    /// Whether a client of a stateless revision reports a connection to a server that it has sent nothing yet
    /// (2026-07-28, basic/versioning: it need not call `server/discover`).
    fn connects_without_message(&self, step: AnyStep<'_>, outcome: &StepOutcome) -> bool {
        let named = match step {
            AnyStep::Client(ClientStep::Connect(connect)) => connect.server.as_deref(),
            AnyStep::Client(ClientStep::Reconnect(target)) => target.server.as_deref(),
            _ => return false,
        };
        let mut servers = self.scenario.scripts().map(|(name, _)| name);
        let until = if outcome.is_timed() { outcome.ended_us } else { u64::MAX };
        let has_sent = |server: &str| {
            let mut sent = self.evidence.frames.iter().filter(|frame| frame.from_client() && frame.at_us <= until);
            sent.any(|frame| frame.server == server && frame.json().is_some())
        };
        let is_silent = |server: &str| !has_sent(server);
        self.evidence.revision.is_modern() && named.map_or_else(|| servers.any(is_silent), is_silent)
    }

    /// Why a reported error is not the expected one: the client did not even attempt the step.
    fn unattempted(&self, index: usize, wanted: &str) -> Option<String> {
        let mut is_local = WITHOUT_A_REQUEST.iter().any(|kind| wanted.contains(kind));
        // On a busy machine a timeout can end before the request is sent.
        is_local |= wanted.contains("timed-out") && self.evidence.frames.iter().any(Frame::from_client);
        match self.shown.get(index)? {
            Shown::NotDone(reason) if !is_local && !self.evidence.timed_out => Some(reason.clone()),
            _ => None,
        }
    }

    /// Judges a step that the client did not report by the frames.
    fn unreported(&mut self, index: usize, id: String, step: AnyStep<'_>) {
        let expected = "the step finishes".to_owned();
        // What follows a violation is a consequence of it.
        if self.found.iter().any(|result| result.id.starts_with("steps[") && result.verdict > Verdict::Passed) {
            let observed = "an earlier step already failed".to_owned();
            return self.push(id, Verdict::Skipped, expected, observed, vec![]);
        }
        // A client that is killed may not have written its report.
        let dies = || self.scenario.steps.client().iter().any(|step| matches!(step, ClientStep::Die(_)));
        let is_derived = self.evidence.profile == Profile::Sdk || self.evidence.steps.is_empty() && dies();
        // A client that reports its steps and is stopped did not finish the step after them, whatever the server sent.
        let last_reported = self.evidence.steps.iter().filter_map(|step| step.step).max();
        let hung = self.evidence.timed_out && last_reported.is_some_and(|last| last < index);
        let shown = self.shown.get(index).filter(|_| is_derived && !hung).cloned();
        let (is_timed, outcome) = match shown {
            Some(Shown::Outcome(Observed { outcome, is_timed })) => (is_timed, outcome),
            Some(Shown::Nothing) => {
                let observed = "only a report can show it".to_owned();
                return self.push(id, Verdict::Skipped, expected, observed, vec![]);
            }
            // A client that rejects the authorization server goes no further.
            Some(Shown::NotDone(observed)) if self.scenario.authorization.is_some() && step.expect().either => {
                return self.add(id, true, expected, observed, vec![]);
            }
            Some(Shown::NotDone(observed)) if !self.evidence.timed_out => {
                return self.push(id, Verdict::Blocked, expected, observed, vec![]);
            }
            Some(Shown::NotDone(_)) | None => {
                let (verdict, observed) = self.why_missing();
                return self.push(id, verdict, expected, observed, vec![]);
            }
        };
        let expect = step.expect();
        let is_connect = matches!(step, AnyStep::Client(ClientStep::Connect(_) | ClientStep::Reconnect(_)));
        match (&outcome.outcome, &expect.error) {
            (Outcome::Value(value), None) => {
                self.add(
                    &id,
                    true,
                    "the step succeeds".into(),
                    format!("the messages show it: {}", brief(value)),
                    vec![],
                );
                self.visible_value(&id, step, value);
            }
            (Outcome::Value(value), Some(_)) if is_connect => {
                let observed = format!("the client connected: {}", brief(value));
                self.add(id, false, "the connection fails".into(), observed, vec![]);
            }
            (Outcome::Value(_) | Outcome::Skipped(_), _) => {
                let observed = "only a report can show whether the client rejected it".to_owned();
                self.push(id, Verdict::Skipped, expected, observed, vec![]);
            }
            (Outcome::Error(error), None) => {
                let held = expect.either || self.evidence.omitted_frames > 0;
                self.add(id, held, "the step succeeds".into(), error.message.clone(), vec![]);
            }
            (Outcome::Error(error), Some(_)) => {
                self.add(&id, true, "the step fails".into(), error.message.clone(), vec![]);
                if is_timed {
                    // The request may have been recorded long after it was sent.
                    let expect = Expect { not_before: None, ..expect.clone() };
                    self.timing(&id, &expect, &outcome);
                }
            }
        }
    }

    /// Judges the parts of a value that the frames show: what a client makes of a list, for example, is not visible.
    fn visible_value(&mut self, id: &str, step: AnyStep<'_>, value: &Value) {
        match step {
            AnyStep::Client(
                ClientStep::Call(_)
                | ClientStep::Finish(_)
                | ClientStep::Read(_)
                | ClientStep::Prompt(_)
                | ClientStep::Complete(_),
            ) => self.value(id, step.expect(), value),
            AnyStep::Client(ClientStep::Connect(_)) => {
                let mut expect = step.expect().clone();
                expect.values.retain(|expectation| expectation.path == "$.revision");
                self.value(id, &expect, value);
            }
            _ => {}
        }
    }

    /// The messages of a step: those that were recorded while it ran.
    fn frames_of(&self, outcome: &StepOutcome) -> Vec<u64> {
        let ran = outcome.began_us..=outcome.ended_us;
        let frames = self.evidence.frames.iter().filter(|frame| ran.contains(&frame.at_us));
        frames.map(|frame| frame.seq).take(MAX_STEP_FRAMES).collect()
    }

    /// Whether a server did not respond. A missing response violates the requirement of a scenario only if the scenario
    /// expects something else of the step; `requests-are-answered` reports it.
    fn is_lost(&self, error: &StepError) -> bool {
        let lost = matches!(error.kind.as_str(), "timed-out" | "closed" | "no-answer");
        self.scenario.subject == Subject::Server && lost
    }

    /// Verdict and reason for a step without an outcome. A client without a report may be correct, so the verdict is not
    /// `failed`; but without evidence the step does not pass either.
    fn why_missing(&self) -> (Verdict, String) {
        if self.evidence.timed_out {
            (self.violation(), "it did not finish within the timeout of the case".into())
        } else if self.evidence.steps.is_empty() {
            (Verdict::Blocked, "the subject reported no outcome of any step, so it cannot be judged".into())
        } else {
            (Verdict::Blocked, "the subject did not reach this step".into())
        }
    }

    fn value(&mut self, id: &str, expect: &Expect, value: &Value) {
        if let Some(wanted) = &expect.text {
            let text = text_of(value);
            let observed = text.as_ref().map_or_else(|| brief(value), |text| format!("the text `{text}`"));
            self.add(
                format!("{id}.text"),
                text.as_ref() == Some(wanted),
                format!("the text is `{wanted}`"),
                observed,
                vec![],
            );
        }
        for (index, expectation) in expect.values.iter().enumerate() {
            if self.evidence.profile == Profile::Sdk && is_of_agents(&expectation.path) {
                continue;
            }
            let finding = evaluate(&filled(expectation, self.evidence), value);
            self.add(format!("{id}.values[{index}]"), finding.held, finding.expected, finding.observed, vec![]);
        }
    }

    fn error(&mut self, id: &str, expect: &Expect, error: &StepError) {
        if self.evidence.profile == Profile::Sdk && error.code.is_none() {
            return;
        }
        if let Some(wanted) = expect.code {
            self.add(
                format!("{id}.code"),
                error.code == Some(wanted),
                format!("the error code is {wanted}"),
                error.code.map_or_else(|| "it has no code".to_owned(), |code| code.to_string()),
                vec![],
            );
        }
        if let Some(wanted) = expect.message.as_ref().filter(|_| self.evidence.profile == Profile::Agent) {
            let held = error.message.contains(wanted.as_str());
            self.add(
                format!("{id}.message"),
                held,
                format!("the message contains `{wanted}`"),
                describe(error),
                vec![],
            );
        }
    }

    fn timing(&mut self, id: &str, expect: &Expect, outcome: &StepOutcome) {
        if !outcome.is_timed() {
            if expect.within.is_some() || expect.not_before.is_some() {
                let reason = "the report has no times".to_owned();
                self.push(
                    format!("{id}.timing"),
                    Verdict::Skipped,
                    "the step takes as long as expected".into(),
                    reason,
                    vec![],
                );
            }
            return;
        }
        let took = outcome.ended_us.saturating_sub(outcome.began_us);
        if let Some(limit) = expect.within {
            let held = u128::from(took) <= limit.0.as_micros();
            self.add(
                format!("{id}.within"),
                held,
                format!("it finishes within {limit}"),
                format!("it took {}", millis(took)),
                vec![],
            );
        }
        if let Some(earliest) = expect.not_before {
            let held = u128::from(took) >= earliest.0.as_micros();
            let observed = format!("it took {}", millis(took));
            self.add(
                format!("{id}.not_before"),
                held,
                format!("it does not finish before {earliest}"),
                observed,
                vec![],
            );
        }
    }

    fn frames(&mut self, index: usize, expectation: &FrameExpectation) {
        let matching: Vec<u64> = self
            .evidence
            .frames
            .iter()
            .filter(|frame| !is_authorization(frame) && counts(expectation, frame))
            .map(|frame| frame.seq)
            .collect();
        let found = matching.len();
        let (min, max) = match (expectation.count, expectation.at_least, expectation.at_most) {
            (Some(count), _, _) => (count, count),
            (None, None, None) => (1, usize::MAX),
            (None, min, max) => (min.unwrap_or(0), max.unwrap_or(usize::MAX)),
        };
        let number = match (min, max) {
            (min, max) if min == max => format!("{min}"),
            (min, usize::MAX) => format!("at least {min}"),
            (0, max) => format!("at most {max}"),
            (min, max) => format!("{min} to {max}"),
        };
        let expected = format!("{number} frames of {}", described(expectation));
        self.add(
            format!("expect.frames[{index}]"),
            (min..=max).contains(&found),
            expected,
            format!("{found} frames"),
            matching.into_iter().take(20).collect(),
        );
    }

    fn events(&mut self) {
        if self.evidence.profile == Profile::Sdk {
            return;
        }
        for wanted in &self.scenario.expect.events {
            let times = self.evidence.events.iter().filter(|noticed| noticed.event == *wanted).count();
            self.add(
                format!("expect.events.{wanted:?}"),
                times > 0,
                format!("the client reports {wanted:?}"),
                format!("{times} times"),
                vec![],
            );
        }
    }
}

/// Whether a path selects a part of a value that only agents report.
fn is_of_agents(path: &str) -> bool {
    ["qualified", "rejected", "failed", "breaking", "compatible", "cosmetic"].iter().any(|part| path.contains(part))
}

/// Replaces `{{revision}}` and `{{transport}}` in an expected string.
fn filled<'a>(expectation: &'a ValueExpectation, evidence: &Evidence) -> Cow<'a, ValueExpectation> {
    match &expectation.equals {
        Some(Value::String(text)) if text.contains("{{") => {
            let text = text.replace("{{revision}}", evidence.revision.as_str());
            let text = text.replace("{{transport}}", evidence.transport.as_str());
            Cow::Owned(ValueExpectation { equals: Some(Value::String(text)), ..expectation.clone() })
        }
        _ => Cow::Borrowed(expectation),
    }
}

/// Whether an expectation counts a frame.
fn counts(expectation: &FrameExpectation, frame: &Frame) -> bool {
    let from = match frame.direction {
        Direction::ClientToServer => Sender::Client,
        Direction::ServerToClient => Sender::Server,
    };
    let tool = || frame.json().and_then(|json| json.pointer("/params/name")).and_then(Value::as_str);
    from == expectation.from
        && expectation.method.as_deref().is_none_or(|method| frame.method() == Some(method))
        && expectation.tool.as_deref().is_none_or(|wanted| tool() == Some(wanted))
        && expectation.server.as_deref().is_none_or(|server| frame.server == server)
        && expectation.values.iter().all(|value| frame.json().is_some_and(|json| evaluate(value, json).held))
        && match &expectation.http {
            Some(http) => frame.http.as_ref().is_some_and(|envelope| envelope_matches(http, envelope)),
            None => frame.json().is_some(),
        }
}

fn envelope_matches(expectation: &HttpExpectation, envelope: &Http) -> bool {
    let matches = |(name, pattern): (&String, &String)| {
        // The loader rejects invalid regular expressions.
        let pattern = Regex::new(pattern);
        envelope.headers.get(name).is_some_and(|value| {
            // A client may encode a value that needs no encoding (2026-07-28, basic/transports/streamable-http#value-encoding).
            let decoded = parameter_headers::decoded(value);
            pattern
                .is_ok_and(|pattern| pattern.is_match(value) || decoded.is_some_and(|value| pattern.is_match(&value)))
        })
    };
    expectation.method.as_ref().is_none_or(|method| envelope.method.as_ref() == Some(method))
        && expectation.status.is_none_or(|status| envelope.status == Some(status))
        && expectation.headers.iter().all(matches)
}

fn described(expectation: &FrameExpectation) -> String {
    let mut words = vec![
        match expectation.from {
            Sender::Client => "the client",
            Sender::Server => "the server",
        }
        .to_owned(),
    ];
    words.extend(expectation.method.as_ref().map(|method| format!("`{method}`")));
    words.extend(expectation.tool.as_ref().map(|tool| format!("tool `{tool}`")));
    words.extend(expectation.server.as_ref().map(|server| format!("with `{server}`")));
    if let Some(http) = &expectation.http {
        words.extend(http.method.clone());
        words.extend(http.status.map(|status| format!("status {status}")));
        words.extend(http.headers.iter().map(|(name, pattern)| format!("`{name}` like `{pattern}`")));
    }
    words.extend(expectation.values.iter().map(|value| evaluate(value, &Value::Null).expected));
    words.join(", ")
}

/// The text blocks of a tool result, joined by line feeds.
fn text_of(value: &Value) -> Option<String> {
    let blocks = value.get("content")?.as_array()?;
    let texts: Vec<&str> = blocks.iter().filter_map(|block| block.get("text")?.as_str()).collect();
    (!texts.is_empty()).then(|| texts.join("\n"))
}

fn describe(error: &StepError) -> String {
    format!("it failed with `{}`: {}", error.kind, error.message)
}

fn millis(micros: u64) -> String {
    format!("{}.{} ms", micros / 1000, micros % 1000 / 100)
}
