//! Measures two servers in turn. They are compared by the median ratio of adjacent measurements, so that other load of the
//! machine affects both, and by the spread of the rounds.

use serde::Serialize;

/// One of the two servers.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Side {
    Mock,
    Baseline,
}

/// Result of all rounds.
#[derive(Debug, Clone, Copy, PartialEq, Serialize)]
pub(super) struct Comparison {
    /// Median calls per second of the mock server.
    pub(super) mock_per_second: f64,
    /// Median calls per second of the baseline server.
    pub(super) baseline_per_second: f64,
    /// Median ratio of the rounds, mock to baseline.
    pub(super) ratio: f64,
    /// Minimum ratio of the rounds.
    pub(super) lowest: f64,
    /// Maximum ratio of the rounds.
    pub(super) highest: f64,
}

/// Measures both servers in each round, in alternating order, so that heat, caches and reduced clock rates affect both.
pub(super) fn interleave<E>(rounds: usize, mut measure: impl FnMut(Side) -> Result<f64, E>) -> Result<Comparison, E> {
    let (mut mocks, mut baselines, mut ratios) = (Vec::new(), Vec::new(), Vec::new());
    for round in 0..rounds.max(1) {
        let (mock, baseline) = if round.is_multiple_of(2) {
            let mock = measure(Side::Mock)?;
            (mock, measure(Side::Baseline)?)
        } else {
            let baseline = measure(Side::Baseline)?;
            (measure(Side::Mock)?, baseline)
        };
        mocks.push(mock);
        baselines.push(baseline);
        ratios.push(mock / baseline);
    }
    let extreme = |pick: fn(f64, f64) -> f64| ratios.iter().copied().reduce(pick).unwrap_or(f64::NAN);
    let (lowest, highest) = (extreme(f64::min), extreme(f64::max));
    Ok(Comparison {
        mock_per_second: median(&mut mocks),
        baseline_per_second: median(&mut baselines),
        ratio: median(&mut ratios),
        lowest,
        highest,
    })
}

impl Comparison {
    /// Difference of maximum and minimum, relative to the ratio.
    pub(super) fn spread(&self) -> f64 {
        (self.highest - self.lowest) / self.ratio
    }
}

/// The median.
pub(in crate::bench) fn median(figures: &mut [f64]) -> f64 {
    figures.sort_by(f64::total_cmp);
    let middle = figures.len() / 2;
    if figures.len().is_multiple_of(2) { f64::midpoint(figures[middle - 1], figures[middle]) } else { figures[middle] }
}

/// Slope of the regression line.
pub(super) fn slope(points: &[(f64, f64)]) -> f64 {
    let count = points.len() as f64;
    let mean = |pick: fn(&(f64, f64)) -> f64| points.iter().map(pick).sum::<f64>() / count;
    let (x, y) = (mean(|point| point.0), mean(|point| point.1));
    let above: f64 = points.iter().map(|point| (point.0 - x) * (point.1 - y)).sum();
    let below: f64 = points.iter().map(|point| (point.0 - x).powi(2)).sum();
    if below == 0.0 { 0.0 } else { above / below }
}

#[cfg(test)]
mod tests {
    use std::convert::Infallible;

    use super::*;

    #[test]
    fn takes_the_median_of_adjacent_ratios_and_alternates_the_order() {
        // The machine is half as fast after the first round, with an outlier in the third.
        let mut figures = [80.0, 100.0, 50.0, 41.0, 1.0, 50.0].into_iter();
        let mut order = Vec::new();
        let compared = interleave::<Infallible>(3, |side| {
            order.push(side);
            Ok(figures.next().unwrap())
        })
        .unwrap();
        use Side::{Baseline, Mock};
        assert_eq!(order, [Mock, Baseline, Baseline, Mock, Mock, Baseline]);
        assert_eq!((compared.ratio, compared.lowest, compared.highest), (0.8, 0.02, 0.82));
        assert_eq!((compared.mock_per_second, compared.baseline_per_second), (41.0, 50.0));
        assert!((compared.spread() - 1.0).abs() < 1e-9);
    }

    #[test]
    fn a_slope_is_growth_for_each_call() {
        assert_eq!(slope(&[(0.0, 10.0), (100.0, 210.0), (200.0, 410.0)]), 2.0);
        assert_eq!(slope(&[(5.0, 1.0), (5.0, 9.0)]), 0.0);
        assert_eq!(slope(&[(0.0, 7.0), (1.0, 7.0)]), 0.0);
    }
}
