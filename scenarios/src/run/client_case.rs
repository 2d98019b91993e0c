//! Executes one case whose subject is a client: its own mock servers, its own client process, and the evidence of both.
//! It judges nothing.

use std::{io, path::Path, time::Duration};

use mock_servers::{Frame, Period, Script};
use tokio::time::{Instant, MissedTickBehavior, interval};

use super::{
    mocks::{MockError, Mocks, Stage},
    options::RunOptions,
    subject::Subject,
    tail::Tail,
};
use crate::{
    contract::{CONTEXT, Context, PROTOCOL_VERSION, ReportLine, SCENARIO, now_us},
    error_text,
    evidence::{Evidence, Noticed, ProcessEvidence, StepOutcome},
    model::Scenario,
    plan::Case,
};

/// How long processes may outlive the client if the scenario does not say.
const SETTLE: Duration = Duration::from_millis(500);
/// How often the report of the client, and the processes where the scenario speaks of them, are looked at.
const LOOK: Duration = Duration::from_millis(25);

/// What kept a case from being run.
#[derive(Debug, thiserror::Error)]
enum CaseError {
    #[error("no folder for the case could be made")]
    Folder(#[source] io::Error),
    #[error(transparent)]
    Mocks(#[from] MockError),
    #[error("the context of the case could not be written")]
    Context(#[source] serde_json::Error),
    #[error("the client could not be started")]
    Start(#[source] io::Error),
}

/// Runs one case. Whatever goes wrong is in the evidence.
pub(super) async fn run(case: &Case, options: &RunOptions) -> Evidence {
    let began = now_us();
    let mut evidence = Evidence::empty(&case.scenario, case.transport, case.revision);
    if let Err(error) = stage(case, options, &mut evidence).await {
        evidence.broken = Some(error_text::in_full(&error));
    }
    evidence.elapsed_us = now_us().saturating_sub(began);
    rebase(&mut evidence, began);
    evidence
}

async fn stage(case: &Case, options: &RunOptions, evidence: &mut Evidence) -> Result<(), CaseError> {
    let scenario = &*case.scenario;
    let folder = tempfile::Builder::new().prefix("mcp-workbench-").tempdir().map_err(CaseError::Folder)?;
    let stage = Stage {
        program: &options.program,
        folder: folder.path(),
        transport: case.transport,
        revision: case.revision,
        seed: case.seed,
        record: true,
    };
    let mocks = Mocks::start(&stage, scripts(scenario)).await?;
    let context = context(case, &mocks, folder.path());
    let environment = [
        (SCENARIO, scenario.scenario.clone()),
        (PROTOCOL_VERSION, case.revision.to_string()),
        (CONTEXT, serde_json::to_string(&context).map_err(CaseError::Context)?),
    ];
    // A URL can be handed over only where there is no doubt which.
    let url = match context.servers.values().collect::<Vec<_>>().as_slice() {
        [only] => only.url(),
        _ => None,
    };
    let settle = scenario.expect.processes.as_ref().and_then(|processes| processes.gone_within);
    let settle = settle.map_or(SETTLE, |Period(settle)| settle);
    let subject = Subject::start(&options.client, &options.program, url, folder.path(), settle, environment);
    let mut subject = subject.map_err(CaseError::Start)?;
    let mut report = Tail::new(&context.report);
    evidence.timed_out = watch(case, &mut subject, &mut report).await;
    let (process, stderr) = subject.remains().await;
    evidence.process = Some(process);
    evidence.stderr = stderr;
    report.catch_up();
    for line in report.lines {
        match line {
            ReportLine::Step(outcome) => evidence.steps.push(outcome),
            ReportLine::Event(noticed) => evidence.events.push(noticed),
            ReportLine::Die { .. } => {}
        }
    }
    match mocks.stop().await {
        Ok(frames) => evidence.frames = frames,
        Err(error) => evidence.broken = Some(error_text::in_full(&error)),
    }
    Ok(())
}

/// The mock servers of a scenario, by name.
pub(super) fn scripts(scenario: &Scenario) -> impl Iterator<Item = (&str, &Script)> {
    let only = scenario.server.iter().map(|script| ("mock", script));
    only.chain(scenario.servers.iter().map(|(name, script)| (name.as_str(), script)))
}

fn context(case: &Case, mocks: &Mocks, folder: &Path) -> Context {
    Context {
        format: 1,
        name: case.scenario.scenario.clone(),
        transport: case.transport,
        revision: case.revision,
        servers: mocks.endpoints.clone(),
        client: case.scenario.client.clone(),
        steps: case.scenario.steps.clone(),
        report: folder.join("report.jsonl"),
    }
}

/// Waits for the client's end, or ends it when its time is up; says whether it was. Meanwhile the client is killed when
/// it comes to a `die` step, and the processes below it are looked at where the scenario speaks of them.
async fn watch(case: &Case, subject: &mut Subject, report: &mut Tail) -> bool {
    let deadline = Instant::now() + case.limit();
    let mut ticks = interval(LOOK);
    ticks.set_missed_tick_behavior(MissedTickBehavior::Delay);
    let mut killed = false;
    loop {
        tokio::select! {
            () = subject.ended() => return false,
            () = tokio::time::sleep_until(deadline) => {
                subject.look();
                subject.end().await;
                return true;
            }
            _ = ticks.tick() => {
                if case.scenario.expect.processes.is_some() {
                    subject.look();
                }
                let asked = report.catch_up().iter().find_map(|line| match line {
                    ReportLine::Die { pid } => Some(*pid),
                    _ => None,
                });
                if let Some(pid) = asked.filter(|_| !killed) {
                    killed = true;
                    subject.kill(pid);
                }
            }
        }
    }
}

/// Turns times of the monotonic clock into times since the start of the case, and numbers the frames by time.
fn rebase(evidence: &mut Evidence, began: u64) {
    let since = |at: &mut u64| *at = at.saturating_sub(began);
    evidence.frames.sort_by_key(|frame: &Frame| (frame.at_us, frame.seq));
    for (seq, frame) in (0..).zip(&mut evidence.frames) {
        frame.seq = seq;
        since(&mut frame.at_us);
    }
    for StepOutcome { began_us, ended_us, .. } in &mut evidence.steps {
        since(began_us);
        since(ended_us);
    }
    for Noticed { at_us, .. } in &mut evidence.events {
        since(at_us);
    }
    if let Some(ProcessEvidence { ended_us, empty_us, seen, left, .. }) = &mut evidence.process {
        ended_us.iter_mut().chain(empty_us).for_each(since);
        for process in seen.iter_mut().chain(left) {
            since(&mut process.first_us);
            since(&mut process.last_us);
        }
    }
}
