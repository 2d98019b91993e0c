//! Validation runs: start, events, cancel, reports and comparison.
//!
//! Runs of this process are kept in memory. Earlier runs are read from the directory of all runs (`archive`). One run is
//! active at a time, because parallel runs would distort each other's measurements.

mod active;
mod archive;
mod redaction;

use std::{convert::Infallible, sync::Arc};

use axum::{
    Json,
    extract::{Path, Request, State},
    response::{
        IntoResponse, Response,
        sse::{Event, KeepAlive, Sse},
    },
};
use client::auth::Authorize as _;
use futures::Stream;
use http::{Method, StatusCode, Uri, header::CONTENT_TYPE};
use reports::{
    Run,
    comparison::{Comparison, Tolerance},
    model::{Counts, PassPolicy, RunHeader},
    render::{self, FORMATS, Style},
};
use scenarios::{
    model::{Revision, Transport},
    peer::ServerTarget,
    run::RunPlan,
};
use serde::{Deserialize, Serialize};
use utoipa::ToSchema;

pub(super) use self::active::Runs;
use self::active::ValidationRun;
use super::{
    Management,
    body::{query, read, required_query},
    config::target_without_token,
    error::{ApiError, ErrorBody, ErrorDetail},
};
use crate::{
    configured::{configured_target, login_headers},
    error::ToolError,
    validation::ValidationOptions,
};

/// A validation to start.
#[derive(Debug, Deserialize, ToSchema)]
#[serde(deny_unknown_fields, rename_all = "camelCase")]
pub(super) struct NewRun {
    /// Name of the server.
    server: String,
    /// Globs for ids of checks, scenarios or cases: only these.
    #[serde(default)]
    only: Vec<String>,
    /// Globs for ids of checks, scenarios or cases: all but these.
    #[serde(default)]
    skip: Vec<String>,
    /// Areas of checks: only these (`tools`, `transports`, `lifecycle`).
    #[serde(default)]
    areas: Vec<String>,
    /// Protocol revisions. Default: all that the server supports.
    #[serde(default)]
    #[schema(value_type = Vec<String>)]
    revisions: Vec<Revision>,
    /// Whether to test only the newest revision of each era. Excludes `revisions`.
    #[serde(default)]
    quick: bool,
    /// Transport of a URL: `streamable-http` or `sse`. Default: determined by a probe.
    #[serde(default)]
    #[schema(value_type = Option<String>)]
    transport: Option<Transport>,
    /// Tools to call in addition to those annotated as read-only: `all`, or globs on their names.
    #[serde(default)]
    call_tools: Vec<String>,
    /// Random seed, to repeat a run.
    #[serde(default)]
    seed: Option<u64>,
    /// Whether violations of a SHOULD fail the run too.
    #[serde(default)]
    fail_on_warnings: bool,
    /// Whether checks whose repetitions differ do not fail the run.
    #[serde(default)]
    allow_flaky: bool,
}

/// State of a run.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, ToSchema)]
#[serde(rename_all = "kebab-case")]
enum RunStatus {
    /// Cases are executed.
    Running,
    /// All planned cases finished, or the run was cancelled.
    Finished,
    /// The server could not be tested at all.
    Failed,
}

/// A run.
#[derive(Debug, Serialize, ToSchema)]
#[serde(rename_all = "camelCase")]
pub(super) struct RunView {
    /// Its id in this API.
    id: String,
    /// The server.
    server: String,
    status: RunStatus,
    /// Number of finished cases.
    finished: usize,
    /// Subject, seed and number of cases, as in the run format; absent until the server has reported its revisions.
    #[serde(skip_serializing_if = "Option::is_none")]
    #[schema(value_type = Option<Object>)]
    header: Option<RunHeader>,
    /// Number of cases per verdict; absent for earlier runs and until the run has finished.
    #[serde(skip_serializing_if = "Option::is_none")]
    #[schema(value_type = Option<Object>)]
    counts: Option<Counts>,
    /// Whether the run passed; absent as `counts`.
    #[serde(skip_serializing_if = "Option::is_none")]
    passed: Option<bool>,
    /// Whether all planned cases finished; absent as `counts`.
    #[serde(skip_serializing_if = "Option::is_none")]
    complete: Option<bool>,
    /// Why the server could not be tested.
    #[serde(skip_serializing_if = "Option::is_none")]
    error: Option<ErrorDetail>,
}

/// The runs.
#[derive(Debug, Serialize, ToSchema)]
pub(super) struct RunList {
    /// The newest first.
    runs: Vec<RunView>,
}

