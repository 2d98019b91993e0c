use super::*;

fn checks(checks: &[(&str, &str)]) -> String {
    let list = checks.iter().map(|(id, status)| {
        format!(
            r#"{{"id":"{id}","name":"N","description":"d","status":"{status}","timestamp":"t","errorMessage":"why"}}"#
        )
    });
    format!("[{}]", list.collect::<Vec<_>>().join(","))
}

fn verdict(scenario: &str, list: &[(&str, &str)]) -> Verdict {
    judge(scenario, &checks(list)).verdict
}

#[test]
fn passes_what_succeeded() {
    let row = judge("ping", &checks(&[("ping", "SUCCESS"), (WIRE, "SUCCESS"), ("x", "INFO")]));
    assert_eq!((row.verdict, row.passed, row.failed, row.warned, row.reason), (Verdict::Passed, 2, 0, 0, None));
}

#[test]
fn fails_what_failed_warned_or_was_skipped_and_says_why() {
    for (status, reason) in [("FAILURE", "b failed: why"), ("WARNING", "b warned: why"), ("SKIPPED", "b skipped: why")]
    {
        let row = judge("ping", &checks(&[("a", "SUCCESS"), ("b", status)]));
        assert_eq!((row.verdict, row.reason.as_deref()), (Verdict::Failed, Some(reason)));
    }
}

#[test]
fn fails_what_has_shown_nothing() {
    assert_eq!(verdict("ping", &[]), Verdict::Failed);
    assert_eq!(verdict("ping", &[("a", "INFO")]), Verdict::Failed);
    // Nothing that came back is valid too.
    assert_eq!(verdict("ping", &[(WIRE, "SUCCESS")]), Verdict::Failed);
}

#[test]
fn fails_what_the_suite_only_informs_about() {
    let (scenario, check) = REQUIRED[0];
    assert_eq!(verdict(scenario, &[("server-sse-priming-event", "SUCCESS"), (check, "INFO")]), Verdict::Failed);
    assert_eq!(verdict(scenario, &[("server-sse-priming-event", "SUCCESS"), (check, "SUCCESS")]), Verdict::Passed);
}

#[test]
fn calls_untestable_only_what_the_suite_never_tries() {
    assert_eq!(verdict(NEVER_TRIED[0], &[("a", "SKIPPED")]), Verdict::Untestable);
    assert_eq!(verdict(NEVER_TRIED[0], &[("a", "SKIPPED"), ("b", "FAILURE")]), Verdict::Failed);
    assert_eq!(verdict(NEVER_TRIED[0], &[]), Verdict::Failed);
    assert_eq!(verdict("ping", &[("a", "SKIPPED")]), Verdict::Failed);
}

#[test]
fn fails_what_it_does_not_understand() {
    for text in ["", "{}", r#"[{"id":"a","status":"PERHAPS"}]"#, r#"[{"status":"SUCCESS"}]"#] {
        assert_eq!(judge("ping", text).verdict, Verdict::Failed, "{text}");
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
    let folder = tempfile::tempdir().unwrap();
    for (scenario, text) in [("passes", Some(checks(&[("a", "SUCCESS")]))), ("crashes", None)] {
        let path = folder.path().join(format!("server-{scenario}-2026-11-22T02-53-33-310Z"));
        fs::create_dir(&path).unwrap();
        if let Some(text) = text {
            fs::write(path.join("checks.json"), text).unwrap();
        }
    }
    let expected = ["passes", "crashes", "never-ran"]
        .map(|scenario| Expected { scenario: scenario.to_owned(), kind: "scored".to_owned() });
    let rows = judge_folder(folder.path(), Prefix::Server, expected.to_vec()).unwrap();
    let verdicts: Vec<_> = rows.iter().map(|row| row.verdict).collect();
    assert_eq!(verdicts, [Verdict::Passed, Verdict::Failed, Verdict::Failed]);
    assert!(rows[1].reason.as_deref().unwrap().contains("crashed"));
    assert!(rows[2].reason.as_deref().unwrap().contains("not run"));
    assert!(judge_folder(&folder.path().join("nowhere"), Prefix::Server, vec![]).is_err());
}

#[test]
fn a_server_without_fixtures_is_not_blamed_for_them() {
    let folder = tempfile::tempdir().unwrap();
    let judged = |checks: &str| {
        let place = folder.path().join("server-ping-2026-11-22T02-53-33-156Z");
        fs::create_dir_all(&place).unwrap();
        fs::write(place.join("checks.json"), checks).unwrap();
        let expected = vec![Expected { scenario: "ping".to_owned(), kind: "generic".to_owned() }];
        judge_without_fixtures(folder.path(), expected).unwrap().remove(0).verdict
    };
    let good = r#"{"id":"a","status":"SUCCESS"}"#;
    let untestable = r#"{"id":"b","status":"FAILURE","details":{"untestable":true}}"#;
    let skipped = r#"{"id":"c","status":"SKIPPED"}"#;
    let failed = r#"{"id":"d","status":"FAILURE","details":{"untestable":false}}"#;
    assert_eq!(judged(&format!("[{good},{untestable},{skipped}]")), Verdict::Passed);
    assert_eq!(judged(&format!("[{good},{failed}]")), Verdict::Failed);
    // What is left has to show something.
    assert_eq!(judged(&format!("[{untestable},{skipped}]")), Verdict::Failed);
    assert_eq!(judged("nothing"), Verdict::Failed);
}
