//! The metrics of a run, which formats of monitoring systems write.

use super::{outcome, text};
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

/// Metrics with the same name.
#[derive(Debug)]
pub(super) struct Family {
    /// Its name, without the prefix of the program.
    pub(super) name: &'static str,
    pub(super) kind: Kind,
    pub(super) help: &'static str,
    pub(super) samples: Vec<Sample>,
}

/// What a metric is.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Kind {
    Gauge,
    Counter,
    Histogram,
}

/// The value of a metric for some labels. The values of labels are on one line and of limited length.
#[derive(Debug)]
pub(super) struct Sample {
    pub(super) labels: Vec<(&'static str, String)>,
    pub(super) value: Value,
}

/// A value.
#[derive(Debug)]
pub(super) enum Value {
    Number(f64),
    Distribution(Distribution),
}

/// Durations in seconds.
#[derive(Debug)]
pub(super) struct Distribution {
    /// Limits of buckets, and the number of values up to each of them.
    pub(super) buckets: Vec<(f64, u64)>,
    pub(super) count: u64,
    pub(super) sum: f64,
}

/// The metrics of load tests and of their operations, and the number of cases by verdict.
pub(super) fn collect(run: &Run) -> Vec<Family> {
    let mut families = vec![gauge("run_passed", "Whether the run passed.", [sample(&[], number(run.passed()))])];
    if !run.cases.is_empty() {
        let counts = run.counts();
        let cases = [
            ("passed", counts.passed),
            ("failed", counts.failed),
            ("warned", counts.warned),
            ("noted", counts.noted),
            ("flaky", counts.flaky),
            ("blocked", counts.blocked),
            ("skipped", counts.skipped),
        ];
        let samples = cases.map(|(verdict, count)| sample(&[("verdict", verdict)], count as f64));
        families.push(gauge("cases", "Cases by verdict.", samples));
    }
    if !run.loads.is_empty() {
        push_loads(&mut families, &run.loads);
    }
    if run.loads.iter().any(|load| !load.operations.is_empty()) {
        push_operations(&mut families, &run.loads);
    }
    families
}

/// Name, help and value of a metric.
type Gauge = (&'static str, &'static str, fn(&LoadResult) -> f64);

fn push_loads(families: &mut Vec<Family>, loads: &[LoadResult]) {
    let gauges: [Gauge; 4] = [
        ("load_passed", "Whether the load test passed.", |load| number(load.passed())),
        ("load_duration_seconds", "Duration of the measurement.", |load| load.counted_ms as f64 / 1e3),
        ("load_offered_rate", "Offered calls per second.", |load| load.offered_rate),
        ("load_achieved_rate", "Calls with a result within the measurement, per second.", |load| load.achieved_rate),
    ];
    for (name, help, value) in gauges {
        families.push(gauge(name, help, loads.iter().map(|load| sample(&labels(load), value(load)))));
    }
    let calls = loads.iter().flat_map(|load| {
        let counts = [("ok", load.succeeded), ("error", outcome::errors(load)), ("unfinished", load.unfinished)];
        counts_of(&labels(load), "result", counts)
    });
    families.push(counter("load_calls_total", "Calls of the measurement by result.", calls));
    let errors = loads.iter().flat_map(|load| {
        counts_of(&labels(load), "kind", load.errors.iter().map(|(kind, count)| (kind.as_str(), *count)))
    });
    families.push(counter("load_errors_total", "Failed calls by kind of error.", errors));
    let thresholds = loads.iter().flat_map(|load| {
        let thresholds = load.thresholds.iter().map(|one| (one.threshold.as_str(), u64::from(one.passed)));
        counts_of(&labels(load), "threshold", thresholds)
    });
    families.push(gauge("load_threshold_passed", "Whether a threshold passed.", thresholds));
    let latencies = loads.iter().map(|load| distribution(&labels(load), &load.histogram, load.latency.as_ref()));
    let help = "Latencies from the scheduled start of the calls.";
    families.push(family("load_latency_seconds", Kind::Histogram, help, latencies));
}

fn push_operations(families: &mut Vec<Family>, loads: &[LoadResult]) {
    let all = || {
        loads.iter().flat_map(|load| {
            let labels = move |name| [&labels(load)[..], &[("operation", name)]].concat();
            load.operations.iter().map(move |operation| (labels(operation.name.as_str()), operation))
        })
    };
    let calls = all().flat_map(|(labels, operation)| {
        let counts = [("ok", operation.succeeded), ("error", operation.failed()), ("unfinished", operation.unfinished)];
        counts_of(&labels, "result", counts)
    });
    families.push(counter("operation_calls_total", "Executions of operations by result.", calls));
    let rates = all().map(|(labels, operation)| sample(&labels, operation.rate));
    families.push(gauge("operation_rate", "Successful executions of operations per second.", rates));
    let latencies =
        all().map(|(labels, operation)| distribution(&labels, &operation.histogram, operation.latency.as_ref()));
    families.push(family("operation_latency_seconds", Kind::Histogram, "Latencies of operations.", latencies));
}

fn labels(load: &LoadResult) -> [(&'static str, &str); 2] {
    [("load", &load.name), ("transport", &load.transport)]
}

fn number(yes: bool) -> f64 {
    f64::from(u8::from(yes))
}

fn family(name: &'static str, kind: Kind, help: &'static str, samples: impl IntoIterator<Item = Sample>) -> Family {
    Family { name, kind, help, samples: samples.into_iter().collect() }
}

fn gauge(name: &'static str, help: &'static str, samples: impl IntoIterator<Item = Sample>) -> Family {
    family(name, Kind::Gauge, help, samples)
}

fn counter(name: &'static str, help: &'static str, samples: impl IntoIterator<Item = Sample>) -> Family {
    family(name, Kind::Counter, help, samples)
}

fn sample(labels: &[(&'static str, &str)], value: f64) -> Sample {
    Sample { labels: bounded(labels), value: Value::Number(value) }
}

fn bounded(labels: &[(&'static str, &str)]) -> Vec<(&'static str, String)> {
    labels.iter().map(|(name, value)| (*name, text::bounded_line(value, MAX_LABEL))).collect()
}

/// One sample for each value of a label.
fn counts_of<'a>(
    labels: &[(&'static str, &str)],
    label: &'static str,
    counts: impl IntoIterator<Item = (&'a str, u64)>,
) -> Vec<Sample> {
    let of = |(value, count): (&str, u64)| sample(&[labels, &[(label, value)]].concat(), count as f64);
    counts.into_iter().map(of).collect()
}

fn distribution(labels: &[(&'static str, &str)], buckets: &[HistogramBucket], latency: Option<&Latency>) -> Sample {
    let within = |limit: u64| {
        let counts = buckets.iter().filter(|HistogramBucket(us, _)| *us <= limit).map(|bucket| bucket.1);
        counts.fold(0_u64, u64::saturating_add)
    };
    let count = within(u64::MAX);
    let distribution = Distribution {
        buckets: BUCKETS.iter().map(|limit| (*limit as f64 / 1e6, within(*limit))).collect(),
        count,
        sum: latency.map_or(0.0, |latency| latency.mean_us * count as f64 / 1e6),
    };
    Sample { labels: bounded(labels), value: Value::Distribution(distribution) }
}
