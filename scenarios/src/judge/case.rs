//! Judges one case: the expectations of its scenario, and every check that applies to it.

use std::collections::BTreeSet;

use evidence::{Body, Frame, Http};
use reports::model::{CaseResult, CheckResult, FrameBody, Level, Profile, ReportFrame, Requirement, Verdict};
use serde_json::Value;

use super::{
    Transcript,
    capabilities::{lacking_authorization, undeclared_capability},
    check::{Check, CheckOutcome, Scope},
    checks,
    contradictions::contradiction,
    end::case_end,
    expectations::Expected,
    transcript::{Message, Session},
};
use crate::{
    evidence::{Evidence, Outcome, Repetitions, StepOutcome},
    model::{Expectations, HANDSHAKE_CHECK, Revision, Scenario, SessionUse, Subject},
    requirements::Register,
};

/// Maximum number of frames in a result.
const MAX_FRAMES: usize = 40;
/// Maximum size of a body in a result, in bytes.
const MAX_BODY: usize = 4096;
/// The requirement of results about the run itself, for which no scenario has one.
const RUN: &str = "workbench/subject-takes-part";
/// The requirement on reports of clients.
const REPORT: &str = "workbench/report-matches-frames";

/// Judges one case. The same scenario and evidence give the same result.
#[must_use]
pub fn judge(id: &str, scenario: &Scenario, evidence: &Evidence) -> CaseResult {
    judge_with(id, scenario, evidence, &|_| true)
}

/// Judges one case; that of a server with the selected checks.
pub(crate) fn judge_with(
    id: &str,
    scenario: &Scenario,
    evidence: &Evidence,
    selected: &dyn Fn(&Check) -> bool,
) -> CaseResult {
    let mut results = match &evidence.broken {
        Some(reason) => vec![stopped(Verdict::Blocked, "the case can be run", reason, evidence)],
        None => match (not_applicable(evidence), scenario.subject) {
            (Some(reason), _) => {
                vec![stopped(Verdict::Skipped, "the scenario applies to the subject", reason, evidence)]
            }
            (None, Subject::Client) => judge_client(scenario, evidence),
            (None, Subject::Server) => judge_server(scenario, evidence, selected),
        },
    };
    if results.iter().all(|result| result.verdict == Verdict::Skipped) && !skipped_on_purpose(scenario, evidence) {
        let reason = "nothing in the case could be judged";
        results.push(stopped(Verdict::Blocked, "the case has evidence", reason, evidence));
    }
    if let Some(repetitions) = &evidence.repetitions {
        results.iter_mut().for_each(|result| differ(result, repetitions));
    }
    // The most severe verdict first; equal ones keep their order.
    results.sort_by_key(|result| std::cmp::Reverse(result.verdict));
    CaseResult {
        id: id.to_owned(),
        scenario: scenario.scenario.clone(),
        transport: evidence.transport.to_string(),
        revision: evidence.revision.to_string(),
        title: scenario.title.clone(),
        verdict: results.iter().map(|result| result.verdict).max().unwrap_or(Verdict::Blocked),
        frames: report_frames(&results, &evidence.frames),
        checks: results,
        stderr: evidence.stderr.clone(),
        end: case_end(evidence),
        elapsed_ms: evidence.elapsed_us / 1000,
    }
}

