//! Changes of load tests: thresholds, latencies and the rate of successful calls.

use super::{Change, ChangeKind, Changes, Measured, Tolerance};
use crate::model::{LoadResult, Run, Verdict};

/// Compares the load tests with the same name, transport and shape. Others measured something else.
pub(super) fn compare(old: &Run, new: &Run, tolerance: &Tolerance) -> Changes {
    let mut found = Changes::default();
    let same = |one: &LoadResult, other: &LoadResult| {
        one.name == other.name && one.transport == other.transport && one.shape == other.shape
    };
    for load in &new.loads {
        match old.loads.iter().find(|old| same(old, load)) {
            Some(old) => compare_load(old, load, tolerance, &mut found),
            None => found.changes.push(load_change(ChangeKind::New, load, None, Some(verdict(load.passed())))),
        }
    }
    let removed = old.loads.iter().filter(|load| !new.loads.iter().any(|new| same(new, load)));
    found
        .changes
        .extend(removed.map(|load| load_change(ChangeKind::Removed, load, Some(verdict(load.passed())), None)));
    found
}

fn compare_load(old: &LoadResult, new: &LoadResult, tolerance: &Tolerance, found: &mut Changes) {
    for threshold in &new.thresholds {
        let before = old.thresholds.iter().find(|old| old.threshold == threshold.threshold);
        let measured = format!("measured {}", threshold.measured);
        push_check(found, new, &threshold.threshold, before.map(|old| old.passed), threshold.passed, measured);
    }
    let succeeded = format!("{} calls succeeded", new.succeeded);
    push_check(found, new, "at least one call succeeds", Some(old.succeeded > 0), new.succeeded > 0, succeeded);
    let gone = old.thresholds.iter().filter(|old| !new.thresholds.iter().any(|new| new.threshold == old.threshold));
    found.changes.extend(gone.map(|old| Change {
        check: Some(old.threshold.clone()),
        ..load_change(ChangeKind::Removed, new, Some(verdict(old.passed)), None)
    }));
    let slower = measurements(old, new).into_iter().filter(|one| {
        // A rate is worse if it is lower.
        let (old, new, floor) = match one.unit.as_str() {
            "us" => (one.old, one.new, tolerance.latency_us as f64),
            _ => (one.new, one.old, 0.0),
        };
        tolerance.is_exceeded(old, new, floor)
    });
    found.changes.extend(slower.map(|measured| Change {
        measured: Some(measured),
        ..load_change(ChangeKind::Slower, new, Some(verdict(old.passed())), Some(verdict(new.passed())))
    }));
}

fn push_check(found: &mut Changes, load: &LoadResult, check: &str, old: Option<bool>, new: bool, observed: String) {
    let kind = match (old, new) {
        (Some(true), false) => ChangeKind::Broken,
        (Some(false), true) => ChangeKind::Fixed,
        (None, _) => ChangeKind::New,
        (Some(_), _) => {
            found.unchanged += 1;
            return;
        }
    };
    let change = load_change(kind, load, old.map(verdict), Some(verdict(new)));
    found.changes.push(Change { check: Some(check.to_owned()), observed, ..change });
}

/// The values that both load tests have.
fn measurements(old: &LoadResult, new: &LoadResult) -> Vec<Measured> {
    let measured = |what: &str, unit: &str, old: f64, new: f64| Measured {
        what: what.to_owned(),
        unit: unit.to_owned(),
        old,
        new,
    };
    let mut all = vec![measured("achieved_rate", "1/s", old.achieved_rate, new.achieved_rate)];
    if let (Some(old), Some(new)) = (&old.latency, &new.latency) {
        let percentiles =
            [("p50", old.p50_us, new.p50_us), ("p95", old.p95_us, new.p95_us), ("p99", old.p99_us, new.p99_us)];
        all.extend(percentiles.map(|(what, old, new)| measured(what, "us", old as f64, new as f64)));
    }
    all
}

fn verdict(passed: bool) -> Verdict {
    if passed { Verdict::Passed } else { Verdict::Failed }
}

fn load_change(kind: ChangeKind, load: &LoadResult, old: Option<Verdict>, new: Option<Verdict>) -> Change {
    Change {
        kind,
        case: format!("{} ({}; {})", load.name, load.transport, load.shape),
        check: None,
        old,
        new,
        requirement: None,
        observed: String::new(),
        measured: None,
    }
}
