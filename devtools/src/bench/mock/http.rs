//! Calls over Streamable HTTP: so many connections, each calling again as soon as it is answered.

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
    rounds::{Comparison, Side, interleave},
    speech,
    subject::Subject,
    wire::{Connection, header},
};

/// Where both servers are, and what is said to them.
pub(super) struct Pair {
    mock: (Subject, SocketAddr),
    bare: (Subject, SocketAddr),
    revision: &'static str,
    reply: Arc<[u8]>,
}

/// Connections that are ready to call.
pub(super) struct Callers {
    connections: Vec<(Connection, Vec<u8>)>,
    reply: Arc<[u8]>,
}

impl Pair {
    /// Starts both servers; the bare one gives the very reply that the mock gives.
    pub(super) fn start(runtime: &Runtime, revision: &'static str) -> anyhow::Result<Self> {
        let mock = Subject::mock_http(revision)?;
        let reply = runtime.block_on(first_reply(mock.1, revision))?;
        let mut file = NamedTempFile::new().context("cannot write the reply down")?;
        file.write_all(&reply).context("cannot write the reply down")?;
        let bare = Subject::bare_http(file.path())?;
        Ok(Self { mock, bare, revision, reply: reply.into() })
    }

    /// Measures the one against the other.
    pub(super) fn compare(
        &mut self,
        runtime: &Runtime,
        connections: usize,
        rounds: usize,
        each: Duration,
    ) -> anyhow::Result<Comparison> {
        interleave(rounds, |side| {
            let address = if side == Side::Mock { self.mock.1 } else { self.bare.1 };
            runtime.block_on(async {
                let callers = Callers::connect(address, self.revision, connections, Arc::clone(&self.reply)).await?;
                callers.for_time(each).await
            })
        })
    }

    /// The mock, its address and its reply.
    pub(super) fn into_mock(self) -> (Subject, SocketAddr, Arc<[u8]>) {
        (self.mock.0, self.mock.1, self.reply)
    }
}

/// Opens a session where the revision has them.
pub(super) async fn open(connection: &mut Connection, revision: &str) -> anyhow::Result<Option<String>> {
    if !speech::has_sessions(revision) {
        return Ok(None);
    }
    let answer = connection.exchange(&speech::post(revision, None, &speech::initialize(revision))).await?;
    answer.must_succeed()?;
    let session = header(answer.head, "mcp-session-id").map(str::to_owned);
    let ready = speech::post(revision, session.as_deref(), &speech::initialized());
    connection.exchange(&ready).await?.must_succeed()?;
    Ok(session)
}

async fn first_reply(address: SocketAddr, revision: &str) -> anyhow::Result<Vec<u8>> {
    let mut connection = Connection::open(address).await?;
    let session = open(&mut connection, revision).await?;
    let request = speech::post(revision, session.as_deref(), &speech::call(revision));
    let answer = connection.exchange(&request).await?;
    answer.must_succeed()?;
    if !speech::is_result(answer.body) {
        bail!("the mock does not answer the call with a result: {}", String::from_utf8_lossy(answer.body));
    }
    Ok(answer.body.to_vec())
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
            // The bare server takes a handshake for a call like any other, and names no session.
            let session = open(&mut connection, revision).await?;
            let session = session.or_else(|| speech::has_sessions(revision).then(|| "0".repeat(32)));
            connections.push((connection, speech::post(revision, session.as_deref(), &speech::call(revision))));
        }
        Ok(Self { connections, reply })
    }

    /// Calls for this time, after a fifth of it that does not count, and returns the calls a second.
    async fn for_time(self, each: Duration) -> anyhow::Result<f64> {
        let (stop, made) = (Arc::new(AtomicBool::new(false)), Arc::new(AtomicU64::new(0)));
        let calling = tokio::spawn(self.call(Arc::clone(&made), {
            let stop = Arc::clone(&stop);
            move |_| stop.load(Ordering::Relaxed)
        }));
        tokio::time::sleep(each / 5).await;
        let (before, began) = (made.load(Ordering::Relaxed), Instant::now());
        tokio::time::sleep(each).await;
        let (after, elapsed) = (made.load(Ordering::Relaxed), began.elapsed());
        stop.store(true, Ordering::Relaxed);
        calling.await.context("the load generator failed")??;
        Ok((after - before) as f64 / elapsed.as_secs_f64())
    }

    /// Calls until so many calls are made in all, and returns the connections for more.
    pub(super) async fn until(self, made: &Arc<AtomicU64>, target: u64) -> anyhow::Result<Self> {
        self.call(Arc::clone(made), move |made| made >= target).await
    }

    async fn call(
        self,
        made: Arc<AtomicU64>,
        enough: impl Fn(u64) -> bool + Clone + Send + 'static,
    ) -> anyhow::Result<Self> {
        let mut tasks = JoinSet::new();
        for (mut connection, request) in self.connections {
            let (made, enough, reply) = (Arc::clone(&made), enough.clone(), Arc::clone(&self.reply));
            tasks.spawn(async move {
                while !enough(made.load(Ordering::Relaxed)) {
                    let answer = connection.exchange(&request).await?;
                    if answer.body != &*reply {
                        answer.must_succeed()?;
                        bail!("an answer is not like the first: {}", String::from_utf8_lossy(answer.body));
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
