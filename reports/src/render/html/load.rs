//! Load tests: figures, and charts as inline SVG.
//!
//! A result without a histogram, as those of older versions, has one that is drawn from its percentiles.

use super::chart::{self, HEIGHT, Tick, TimeChart, WIDTH, unit};
use crate::{
    model::{HistogramBucket, Latency, LoadResult, OperationResult},
    render::{
        outcome::{self, duration, latency},
        text,
    },
};

/// Maximum number of kinds of errors.
const MAX_ERRORS: usize = 10;
/// Number of bars of a histogram.
const BARS: usize = 48;

/// A load test.
pub(super) struct LoadView {
    pub(super) name: String,
    pub(super) passed: bool,
    pub(super) shape: String,
    /// Names and values.
    pub(super) figures: Vec<(&'static str, String)>,
    /// Names and values of percentiles.
    pub(super) latencies: Vec<(&'static str, String)>,
    pub(super) curve: Option<Curve>,
    pub(super) histogram: Option<Histogram>,
    pub(super) over_time: Vec<TimeChart>,
    /// Resources of the server process.
    pub(super) process: Vec<String>,
    /// Name, counts, rate and latencies of each operation.
    pub(super) operations: Vec<[String; 9]>,
    pub(super) errors: Vec<ErrorBar>,
    /// Kinds of errors that are not shown.
    pub(super) more_errors: usize,
    /// Whether it passed, the threshold, and the measured value.
    pub(super) thresholds: Vec<(bool, String, String)>,
    pub(super) warnings: Vec<String>,
}

/// Latency by percentile.
pub(super) struct Curve {
    /// Attribute `points` of the line.
    pub(super) line: String,
    pub(super) dots: Vec<Dot>,
    pub(super) ticks: Vec<Tick>,
}

/// A percentile in the curve.
pub(super) struct Dot {
    pub(super) x: String,
    pub(super) y: String,
    pub(super) name: &'static str,
    pub(super) value: String,
}

/// Share of the calls by latency.
pub(super) struct Histogram {
    pub(super) bars: Vec<Bar>,
    pub(super) ticks: Vec<Tick>,
}

/// The calls between two percentiles.
pub(super) struct Bar {
    pub(super) x: String,
    pub(super) y: String,
    pub(super) width: String,
    pub(super) height: String,
    pub(super) label: String,
}

/// A kind of error.
pub(super) struct ErrorBar {
    pub(super) name: String,
    pub(super) count: u64,
    /// Width in a bar that is 100 wide.
    pub(super) width: String,
}

impl LoadView {
    pub(super) fn new(load: &LoadResult) -> Self {
        Self {
            name: text::bounded_line(&load.name, 200),
            passed: load.passed(),
            shape: format!(
                "{}, {}, {} counted",
                text::bounded_line(&load.transport, 40),
                text::bounded_line(&load.shape, 200),
                duration(load.counted_ms)
            ),
            figures: figures(load),
            latencies: load.latency.iter().flat_map(percentiles).map(|(name, _, us)| (name, latency(us))).collect(),
            curve: load.latency.as_ref().map(curve),
            histogram: load.latency.as_ref().map(|measured| histogram(measured, &load.histogram)),
            over_time: chart::over_time(load),
            process: outcome::process(load),
            operations: load.operations.iter().map(operation).collect(),
            errors: errors(load),
            more_errors: load.errors.len().saturating_sub(MAX_ERRORS),
            thresholds: load
                .thresholds
                .iter()
                .map(|one| {
                    (one.passed, text::bounded_line(&one.threshold, 200), text::bounded_line(&one.measured, 200))
                })
                .collect(),
            warnings: load.warnings.iter().map(|warning| text::line(warning)).collect(),
        }
    }
}

fn operation(operation: &OperationResult) -> [String; 9] {
    let latencies = operation.latency.map(|all| [all.p50_us, all.p95_us, all.p99_us, all.max_us]);
    let [p50, p95, p99, max] = latencies
        .map_or_else(|| std::array::from_fn(|_| "-".to_owned()), |latencies| latencies.map(|us| latency(us as f64)));
    let [sent, succeeded, failed] =
        [operation.sent, operation.succeeded, operation.failed()].map(|count| count.to_string());
    let name = text::bounded_line(&operation.name, 200);
    [name, sent, succeeded, failed, format!("{:.1}/s", operation.rate), p50, p95, p99, max]
}

fn figures(load: &LoadResult) -> Vec<(&'static str, String)> {
    let mut figures = vec![
        ("Offered", format!("{:.1}/s", load.offered_rate)),
        ("Achieved", format!("{:.1}/s", load.achieved_rate)),
        ("Calls sent", load.sent.to_string()),
        ("Succeeded", load.succeeded.to_string()),
        ("Errors", outcome::errors(load).to_string()),
        ("Unfinished", load.unfinished.to_string()),
    ];
    if let Some(notified) = load.notifications {
        figures.push(("Notifications", notified.count.to_string()));
        figures.push(("First notification, p99", latency(notified.first.p99_us as f64)));
        figures.push(("Longest gap", latency(notified.longest_gap.max_us as f64)));
    }
    figures
}

/// Names, shares of the calls that are not slower, and latencies in microseconds.
fn percentiles(measured: &Latency) -> [(&'static str, f64, f64); 7] {
    [
        ("min", 0.0, measured.min_us),
        ("p50", 0.5, measured.p50_us),
        ("p90", 0.9, measured.p90_us),
        ("p95", 0.95, measured.p95_us),
        ("p99", 0.99, measured.p99_us),
        ("p99.9", 0.999, measured.p999_us),
        ("max", 1.0, measured.max_us),
    ]
    .map(|(name, share, us)| (name, share, us as f64))
}

/// A logarithmic scale over the measured latencies.
struct Scale {
    from: f64,
    to: f64,
}

impl Scale {
    fn new(measured: &Latency) -> Self {
        let from = (measured.min_us.max(1) as f64).log10();
        let to = (measured.max_us.max(1) as f64).log10();
        // Equal latencies need some width too.
        let margin = ((to - from) * 0.05).max(0.1);
        Self { from: from - margin, to: to + margin }
    }

    /// Position between 0 and 1.
    fn at(&self, us: f64) -> f64 {
        ((us.max(1.0).log10() - self.from) / (self.to - self.from)).clamp(0.0, 1.0)
    }

    /// Round latencies with their positions, at most about eight.
    fn ticks(&self) -> Vec<(f64, String)> {
        let steps: &[f64] = if self.to - self.from > 3.0 { &[1.0] } else { &[1.0, 2.0, 5.0] };
        let decades = self.from.floor() as i32..=self.to.ceil() as i32;
        let all = decades.flat_map(|decade| steps.iter().map(move |step| step * 10_f64.powi(decade)));
        let inside = all.filter(|us| *us >= 1.0 && (self.from..=self.to).contains(&us.log10()));
        inside.map(|us| (self.at(us), tick_label(us))).collect()
    }
}

/// A round latency without needless digits.
fn tick_label(us: f64) -> String {
    match us {
        us if us < 1_000.0 => format!("{us:.0} µs"),
        us if us < 1_000_000.0 => format!("{:.0} ms", us / 1_000.0),
        us => format!("{:.0} s", us / 1_000_000.0),
    }
}

/// The horizontal axis counts nines, as tails are what matters: each step is ten times as rare.
fn curve(measured: &Latency) -> Curve {
    const NINES_OF_MAX: f64 = 3.6;
    let scale = Scale::new(measured);
    let dots: Vec<Dot> = percentiles(measured)
        .into_iter()
        .map(|(name, share, us)| {
            let nines = if share < 1.0 { -(1.0 - share).log10() } else { NINES_OF_MAX };
            let (x, y) = (unit(nines / NINES_OF_MAX * WIDTH), unit(HEIGHT - scale.at(us) * HEIGHT));
            Dot { x, y, name, value: latency(us) }
        })
        .collect();
    let line: Vec<String> = dots.iter().map(|dot| format!("{},{}", dot.x, dot.y)).collect();
    let ticks = scale.ticks().into_iter();
    let ticks = ticks.map(|(at, label)| Tick { at: unit(HEIGHT - at * HEIGHT), label }).collect();
    Curve { line: line.join(" "), dots, ticks }
}

/// The share of the calls by latency.
fn histogram(measured: &Latency, buckets: &[HistogramBucket]) -> Histogram {
    let scale = Scale::new(measured);
    let bars =
        if buckets.is_empty() { bars_of_percentiles(measured, &scale) } else { bars_of_buckets(buckets, &scale) };
    let ticks = scale.ticks().into_iter().map(|(at, label)| Tick { at: unit(at * WIDTH), label }).collect();
    Histogram { bars, ticks }
}

/// Bars of equal width on the logarithmic scale.
fn bars_of_buckets(buckets: &[HistogramBucket], scale: &Scale) -> Vec<Bar> {
    let mut bars: [Option<(u64, u64, u64)>; BARS] = [None; BARS];
    for HistogramBucket(us, count) in buckets {
        let position = ((scale.at(*us as f64) * BARS as f64) as usize).min(BARS - 1);
        let (low, high, sum) = bars[position].unwrap_or((*us, *us, 0));
        bars[position] = Some((low.min(*us), high.max(*us), sum.saturating_add(*count)));
    }
    let all = bars.iter().flatten().fold(0_u64, |all, (_, _, count)| all.saturating_add(*count)).max(1) as f64;
    let most = bars.iter().flatten().map(|(_, _, count)| *count).max().unwrap_or(1).max(1) as f64;
    let width = WIDTH / BARS as f64;
    let bar = |(position, bar): (usize, &Option<(u64, u64, u64)>)| {
        let (low, high, count) = (*bar)?;
        let height = (count as f64 / most * HEIGHT).max(1.0);
        Some(Bar {
            x: unit(position as f64 * width),
            y: unit(HEIGHT - height),
            width: unit(width),
            height: unit(height),
            label: format!(
                "{} to {}: {:.1} % of the calls",
                latency(low as f64),
                latency(high as f64),
                count as f64 / all * 100.0
            ),
        })
    };
    bars.iter().enumerate().filter_map(bar).collect()
}

/// One bar between each two percentiles. The area of a bar is its share of the calls.
fn bars_of_percentiles(measured: &Latency, scale: &Scale) -> Vec<Bar> {
    const MIN_WIDTH: f64 = 3.0;
    let percentiles = percentiles(measured);
    let shares: Vec<_> = percentiles
        .windows(2)
        .map(|pair| {
            let [(_, from_share, from), (_, to_share, to)] = [pair[0], pair[1]];
            let x = scale.at(from) * WIDTH;
            let width = (scale.at(to) * WIDTH - x).max(MIN_WIDTH);
            (x, width, to_share - from_share, format!("{} to {}", latency(from), latency(to)))
        })
        .collect();
    let densest = shares.iter().map(|(_, width, share, _)| share / width).fold(f64::MIN_POSITIVE, f64::max);
    let bars = shares.into_iter().map(|(x, width, share, range)| {
        let height = (share / width / densest * HEIGHT).max(1.0);
        Bar {
            x: unit(x),
            y: unit(HEIGHT - height),
            width: unit(width),
            height: unit(height),
            label: format!("{range}: {:.1} % of the calls", share * 100.0),
        }
    });
    bars.collect()
}

fn errors(load: &LoadResult) -> Vec<ErrorBar> {
    let mut kinds: Vec<_> = load.errors.iter().collect();
    kinds.sort_by_key(|(_, count)| std::cmp::Reverse(**count));
    let most = kinds.first().map_or(1, |(_, count)| **count).max(1) as f64;
    let bars = kinds.into_iter().take(MAX_ERRORS).map(|(kind, count)| ErrorBar {
        name: text::bounded_line(kind, 100),
        count: *count,
        width: unit(*count as f64 / most * 100.0),
    });
    bars.collect()
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::sample;

    #[test]
    fn the_curve_rises_from_the_minimum_to_the_maximum() {
        let curve = curve(&sample::load().latency.unwrap());
        let coordinates: Vec<(f64, f64)> =
            curve.dots.iter().map(|dot| (dot.x.parse().unwrap(), dot.y.parse().unwrap())).collect();
        assert!(coordinates.windows(2).all(|pair| pair[0].0 < pair[1].0 && pair[0].1 >= pair[1].1), "{coordinates:?}");
        assert_eq!((curve.dots[0].name, curve.dots[6].value.as_str()), ("min", "1.30 s"));
        assert!(curve.ticks.iter().any(|tick| tick.label == "10 ms"));
    }

    #[test]
    fn the_histogram_shows_two_groups_of_latencies_apart() {
        let measured = Latency { min_us: 1_000, max_us: 100_000, ..sample::load().latency.unwrap() };
        let buckets = [HistogramBucket(1_000, 30), HistogramBucket(1_001, 30), HistogramBucket(100_000, 20)];
        let bars = histogram(&measured, &buckets).bars;
        let shown: Vec<_> = bars.iter().map(|bar| (bar.height.as_str(), bar.label.as_str())).collect();
        assert_eq!(
            shown,
            [("180.0", "1.00 ms to 1.00 ms: 75.0 % of the calls"), ("60.0", "100 ms to 100 ms: 25.0 % of the calls")]
        );
        assert!(bars_of_buckets(&[HistogramBucket(u64::MAX, u64::MAX); 2], &Scale::new(&measured)).len() == 1);
    }

    #[test]
    fn equal_latencies_and_no_latencies_have_finite_charts() {
        for us in [0, 5, u64::MAX] {
            let measured = Latency {
                min_us: us,
                mean_us: us as f64,
                p50_us: us,
                p90_us: us,
                p95_us: us,
                p99_us: us,
                p999_us: us,
                max_us: us,
            };
            let histogram = histogram(&measured, &[]);
            let numbers = histogram.bars.iter().flat_map(|bar| [&bar.x, &bar.y, &bar.width, &bar.height]);
            assert!(
                numbers
                    .chain(curve(&measured).dots.iter().map(|dot| &dot.y))
                    .all(|number| { number.parse::<f64>().is_ok_and(f64::is_finite) })
            );
        }
    }
}
