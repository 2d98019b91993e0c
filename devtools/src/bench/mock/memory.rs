//! Memory of the mock server with many sessions, and after many calls.

use std::sync::{
    Arc,
    atomic::{AtomicU64, Ordering},
};

use anyhow::{Context as _, anyhow};
use rustix::process::{Resource, Rlimit, getrlimit, setrlimit};
use serde::Serialize;
use tokio::runtime::Runtime;

use super::{
    connection::{Connection, header},
    http::{self, Callers, open},
    messages::{self, LEGACY},
    rounds::slope,
    server::BenchServer,
    stdio,
};

/// Number of connections over HTTP, and of calls in flight over stdio.
const CALLERS: usize = 64;
/// Number of memory samples.
const SAMPLES: u64 = 20;

/// Growth of the memory during calls.
#[derive(Debug, Clone, Copy, Serialize)]
pub(super) struct Growth {
    /// Number of calls.
    pub(super) calls: u64,
    /// Resident memory in bytes after the first tenth of the calls, when all buffers have their final size.
    pub(super) early_bytes: u64,
    /// Resident memory in bytes after the last call.
    pub(super) late_bytes: u64,
    /// Slope of the regression line in bytes per call.
    pub(super) bytes_per_call: f64,
}

impl Growth {
    fn from_samples(samples: &[(u64, u64)]) -> Self {
        let skipped = samples.len() / 10;
        let rest = &samples[skipped..];
        let points: Vec<(f64, f64)> = rest.iter().map(|(calls, bytes)| (*calls as f64, *bytes as f64)).collect();
        let (first, last) = (rest.first().copied().unwrap_or_default(), rest.last().copied().unwrap_or_default());
        Self { calls: last.0, early_bytes: first.1, late_bytes: last.1, bytes_per_call: slope(&points) }
    }

    /// Growth in bytes; 0 if the memory shrank.
    pub(super) fn grown(&self) -> u64 {
        self.late_bytes.saturating_sub(self.early_bytes)
    }
}

/// Memory of a mock server with this number of sessions, each with an open stream and one call.
pub(super) fn session_memory(runtime: &Runtime, count: usize) -> anyhow::Result<u64> {
    allow_files(count + 100)?;
    let (mut mock, address) = BenchServer::mock_http(LEGACY)?;
    let _streams = runtime.block_on(async {
        let mut caller = Connection::open(address).await?;
        let mut streams = Vec::with_capacity(count);
        for _ in 0..count {
            let mut connection = Connection::open(address).await?;
            let session =
                open(&mut connection, LEGACY).await?.ok_or_else(|| anyhow!("the mock server opened no session"))?;
            let head = connection.begin(&messages::get(LEGACY, &session)).await?;
            if header(head, "content-type") != Some("text/event-stream") {
                return Err(anyhow!("the mock server opened no stream: {head}"));
            }
            let call = messages::post(LEGACY, Some(&session), &messages::call(LEGACY));
            caller.request(&call).await?.require_success()?;
            streams.push(connection);
        }
        Ok(streams)
    })?;
    mock.require_running()?;
    mock.memory()
}

/// Makes this number of calls over HTTP.
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
    mock.require_running()?;
    Ok(Growth::from_samples(&samples))
}

/// Makes this number of calls over stdio.
pub(super) fn over_stdio(pair: stdio::Pair, calls: u64) -> anyhow::Result<Growth> {
    let mut mock = pair.into_mock();
    let (mut made, mut samples) = (0, Vec::new());
    for sample in 1..=SAMPLES {
        let target = calls * sample / SAMPLES;
        made += mock.call(CALLERS, |more| made + more >= target)?;
        samples.push((made, mock.server.memory()?));
    }
    mock.server.require_running()?;
    Ok(Growth::from_samples(&samples))
}

/// Raises the limit of open files of this process and its children.
fn allow_files(count: usize) -> anyhow::Result<()> {
    let limit = getrlimit(Resource::Nofile);
    let wanted = count as u64;
    if limit.current.is_none_or(|current| current >= wanted) {
        return Ok(());
    }
    let raised = Rlimit { current: Some(limit.maximum.map_or(wanted, |max| max.min(wanted))), ..limit };
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
    fn growth_counts_from_the_first_tenth() {
        let samples: Vec<(u64, u64)> = (1..=20).map(|at| (at * 10, if at < 3 { 1 } else { 100 + at })).collect();
        let growth = Growth::from_samples(&samples);
        assert_eq!((growth.calls, growth.early_bytes, growth.late_bytes, growth.grown()), (200, 103, 120, 17));
        assert!((growth.bytes_per_call - 0.1).abs() < 1e-9, "{growth:?}");
    }

    #[test]
    fn less_memory_is_not_growth() {
        assert_eq!(Growth::from_samples(&[(1, 9), (2, 4)]).grown(), 0);
    }
}
