//! The summary that a person reads at the end of a run, on a terminal or in a log.
//!
//! What must not be overlooked comes first (an interrupted run) and last (whether all held, and why not). Between them
//! stands each case that needs attention, with what shows it. A case of which nothing is to be said is only counted.

use crate::model::{CaseResult, Run, RunKind, Verdict};

use super::case::{self, Look};
use super::outcome;
use super::paint::Paint;
use super::text;

mod load;

/// How the summary looks.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Options {
    /// Whether to use colours.
    pub colour: bool,
    /// How many columns there are.
    pub width: usize,
    /// How much is said.
    pub verbosity: Verbosity,
}

impl Default for Options {
    fn default() -> Self {
        Self { colour: false, width: 100, verbosity: Verbosity::Normal }
    }
}

/// How much is said.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq, PartialOrd, Ord)]
pub enum Verbosity {
    /// The ids of the cases that failed, and the result.
    Quiet,
    /// Each case that failed, was blocked or warned, with what shows it.
    #[default]
    Normal,
    /// Also the cases that passed or were skipped, and every frame that was kept.
    Verbose,
}

/// How many cases are shown in full; the rest are named. Thousands of screens help nobody.
const DETAILED: usize = 50;

/// The summary of a run, with a line feed at the end.
#[must_use]
pub fn render(run: &Run, options: &Options) -> String {
    let paint = Paint { colour: options.colour };
    let mut out = String::new();
    if !run.complete {
        let faults = outcome::run_faults(run);
        let sentence = faults.iter().find(|(name, _)| *name == "incomplete").map_or("", |(_, sentence)| sentence);
        push(&mut out, &format!("{}: {sentence}\n", paint.verdict(Verdict::Failed, "INCOMPLETE")));
    }
    if options.verbosity == Verbosity::Verbose {
        push_quiet_cases(&mut out, run, paint);
    }
    push_loud_cases(&mut out, run, options, paint);
    if !run.loads.is_empty() {
        push(&mut out, &load::render(&run.loads, options.width, paint));
    }
    push_result(&mut out, run, paint);
    out
}

fn push(out: &mut String, text: &str) {
    out.push_str(text);
    out.push('\n');
}

fn push_quiet_cases(out: &mut String, run: &Run, paint: Paint) {
    for case in run.cases.iter().filter(|case| matches!(case.verdict, Verdict::Passed | Verdict::Skipped)) {
        push(out, &title(case, "", paint));
        if case.verdict == Verdict::Skipped {
            let reasons = case.judgements.iter().filter(|judgement| judgement.verdict == Verdict::Skipped);
            for judgement in reasons {
                push(out, &format!("  reason: {}", text::line(&judgement.observed)));
            }
        }
    }
}

/// The gravest come last, where the eye is when the run ends.
fn push_loud_cases(out: &mut String, run: &Run, options: &Options, paint: Paint) {
    let mut loud: Vec<&CaseResult> =
        run.cases.iter().filter(|case| case.verdict.is_failure() || case.verdict == Verdict::Warned).collect();
    if options.verbosity == Verbosity::Quiet {
        loud.retain(|case| case.verdict.is_failure() && !outcome::is_known(run, case));
    }
    loud.sort_by_key(|case| (!outcome::is_known(run, case), case.verdict));
    let named = loud.len().saturating_sub(DETAILED);
    let look = Look { paint, width: options.width, all: options.verbosity == Verbosity::Verbose };
    for (position, case) in loud.into_iter().enumerate() {
        let known = outcome::is_known(run, case);
        push(out, &title(case, if known { " (known failure)" } else { "" }, paint));
        // Those that are only named are the least grave: they stand before the others.
        if position < named || options.verbosity == Verbosity::Quiet || (known && !look.all) {
            continue;
        }
        push(out, &format!("  {}", text::bounded_line(&case.title, 300)));
        let detail = case::detail(case, look);
        if !detail.is_empty() {
            push(out, &detail);
        }
        out.push('\n');
    }
}

fn title(case: &CaseResult, note: &str, paint: Paint) -> String {
    let word = paint.verdict(case.verdict, format!("{:<7}", case.verdict.word()));
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
    push(out, &format!("{kind} of {}", paint.strong(text::bounded_line(&header.subject, 300))));
    let counts: Vec<String> = outcome::counts(run)
        .into_iter()
        .map(|(verdict, count)| paint.verdict(verdict, format!("{count} {}", verdict.word())))
        .collect();
    let counts = if counts.is_empty() { "no cases".to_owned() } else { counts.join(", ") };
    let planned = header.planned;
    push(out, &format!("{counts}; {planned} planned, {}, seed {}", outcome::duration(run.elapsed_ms), header.seed));
    let faults = outcome::run_faults(run);
    for (_, sentence) in &faults {
        push(out, &format!("{}: {sentence}", paint.verdict(Verdict::Failed, "not held")));
    }
    let known = outcome::known_failures(run);
    if known > 0 {
        push(out, &format!("{known} of the failures {} known (baseline)", if known == 1 { "is" } else { "are" }));
    }
    let broken = run.loads.iter().filter(|load| !load.held()).count();
    if broken > 0 {
        push(out, &format!("{broken} of {} load tests did not hold", run.loads.len()));
    }
    push(
        out,
        &if run.held() { paint.verdict(Verdict::Passed, "HELD") } else { paint.verdict(Verdict::Failed, "NOT HELD") },
    );
}