/// Lists the runs of this process and earlier ones in the directory of all runs.
#[utoipa::path(get, path = "/runs", responses((status = 200, description = "The runs", body = RunList)))]
pub(super) async fn list(State(management): State<Management>) -> Result<Json<RunList>, ApiError> {
    let mut runs = management.0.runs.views();
    let known: Vec<String> = runs.iter().filter_map(|run| Some(run.header.as_ref()?.run_id.clone())).collect();
    let earlier = archive::headers(management.0.workbench.settings().runs.clone()).await;
    let earlier = earlier.into_iter().filter(|header| !known.contains(&header.run_id)).map(RunView::earlier);
    runs.extend(earlier);
    Ok(Json(RunList { runs }))
}

/// Starts a validation of a server. One run is active at a time.
#[utoipa::path(post, path = "/runs", request_body = NewRun, responses(
    (status = 202, description = "The run", body = RunView),
    (status = 400, description = "Invalid options", body = ErrorBody),
    (status = 403, description = "The policy does not allow the server", body = ErrorBody),
    (status = 404, description = "Unknown server", body = ErrorBody),
    (status = 409, description = "Another run is active", body = ErrorBody),
))]
pub(super) async fn start(
    State(management): State<Management>,
    request: Request,
) -> Result<(StatusCode, Json<RunView>), ApiError> {
    let new: NewRun = read(request).await?;
    let name = new.server.clone();
    let target = management.validation_target(&name).await?;
    let options = ValidationOptions::from(new);
    let plan = options.plan(&management.0.workbench, target, name.clone());
    let plan = plan.map_err(|error| ApiError::from_error(StatusCode::BAD_REQUEST, error))?;
    let run = management.0.runs.add(&name)?;
    let secrets = super::lock(&management.0.secrets).get(&name).cloned().unwrap_or_default();
    let view = run.view();
    let workbench = management.0.workbench.clone();
    tokio::spawn(async move { run.execute(&workbench, RunPlan::Validate(Box::new(plan)), &secrets).await });
    Ok((StatusCode::ACCEPTED, Json(view)))
}

/// Shows a run of this process.
#[utoipa::path(get, path = "/runs/{id}", params(("id" = String, Path, description = "The run")), responses(
    (status = 200, description = "The run", body = RunView),
    (status = 404, description = "Unknown run", body = ErrorBody),
))]
pub(super) async fn show(
    State(management): State<Management>,
    Path(id): Path<String>,
) -> Result<Json<RunView>, ApiError> {
    Ok(Json(management.active_run(&id)?.view()))
}

/// Cancels a run of this process, terminates its processes, and waits until both are done. The results of finished cases
/// remain.
#[utoipa::path(post, path = "/runs/{id}/cancel", params(("id" = String, Path, description = "The run")), responses(
    (status = 200, description = "The run", body = RunView),
    (status = 404, description = "Unknown run", body = ErrorBody),
))]
pub(super) async fn cancel(
    State(management): State<Management>,
    Path(id): Path<String>,
) -> Result<Json<RunView>, ApiError> {
    let run = management.active_run(&id)?;
    run.cancel().await;
    Ok(Json(run.view()))
}

/// Streams a run of this process from its start: `started` and `end` with a `RunView` each, and `case` with a case of the run
/// format (reports/schema/run-1.schema.json) for each finished one.
#[utoipa::path(get, path = "/runs/{id}/events", params(("id" = String, Path, description = "The run")), responses(
    (status = 200, description = "Events", body = RunView, content_type = "text/event-stream"),
    (status = 404, description = "Unknown run", body = ErrorBody),
))]
pub(super) async fn events(
    State(management): State<Management>,
    Path(id): Path<String>,
) -> Result<Sse<impl Stream<Item = Result<Event, Infallible>>>, ApiError> {
    let run = management.active_run(&id)?;
    Ok(Sse::new(run.events()).keep_alive(KeepAlive::default()))
}

