//! Two servers measured in turn, and what may be said of the two: the median of the ratios of neighbouring figures, so
//! that whatever else the machine does meets both, and how far the rounds lie apart.

use serde::Serialize;

/// Whose figure is taken.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Side {
    Mock,
    Bare,
}

/// What the rounds say.
#[derive(Debug, Clone, Copy, PartialEq, Serialize)]
pub(super) struct Comparison {
    /// Calls a second of the mock, the median.
    pub(super) mock_per_second: f64,
    /// Calls a second of the bare server, the median.
    pub(super) bare_per_second: f64,
    /// The median of the rounds' ratios, mock to bare.
    pub(super) ratio: f64,
    /// The lowest ratio of a round.
    pub(super) lowest: f64,
    /// The highest ratio of a round.
    pub(super) highest: f64,
}

/// Measures both sides in each round, and changes from round to round who comes first: what a first run leaves behind
/// (heat, caches, a clock that has been turned down) would else always fall to the same side.
pub(super) fn interleave<E>(rounds: usize, mut measure: impl FnMut(Side) -> Result<f64, E>) -> Result<Comparison, E> {
    let (mut mocks, mut bares, mut ratios) = (Vec::new(), Vec::new(), Vec::new());
    for round in 0..rounds.max(1) {
        let (mock, bare) = if round.is_multiple_of(2) {
            let mock = measure(Side::Mock)?;
            (mock, measure(Side::Bare)?)
        } else {
            let bare = measure(Side::Bare)?;
            (measure(Side::Mock)?, bare)
        };
        mocks.push(mock);
        bares.push(bare);
        ratios.push(mock / bare);
    }
    let extreme = |pick: fn(f64, f64) -> f64| ratios.iter().copied().reduce(pick).unwrap_or(f64::NAN);
    let (lowest, highest) = (extreme(f64::min), extreme(f64::max));
    Ok(Comparison {
        mock_per_second: median(&mut mocks),
        bare_per_second: median(&mut bares),
        ratio: median(&mut ratios),
        lowest,
        highest,
    })
}

impl Comparison {
    /// How far the rounds lie apart, as a part of the ratio.
    pub(super) fn spread(&self) -> f64 {
        (self.highest - self.lowest) / self.ratio
    }
}

/// The middle one, or the mean of the two in the middle.
pub(in crate::bench) fn median(figures: &mut [f64]) -> f64 {
    figures.sort_by(f64::total_cmp);
    let middle = figures.len() / 2;
    if figures.len().is_multiple_of(2) { f64::midpoint(figures[middle - 1], figures[middle]) } else { figures[middle] }
}

/// The slope of the line that fits best through these points: growth for each unit of `x`.
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
    fn takes_the_median_of_neighbouring_ratios_and_changes_who_is_first() {
        // A machine that becomes twice as slow after the first round, and hiccups once in the third.
        let mut figures = [80.0, 100.0, 50.0, 41.0, 1.0, 50.0].into_iter();
        let mut order = Vec::new();
        let compared = interleave::<Infallible>(3, |side| {
            order.push(side);
            Ok(figures.next().unwrap())
        })
        .unwrap();
        use Side::{Bare, Mock};
        assert_eq!(order, [Mock, Bare, Bare, Mock, Mock, Bare]);
        assert_eq!((compared.ratio, compared.lowest, compared.highest), (0.8, 0.02, 0.82));
        assert_eq!((compared.mock_per_second, compared.bare_per_second), (41.0, 50.0));
        assert!((compared.spread() - 1.0).abs() < 1e-9);
    }

    #[test]
    fn a_slope_is_growth_for_each_call() {
        assert_eq!(slope(&[(0.0, 10.0), (100.0, 210.0), (200.0, 410.0)]), 2.0);
        assert_eq!(slope(&[(5.0, 1.0), (5.0, 9.0)]), 0.0);
        assert_eq!(slope(&[(0.0, 7.0), (1.0, 7.0)]), 0.0);
    }
}
