//! Load tests as tables with one row each, so that they can be compared.

use comfy_table::{CellAlignment, ContentArrangement, LineStyle, Table, TableStyle};
use textwrap::Options;
use unicode_width::UnicodeWidthStr as _;

use crate::{
    histogram_log::{Distribution, Merged},
    model::{Latency, LoadResult, OperationResult, Verdict},
    render::{
        outcome::{duration, errors, generator, latency, notifications, process, sample, word},
        paint::Paint,
        text,
    },
};

/// Maximum number of error kinds printed for one load test, the most frequent first.
const MAX_ERROR_KINDS: usize = 10;
/// A line below the header, and one blank between columns.
const TABLE: TableStyle = TableStyle::new().header_separator(LineStyle::none().fill('─').junction('─'));
/// Minimum width of the column for the name.
const MIN_NAME: usize = 8;

/// Renders the latencies of all workers in one table.
pub(super) fn distributions(merged: &Merged, width: usize) -> String {
    let head = ["worker", "count", "min", "mean", "p50", "p90", "p95", "p99", "p99.9", "max"];
    let row = |name: &str, distribution: &Distribution| {
        let [min, mean, p50, p90, p95, p99, p999, max] = latencies(Some(&distribution.latency));
        (name.to_owned(), [distribution.count.to_string(), min, mean, p50, p90, p95, p99, p999, max])
    };
    let workers = merged.tags.iter().map(|(tag, distribution)| row(tag.as_str(), distribution));
    let table = table(head, workers.chain([row("all", &merged.total)]).collect(), width);
    format!("{table}\n")
}

/// Renders the tables of rates and latencies, then the thresholds, errors and warnings of each load test.
pub(super) fn render(loads: &[LoadResult], width: usize, paint: Paint) -> String {
    let head = ["load", "offered/s", "achieved/s", "offered", "sent", "ok", "errors", "unfinished"];
    let rows = loads.iter().flat_map(rate_rows).collect();
    let rates = table(head, rows, width);
    let head = ["latency", "min", "mean", "p50", "p90", "p95", "p99", "p99.9", "max"];
    let latencies = table(head, loads.iter().flat_map(latency_rows).collect(), width);
    let mut out = format!("{rates}\n\n{latencies}\n\n");
    for load in loads {
        push_load(&mut out, load, width, paint);
    }
    out
}

fn table<const COLUMNS: usize, const NUMBERS: usize>(
    head: [&str; COLUMNS],
    rows: Vec<(String, [String; NUMBERS])>,
    width: usize,
) -> Table {
    // Numbers are never wrapped or truncated, so the names get the columns that are left.
    let numbers: usize = (0..NUMBERS)
        .map(|column| {
            rows.iter().map(|(_, row)| row[column].width()).chain([head[column + 1].width()]).max().unwrap_or(0)
        })
        .sum();
    let room = width.saturating_sub(numbers + 2 * NUMBERS).max(MIN_NAME);
    let mut table = Table::new();
    table.load_style(TABLE).set_content_arrangement(ContentArrangement::Disabled).set_header(head);
    for (name, row) in rows {
        table.add_row([text::fitted(&name, room)].into_iter().chain(row));
    }
    for (position, column) in table.column_iter_mut().enumerate() {
        // With the blank between columns, two blanks precede each number: nine columns have to fit in 80.
        column.set_padding((u16::from(position > 0), 0));
        if position > 0 {
            column.set_cell_alignment(CellAlignment::Right);
        }
    }
    table
}

/// The load, and its operations, which are indented.
fn rate_rows(load: &LoadResult) -> Vec<(String, [String; 7])> {
    let operations = load.operations.iter().map(|operation| (indented(operation), operation_rates(operation)));
    std::iter::once((load.name.clone(), rates(load))).chain(operations).collect()
}

fn indented(operation: &OperationResult) -> String {
    format!("  {}", operation.name)
}

/// Operations have no schedule of their own.
fn operation_rates(operation: &OperationResult) -> [String; 7] {
    [
        "-".to_owned(),
        format!("{:.1}", operation.rate),
        "-".to_owned(),
        operation.sent.to_string(),
        operation.succeeded.to_string(),
        operation.failed().to_string(),
        operation.unfinished.to_string(),
    ]
}