/// Renders a finished run in a report format.
#[utoipa::path(get, path = "/runs/{id}/report", params(
    ("id" = String, Path, description = "The run"),
    ("format" = Option<String>, Query, description = "Format of `mcp-workbench report --format`. Default: `json`"),
), responses(
    (status = 200, description = "The report; `json` is described by reports/schema/run-1.schema.json", body = String),
    (status = 400, description = "Unknown format", body = ErrorBody),
    (status = 404, description = "Unknown run", body = ErrorBody),
    (status = 409, description = "The run is active, or has no results", body = ErrorBody),
))]
pub(super) async fn report(
    State(management): State<Management>,
    Path(id): Path<String>,
    uri: Uri,
) -> Result<Response, ApiError> {
    let name = query(&uri, "format").unwrap_or_else(|| "json".to_owned());
    let format = render::format(&name).ok_or_else(|| {
        let names: Vec<&str> = FORMATS.iter().map(|format| format.name()).collect();
        ApiError::new(StatusCode::BAD_REQUEST, "unknown-format", format!("unknown report format `{name}`"))
            .with_help(format!("use one of {}", names.join(", ")))
    })?;
    let run = management.finished_run(&id).await?;
    let text = format.render(&run, &Style::default()).map_err(|error| {
        ApiError::from_error(StatusCode::INTERNAL_SERVER_ERROR, ToolError::from_error("internal", &error))
    })?;
    let content_type = match name.as_str() {
        "html" => "text/html; charset=utf-8",
        "json" => "application/json",
        _ => "text/plain; charset=utf-8",
    };
    Ok(([(CONTENT_TYPE, content_type)], text).into_response())
}

/// Compares a finished run with an earlier one: what broke, what was fixed, and what became slower.
#[utoipa::path(get, path = "/runs/{id}/comparison", params(
    ("id" = String, Path, description = "The later run"),
    ("old" = String, Query, description = "The earlier run"),
), responses(
    (status = 200, description = "The comparison, described by reports/schema/comparison-1.schema.json", body = Object),
    (status = 404, description = "Unknown run", body = ErrorBody),
    (status = 409, description = "A run is active, or has no results", body = ErrorBody),
))]
pub(super) async fn comparison(
    State(management): State<Management>,
    Path(id): Path<String>,
    uri: Uri,
) -> Result<Json<Comparison>, ApiError> {
    let old = management.finished_run(&required_query(&uri, "old")?).await?;
    let new = management.finished_run(&id).await?;
    Ok(Json(Comparison::between(&old, &new, Tolerance::default())))
}

impl From<NewRun> for ValidationOptions {
    fn from(new: NewRun) -> Self {
        Self {
            only: new.only,
            skip: new.skip,
            areas: new.areas,
            revisions: new.revisions,
            quick: new.quick,
            transport: new.transport,
            call_tools: new.call_tools,
            seed: new.seed,
            policy: PassPolicy { allow_flaky: new.allow_flaky, fail_on_warnings: new.fail_on_warnings },
            ..Self::default()
        }
    }
}

impl RunView {
    /// A run of the archive.
    fn earlier(header: RunHeader) -> Self {
        Self {
            id: header.run_id.clone(),
            server: header.subject.clone(),
            status: RunStatus::Finished,
            finished: header.planned,
            header: Some(header),
            counts: None,
            passed: None,
            complete: None,
            error: None,
        }
    }
}

impl Management {
    /// A server as the server under test, with the credentials of its login.
    async fn validation_target(&self, name: &str) -> Result<ServerTarget, ApiError> {
        let server = self.server(name)?;
        let unsupported = |error| {
            let error = ToolError::from_error("unsupported-server", &error);
            let error = ApiError::from_error(StatusCode::BAD_REQUEST, error);
            self.error(name, error.with_help("add the server again with `POST /mcp` and literal `headers`"))
        };
        let target = configured_target(&server.managed.config, &|variable| self.variable(variable));
        let mut target = target.map_err(unsupported)?;
        if let ServerTarget::Url(server_url) = &mut target
            && let Some(authorizer) = server.authorizer(Arc::clone(&self.0.store), None)
        {
            let headers = authorizer.headers(&Method::POST, &server_url.url).await;
            let headers = headers.map_err(|error| self.error(name, error))?;
            server_url.headers.extend(login_headers(&headers).map_err(unsupported)?);
        }
        Ok(target_without_token(target))
    }

    fn active_run(&self, id: &str) -> Result<Arc<ValidationRun>, ApiError> {
        self.0.runs.get(id).ok_or_else(|| unknown_run(id))
    }

    /// The results of a run of this process or of the archive.
    async fn finished_run(&self, id: &str) -> Result<Arc<Run>, ApiError> {
        match self.0.runs.get(id) {
            Some(run) => run.result(),
            None => archive::read(self.0.workbench.settings().runs.clone(), id).await.map(Arc::new),
        }
    }
}

fn unknown_run(id: &str) -> ApiError {
    ApiError::new(StatusCode::NOT_FOUND, "unknown-run", format!("unknown run `{id}`"))
        .with_help("`GET /runs` lists the runs")
}
