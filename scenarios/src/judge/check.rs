//! Checks and their outcomes. A check is a pure function over the transcript of a case, bound to one requirement.

use serde_json::Value;

use super::transcript::Transcript;
use crate::requirements::{Register, RevisionRange};

/// Maximum number of failures that an outcome describes; the others are counted.
const MAX_FAILURES: usize = 3;
/// Maximum number of frames that an outcome names.
const MAX_FRAMES: usize = 20;
/// Maximum length of a value in a message, in characters.
const MAX_VALUE_CHARS: usize = 160;

/// A rule that is checked in the transcript of a case.
#[derive(Debug, Clone, Copy)]
pub struct Check {
    /// The stable id.
    pub id: &'static str,
    /// The id of the requirement in the register. It decides the level, the revisions and the transports.
    pub requirement: &'static str,
    /// The cases to which the check applies.
    pub scope: Scope,
    /// The required behavior, in one sentence.
    pub expected: &'static str,
    /// The function that checks it.
    pub(super) rule: Rule,
}

/// The cases of its subject to which a check applies.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Scope {
    /// Every case.
    Always,
    /// The cases whose scenario names the check.
    Named,
}

/// The function of a check.
#[derive(Debug, Clone, Copy)]
pub(super) enum Rule {
    /// Runs if the requirement applies to the revision of the case.
    Case(fn(&Transcript<'_>) -> CheckOutcome),
    /// Always runs, and considers the sessions whose negotiated revision is in the range of the requirement: a server may
    /// negotiate another revision than that of the case.
    Sessions(fn(&Transcript<'_>, RevisionRange) -> CheckOutcome),
    /// Always runs, and considers the faults of these definitions. Each message is compared with the shapes of its own
    /// revision.
    Shape(&'static [&'static str]),
}

impl Check {
    /// Whether it compares messages with their shape.
    pub(super) fn is_of_shape(&self) -> bool {
        matches!(self.rule, Rule::Shape(_))
    }

    /// The definitions of shapes whose faults it reports.
    #[cfg(test)]
    pub(super) fn definitions(&self) -> &'static [&'static str] {
        match self.rule {
            Rule::Shape(definitions) => definitions,
            Rule::Case(_) | Rule::Sessions(_) => &[],
        }
    }

    /// Runs the check. Outside the transports and revisions of its requirement it does not apply.
    #[must_use]
    pub fn run(&self, transcript: &Transcript<'_>) -> CheckOutcome {
        let register = Register::built_in();
        let (transport, revision) = (transcript.evidence.transport, transcript.evidence.revision);
        if !register.applies_over(self.requirement, transport) {
            return CheckOutcome::NotApplicable(format!("the requirement does not apply over {transport}"));
        }
        if !register.applies_to(self.requirement, transcript.evidence.profile) {
            let profile = transcript.evidence.profile.as_str();
            return CheckOutcome::NotApplicable(format!("the requirement does not apply to the profile `{profile}`"));
        }
        let range = register.range_of(self.requirement);
        match self.rule {
            Rule::Sessions(rule) => rule(transcript, range),
            Rule::Shape(definitions) => shapes_outcome(transcript, definitions),
            Rule::Case(rule) if range.contains(revision) => rule(transcript),
            Rule::Case(_) => CheckOutcome::NotApplicable(format!("the requirement does not apply to {revision}")),
        }
    }
}

/// The faults of all values with one of these definitions.
fn shapes_outcome(transcript: &Transcript<'_>, definitions: &[&str]) -> CheckOutcome {
    let mut findings = Findings::default();
    for one in transcript.shapes().with(definitions) {
        findings.saw(one.seq);
        for position in 0..one.faults {
            findings.fail(one.described.get(position).cloned().unwrap_or_default(), [one.seq]);
        }
    }
    findings.or_not_applicable("messages", "no message has such a part")
}

/// The outcome of a check.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum CheckOutcome {
    /// The rule is kept.
    Passed {
        /// The observed behavior.
        observed: String,
        /// The frames that show it.
        frames: Vec<u64>,
    },
    /// The rule is violated.
    Failed {
        /// The observed behavior.
        observed: String,
        /// The frames that show it.
        frames: Vec<u64>,
    },
    /// The evidence has nothing to which the rule applies, for this reason.
    NotApplicable(String),
    /// A prerequisite is missing, for this reason. It counts as a failure.
    Blocked(String),
}

impl CheckOutcome {
    pub(super) fn passed(observed: impl Into<String>, frames: Vec<u64>) -> Self {
        Self::Passed { observed: observed.into(), frames }
    }

