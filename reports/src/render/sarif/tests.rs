use serde_json::Value;

use super::*;
use crate::sample;

/// The definitions that the report uses, from the schema of the specification.
const SCHEMA: &str = include_str!("sarif-2.1.0.schema.json");

fn rendered(run: &Run) -> Value {
    serde_json::from_str(&Sarif.render(run, &Style::default()).unwrap()).unwrap()
}

fn assert_valid(log: &Value) {
    let schema = jsonschema::validator_for(&serde_json::from_str(SCHEMA).unwrap()).unwrap();
    let errors: Vec<String> =
        schema.iter_errors(log).map(|error| format!("{}: {error}", error.instance_path())).collect();
    assert!(errors.is_empty(), "{errors:#?}");
}

#[test]
fn the_log_is_valid_against_the_schema_of_the_specification() {
    let mut log = rendered(&sample::everything());
    assert_valid(&log);
    let schema = jsonschema::validator_for(&serde_json::from_str(SCHEMA).unwrap()).unwrap();
    log["runs"][0]["results"][0]["level"] = "fatal".into();
    assert!(!schema.is_valid(&log));
}

#[test]
fn each_result_names_its_rule() {
    let log = rendered(&sample::everything());
    let run = &log["runs"][0];
    let rules = run["tool"]["driver"]["rules"].as_array().unwrap();
    let results = run["results"].as_array().unwrap();
    assert_eq!(rules.len(), 2, "the requirement and the thresholds: {rules:#?}");
    // One failed threshold, and the failed, blocked, known and both warned checks.
    assert_eq!(results.len(), 6);
    for result in results {
        let rule = &rules[usize::try_from(result["ruleIndex"].as_u64().unwrap()).unwrap()];
        assert_eq!(rule["id"], result["ruleId"]);
    }
    let known = results.iter().find(|result| result["suppressions"] != Value::Null).unwrap();
    assert_eq!(known["level"], "note");
    let notes = run["invocations"][0]["toolExecutionNotifications"].as_array().unwrap();
    assert_eq!(notes.len(), 2, "an interruption and a stale baseline entry");
    assert_eq!(run["invocations"][0]["executionSuccessful"], false);
}

#[test]
fn a_fingerprint_depends_on_the_case_and_the_check_only() {
    let fingerprint = |case: CaseResult| {
        let log = rendered(&sample::run(vec![case]));
        log["runs"][0]["results"][0]["partialFingerprints"][FINGERPRINT].as_str().unwrap().to_owned()
    };
    let first = fingerprint(sample::case("tools/one", Verdict::Failed));
    let mut again = sample::case("tools/one", Verdict::Blocked);
    again.checks[0].observed = "something else".to_owned();
    again.checks[0].frames = vec![7];
    assert_eq!(fingerprint(again), first);
    assert_ne!(fingerprint(sample::case("tools/two", Verdict::Failed)), first);
    let mut other = sample::case("tools/one", Verdict::Failed);
    other.checks[0].id = "other".to_owned();
    assert_ne!(fingerprint(other), first);
}

#[test]
fn hostile_text_is_neither_a_link_nor_a_path() {
    let mut case = sample::case("../../etc/passwd?x#y:z", Verdict::Failed);
    case.checks[0].observed = "[click](http://evil.example) {0} \\ \u{1b}[31m".to_owned();
    case.checks[0].requirement.url = "javascript:alert(1)".to_owned();
    let log = rendered(&sample::run(vec![case]));
    assert_valid(&log);
    let run = &log["runs"][0];
    let text = run["results"][0]["message"]["text"].as_str().unwrap();
    assert!(text.ends_with(r"\[click\](http://evil.example) {{0}} \\ \\u{{1b}}\[31m"), "{text}");
    let location = &run["results"][0]["locations"][0]["physicalLocation"]["artifactLocation"]["uri"];
    assert_eq!(location, "%2E%2E/%2E%2E/etc/passwd%3Fx%23y%3Az.yaml");
    assert_eq!(run["tool"]["driver"]["rules"][0]["helpUri"], Value::Null);
}

#[test]
fn the_most_severe_results_are_kept() {
    let case = |number: usize, verdict| sample::case(&format!("tools/{number}"), verdict);
    let cases = (0..4).map(|number| case(number, if number == 3 { Verdict::Failed } else { Verdict::Warned }));
    let log = serde_json::to_value(log_of(&sample::run(cases.collect()), 2)).unwrap();
    let results = log["runs"][0]["results"].as_array().unwrap();
    assert_eq!(results.len(), 2);
    assert_eq!(results[0]["level"], "error");
    let note = &log["runs"][0]["invocations"][0]["toolExecutionNotifications"][0]["message"]["text"];
    assert!(note.as_str().unwrap().starts_with("2 less severe results were omitted"), "{note}");
}
