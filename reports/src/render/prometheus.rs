//! The results of a run in the text format of Prometheus (exposition format 0.0.4), as for a push gateway or the textfile
//! collector of the node exporter.

use std::fmt::Write as _;

use super::{
    Format, RenderError, Style,
    metrics::{self, Distribution, Kind, Value},
};
use crate::model::Run;

/// All metrics of a run. Their names have the prefix `mcp_workbench_`.
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
        let mut page = String::new();
        for family in metrics::collect(run) {
            let (name, kind) = (family.name, kind(family.kind));
            // Writing to a string cannot fail.
            let _ = writeln!(page, "# HELP mcp_workbench_{name} {}\n# TYPE mcp_workbench_{name} {kind}", family.help);
            for sample in family.samples {
                let labels: Vec<String> =
                    sample.labels.iter().map(|(name, value)| format!("{name}=\"{}\"", escaped(value))).collect();
                match sample.value {
                    Value::Number(value) => push(&mut page, name, &labels, value),
                    Value::Distribution(distribution) => push_distribution(&mut page, name, &labels, &distribution),
                }
            }
        }
        Ok(page)
    }
}

fn push(page: &mut String, name: &str, labels: &[String], value: f64) {
    let labels = if labels.is_empty() { String::new() } else { format!("{{{}}}", labels.join(",")) };
    let _ = writeln!(page, "mcp_workbench_{name}{labels} {value}");
}

fn push_distribution(page: &mut String, name: &str, labels: &[String], distribution: &Distribution) {
    let infinite = ("+Inf".to_owned(), distribution.count);
    let limits = distribution.buckets.iter().map(|(limit, count)| (limit.to_string(), *count));
    for (limit, count) in limits.chain([infinite]) {
        let labels = [labels, &[format!("le=\"{limit}\"")]].concat();
        push(page, &format!("{name}_bucket"), &labels, count as f64);
    }
    push(page, &format!("{name}_sum"), labels, distribution.sum);
    push(page, &format!("{name}_count"), labels, distribution.count as f64);
}

fn kind(kind: Kind) -> &'static str {
    match kind {
        Kind::Gauge => "gauge",
        Kind::Counter => "counter",
        Kind::Histogram => "histogram",
    }
}

/// The value of a label: backslashes, quotation marks and line feeds are escaped.
fn escaped(value: &str) -> String {
    value.replace('\\', r"\\").replace('"', "\\\"").replace('\n', r"\n")
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
        assert!(counts.len() == 20 && counts.is_sorted(), "{counts:?}");
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
