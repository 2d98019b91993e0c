use std::error::Error as _;
use std::io::{self, BufReader, Read};

use serde_json::{Value, json};

use super::read::read_bounded;
use super::*;
use crate::model::{Run, Verdict};
use crate::sample;

fn first(planned: usize) -> String {
    Line::first(sample::header(planned)).to_text().unwrap()
}

fn case(index: usize) -> String {
    let result = Box::new(sample::case(&format!("area/case-{index}"), Verdict::Passed));
    Line::Case { result, index, evidence: json!({"frames": [1, 2, 3]}) }.to_text().unwrap()
}

fn end() -> String {
    Line::End { elapsed_ms: 5_000, baseline: None, tool_calls: Vec::new(), portability: Vec::new() }.to_text().unwrap()
}

fn scenarios(run: &Run) -> Vec<&str> {
    run.cases.iter().map(|case| case.scenario.as_str()).collect()
}

fn error_of(journal: &str) -> String {
    read(journal.as_bytes()).unwrap_err().to_string()
}

#[test]
fn a_line_names_its_kind_first() {
    insta::assert_snapshot!(end().trim_end(), @r#"{"line":"end","elapsed_ms":5000}"#);
    assert!(case(0).starts_with(r#"{"line":"case","result":{"id":"area/case-0@stdio@2025-11-25""#));
}

#[test]
fn the_line_of_a_case_is_the_same_from_borrowed_evidence() {
    let result = sample::case("area/case-3", Verdict::Passed);
    let line = case_line(3, &result, &json!({"frames": [1, 2, 3]})).unwrap();
    assert_eq!(String::from_utf8(line).unwrap(), case(3));
}

#[test]
fn orders_cases_as_they_were_planned() {
    let run = read((first(3) + &case(2) + &case(0) + &case(1) + &end()).as_bytes()).unwrap();
    assert_eq!(scenarios(&run), ["area/case-0", "area/case-1", "area/case-2"]);
    assert!(run.complete);
    assert_eq!(run.elapsed_ms, 5_000);
}

#[test]
fn skips_a_last_line_that_was_written_partially() {
    let complete = first(2) + &case(0);
    let torn = case(1);
    for cut in (1..torn.len() - 1).step_by(37) {
        let run = read((complete.clone() + &torn[..cut]).as_bytes()).unwrap();
        assert_eq!(scenarios(&run), ["area/case-0"], "cut at {cut}");
        assert!(!run.complete);
    }
}

#[test]
fn without_an_end_line_a_run_is_incomplete_and_as_long_as_its_longest_case() {
    let run = read((first(1) + &case(0)).as_bytes()).unwrap();
    assert!(!run.complete);
    assert_eq!(run.elapsed_ms, 1_204);
}

#[test]
fn an_end_line_before_all_planned_cases_is_incomplete() {
    assert!(!read((first(2) + &case(0) + &end()).as_bytes()).unwrap().complete);
}

#[test]
fn a_damaged_line_in_the_middle_is_an_error_with_its_location() {
    let error = read((first(2) + "{\"line\":\"case\",\"index\":0}\n" + &case(1)).as_bytes()).unwrap_err();
    assert!(matches!(error, ReadError::Damaged { line: 2, .. }), "{error}");
    insta::assert_snapshot!(error.source().unwrap(), @"missing field `result` at line 1 column 25");
}

#[test]
fn a_complete_last_line_that_is_damaged_is_an_error() {
    assert!(error_of(&(first(1) + "garbage\n")).starts_with("line 2: the file is damaged"));
}

#[test]
fn distinguishes_a_foreign_file_from_a_newer_one() {
    insta::assert_snapshot!(error_of("{\n  \"format\": 1\n}\n"), @"line 1: not the first line of a journal; expected the `journal.jsonl` of a run");
    insta::assert_snapshot!(error_of("{\"line\":\"run\",\"format\":2,\"other\":1}\n"), @"line 1: the journal has format 2, but this version of mcp-workbench reads format 1; use the version that wrote it");
    insta::assert_snapshot!(error_of(""), @"the journal has no complete first line: the run stopped before it started; run it again");
    insta::assert_snapshot!(error_of(&(case(0))), @"line 1: not the first line of a journal; expected the `journal.jsonl` of a run");
}

#[test]
fn rejects_two_runs_in_one_file() {
    insta::assert_snapshot!(error_of(&(first(1) + &case(0) + &first(1))), @"line 3: a second first line of a run; two runs may have written to the same file: give each run its own");
    assert!(error_of(&(first(1) + &case(0) + &end() + &case(1))).contains("line 4: a line after the last line"));
    assert!(error_of(&(first(1) + &case(0) + &case(0))).contains("a second result of case number 0"));
}

#[test]
fn rejects_a_line_over_the_limit_without_reading_all_of_it() {
    let limit = first(1).len() as u64;
    let mut endless = BufReader::with_capacity(64, io::repeat(b'x').take(1_000_000));
    let error = read_bounded(first(1).as_bytes().chain(&mut endless), limit).unwrap_err();
    assert!(matches!(error, ReadError::TooLong { line: 2, .. }), "{error}");
    assert!(endless.get_ref().limit() > 990_000, "it continued to read");
    assert!(read_bounded(first(1).as_bytes(), limit).is_ok());
}

#[test]
fn evidence_may_be_nested_deeper_than_the_json_parser_allows() {
    let deep = "[".repeat(5_000) + &"]".repeat(5_000);
    let line = case(0).replace("{\"frames\":[1,2,3]}", &deep);
    assert!(serde_json::from_str::<Value>(&line).is_err(), "the fixture is not deep enough");
    assert_eq!(read((first(1) + &line + &end()).as_bytes()).unwrap().cases.len(), 1);
}

mod merging {
    use super::*;

    /// A journal of cases with these names.
    fn shard(names: &[&str]) -> String {
        let mut text = first(names.len());
        for (index, name) in names.iter().enumerate() {
            let result = Box::new(sample::case(&format!("area/{name}"), Verdict::Passed));
            text += &Line::Case { result, index, evidence: json!({ "frames": [name] }) }.to_text().unwrap();
        }
        text + &end()
    }

    fn merged(shards: &[String], replace: bool) -> Result<(String, Run), MergeError> {
        let runs = shards.iter().map(|shard| read(shard.as_bytes()).unwrap()).collect();
        let mut out = Vec::new();
        Merge::new(runs, replace)?.write(|position| Ok(shards[position].as_bytes()), &mut out)?;
        let text = String::from_utf8(out).unwrap();
        let run = read(text.as_bytes()).unwrap();
        Ok((text, run))
    }

    #[test]
    fn a_merged_journal_has_the_cases_and_the_evidence_of_all() {
        let (text, run) = merged(&[shard(&["one", "two"]), shard(&["three"])], false).unwrap();
        assert_eq!(scenarios(&run), ["area/one", "area/two", "area/three"]);
        assert!(run.complete && run.header.planned == 3 && run.elapsed_ms == 10_000);
        for name in ["one", "two", "three"] {
            assert!(text.contains(&format!("\"evidence\":{{\"frames\":[\"{name}\"]}}")), "{text}");
        }
    }

    #[test]
    fn a_case_of_two_runs_is_an_error_that_names_it() {
        let error = merged(&[shard(&["one", "two"]), shard(&["two"])], false).unwrap_err();
        insta::assert_snapshot!(error, @"runs 1 and 2 both have the case area/two@stdio@2025-11-25");
    }

    #[test]
    fn with_replace_the_later_run_wins() {
        let later = shard(&["one"]).replace("\"frames\":[\"one\"]", "\"frames\":[\"again\"]");
        let (text, run) = merged(&[shard(&["one", "two"]), later], true).unwrap();
        assert_eq!(scenarios(&run), ["area/one", "area/two"]);
        assert!(run.complete && run.header.planned == 2);
        assert!(text.contains("\"again\"") && !text.contains("[\"one\"]"), "{text}");
    }

    #[test]
    fn an_interrupted_run_makes_the_merged_run_incomplete_unless_it_was_replaced() {
        let interrupted = first(2) + &case(0);
        let (_, run) = merged(&[interrupted.clone(), shard(&["other"])], false).unwrap();
        assert!(!run.complete && run.header.planned == 3);
        let (_, run) = merged(&[interrupted, shard(&["case-0", "case-1"])], true).unwrap();
        assert!(run.complete && run.header.planned == 2);
    }

    #[test]
    fn deep_evidence_is_copied() {
        let deep = "[".repeat(5_000) + &"]".repeat(5_000);
        let journal = shard(&["one"]).replace("{\"frames\":[\"one\"]}", &deep);
        assert!(merged(&[journal], false).unwrap().0.contains(&deep));
    }

    #[test]
    fn runs_with_other_rules_are_not_merged() {
        let strict = shard(&["two"]).replace("\"planned\":1", "\"planned\":1,\"policy\":{\"fail_on_warnings\":true}");
        assert!(matches!(merged(&[shard(&["one"]), strict], false), Err(MergeError::Policy { run: 2 })));
        let bench = shard(&["two"]).replace("\"kind\":\"conformance\"", "\"kind\":\"bench\"");
        assert!(matches!(merged(&[shard(&["one"]), bench], false), Err(MergeError::Kind { run: 2 })));
        assert!(matches!(merged(&[], false), Err(MergeError::Empty)));
    }
}
