//! `validate_server`: a server judged by the specification.

use std::{collections::BTreeSet, num::NonZeroUsize, sync::Arc, time::Instant};

use mock_servers::Period;
use reports::{
    Run,
    journal::Line,
    model::{CaseResult, FORMAT, RunHeader, RunKind},
};
use scenarios::{
    Evidence, Scenario, judge,
    model::{Revision, Subject},
    peer::{ServerFacts, ServerTarget},
    plan::{Plan, case_id},
    run::{
        conformance::write_case,
        fresh_seed,
        validate::{ValidateEvent, ValidateOptions, validate},
    },
    select::Selection,
};
use schemars::JsonSchema;
use serde::Deserialize;

use super::{Call, journal::Journal, report::RunReport, target::Target};
use crate::trouble::Trouble;

pub(super) const WORDS: (&str, &str, &str) = (
    "validate_server",
    "Validate a server",
    "Judges an MCP server by the specification, in every revision that it speaks, over stdio or HTTP: handshake, lists, \
     schemas, errors, ids, headers, sessions, the end of its process. Gives the verdicts, and for each failure the requirement, \
     what was expected, what was observed, and the messages that show it. Takes seconds; reports progress by case. The server \
     is started several times.",
);

/// What to validate.
#[derive(Debug, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields, rename_all = "camelCase")]
pub(super) struct Arguments {
    /// The server.
    server: Target,
    /// Globs on the ids of scenarios (`server/tools`, `server/http-*`); absent: all that apply.
    #[serde(default)]
    scenarios: Vec<String>,
    /// How long the server may take to give its first answer (`30s`, which is the default).
    #[serde(default)]
    startup_timeout: Option<Period>,
    /// How many cases run at one time; absent: one for each core.
    #[serde(default)]
    jobs: Option<NonZeroUsize>,
}

pub(super) async fn validate_server(call: Call, arguments: Arguments) -> Result<RunReport, Trouble> {
    let target = arguments.server.server(&call.workbench.settings().policy)?;
    let scenarios = select(&call, &arguments.scenarios)?;
    let mut options = ValidateOptions::default();
    let limits = *call.workbench.limits();
    if let Some(Period(startup)) = arguments.startup_timeout {
        if startup > limits.startup {
            return Err(Trouble::over_limit("a startup timeout", Period(startup), Period(limits.startup)));
        }
        options.startup = startup;
    }
    options.jobs = arguments.jobs.unwrap_or(options.jobs).min(limits.jobs);
    let subject = arguments.server.subject();
    call.run(judged(&call, target, &scenarios, &options, subject)).await
}

/// The scenarios for servers that are chosen.
fn select(call: &Call, names: &[String]) -> Result<Vec<Arc<Scenario>>, Trouble> {
    let all: Vec<_> =
        call.workbench.catalogue().scenarios().filter(|scenario| scenario.subject == Subject::Server).collect();
    if names.is_empty() {
        return Ok(all);
    }
    let selection = Selection { names: names.to_vec(), ..Selection::default() };
    let plan = Plan::new(all.iter().cloned(), &selection, 0)?;
    let chosen: BTreeSet<&str> = plan.cases.iter().map(|case| case.scenario.scenario.as_str()).collect();
    Ok(all.into_iter().filter(|scenario| chosen.contains(scenario.scenario.as_str())).collect())
}

async fn judged(
    call: &Call,
    target: ServerTarget,
    scenarios: &[Arc<Scenario>],
    options: &ValidateOptions,
    subject: String,
) -> Result<RunReport, Trouble> {
    let began = Instant::now();
    let mut session =
        Session { call, subject, scenarios: scenarios.len(), begun: None, cases: Vec::new(), trouble: None };
    validate(&target, scenarios.iter().map(Arc::as_ref), options, |event| session.hear(event)).await?;
    if let Some(trouble) = session.trouble {
        return Err(trouble);
    }
    let (header, mut journal) = session.begun.ok_or_else(|| Trouble::new("fault", "the server was not probed"))?;
    let elapsed_ms = u64::try_from(began.elapsed().as_millis()).unwrap_or(u64::MAX);
    journal.append(&Line::End { elapsed_ms, baseline: None })?;
    let mut cases = session.cases;
    cases.sort_by(|one, other| one.id.cmp(&other.id));
    let run = Run { format: FORMAT, header, cases, loads: vec![], baseline: None, complete: true, elapsed_ms };
    Ok(RunReport::new(run, journal.place()))
}

/// What is known of a validation that goes on.
struct Session<'a> {
    call: &'a Call,
    subject: String,
    scenarios: usize,
    /// There once the server has said which revisions it speaks.
    begun: Option<(RunHeader, Journal)>,
    cases: Vec<CaseResult>,
    /// The first thing that went wrong on this side.
    trouble: Option<Trouble>,
}

impl Session<'_> {
    fn hear(&mut self, event: ValidateEvent<'_>) {
        let heard = match event {
            ValidateEvent::Probed(facts) => self.begin(facts),
            ValidateEvent::Finished { scenario, evidence } => self.take(scenario, &evidence),
        };
        if let Err(trouble) = heard {
            self.trouble.get_or_insert(trouble);
        }
    }

    fn begin(&mut self, facts: &ServerFacts) -> Result<(), Trouble> {
        let planned = self.scenarios * facts.revisions().count();
        let runs = &self.call.workbench.settings().runs;
        let (header, journal) = Journal::begin(runs, RunKind::Validate, self.subject.clone(), fresh_seed(), planned)?;
        let revisions: Vec<&str> = facts.revisions().map(Revision::as_str).collect();
        let words = format!("it speaks {} over {}; {planned} cases", revisions.join(" and "), facts.transport);
        self.call.teller.say(1.0, Some((planned + 1) as f64), words);
        self.begun = Some((header, journal));
        Ok(())
    }

    fn take(&mut self, scenario: &Scenario, evidence: &Evidence) -> Result<(), Trouble> {
        let id = case_id(&scenario.scenario, evidence.transport, evidence.revision);
        let result = judge::judge(&id, scenario, evidence);
        if let Some((header, journal)) = &mut self.begun {
            let written = write_case(journal.writer(), self.cases.len(), &result, evidence);
            written.map_err(|error| Trouble::of("journal", &error))?;
            let words = format!("{} {id}", result.verdict.word());
            self.call.teller.say((self.cases.len() + 2) as f64, Some((header.planned + 1) as f64), words);
        }
        self.cases.push(result);
        Ok(())
    }
}
