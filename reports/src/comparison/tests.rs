use super::*;
use crate::model::CaseResult;
use crate::sample;

/// A case with checks: their ids and verdicts.
fn case(scenario: &str, checks: &[(&str, Verdict)]) -> CaseResult {
    let verdict = checks.iter().map(|(_, verdict)| *verdict).max().unwrap_or(Verdict::Passed);
    let mut case = sample::case(scenario, verdict);
    case.checks = checks
        .iter()
        .map(|(id, verdict)| crate::model::CheckResult { id: (*id).to_owned(), ..sample::check(*verdict) })
        .collect();
    case
}

fn between(old: Vec<CaseResult>, new: Vec<CaseResult>) -> Comparison {
    Comparison::between(&sample::run(old), &sample::run(new), Tolerance::default())
}

/// `kind check` of each change.
fn kinds(comparison: &Comparison) -> Vec<String> {
    let name = |change: &Change| format!("{} {}", change.kind.as_str(), change.check.as_deref().unwrap_or("-"));
    comparison.changes.iter().map(name).collect()
}

#[test]
fn two_verdicts_of_a_check_have_one_kind_of_change() {
    use Verdict::{Blocked, Failed, Flaky, Noted, Passed, Skipped, Warned};
    for (old, new, expected) in [
        (Passed, Failed, Some("broken")),
        (Passed, Blocked, Some("broken")),
        (Skipped, Failed, Some("broken")),
        (Warned, Failed, Some("broken")),
        (Passed, Flaky, Some("flaky")),
        (Passed, Warned, Some("warned")),
        (Passed, Noted, Some("warned")),
        (Failed, Passed, Some("fixed")),
        (Failed, Warned, Some("fixed")),
        (Flaky, Passed, Some("fixed")),
        (Warned, Passed, Some("fixed")),
        (Passed, Skipped, Some("removed")),
        (Skipped, Passed, Some("new")),
        (Failed, Blocked, None),
        (Failed, Failed, None),
        (Passed, Passed, None),
        (Skipped, Skipped, None),
        (Warned, Noted, None),
    ] {
        // The second check keeps the case judged.
        let pair = [old, new].map(|verdict| vec![case("a/b", &[("one", verdict), ("two", Passed)])]);
        let [old_cases, new_cases] = pair;
        let expected: Vec<String> = expected.iter().map(|kind| format!("{kind} one")).collect();
        let found = between(old_cases, new_cases);
        assert_eq!(kinds(&found), expected, "{old:?} -> {new:?}");
    }
}

#[test]
fn the_policy_of_the_run_decides_what_fails() {
    let runs = || [Verdict::Passed, Verdict::Warned].map(|verdict| sample::run(vec![case("a/b", &[("one", verdict)])]));
    let [old, mut new] = runs();
    new.header.policy.fail_on_warnings = true;
    assert_eq!(kinds(&Comparison::between(&old, &new, Tolerance::default())), ["broken one"]);
    let [mut old, mut new] = runs();
    new.cases = vec![case("a/b", &[("one", Verdict::Flaky)])];
    assert!(Comparison::between(&old, &new, Tolerance::default()).is_broken());
    old.header.policy.allow_flaky = true;
    new.header.policy.allow_flaky = true;
    let allowed = Comparison::between(&old, &new, Tolerance::default());
    assert_eq!((kinds(&allowed), allowed.is_broken()), (vec!["flaky one".to_owned()], false));
}

#[test]
fn a_check_that_is_a_result_only_if_it_fails_breaks_and_is_fixed() {
    let good = || vec![case("a/b", &[("one", Verdict::Passed)])];
    let bad = || vec![case("a/b", &[("one", Verdict::Passed), ("only-failures", Verdict::Failed)])];
    assert_eq!(kinds(&between(good(), bad())), ["broken only-failures"]);
    assert_eq!(kinds(&between(bad(), good())), ["fixed only-failures"]);
}

#[test]
fn a_failure_is_not_fixed_because_its_case_is_blocked() {
    let old = vec![case("a/b", &[("one", Verdict::Failed)])];
    let new = vec![case("a/b", &[("subject-takes-part", Verdict::Blocked)])];
    assert_eq!(kinds(&between(old, new)), ["broken subject-takes-part", "removed one"]);
}

