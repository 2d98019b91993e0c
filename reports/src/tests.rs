//! What holds for the whole crate: when a run held, and that the published schema is the one of the code.

use std::path::Path;

use crate::model::{BaselineState, Run, Verdict};
use crate::sample::{case, everything, load, run};

#[test]
fn a_run_without_failures_held() {
    let run =
        run(vec![case("a/one", Verdict::Passed), case("a/two", Verdict::Warned), case("a/three", Verdict::Skipped)]);
    assert!(run.held());
    let counts = run.counts();
    assert_eq!((counts.passed, counts.warned, counts.skipped, counts.failed, counts.blocked), (1, 1, 1, 0, 0));
}

#[test]
fn a_failed_or_blocked_case_breaks_the_run() {
    for verdict in [Verdict::Failed, Verdict::Blocked] {
        let run = run(vec![case("a/one", Verdict::Passed), case("a/two", verdict)]);
        assert!(!run.held(), "{verdict:?}");
    }
}

#[test]
fn a_run_that_judged_nothing_did_not_hold() {
    assert!(!run(vec![]).held());
    assert!(!run(vec![case("a/one", Verdict::Skipped)]).held());
}

#[test]
fn an_interrupted_run_did_not_hold() {
    let mut run = run(vec![case("a/one", Verdict::Passed)]);
    run.complete = false;
    assert!(!run.held());
}

fn with_baseline(known: &[&str], stale: &[&str]) -> Run {
    let mut run = run(vec![case("a/one", Verdict::Failed), case("a/two", Verdict::Passed)]);
    let owned = |ids: &[&str]| ids.iter().map(|id| format!("{id}@stdio@2025-11-25")).collect();
    run.baseline = Some(BaselineState { known: owned(known), stale: owned(stale) });
    run
}

#[test]
fn a_known_failure_does_not_break_the_run() {
    assert!(with_baseline(&["a/one"], &[]).held());
    assert!(!with_baseline(&["a/two"], &[]).held());
}

#[test]
fn a_stale_baseline_entry_breaks_the_run() {
    assert!(!with_baseline(&["a/one"], &["a/two"]).held());
}

#[test]
fn a_load_test_needs_a_success_and_its_thresholds() {
    let mut run = run(vec![]);
    let mut load = load();
    load.thresholds.retain(|threshold| threshold.held);
    run.loads = vec![load];
    assert!(run.held());
    run.loads[0].thresholds[0].held = false;
    assert!(!run.held());
    run.loads[0].thresholds.clear();
    run.loads[0].succeeded = 0;
    assert!(!run.held());
}

#[test]
fn the_published_schema_is_the_one_of_the_code() {
    let (path, expected) = crate::schema_file();
    let path = Path::new(env!("CARGO_MANIFEST_DIR")).parent().expect("a crate lies in the workspace").join(path);
    let found = std::fs::read_to_string(&path).unwrap_or_default();
    assert!(found == expected, "{} is out of date; `cargo xtask tidy --write` brings it up to date", path.display());
}

#[test]
fn a_saved_run_holds_against_the_schema() {
    let schema = jsonschema::validator_for(&crate::schema()).unwrap();
    let mut saved = serde_json::to_value(everything()).unwrap();
    if let Err(error) = schema.validate(&saved) {
        panic!("{error}");
    }
    saved["format"] = 2.into();
    assert!(!schema.is_valid(&saved));
}

mod properties;