/// The results of a case of a client.
fn judge_client(scenario: &Scenario, evidence: &Evidence) -> Vec<CheckResult> {
    let requirement = requirement_of(scenario, evidence);
    let mut found = Vec::new();
    if took_no_part(evidence) {
        if evidence.profile == Profile::Sdk && evidence.steps.is_empty() && offers_no_server(scenario) {
            let reason = "only a report can show that no server was started";
            found.push(stopped(Verdict::Skipped, "the scenario applies to the client", reason, evidence));
            return found;
        }
        let reason = match evidence.timed_out {
            true => "the client sent no message to a server, reported no outcome, and was stopped",
            false => "the client exited, sent no message to a server, and reported no outcome",
        };
        // It violated nothing, but there is nothing to judge either.
        found.push(stopped(Verdict::Blocked, "the client takes part", reason, evidence));
        return found;
    }
    if evidence.timed_out {
        // A client that waits for too long violates the requirement of the scenario, and no other.
        let verdict = evidence.profile.violation(requirement.level);
        found.push(stopped(verdict, "the case finishes within its timeout", "it was stopped", evidence));
    }
    if evidence.runaway {
        let observed = format!("a server was stopped; {} frames were omitted", evidence.omitted_frames);
        let verdict = evidence.profile.violation(requirement.level);
        found.push(stopped(verdict, "the client sends a limited number of messages", &observed, evidence));
    }
    let transcript = Transcript::new(evidence, &scenario.unknown);
    if let Some(reason) = lacks_the_era(evidence).or_else(|| lacks_the_revision(&transcript)) {
        found.push(stopped(Verdict::Skipped, "the scenario applies to the client", &reason, evidence));
        return found;
    }
    let lacking = undeclared_capability(scenario, &transcript)
        .map(|capability| format!("the client did not declare the capability `{capability}`"))
        .or_else(|| lacking_authorization(scenario, &transcript).map(str::to_owned));
    let is_whole = evidence.first_skipped_step().is_none() && lacking.is_none();
    let counts = |check: &Check| applies(scenario, check) && (is_whole || check.scope == Scope::Always);
    let checks = run_checks(Subject::Client, &transcript, counts);
    if let Some(reason) = lacking {
        found.push(stopped(Verdict::Skipped, "the scenario applies to the client", &reason, evidence));
        found.extend(checks.into_iter().filter(is_violation));
        return found;
    }
    if let Some(observed) = contradiction(scenario, &transcript) {
        let requirement = cite(REPORT, evidence);
        let (id, expected) = ("report-matches-frames".to_owned(), "the report agrees with the messages".to_owned());
        found.push(CheckResult { id, verdict: Verdict::Failed, requirement, expected, observed, frames: vec![] });
    }
    let expected = Expected::new(scenario, &transcript, requirement).judge();
    let steps = || expected.iter().filter(|result| result.id.starts_with("steps["));
    // A client that only skips does not pass because it did nothing wrong meanwhile, nor does one that lacks the feature.
    let only_skips = steps().next().is_some() && steps().all(|result| result.verdict == Verdict::Skipped);
    let lacks_the_feature = evidence.profile == Profile::Sdk && evidence.first_skipped_step().is_some();
    let nothing_judged = only_skips || lacks_the_feature || rejects_unseen(scenario, &expected);
    found.extend(expected.into_iter().chain(checks));
    if nothing_judged {
        found.retain(|result| result.verdict == Verdict::Skipped || is_violation(result));
    }
    found
        .extend(failed_program(scenario, evidence).filter(|_| !found.iter().any(|result| result.verdict.is_failure())));
    found
}

/// Whether the case is about a response that the client has to reject, and only a report can show whether it did.
fn rejects_unseen(scenario: &Scenario, results: &[CheckResult]) -> bool {
    let is_skipped = |id: String| results.iter().any(|result| result.id == id && result.verdict == Verdict::Skipped);
    let steps = scenario.steps.client().iter().enumerate();
    let mut rejecting = steps.filter(|(_, step)| step.expect().error.is_some());
    let shows_more = !scenario.checks.is_empty() || scenario.expect != Expectations::default();
    !shows_more && rejecting.any(|(index, step)| is_skipped(format!("steps[{index}].{}", step.kind())))
}

/// Why a library cannot take part: the servers of the case have no handshake, and the client knows only handshakes. Its
/// messages say nothing about the revision of the case then.
fn lacks_the_era(evidence: &Evidence) -> Option<String> {
    if evidence.profile != Profile::Sdk || !evidence.revision.is_modern() {
        return None;
    }
    // Also those that were rejected because they had no token.
    let sent = || evidence.frames.iter().flat_map(Message::all_of).filter(Message::by_client);
    let initialize = sent().find(|message| message.is("initialize"))?;
    if sent().any(|message| message.is_modern()) {
        return None;
    }
    let revision = initialize.param("protocolVersion").and_then(Value::as_str).unwrap_or("no revision");
    Some(format!("the client knows no revision without a handshake; it sent `initialize` with {revision}"))
}

/// Why a library cannot take part: it knows only revisions older than that of the case, and ended the session when the server
/// answered with it (2025-11-25, basic/lifecycle#version-negotiation).
fn lacks_the_revision(transcript: &Transcript<'_>) -> Option<String> {
    let (profile, revision) = (transcript.evidence.profile, transcript.evidence.revision);
    let handshake = transcript.sessions().iter().find_map(Session::handshake)?;
    let requested = handshake.request.param("protocolVersion")?.as_str()?.parse::<Revision>().ok()?;
    let is_older = profile == Profile::Sdk && requested < revision && handshake.revision() == Some(revision);
    let mut sent = transcript.sessions().iter().flat_map(Session::client_messages);
    let goes_on = |message: Message<'_>| message.is_modern() || message.is("notifications/initialized");
    let applies = is_older && !sent.any(goes_on);
    applies.then(|| format!("the client does not support {revision}; it sent `initialize` with {requested}"))
}