    pub(super) fn failed(observed: impl Into<String>, frames: Vec<u64>) -> Self {
        Self::Failed { observed: observed.into(), frames }
    }

    pub(super) fn not_applicable(reason: impl Into<String>) -> Self {
        Self::NotApplicable(reason.into())
    }
}

/// Builds the outcome of a check from single results. Its size is limited.
#[derive(Debug, Default)]
pub(super) struct Findings {
    seen: usize,
    seen_frames: Vec<u64>,
    failures: usize,
    messages: Vec<String>,
    failed_frames: Vec<u64>,
    /// Deviations that an SDK causes and its users cannot change. They do not fail the check.
    known: Option<String>,
}

impl Findings {
    /// Checks every item, and fails those for which `fault` returns a message.
    pub(super) fn from_each<T>(
        items: impl IntoIterator<Item = (u64, T)>,
        fault: impl Fn(&T) -> Option<String>,
    ) -> Self {
        let mut findings = Self::default();
        for (seq, item) in items {
            findings.check(seq, fault(&item).map_or(Ok(()), Err));
        }
        findings
    }

    /// Notes a frame to which the rule applies.
    pub(super) fn saw(&mut self, seq: u64) {
        self.seen += 1;
        if self.seen_frames.len() < MAX_FRAMES && self.seen_frames.last() != Some(&seq) {
            self.seen_frames.push(seq);
        }
    }

    /// Notes a violation and the frames that show it.
    pub(super) fn fail(&mut self, message: impl Into<String>, frames: impl IntoIterator<Item = u64>) {
        self.failures += 1;
        if self.messages.len() < MAX_FAILURES {
            self.messages.push(message.into());
        }
        for seq in frames {
            if self.failed_frames.len() < MAX_FRAMES && self.failed_frames.last() != Some(&seq) {
                self.failed_frames.push(seq);
            }
        }
    }

    /// Notes the result for one frame.
    pub(super) fn check(&mut self, seq: u64, result: Result<(), String>) {
        self.saw(seq);
        if let Err(message) = result {
            self.fail(message, [seq]);
        }
    }

    /// Notes a deviation that an SDK causes. The outcome names the first one.
    pub(super) fn known(&mut self, seq: u64, message: String) {
        self.saw(seq);
        self.known.get_or_insert(message);
    }

    /// The outcome; not applicable for this reason if no frame was noted. `things` says what was checked.
    pub(super) fn or_not_applicable(self, things: &str, reason: &str) -> CheckOutcome {
        self.outcome(things, || CheckOutcome::NotApplicable(reason.to_owned()))
    }

    /// The outcome; blocked for this reason if no frame was noted. `things` says what was checked.
    pub(super) fn or_blocked(self, things: &str, reason: &str) -> CheckOutcome {
        self.outcome(things, || CheckOutcome::Blocked(reason.to_owned()))
    }

    fn outcome(self, things: &str, nothing: impl FnOnce() -> CheckOutcome) -> CheckOutcome {
        if self.failures > 0 {
            let mut observed = self.messages.join("; ");
            if self.failures > self.messages.len() {
                observed.push_str(&format!("; and {} more", self.failures - self.messages.len()));
            }
            return CheckOutcome::failed(observed, self.failed_frames);
        }
        if self.seen == 0 {
            return nothing();
        }
        let known = self.known.map_or_else(String::new, |message| format!("; {message}"));
        CheckOutcome::passed(format!("the rule holds; {things} checked: {}{known}", self.seen), self.seen_frames)
    }
}

/// A value as bounded text.
pub(super) fn brief(value: &Value) -> String {
    let text = value.to_string();
    match text.char_indices().nth(MAX_VALUE_CHARS) {
        Some((end, _)) => format!("{}…", &text[..end]),
        None => text,
    }
}

/// A value as bounded text, or `missing`.
pub(super) fn brief_or_missing(value: Option<&Value>) -> String {
    value.map_or_else(|| "missing".to_owned(), brief)
}

/// A value as bounded text in backquotes.
pub(super) fn quoted(value: &Value) -> String {
    format!("`{}`", brief(value))
}
