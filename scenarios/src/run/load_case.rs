//! Runs one case whose scenario puts a load on a mock server, through the built-in client. It measures; what the
//! figures are worth stands in the result's warnings.

use std::path::Path;

use client::{ProtocolChoice, ServerConfig};
use reports::model::LoadResult;
use tokio_util::sync::CancellationToken;

use super::{
    client_case::scripts,
    mocks::{MockError, Mocks, Stage},
};
use crate::{
    bench::{
        self, LoadPlan, PlanError, Progress,
        connect::{ClientCaller, LoadConnectError, usual_connections},
    },
    model::Load,
    plan::Case,
};

/// Why a load could not be put on a server.
#[derive(Debug, thiserror::Error)]
pub enum LoadCaseError {
    /// The load makes no sense.
    #[error("the load cannot be carried out")]
    Plan(#[from] PlanError),
    /// The server could not be used.
    #[error("the load could not begin")]
    Connect(#[from] LoadConnectError),
    /// The mock server could not be set up.
    #[error(transparent)]
    Mock(#[from] MockError),
    /// No folder could be made for the mock server.
    #[error("no folder for the case could be made")]
    Folder(#[source] std::io::Error),
    /// The scenario has no server of its own.
    #[error("scenario `{0}` has no mock server; name one with --url, or a command after --")]
    NoServer(String),
}

/// Puts a load on a server that is already described. `connections` is how many to make; absent: the usual number.
///
/// # Errors
/// If the load makes no sense, or the server cannot be used. Calls that fail are no error: they are counted.
pub async fn load_server(
    config: &ServerConfig,
    load: &Load,
    connections: Option<usize>,
    progress: impl FnMut(Progress) + Send,
    cancel: CancellationToken,
) -> Result<LoadResult, LoadCaseError> {
    let plan = LoadPlan::new(load)?;
    let connections = connections.unwrap_or_else(|| usual_connections(&config.endpoint, &plan));
    let caller = ClientCaller::connect(config, connections, load, &plan).await?;
    let mut result = bench::run(&plan, caller.clone(), progress, cancel).await;
    caller.close().await;
    result.name.clone_from(&load.tool);
    result.transport = caller.transport().to_owned();
    Ok(result)
}

/// Puts the load of a scenario on its own mock server, over the transport and in the revision of the case.
///
/// # Errors
/// As [`load_server`], and if the mock server cannot be set up.
pub async fn load_case(
    case: &Case,
    load: &Load,
    program: &Path,
    progress: impl FnMut(Progress) + Send,
    cancel: CancellationToken,
) -> Result<LoadResult, LoadCaseError> {
    let folder = tempfile::Builder::new().prefix("mcp-workbench-").tempdir().map_err(LoadCaseError::Folder)?;
    let stage = Stage {
        program,
        folder: folder.path(),
        transport: case.transport,
        revision: case.revision,
        seed: case.seed,
        // Recording would be part of what is measured.
        record: false,
    };
    let mocks = Mocks::start(&stage, scripts(&case.scenario)).await?;
    let no_server = || LoadCaseError::NoServer(case.scenario.scenario.clone());
    let endpoint = mocks.endpoints.values().next().ok_or_else(no_server)?;
    let mut config = ServerConfig::new("mock", endpoint.for_client(&crate::model::ClientSetup::default()));
    // Both enumerations list the same five revisions; were one to be missing, the client finds out by itself.
    config.protocol = case.revision.as_str().parse().map_or(ProtocolChoice::Auto, ProtocolChoice::Pinned);
    let result = load_server(&config, load, None, progress, cancel).await;
    // Nothing was recorded, so nothing can be missing.
    let _ = mocks.stop().await;
    let mut result = result?;
    result.name.clone_from(&case.id);
    Ok(result)
}
