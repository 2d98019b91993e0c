use super::check::parsed;
use super::*;
use crate::sample;

fn suites(run: &Run) -> Vec<super::check::Suite> {
    parsed(&Junit.render(run, &Style::default()).unwrap())
}

#[test]
fn each_verdict_maps_to_a_test_result() {
    let outcome = |verdict| {
        let run = sample::run(vec![sample::case("tools/one", verdict), sample::case("tools/two", Verdict::Passed)]);
        suites(&run)[0].cases[0].outcome.clone().map(|(tag, ty, _)| format!("{tag} {ty}"))
    };
    assert_eq!(outcome(Verdict::Passed), None);
    assert_eq!(outcome(Verdict::Warned), None);
    assert_eq!(outcome(Verdict::Failed).unwrap(), "failure timeout-sends-cancel");
    assert_eq!(outcome(Verdict::Blocked).unwrap(), "error timeout-sends-cancel");
    assert_eq!(outcome(Verdict::Skipped).unwrap(), "skipped does-not-apply");
}

#[test]
fn a_warning_is_the_output_of_a_test_case_that_passed() {
    let mut noted = sample::case("tools/noted", Verdict::Noted);
    noted.checks[0].observed = "]]></system-out><failure/> & \u{0}".to_owned();
    let cases = vec![sample::case("tools/one", Verdict::Warned), noted, sample::case("tools/two", Verdict::Passed)];
    let suite = &suites(&sample::run(cases))[0];
    assert_eq!((suite.failures, suite.errors, suite.skipped), (0, 0, 0));
    let output = |case: usize| suite.cases[case].output.clone().unwrap_or_default();
    assert!(output(0).starts_with("WARNED A stuck tool") && output(0).contains("warned timeout-sends-cancel"));
    assert!(
        output(1).starts_with("NOTED ") && output(1).contains("]]></system-out><failure/> & \\u{0}"),
        "{}",
        output(1)
    );
    assert_eq!(suite.cases[2].output, None);
}

#[test]
fn the_policy_decides_whether_a_warning_is_a_failure() {
    let mut run = sample::run(vec![sample::case("tools/one", Verdict::Warned)]);
    run.header.policy.fail_on_warnings = true;
    let suite = &suites(&run)[0];
    assert_eq!((suite.failures, suite.cases[0].output.as_deref()), (1, None));
}

#[test]
fn a_failed_threshold_fails_the_test_case_of_its_load_test() {
    let mut run = sample::run(vec![]);
    run.loads = vec![sample::load()];
    let suites = suites(&run);
    let (tag, ty, message) = suites[0].cases[0].outcome.clone().unwrap();
    assert_eq!((tag.as_str(), ty.as_str()), ("failure", "threshold"));
    assert_eq!(message, "threshold failed: errors < 1% (measured 4.0 %)");
}

#[test]
fn markup_is_escaped_and_control_characters_are_replaced() {
    let mut case = sample::case("tools/<one>\u{0}", Verdict::Failed);
    case.checks[0].observed = "]]> & <b> \" ' \u{8}\u{ffff}\n".to_owned();
    let suites = suites(&sample::run(vec![case]));
    let case = &suites[0].cases[0];
    assert_eq!(case.name, "<one>\\u{0}@stdio@2025-11-25");
    assert_eq!(case.outcome.as_ref().unwrap().2, "]]> & <b> \" ' \\u{8}\\u{ffff}\\n");
}

#[test]
fn an_invalid_time_becomes_the_epoch() {
    assert_eq!(timestamp("2026-07-28T10:11:12.5+02:00"), "2026-07-28T10:11:12");
    assert_eq!(timestamp("2026-01-31T23:59:59Z"), "2026-01-31T23:59:59");
    for wrong in ["", "yesterday", "2026-13-28T10:11:12Z", "2026-07-00T10:11:12Z", "2026-07-28 10:11:12Z", "2026-07-2é"]
    {
        assert_eq!(timestamp(wrong), "1970-01-01T00:00:00", "{wrong:?}");
    }
}
