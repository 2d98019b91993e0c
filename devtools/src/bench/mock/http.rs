//! Calls over Streamable HTTP. Each connection sends the next call after the response.

use std::{
    io::Write as _,
    net::SocketAddr,
    sync::{
        Arc,
        atomic::{AtomicBool, AtomicU64, Ordering},
    },
    time::{Duration, Instant},
};

use anyhow::{Context as _, anyhow, bail};
use tempfile::NamedTempFile;
use tokio::{runtime::Runtime, task::JoinSet};

use super::{
    connection::{Connection, header},
    messages,
    rounds::{Comparison, Side, interleave},
    server::BenchServer,
};

/// Both servers with their addresses, and the expected response.
pub(super) struct Pair {
    mock: (BenchServer, SocketAddr),
    baseline: (BenchServer, SocketAddr),
    revision: &'static str,
    reply: Arc<[u8]>,
}

/// Open connections.
pub(super) struct Callers {
    connections: Vec<(Connection, Vec<u8>)>,
    reply: Arc<[u8]>,
}

impl Pair {
    /// Starts both servers. The baseline server sends the same response as the mock server.
    pub(super) fn start(runtime: &Runtime, revision: &'static str) -> anyhow::Result<Self> {
        let mock = BenchServer::mock_http(revision)?;
        let reply = runtime.block_on(first_reply(mock.1, revision))?;
        let mut file = NamedTempFile::new().context("cannot write the response file")?;
        file.write_all(&reply).context("cannot write the response file")?;
        let baseline = BenchServer::baseline_http(file.path())?;
        Ok(Self { mock, baseline, revision, reply: reply.into() })
    }

    /// Compares both servers.
    pub(super) fn compare(
        &mut self,
        runtime: &Runtime,
        connections: usize,
        rounds: usize,
        each: Duration,
    ) -> anyhow::Result<Comparison> {
        interleave(rounds, |side| {
            let address = if side == Side::Mock { self.mock.1 } else { self.baseline.1 };
            runtime.block_on(async {
                let callers = Callers::connect(address, self.revision, connections, Arc::clone(&self.reply)).await?;
                callers.for_time(each).await
            })
        })
    }

    /// The mock server, its address and its response.
    pub(super) fn into_mock(self) -> (BenchServer, SocketAddr, Arc<[u8]>) {
        (self.mock.0, self.mock.1, self.reply)
    }
}

/// Opens a session, if the revision has sessions.
pub(super) async fn open(connection: &mut Connection, revision: &str) -> anyhow::Result<Option<String>> {
    if !messages::has_sessions(revision) {
        return Ok(None);
    }
    let response = connection.request(&messages::post(revision, None, &messages::initialize(revision))).await?;
    response.require_success()?;
    let session = header(response.head, "mcp-session-id").map(str::to_owned);
    let ready = messages::post(revision, session.as_deref(), &messages::initialized());
    connection.request(&ready).await?.require_success()?;
    Ok(session)
}

async fn first_reply(address: SocketAddr, revision: &str) -> anyhow::Result<Vec<u8>> {
    let mut connection = Connection::open(address).await?;
    let session = open(&mut connection, revision).await?;
    let request = messages::post(revision, session.as_deref(), &messages::call(revision));
    let response = connection.request(&request).await?;
    response.require_success()?;
    if !messages::is_result(response.body) {
        bail!("the mock server did not return a result: {}", String::from_utf8_lossy(response.body));
    }
    Ok(response.body.to_vec())
}

impl Callers {
    pub(super) async fn connect(
        address: SocketAddr,
        revision: &'static str,
        count: usize,
        reply: Arc<[u8]>,
    ) -> anyhow::Result<Self> {
        let mut connections = Vec::with_capacity(count);
        for _ in 0..count {
            let mut connection = Connection::open(address).await?;
            // The baseline server treats a handshake as a call and returns no session id.
            let session = open(&mut connection, revision).await?;
            let session = session.or_else(|| messages::has_sessions(revision).then(|| "0".repeat(32)));
            connections.push((connection, messages::post(revision, session.as_deref(), &messages::call(revision))));
        }
        Ok(Self { connections, reply })
    }

    /// Calls for this time, after a warm-up of a fifth of it, and returns the calls per second.
    async fn for_time(self, each: Duration) -> anyhow::Result<f64> {
        let (stop, made) = (Arc::new(AtomicBool::new(false)), Arc::new(AtomicU64::new(0)));
        let calling = tokio::spawn(self.call(Arc::clone(&made), {
            let stop = Arc::clone(&stop);
            move |_| stop.load(Ordering::Relaxed)
        }));
        tokio::time::sleep(each / 5).await;
        let (before, start) = (made.load(Ordering::Relaxed), Instant::now());
        tokio::time::sleep(each).await;
        let (after, elapsed) = (made.load(Ordering::Relaxed), start.elapsed());
        stop.store(true, Ordering::Relaxed);
        calling.await.context("the load generator failed")??;
        Ok((after - before) as f64 / elapsed.as_secs_f64())
    }

    /// Calls until the total number of calls is reached, and returns the connections.
    pub(super) async fn until(self, made: &Arc<AtomicU64>, target: u64) -> anyhow::Result<Self> {
        self.call(Arc::clone(made), move |made| made >= target).await
    }

    async fn call(
        self,
        made: Arc<AtomicU64>,
        is_done: impl Fn(u64) -> bool + Clone + Send + 'static,
    ) -> anyhow::Result<Self> {
        let mut tasks = JoinSet::new();
        for (mut connection, request) in self.connections {
            let (made, is_done, reply) = (Arc::clone(&made), is_done.clone(), Arc::clone(&self.reply));
            tasks.spawn(async move {
                while !is_done(made.load(Ordering::Relaxed)) {
                    let response = connection.request(&request).await?;
                    if response.body != &*reply {
                        response.require_success()?;
                        bail!("a response differs from the first: {}", String::from_utf8_lossy(response.body));
                    }
                    made.fetch_add(1, Ordering::Relaxed);
                }
                Ok((connection, request))
            });
        }
        let mut connections = Vec::new();
        while let Some(done) = tasks.join_next().await {
            connections.push(done.map_err(|cause| anyhow!(cause))??);
        }
        Ok(Self { connections, reply: self.reply })
    }
}