#[test]
fn cases_of_one_run_only_are_new_or_removed_and_not_broken() {
    let found =
        between(vec![case("a/old", &[("one", Verdict::Passed)])], vec![case("a/new", &[("one", Verdict::Failed)])]);
    assert_eq!(kinds(&found), ["removed -", "new -"]);
    assert_eq!(found.changes[1].new, Some(Verdict::Failed));
    assert!(!found.is_broken());
}

#[test]
fn the_most_severe_result_of_an_id_counts() {
    let checks = |second| [("one", Verdict::Passed), ("one", second)];
    let found = between(vec![case("a/b", &checks(Verdict::Passed))], vec![case("a/b", &checks(Verdict::Failed))]);
    assert_eq!(kinds(&found), ["broken one"]);
}

#[test]
fn a_case_is_slower_beyond_both_limits() {
    let elapsed = |ms| {
        let mut case = case("a/b", &[("one", Verdict::Passed)]);
        case.elapsed_ms = ms;
        vec![case]
    };
    let tolerance = Tolerance { percent: 20.0, case_ms: 100, latency_us: 0 };
    for (old, new, expected) in [(1_000, 1_201, true), (1_000, 1_200, false), (100, 190, false), (100, 201, true)] {
        let found = Comparison::between(&sample::run(elapsed(old)), &sample::run(elapsed(new)), tolerance);
        assert_eq!(found.counts.slower == 1, expected, "{old} -> {new}");
        assert!(!found.is_broken());
        assert_eq!(found.is_slower_or_broken(), expected);
    }
}

#[test]
fn a_failed_case_is_not_slower() {
    let mut new = case("a/b", &[("one", Verdict::Failed)]);
    new.elapsed_ms = 60_000;
    assert_eq!(kinds(&between(vec![case("a/b", &[("one", Verdict::Passed)])], vec![new])), ["broken one"]);
}

#[test]
fn a_load_test_breaks_a_threshold_and_becomes_slower() {
    let run = || {
        let mut run = sample::run(vec![]);
        run.loads = vec![sample::load()];
        run
    };
    let (old, mut new) = (run(), run());
    new.loads[0].thresholds[0].passed = false;
    new.loads[0].achieved_rate = 10.0;
    let latency = new.loads[0].latency.as_mut().unwrap();
    // Less than the absolute limit, and more than both.
    (latency.p50_us, latency.p99_us) = (2_000, 20_000);
    let found = Comparison::between(&old, &new, Tolerance::default());
    assert_eq!(kinds(&found), ["broken p95 < 5ms", "slower -", "slower -"]);
    let measured: Vec<&str> =
        found.changes.iter().filter_map(|change| Some(change.measured.as_ref()?.what.as_str())).collect();
    assert_eq!(measured, ["achieved_rate", "p99"]);
    let faster = Comparison::between(&new, &old, Tolerance::default());
    assert_eq!(kinds(&faster), ["fixed p95 < 5ms"]);
}

#[test]
fn load_tests_of_another_shape_are_not_compared() {
    let (mut old, mut new) = (sample::run(vec![]), sample::run(vec![]));
    (old.loads, new.loads) = (vec![sample::load()], vec![sample::load()]);
    new.loads[0].shape = "closed loop, 1 user".to_owned();
    assert_eq!(kinds(&Comparison::between(&old, &new, Tolerance::default())), ["removed -", "new -"]);
}

#[test]
fn a_run_does_not_differ_from_itself() {
    let run = sample::everything();
    let found = Comparison::between(&run, &run, Tolerance::default());
    assert_eq!(found.changes, []);
    assert!(found.unchanged > 5);
}

#[test]
fn the_published_schema_is_up_to_date_and_valid() {
    let (path, expected) = schema_file();
    let path = std::path::Path::new(env!("CARGO_MANIFEST_DIR")).parent().expect("in the workspace").join(path);
    let found = std::fs::read_to_string(&path).unwrap_or_default();
    assert!(found == expected, "{} is out of date; run `cargo xtask tidy --write`", path.display());
    let validator = jsonschema::validator_for(&schema()).unwrap();
    let comparison =
        between(vec![case("a/b", &[("one", Verdict::Passed)])], vec![case("a/b", &[("one", Verdict::Failed)])]);
    let mut value = serde_json::to_value(&comparison).unwrap();
    assert!(validator.is_valid(&value));
    assert_eq!(serde_json::from_value::<Comparison>(value.clone()).unwrap(), comparison);
    value["format"] = 2.into();
    assert!(!validator.is_valid(&value));
}
