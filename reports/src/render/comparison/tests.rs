use super::*;
use crate::comparison::Tolerance;
use crate::model::{Run, Verdict};
use crate::{render::Style, sample};

/// Two runs between which a check broke, one was fixed, a load test became slower, and cases came and went.
fn runs() -> (Run, Run) {
    let mut old = sample::run(vec![
        sample::case("tools/breaks", Verdict::Passed),
        sample::case("tools/mended", Verdict::Failed),
        sample::case("tools/old", Verdict::Passed),
        sample::case("tools/same", Verdict::Warned),
    ]);
    let mut new = sample::run(vec![
        sample::case("tools/breaks", Verdict::Failed),
        sample::case("tools/mended", Verdict::Passed),
        sample::case("tools/same", Verdict::Warned),
        sample::case("tools/new", Verdict::Passed),
    ]);
    (old.loads, new.loads) = (vec![sample::load()], vec![sample::load()]);
    if let Some(latency) = &mut new.loads[0].latency {
        latency.p99_us = 40_000;
    }
    new.header.workbench = "0.2.0".to_owned();
    new.complete = false;
    (old, new)
}

fn comparison() -> Comparison {
    let (old, new) = runs();
    Comparison::between(&old, &new, Tolerance::default())
}

#[test]
fn a_comparison_names_what_broke() {
    insta::assert_snapshot!("terminal", terminal(&comparison(), &Style::default()));
    insta::assert_snapshot!("markdown", markdown(&comparison()));
}

#[test]
fn hostile_names_are_inert() {
    let (old, mut new) = runs();
    new.cases[0].checks[0].observed = "<img src=x>\u{1b}[31m | @all".to_owned();
    new.header.subject = "\u{1b}]0;x\u{7}<b>".to_owned();
    let mut extra = sample::case("tools/x", Verdict::Failed);
    extra.id = "`|</details>\u{202e}".to_owned();
    new.cases.push(extra);
    let comparison = Comparison::between(&old, &new, Tolerance::default());
    for text in [terminal(&comparison, &Style::default()), markdown(&comparison)] {
        assert!(!text.contains(['\u{1b}', '\u{7}', '\u{202e}']), "{text}");
    }
    let markdown = markdown(&comparison);
    assert!(!markdown.contains("<img") && !markdown.contains("<b>:"), "{markdown}");
    assert!(markdown.contains("`'\\|</details>\\u{202e}`"), "inside of code: {markdown}");
}

#[test]
fn a_long_comparison_fits_into_a_comment() {
    let cases = |verdict| {
        let case = |number: usize| {
            let mut case = sample::case(&format!("tools/{number}"), verdict);
            case.checks[0].observed = "<".repeat(1_000);
            case
        };
        sample::run((0..1_000).map(case).collect())
    };
    let long = Comparison::between(&cases(Verdict::Passed), &cases(Verdict::Failed), Tolerance::default());
    let text = markdown(&long);
    assert!(text.chars().count() <= 65_000);
    assert!(text.contains(" more are in the JSON output.") && text.ends_with("</details>\n"), "{text}");
    assert_eq!(terminal(&long, &Style::default()).matches("broken  tools/").count(), MAX_CHANGES);
}
