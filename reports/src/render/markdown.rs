//! A short summary for the page of a CI job.
//!
//! It names what failed and links the rule; the frames are in the JSON report. Nothing that a server said is read as
//! markup: see `escaped`.

use crate::model::{CaseResult, LoadResult, Run, Verdict};

use super::case::level;
use super::outcome::{self, duration, latency};
use super::text;

/// How many cases are listed; a summary that is longer is not read, and some pages refuse it.
const LISTED: usize = 50;

/// The summary of a run, with a line feed at the end.
#[must_use]
pub fn render(run: &Run) -> String {
    let mut out = String::new();
    let held = if run.held() { "held" } else { "not held" };
    out.push_str(&format!("## {}: {held}\n\n", escaped(&run.header.subject, 200)));
    for (_, sentence) in outcome::run_faults(run) {
        out.push_str(&format!("**Not held:** {}\n\n", escaped(&sentence, 500)));
    }
    push_counts(&mut out, run);
    push_cases(&mut out, run);
    push_loads(&mut out, &run.loads);
    out
}

fn push_counts(out: &mut String, run: &Run) {
    let counts = run.counts();
    out.push_str("| failed | blocked | warned | passed | skipped | planned | known failures | time | seed |\n");
    out.push_str("| ---: | ---: | ---: | ---: | ---: | ---: | ---: | ---: | ---: |\n");
    let (known, time) = (outcome::known_failures(run), duration(run.elapsed_ms));
    out.push_str(&format!(
        "| {} | {} | {} | {} | {} | {} | {known} | {time} | {} |\n",
        counts.failed,
        counts.blocked,
        counts.warned,
        counts.passed,
        counts.skipped,
        run.header.planned,
        run.header.seed
    ));
}

fn push_cases(out: &mut String, run: &Run) {
    let mut loud: Vec<&CaseResult> =
        run.cases.iter().filter(|case| case.verdict.is_failure() || case.verdict == Verdict::Warned).collect();
    if loud.is_empty() {
        return;
    }
    loud.sort_by_key(|case| (outcome::is_known(run, case), std::cmp::Reverse(case.verdict)));
    out.push_str("\n| verdict | case | observed | requirement |\n| --- | --- | --- | --- |\n");
    for case in loud.iter().take(LISTED) {
        let word = if outcome::is_known(run, case) { "known failure" } else { case.verdict.word() };
        let (observed, rule) = case.judgements.first().map_or_else(Default::default, |judgement| {
            let requirement = &judgement.requirement;
            let rule = format!("{}: {}", level(requirement.level), escaped(&requirement.text, 300));
            (escaped(&judgement.observed, 300), linked(&rule, &requirement.url))
        });
        out.push_str(&format!("| {word} | {} | {observed} | {rule} |\n", code(&case.id)));
    }
    if loud.len() > LISTED {
        out.push_str(&format!("\n{} more are in the JSON report.\n", loud.len() - LISTED));
    }
}

fn push_loads(out: &mut String, loads: &[LoadResult]) {
    if loads.is_empty() {
        return;
    }
    out.push_str("\n| load | result | offered/s | achieved/s | errors | p50 | p95 | p99 |\n");
    out.push_str("| --- | --- | ---: | ---: | ---: | ---: | ---: | ---: |\n");
    for load in loads {
        let errors = load.errors.values().fold(0, |sum: u64, count| sum.saturating_add(*count));
        let [p50, p95, p99] = match &load.latency {
            Some(figures) => [figures.p50_us, figures.p95_us, figures.p99_us].map(|us| latency(us as f64)),
            None => ["-"; 3].map(str::to_owned),
        };
        out.push_str(&format!(
            "| {} | {} | {:.1} | {:.1} | {errors} | {p50} | {p95} | {p99} |\n",
            escaped(&load.name, 100),
            if load.held() { "held" } else { "not held" },
            load.offered_rate,
            load.achieved_rate,
        ));
    }
    let notes = loads.iter().flat_map(|load| {
        let broken = load.thresholds.iter().filter(|threshold| !threshold.held);
        let broken =
            broken.map(|broken| format!("threshold broken: {} (measured {})", broken.threshold, broken.measured));
        broken.chain(load.warnings.iter().cloned()).map(|note| (load.name.clone(), note))
    });
    let notes: Vec<_> = notes.collect();
    if !notes.is_empty() {
        out.push('\n');
    }
    for (name, note) in notes.iter().take(LISTED) {
        out.push_str(&format!("- {}: {}\n", escaped(name, 100), escaped(note, 500)));
    }
}

/// Text in which nothing is markup: no HTML, no links (also none that GitHub makes of addresses and names), no table
/// cells. CommonMark lets a backslash stand before any ASCII punctuation.
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
            // An address that begins with `www.` is linked as well (GitHub Flavored Markdown, autolinks).
            '.' if out.ends_with("www") || out.ends_with("WWW") => out.push_str("&#46;"),
            _ => out.push(character),
        }
    }
    out
}

/// An id as code. A backtick would end it, so it becomes an apostrophe; a bar would end the cell.
fn code(id: &str) -> String {
    format!("`{}`", text::bounded_line(id, 300).replace('`', "'").replace('|', "\\|"))
}

/// A link, when the address is one of the web; otherwise the text alone.
fn linked(text: &str, url: &str) -> String {
    let plain = url.chars().all(|character| character.is_ascii_graphic() && !"<>()[]|\\\"'`".contains(character));
    if plain && (url.starts_with("https://") || url.starts_with("http://")) {
        format!("[{text}](<{url}>)")
    } else {
        text.to_owned()
    }
}
