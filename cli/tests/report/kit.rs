//! Runs the program, and makes journals.

use std::{
    fs,
    path::Path,
    process::{Command, Output},
};

use reports::{
    journal::Line,
    model::{CaseResult, RunHeader, RunKind},
};
use serde_json::json;

pub(crate) const PROGRAM: &str = env!("CARGO_BIN_EXE_mcp-workbench");

/// Runs the program outside of any CI system.
pub(crate) fn run(arguments: &[&str]) -> Output {
    run_with(arguments, &[])
}

/// Runs the program with these environment variables.
pub(crate) fn run_with(arguments: &[&str], variables: &[(&str, &str)]) -> Output {
    let mut command = Command::new(PROGRAM);
    command.args(arguments).env_remove("GITHUB_ACTIONS").env_remove("GITHUB_STEP_SUMMARY");
    command.envs(variables.iter().copied()).output().expect("the program starts")
}

/// Standard output, after a check of the exit code.
pub(crate) fn stdout(output: &Output, code: i32) -> String {
    let text = String::from_utf8(output.stdout.clone()).expect("UTF-8");
    let errors = String::from_utf8_lossy(&output.stderr);
    assert_eq!(output.status.code(), Some(code), "{text}\n{errors}");
    text
}

/// A path as an argument.
pub(crate) fn path(path: &Path) -> &str {
    path.to_str().expect("a UTF-8 path")
}

/// A case with checks: their ids and verdicts.
pub(crate) fn case(scenario: &str, checks: &[(&str, &str)]) -> CaseResult {
    let severity = ["skipped", "passed", "noted", "warned", "flaky", "blocked", "failed"];
    let worst = checks
        .iter()
        .map(|(_, verdict)| *verdict)
        .max_by_key(|verdict| severity.iter().position(|one| one == verdict).expect("a verdict"));
    let check = |(id, verdict): &(&str, &str)| {
        json!({
            "id": id, "verdict": verdict, "expected": "the rule is kept", "observed": format!("it was {verdict}"),
            "requirement": { "id": format!("area/{id}"), "level": "MUST", "text": "A rule.", "url": "https://example.org/rule" },
        })
    };
    let case = json!({
        "id": format!("{scenario}@stdio@2025-11-25"), "scenario": scenario, "transport": "stdio",
        "revision": "2025-11-25", "title": "A case.", "verdict": worst.unwrap_or("passed"),
        "checks": checks.iter().map(check).collect::<Vec<_>>(), "frames": [], "elapsed_ms": 100,
    });
    serde_json::from_value(case).expect("a case")
}

/// Writes the journal of a complete run, with evidence, and returns its directory.
pub(crate) fn journal<'d>(directory: &'d Path, cases: &[CaseResult]) -> &'d Path {
    let header = RunHeader {
        run_id: "run".to_owned(),
        kind: RunKind::Conformance,
        workbench: "0.1.0".to_owned(),
        started: "2026-07-28T10:11:12Z".to_owned(),
        subject: "client".to_owned(),
        seed: 42,
        planned: cases.len(),
        policy: Default::default(),
        profile: None,
        call_tools: Vec::new(),
    };
    let mut lines = vec![Line::first(header)];
    lines.extend(cases.iter().enumerate().map(|(index, result)| Line::Case {
        result: Box::new(result.clone()),
        index,
        evidence: json!({ "frames": [result.id] }),
    }));
    lines.push(Line::End { elapsed_ms: 5, baseline: None, tool_calls: Vec::new(), portability: Vec::new() });
    let text: String = lines.iter().map(|line| line.to_text().expect("a line")).collect();
    fs::create_dir_all(directory).expect("a directory");
    fs::write(directory.join("journal.jsonl"), text).expect("a file");
    directory
}
