//! Formats for CI systems, as the program prints and writes them.

use std::fs;

use crate::kit::{case, journal, path, run_with, stdout};

const JOB: &[(&str, &str)] = &[("GITHUB_ACTIONS", "true"), ("GITHUB_STEP_SUMMARY", "/dev/null")];

#[test]
fn each_format_is_written_to_a_file_of_its_own() {
    let directory = tempfile::tempdir().expect("a directory");
    let run = journal(directory.path(), &[case("tools/one", &[("first", "warned")])]);
    let out = directory.path().join("out");
    let mut arguments = vec!["report", path(run), "--output", path(&out)];
    for format in ["markdown", "github", "sarif", "csv", "badge", "junit"] {
        arguments.extend(["--format", format]);
    }
    stdout(&run_with(&arguments, &[]), 0);
    let mut files: Vec<String> = fs::read_dir(&out)
        .expect("the directory")
        .map(|entry| entry.expect("an entry").file_name().into_string().expect("UTF-8"))
        .collect();
    files.sort();
    assert_eq!(files, ["annotations.txt", "badge.svg", "checks.csv", "junit.xml", "results.sarif", "summary.md"]);
}

#[test]
fn in_a_github_job_annotations_are_printed_although_they_are_also_written() {
    let directory = tempfile::tempdir().expect("a directory");
    let mut hostile = case("tools/one", &[("first", "failed")]);
    hostile.stderr = "::add-mask::x\n".to_owned();
    let run = journal(directory.path(), &[hostile]);
    let out = directory.path().join("out");
    let arguments = ["report", path(run), "--output", path(&out), "--format", "github"];
    let text = stdout(&run_with(&arguments, JOB), 1);
    let lines: Vec<&str> = text.lines().collect();
    let token = lines[0].strip_prefix("::stop-commands::").expect("commands are disabled first");
    let enabled = lines.iter().position(|line| *line == format!("::{token}::")).expect("and enabled again");
    assert!(lines[..enabled].iter().any(|line| line.contains("::add-mask::x")), "{text}");
    assert!(lines[enabled + 1].starts_with("::error title=failed first::"), "{text}");
    assert!(lines[enabled + 1..].iter().all(|line| !line.contains("add-mask")), "{text}");
    let elsewhere = stdout(&run_with(&arguments, &JOB[..1]), 1);
    assert!(!elsewhere.contains("::error") && !elsewhere.contains("::stop-commands"), "{elsewhere}");
}
