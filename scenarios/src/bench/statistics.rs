//! Estimates with confidence intervals, by bootstrap with a seed.

use rand::{RngExt as _, SeedableRng as _};
use rand_chacha::ChaCha8Rng;
pub use reports::model::Estimate;

/// Number of resamples. More of them change the ends of a 95 % interval little.
const RESAMPLES: usize = 2_000;

/// Share of the lowest, and of the highest values that [`trimmed_mean`] omits.
const TRIMMED: f64 = 0.4;

/// The mean of the middle fifth of the values, a smooth form of their median: up to two fifths of the runs on one side may be
/// disturbed by another program.
/// `values` must not be empty.
fn trimmed_mean(values: &mut [f64]) -> f64 {
    values.sort_unstable_by(f64::total_cmp);
    let cut = (values.len() as f64 * TRIMMED) as usize;
    let kept = &values[cut..values.len() - cut];
    kept.iter().sum::<f64>() / kept.len() as f64
}

/// The median; 0 without values.
pub(super) fn median(mut values: Vec<f64>) -> f64 {
    values.sort_unstable_by(f64::total_cmp);
    match values.len() {
        0 => 0.0,
        count if count.is_multiple_of(2) => f64::midpoint(values[count / 2 - 1], values[count / 2]),
        count => values[count / 2],
    }
}

/// The location of independent values: their trimmed mean. `None` without two values.
#[must_use]
pub fn location(values: &[f64], seed: u64) -> Option<Estimate> {
    let count = values.len();
    if count < 2 {
        return None;
    }
    let value = trimmed_mean(&mut values.to_vec());
    let mut random = ChaCha8Rng::seed_from_u64(seed);
    let mut resample = vec![0.0; count];
    let estimates = (0..RESAMPLES).map(|_| {
        resample.fill_with(|| values[random.random_range(0..count)]);
        trimmed_mean(&mut resample)
    });
    // Resamples vary less than samples by this factor, which matters for few values.
    let correction = (count as f64 / (count - 1) as f64).sqrt();
    Some(interval(value, estimates.collect(), correction))
}

/// The slope of a least-squares line through values at the positions 0, 1, 2, …, per position. `None` below eight values.
///
/// Successive values depend on each other, as those of memory do, so the residuals are resampled in blocks.
#[must_use]
pub fn slope(values: &[f64], seed: u64) -> Option<Estimate> {
    let count = values.len();
    if count < 8 {
        return None;
    }
    let line = |values: &[f64]| {
        let middle = (count - 1) as f64 / 2.0;
        let mean = values.iter().sum::<f64>() / count as f64;
        let (products, squares) = values.iter().zip(0_u32..).fold((0.0, 0.0), |(products, squares), (value, at)| {
            let distance = f64::from(at) - middle;
            (products + distance * (value - mean), squares + distance * distance)
        });
        (mean - products / squares * middle, products / squares)
    };
    let (start, slope) = line(values);
    let fitted: Vec<f64> = (0..count).map(|at| start + slope * at as f64).collect();
    let residuals: Vec<f64> = values.iter().zip(&fitted).map(|(value, fitted)| value - fitted).collect();
    let block = (count as f64).sqrt().ceil() as usize;
    let mut random = ChaCha8Rng::seed_from_u64(seed);
    let slopes = (0..RESAMPLES).map(|_| {
        let mut resample = fitted.clone();
        for part in resample.chunks_mut(block) {
            let from = random.random_range(0..=count - block);
            part.iter_mut().zip(&residuals[from..]).for_each(|(value, residual)| *value += residual);
        }
        line(&resample).1
    });
    Some(interval(slope, slopes.collect(), 1.0))
}

/// The 2.5th and the 97.5th percentile of the estimates, with their distance from the value multiplied.
fn interval(value: f64, mut estimates: Vec<f64>, correction: f64) -> Estimate {
    estimates.sort_unstable_by(f64::total_cmp);
    let at = |quantile: f64| estimates[((estimates.len() - 1) as f64 * quantile).round() as usize];
    let end = |quantile| value + (at(quantile) - value) * correction;
    Estimate { value, low: end(0.025).min(value), high: end(0.975).max(value) }
}

#[cfg(test)]
mod tests {
    use super::*;

    /// A normal value: the sum of twelve uniform ones.
    fn normal(random: &mut ChaCha8Rng) -> f64 {
        (0..12).map(|_| random.random_range(-0.5..0.5)).sum::<f64>()
    }

    #[test]
    fn the_interval_contains_the_location_in_about_19_of_20_samples() {
        let mut random = ChaCha8Rng::seed_from_u64(1);
        let contained = (0..200).filter(|seed| {
            let values: Vec<f64> = (0..20).map(|_| 3.0 + normal(&mut random)).collect();
            let found = location(&values, *seed).unwrap();
            (found.low..=found.high).contains(&3.0)
        });
        let contained = contained.count();
        assert!((180..=198).contains(&contained), "{contained} of 200");
    }

    #[test]
    fn a_fifth_of_disturbed_values_does_not_move_the_location() {
        let mut values: Vec<f64> = (0..20).map(|number| f64::from(number % 5)).collect();
        values[3] = 1e6;
        values[9] = -1e6;
        values[14] = 1e6;
        let found = location(&values, 1).unwrap();
        assert!((1.0..3.0).contains(&found.value), "{found:?}");
        assert_eq!(location(&values, 1), Some(found), "the seed reproduces it");
        assert_eq!(location(&[1.0], 1), None);
    }

    #[test]
    fn the_slope_of_values_that_depend_on_each_other_is_not_overrated() {
        let mut random = ChaCha8Rng::seed_from_u64(2);
        let (mut flat, mut rising) = (0, 0);
        for seed in 0..100 {
            let mut level = 0.0;
            let values: Vec<f64> = (0..120)
                .map(|_| {
                    level = 0.5 * level + normal(&mut random);
                    100.0 + level
                })
                .collect();
            let leaking: Vec<f64> = values.iter().zip(0..).map(|(value, at)| value + 0.1 * f64::from(at)).collect();
            let (steady, leaking) = (slope(&values, seed).unwrap(), slope(&leaking, seed).unwrap());
            flat += usize::from((steady.low..=steady.high).contains(&0.0));
            rising += usize::from(leaking.low > 0.0 && (leaking.low..=leaking.high).contains(&0.1));
        }
        assert!(flat >= 85 && rising >= 85, "{flat} {rising}");
        assert_eq!(slope(&[1.0; 7], 1), None);
    }
}
