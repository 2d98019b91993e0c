//! Load tests as tables: one row each, so that they can be compared.

use comfy_table::presets::UTF8_FULL_CONDENSED;
use comfy_table::{CellAlignment, ContentArrangement, Table};

use crate::model::{LoadResult, Verdict};
use crate::render::outcome::{duration, latency};
use crate::render::paint::Paint;
use crate::render::text;

/// How many kinds of errors of one load test are listed, the most frequent first.
const KINDS_SHOWN: usize = 10;

/// The tables of rates and latencies, then what each load test has to say.
pub(super) fn render(loads: &[LoadResult], width: usize, paint: Paint) -> String {
    let mut out = String::new();
    for table in [rates(loads, width), latencies(loads, width)] {
        out.push_str(&table.to_string());
        out.push('\n');
    }
    for load in loads {
        push_load(&mut out, load, paint);
    }
    out
}

fn table(head: &[&str], width: usize) -> Table {
    let mut table = Table::new();
    table.load_style(UTF8_FULL_CONDENSED).set_content_arrangement(ContentArrangement::Dynamic);
    table.set_width(u16::try_from(width.max(40)).unwrap_or(u16::MAX)).set_header(head);
    for column in table.column_iter_mut().skip(1) {
        column.set_cell_alignment(CellAlignment::Right);
    }
    table
}

fn name(load: &LoadResult) -> String {
    text::bounded_line(&load.name, 60)
}

fn rates(loads: &[LoadResult], width: usize) -> Table {
    let mut table =
        table(&["load", "offered/s", "sent/s", "achieved/s", "offered", "sent", "ok", "errors", "unfinished"], width);
    for load in loads {
        let seconds = load.counted_ms as f64 / 1_000.0;
        let sent_rate = if seconds > 0.0 { format!("{:.1}", load.sent as f64 / seconds) } else { "-".to_owned() };
        table.add_row([
            name(load),
            format!("{:.1}", load.offered_rate),
            sent_rate,
            format!("{:.1}", load.achieved_rate),
            load.offered.to_string(),
            load.sent.to_string(),
            load.succeeded.to_string(),
            errors(load).to_string(),
            load.unfinished.to_string(),
        ]);
    }
    table
}

fn latencies(loads: &[LoadResult], width: usize) -> Table {
    let mut table = table(&["latency", "min", "mean", "p50", "p90", "p95", "p99", "p99.9", "max"], width);
    for load in loads {
        let mut row = vec![name(load)];
        match &load.latency {
            Some(figures) => {
                let [p50, p90, p95] = [figures.p50_us, figures.p90_us, figures.p95_us].map(|us| latency(us as f64));
                let [p99, p999, max] = [figures.p99_us, figures.p999_us, figures.max_us].map(|us| latency(us as f64));
                row.extend([latency(figures.min_us as f64), latency(figures.mean_us), p50, p90, p95, p99, p999, max]);
            }
            None => row.extend(std::iter::repeat_n("-".to_owned(), 8)),
        }
        table.add_row(row);
    }
    table
}

fn errors(load: &LoadResult) -> u64 {
    load.errors.values().fold(0, |sum, count| sum.saturating_add(*count))
}

fn push_load(out: &mut String, load: &LoadResult, paint: Paint) {
    let verdict = if load.held() { Verdict::Passed } else { Verdict::Failed };
    let word = paint.verdict(verdict, if load.held() { "held" } else { "not held" });
    let shape = text::bounded_line(&load.shape, 200);
    let transport = text::bounded_line(&load.transport, 40);
    let counted = duration(load.counted_ms);
    out.push_str(&format!("{word} {} ({transport}; {shape}; {counted} counted)\n", paint.strong(name(load))));
    if load.succeeded == 0 {
        out.push_str("  not one call succeeded\n");
    }
    let mut kinds: Vec<_> = load.errors.iter().collect();
    kinds.sort_by_key(|(_, count)| std::cmp::Reverse(**count));
    for (kind, count) in kinds.iter().take(KINDS_SHOWN) {
        out.push_str(&format!("  errors: {} ({count})\n", text::bounded_line(kind, 200)));
    }
    if kinds.len() > KINDS_SHOWN {
        out.push_str(&format!("  … [cut: {} more kinds of errors]\n", kinds.len() - KINDS_SHOWN));
    }
    for threshold in &load.thresholds {
        let verdict = if threshold.held { Verdict::Passed } else { Verdict::Failed };
        let word = paint.verdict(verdict, if threshold.held { "held" } else { "broken" });
        let wanted = text::bounded_line(&threshold.threshold, 200);
        out.push_str(&format!(
            "  threshold {word}: {wanted} (measured {})\n",
            text::bounded_line(&threshold.measured, 200)
        ));
    }
    for warning in &load.warnings {
        out.push_str(&format!("  {}: {}\n", paint.verdict(Verdict::Warned, "warning"), text::line(warning)));
    }
}
