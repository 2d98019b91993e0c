//! Distributed load: this program as a worker of an unmodified [Locust](https://locust.io) master.
//!
//! Locust distributes users, adds statistics up and has a web page; the raw driver makes the calls. [`run`] registers at the
//! master and follows it until it ends the run. The master needs a [`LOCUSTFILE`].
//!
//! Each call is in exactly one report. A lost master ends the users, and the worker registers again.

mod entry;
mod link;
mod message;
mod stats;
#[cfg(test)]
mod tests;
mod usage;
mod users;
mod worker;

use std::{collections::BTreeMap, io, time::Duration};

use client::ServerConfig;
use tokio::sync::mpsc;
use tokio_util::sync::CancellationToken;

use self::{
    stats::{OperationName, Operations},
    users::Users,
    worker::Worker,
};
use super::{
    LoadPlan, PlanError,
    connect::{LoadConnectError, OPEN_CONNECTIONS},
    open::DEFAULT_IN_FLIGHT,
    raw::users::Pace,
};
use crate::model::{Closed, Load, LoadOperation, Shape};

/// The file that a master runs: it names the users, collects the histograms of the workers, and detects lost workers.
pub const LOCUSTFILE: &str = include_str!("locust/locustfile.py");

/// Longest run without a restart of the users.
const RUN: Duration = Duration::from_secs(7 * 24 * 60 * 60);

/// A worker.
#[derive(Debug)]
pub struct WorkerSettings {
    /// Host and port of the master.
    pub master: String,
    /// The server under test.
    pub config: ServerConfig,
    /// Number of connections; absent: 1 over stdio, otherwise 8.
    pub connections: Option<usize>,
    /// Operations, timeout and expected result. Its shape and duration are ignored: the master decides.
    pub load: Load,
    /// Pause of a user after a response, if users call after a response.
    pub think_time: Option<Duration>,
    /// Calls per second of each user. Absent: a user calls after the response to its previous call.
    pub rate_per_user: Option<f64>,
    /// Maximum number of calls in flight at a rate.
    pub max_in_flight: Option<usize>,
    /// Seed of the choice in a mix. Workers with the same one choose the same operations at the same time.
    pub seed: u64,
}

/// What a worker reports while it runs.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum Notice {
    /// The server has the tools, and the worker connects to the master.
    Connecting,
    /// The master accepted the worker.
    Registered {
        /// Id of the worker at the master.
        node_id: String,
    },
    /// The master was lost. The users stopped, and the worker tries to register again.
    Lost {
        /// The reason.
        reason: String,
    },
}

/// Why a worker ended.
#[derive(Debug, thiserror::Error)]
pub enum WorkerError {
    /// Invalid load.
    #[error("invalid load")]
    Plan(#[from] PlanError),
    /// The rate of a user is out of range.
    #[error("the rate per user is {rate}, but must be from 0.00001 to 1000000 calls per second")]
    Rate {
        /// The rate.
        rate: f64,
    },
    /// Connection or tool error.
    #[error("the load cannot start")]
    Connect(#[from] LoadConnectError),
    /// The raw driver cannot execute the load.
    #[error("a worker cannot execute this load: {reason}")]
    NoRawDriver {
        /// The reason.
        reason: String,
    },
    /// The raw driver failed.
    #[error("the load generator failed")]
    Raw(#[source] io::Error),
    /// The users ended without an error.
    #[error("the users of the worker ended")]
    Users,
    /// No master accepted the worker.
    #[error("no Locust master at {master} accepted this worker: {reason}")]
    NoMaster {
        /// Host and port.
        master: String,
        /// Why the last attempt failed.
        reason: String,
    },
}

/// Works for a master until it ends the run, or `cancel` is triggered.
///
/// # Errors
/// If the server cannot be used, no master accepts the worker within five minutes, or the load generator fails. Failed calls
/// are counted, not errors.
pub async fn run(
    settings: WorkerSettings,
    mut notify: impl FnMut(Notice) + Send,
    cancel: CancellationToken,
) -> Result<(), WorkerError> {
    let master = settings.master.clone();
    let users = users(settings)?;
    tokio::select! {
        checked = users.check() => checked?,
        () = cancel.cancelled() => return Ok(()),
    }
    notify(Notice::Connecting);
    let operations = operations(&users.plan);
    let (command, commands) = mpsc::unbounded_channel();
    let (event, events) = mpsc::unbounded_channel();
    let executor = tokio::spawn(users.run(commands, event));
    let result = Worker::new(master, operations, command, events, notify).run(cancel).await;
    // The worker is gone, so the users stop and the server is closed.
    let _ = executor.await;
    result
}

fn users(settings: WorkerSettings) -> Result<Users, WorkerError> {
    let WorkerSettings { config, connections, mut load, think_time, rate_per_user, max_in_flight, seed, .. } = settings;
    let pace = match rate_per_user {
        None => Pace::AfterResponse,
        Some(rate) if (0.000_01..=1_000_000.0).contains(&rate) => Pace::Constant {
            period: Duration::from_secs_f64(1.0 / rate),
            max_in_flight: max_in_flight.unwrap_or(DEFAULT_IN_FLIGHT),
        },
        Some(rate) => return Err(WorkerError::Rate { rate }),
    };
    // As many connections as threads are opened at once, further ones when needed.
    let threads = std::thread::available_parallelism().map_or(1, usize::from);
    load.shape =
        Shape::Closed(Closed { think_time: think_time.map(mock_servers::HumanDuration), ..Closed::new(threads) });
    load.duration = mock_servers::HumanDuration(RUN);
    load.warmup = None;
    let usual = if matches!(config.endpoint, client::Endpoint::Stdio(_)) { 1 } else { OPEN_CONNECTIONS };
    let plan = LoadPlan::open(&load)?.with_seed(seed);
    Ok(Users { config, connections: connections.unwrap_or(usual), plan, pace })
}

/// The operations of a load, as Locust shows them.
fn operations(plan: &LoadPlan) -> Operations {
    let iterations = plan.iterations();
    let rows = iterations.operations().iter().enumerate();
    let by_row = rows.map(|(number, operation)| (iterations.row(number).unwrap_or_default(), &operation.definition));
    let by_row: BTreeMap<usize, &LoadOperation> = by_row.collect();
    let name =
        |operation: &LoadOperation| OperationName { method: operation.method().to_owned(), name: operation.name() };
    Operations { names: by_row.into_values().map(name).collect(), are_sequence: iterations.are_sequence() }
}
