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
    Line::End { elapsed_ms: 5_000, baseline: None }.to_text().unwrap()
}

fn scenarios(run: &Run) -> Vec<&str> {
    run.cases.iter().map(|case| case.scenario.as_str()).collect()
}

fn refused(journal: &str) -> String {
    read(journal.as_bytes()).unwrap_err().to_string()
}

#[test]
fn a_line_names_its_kind_first() {
    insta::assert_snapshot!(end().trim_end(), @r#"{"line":"end","elapsed_ms":5000}"#);
    assert!(case(0).starts_with(r#"{"line":"case","result":{"id":"area/case-0@stdio@2025-11-25""#));
}

#[test]
fn orders_cases_as_they_were_planned() {
    let run = read((first(3) + &case(2) + &case(0) + &case(1) + &end()).as_bytes()).unwrap();
    assert_eq!(scenarios(&run), ["area/case-0", "area/case-1", "area/case-2"]);
    assert!(run.complete);
    assert_eq!(run.elapsed_ms, 5_000);
}

#[test]
fn leaves_out_a_line_that_was_torn_by_a_kill() {
    let whole = first(2) + &case(0);
    let torn = case(1);
    // Wherever the write stopped, short of its line feed, the first case is kept.
    for cut in (1..torn.len() - 1).step_by(37) {
        let run = read((whole.clone() + &torn[..cut]).as_bytes()).unwrap();
        assert_eq!(scenarios(&run), ["area/case-0"], "cut at {cut}");
        assert!(!run.complete);
    }
}

#[test]
fn without_its_end_a_run_is_incomplete_and_as_long_as_its_longest_case() {
    let run = read((first(1) + &case(0)).as_bytes()).unwrap();
    assert!(!run.complete);
    assert_eq!(run.elapsed_ms, 1_204);
}

#[test]
fn an_end_before_every_planned_case_ended_is_incomplete() {
    assert!(!read((first(2) + &case(0) + &end()).as_bytes()).unwrap().complete);
}

#[test]
fn a_damaged_line_in_the_middle_is_an_error_with_its_place() {
    let error = read((first(2) + "{\"line\":\"case\",\"index\":0}\n" + &case(1)).as_bytes()).unwrap_err();
    assert!(matches!(error, ReadError::Damaged { line: 2, .. }), "{error}");
    insta::assert_snapshot!(error.source().unwrap(), @"missing field `result` at line 1 column 25");
}

#[test]
fn a_whole_last_line_that_is_damaged_is_an_error() {
    assert!(refused(&(first(1) + "garbage\n")).starts_with("line 2: not a line of a journal"));
}

#[test]
fn tells_a_foreign_file_from_a_newer_one() {
    insta::assert_snapshot!(refused("{\n  \"format\": 1\n}\n"), @"line 1: not the first line of a journal; expected a file of JSON lines that a run of the workbench wrote");
    insta::assert_snapshot!(refused("{\"line\":\"run\",\"format\":2,\"other\":1}\n"), @"line 1: a journal of format 2, but this workbench reads format 1; use the one that wrote it");
    insta::assert_snapshot!(refused(""), @"the journal has no whole first line: the run was stopped before it began; run it again");
    insta::assert_snapshot!(refused(&(case(0))), @"line 1: not the first line of a journal; expected a file of JSON lines that a run of the workbench wrote");
}

#[test]
fn refuses_two_runs_in_one_file() {
    insta::assert_snapshot!(refused(&(first(1) + &case(0) + &first(1))), @"line 3: a second beginning of a run; two runs may have written to the same file: give each run its own");
    assert!(refused(&(first(1) + &case(0) + &end() + &case(1))).contains("line 4: a line after the end"));
    assert!(refused(&(first(1) + &case(0) + &case(0))).contains("a second result of case number 0"));
}

#[test]
fn a_line_beyond_the_limit_is_refused_without_being_read_whole() {
    let limit = first(1).len() as u64;
    let mut endless = BufReader::with_capacity(64, io::repeat(b'x').take(1_000_000));
    let error = read_bounded(first(1).as_bytes().chain(&mut endless), limit).unwrap_err();
    assert!(matches!(error, ReadError::TooLong { line: 2, .. }), "{error}");
    assert!(endless.get_ref().limit() > 990_000, "it read on");
    assert!(read_bounded(first(1).as_bytes(), limit).is_ok());
}

#[test]
fn evidence_may_be_deeper_than_the_reader_of_json_goes() {
    let deep = "[".repeat(5_000) + &"]".repeat(5_000);
    let line = case(0).replace("{\"frames\":[1,2,3]}", &deep);
    assert!(serde_json::from_str::<Value>(&line).is_err(), "the fixture is not deep enough");
    assert_eq!(read((first(1) + &line + &end()).as_bytes()).unwrap().cases.len(), 1);
}
