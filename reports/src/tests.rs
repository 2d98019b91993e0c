//! When a run passes, and that the published schema is up to date.

use std::path::Path;

use crate::model::{BaselineState, Run, Verdict};
use crate::sample::{case, everything, load, run};

#[test]
fn a_run_without_failures_passes() {
    let run =
        run(vec![case("a/one", Verdict::Passed), case("a/two", Verdict::Warned), case("a/three", Verdict::Skipped)]);
    assert!(run.passed());
    let counts = run.counts();
    assert_eq!((counts.passed, counts.warned, counts.skipped, counts.failed, counts.blocked), (1, 1, 1, 0, 0));
}

#[test]
fn a_failed_or_blocked_case_fails_the_run() {
    for verdict in [Verdict::Failed, Verdict::Blocked] {
        let run = run(vec![case("a/one", Verdict::Passed), case("a/two", verdict)]);
        assert!(!run.passed(), "{verdict:?}");
    }
}

#[test]
fn a_run_without_results_fails() {
    assert!(!run(vec![]).passed());
    assert!(!run(vec![case("a/one", Verdict::Skipped)]).passed());
}

#[test]
fn an_interrupted_run_fails() {
    let mut run = run(vec![case("a/one", Verdict::Passed)]);
    run.complete = false;
    assert!(!run.passed());
}

fn with_baseline(known: &[&str], stale: &[&str]) -> Run {
    let mut run = run(vec![case("a/one", Verdict::Failed), case("a/two", Verdict::Passed)]);
    let owned = |ids: &[&str]| ids.iter().map(|id| format!("{id}@stdio@2025-11-25")).collect();
    run.baseline = Some(BaselineState { known: owned(known), stale: owned(stale) });
    run
}

#[test]
fn a_known_failure_does_not_fail_the_run() {
    assert!(with_baseline(&["a/one"], &[]).passed());
    assert!(!with_baseline(&["a/two"], &[]).passed());
}

#[test]
fn a_stale_baseline_entry_fails_the_run() {
    assert!(!with_baseline(&["a/one"], &["a/two"]).passed());
}

#[test]
fn a_load_test_needs_a_success_and_its_thresholds() {
    let mut run = run(vec![]);
    let mut load = load();
    load.thresholds.retain(|threshold| threshold.passed);
    run.loads = vec![load];
    assert!(run.passed());
    run.loads[0].thresholds[0].passed = false;
    assert!(!run.passed());
    run.loads[0].thresholds.clear();
    run.loads[0].succeeded = 0;
    assert!(!run.passed());
}

#[test]
fn the_published_schema_is_up_to_date() {
    let (path, expected) = crate::schema_file();
    let path = Path::new(env!("CARGO_MANIFEST_DIR")).parent().expect("the crate is in the workspace").join(path);
    let found = std::fs::read_to_string(&path).unwrap_or_default();
    assert!(found == expected, "{} is out of date; run `cargo xtask tidy --write`", path.display());
}

#[test]
fn a_saved_run_is_valid_against_the_schema() {
    let schema = jsonschema::validator_for(&crate::schema()).unwrap();
    let mut saved = serde_json::to_value(everything()).unwrap();
    if let Err(error) = schema.validate(&saved) {
        panic!("{error}");
    }
    saved["format"] = 2.into();
    assert!(!schema.is_valid(&saved));
}

/// Journals and reports of earlier versions use these names.
#[test]
fn reads_the_keys_of_earlier_versions() {
    let run = everything();
    let text = serde_json::to_string(&run).unwrap();
    let old = text
        .replace("\"checks\":", "\"judgements\":")
        .replace("\"frames\":[{", "\"exhibits\":[{")
        .replace("\"truncated\":", "\"cut\":")
        .replace("\"passed\":", "\"held\":");
    assert_ne!(old, text);
    assert_eq!(crate::saved::read(&old).unwrap(), run);
}

mod properties;
