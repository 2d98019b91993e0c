//! `validate_server`: validates a server against the specification.

use std::{collections::BTreeSet, num::NonZeroUsize, sync::Arc, time::Duration};

use mock_servers::HumanDuration;
use reports::model::PassPolicy;
use scenarios::{
    Scenario,
    model::{Revision, Subject, Transport},
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
use crate::{error::ToolError, portability};

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
    /// Globs for ids of checks, scenarios or cases: only these (`unknown-tool-*`).
    #[serde(default)]
    only: Vec<String>,
    /// Globs for ids of checks, scenarios or cases: all but these.
    #[serde(default)]
    skip: Vec<String>,
    /// Areas of checks: only these (`tools`, `transports`, `lifecycle`).
    #[serde(default)]
    areas: Vec<String>,
    /// Protocol revisions to test. Default: all that the server supports.
    #[serde(default)]
    revisions: Vec<Revision>,
    /// Whether to test only the newest revision of each era. Excludes `revisions`.
    #[serde(default)]
    quick: bool,
    /// Transport of a URL. Default: `streamable-http`, or `sse` if the server supports nothing else.
    #[serde(default)]
    transport: Option<Transport>,
    /// Tools to call in addition to those annotated as read-only: `all`, or globs on their names. A tool annotated as
    /// destructive is called only if a glob matches its name.
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
    /// Timeout of the server's first response. Default: `30s`.
    #[serde(default)]
    startup_timeout: Option<HumanDuration>,
    /// Number of cases to run in parallel. Default: twice the number of cores.
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
    let scenarios = select(&call, &arguments.scenarios)?;
    let (only, skip, areas) = (&arguments.only, &arguments.skip, &arguments.areas);
    let selection = CheckSelection::new(only, skip, areas, scenarios.iter().map(AsRef::as_ref))?;
    let call_tools = ToolPolicy::parse(&arguments.call_tools);
    let policy = PassPolicy { allow_flaky: arguments.allow_flaky, fail_on_warnings: arguments.fail_on_warnings };
    let plan = ValidatePlan {
        revisions: arguments.revisions()?,
        target: arguments.server.server(&call.workbench.settings().policy)?,
        subject: arguments.server.subject(),
        transport: arguments.transport()?,
        scenarios,
        selection,
        baseline: None,
        seed: arguments.seed.unwrap_or_else(fresh_seed),
        startup,
        jobs: arguments.jobs.unwrap_or_else(ValidatePlan::default_jobs).min(limits.jobs),
        policy,
        portability: Some(portability::portability),
        call_tools: call_tools.map_err(|cause| ToolError::arguments(format!("`callTools`: {cause}")))?,
    };
    let finished = execute(&call, RunPlan::Validate(Box::new(plan))).await?;
    RunReport::new(finished, &arguments.reports)
}

impl Arguments {
    fn revisions(&self) -> Result<Vec<Revision>, ToolError> {
        match (self.quick, self.revisions.is_empty()) {
            (true, false) => Err(ToolError::arguments("`quick` and `revisions` exclude each other")),
            (true, true) => Ok(vec![Revision::NEWEST_LEGACY, Revision::NEWEST_MODERN]),
            (false, _) => Ok(self.revisions.clone()),
        }
    }

    fn transport(&self) -> Result<Option<Transport>, ToolError> {
        match (self.transport, self.server.is_url()) {
            (Some(Transport::Stdio), true) => Err(ToolError::arguments("the transport `stdio` needs a `command`")),
            (Some(Transport::StreamableHttp | Transport::HttpSse), false) => {
                Err(ToolError::arguments("this transport needs a `url`"))
            }
            (transport, _) => Ok(transport),
        }
    }
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
