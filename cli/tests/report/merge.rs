//! `report merge`: shards of one plan.

use crate::kit::{case, journal, path, run, stdout};

#[test]
fn shards_become_one_run() {
    let directory = tempfile::tempdir().expect("a directory");
    let [first, second, all] = ["first", "second", "all"].map(|name| directory.path().join(name));
    journal(&first, &[case("area/a", &[("one", "passed")])]);
    journal(&second, &[case("area/b", &[("one", "failed")]), case("area/c", &[("one", "passed")])]);
    let text = stdout(&run(&["report", "merge", path(&first), path(&second), "--output", path(&all)]), 0);
    assert!(text.starts_with("3 results of 2 runs are in "), "{text}");
    let report = stdout(&run(&["report", path(&all)]), 1);
    assert!(report.contains("1 failed, 2 passed; 3 planned"), "{report}");
}

#[test]
fn a_case_of_two_runs_is_an_error_unless_the_later_one_may_win() {
    let directory = tempfile::tempdir().expect("a directory");
    let [first, second, all] = ["first", "second", "all"].map(|name| directory.path().join(name));
    journal(&first, &[case("area/a", &[("one", "failed")])]);
    journal(&second, &[case("area/a", &[("one", "passed")])]);
    let arguments = ["report", "merge", path(&first), path(&second), "--output", path(&all)];
    let output = run(&arguments);
    let error = String::from_utf8_lossy(&output.stderr).into_owned();
    assert_eq!(output.status.code(), Some(2), "{error}");
    assert!(error.contains("area/a@stdio@2025-11-25") && error.contains(path(&second)), "{error}");
    assert!(!all.exists());
    stdout(&run(&[&arguments[..], &["--replace"]].concat()), 0);
    assert!(stdout(&run(&["report", path(&all)]), 0).contains("1 passed; 1 planned"));
}

#[test]
fn a_run_is_not_overwritten_by_its_own_merge() {
    let directory = tempfile::tempdir().expect("a directory");
    let first = directory.path().join("first");
    journal(&first, &[case("area/a", &[("one", "passed")])]);
    let output = run(&["report", "merge", path(&first), "--output", path(&first)]);
    assert_eq!(output.status.code(), Some(2));
    stdout(&run(&["report", path(&first)]), 0);
}