/// A program of the official suite reports only by its exit code whether it could execute its actions. Its messages may be
/// correct although it rejected a correct response.
fn failed_program(scenario: &Scenario, evidence: &Evidence) -> Option<CheckResult> {
    scenario
        .official
        .as_ref()
        .filter(|official| !official.may_fail && evidence.steps.is_empty() && !evidence.timed_out)?;
    let process = evidence.process.as_ref().filter(|process| !process.killed_on_purpose && process.code != Some(0))?;
    let observed = match (process.code, process.signal) {
        (Some(code), _) => format!("it exited with code {code}"),
        (None, Some(signal)) => format!("signal {signal} terminated it"),
        (None, None) => return None,
    };
    let expected = "the program executes its actions and exits with code 0";
    Some(CheckResult { id: "program-succeeds".into(), ..stopped(Verdict::Blocked, expected, &observed, evidence) })
}

fn is_violation(result: &CheckResult) -> bool {
    result.verdict > Verdict::Passed
}

/// The results of a case of a server.
fn judge_server(scenario: &Scenario, evidence: &Evidence, selected: &dyn Fn(&Check) -> bool) -> Vec<CheckResult> {
    let mut found = Vec::new();
    if evidence.timed_out {
        // No response was late, as each has a timeout of its own.
        found.push(stopped(Verdict::Blocked, "the case finishes within its timeout", "it was stopped", evidence));
    }
    let transcript = Transcript::new(evidence, &scenario.unknown);
    // Without a handshake the steps say nothing; the check explains it.
    if handshake_failed(evidence) && scenario.judges_handshake() {
        let applies = |check: &Check| check.scope == Scope::Always || check.id == HANDSHAKE_CHECK;
        found.extend(run_checks(Subject::Server, &transcript, |check| selected(check) && applies(check)));
        return found;
    }
    found.extend(Expected::new(scenario, &transcript, requirement_of(scenario, evidence)).judge());
    found.extend(run_checks(Subject::Server, &transcript, |check| selected(check) && applies(scenario, check)));
    found
}

/// Whether a check is one of the scenario. Those of a shared session are judged once, for the whole session.
fn applies(scenario: &Scenario, check: &Check) -> bool {
    let always = scenario.session != SessionUse::Shared && check.scope == Scope::Always;
    always || scenario.checks.iter().any(|id| id == check.id)
}

fn run_checks(subject: Subject, transcript: &Transcript<'_>, applies: impl Fn(&Check) -> bool) -> Vec<CheckResult> {
    let checks = checks::for_subject(subject).filter(|check| applies(check));
    let results = checks.map(|check| (check, run(check, transcript)));
    // A session has few of all kinds of messages. The kinds that it lacks are not results.
    let is_result =
        |(check, result): &(&Check, CheckResult)| !check.is_of_shape() || result.verdict != Verdict::Skipped;
    results.filter(is_result).map(|(_, result)| result).collect()
}

/// Reports a failure that other runs of the case did not have.
fn differ(result: &mut CheckResult, repetitions: &Repetitions) {
    if result.verdict.is_failure() && !repetitions.confirmed.contains(&result.id) {
        result.verdict = Verdict::Flaky;
        result.observed.push_str(&format!(" (in {} of {} runs)", repetitions.failed, repetitions.runs));
    }
}

/// A client that does nothing must not pass because it did nothing wrong. Nor must one that is stopped after it only started a
/// server or opened a stream.
fn took_no_part(evidence: &Evidence) -> bool {
    let is_skipped = |step: &StepOutcome| matches!(step.outcome, Outcome::Skipped(_));
    let says_something = |frame: &Frame| frame.from_client() && matches!(frame.body, Body::Json(_) | Body::Text(_));
    let is_silent = evidence.frames.is_empty() || evidence.timed_out && !evidence.frames.iter().any(says_something);
    is_silent && evidence.steps.iter().all(is_skipped)
}

/// Whether no server of the scenario can be contacted.
fn offers_no_server(scenario: &Scenario) -> bool {
    scenario.scripts().all(|(_, script)| script.process.command.is_some())
}

fn handshake_failed(evidence: &Evidence) -> bool {
    evidence.steps.iter().any(|step| step.step.is_none() && matches!(step.outcome, Outcome::Error(_)))
}

/// Why the case was not run, if it does not apply. A client that was started cannot decide that.
fn not_applicable(evidence: &Evidence) -> Option<&str> {
    match evidence.steps.as_slice() {
        [StepOutcome { step: None, outcome: Outcome::Skipped(reason), .. }] if evidence.process.is_none() => {
            Some(reason)
        }
        _ => None,
    }
}

/// Whether a step was skipped. That is a choice of the scenario, and not a lack of evidence. A client has no such choice.
fn skipped_on_purpose(scenario: &Scenario, evidence: &Evidence) -> bool {
    scenario.subject == Subject::Client || evidence.steps.iter().any(|step| matches!(step.outcome, Outcome::Skipped(_)))
}

