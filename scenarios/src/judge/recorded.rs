//! Judges a recorded session of any client and any server: the checks that need nothing but frames, on both sides.
//!
//! A check that judges every case is passive: it looks at whatever the sides sent. Other checks judge the behavior that their
//! scenarios provoke, so they are skipped. Nothing that a recording lacks is a failure, because no case required it.

use reports::model::{CaseResult, CheckResult, Verdict};

use super::{
    Transcript,
    case::{cite, report_frames, run},
    check::{Check, Scope},
    checks,
    end::case_end,
};
use crate::{
    evidence::Evidence,
    model::{Subject, UnknownNames},
    recording::Recording,
};

/// Why a check is not passive.
const PROVOKED: &str = "only its scenarios provoke what it judges";

/// The results of both sides of a recording: first the client, then the server.
#[must_use]
pub fn judge_recording(recording: Recording) -> [CaseResult; 2] {
    let evidence = recording.into_evidence("recording");
    // No name of a recording is known to be unknown to its server.
    let unknown = UnknownNames::default();
    let transcript = Transcript::new(&evidence, &unknown);
    [Subject::Client, Subject::Server].map(|subject| judge_side(subject, &transcript))
}

fn judge_side(subject: Subject, transcript: &Transcript<'_>) -> CaseResult {
    let evidence = transcript.evidence;
    let mut results: Vec<CheckResult> = checks::for_subject(subject)
        .map(|check| match check.scope {
            Scope::Always => passive(check, transcript),
            Scope::Named => skipped(check, evidence),
        })
        .collect();
    // The most severe verdict first; equal ones keep their order.
    results.sort_by_key(|result| std::cmp::Reverse(result.verdict));
    let side = if subject == Subject::Client { "client" } else { "server" };
    let scenario = format!("recording/{side}");
    CaseResult {
        id: format!("{scenario}@{}@{}", evidence.transport, evidence.revision),
        scenario,
        transport: evidence.transport.to_string(),
        revision: evidence.revision.to_string(),
        title: format!("The recorded messages of the {side} follow the specification."),
        verdict: results.iter().map(|result| result.verdict).max().unwrap_or(Verdict::Skipped),
        frames: report_frames(&results, &evidence.frames),
        checks: results,
        stderr: String::new(),
        end: case_end(evidence),
        elapsed_ms: evidence.elapsed_us / 1_000,
    }
}

/// The result of a passive check. A prerequisite that a recording lacks does not fail a side.
fn passive(check: &Check, transcript: &Transcript<'_>) -> CheckResult {
    let mut result = run(check, transcript);
    if result.verdict == Verdict::Blocked {
        result.verdict = Verdict::Skipped;
    }
    result
}

fn skipped(check: &Check, evidence: &Evidence) -> CheckResult {
    CheckResult {
        id: check.id.to_owned(),
        verdict: Verdict::Skipped,
        requirement: cite(check.requirement, evidence),
        expected: check.expected.to_owned(),
        observed: PROVOKED.to_owned(),
        frames: Vec::new(),
    }
}
