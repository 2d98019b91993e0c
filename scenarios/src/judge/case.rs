//! Judges one case: the expectations of its scenario, and every check that applies to it.

use mock_servers::{Body, Frame, Http};
use reports::model::{CaseResult, Exhibit, Judgement, Level, Requirement, Verdict};
use serde_json::Value;

use super::{
    check::{Check, Ruling, Scope},
    checks,
    expectations::Expected,
};
use crate::{
    evidence::{Evidence, Outcome, StepOutcome},
    model::{Scenario, Subject},
    requirements::Register,
};

/// The most frames that a result shows.
const MOST_EXHIBITS: usize = 40;
/// The most bytes of a body that a result shows.
const MOST_BODY: usize = 4096;
/// The requirement that stands for the workings of a run, where no scenario's own does.
const RUN: &str = "workbench/subject-takes-part";

/// What a breach of a requirement of this level amounts to.
pub(super) fn breach(level: Level) -> Verdict {
    match level {
        Level::Must | Level::Expected => Verdict::Failed,
        Level::Should => Verdict::Warned,
    }
}

/// Judges one case. The same scenario and evidence give the same result.
#[must_use]
pub fn judge(id: &str, scenario: &Scenario, evidence: &Evidence) -> CaseResult {
    let mut judgements = match &evidence.broken {
        Some(reason) => vec![stopped(Verdict::Blocked, "the case can be run", reason, evidence)],
        None => match not_applicable(evidence) {
            Some(reason) => vec![stopped(Verdict::Skipped, "the scenario applies to the subject", reason, evidence)],
            None => judgements(scenario, evidence),
        },
    };
    if judgements.iter().all(|judgement| judgement.verdict == Verdict::Skipped) && !skipped_on_purpose(evidence) {
        let reason = "nothing in it could be judged";
        judgements.push(stopped(Verdict::Blocked, "the case shows something", reason, evidence));
    }
    // The gravest first; among equals the order in which they were judged.
    judgements.sort_by_key(|judgement| std::cmp::Reverse(judgement.verdict));
    CaseResult {
        id: id.to_owned(),
        scenario: scenario.scenario.clone(),
        transport: evidence.transport.to_string(),
        revision: evidence.revision.to_string(),
        title: scenario.title.clone(),
        verdict: judgements.iter().map(|judgement| judgement.verdict).max().unwrap_or(Verdict::Blocked),
        exhibits: exhibits(&judgements, &evidence.frames),
        judgements,
        stderr: evidence.stderr.clone(),
        elapsed_ms: evidence.elapsed_us / 1000,
    }
}

fn judgements(scenario: &Scenario, evidence: &Evidence) -> Vec<Judgement> {
    let mut found = Vec::new();
    if evidence.timed_out {
        found.push(stopped(Verdict::Failed, "the case ends within its time limit", "it was stopped", evidence));
    }
    if scenario.subject == Subject::Client && took_no_part(evidence) {
        let reason = "the client ended without a word: no frame reached a server, and it reported no outcome";
        found.push(stopped(Verdict::Failed, "the client takes part", reason, evidence));
        return found;
    }
    found.extend(Expected::new(scenario, evidence, cite(&scenario.requirement, evidence)).judge());
    let named = |check: &&Check| check.scope == Scope::Always || scenario.checks.iter().any(|id| id == check.id);
    for check in checks::all().filter(|check| check.subject == scenario.subject).filter(named) {
        found.push(ruled(check, evidence));
    }
    found
}

/// A client that does nothing shows nothing, and must not pass for want of anything wrong.
fn took_no_part(evidence: &Evidence) -> bool {
    evidence.steps.is_empty() && !evidence.frames.iter().any(|frame| frame.from_client() && frame.json().is_some())
}

/// Why the case was not run, if it was found not to apply before it began.
fn not_applicable(evidence: &Evidence) -> Option<&str> {
    match evidence.steps.as_slice() {
        [StepOutcome { step: None, outcome: Outcome::Skipped(reason), .. }] => Some(reason),
        _ => None,
    }
}

