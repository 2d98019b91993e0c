//! The summary printed at the end of a run.
//!
//! Each case that needs attention is printed with its evidence; other cases are only counted. An interruption is printed
//! first, the result of the run last.

use super::{
    Format, RenderError, Style, Verbosity,
    case::{self, CaseStyle},
    outcome,
    paint::Paint,
    text,
};
use crate::{
    histogram_log::Merged,
    model::{CaseResult, Profile, Run, RunKind, Verdict},
};

mod load;
mod validation;

/// Maximum number of cases printed with details; the others are listed.
const MAX_DETAILED: usize = 50;

/// Text for a terminal or a log.
#[derive(Debug)]
pub struct Terminal;

/// The latencies of each worker and of all, as a table.
#[must_use]
pub fn distributions(merged: &Merged, style: &Style) -> String {
    load::distributions(merged, style.width)
}

impl Format for Terminal {
    fn name(&self) -> &'static str {
        "terminal"
    }

    fn about(&self) -> &'static str {
        "Text for a terminal or a log"
    }

    fn file_name(&self) -> &'static str {
        "summary.txt"
    }

    fn render(&self, run: &Run, style: &Style) -> Result<String, RenderError> {
        let paint = Paint { color: style.color };
        let mut out = String::new();
        if !run.complete {
            push(
                &mut out,
                &format!("{}: {}\n", paint.verdict(Verdict::Failed, "INCOMPLETE"), outcome::incomplete(run)),
            );
        }
        if style.verbosity == Verbosity::Verbose {
            push_unremarkable_cases(&mut out, run, paint);
        }
        if run.header.kind == RunKind::Validate && style.verbosity != Verbosity::Quiet {
            validation::push(&mut out, run, style, paint);
        } else {
            push_reported_cases(&mut out, run, style, paint);
        }
        if !run.loads.is_empty() {
            push(&mut out, &load::render(&run.loads, style.width, paint));
        }
        push_result(&mut out, run, paint);
        Ok(out)
    }
}

fn push(out: &mut String, text: &str) {
    out.push_str(text);
    out.push('\n');
}

/// Prints passed and skipped cases.
fn push_unremarkable_cases(out: &mut String, run: &Run, paint: Paint) {
    for case in run.cases.iter().filter(|case| matches!(case.verdict, Verdict::Passed | Verdict::Skipped)) {
        push(out, &title(case, "", paint));
        if case.verdict == Verdict::Skipped {
            for check in case.checks.iter().filter(|check| check.verdict == Verdict::Skipped) {
                push(out, &format!("  reason: {}", text::line(&check.observed)));
            }
        }
    }
}

/// Prints failures and warnings, the most severe last: closest to the prompt.
fn push_reported_cases(out: &mut String, run: &Run, style: &Style, paint: Paint) {
    let quiet = style.verbosity == Verbosity::Quiet;
    let all = style.verbosity == Verbosity::Verbose;
    let mut cases = outcome::reported(run);
    cases.retain(|case| !quiet || case.verdict.is_failure() && !outcome::is_known(run, case));
    let listed = cases.len().saturating_sub(MAX_DETAILED);
    let case_style = CaseStyle { paint, width: style.width, all };
    for (position, case) in cases.into_iter().rev().enumerate() {
        let known = outcome::is_known(run, case);
        push(out, &title(case, if known { " (known failure)" } else { "" }, paint));
        if position < listed || quiet || (known && !all) {
            continue;
        }
        push(out, &format!("  {}", text::bounded_line(&case.title, 300)));
        let detail = case::detail(case, case_style);
        if !detail.is_empty() {
            push(out, &detail);
        }
        out.push('\n');
    }
}

fn title(case: &CaseResult, note: &str, paint: Paint) -> String {
    let word = paint.verdict(case.verdict, format!("{:<7}", case.verdict.as_str()));
    let time = paint.faint(format!("({})", outcome::duration(case.elapsed_ms)));
    format!("{word} {} {time}{note}", paint.strong(text::bounded_line(&case.id, 300)))
}

fn push_result(out: &mut String, run: &Run, paint: Paint) {
    let kind = match run.header.kind {
        RunKind::Conformance => "conformance",
        RunKind::Validate => "validation",
        RunKind::Bench => "load test",
    };
    let header = &run.header;
    let profile = header.profile.filter(|profile| *profile == Profile::Sdk).map_or("", |_| " (profile sdk)");
    push(out, &format!("{kind} of {}{profile}", paint.strong(text::bounded_line(&header.subject, 300))));
    let counts: Vec<String> = outcome::counts(run)
        .into_iter()
        .map(|(verdict, count)| paint.verdict(verdict, format!("{count} {}", verdict.as_str())))
        .collect();
    let counts = match (counts.is_empty(), run.loads.len()) {
        (false, _) => counts.join(", "),
        (true, 0) => "no cases".to_owned(),
        (true, 1) => "1 load test".to_owned(),
        (true, loads) => format!("{loads} load tests"),
    };
    let planned = header.planned;
    push(out, &format!("{counts}; {planned} planned, {}, seed {}", outcome::duration(run.elapsed_ms), header.seed));
    for (_, sentence) in outcome::run_failures(run) {
        push(out, &format!("{}: {sentence}", paint.verdict(Verdict::Failed, "failed")));
    }
    let known = outcome::known_failures(run);
    if known > 0 {
        push(out, &format!("{known} of the failures {} known (baseline)", if known == 1 { "is" } else { "are" }));
    }
    let failed = run.loads.iter().filter(|load| !load.passed()).count();
    if failed > 0 {
        push(out, &format!("{failed} of {} load tests failed", run.loads.len()));
    }
    let (verdict, word) = if run.passed() { (Verdict::Passed, "PASSED") } else { (Verdict::Failed, "FAILED") };
    push(out, &paint.verdict(verdict, word));
}
