//! The results of a run in the text format of Prometheus (exposition format 0.0.4), as for a push gateway or the textfile
//! collector of the node exporter.

use std::fmt::Write as _;

use super::{Format, RenderError, Style, outcome, text};
use crate::model::{HistogramBucket, Latency, LoadResult, Run};

/// Upper limits of the buckets of latencies, in microseconds.
const BUCKETS: [u64; 19] = [
    100,
    250,
    500,
    1_000,
    2_500,
    5_000,
    10_000,
    25_000,
    50_000,
    100_000,
    250_000,
    500_000,
    1_000_000,
    2_500_000,
    5_000_000,
    10_000_000,
    30_000_000,
    60_000_000,
    300_000_000,
];

/// Maximum length of the value of a label, in characters.
const MAX_LABEL: usize = 200;

/// Metrics of load tests and of their operations, and the number of cases by verdict.
#[derive(Debug)]
pub struct Prometheus;

impl Format for Prometheus {
    fn name(&self) -> &'static str {
        "prometheus"
    }

    fn about(&self) -> &'static str {
        "Metrics of a finished run in the text format of Prometheus"
    }

    fn file_name(&self) -> &'static str {
        "metrics.prom"
    }

    fn render(&self, run: &Run, _: &Style) -> Result<String, RenderError> {
        let mut page = Page::default();
        page.family("run_passed", "gauge", "Whether the run passed.");
        page.sample("run_passed", &[], number(run.passed()));
        if !run.cases.is_empty() {
            let counts = run.counts();
            page.family("cases", "gauge", "Cases by verdict.");
            for (verdict, count) in [
                ("passed", counts.passed),
                ("failed", counts.failed),
                ("warned", counts.warned),
                ("noted", counts.noted),
                ("flaky", counts.flaky),
                ("blocked", counts.blocked),
                ("skipped", counts.skipped),
            ] {
                page.sample("cases", &[("verdict", verdict)], count as f64);
            }
        }
        if !run.loads.is_empty() {
            push_loads(&mut page, &run.loads);
        }
        if run.loads.iter().any(|load| !load.operations.is_empty()) {
            push_operations(&mut page, &run.loads);
        }
        Ok(page.text)
    }
}

/// Name, help and value of a metric.
type Gauge = (&'static str, &'static str, fn(&LoadResult) -> f64);

fn push_loads(page: &mut Page, loads: &[LoadResult]) {
    let gauges: [Gauge; 4] = [
        ("load_passed", "Whether the load test passed.", |load| number(load.passed())),
        ("load_duration_seconds", "Duration of the measurement.", |load| load.counted_ms as f64 / 1e3),
        ("load_offered_rate", "Offered calls per second.", |load| load.offered_rate),
        ("load_achieved_rate", "Calls with a result within the measurement, per second.", |load| load.achieved_rate),
    ];
    for (name, help, value) in gauges {
        page.family(name, "gauge", help);
        loads.iter().for_each(|load| page.sample(name, &labels(load), value(load)));
    }
    page.family("load_calls_total", "counter", "Calls of the measurement by result.");
    for load in loads {
        let counts = [("ok", load.succeeded), ("error", outcome::errors(load)), ("unfinished", load.unfinished)];
        page.counts("load_calls_total", &labels(load), "result", counts);
    }
    page.family("load_errors_total", "counter", "Failed calls by kind of error.");
    for load in loads {
        let errors = load.errors.iter().map(|(kind, count)| (kind.as_str(), *count));
        page.counts("load_errors_total", &labels(load), "kind", errors);
    }
    page.family("load_threshold_passed", "gauge", "Whether a threshold passed.");
    for load in loads {
        let thresholds = load.thresholds.iter().map(|one| (one.threshold.as_str(), u64::from(one.passed)));
        page.counts("load_threshold_passed", &labels(load), "threshold", thresholds);
    }
    page.family("load_latency_seconds", "histogram", "Latencies from the scheduled start of the calls.");
    for load in loads {
        page.histogram("load_latency_seconds", &labels(load), &load.histogram, load.latency.as_ref());
    }
}

