//! `run_scenarios`: a client judged against mock servers.

use std::{num::NonZeroUsize, time::Instant};

use reports::{
    Run,
    journal::Line,
    model::{FORMAT, RunKind},
};
use scenarios::{
    model::{Revision, Subject, Transport},
    plan::Plan,
    run::{
        conformance::{RunError, conformance},
        fresh_seed,
        options::{ClientUnderTest, RunEvent, RunOptions},
    },
    select::Selection,
};
use schemars::JsonSchema;
use serde::Deserialize;

use super::{Call, journal::Journal, report::RunReport};
use crate::{door::TOKEN_VARIABLE, trouble::Trouble};

pub(super) const WORDS: (&str, &str, &str) = (
    "run_scenarios",
    "Run scenarios against a client",
    "Judges an MCP client against mock servers that behave well, badly or not at all: yours, given as a command, or the \
     built-in one. Give a selection: all scenarios together take minutes. Gives the verdicts, and for each failure the \
     requirement and the messages that show it. Reports progress by case.",
);

/// What to run.
#[derive(Debug, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields, rename_all = "camelCase")]
pub(super) struct Arguments {
    /// A client, started as `sh -c "<clientCommand> <server-url>"` with MCP_CONFORMANCE_SCENARIO,
    /// MCP_CONFORMANCE_PROTOCOL_VERSION and MCP_CONFORMANCE_CONTEXT set; absent: the built-in client.
    #[serde(default)]
    client_command: Option<String>,
    /// Globs on the ids of scenarios or cases (`pagination/*`, `*@stdio@2025-11-25`).
    #[serde(default)]
    scenarios: Vec<String>,
    /// Areas: the first part of the ids of scenarios (`handshake`).
    #[serde(default)]
    areas: Vec<String>,
    /// Only these revisions of the protocol.
    #[serde(default)]
    revisions: Vec<Revision>,
    /// Only these transports.
    #[serde(default)]
    transports: Vec<Transport>,
    /// The seed of everything drawn at random, to run as another run did.
    #[serde(default)]
    seed: Option<u64>,
    /// How many cases run at one time; absent: eight for each core.
    #[serde(default)]
    jobs: Option<NonZeroUsize>,
}

pub(super) async fn run_scenarios(call: Call, arguments: Arguments) -> Result<RunReport, Trouble> {
    let seed = arguments.seed.unwrap_or_else(fresh_seed);
    let selection = Selection {
        names: arguments.scenarios,
        areas: arguments.areas,
        revisions: arguments.revisions,
        transports: arguments.transports,
        subjects: vec![Subject::Client],
        ..Selection::default()
    };
    let judged = call
        .workbench
        .catalogue()
        .scenarios()
        .filter(|scenario| scenario.subject == Subject::Client && scenario.load.is_none());
    let plan = Plan::new(judged, &selection, seed)?;
    let (client, subject) = match arguments.client_command.filter(|command| !command.trim().is_empty()) {
        // The token of the workbench is none of the client's business.
        Some(command) => {
            let unset = format!("unset {TOKEN_VARIABLE}; {command}");
            (ClientUnderTest::External { command: unset }, command)
        }
        None => (ClientUnderTest::BuiltIn, "the built-in client".to_owned()),
    };
    let most = call.workbench.limits().jobs;
    let jobs = arguments.jobs.unwrap_or(most).min(most);
    let options = RunOptions { program: call.workbench.settings().program.clone(), client, jobs };
    call.run(carried_out(&call, &plan, &options, subject, seed)).await
}

async fn carried_out(
    call: &Call,
    plan: &Plan,
    options: &RunOptions,
    subject: String,
    seed: u64,
) -> Result<RunReport, Trouble> {
    let began = Instant::now();
    let planned = plan.cases.len();
    let runs = &call.workbench.settings().runs;
    let (header, mut journal) = Journal::begin(runs, RunKind::Conformance, subject, seed, planned)?;
    let total = Some((planned + 1) as f64);
    call.teller.say(1.0, total, format!("{planned} cases, {} at a time", options.jobs));
    let mut ended = 0;
    let tell = |event: RunEvent<'_>| {
        if let RunEvent::Ended { result } = event {
            ended += 1;
            call.teller.say((ended + 1) as f64, total, format!("{} {}", result.verdict.word(), result.id));
        }
    };
    let cases = conformance(plan, options, journal.writer(), tell).await.map_err(|error| match error {
        RunError::Journal(_) => Trouble::of("journal", &error),
        RunError::Fault { .. } => Trouble::of("fault", &error),
    })?;
    let elapsed_ms = u64::try_from(began.elapsed().as_millis()).unwrap_or(u64::MAX);
    journal.append(&Line::End { elapsed_ms, baseline: None })?;
    let run = Run { format: FORMAT, header, cases, loads: vec![], baseline: None, complete: true, elapsed_ms };
    Ok(RunReport::new(run, journal.place()))
}
