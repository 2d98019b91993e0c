//! Executes one load test with the built-in client, on a server or on the mock server of a scenario.

use std::path::Path;

use client::{Endpoint, RevisionChoice, ServerConfig};
use reports::model::LoadResult;
use tokio_util::sync::CancellationToken;

use super::mocks::{MockContext, MockError, Mocks};
use crate::{
    bench::{
        self, LoadPlan, PlanError, Progress,
        abort::AbortRule,
        connect::{ClientCaller, LoadConnectError, usual_connections},
        raw::{self, RawTarget},
        usage::{SampledProcesses, Sampler},
    },
    model::{Driver, Load},
    plan::Case,
};

/// A load test that cannot be executed.
#[derive(Debug, thiserror::Error)]
pub enum LoadCaseError {
    /// Invalid load.
    #[error("invalid load")]
    Plan(#[from] PlanError),
    /// Connection or tool error.
    #[error("the load test cannot start")]
    Connect(#[from] LoadConnectError),
    /// Mock server error.
    #[error(transparent)]
    Mock(#[from] MockError),
    /// The temporary directory cannot be created.
    #[error("cannot create the directory of the case")]
    Folder(#[source] std::io::Error),
    /// The raw driver cannot execute the load.
    #[error("the raw driver cannot execute this load: {reason}; use `client` as the driver")]
    NoRawDriver {
        /// The reason.
        reason: String,
    },
    /// The load has a key that it cannot have.
    #[error("cannot use `{key}`: {reason}")]
    Unusable {
        /// The key, which is the option too, with hyphens.
        key: &'static str,
        /// The reason.
        reason: String,
    },
    /// The raw driver failed.
    #[error("the load generator failed")]
    Raw(#[source] std::io::Error),
    /// The scenario has no mock server.
    #[error("scenario `{0}` has no mock server; add --url <URL>, or a command after `--`")]
    NoServer(String),
}

/// What a load test needs in addition to server and load.
#[derive(Debug, Clone, Copy, Default)]
pub struct LoadSettings {
    /// Number of connections; absent: depends on the load and the transport.
    pub connections: Option<usize>,
    /// Seed of random arrivals.
    pub seed: u64,
    /// Process id of a server that runs on this machine and is called by URL, to sample its resources.
    pub pid: Option<i32>,
    /// Whether a run that cannot pass any more is aborted.
    pub abort: bool,
}

/// Executes a load test on a server.
///
/// # Errors
/// If the load is invalid or the server cannot be used. Failed calls are counted, not errors.
pub(super) async fn load_server(
    config: &ServerConfig,
    load: &Load,
    settings: LoadSettings,
    mut progress: impl FnMut(Progress) + Send,
    cancel: CancellationToken,
) -> Result<LoadResult, LoadCaseError> {
    let plan = LoadPlan::open(load)?.with_seed(settings.seed);
    if plan.http2() && matches!(config.endpoint, Endpoint::Stdio(_)) {
        let reason = "it needs a URL, and the server is called over stdio".to_owned();
        return Err(LoadCaseError::Unusable { key: "http2", reason });
    }
    let connections = settings.connections.unwrap_or_else(|| usual_connections(&config.endpoint, &plan));
    let caller = ClientCaller::connect(config, connections, &plan).await?;
    let driver = choose_driver(&caller, load.driver, &plan).await?;
    let mut rule = settings.abort.then(|| AbortRule::new(&plan));
    let abort = cancel.child_token();
    let cancel = abort.clone();
    let progress = |now: Progress| {
        progress(now);
        if rule.as_mut().is_some_and(|rule| rule.observe(now)) {
            abort.cancel();
        }
    };
    let (transport, mut result) = match driver {
        Driver::Client => {
            let sampler = Sampler::start(processes(settings, caller.processes()), plan.warmup());
            let mut result = bench::run(&plan, caller.clone(), progress, cancel).await;
            sampler.finish(&mut result, &plan);
            caller.close().await;
            (caller.transport(), result)
        }
        Driver::Raw => {
            let mut target = RawTarget::connect(config, caller, &plan).await.map_err(LoadCaseError::Raw)?;
            let sampler = Sampler::start(processes(settings, target.processes()), plan.warmup());
            let mut result = raw::run(&plan, &mut target, progress, cancel).await.map_err(LoadCaseError::Raw);
            if let Ok(result) = &mut result {
                sampler.finish(result, &plan);
            }
            let transport = target.transport().as_str();
            target.close().await;
            (transport, result?)
        }
    };
    if let Some(rule) = rule {
        rule.finish(&mut result);
    }
    result.name = load.name();
    // Results over HTTP/1.1 and HTTP/2 are not compared with each other.
    result.transport = if plan.http2() { format!("{transport} (HTTP/2)") } else { transport.to_owned() };
    result.driver = driver.as_str().to_owned();
    Ok(result)
}

/// The processes to sample: the given one, or those that were started.
fn processes(settings: LoadSettings, started: Vec<i32>) -> SampledProcesses {
    settings.pid.map_or_else(|| SampledProcesses::started(started), SampledProcesses::tree)
}

/// The driver of a load: the raw one where it can do the work, unless one is wanted. Closes the connections on an error.
async fn choose_driver(
    caller: &ClientCaller,
    wanted: Option<Driver>,
    plan: &LoadPlan,
) -> Result<Driver, LoadCaseError> {
    match (wanted, raw::supports(caller, plan)) {
        (_, Some(reason)) if let Some(key) = plan.needs_raw() => {
            caller.close().await;
            Err(LoadCaseError::Unusable { key, reason })
        }
        (Some(Driver::Client), _) | (None, Some(_)) => Ok(Driver::Client),
        (Some(Driver::Raw) | None, None) => Ok(Driver::Raw),
        (Some(Driver::Raw), Some(reason)) => {
            caller.close().await;
            Err(LoadCaseError::NoRawDriver { reason })
        }
    }
}

/// Executes a load test on the mock server of a scenario.
///
/// # Errors
/// As [`load_server`], and if the mock server cannot start.
pub(super) async fn load_case(
    case: &Case,
    load: &Load,
    program: &Path,
    progress: impl FnMut(Progress) + Send,
    cancel: CancellationToken,
) -> Result<LoadResult, LoadCaseError> {
    let folder = tempfile::Builder::new().prefix("mcp-workbench-").tempdir().map_err(LoadCaseError::Folder)?;
    let context = MockContext {
        program,
        folder: folder.path(),
        transport: case.transport,
        revision: case.revision,
        seed: case.seed,
        unix_sockets: false,
        // Recording would slow down the measured server.
        record: false,
    };
    let mocks = Mocks::start(&context, case.scenario.scripts()).await?;
    let no_server = || LoadCaseError::NoServer(case.scenario.scenario.clone());
    let endpoint = mocks.endpoints.values().next().ok_or_else(no_server)?;
    let mut config = ServerConfig::new("mock", endpoint.for_client(&crate::model::ClientSetup::default()));
    config.protocol = case.revision.as_str().parse().map_or(RevisionChoice::Auto, RevisionChoice::Pinned);
    let settings = LoadSettings { seed: case.seed, ..LoadSettings::default() };
    let result = load_server(&config, load, settings, progress, cancel).await;
    mocks.stop().await;
    let mut result = result?;
    result.name.clone_from(&case.id);
    Ok(result)
}