/// Whether a step said that it does not apply: that is a choice of the scenario, and no want of evidence.
fn skipped_on_purpose(evidence: &Evidence) -> bool {
    evidence.steps.iter().any(|step| matches!(step.outcome, Outcome::Skipped(_)))
}

fn ruled(check: &Check, evidence: &Evidence) -> Judgement {
    let requirement = cite(check.requirement, evidence);
    let (verdict, observed, frames) = match (check.rule)(evidence) {
        Ruling::Held { observed, frames } => (Verdict::Passed, observed, frames),
        Ruling::Broken { observed, frames } => (breach(requirement.level), observed, frames),
        Ruling::NotApplicable(reason) => (Verdict::Skipped, reason, vec![]),
        Ruling::Blocked(reason) => (Verdict::Blocked, reason, vec![]),
    };
    Judgement { id: check.id.to_owned(), verdict, requirement, expected: check.expected.to_owned(), observed, frames }
}

fn stopped(verdict: Verdict, expected: &str, reason: &str, evidence: &Evidence) -> Judgement {
    Judgement {
        id: "subject-takes-part".to_owned(),
        verdict,
        requirement: cite(RUN, evidence),
        expected: expected.to_owned(),
        observed: reason.to_owned(),
        frames: vec![],
    }
}

/// The requirement with this id. The loader and the tests see to it that every id is known; evidence that is judged
/// by another version of the workbench may still name one that is not.
fn cite(id: &str, evidence: &Evidence) -> Requirement {
    Register::built_in().get(id, evidence.revision).unwrap_or_else(|| Requirement {
        id: id.to_owned(),
        level: Level::Expected,
        text: "this version of the workbench does not know the requirement".to_owned(),
        url: String::new(),
    })
}

/// The frames that the judgements name; where something went wrong, also the one before and the one after each, and
/// where no frame is named, the last ones.
fn exhibits(judgements: &[Judgement], frames: &[Frame]) -> Vec<Exhibit> {
    let grave = |judgement: &&Judgement| judgement.verdict > Verdict::Passed;
    let mut shown: Vec<u64> = Vec::new();
    for judgement in judgements.iter().filter(grave) {
        for seq in &judgement.frames {
            shown.extend([seq.saturating_sub(1), *seq, seq + 1]);
        }
    }
    if shown.is_empty() && judgements.iter().any(|judgement| judgement.verdict > Verdict::Passed) {
        shown.extend(frames.iter().rev().take(12).map(|frame| frame.seq));
    }
    for judgement in judgements.iter().filter(|judgement| !grave(judgement)) {
        shown.extend(&judgement.frames);
    }
    // What is cut is the end of the list, so the frames of grave judgements stay.
    let mut kept: Vec<u64> = Vec::new();
    for seq in shown {
        if kept.len() < MOST_EXHIBITS && !kept.contains(&seq) {
            kept.push(seq);
        }
    }
    kept.sort_unstable();
    frames.iter().filter(|frame| kept.binary_search(&frame.seq).is_ok()).map(exhibit).collect()
}

fn exhibit(frame: &Frame) -> Exhibit {
    let (body, cut) = match &frame.body {
        Body::Json(value) if value.to_string().len() > MOST_BODY => (Value::String(cut(&value.to_string())), true),
        Body::Json(value) => (value.clone(), false),
        Body::Text(text) => (Value::String(cut(text)), text.len() > MOST_BODY),
        Body::Mark(mark) => (Value::String(format!("({mark:?})")), false),
    };
    Exhibit {
        seq: frame.seq,
        at_us: frame.at_us,
        from_client: frame.from_client(),
        server: frame.server.clone(),
        http: frame.http.as_ref().map(in_one_line),
        body,
        cut,
    }
}

fn cut(text: &str) -> String {
    let end = (0..=MOST_BODY.min(text.len())).rev().find(|end| text.is_char_boundary(*end)).unwrap_or(0);
    text[..end].to_owned()
}

fn in_one_line(http: &Http) -> String {
    let status = http.status.map(|status| status.to_string());
    let kind = http.headers.get("content-type").cloned();
    let words = [http.method.clone(), http.path.clone(), status, kind, http.event.clone()];
    words.into_iter().flatten().collect::<Vec<_>>().join(" ")
}