fn push_operations(page: &mut Page, loads: &[LoadResult]) {
    let all = || loads.iter().flat_map(|load| load.operations.iter().map(move |operation| (load, operation)));
    page.family("operation_calls_total", "counter", "Executions of operations by result.");
    for (load, operation) in all() {
        let labels = [&labels(load)[..], &[("operation", operation.name.as_str())]].concat();
        let counts = [("ok", operation.succeeded), ("error", operation.failed()), ("unfinished", operation.unfinished)];
        page.counts("operation_calls_total", &labels, "result", counts);
    }
    page.family("operation_rate", "gauge", "Successful executions of operations per second.");
    for (load, operation) in all() {
        let labels = [&labels(load)[..], &[("operation", operation.name.as_str())]].concat();
        page.sample("operation_rate", &labels, operation.rate);
    }
    page.family("operation_latency_seconds", "histogram", "Latencies of operations.");
    for (load, operation) in all() {
        let labels = [&labels(load)[..], &[("operation", operation.name.as_str())]].concat();
        page.histogram("operation_latency_seconds", &labels, &operation.histogram, operation.latency.as_ref());
    }
}

fn labels(load: &LoadResult) -> [(&str, &str); 2] {
    [("load", &load.name), ("transport", &load.transport)]
}

fn number(yes: bool) -> f64 {
    f64::from(u8::from(yes))
}

/// A page of metrics. All names have the prefix `mcp_workbench_`.
#[derive(Default)]
struct Page {
    text: String,
}

impl Page {
    fn family(&mut self, name: &str, kind: &str, help: &str) {
        // Writing to a string cannot fail.
        let _ = writeln!(self.text, "# HELP mcp_workbench_{name} {help}\n# TYPE mcp_workbench_{name} {kind}");
    }

    fn sample(&mut self, name: &str, labels: &[(&str, &str)], value: f64) {
        let labels: Vec<String> = labels.iter().map(|(name, value)| format!("{name}=\"{}\"", escaped(value))).collect();
        let labels = if labels.is_empty() { String::new() } else { format!("{{{}}}", labels.join(",")) };
        let _ = writeln!(self.text, "mcp_workbench_{name}{labels} {value}");
    }

    /// One sample for each value of a label.
    fn counts<'a>(
        &mut self,
        name: &str,
        labels: &[(&str, &str)],
        label: &str,
        counts: impl IntoIterator<Item = (&'a str, u64)>,
    ) {
        for (value, count) in counts {
            self.sample(name, &[labels, &[(label, value)]].concat(), count as f64);
        }
    }

    fn histogram(
        &mut self,
        name: &str,
        labels: &[(&str, &str)],
        buckets: &[HistogramBucket],
        latency: Option<&Latency>,
    ) {
        let within = |limit: u64| {
            let counts = buckets.iter().filter(|HistogramBucket(us, _)| *us <= limit).map(|bucket| bucket.1);
            counts.fold(0_u64, u64::saturating_add)
        };
        let count = within(u64::MAX);
        let bucket = format!("{name}_bucket");
        for limit in BUCKETS {
            let seconds = (limit as f64 / 1e6).to_string();
            self.sample(&bucket, &[labels, &[("le", &seconds)]].concat(), within(limit) as f64);
        }
        self.sample(&bucket, &[labels, &[("le", "+Inf")]].concat(), count as f64);
        let sum = latency.map_or(0.0, |latency| latency.mean_us * count as f64 / 1e6);
        self.sample(&format!("{name}_sum"), labels, sum);
        self.sample(&format!("{name}_count"), labels, count as f64);
    }
}

/// The value of a label: backslashes, quotation marks and line feeds are escaped.
fn escaped(value: &str) -> String {
    text::bounded_line(value, MAX_LABEL).replace('\\', r"\\").replace('"', "\\\"").replace('\n', r"\n")
}

#[cfg(test)]
mod tests {
    use std::collections::{BTreeMap, BTreeSet};

    use super::*;
    use crate::sample;

    type Labels = BTreeMap<String, String>;

    /// Reads a page strictly: the samples of a family follow its type, and no series occurs twice.
    fn parse(page: &str) -> Vec<(String, Labels, f64)> {
        let (mut samples, mut series, mut families) = (Vec::new(), BTreeSet::new(), BTreeSet::new());
        let mut family = (String::new(), String::new());
        assert!(page.ends_with('\n'));
        for line in page.lines() {
            if let Some(declared) = line.strip_prefix("# TYPE ") {
                let (name, kind) = declared.split_once(' ').unwrap();
                assert!(
                    ["gauge", "counter", "histogram"].contains(&kind) && families.insert(name.to_owned()),
                    "{line}"
                );
                family = (name.to_owned(), kind.to_owned());
                continue;
            }
            if line.starts_with("# HELP ") {
                continue;
            }
            let end = line.find(['{', ' ']).unwrap();
            let (name, mut rest) = line.split_at(end);
            let base = ["_bucket", "_sum", "_count"].iter().find_map(|suffix| name.strip_suffix(suffix));
            let base = if family.1 == "histogram" { base.unwrap() } else { name };
            assert_eq!(base, family.0, "{line}");
            let mut labels = Labels::new();
            if let Some(inside) = rest.strip_prefix('{') {
                rest = inside;
                loop {
                    let (label, value) = rest.split_once("=\"").unwrap();
                    let (value, after) = quoted(value);
                    assert!(labels.insert(label.to_owned(), value).is_none(), "{line}");
                    match after.strip_prefix(',') {
                        Some(more) => rest = more,
                        None => {
                            rest = after.strip_prefix('}').unwrap();
                            break;
                        }
                    }
                }
            }
            let value: f64 = rest.strip_prefix(' ').unwrap().parse().unwrap();
            assert!(series.insert((name.to_owned(), labels.clone())), "{line}");
            samples.push((name.strip_prefix("mcp_workbench_").unwrap().to_owned(), labels, value));
        }
        samples
    }