/// The result of one check.
pub(super) fn run(check: &Check, transcript: &Transcript<'_>) -> CheckResult {
    let requirement = cite(check.requirement, transcript.evidence);
    let (verdict, observed, frames) = match check.run(transcript) {
        CheckOutcome::Passed { observed, frames } => (Verdict::Passed, observed, frames),
        CheckOutcome::Failed { observed, frames } => {
            (transcript.evidence.profile.violation(requirement.level), observed, frames)
        }
        CheckOutcome::NotApplicable(reason) => (Verdict::Skipped, reason, vec![]),
        CheckOutcome::Blocked(reason) => (Verdict::Blocked, reason, vec![]),
    };
    CheckResult { id: check.id.to_owned(), verdict, requirement, expected: check.expected.to_owned(), observed, frames }
}

fn stopped(verdict: Verdict, expected: &str, reason: &str, evidence: &Evidence) -> CheckResult {
    CheckResult {
        id: "subject-takes-part".to_owned(),
        verdict,
        requirement: cite(RUN, evidence),
        expected: expected.to_owned(),
        observed: reason.to_owned(),
        frames: vec![],
    }
}

/// The requirement of a scenario, or the scenario itself if it names none.
fn requirement_of(scenario: &Scenario, evidence: &Evidence) -> Requirement {
    match &scenario.requirement {
        Some(id) => cite(id, evidence),
        None => Requirement {
            id: scenario.scenario.clone(),
            level: Level::Expected,
            text: scenario.title.clone(),
            url: String::new(),
            advice: None,
        },
    }
}

/// The requirement with this id. Only a scenario that another version of the workbench loaded can name an unknown one.
pub(super) fn cite(id: &str, evidence: &Evidence) -> Requirement {
    Register::built_in().get(id, evidence.revision).unwrap_or_else(|| Requirement {
        id: id.to_owned(),
        level: Level::Expected,
        text: "unknown to this version of the workbench".to_owned(),
        url: String::new(),
        advice: None,
    })
}

/// The frames that the results name, with their neighbors for failures. Without named frames, a failure shows the last
/// ones.
pub(super) fn report_frames(results: &[CheckResult], frames: &[Frame]) -> Vec<ReportFrame> {
    let is_severe = |result: &&CheckResult| result.verdict > Verdict::Passed;
    let mut shown: Vec<u64> = Vec::new();
    for result in results.iter().filter(is_severe) {
        for seq in &result.frames {
            shown.extend([seq.saturating_sub(1), *seq, seq + 1]);
        }
    }
    if shown.is_empty() && results.iter().any(|result| result.verdict > Verdict::Passed) {
        shown.extend(frames.iter().rev().take(12).map(|frame| frame.seq));
    }
    for result in results.iter().filter(|result| !is_severe(result)) {
        shown.extend(&result.frames);
    }
    // The end of the list is dropped first, so the frames of failed checks stay.
    let mut kept: Vec<u64> = Vec::new();
    for seq in shown {
        if kept.len() < MAX_FRAMES && !kept.contains(&seq) {
            kept.push(seq);
        }
    }
    kept.sort_unstable();
    let severe: BTreeSet<u64> =
        results.iter().filter(is_severe).flat_map(|result| result.frames.iter().copied()).collect();
    let kept = frames.iter().filter(|frame| kept.binary_search(&frame.seq).is_ok());
    kept.map(|frame| report_frame(frame, severe.contains(&frame.seq))).collect()
}

/// A frame for a report, with its HTTP headers if a failed check names it.
fn report_frame(frame: &Frame, with_headers: bool) -> ReportFrame {
    let string = |text: &str| FrameBody::from(&Value::from(truncate(text)));
    let (body, truncated) = match &frame.body {
        Body::Json(value) => {
            let whole = FrameBody::from(&**value);
            if whole.text().len() > MAX_BODY { (string(whole.text()), true) } else { (whole, false) }
        }
        Body::Text(text) => (string(text), text.len() > MAX_BODY),
        Body::Event(event) => (string(&format!("({event:?})")), false),
    };
    ReportFrame {
        seq: frame.seq,
        at_us: frame.at_us,
        from_client: frame.from_client(),
        server: frame.server.clone(),
        http: frame.http.as_deref().map(summary),
        headers: frame.http.as_ref().filter(|_| with_headers).map(|http| (*http.headers).clone()).unwrap_or_default(),
        body,
        truncated,
    }
}

fn truncate(text: &str) -> String {
    let end = (0..=MAX_BODY.min(text.len())).rev().find(|end| text.is_char_boundary(*end)).unwrap_or(0);
    text[..end].to_owned()
}

fn summary(http: &Http) -> String {
    let status = http.status.map(|status| status.to_string());
    let kind = http.headers.get("content-type").cloned();
    let words = [http.method.clone(), http.path.clone(), status, kind, http.event.clone()];
    words.into_iter().flatten().collect::<Vec<_>>().join(" ")
}
