use super::*;

fn checks(checks: &[(&str, &str)]) -> String {
    let list = checks.iter().map(|(id, status)| {
        format!(
            r#"{{"id":"{id}","name":"N","description":"d","status":"{status}","timestamp":"t","errorMessage":"why"}}"#
        )
    });
    format!("[{}]", list.collect::<Vec<_>>().join(","))
}

fn status(scenario: &str, list: &[(&str, &str)]) -> CheckStatus {
    judge(scenario, &checks(list)).status
}

#[test]
fn passes_a_scenario_whose_checks_succeeded() {
    let row = judge("ping", &checks(&[("ping", "SUCCESS"), (SCHEMA_CHECK, "SUCCESS"), ("x", "INFO")]));
    assert_eq!((row.status, row.passed, row.failed, row.warned, row.reason), (CheckStatus::Passed, 2, 0, 0, None));
}

#[test]
fn fails_a_scenario_with_a_failed_warned_or_skipped_check() {
    for (status, reason) in [("FAILURE", "b failed: why"), ("WARNING", "b warned: why"), ("SKIPPED", "b skipped: why")]
    {
        let row = judge("ping", &checks(&[("a", "SUCCESS"), ("b", status)]));
        assert_eq!((row.status, row.reason.as_deref()), (CheckStatus::Failed, Some(reason)));
    }
}

#[test]
fn fails_a_scenario_without_a_successful_check() {
    assert_eq!(status("ping", &[]), CheckStatus::Failed);
    assert_eq!(status("ping", &[("a", "INFO")]), CheckStatus::Failed);
    // The absence of messages is valid too.
    assert_eq!(status("ping", &[(SCHEMA_CHECK, "SUCCESS")]), CheckStatus::Failed);
}

#[test]
fn fails_a_required_check_that_the_suite_only_informs_about() {
    let (scenario, check) = REQUIRED[0];
    assert_eq!(status(scenario, &[("server-sse-priming-event", "SUCCESS"), (check, "INFO")]), CheckStatus::Failed);
    assert_eq!(status(scenario, &[("server-sse-priming-event", "SUCCESS"), (check, "SUCCESS")]), CheckStatus::Passed);
}

#[test]
fn only_scenarios_that_the_suite_never_executes_are_untestable() {
    assert_eq!(status(NEVER_EXECUTED[0], &[("a", "SKIPPED")]), CheckStatus::Untestable);
    assert_eq!(status(NEVER_EXECUTED[0], &[("a", "SKIPPED"), ("b", "FAILURE")]), CheckStatus::Failed);
    assert_eq!(status(NEVER_EXECUTED[0], &[]), CheckStatus::Failed);
    assert_eq!(status("ping", &[("a", "SKIPPED")]), CheckStatus::Failed);
}

#[test]
fn fails_invalid_checks() {
    for text in ["", "{}", r#"[{"id":"a","status":"PERHAPS"}]"#, r#"[{"status":"SUCCESS"}]"#] {
        assert_eq!(judge("ping", text).status, CheckStatus::Failed, "{text}");
    }
}

#[test]
fn reads_the_scenario_from_the_name_of_its_folder() {
    let name = "server-server-sse-polling-2026-11-22T02-53-33-310Z";
    assert_eq!(scenario_of(name, Prefix::Server), Some("server-sse-polling"));
    let name = "authorization-server-authorization-code-grant-2026-11-22T02-53-33-310Z";
    assert_eq!(scenario_of(name, Prefix::Authorization), Some("authorization-code-grant"));
    for other in [
        "",
        "server-x",
        "client-ping-2026-11-22T02-53-33-310Z",
        "server-ping-2026-11-22T02-53-33-31xZ",
        "server-ping-2026-11-22 02-53-33-310Z",
    ] {
        assert_eq!(scenario_of(other, Prefix::Server), None, "{other}");
    }
}

#[test]
fn fails_scenarios_that_did_not_run_or_crashed() {
    let directory = tempfile::tempdir().unwrap();
    for (scenario, text) in [("passes", Some(checks(&[("a", "SUCCESS")]))), ("crashes", None)] {
        let path = directory.path().join(format!("server-{scenario}-2026-11-22T02-53-33-310Z"));
        fs::create_dir(&path).unwrap();
        if let Some(text) = text {
            fs::write(path.join("checks.json"), text).unwrap();
        }
    }
    let expected = ["passes", "crashes", "never-ran"]
        .map(|scenario| Expected { scenario: scenario.to_owned(), kind: "scored".to_owned() });
    let rows = judge_results(directory.path(), Prefix::Server, expected.to_vec()).unwrap();
    let statuses: Vec<_> = rows.iter().map(|row| row.status).collect();
    assert_eq!(statuses, [CheckStatus::Passed, CheckStatus::Failed, CheckStatus::Failed]);
    assert!(rows[1].reason.as_deref().unwrap().contains("crashed"));
    assert!(rows[2].reason.as_deref().unwrap().contains("not run"));
    assert!(judge_results(&directory.path().join("nowhere"), Prefix::Server, vec![]).is_err());
}

#[test]
fn missing_fixtures_do_not_fail_a_server() {
    let directory = tempfile::tempdir().unwrap();
    let judged = |checks: &str| {
        let path = directory.path().join("server-ping-2026-11-22T02-53-33-156Z");
        fs::create_dir_all(&path).unwrap();
        fs::write(path.join("checks.json"), checks).unwrap();
        let expected = vec![Expected { scenario: "ping".to_owned(), kind: "generic".to_owned() }];
        judge_without_fixtures(directory.path(), expected).unwrap().remove(0).status
    };
    let good = r#"{"id":"a","status":"SUCCESS"}"#;
    let untestable = r#"{"id":"b","status":"FAILURE","details":{"untestable":true}}"#;
    let skipped = r#"{"id":"c","status":"SKIPPED"}"#;
    let failed = r#"{"id":"d","status":"FAILURE","details":{"untestable":false}}"#;
    assert_eq!(judged(&format!("[{good},{untestable},{skipped}]")), CheckStatus::Passed);
    assert_eq!(judged(&format!("[{good},{failed}]")), CheckStatus::Failed);
    // One of the remaining checks has to succeed.
    assert_eq!(judged(&format!("[{untestable},{skipped}]")), CheckStatus::Failed);
    assert_eq!(judged("nothing"), CheckStatus::Failed);
}
