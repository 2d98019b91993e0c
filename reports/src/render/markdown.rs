//! A short summary for the page of a CI job or a comment on a pull request: counts, areas and load tests, then the findings,
//! each folded, the most severe first.
//!
//! `escaped` removes all markup from untrusted text. [`Page`] limits the length.

use super::{
    Format, RenderError, Style,
    outcome::{self, duration, latency, word},
    text,
};
use crate::model::{Latency, LoadResult, Run};

mod findings;
mod page;
mod tools;

pub(super) use page::Page;

/// Maximum number of operations of a load test.
const MAX_OPERATIONS: usize = 20;
/// Maximum number of notes about load tests.
const MAX_NOTES: usize = 50;

/// GitHub Flavored Markdown.
#[derive(Debug)]
pub struct Markdown;

impl Format for Markdown {
    fn name(&self) -> &'static str {
        "markdown"
    }

    fn about(&self) -> &'static str {
        "Short summary for a pull request or the page of a CI job, at most 65,000 characters"
    }

    fn file_name(&self) -> &'static str {
        "summary.md"
    }

    fn render(&self, run: &Run, _: &Style) -> Result<String, RenderError> {
        let mut page = Page::default();
        page.push(&format!("## {}: {}\n\n", escaped(&run.header.subject, 200), word(run.passed())));
        for (_, sentence) in outcome::run_failures(run) {
            page.push(&format!("**Failed:** {}\n\n", escaped(&sentence, 500)));
        }
        push_counts(&mut page, run);
        tools::push_areas(&mut page, run);
        push_loads(&mut page, &run.loads);
        tools::push_tool_calls(&mut page, run);
        tools::push_portability(&mut page, run);
        findings::push(&mut page, run);
        Ok(page.finish())
    }
}

fn push_counts(page: &mut Page, run: &Run) {
    let counts = run.counts();
    page.push(
        "| failed | blocked | flaky | warned | noted | passed | skipped | planned | known failures | time | seed |\n\
         | ---: | ---: | ---: | ---: | ---: | ---: | ---: | ---: | ---: | ---: | ---: |\n",
    );
    let (known, time) = (outcome::known_failures(run), duration(run.elapsed_ms));
    page.push(&format!(
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

fn push_loads(page: &mut Page, loads: &[LoadResult]) {
    if loads.is_empty() {
        return;
    }
    page.push(
        "\n| load | result | offered/s | achieved/s | errors | p50 | p95 | p99 |\n\
         | --- | --- | ---: | ---: | ---: | ---: | ---: | ---: |\n",
    );
    let percentiles = |measured: Option<&Latency>| match measured {
        Some(figures) => [figures.p50_us, figures.p95_us, figures.p99_us].map(|us| latency(us as f64)),
        None => ["-"; 3].map(str::to_owned),
    };
    for load in loads {
        let errors = outcome::errors(load);
        let [p50, p95, p99] = percentiles(load.latency.as_ref());
        page.push(&format!(
            "| {} | {} | {:.1} | {:.1} | {errors} | {p50} | {p95} | {p99} |\n",
            escaped(&load.name, 100),
            word(load.passed()),
            load.offered_rate,
            load.achieved_rate,
        ));
        for operation in load.operations.iter().take(MAX_OPERATIONS) {
            let [p50, p95, p99] = percentiles(operation.latency.as_ref());
            let (name, rate) = (escaped(&operation.name, 100), operation.rate);
            page.push(&format!("| · {name} | | | {rate:.1} | {} | {p50} | {p95} | {p99} |\n", operation.failed()));
        }
    }
    let notes = loads.iter().flat_map(|load| {
        let samples = load.errors.iter().flat_map(move |(kind, count)| {
            let sample = outcome::sample(load, kind).join("; ");
            (!sample.is_empty()).then(|| format!("{count} errors of the kind {kind}; {sample}"))
        });
        let notes = outcome::failed_thresholds(load).chain(samples).chain(load.warnings.iter().cloned());
        notes.map(|note| (load.name.clone(), note))
    });
    for (position, (name, note)) in notes.take(MAX_NOTES).enumerate() {
        let before = if position == 0 { "\n" } else { "" };
        page.push(&format!("{before}- {}: {}\n", escaped(&name, 100), escaped(&note, 500)));
    }
}

/// Escapes HTML, links (including those that GitHub generates from addresses and names) and table cells. CommonMark
/// allows a backslash before any ASCII punctuation.
pub(super) fn escaped(text: &str, limit: usize) -> String {
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
pub(super) fn code(id: &str) -> String {
    format!("`{}`", text::bounded_line(id, 300).replace('`', "'").replace('|', "\\|"))
}

/// Formats an id as code in HTML, where Markdown has no effect. GitHub makes no links from names inside of code.
fn html_code(id: &str, limit: usize) -> String {
    let id = text::bounded_line(id, limit);
    format!("<code>{}</code>", id.replace('&', "&amp;").replace('<', "&lt;").replace('>', "&gt;"))
}

/// Formats a link if the URL is an HTTP URL without special characters, otherwise only the text.
pub(super) fn linked(text: &str, url: &str) -> String {
    let plain = url.chars().all(|character| character.is_ascii_graphic() && !"<>()[]|\\\"'`".contains(character));
    if plain && (url.starts_with("https://") || url.starts_with("http://")) {
        format!("[{text}](<{url}>)")
    } else {
        text.to_owned()
    }
}
