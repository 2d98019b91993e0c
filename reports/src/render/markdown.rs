//! A short summary for the page of a CI job: failed cases with links to their requirements; of a validation the areas and the
//! findings.
//!
//! `escaped` removes all markup from untrusted text.

use super::{
    Format, RenderError, Style,
    outcome::{self, duration, latency, word},
    text,
};
use crate::model::{LoadResult, Run, RunKind};

mod validation;

/// Maximum number of cases listed. Some pages reject long summaries.
const MAX_CASES: usize = 50;

/// GitHub Flavored Markdown.
#[derive(Debug)]
pub struct Markdown;

impl Format for Markdown {
    fn name(&self) -> &'static str {
        "markdown"
    }

    fn about(&self) -> &'static str {
        "Summary for a pull request or the page of a CI job"
    }

    fn file_name(&self) -> &'static str {
        "summary.md"
    }

    fn render(&self, run: &Run, _: &Style) -> Result<String, RenderError> {
        let mut out = String::new();
        out.push_str(&format!("## {}: {}\n\n", escaped(&run.header.subject, 200), word(run.passed())));
        for (_, sentence) in outcome::run_failures(run) {
            out.push_str(&format!("**Failed:** {}\n\n", escaped(&sentence, 500)));
        }
        push_counts(&mut out, run);
        match run.header.kind {
            RunKind::Validate => validation::push(&mut out, run),
            RunKind::Conformance | RunKind::Bench => push_cases(&mut out, run),
        }
        push_loads(&mut out, &run.loads);
        Ok(out)
    }
}

fn push_counts(out: &mut String, run: &Run) {
    let counts = run.counts();
    out.push_str(
        "| failed | blocked | flaky | warned | noted | passed | skipped | planned | known failures | time | seed |\n",
    );
    out.push_str("| ---: | ---: | ---: | ---: | ---: | ---: | ---: | ---: | ---: | ---: | ---: |\n");
    let (known, time) = (outcome::known_failures(run), duration(run.elapsed_ms));
    out.push_str(&format!(
        "| {} | {} | {} | {} | {} | {} | {} | {} | {known} | {time} | {} |\n",
        counts.failed,
        counts.blocked,
        counts.flaky,
        counts.warned,
        counts.noted,
        counts.passed,
        counts.skipped,
        run.header.planned,
        run.header.seed
    ));
}

fn push_cases(out: &mut String, run: &Run) {
    let cases = outcome::reported(run);
    if cases.is_empty() {
        return;
    }
    out.push_str("\n| verdict | case | observed | requirement |\n| --- | --- | --- | --- |\n");
    for case in cases.iter().take(MAX_CASES) {
        let word = if outcome::is_known(run, case) { "known failure" } else { case.verdict.as_str() };
        let (observed, rule) = case.checks.first().map_or_else(Default::default, |check| {
            let requirement = &check.requirement;
            let rule = format!("{}: {}", requirement.level.as_str(), escaped(&requirement.text, 300));
            (escaped(&check.observed, 300), linked(&rule, &requirement.url))
        });
        out.push_str(&format!("| {word} | {} | {observed} | {rule} |\n", code(&case.id)));
    }
    if cases.len() > MAX_CASES {
        out.push_str(&format!("\n{} more cases are in the JSON report.\n", cases.len() - MAX_CASES));
    }
}

fn push_loads(out: &mut String, loads: &[LoadResult]) {
    if loads.is_empty() {
        return;
    }
    out.push_str("\n| load | result | offered/s | achieved/s | errors | p50 | p95 | p99 |\n");
    out.push_str("| --- | --- | ---: | ---: | ---: | ---: | ---: | ---: |\n");
    for load in loads {
        let errors = outcome::errors(load);
        let [p50, p95, p99] = match &load.latency {
            Some(figures) => [figures.p50_us, figures.p95_us, figures.p99_us].map(|us| latency(us as f64)),
            None => ["-"; 3].map(str::to_owned),
        };
        out.push_str(&format!(
            "| {} | {} | {:.1} | {:.1} | {errors} | {p50} | {p95} | {p99} |\n",
            escaped(&load.name, 100),
            word(load.passed()),
            load.offered_rate,
            load.achieved_rate,
        ));
    }
    let notes = loads.iter().flat_map(|load| {
        let samples = load.errors.iter().flat_map(move |(kind, count)| {
            let sample = outcome::sample(load, kind).join("; ");
            (!sample.is_empty()).then(|| format!("{count} errors of the kind {kind}; {sample}"))
        });
        let notes = outcome::failed_thresholds(load).chain(samples).chain(load.warnings.iter().cloned());
        notes.map(|note| (load.name.clone(), note))
    });
    let notes: Vec<_> = notes.collect();
    if !notes.is_empty() {
        out.push('\n');
    }
    for (name, note) in notes.iter().take(MAX_CASES) {
        out.push_str(&format!("- {}: {}\n", escaped(name, 100), escaped(note, 500)));
    }
}

/// Escapes HTML, links (including those that GitHub generates from addresses and names) and table cells. CommonMark
/// allows a backslash before any ASCII punctuation.
fn escaped(text: &str, limit: usize) -> String {
    let mut out = String::new();
    for character in text::bounded_line(text, limit).chars() {
        match character {
            '<' => out.push_str("&lt;"),
            '>' => out.push_str("&gt;"),
            '&' => out.push_str("&amp;"),
            '\\' | '`' | '*' | '_' | '[' | ']' | '~' | '|' | ':' | '@' | '$' | '#' | '!' => {
                out.push('\\');
                out.push(character);
            }
            // GitHub Flavored Markdown turns text that starts with `www.` into a link (autolinks).
            '.' if out.ends_with("www") || out.ends_with("WWW") => out.push_str("&#46;"),
            _ => out.push(character),
        }
    }
    out
}

/// Formats an id as code. A backtick would end the code and a bar the table cell.
fn code(id: &str) -> String {
    format!("`{}`", text::bounded_line(id, 300).replace('`', "'").replace('|', "\\|"))
}

/// Formats a link if the URL is an HTTP URL without special characters, otherwise only the text.
fn linked(text: &str, url: &str) -> String {
    let plain = url.chars().all(|character| character.is_ascii_graphic() && !"<>()[]|\\\"'`".contains(character));
    if plain && (url.starts_with("https://") || url.starts_with("http://")) {
        format!("[{text}](<{url}>)")
    } else {
        text.to_owned()
    }
}
