//! Comparisons of synthetic runs.

use rand::{RngExt as _, SeedableRng as _};
use rand_chacha::ChaCha8Rng;
use serde_json::json;

use super::*;

fn result(p50: f64, succeeded: u64) -> LoadResult {
    let us = p50.round() as u64;
    let latency = json!({ "min_us": us / 2, "mean_us": p50, "p50_us": us, "p90_us": us * 2, "p95_us": us * 2,
        "p99_us": us * 3, "p999_us": us * 3, "max_us": us * 3 });
    let result = json!({ "name": "echo", "transport": "stdio", "shape": "closed loop, 1 user", "counted_ms": 500,
        "offered": 100, "sent": 100, "succeeded": succeeded, "errors": {}, "unfinished": 0, "offered_rate": 100.0,
        "achieved_rate": 1e6 / p50, "latency": latency, "thresholds": [], "warnings": [] });
    serde_json::from_value(result).unwrap()
}

/// Twenty pairs on a noisy machine: it becomes slower by half during the comparison, each run varies by up to 4 %, and one
/// run in twenty takes twice as long. Responses of B take `factor` times as long.
fn noisy_pairs(factor: f64, seed: u64) -> Vec<[LoadResult; 2]> {
    let mut random = ChaCha8Rng::seed_from_u64(seed);
    let mut time = 0.0;
    let pairs = (0..20).map(|pair| {
        let mut runs = [0.0; 2];
        for side in order(pair) {
            time += 1.0;
            let disturbance = if random.random_bool(0.05) { 2.0 } else { 1.0 };
            let noise = 1.0 + random.random_range(-0.04..0.04);
            let own = if side == Side::B { factor } else { 1.0 };
            runs[usize::from(side == Side::B)] = 20_000.0 * own * (1.0 + time / 80.0) * noise * disturbance;
        }
        runs.map(|p50| result(p50, 100))
    });
    pairs.collect()
}

fn compare(pairs: &[[LoadResult; 2]], metric: CompareMetric) -> Result<PairedComparison, CompareError> {
    let servers = ["a".to_owned(), "b".to_owned()];
    PairedRuns { servers, pairs }.compare(Decision { metric, tolerance: 0.02, seed: 1 })
}

fn verdicts(factor: f64, wanted: Difference) -> usize {
    let verdict = |seed| {
        let pairs = noisy_pairs(factor, seed);
        let runs = PairedRuns { servers: [String::new(), String::new()], pairs: &pairs };
        let decision = Decision { metric: CompareMetric::P50, tolerance: 0.02, seed };
        // One metric: the bootstrap of all of them takes seconds without optimization.
        let ratio = runs.ratio(CompareMetric::P50, decision).unwrap();
        Judged::new(&ratio, (&runs.server(0), &runs.server(1)), decision.tolerance).difference
    };
    (0..20).filter(|seed| verdict(*seed) == wanted).count()
}

#[test]
fn equal_servers_do_not_differ_on_a_noisy_machine() {
    assert!(verdicts(1.0, Difference::None) >= 19);
}

#[test]
fn a_server_that_is_five_percent_slower_is_worse() {
    assert!(verdicts(1.05, Difference::Worse) >= 18);
    assert!(verdicts(1.0 / 1.05, Difference::Better) >= 18);
}

#[test]
fn the_order_alternates() {
    assert_eq!([order(0), order(1)], [[Side::A, Side::B], [Side::B, Side::A]]);
}

#[test]
fn the_verdict_names_the_difference_and_its_interval() {
    let steady = |a: f64, b: f64| -> Vec<_> { (0..10).map(|_| [result(a, 100), result(b, 100)]).collect() };
    for (b, metric, difference, verdict) in [
        (1_052.0, CompareMetric::P50, Difference::Worse, "B is 5.2 % slower (p50, 95 % interval 5.2 to 5.2 %)"),
        (900.0, CompareMetric::Mean, Difference::Better, "B is 10.0 % faster (mean, 95 % interval 10.0 to 10.0 %)"),
        (
            1_250.0,
            CompareMetric::AchievedRate,
            Difference::Worse,
            "B is 20.0 % lower in rate (achieved_rate, 95 % interval 20.0 to 20.0 %)",
        ),
        (
            1_000.0,
            CompareMetric::P50,
            Difference::None,
            "no difference (p50 of B +0.0 %, 95 % interval +0.0 to +0.0 %)",
        ),
        (
            1_010.0,
            CompareMetric::P50,
            Difference::None,
            "no difference above 2 % (p50 of B +1.0 %, 95 % interval +1.0 to +1.0 %)",
        ),
    ] {
        let found = compare(&steady(1_000.0, b), metric).unwrap();
        assert_eq!((found.difference, found.verdict.as_str()), (difference, verdict));
        assert_eq!(found.metrics.iter().filter(|one| one.decides).count(), 1);
    }
}

#[test]
fn more_failed_calls_are_worse_whatever_the_latency() {
    let pairs: Vec<_> = (0..10).map(|_| [result(1_000.0, 100), result(500.0, 90)]).collect();
    let found = compare(&pairs, CompareMetric::P50).unwrap();
    assert_eq!(found.difference, Difference::Worse);
    assert_eq!(found.verdict, "B is worse: 10.0 % of its calls failed, and 0.0 % of those of A");
    assert!(found.warnings[0].contains("100 of 1000 calls of B failed"), "{:?}", found.warnings);
}

#[test]
fn runs_without_results_have_no_verdict() {
    let pairs: Vec<_> = (0..8).map(|_| [result(1_000.0, 100), result(500.0, 0)]).collect();
    let error = compare(&pairs, CompareMetric::P50).unwrap_err();
    assert!(error.to_string().contains("only 0 of 8 pairs"), "{error}");
}

#[test]
fn an_interval_that_is_too_wide_is_a_warning() {
    let mut random = ChaCha8Rng::seed_from_u64(3);
    let mut run = || result(1_000.0 * random.random_range(0.5..2.0), 100);
    let pairs: Vec<_> = (0..8).map(|_| [run(), run()]).collect();
    let found = compare(&pairs, CompareMetric::P50).unwrap();
    assert_eq!(found.difference, Difference::None);
    let needs_more = |pairs: &[[LoadResult; 2]]| {
        let servers = [String::new(), String::new()];
        let decision = Decision { metric: CompareMetric::P50, tolerance: 0.02, seed: 1 };
        PairedRuns { servers, pairs }.needs_more_pairs(decision)
    };
    assert!(needs_more(&pairs));
    let similar: Vec<_> = (0..8).map(|_| [result(1_000.0, 100), result(1_010.0, 100)]).collect();
    assert!(!needs_more(&similar));
    // Varies by more than the tolerance, but the difference is much larger.
    let far: Vec<_> =
        (0..8).map(|pair| [result(1_000.0, 100), result(3_000.0 + 100.0 * f64::from(pair), 100)]).collect();
    assert!(!needs_more(&far));
    assert!(found.warnings.iter().any(|warning| warning.contains("the interval is wide")), "{:?}", found.warnings);
}