fn rates(load: &LoadResult) -> [String; 7] {
    [
        format!("{:.1}", load.offered_rate),
        format!("{:.1}", load.achieved_rate),
        load.offered.to_string(),
        load.sent.to_string(),
        load.succeeded.to_string(),
        errors(load).to_string(),
        load.unfinished.to_string(),
    ]
}

/// The latencies from the scheduled time, those from the time of sending if they differ, and those of the operations.
fn latency_rows(load: &LoadResult) -> Vec<(String, [String; 8])> {
    let scheduled = latencies(load.latency.as_ref());
    let sent = latencies(load.uncorrected.as_ref());
    let mut rows = vec![(load.name.clone(), scheduled)];
    if load.uncorrected.is_some() && sent != rows[0].1 {
        rows.push(("  from sending".to_owned(), sent));
    }
    let operations = load.operations.iter();
    rows.extend(operations.map(|operation| (indented(operation), latencies(operation.latency.as_ref()))));
    rows
}

fn latencies(measured: Option<&Latency>) -> [String; 8] {
    let Some(measured) = measured else { return std::array::from_fn(|_| "-".to_owned()) };
    let percentiles = [measured.p50_us, measured.p90_us, measured.p95_us, measured.p99_us, measured.p999_us];
    let [p50, p90, p95, p99, p999] = percentiles.map(|us| latency(us as f64));
    let (min, mean, max) =
        (latency(measured.min_us as f64), latency(measured.mean_us), latency(measured.max_us as f64));
    [min, mean, p50, p90, p95, p99, p999, max]
}

fn colored(passed: bool, paint: Paint) -> String {
    paint.verdict(if passed { Verdict::Passed } else { Verdict::Failed }, word(passed))
}

fn push_load(out: &mut String, load: &LoadResult, width: usize, paint: Paint) {
    let name = paint.strong(text::bounded_line(&load.name, 60));
    let shape = text::bounded_line(&load.shape, 200);
    let transport = text::bounded_line(&load.transport, 40);
    let counted = duration(load.counted_ms);
    let driver = if load.driver.is_empty() {
        String::new()
    } else {
        format!(", driver {}", text::bounded_line(&load.driver, 20))
    };
    let result = colored(load.passed(), paint);
    out.push_str(&format!("{result} {name} ({transport}{driver}; {shape}; {counted} counted)\n"));
    if load.succeeded == 0 {
        out.push_str("  all calls failed\n");
    }
    let mut kinds: Vec<_> = load.errors.iter().collect();
    kinds.sort_by_key(|(_, count)| std::cmp::Reverse(**count));
    for (kind, count) in kinds.iter().take(MAX_ERROR_KINDS) {
        out.push_str(&format!("  errors: {} ({count})\n", text::bounded_line(kind, 200)));
        for line in sample(load, kind) {
            out.push_str(&format!("    {}\n", text::bounded_line(&line, 300)));
        }
    }
    if kinds.len() > MAX_ERROR_KINDS {
        out.push_str(&format!("  … [{} more kinds of errors]\n", kinds.len() - MAX_ERROR_KINDS));
    }
    for line in generator(load).into_iter().chain(notifications(load)).chain(process(load)) {
        out.push_str(&format!("  {line}\n"));
    }
    for threshold in &load.thresholds {
        let word = colored(threshold.passed, paint);
        let [wanted, measured] = [&threshold.threshold, &threshold.measured].map(|text| text::bounded_line(text, 200));
        out.push_str(&format!("  threshold {word}: {wanted} (measured {measured})\n"));
    }
    for warning in &load.warnings {
        // As wide as the label.
        let indent = " ".repeat("  warning: ".len());
        let options = Options::new(width.max(40)).initial_indent(&indent).subsequent_indent(&indent);
        let text = textwrap::fill(&text::line(warning), options);
        out.push_str(&format!("  {}: {}\n", paint.verdict(Verdict::Warned, "warning"), text.trim_start()));
    }
}
