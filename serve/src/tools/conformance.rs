//! `run_scenarios`: tests a client against mock servers.

use std::num::NonZeroUsize;

use scenarios::{
    model::{Revision, Subject, Transport},
    plan::{Plan, TimeFactor},
    run::{ClientUnderTest, ConformancePlan, RunPlan, fresh_seed},
    select::Selection,
};
use schemars::JsonSchema;
use serde::Deserialize;

use reports::model::Profile;

use super::{
    Call,
    report::RunReport,
    run::{ReportFormat, execute},
};
use crate::{access::TOKEN_VARIABLE, error::ToolError};

pub(super) const METADATA: (&str, &str, &str) = (
    "run_scenarios",
    "Run scenarios against a client",
    "Tests an MCP client against mock servers, conforming and faulty ones. The client is your command or the built-in \
     client. Select scenarios: all of them take minutes. Returns the verdicts, and for each failure the requirement and the \
     messages that show it. Reports progress per case.",
);

/// Client and scenarios.
#[derive(Debug, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields, rename_all = "camelCase")]
pub(super) struct Arguments {
    /// Client to test, started as `sh -c "<clientCommand> <server-url>"` with the variables MCP_CONFORMANCE_SCENARIO,
    /// MCP_CONFORMANCE_PROTOCOL_VERSION and MCP_CONFORMANCE_CONTEXT. Default: the built-in client.
    #[serde(default)]
    client_command: Option<String>,
    /// Kind of the client: `sdk` or `agent`. Default: `sdk` for a command, `agent` for the built-in client.
    #[serde(default)]
    profile: Option<Profile>,
    /// Globs for ids of scenarios or cases (`pagination/*`, `*@stdio@2025-11-25`).
    #[serde(default)]
    scenarios: Vec<String>,
    /// Areas: the first part of scenario ids (`handshake`).
    #[serde(default)]
    areas: Vec<String>,
    /// Protocol revisions to test.
    #[serde(default)]
    revisions: Vec<Revision>,
    /// Transports to test.
    #[serde(default)]
    transports: Vec<Transport>,
    /// Random seed, to repeat a run.
    #[serde(default)]
    seed: Option<u64>,
    /// Number of cases to run in parallel. Default: eight per core.
    #[serde(default)]
    jobs: Option<NonZeroUsize>,
    /// Report formats to write next to the journal.
    #[serde(default)]
    reports: Vec<ReportFormat>,
}

pub(super) async fn run_scenarios(call: Call, arguments: Arguments) -> Result<RunReport, ToolError> {
    let seed = arguments.seed.unwrap_or_else(fresh_seed);
    let selection = Selection {
        names: arguments.scenarios,
        areas: arguments.areas,
        revisions: arguments.revisions,
        transports: arguments.transports,
        subjects: vec![Subject::Client],
        ..Selection::default()
    };
    let scenarios = call
        .workbench
        .catalog()
        .scenarios()
        .filter(|scenario| scenario.subject == Subject::Client && scenario.load.is_none());
    let max_jobs = call.workbench.limits().jobs;
    let plan = ConformancePlan {
        program: call.workbench.settings().program.clone(),
        client: match arguments.client_command.filter(|command| !command.trim().is_empty()) {
            // The client must not get the token of the workbench.
            Some(command) => ClientUnderTest::External { command, hidden_variables: vec![TOKEN_VARIABLE.to_owned()] },
            None => ClientUnderTest::BuiltIn,
        },
        profile: arguments.profile,
        plan: Plan::new(scenarios, &selection, seed)?,
        seed,
        jobs: arguments.jobs.unwrap_or(max_jobs).min(max_jobs),
        time_factor: TimeFactor::default(),
        unix_sockets: false,
        baseline: None,
    };
    let finished = execute(&call, RunPlan::Conformance(plan)).await?;
    RunReport::new(finished, &arguments.reports)
}