    /// The text up to the next quotation mark that is not escaped, and the rest.
    fn quoted(text: &str) -> (String, &str) {
        let (mut value, mut chars) = (String::new(), text.char_indices());
        while let Some((at, ch)) = chars.next() {
            match ch {
                '"' => return (value, &text[at + 1..]),
                '\\' => value.push(match chars.next().unwrap().1 {
                    'n' => '\n',
                    ch @ ('\\' | '"') => ch,
                    other => panic!("\\{other}"),
                }),
                ch => value.push(ch),
            }
        }
        panic!("no end: {text}")
    }

    fn page(run: &Run) -> Vec<(String, Labels, f64)> {
        parse(&Prometheus.render(run, &Style::default()).unwrap())
    }

    fn value(samples: &[(String, Labels, f64)], name: &str, label: (&str, &str)) -> f64 {
        let all: Vec<f64> = samples
            .iter()
            .filter(|(sample, labels, _)| sample == name && labels.get(label.0).is_some_and(|value| value == label.1))
            .map(|(_, _, value)| *value)
            .collect();
        let [one] = all.as_slice() else { panic!("{name} {label:?}: {all:?}") };
        *one
    }

    #[test]
    fn a_page_has_counts_rates_thresholds_and_latencies() {
        let mut run = sample::everything();
        run.loads = vec![sample::mix()];
        let samples = page(&run);
        for (name, label, expected) in [
            ("cases", ("verdict", "failed"), 2.0),
            ("load_calls_total", ("result", "ok"), 190.0),
            ("load_calls_total", ("result", "error"), 8.0),
            ("load_calls_total", ("result", "unfinished"), 2.0),
            ("load_errors_total", ("kind", "http 503"), 1.0),
            ("load_achieved_rate", ("transport", "streamable-http"), 19.0),
            ("load_threshold_passed", ("threshold", "errors < 1%"), 0.0),
            ("load_latency_seconds_bucket", ("le", "0.0005"), 0.0),
            ("load_latency_seconds_bucket", ("le", "0.001"), 1.0),
            ("load_latency_seconds_bucket", ("le", "0.0025"), 190.0),
            ("load_latency_seconds_bucket", ("le", "+Inf"), 190.0),
            ("load_latency_seconds_count", ("transport", "streamable-http"), 190.0),
            ("operation_rate", ("operation", "tools/list"), 4.0),
            ("operation_latency_seconds_count", ("operation", "echo"), 150.0),
            ("operation_latency_seconds_count", ("operation", "tools/list"), 0.0),
        ] {
            assert_eq!(value(&samples, name, label), expected, "{name} {label:?}");
        }
        let buckets = samples.iter().filter(|(name, _, _)| name == "load_latency_seconds_bucket");
        let counts: Vec<f64> = buckets.map(|(_, _, value)| *value).collect();
        assert!(counts.len() == BUCKETS.len() + 1 && counts.is_sorted(), "{counts:?}");
    }

    #[test]
    fn hostile_names_stay_in_their_labels() {
        let mut run = sample::run(vec![]);
        run.loads = vec![sample::mix()];
        run.loads[0].operations[0].name = "a\"} 1\\\nb\u{1b}".to_owned();
        let samples = page(&run);
        let operations: BTreeSet<&String> =
            samples.iter().filter_map(|(_, labels, _)| labels.get("operation")).collect();
        assert_eq!(operations.into_iter().collect::<Vec<_>>(), ["a\"} 1\\\\nb\\u{1b}", "tools/list"]);
    }

    #[test]
    fn a_run_without_load_tests_has_only_its_verdict() {
        let samples = page(&sample::run(vec![]));
        assert_eq!(samples, [("run_passed".to_owned(), Labels::new(), 0.0)]);
    }
}
