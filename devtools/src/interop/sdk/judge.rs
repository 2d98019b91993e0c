//! What a client has to have seen of the profile `everything`, step by step. A step that it did not take has failed.

use std::collections::BTreeMap;

use anyhow::{Context as _, bail};
use serde::Deserialize;
use serde_json::{Value, json};

use super::{
    super::{expect::Expect, outcome::Row},
    Era, Transport,
};

/// What a program prints, on one line.
#[derive(Debug, Deserialize)]
struct Report {
    seen: BTreeMap<String, Value>,
    failed: BTreeMap<String, String>,
}

/// Judges a report.
///
/// # Errors
/// If the program has left none, or its exit code says something else.
pub(super) fn judge(report: &str, code: i32, era: Era, transport: Transport) -> anyhow::Result<Vec<Row>> {
    let last = report.lines().rfind(|line| !line.trim().is_empty()).context("the client has reported nothing")?;
    let report: Report = serde_json::from_str(last).context("the client's report is not understood")?;
    if (code == 0) != report.failed.is_empty() {
        bail!("the client ended with exit code {code}, with {} failed steps", report.failed.len());
    }
    let steps = steps(era, transport);
    let mut rows: Vec<Row> =
        steps.iter().map(|(step, expect)| Row::of(step, objection(step, expect, &report))).collect();
    let unknown = report.seen.keys().chain(report.failed.keys());
    for step in unknown.filter(|step| !steps.iter().any(|(known, _)| known == step)) {
        rows.push(Row::of(step, Some("nobody knows what this step should have seen".to_owned())));
    }
    Ok(rows)
}

fn objection(step: &str, expect: &Expect, report: &Report) -> Option<String> {
    if let Some(failure) = report.failed.get(step) {
        return Some(failure.clone());
    }
    let Some(seen) = report.seen.get(step) else { return Some("the client has not taken this step".to_owned()) };
    expect.objection(seen)
}

/// The steps, and what the profile answers to the programs' questions.
fn steps(era: Era, transport: Transport) -> Vec<(&'static str, Expect)> {
    let revision = match (era, transport) {
        // The transport is that of 2024-11-05; which handshake is spoken over it is for both sides to agree on.
        (Era::Legacy, Transport::Sse) => Expect::OneOf(&["2024-11-05", "2025-03-26", "2025-06-18", "2025-11-25"]),
        _ => Expect::Exactly(era.revision().into()),
    };
    let mut steps = vec![("connect", revision)];
    steps.extend(of_both());
    steps.extend(match era {
        Era::Legacy => of_legacy(),
        Era::Modern => of_modern(),
    });
    steps.push(("close", Expect::Done));
    steps
}

fn of_both() -> Vec<(&'static str, Expect)> {
    use Expect::{Among, Exactly, Json};
    let error = json!({ "isError": true, "text": "This tool intentionally returns an error for testing" });
    vec![
        ("list-tools", Among(TOOLS.to_vec())),
        ("call-text", Exactly("This is a simple text response for testing.".into())),
        ("call-structured", Exactly(json!({ "city": "Oslo", "temperature": 21.5, "conditions": "clear" }))),
        ("call-error", Exactly(error)),
        ("list-resources", Among(vec!["test://static-text", "test://static-binary", "test://watched-resource"])),
        ("read-resource", Exactly("This is the content of the static text resource.".into())),
        ("read-blob", Exactly("image/png".into())),
        ("list-templates", Among(vec!["test://template/{id}/data"])),
        ("read-template", Json(json!({ "id": "7", "templateTest": true, "data": "Data for ID: 7" }))),
        ("list-prompts", Among(PROMPTS.to_vec())),
        ("get-prompt", Exactly("Prompt with arguments: arg1='hello', arg2='world'".into())),
        ("complete", Exactly(json!(["paris", "park", "party"]))),
        ("progress", Exactly(json!([0, 50, 100]))),
        ("roots", Exactly("Found 1 root(s)".into())),
        ("logging", Exactly(json!(["Tool execution started", "Tool processing data", "Tool execution completed"]))),
    ]
}

/// What asks the client something while a call goes on.
fn of_legacy() -> Vec<(&'static str, Expect)> {
    let answer = r#"User response: action=accept, content={"username":"ada","email":"ada@example.com"}"#;
    vec![
        ("elicitation", Expect::Exactly(answer.into())),
        ("sampling", Expect::Exactly("LLM response: sampled by interop".into())),
        ("ping", Expect::Exactly(json!({}))),
    ]
}

/// What asks the client something by answering that input is required.
fn of_modern() -> Vec<(&'static str, Expect)> {
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

    use super::{super::super::outcome::Verdict, *};

    /// A report in which every step saw what it should.
    fn perfect(era: Era) -> Map<String, Value> {
        let value = |expect| match expect {
            Expect::Exactly(value) => value,
            Expect::Json(value) => Value::from(value.to_string()),
            Expect::Among(names) => json!(names),
            Expect::OneOf(values) => json!(values[0]),
            Expect::Done => Value::Null,
            Expect::Holding(part) => Value::from(part),
        };
        steps(era, Transport::Http).into_iter().map(|(step, expect)| (step.to_owned(), value(expect))).collect()
    }

    fn failing(seen: &Map<String, Value>, failed: &Value) -> Vec<String> {
        let code = i32::from(failed.as_object().is_some_and(|failed| !failed.is_empty()));
        let report = format!("a line of a log\n{}\n", json!({ "sdk": "x", "seen": seen, "failed": failed }));
        let rows = judge(&report, code, Era::Legacy, Transport::Http).unwrap();
        rows.into_iter().filter(|row| row.verdict == Verdict::Failed).map(|row| row.name).collect()
    }

    #[test]
    fn passes_who_saw_everything() {
        assert_eq!(failing(&perfect(Era::Legacy), &json!({})), [""; 0]);
    }

    #[test]
    fn fails_a_step_that_saw_something_else() {
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
            let mut report = perfect(Era::Legacy);
            report.insert(step.to_owned(), seen);
            assert_eq!(failing(&report, &json!({})), [step]);
        }
    }

    #[test]
    fn fails_each_step_that_was_silently_skipped() {
        for step in perfect(Era::Legacy).keys() {
            let mut report = perfect(Era::Legacy);
            report.shift_remove(step);
            assert_eq!(failing(&report, &json!({})), [step.as_str()]);
        }
    }

    #[test]
    fn fails_a_step_that_threw_and_one_that_nobody_knows() {
        let mut report = perfect(Era::Legacy);
        report.shift_remove("sampling");
        report.insert("surprise".to_owned(), json!(1));
        assert_eq!(failing(&report, &json!({ "sampling": "Error: no" })), ["sampling", "surprise"]);
    }

    #[test]
    fn takes_whole_numbers_for_what_they_are() {
        let mut report = perfect(Era::Legacy);
        report.insert("progress".to_owned(), json!([0.0, 50.0, 100.0]));
        assert_eq!(failing(&report, &json!({})), [""; 0]);
    }

    #[test]
    fn refuses_a_client_that_crashed_or_contradicts_itself() {
        let perfect = json!({ "sdk": "x", "seen": perfect(Era::Modern), "failed": {} }).to_string();
        for (report, code) in [("", 0), ("Segmentation fault", 139), (perfect.as_str(), 1)] {
            assert!(judge(report, code, Era::Modern, Transport::Http).is_err(), "{report}");
        }
        assert!(judge(&perfect, 0, Era::Modern, Transport::Http).is_ok());
    }
}
