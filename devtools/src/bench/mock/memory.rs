//! What the mock's process keeps in memory: for many sessions at a time, and after many calls.

use std::sync::{
    Arc,
    atomic::{AtomicU64, Ordering},
};

use anyhow::{Context as _, anyhow};
use rustix::process::{Resource, Rlimit, getrlimit, setrlimit};
use serde::Serialize;
use tokio::runtime::Runtime;

use super::{
    http::{self, Callers, open},
    rounds::slope,
    speech::{self, LEGACY},
    stdio,
    subject::Subject,
    wire::{Connection, header},
};

/// How many connections make the calls, and how many calls are in flight over stdio.
const CALLERS: usize = 64;
/// How many times the memory is looked at.
const SAMPLES: u64 = 20;

/// How the memory went while calls were made.
#[derive(Debug, Clone, Copy, Serialize)]
pub(super) struct Growth {
    /// How many calls were made.
    pub(super) calls: u64,
    /// The resident memory after the first tenth of them, in bytes: by then every buffer has found its size.
    pub(super) early_bytes: u64,
    /// The resident memory after the last, in bytes.
    pub(super) late_bytes: u64,
    /// The slope of the line through all that was seen between, in bytes a call.
    pub(super) bytes_per_call: f64,
}

impl Growth {
    fn of(samples: &[(u64, u64)]) -> Self {
        let skipped = samples.len() / 10;
        let rest = &samples[skipped..];
        let points: Vec<(f64, f64)> = rest.iter().map(|(calls, bytes)| (*calls as f64, *bytes as f64)).collect();
        let (first, last) = (rest.first().copied().unwrap_or_default(), rest.last().copied().unwrap_or_default());
        Self { calls: last.0, early_bytes: first.1, late_bytes: last.1, bytes_per_call: slope(&points) }
    }

    /// By how much the memory grew; what the process gave back is no growth.
    pub(super) fn grown(&self) -> u64 {
        self.late_bytes.saturating_sub(self.early_bytes)
    }
}

/// The memory of a mock with so many sessions, each with its stream open and one call made.
pub(super) fn of_sessions(runtime: &Runtime, count: usize) -> anyhow::Result<u64> {
    allow_files(count + 100)?;
    let (mut mock, address) = Subject::mock_http(LEGACY)?;
    let _streams = runtime.block_on(async {
        let mut caller = Connection::open(address).await?;
        let mut streams = Vec::with_capacity(count);
        for _ in 0..count {
            let mut connection = Connection::open(address).await?;
            let session = open(&mut connection, LEGACY).await?.ok_or_else(|| anyhow!("the mock opens no session"))?;
            let head = connection.begin(&speech::get(LEGACY, &session)).await?;
            if header(head, "content-type") != Some("text/event-stream") {
                return Err(anyhow!("the mock opens no stream: {head}"));
            }
            let call = speech::post(LEGACY, Some(&session), &speech::call(LEGACY));
            caller.exchange(&call).await?.must_succeed()?;
            streams.push(connection);
        }
        Ok(streams)
    })?;
    mock.must_live()?;
    mock.memory()
}

/// Makes so many calls over HTTP.
pub(super) fn over_http(
    runtime: &Runtime,
    pair: http::Pair,
    revision: &'static str,
    calls: u64,
) -> anyhow::Result<Growth> {
    let (mut mock, address, reply) = pair.into_mock();
    let mut callers = Some(runtime.block_on(Callers::connect(address, revision, CALLERS, reply))?);
    let made = Arc::new(AtomicU64::new(0));
    let mut samples = Vec::new();
    for sample in 1..=SAMPLES {
        if let Some(ready) = callers.take() {
            callers = Some(runtime.block_on(ready.until(&made, calls * sample / SAMPLES))?);
        }
        samples.push((made.load(Ordering::Relaxed), mock.memory()?));
    }
    mock.must_live()?;
    Ok(Growth::of(&samples))
}

/// Makes so many calls over stdio.
pub(super) fn over_stdio(pair: stdio::Pair, calls: u64) -> anyhow::Result<Growth> {
    let mut mock = pair.into_mock();
    let (mut made, mut samples) = (0, Vec::new());
    for sample in 1..=SAMPLES {
        let target = calls * sample / SAMPLES;
        made += mock.call(CALLERS, |more| made + more >= target)?;
        samples.push((made, mock.subject.memory()?));
    }
    mock.subject.must_live()?;
    Ok(Growth::of(&samples))
}

/// Makes sure that this process and those that it starts may have so many files open.
fn allow_files(count: usize) -> anyhow::Result<()> {
    let limit = getrlimit(Resource::Nofile);
    let wanted = count as u64;
    if limit.current.is_none_or(|current| current >= wanted) {
        return Ok(());
    }
    let raised = Rlimit { current: Some(limit.maximum.map_or(wanted, |most| most.min(wanted))), ..limit };
    setrlimit(Resource::Nofile, raised).context("cannot raise the limit of open files")?;
    if raised.current.is_some_and(|current| current < wanted) {
        return Err(anyhow!("the system allows too few open files: {wanted} are needed (ulimit -n)"));
    }
    Ok(())
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn growth_is_counted_from_the_first_tenth_on() {
        let samples: Vec<(u64, u64)> = (1..=20).map(|at| (at * 10, if at < 3 { 1 } else { 100 + at })).collect();
        let growth = Growth::of(&samples);
        assert_eq!((growth.calls, growth.early_bytes, growth.late_bytes, growth.grown()), (200, 103, 120, 17));
        assert!((growth.bytes_per_call - 0.1).abs() < 1e-9, "{growth:?}");
    }

    #[test]
    fn memory_that_was_given_back_is_no_growth() {
        assert_eq!(Growth::of(&[(1, 9), (2, 4)]).grown(), 0);
    }
}
