//! `validate_server`: validates a server against the specification.

use std::num::NonZeroUsize;

use mock_servers::HumanDuration;
use reports::model::PassPolicy;
use scenarios::{
    model::{Revision, Transport},
    run::RunPlan,
};
use schemars::JsonSchema;
use serde::Deserialize;

use super::{
    Call,
    report::RunReport,
    run::{ReportFormat, execute},
    target::Target,
};
use crate::{error::ToolError, validation::ValidationOptions};

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
    let target = arguments.server.server(&call.workbench.settings().policy)?;
    let subject = arguments.server.subject();
    let options = ValidationOptions {
        scenarios: arguments.scenarios,
        only: arguments.only,
        skip: arguments.skip,
        areas: arguments.areas,
        revisions: arguments.revisions,
        quick: arguments.quick,
        transport: arguments.transport,
        call_tools: arguments.call_tools,
        seed: arguments.seed,
        policy: PassPolicy { allow_flaky: arguments.allow_flaky, fail_on_warnings: arguments.fail_on_warnings },
        startup_timeout: arguments.startup_timeout,
        jobs: arguments.jobs,
    };
    let plan = options.plan(&call.workbench, target, subject)?;
    let finished = execute(&call, RunPlan::Validate(Box::new(plan))).await?;
    RunReport::new(finished, &arguments.reports)
}
