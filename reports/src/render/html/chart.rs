//! Area of the charts of load tests, and the charts over time: calls, latencies, and the memory of the server process.

use crate::{
    model::{LoadPoint, LoadResult},
    render::outcome::{duration, latency},
};

/// Width and height of the area of a chart, in units of its view box; axes are outside.
pub(super) const WIDTH: f64 = 480.0;
pub(super) const HEIGHT: f64 = 180.0;

/// A line of the grid.
pub(super) struct Tick {
    pub(super) at: String,
    pub(super) label: String,
}

/// A coordinate.
pub(super) fn unit(value: f64) -> String {
    format!("{value:.1}")
}

/// Values over the intervals of a load test.
pub(super) struct TimeChart {
    pub(super) caption: &'static str,
    /// Name, and attribute `points`, of each line.
    pub(super) lines: Vec<(&'static str, String)>,
    pub(super) ticks: Vec<Tick>,
    /// Time at the right end.
    pub(super) end: String,
}

/// The name of a line, and its value in an interval.
type Line = (&'static str, fn(&LoadPoint, f64) -> Option<f64>);

/// A caption, its lines, and the label of a value.
type Chart = (&'static str, &'static [Line], fn(f64) -> String);

/// The charts. The seconds of an interval turn counts into rates.
const CHARTS: [Chart; 3] = [
    (
        "Calls per second over time",
        &[
            ("succeeded", |point, seconds| Some(point.succeeded as f64 / seconds)),
            ("errors", |point, seconds| Some(point.errors as f64 / seconds)),
        ],
        |value| format!("{value:.0}/s"),
    ),
    (
        "Latency over time",
        &[("p50", |point, _| point.p50_us.map(|us| us as f64)), ("p99", |point, _| point.p99_us.map(|us| us as f64))],
        latency,
    ),
    (
        "Memory of the server process over time",
        &[("RSS", |point, _| point.rss_kb.map(|kb| kb as f64 / 1_024.0))],
        |value| format!("{value:.1} MiB"),
    ),
];

/// The charts of a load test, without those that have fewer than two values.
pub(super) fn over_time(load: &LoadResult) -> Vec<TimeChart> {
    let seconds = load.interval_ms as f64 / 1_000.0;
    // Intervals after the end of the measurement have only its last responses.
    let counted = load.series.iter().filter(|point| point.at_ms < load.counted_ms).collect::<Vec<_>>();
    let length = counted.last().map_or(0, |point| point.at_ms);
    if seconds == 0.0 || length == 0 {
        return Vec::new();
    }
    CHARTS.iter().filter_map(|chart| drawn(chart, &counted, seconds, length)).collect()
}

fn drawn((caption, lines, label): &Chart, points: &[&LoadPoint], seconds: f64, length: u64) -> Option<TimeChart> {
    let values: Vec<(&'static str, Vec<(f64, f64)>)> = lines
        .iter()
        .map(|(name, value)| {
            let at = |point: &LoadPoint| point.at_ms as f64 / length as f64 * WIDTH;
            (*name, points.iter().filter_map(|point| Some((at(point), value(point, seconds)?))).collect())
        })
        .collect();
    let most = values.iter().flat_map(|(_, line)| line).fold(0.0, |most: f64, (_, value)| most.max(*value));
    let is_drawn = values.iter().any(|(_, line)| line.len() > 1) && most > 0.0;
    let y = |value: f64| HEIGHT - value / most * HEIGHT;
    let text = |line: Vec<(f64, f64)>| {
        line.iter().map(|(x, value)| format!("{},{}", unit(*x), unit(y(*value)))).collect::<Vec<_>>().join(" ")
    };
    is_drawn.then(|| TimeChart {
        caption,
        lines: values.into_iter().map(|(name, line)| (name, text(line))).collect(),
        ticks: [0.0, 0.5, 1.0].map(|share| Tick { at: unit(y(share * most)), label: label(share * most) }).into(),
        end: duration(length),
    })
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::sample;

    #[test]
    fn lines_start_at_the_left_and_the_largest_value_is_at_the_top() {
        let mut load = sample::load();
        let first = load.series[0];
        load.series.push(LoadPoint { at_ms: 1_000, succeeded: 38, p50_us: None, rss_kb: Some(102_400), ..first });
        load.series.push(LoadPoint { at_ms: 10_000, succeeded: 1_000, ..first });
        let charts = over_time(&load);
        let lines: Vec<_> = charts.iter().map(|chart| chart.lines[0].1.as_str()).collect();
        assert_eq!(lines, ["0.0,90.0 480.0,0.0", "0.0,60.0", "0.0,90.0 480.0,0.0"]);
        assert_eq!((charts[2].ticks[2].label.as_str(), charts[2].end.as_str()), ("100.0 MiB", "1.0 s"));
    }

    #[test]
    fn one_interval_has_no_chart() {
        assert!(over_time(&sample::load()).is_empty());
        assert!(over_time(&LoadResult { interval_ms: 0, ..sample::load() }).is_empty());
    }
}
