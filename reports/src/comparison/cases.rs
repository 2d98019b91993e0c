//! Changes of cases and their checks.

use std::collections::BTreeMap;

use super::{Change, ChangeKind, Changes, Measured, Tolerance};
use crate::model::{CaseResult, CheckResult, PassPolicy, Run, Verdict};

/// Compares the cases with the same id.
pub(super) fn compare(old: &Run, new: &Run, tolerance: &Tolerance) -> Changes {
    let mut found = Changes::default();
    let before: BTreeMap<&str, &CaseResult> = old.cases.iter().map(|case| (case.id.as_str(), case)).collect();
    let after: BTreeMap<&str, &CaseResult> = new.cases.iter().map(|case| (case.id.as_str(), case)).collect();
    for case in &new.cases {
        match before.get(case.id.as_str()) {
            Some(old_case) => {
                let pair = Pair { old: old_case, new: case, policies: (old.header.policy, new.header.policy) };
                pair.compare(&mut found);
                found.changes.extend(slower(old_case, case, tolerance));
            }
            None => found.changes.push(case_change(ChangeKind::New, case, None, Some(case.verdict))),
        }
    }
    let removed = old.cases.iter().filter(|case| !after.contains_key(case.id.as_str()));
    found.changes.extend(removed.map(|case| case_change(ChangeKind::Removed, case, Some(case.verdict), None)));
    found
}

/// A case of both runs.
struct Pair<'r> {
    old: &'r CaseResult,
    new: &'r CaseResult,
    policies: (PassPolicy, PassPolicy),
}

impl Pair<'_> {
    fn compare(&self, found: &mut Changes) {
        let (before, after) = (checks(self.old), checks(self.new));
        for check in in_order(self.new, &after) {
            let old = before.get(check.id.as_str());
            match self.kind(old.map(|check| check.verdict), Some(check.verdict)) {
                Some(kind) => found.changes.push(self.change(kind, check, old.map(|old| old.verdict), true)),
                None => found.unchanged += 1,
            }
        }
        for check in in_order(self.old, &before).filter(|check| !after.contains_key(check.id.as_str())) {
            if let Some(kind) = self.kind(Some(check.verdict), None) {
                found.changes.push(self.change(kind, check, Some(check.verdict), false));
            }
        }
    }

    /// The kind of a change between two verdicts of a check. A check that is missing in a case did not fail in it: some
    /// checks are results only if they fail.
    fn kind(&self, old: Option<Verdict>, new: Option<Verdict>) -> Option<ChangeKind> {
        let (old_class, new_class) = (class(self.policies.0, old), class(self.policies.1, new));
        match (old_class, new_class) {
            (Class::Fails, Class::Fails) => None,
            (_, Class::Fails) => Some(if new == Some(Verdict::Flaky) { ChangeKind::Flaky } else { ChangeKind::Broken }),
            (_, Class::Warns) if new == Some(Verdict::Flaky) && old != new => Some(ChangeKind::Flaky),
            (Class::Passes | Class::Missing, Class::Warns) => Some(ChangeKind::Warned),
            (Class::Warns, Class::Warns) => None,
            (Class::Fails, Class::Passes | Class::Warns) | (Class::Warns, Class::Passes) => Some(ChangeKind::Fixed),
            // The case may be blocked now, so that the check says nothing any more.
            (Class::Fails | Class::Warns, Class::Missing) if !self.is_judged() => Some(ChangeKind::Removed),
            (Class::Fails | Class::Warns, Class::Missing) if new.is_none() => Some(ChangeKind::Fixed),
            (Class::Missing, Class::Passes) => Some(ChangeKind::New),
            (_, Class::Missing) if old_class != Class::Missing => Some(ChangeKind::Removed),
            (Class::Passes, Class::Passes) | (_, Class::Missing) => None,
        }
    }

    /// Whether the new case was judged as a whole.
    fn is_judged(&self) -> bool {
        !matches!(self.new.verdict, Verdict::Blocked | Verdict::Skipped)
    }

    fn change(&self, kind: ChangeKind, check: &CheckResult, old: Option<Verdict>, is_new: bool) -> Change {
        Change {
            kind,
            case: self.new.id.clone(),
            check: Some(check.id.clone()),
            old,
            new: is_new.then_some(check.verdict),
            requirement: Some(check.requirement.clone()),
            observed: check.observed.clone(),
            measured: None,
        }
    }
}

/// What a verdict means for a run.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum Class {
    Fails,
    Warns,
    Passes,
    /// Not in the case, or skipped: it says nothing.
    Missing,
}

fn class(policy: PassPolicy, verdict: Option<Verdict>) -> Class {
    match verdict {
        None | Some(Verdict::Skipped) => Class::Missing,
        Some(verdict) if policy.fails(verdict) => Class::Fails,
        Some(Verdict::Passed) => Class::Passes,
        Some(Verdict::Noted | Verdict::Warned | Verdict::Flaky | Verdict::Blocked | Verdict::Failed) => Class::Warns,
    }
}

/// The checks by id. Of several results with one id the most severe counts.
fn checks(case: &CaseResult) -> BTreeMap<&str, &CheckResult> {
    let mut checks: BTreeMap<&str, &CheckResult> = BTreeMap::new();
    for check in &case.checks {
        let kept = checks.entry(&check.id).or_insert(check);
        if check.verdict > kept.verdict {
            *kept = check;
        }
    }
    checks
}

/// The indexed checks in the order of the case.
fn in_order<'r>(
    case: &'r CaseResult,
    checks: &BTreeMap<&str, &'r CheckResult>,
) -> impl Iterator<Item = &'r CheckResult> {
    case.checks.iter().filter(|check| checks.get(check.id.as_str()).is_some_and(|kept| std::ptr::eq(*kept, *check)))
}

/// A case that is only in one of the runs.
fn case_change(kind: ChangeKind, case: &CaseResult, old: Option<Verdict>, new: Option<Verdict>) -> Change {
    Change {
        kind,
        case: case.id.clone(),
        check: None,
        old,
        new,
        requirement: None,
        observed: case.title.clone(),
        measured: None,
    }
}

fn slower(old: &CaseResult, new: &CaseResult, tolerance: &Tolerance) -> Option<Change> {
    // A case that stops early or waits for a timeout takes another time, and its checks say why.
    if [old.verdict, new.verdict].iter().any(|verdict| verdict.is_failure() || *verdict == Verdict::Skipped) {
        return None;
    }
    let (before, after) = (old.elapsed_ms as f64, new.elapsed_ms as f64);
    let measured = Measured { what: "duration".to_owned(), unit: "ms".to_owned(), old: before, new: after };
    tolerance.is_exceeded(before, after, tolerance.case_ms as f64).then(|| Change {
        measured: Some(measured),
        observed: String::new(),
        ..case_change(ChangeKind::Slower, new, Some(old.verdict), Some(new.verdict))
    })
}
