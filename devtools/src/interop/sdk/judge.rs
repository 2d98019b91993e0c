//! Expected results of each step of a client with the profile `everything`. A missing step fails.

use std::collections::BTreeMap;

use anyhow::{Context as _, bail};
use serde::Deserialize;
use serde_json::{Value, json};

use super::{
    super::{axes::newest_revision, expect::Expect, outcome::Row},
    Era, Transport,
};

/// The report of a program: one line of JSON.
#[derive(Debug, Deserialize)]
struct Report {
    seen: BTreeMap<String, Value>,
    failed: BTreeMap<String, String>,
}

/// Judges a report.
///
/// # Errors
/// If the report is missing or contradicts the exit code.
pub(super) fn judge(report: &str, code: i32, era: Era, transport: Transport) -> anyhow::Result<Vec<Row>> {
    let last = report.lines().rfind(|line| !line.trim().is_empty()).context("the client printed no report")?;
    let report: Report = serde_json::from_str(last).context("the report of the client is invalid")?;
    if (code == 0) != report.failed.is_empty() {
        bail!("the client exited with code {code}, but reported {} failed steps", report.failed.len());
    }
    let steps = steps(era, transport);
    let mut rows: Vec<Row> =
        steps.iter().map(|(step, expect)| Row::new(step, mismatch(step, expect, &report))).collect();
    let unknown = report.seen.keys().chain(report.failed.keys());
    for step in unknown.filter(|step| !steps.iter().any(|(known, _)| known == step)) {
        rows.push(Row::new(step, Some("unknown step".to_owned())));
    }
    Ok(rows)
}

fn mismatch(step: &str, expect: &Expect, report: &Report) -> Option<String> {
    if let Some(failure) = report.failed.get(step) {
        return Some(failure.clone());
    }
    let Some(seen) = report.seen.get(step) else { return Some("the client did not execute this step".to_owned()) };
    expect.mismatch(seen)
}

/// The steps and their expected results.
fn steps(era: Era, transport: Transport) -> Vec<(&'static str, Expect)> {
    let revision = match (era, transport) {
        // HTTP+SSE is the transport of 2024-11-05, but the sides may negotiate a newer revision.
        (Era::Legacy, Transport::HttpSse) => Expect::OneOf(&["2024-11-05", "2025-03-26", "2025-06-18", "2025-11-25"]),
        _ => Expect::Exactly(newest_revision(era).into()),
    };
    let mut steps = vec![("connect", revision)];
    steps.extend(common_steps());
    steps.extend(match era {
        Era::Legacy => legacy_steps(),
        Era::Modern => modern_steps(),
    });
    steps.push(("close", Expect::Done));
    steps
}

fn common_steps() -> Vec<(&'static str, Expect)> {
    use Expect::{Exactly, Includes, Json};
    let error = json!({ "isError": true, "text": "This tool intentionally returns an error for testing" });
    vec![
        ("list-tools", Includes(TOOLS.to_vec())),
        ("call-text", Exactly("This is a simple text response for testing.".into())),
        ("call-structured", Exactly(json!({ "city": "Oslo", "temperature": 21.5, "conditions": "clear" }))),
        ("call-error", Exactly(error)),
        ("list-resources", Includes(vec!["test://static-text", "test://static-binary", "test://watched-resource"])),
        ("read-resource", Exactly("This is the content of the static text resource.".into())),
        ("read-blob", Exactly("image/png".into())),
        ("list-templates", Includes(vec!["test://template/{id}/data"])),
        ("read-template", Json(json!({ "id": "7", "templateTest": true, "data": "Data for ID: 7" }))),
        ("list-prompts", Includes(PROMPTS.to_vec())),
        ("get-prompt", Exactly("Prompt with arguments: arg1='hello', arg2='world'".into())),
        ("complete", Exactly(json!(["paris", "park", "party"]))),
        ("progress", Exactly(json!([0, 50, 100]))),
        ("roots", Exactly("Found 1 root(s)".into())),
        ("logging", Exactly(json!(["Tool execution started", "Tool processing data", "Tool execution completed"]))),
    ]
}

/// The steps in which the server sends requests during a call.
fn legacy_steps() -> Vec<(&'static str, Expect)> {
    let response = r#"User response: action=accept, content={"username":"ada","email":"ada@example.com"}"#;
    vec![
        ("elicitation", Expect::Exactly(response.into())),
        ("sampling", Expect::Exactly("LLM response: sampled by interop".into())),
        ("ping", Expect::Exactly(json!({}))),
    ]
}

