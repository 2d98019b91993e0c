//! Samples of real processes, and summaries of synthetic ones.

use std::process::{Child, Command, Stdio};

use serde_json::json;

use super::*;
use crate::model::{Closed, Load, Shape};

/// A shell with a child, which are killed when this is dropped.
struct Tree(Child);

impl Tree {
    fn start() -> Self {
        let mut command = Command::new("sh");
        command.args(["-c", "sleep 60 & echo started; wait"]).stdout(Stdio::piped());
        let mut shell = command.spawn().unwrap();
        let mut line = [0; 8];
        std::io::Read::read_exact(&mut shell.stdout.take().unwrap(), &mut line).unwrap();
        Self(shell)
    }

    fn pid(&self) -> i32 {
        i32::try_from(self.0.id()).unwrap()
    }
}

impl Drop for Tree {
    fn drop(&mut self) {
        for child in descendants(self.pid()) {
            child.stop(client::process::Stop::Kill).unwrap();
        }
        let _ = self.0.kill();
        let _ = self.0.wait();
    }
}

fn samples(count: u32, resident_kb: impl Fn(u32) -> u64) -> Vec<Sample> {
    let sample = |number: u32| Sample {
        at: Duration::from_millis(1_000 * u64::from(number) + 3),
        usage: ResourceUsage {
            processes: 2,
            resident_kb: resident_kb(number),
            peak_kb: resident_kb(number),
            cpu: Duration::from_millis(250) * number,
            own_cpu: Duration::from_millis(250) * number,
            fds: Some(10 + u64::from(number)),
            threads: 5,
        },
    };
    (0..count).map(sample).collect()
}

fn result(points: usize, interval_ms: u64) -> LoadResult {
    let points: Vec<_> = (0..points as u64)
        .map(|at| json!({ "at_ms": at * interval_ms, "sent": 1, "succeeded": 1, "errors": 0 }))
        .collect();
    let result = json!({ "name": "echo", "transport": "stdio", "shape": "", "counted_ms": 1, "offered": 1, "sent": 1,
        "succeeded": 1, "errors": {}, "unfinished": 0, "offered_rate": 1.0, "achieved_rate": 1.0, "thresholds": [],
        "warnings": [], "interval_ms": interval_ms, "series": points });
    serde_json::from_value(result).unwrap()
}

fn plan(threshold: &str) -> LoadPlan {
    let shape = Shape::Closed(Closed::new(1));
    let mut load = Load::new("echo", shape, mock_servers::HumanDuration::from_millis(1_000));
    load.thresholds = vec![threshold.to_owned()];
    LoadPlan::new(&load).unwrap()
}

#[test]
fn a_process_is_sampled_with_its_descendants() {
    let tree = Tree::start();
    let alone = SampledProcesses { roots: Vec::new(), supervisors: vec![tree.pid()] }.usage().unwrap();
    let both = SampledProcesses::tree(tree.pid()).usage().unwrap();
    assert_eq!((alone.processes, both.processes), (1, 2));
    assert!(alone.resident_kb > 0 && both.resident_kb > alone.resident_kb, "{alone:?} {both:?}");
    assert!(both.threads >= 2 && both.fds.is_some_and(|fds| fds >= 4), "{both:?}");
    let pid = tree.pid();
    drop(tree);
    assert_eq!(SampledProcesses::tree(pid).usage(), None);
}

#[test]
fn a_leak_is_seen_and_steady_memory_is_none() {
    let leaking = summary(&samples(30, |number| 50_000 + 100 * u64::from(number))).unwrap();
    let growth = leaking.rss_growth.unwrap();
    // 100 KiB per second.
    assert!((growth.value - 6_144_000.0).abs() < 1_000.0 && growth.low > 6_000_000.0, "{growth:?}");
    assert_eq!((leaking.rss_first_kb, leaking.rss_last_kb, leaking.rss_max_kb), (50_000, 52_900, 52_900));
    assert_eq!((leaking.cpu_percent, leaking.fds_first, leaking.fds_last), (25.0, Some(10), Some(39)));
    let sawtooth = summary(&samples(60, |number| 50_000 + 100 * u64::from(number % 10))).unwrap().rss_growth.unwrap();
    assert!(sawtooth.low < 0.0 && sawtooth.high > 0.0, "{sawtooth:?}");
    assert_eq!(summary(&samples(7, |_| 1)).unwrap().rss_growth, None);
    assert_eq!(summary(&[]), None);
}

#[test]
fn intervals_have_the_maxima_and_the_cpu_time_of_their_samples() {
    let mut result = result(3, 2_000);
    add(&mut result, &samples(6, |number| [10, 30, 20, 5, 6, 7][number as usize]));
    let points: Vec<_> = result.series.iter().map(|point| (point.rss_kb, point.cpu_ms, point.fds)).collect();
    let expected = [(30, 250, 11), (20, 500, 13), (7, 500, 15)];
    assert_eq!(points, expected.map(|(rss, cpu, fds)| (Some(rss), Some(cpu), Some(fds))));
}

#[test]
fn a_growth_threshold_fails_for_a_leak_and_without_samples() {
    let plan = plan("rss_growth < 1MB/min");
    let threshold = &plan.thresholds()[0];
    let judged = |usage: Option<ProcessUsage>| {
        let result = threshold.evaluate_usage(usage.as_ref()).unwrap();
        (result.passed, result.measured)
    };
    let steady = summary(&samples(30, |_| 50_000));
    assert_eq!(judged(steady), (true, "rss_growth = 0.00 MB/min (95 % interval 0.00 to 0.00)".to_owned()));
    let (passed, measured) = judged(summary(&samples(30, |number| 50_000 + 100 * u64::from(number))));
    assert!(!passed && measured.starts_with("rss_growth = 6.14 MB/min"), "{measured}");
    let (passed, measured) = judged(summary(&samples(5, |_| 50_000)));
    assert!(!passed && measured.contains("5 samples"), "{measured}");
    assert!(!judged(None).0);
    assert!("p99 < 1ms".parse::<crate::bench::Threshold>().unwrap().evaluate_usage(None).is_none());
}

#[test]
fn the_sampler_stops_at_once_and_keeps_its_samples() {
    let tree = Tree::start();
    let sampler = Sampler::start(SampledProcesses::tree(tree.pid()), Duration::ZERO);
    let mut result = result(1, 1_000);
    result.thresholds = vec![reports::model::ThresholdResult {
        threshold: "rss_growth < 1MB/min".to_owned(),
        measured: "rss_growth is unknown".to_owned(),
        passed: false,
    }];
    // The first sample is due at once; it may not be taken before the end, and then there is none.
    sampler.finish(&mut result, &plan("rss_growth < 1MB/min"));
    assert!(result.process.is_none_or(|usage| usage.processes_max == 2), "{result:?}");
    assert!(!result.thresholds[0].passed, "{result:?}");
    Sampler::start(SampledProcesses::default(), Duration::ZERO).finish(&mut result, &plan("rss_growth < 1MB/min"));
    assert!(result.warnings.is_empty());
}
