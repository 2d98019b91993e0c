//! `validate_server`: validates a server against the specification.

use std::{collections::BTreeSet, num::NonZeroUsize, sync::Arc, time::Duration};

use mock_servers::HumanDuration;
use reports::model::PassPolicy;
use scenarios::{
    Scenario,
    model::Subject,
    plan::Plan,
    run::{RunPlan, ToolPolicy, ValidatePlan, fresh_seed},
    select::{CheckSelection, Selection},
};
use schemars::JsonSchema;
use serde::Deserialize;

use super::{
    Call,
    report::RunReport,
    run::{ReportFormat, execute},
    target::Target,
};
use crate::error::ToolError;

/// Default timeout of the server's first response.
const STARTUP_TIMEOUT: Duration = Duration::from_secs(30);

pub(super) const METADATA: (&str, &str, &str) = (
    "validate_server",
    "Validate a server",
    "Validates an MCP server against the specification in every revision it supports, over stdio or HTTP: handshake, lists, \
     schemas, errors, ids, headers, sessions, process exit. Returns the verdicts, and for each failure the requirement, the \
     expected and the observed behavior, and the messages that show it. Takes seconds; reports progress per case. Starts the \
     server several times.",
);

/// Server and scenarios.
#[derive(Debug, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields, rename_all = "camelCase")]
pub(super) struct Arguments {
    /// The server.
    server: Target,
    /// Globs for scenario ids (`server/tools`, `server/http-*`). Default: all that apply.
    #[serde(default)]
    scenarios: Vec<String>,
    /// Timeout of the server's first response. Default: `30s`.
    #[serde(default)]
    startup_timeout: Option<HumanDuration>,
    /// Number of cases to run in parallel. Default: number of cores.
    #[serde(default)]
    jobs: Option<NonZeroUsize>,
    /// Report formats to write next to the journal.
    #[serde(default)]
    reports: Vec<ReportFormat>,
}

pub(super) async fn validate_server(call: Call, arguments: Arguments) -> Result<RunReport, ToolError> {
    let limits = *call.workbench.limits();
    let startup = arguments.startup_timeout.map_or(STARTUP_TIMEOUT, |HumanDuration(startup)| startup);
    if startup > limits.startup {
        return Err(ToolError::over_limit("a startup timeout", HumanDuration(startup), HumanDuration(limits.startup)));
    }
    let jobs = || std::thread::available_parallelism().unwrap_or(NonZeroUsize::MIN);
    let plan = ValidatePlan {
        target: arguments.server.server(&call.workbench.settings().policy)?,
        subject: arguments.server.subject(),
        scenarios: select(&call, &arguments.scenarios)?,
        selection: CheckSelection::default(),
        baseline: None,
        seed: fresh_seed(),
        revisions: Vec::new(),
        transport: None,
        startup,
        jobs: arguments.jobs.unwrap_or_else(jobs).min(limits.jobs),
        policy: PassPolicy::default(),
        call_tools: ToolPolicy::default(),
    };
    let finished = execute(&call, RunPlan::Validate(Box::new(plan))).await?;
    RunReport::new(finished, &arguments.reports)
}

/// The selected scenarios for servers.
fn select(call: &Call, names: &[String]) -> Result<Vec<Arc<Scenario>>, ToolError> {
    let all: Vec<_> =
        call.workbench.catalog().scenarios().filter(|scenario| scenario.subject == Subject::Server).collect();
    if names.is_empty() {
        return Ok(all);
    }
    let selection = Selection { names: names.to_vec(), ..Selection::default() };
    let plan = Plan::new(all.iter().cloned(), &selection, 0)?;
    let selected: BTreeSet<&str> = plan.cases.iter().map(|case| case.scenario.scenario.as_str()).collect();
    Ok(all.into_iter().filter(|scenario| selected.contains(scenario.scenario.as_str())).collect())
}