/// The steps in which the server responds with `inputRequired`.
fn modern_steps() -> Vec<(&'static str, Expect)> {
    use Expect::Exactly;
    vec![
        ("elicitation", Exactly("Hello, Ada!".into())),
        ("sampling", Exactly("Sampling result: sampled by interop".into())),
        ("several-inputs", Exactly("Name: Ada; Greeting: sampled by interop; Roots: 1".into())),
        ("several-rounds", Exactly("Multi-round complete for Ada who likes teal".into())),
        ("list-changed", Exactly("told".into())),
    ]
}

const TOOLS: [&str; 14] = [
    "test_simple_text",
    "test_image_content",
    "test_audio_content",
    "test_embedded_resource",
    "test_multiple_content_types",
    "test_structured_content",
    "test_error_handling",
    "test_tool_with_logging",
    "test_tool_with_progress",
    "test_sampling",
    "test_elicitation",
    "test_reconnection",
    "test_list_roots",
    "json_schema_2020_12_tool",
];

const PROMPTS: [&str; 4] = [
    "test_simple_prompt",
    "test_prompt_with_arguments",
    "test_prompt_with_embedded_resource",
    "test_prompt_with_image",
];

#[cfg(test)]
mod tests {
    use serde_json::Map;

    use super::{super::super::outcome::CheckStatus, *};

    /// A report in which every step succeeded.
    fn complete_report(era: Era) -> Map<String, Value> {
        let value = |expect| match expect {
            Expect::Exactly(value) => value,
            Expect::Json(value) => Value::from(value.to_string()),
            Expect::Includes(names) => json!(names),
            Expect::OneOf(values) => json!(values[0]),
            Expect::Done => Value::Null,
            Expect::Contains(part) => Value::from(part),
        };
        steps(era, Transport::StreamableHttp)
            .into_iter()
            .map(|(step, expect)| (step.to_owned(), value(expect)))
            .collect()
    }

    fn failing(seen: &Map<String, Value>, failed: &Value) -> Vec<String> {
        let code = i32::from(failed.as_object().is_some_and(|failed| !failed.is_empty()));
        let report = format!("a line of a log\n{}\n", json!({ "sdk": "x", "seen": seen, "failed": failed }));
        let rows = judge(&report, code, Era::Legacy, Transport::StreamableHttp).unwrap();
        rows.into_iter().filter(|row| row.status == CheckStatus::Failed).map(|row| row.name).collect()
    }

    #[test]
    fn passes_a_complete_report() {
        assert_eq!(failing(&complete_report(Era::Legacy), &json!({})), [""; 0]);
    }

    #[test]
    fn fails_a_step_with_another_result() {
        for (step, seen) in [
            ("call-text", json!("This is another text.")),
            ("call-structured", json!({ "city": "Oslo" })),
            ("progress", json!([0, 50])),
            ("list-tools", json!(&TOOLS[1..])),
            ("list-prompts", json!([PROMPTS[0], PROMPTS[1], PROMPTS[2], PROMPTS[3], PROMPTS[3]])),
            ("read-template", json!("no JSON")),
            ("connect", json!("2024-11-05")),
            ("connect", json!(null)),
        ] {
            let mut report = complete_report(Era::Legacy);
            report.insert(step.to_owned(), seen);
            assert_eq!(failing(&report, &json!({})), [step]);
        }
    }

    #[test]
    fn fails_each_missing_step() {
        for step in complete_report(Era::Legacy).keys() {
            let mut report = complete_report(Era::Legacy);
            report.shift_remove(step);
            assert_eq!(failing(&report, &json!({})), [step.as_str()]);
        }
    }

    #[test]
    fn fails_a_failed_step_and_an_unknown_one() {
        let mut report = complete_report(Era::Legacy);
        report.shift_remove("sampling");
        report.insert("surprise".to_owned(), json!(1));
        assert_eq!(failing(&report, &json!({ "sampling": "Error: no" })), ["sampling", "surprise"]);
    }

    #[test]
    fn compares_numbers_by_value() {
        let mut report = complete_report(Era::Legacy);
        report.insert("progress".to_owned(), json!([0.0, 50.0, 100.0]));
        assert_eq!(failing(&report, &json!({})), [""; 0]);
    }

    #[test]
    fn rejects_a_client_that_crashed_or_contradicts_itself() {
        let report = json!({ "sdk": "x", "seen": complete_report(Era::Modern), "failed": {} }).to_string();
        for (report, code) in [("", 0), ("Segmentation fault", 139), (report.as_str(), 1)] {
            assert!(judge(report, code, Era::Modern, Transport::StreamableHttp).is_err(), "{report}");
        }
        assert!(judge(&report, 0, Era::Modern, Transport::StreamableHttp).is_ok());
    }
}
