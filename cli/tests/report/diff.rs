//! `report diff`: of journals, and of two real runs between which one defect was introduced.

use std::fs;

use serde_json::Value;

use crate::kit::{case, journal, path, run, stdout};

/// Compares two journals with these verdicts of the check `one`.
fn compare(old: &str, new: &str, options: &[&str], code: i32) -> String {
    let directory = tempfile::tempdir().expect("a directory");
    let (old_run, new_run) = (directory.path().join("old"), directory.path().join("new"));
    journal(&old_run, &[case("area/a", &[("one", old), ("two", "passed")])]);
    journal(&new_run, &[case("area/a", &[("one", new), ("two", "passed")])]);
    stdout(&run(&[&["report", "diff", path(&old_run), path(&new_run)], options].concat()), code)
}

#[test]
fn the_exit_code_says_whether_something_broke() {
    assert!(compare("passed", "failed", &[], 1).contains("broken  area/a@stdio@2025-11-25 one passed -> failed"));
    compare("passed", "failed", &["--fail-on", "never"], 0);
    assert!(compare("failed", "passed", &["--fail-on", "slower"], 0).contains("1 fixed, 1 checks unchanged"));
    assert!(compare("passed", "failed", &["--format", "markdown"], 1).contains("<b>broken</b> (1)"));
}

#[test]
fn a_slower_case_fails_only_on_request() {
    let directory = tempfile::tempdir().expect("a directory");
    let (old, new) = (directory.path().join("old"), directory.path().join("new"));
    let mut slow = case("area/a", &[("one", "passed")]);
    journal(&old, std::slice::from_ref(&slow));
    slow.elapsed_ms = 130;
    journal(&new, &[slow]);
    let diff =
        |options: &[&str], code| stdout(&run(&[&["report", "diff", path(&old), path(&new)], options].concat()), code);
    assert!(!diff(&["--fail-on", "slower"], 0).contains("slower"), "below the absolute limit");
    let slower = diff(&["--fail-on", "slower", "--case-floor", "20ms"], 1);
    assert!(slower.contains("duration 100 ms -> 130 ms (+30 %)"), "{slower}");
    diff(&["--fail-on", "slower", "--case-floor", "20ms", "--slower-than", "50%"], 0);
    diff(&["--case-floor", "20ms"], 0);
}

#[test]
fn unreadable_input_is_an_error_with_its_location() {
    let directory = tempfile::tempdir().expect("a directory");
    let good = directory.path().join("good");
    journal(&good, &[case("area/a", &[("one", "passed")])]);
    let bad = directory.path().join("bad.jsonl");
    let text = fs::read_to_string(good.join("journal.jsonl")).expect("the journal");
    fs::write(&bad, text.replacen("{\"line\":\"case\"", "{\"line\":\"kase\"", 1)).expect("a file");
    let output = run(&["report", "diff", path(&good), path(&bad)]);
    let error = String::from_utf8_lossy(&output.stderr).into_owned();
    assert_eq!(output.status.code(), Some(2), "{error}");
    assert!(error.contains("bad.jsonl") && error.contains("line 2:"), "{error}");
    let missing = run(&["report", "diff", path(&good), "/nonexistent"]);
    assert_eq!(missing.status.code(), Some(2));
}

#[test]
fn one_defect_between_two_real_runs_is_exactly_what_broke() {
    let directory = tempfile::tempdir().expect("a directory");
    let good = directory.path().join("good.yaml");
    let bad = directory.path().join("bad.yaml");
    fs::write(&good, "extends: minimal\n").expect("a file");
    // One defect: the result of `ping` has a member, although it must be empty.
    fs::write(&bad, "extends: minimal\non:\n  - when: { method: ping }\n    do: { reply: { result: [] } }\n")
        .expect("a file");
    let validate = |script: &std::path::Path, name: &str| {
        let out = directory.path().join(name);
        let server = [crate::kit::PROGRAM, "mock", "stdio", path(script)];
        let arguments = ["validate", "--quiet", "--revision", "2025-11-25", "--output", path(&out), "--"];
        let output = run(&[&arguments[..], &server[..]].concat());
        assert!(matches!(output.status.code(), Some(0 | 1)), "{}", String::from_utf8_lossy(&output.stderr));
        out
    };
    let (old, new) = (validate(&good, "old"), validate(&bad, "new"));
    let output = run(&["report", "diff", "--json", path(&old), path(&new)]);
    let found: Value = serde_json::from_str(&stdout(&output, 1)).expect("JSON");
    assert_eq!(found["format"], 1);
    let broken = found["changes"].as_array().expect("changes").iter().filter(|change| change["kind"] == "broken");
    let names: std::collections::BTreeSet<&str> = broken.filter_map(|change| change["check"].as_str()).collect();
    assert!(
        !names.is_empty() && names.iter().all(|name| name.contains("ping") || name.contains("result")),
        "{names:?}"
    );
    assert_eq!(found["counts"]["fixed"], 0, "{found:#}");
    let back = run(&["report", "diff", "--json", path(&new), path(&old)]);
    let back: Value = serde_json::from_str(&stdout(&back, 0)).expect("JSON");
    assert_eq!((&back["counts"]["broken"], &back["counts"]["fixed"]), (&0.into(), &found["counts"]["broken"]));
}
