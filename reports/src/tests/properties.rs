//! Properties of any run, with any input from a server.

use proptest::prelude::*;
use serde_json::{Value, json};

use crate::journal::{self, Line};
use crate::model::{BaselineState, CaseResult, ReportFrame, Run, Verdict};
use crate::render::{
    FORMATS, Format as _, Style, Verbosity,
    github::Github,
    json::Json,
    junit::{self, Junit},
    markdown::Markdown,
    terminal::Terminal,
};
use crate::{sample, saved};

/// Text with control characters, markup and bidirectional controls.
fn text() -> impl Strategy<Value = String> {
    let piece = prop_oneof![
        any::<String>(),
        proptest::string::string_regex("[\\x00-\\x1f\\x7f-\\u{9f}\\u{202a}-\\u{202e}\\u{2066}\\u{fffe}\\u{ffff}]{0,4}")
            .expect("the pattern is a constant"),
        Just("]]>&lt;<b a='\">|`*\u{1b}[31m\u{1b}]8;;http://x\u{7}".to_owned()),
    ];
    proptest::collection::vec(piece, 0..3).prop_map(|pieces| pieces.concat())
}

fn verdict() -> impl Strategy<Value = Verdict> {
    use Verdict::{Blocked, Failed, Passed, Skipped, Warned};
    prop_oneof![Just(Skipped), Just(Passed), Just(Warned), Just(Blocked), Just(Failed)]
}

fn body() -> impl Strategy<Value = Value> {
    let leaf = prop_oneof![
        Just(Value::Null),
        any::<bool>().prop_map(Value::from),
        any::<i64>().prop_map(Value::from),
        (-1e300..1e300).prop_map(|number: f64| json!(number)),
        text().prop_map(Value::from),
    ];
    leaf.prop_recursive(3, 12, 3, |inner| {
        prop_oneof![
            proptest::collection::vec(inner.clone(), 0..3).prop_map(Value::from),
            proptest::collection::vec((text(), inner), 0..3)
                .prop_map(|pairs| Value::Object(pairs.into_iter().collect())),
        ]
    })
}

prop_compose! {
    fn frame()(seq in 0..4_u64, at_us in any::<u64>(), from_client in any::<bool>(), server in text(),
        http in proptest::option::of(text()), headers in proptest::collection::btree_map(text(), text(), 0..3), body in body(), truncated in any::<bool>()) -> ReportFrame {
        ReportFrame { seq, at_us, from_client, server, http, headers, body: (&body).into(), truncated }
    }
}

prop_compose! {
    fn case()(scenario in text(), id in text(), title in text(), verdict in verdict(), stderr in text(),
        observed in text(), url in text(), frames in proptest::collection::vec(frame(), 0..3),
        elapsed_ms in any::<u64>()) -> CaseResult {
        let mut check = sample::check(verdict);
        check.frames = vec![0, 1, 2];
        check.observed = observed;
        check.requirement.url = url;
        CaseResult { id, title, stderr, frames, elapsed_ms, checks: vec![check], ..sample::case(&scenario, verdict) }
    }
}

prop_compose! {
    fn any_run()(cases in proptest::collection::vec(case(), 0..3), loads in 0..2_usize, rate in 0.0..1e9,
        name in text(), threshold in any::<bool>(), complete in any::<bool>(), known in any::<bool>(), stale in proptest::option::of(text()),
        started in text(), elapsed_ms in any::<u64>()) -> Run {
        let mut run = sample::run(cases);
        run.loads = vec![sample::load(); loads];
        for load in &mut run.loads {
            load.name.clone_from(&name);
            load.offered_rate = rate;
            load.thresholds[1].passed = threshold;
        }
        if known {
            let known = run.cases.iter().filter(|case| case.verdict.is_failure()).map(|case| case.id.clone()).collect();
            run.baseline = Some(BaselineState { known, stale: stale.into_iter().collect() });
        }
        run.header.started = started;
        run.header.planned += loads;
        run.complete = complete;
        run.elapsed_ms = elapsed_ms;
        run
    }
}

/// The journal of this run.
fn journal_of(run: &Run) -> String {
    let case = |(index, result): (usize, &CaseResult)| Line::Case {
        result: Box::new(result.clone()),
        index,
        evidence: json!({"frames": []}),
    };
    let mut lines = vec![Line::first(run.header.clone())];
    lines.extend(run.cases.iter().enumerate().map(case));
    lines.extend(run.loads.iter().map(|result| Line::Load { result: Box::new(result.clone()) }));
    lines.push(Line::End {
        elapsed_ms: run.elapsed_ms,
        baseline: run.baseline.clone(),
        tool_calls: run.tool_calls.clone(),
        portability: run.portability.clone(),
    });
    lines.iter().map(|line| line.to_text().unwrap()).collect()
}

fn assert_inert(shown: &str) -> Result<(), TestCaseError> {
    let is_unsafe =
        |c: char| (c.is_control() && c != '\n') || ('\u{202a}'..='\u{202e}').contains(&c) || c == '\u{2066}';
    prop_assert_eq!(shown.chars().find(|character| is_unsafe(*character)), None);
    Ok(())
}

proptest! {
    #![proptest_config(ProptestConfig { cases: 64, ..ProptestConfig::default() })]

    #[test]
    fn a_saved_run_reads_back_the_same(run in any_run()) {
        prop_assert_eq!(saved::read(&Json.render(&run, &Style::default()).unwrap()).unwrap(), run);
    }

    #[test]
    fn a_journal_reads_back_as_its_run(run in any_run()) {
        let run = Run { complete: true, ..run };
        prop_assert_eq!(journal::read(journal_of(&run).as_bytes()).unwrap(), run);
    }

    #[test]
    fn a_junit_file_is_well_formed_and_has_failures_exactly_if_the_run_failed(run in any_run()) {
        let suites = junit::check::parsed(&Junit.render(&run, &Style::default()).unwrap());
        let failures: usize = suites.iter().map(|suite| suite.failures + suite.errors).sum();
        prop_assert_eq!(failures == 0, run.passed());
    }

    #[test]
    fn control_characters_never_reach_a_terminal(run in any_run()) {
        for verbosity in [Verbosity::Quiet, Verbosity::Normal, Verbosity::Verbose] {
            assert_inert(&Terminal.render(&run, &Style { verbosity, ..Style::default() }).unwrap())?;
        }
        // The text of these is escaped by its format, and read by programs.
        for format in FORMATS.iter().filter(|format| !["junit", "json"].contains(&format.name())) {
            assert_inert(&format.render(&run, &Style::default()).unwrap())?;
        }
    }

    #[test]
    fn each_line_for_github_is_a_command(run in any_run()) {
        for line in Github.render(&run, &Style::default()).unwrap().lines() {
            let command = ["::error title=", "::warning title=", "::notice title="].iter().any(|head| line.starts_with(head));
            prop_assert!(command, "{line}");
        }
    }

    #[test]
    fn a_comment_has_room_for_the_markdown_summary(run in any_run()) {
        prop_assert!(Markdown.render(&run, &Style::default()).unwrap().chars().count() <= 65_000);
    }
}
