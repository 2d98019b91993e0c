//! Memory, CPU time, descriptors and threads of a local server process with its descendants, sampled during a load test.
//!
//! The samples come from `/proc`, so that they exist on Linux only. Another system is a warning in the result.

use std::{
    path::Path,
    sync::mpsc::{Receiver, RecvTimeoutError, Sender, channel},
    thread,
    time::{Duration, Instant},
};

use client::process::{
    subtree::{ResourceUsage, descendants, process},
    supervisor,
};
use reports::model::{LoadPoint, LoadResult, ProcessUsage};

use super::{LoadPlan, statistics::slope};

/// Time between two samples.
const INTERVAL: Duration = Duration::from_secs(1);

/// Seconds in a minute, the unit of time of the growth.
const MINUTE: f64 = 60.0;

/// The processes to sample.
#[derive(Debug, Clone, Default)]
pub(crate) struct SampledProcesses {
    /// Processes that are sampled with their descendants.
    pub(crate) roots: Vec<i32>,
    /// Processes of which only the descendants are sampled.
    pub(crate) supervisors: Vec<i32>,
}

impl SampledProcesses {
    /// A process with its descendants.
    pub(crate) fn tree(pid: i32) -> Self {
        Self { roots: vec![pid], supervisors: Vec::new() }
    }

    /// The servers that the client started. With a supervisor their process ids are those of supervisors.
    pub(crate) fn started(pids: Vec<i32>) -> Self {
        if supervisor::is_available() {
            Self { roots: Vec::new(), supervisors: pids }
        } else {
            Self { roots: pids, supervisors: Vec::new() }
        }
    }

    fn is_empty(&self) -> bool {
        self.roots.is_empty() && self.supervisors.is_empty()
    }

    /// The sum of all processes; `None` after their exit.
    fn usage(&self) -> Option<ResourceUsage> {
        let roots = self.roots.iter().filter_map(|pid| process(*pid));
        let below = self.roots.iter().chain(&self.supervisors).flat_map(|pid| descendants(*pid));
        roots.chain(below).filter_map(|entry| entry.usage()).reduce(ResourceUsage::plus)
    }
}

/// A sample, and its time since the start of the measurement.
#[derive(Debug, Clone, Copy, PartialEq)]
struct Sample {
    at: Duration,
    usage: ResourceUsage,
}

/// Takes samples on a thread of its own, until it is finished or dropped.
pub(crate) struct Sampler {
    running: Option<(Sender<()>, thread::JoinHandle<Vec<Sample>>)>,
    /// Whether there are processes, but no `/proc`.
    unsupported: bool,
}

impl Sampler {
    /// Starts taking samples. The first one is taken at the end of the warm-up.
    pub(crate) fn start(processes: SampledProcesses, warmup: Duration) -> Self {
        let unsupported = !processes.is_empty() && !Path::new("/proc/self/stat").exists();
        if processes.is_empty() || unsupported {
            return Self { running: None, unsupported };
        }
        let start = Instant::now() + warmup;
        let (stop, stopped) = channel();
        let spawned = thread::Builder::new().name("usage".to_owned()).spawn(move || take(&processes, start, &stopped));
        Self { running: spawned.ok().map(|thread| (stop, thread)), unsupported }
    }

    /// Stops, and adds the samples to the result of the load test.
    pub(crate) fn finish(self, result: &mut LoadResult, plan: &LoadPlan) {
        if self.unsupported {
            result.warnings.push("the resources of the server are not sampled: this system has no /proc".to_owned());
        }
        let Some((stop, thread)) = self.running else { return };
        drop(stop);
        // A panic of the thread loses the samples only.
        let samples = thread.join().unwrap_or_default();
        add(result, &samples);
        let usage = result.process.as_ref();
        for threshold in plan.thresholds() {
            let Some(evaluated) = threshold.evaluate_usage(usage) else { continue };
            if let Some(old) = result.thresholds.iter_mut().find(|old| old.threshold == evaluated.threshold) {
                *old = evaluated;
            }
        }
    }
}

fn take(processes: &SampledProcesses, start: Instant, stopped: &Receiver<()>) -> Vec<Sample> {
    let mut samples = Vec::new();
    for number in 0.. {
        let due = start + INTERVAL * number;
        match stopped.recv_timeout(due.saturating_duration_since(Instant::now())) {
            Err(RecvTimeoutError::Timeout) => {}
            Ok(()) | Err(RecvTimeoutError::Disconnected) => break,
        }
        let Some(usage) = processes.usage() else { break };
        samples.push(Sample { at: start.elapsed(), usage });
    }
    samples
}

/// Adds samples to the series, and their summary.
fn add(result: &mut LoadResult, samples: &[Sample]) {
    let mut cpu_before = samples.first().map(|sample| sample.usage.cpu);
    for sample in samples {
        let position = sample.at.as_millis() / u128::from(result.interval_ms.max(1));
        let used = sample.usage.cpu.saturating_sub(cpu_before.unwrap_or_default());
        cpu_before = Some(sample.usage.cpu);
        let point = usize::try_from(position).ok().and_then(|position| result.series.get_mut(position));
        if let Some(point) = point {
            add_to_point(point, &sample.usage, used);
        }
    }
    result.process = summary(samples);
}

/// An interval of several seconds has the maxima of its samples, and the sum of their CPU time.
fn add_to_point(point: &mut LoadPoint, usage: &ResourceUsage, used: Duration) {
    let used = u64::try_from(used.as_millis()).unwrap_or(u64::MAX);
    point.rss_kb = point.rss_kb.max(Some(usage.resident_kb));
    point.cpu_ms = Some(point.cpu_ms.unwrap_or_default() + used);
    point.fds = point.fds.max(usage.fds);
    point.threads = point.threads.max(Some(usage.threads));
}

fn summary(samples: &[Sample]) -> Option<ProcessUsage> {
    let (first, last) = (samples.first()?, samples.last()?);
    let elapsed = last.at.saturating_sub(first.at).as_secs_f64();
    let cpu = last.usage.cpu.saturating_sub(first.usage.cpu).as_secs_f64();
    let resident: Vec<f64> = samples.iter().map(|sample| sample.usage.resident_kb as f64 * 1_024.0).collect();
    // The samples are equally far apart, up to the delay of a busy machine.
    let per_minute = |growth: f64| growth * MINUTE * (samples.len() - 1) as f64 / elapsed;
    let maximum = |value: fn(&ResourceUsage) -> u64| samples.iter().map(|sample| value(&sample.usage)).max();
    Some(ProcessUsage {
        samples: samples.len(),
        processes_max: maximum(|usage| usage.processes).unwrap_or_default(),
        rss_first_kb: first.usage.resident_kb,
        rss_last_kb: last.usage.resident_kb,
        rss_max_kb: maximum(|usage| usage.resident_kb).unwrap_or_default(),
        rss_growth: slope(&resident, 0).map(|growth| growth.map(per_minute)),
        cpu_percent: if elapsed > 0.0 { (cpu / elapsed * 1_000.0).round() / 10.0 } else { 0.0 },
        fds_first: first.usage.fds,
        fds_last: last.usage.fds,
        threads_max: maximum(|usage| usage.threads).unwrap_or_default(),
    })
}

#[cfg(test)]
mod tests;
