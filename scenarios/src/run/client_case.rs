//! Executes one case of a client: its mock servers, its process, and the evidence of both.

use std::{
    fs, io,
    path::{Path, PathBuf},
    time::Duration,
};

use evidence::{
    Frame,
    recorder::{BoundedRecord, RecordError, read_bounded},
};
use mock_servers::HumanDuration;
use reports::model::Profile;
use tempfile::TempDir;
use tokio::time::{Instant, MissedTickBehavior, interval};

use super::{
    authority,
    client_process::{ClientProcess, ClientUnderTest},
    client_report::ClientReport,
    mocks::{MockContext, MockError, Mocks, is_exhausted},
    starts::{Starting, Starts},
};
use crate::{
    contract::{CONTEXT, Context, PROTOCOL_VERSION, ReportLine, SCENARIO, now_us},
    error_text,
    evidence::{Evidence, ProcessEvidence, ReportedEvent, StepOutcome},
    judge,
    model::{ClientSetup, ClientStep, MOCK_SERVER, Scenario},
    plan::{Case, TimeFactor},
    requirements::Register,
};

/// Maximum size of the frames of a case as JSON. The largest case of the catalog has 2 MB.
const MAX_FRAME_BYTES: u64 = 4 << 20;
/// Maximum number of frames of a case. The largest case of the catalog has about 100, but a client may read a thousand pages
/// of an endless list.
const MAX_FRAMES: usize = 10_000;
/// Time limit until the first frame. A case in which no server can be contacted has no other.
const START_LIMIT: Duration = Duration::from_secs(10);
/// The same in units of the slowest start of the run so far.
const SLOW_START: u32 = 5;
/// Default time for processes to exit after the client.
const SETTLE: Duration = Duration::from_millis(500);
/// Time for the report of a `die` step after the step before it.
const REPORT_DELAY: Duration = Duration::from_millis(300);
/// Interval of observing the process tree, and of reading the report in cases with a `die` step.
const POLL_INTERVAL: Duration = Duration::from_millis(25);
/// Interval of reading memory and CPU time. Each reading looks at all processes of the machine, which other cases share.
const USAGE_INTERVAL: Duration = Duration::from_millis(50);

/// A case that could not be executed.
#[derive(Debug, thiserror::Error)]
enum CaseError {
    #[error("cannot create the directory of the case")]
    Folder(#[source] io::Error),
    #[error(transparent)]
    Mocks(#[from] MockError),
    #[error("cannot serialize the context of the case")]
    Context(#[source] serde_json::Error),
    #[error("cannot start the client")]
    Start(#[source] io::Error),
}

/// A case that was executed. Its frames and its report are still files, so that it needs little memory until it is
/// judged.
pub(super) struct RecordedClientCase {
    evidence: Evidence,
    began_us: u64,
    files: Option<CaseFiles>,
}

struct CaseFiles {
    records: Vec<PathBuf>,
    /// The path of the protected MCP server, if there is an authorization server.
    protected: Option<String>,
    report: ClientReport,
    /// Contains the files; deleted on drop.
    _directory: TempDir,
}

impl RecordedClientCase {
    /// Reads frames and report. Blocks.
    pub(super) fn load(self) -> Evidence {
        let Self { mut evidence, began_us, files } = self;
        if let Some(files) = files
            && let Err(error) = files.load(&mut evidence)
        {
            evidence.broken = Some(error_text::in_full(&error));
        }
        rebase(&mut evidence, began_us);
        evidence
    }
}

impl CaseFiles {
    fn load(mut self, evidence: &mut Evidence) -> Result<(), RecordError> {
        self.report.read();
        for line in self.report.lines {
            match line {
                ReportLine::Step(outcome) => evidence.steps.push(outcome),
                ReportLine::Event(event) => evidence.events.push(event),
                ReportLine::Die { .. } => {}
            }
        }
        let servers = self.records.len().max(1);
        let (max_bytes, max_frames) = (MAX_FRAME_BYTES / servers as u64, MAX_FRAMES / servers);
        for record in &self.records {
            let BoundedRecord { frames, omitted } = read_bounded(record, max_bytes, max_frames)?;
            evidence.frames.extend(frames);
            evidence.omitted_frames += omitted;
            evidence.runaway |= is_exhausted(record);
        }
        if let Some(endpoint) = &self.protected {
            authority::separate(&mut evidence.frames, endpoint);
        }
        Ok(())
    }
}

/// What the cases of a run have in common.
#[derive(Clone, Copy)]
pub(super) struct CaseSetting<'r> {
    /// The requirements by which the client is judged.
    pub(super) profile: Profile,
    /// Factor of the time limits.
    pub(super) time_factor: TimeFactor,
    /// Whether servers listen at Unix sockets.
    pub(super) unix_sockets: bool,
    /// Executable of mcp-workbench.
    pub(super) program: &'r Path,
    pub(super) client: &'r ClientUnderTest,
    pub(super) starts: &'r Starts,
}

/// Executes one case, unless clients with this profile do not have its requirement. Errors are part of the evidence.
pub(super) async fn run(case: &Case, setting: CaseSetting<'_>) -> RecordedClientCase {
    let (began_us, profile) = (now_us(), setting.profile);
    let scenario = &*case.scenario;
    if let Some(reason) = not_applicable(scenario, profile) {
        let evidence = Evidence { profile, ..Evidence::skipped(scenario, case.transport, case.revision, reason) };
        return RecordedClientCase { evidence, began_us: 0, files: None };
    }
    let mut evidence = Evidence { profile, ..Evidence::empty(scenario, case.transport, case.revision) };
    let files = match record(case, setting, &mut evidence).await {
        Ok(files) => Some(files),
        Err(error) => {
            evidence.broken = Some(error_text::in_full(&error));
            None
        }
    };
    evidence.elapsed_us = now_us().saturating_sub(began_us);
    RecordedClientCase { evidence, began_us, files }
}

/// Why clients with this profile do not have the requirement of a scenario.
fn not_applicable(scenario: &Scenario, profile: Profile) -> Option<String> {
    let id = scenario.requirement.as_deref()?;
    let applies = Register::built_in().applies_to(id, profile);
    (!applies).then(|| format!("the requirement `{id}` does not apply to the profile `{}`", profile.as_str()))
}

async fn record(case: &Case, setting: CaseSetting<'_>, evidence: &mut Evidence) -> Result<CaseFiles, CaseError> {
    let CaseSetting { time_factor, unix_sockets, program, client, starts, .. } = setting;
    let scenario = &*case.scenario;
    let directory = tempfile::Builder::new().prefix("mcp-workbench-").tempdir().map_err(CaseError::Folder)?;
    let folder = directory.path();
    let mock_context = MockContext {
        program,
        folder,
        transport: case.transport,
        revision: case.revision,
        seed: case.seed,
        unix_sockets,
        record: true,
    };
    let mocks = Mocks::start_case(&mock_context, scenario).await?;
    let context = context(case, &mocks, folder);
    let environment = [
        (SCENARIO, scenario.client_name().to_owned()),
        (PROTOCOL_VERSION, case.revision.to_string()),
        (CONTEXT, serde_json::to_string(&context).map_err(CaseError::Context)?),
    ];
    // The command line has room for one URL.
    let url = match context.servers.values().collect::<Vec<_>>().as_slice() {
        [only] => only.url(),
        _ => None,
    };
    let settle = scenario.expect.processes.as_ref().and_then(|processes| processes.gone_within);
    let settle = settle.map_or(SETTLE, |HumanDuration(settle)| settle);
    let starting = starts.enter().await;
    let client = ClientProcess::start(client, program, url, folder, settle, environment);
    let mut client = client.map_err(CaseError::Start)?;
    client.samples_usage = scenario.expect.usage.is_some();
    let mut report = ClientReport::new(&context.report);
    let limits = Limits {
        start: time_factor.scale(START_LIMIT).max(SLOW_START * starts.slowest()),
        case: time_factor.scale(case.limit()),
    };
    evidence.timed_out = watch(case, limits, starting, &mut client, &mut report, &mocks.records()).await;
    let (process, stderr) = client.finish().await;
    evidence.process = Some(process);
    evidence.stderr = stderr;
    let protected = scenario.authorization.as_ref().and_then(|_| context.servers.get(MOCK_SERVER)?.url());
    let protected = protected.and_then(|url| Some(url::Url::parse(url).ok()?.path().to_owned()));
    let records = mocks.stop().await;
    Ok(CaseFiles { records, protected, report, _directory: directory })
}

fn context(case: &Case, mocks: &Mocks, folder: &Path) -> Context {
    let official = case.scenario.official.as_ref().map(|official| official.context.clone());
    Context {
        format: 1,
        name: case.scenario.client_name().to_owned(),
        scenario: case.scenario.scenario.clone(),
        transport: case.transport,
        revision: case.revision,
        servers: mocks.endpoints.clone(),
        client: ClientSetup { authorization: case.scenario.token_grant(), ..case.scenario.client.clone() },
        steps: case.scenario.steps.client().iter().map(ClientStep::without_expect).collect(),
        report: folder.join("report.jsonl"),
        official: mocks.credentials.clone().into_iter().chain(official.into_iter().flatten()).collect(),
    }
}

/// The time limits of a case.
struct Limits {
    /// Until the first frame.
    start: Duration,
    /// After the first frame.
    case: Duration,
}

fn has_content(record: &Path) -> bool {
    fs::metadata(record).is_ok_and(|file| file.len() > 0)
}

/// Whether a client without a report waits at its `die` step, as far as the frames show.
fn waits_to_die(case: &Case, records: &[PathBuf]) -> bool {
    let mut evidence = Evidence::empty(&case.scenario, case.transport, case.revision);
    for record in records {
        // The server may not have been started yet.
        let Ok(record) = read_bounded(record, MAX_FRAME_BYTES, MAX_FRAMES) else { return false };
        evidence.frames.extend(record.frames);
    }
    judge::is_before_death(&case.scenario, &evidence)
}

/// Waits until the client exits, or terminates it at its deadline; returns whether it did. Observes the process tree if
/// the scenario has expectations of it or of its usage, and kills the client at its `die` step.
///
/// Only a case with a `die` step needs the report while the client runs. Other clients append to a plain file, by the
/// contract, and no portable notification exists for that, so these few cases poll it. A client without a report is killed
/// a moment after the frames show the steps before that step.
async fn watch(
    case: &Case,
    limits: Limits,
    mut starting: Starting<'_>,
    client: &mut ClientProcess,
    report: &mut ClientReport,
    records: &[PathBuf],
) -> bool {
    let (processes, usage) = (case.scenario.expect.processes.is_some(), case.scenario.expect.usage.is_some());
    let observes = processes || usage;
    let mut dies = case.scenario.steps.client().iter().any(|step| matches!(step, ClientStep::Die(_)));
    let mut death = None;
    // An interpreter may need seconds to start, which say nothing about the client.
    let began = Instant::now();
    let (mut has_begun, mut deadline) = (false, began + limits.start);
    let mut ticks = interval(if usage && !processes { USAGE_INTERVAL } else { POLL_INTERVAL });
    ticks.set_missed_tick_behavior(MissedTickBehavior::Delay);
    loop {
        tokio::select! {
            () = client.exited() => return false,
            () = tokio::time::sleep_until(deadline) => {
                client.observe();
                client.terminate().await;
                return true;
            }
            _ = ticks.tick(), if observes || dies || !has_begun => {
                if !has_begun && records.iter().any(|record| has_content(record)) {
                    has_begun = true;
                    starting.finish(began.elapsed());
                    deadline = Instant::now() + limits.case;
                }
                starting.waited(began.elapsed());
                if observes {
                    client.observe();
                }
                if !dies {
                    continue;
                }
                if let Some(pid) = report.read().iter().find_map(ReportLine::die) {
                    dies = false;
                    client.kill(pid);
                } else if death.is_some_and(|death| Instant::now() > death) {
                    dies = !report.lines.is_empty();
                    if !dies {
                        client.kill_all();
                    }
                } else if report.lines.is_empty() && death.is_none() && waits_to_die(case, records) {
                    death = Some(Instant::now() + REPORT_DELAY);
                }
            }
        }
    }
}

/// Makes times relative to the start of the case, and numbers the frames by time.
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
    for ReportedEvent { at_us, .. } in &mut evidence.events {
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

#[cfg(test)]
mod tests {
    use evidence::{Body, FrameParts, Recorder};
    use serde_json::json;

    use super::*;

    #[test]
    fn a_case_of_many_frames_keeps_the_first_and_the_last() {
        let directory = tempfile::tempdir().expect("a directory");
        let record = directory.path().join("frames-0.jsonl");
        let recorder = Recorder::to_file("mock", &record).expect("a file");
        let frames = 20_000;
        for id in 0..frames {
            recorder
                .record(FrameParts::received(1, Body::json(json!({ "jsonrpc": "2.0", "id": id, "method": "ping" }))));
        }
        let report = ClientReport::new(&directory.path().join("report.jsonl"));
        let mut found =
            Evidence::without_records("a/b", crate::model::Transport::Stdio, crate::model::Revision::V2025_11_25);
        CaseFiles { records: vec![record], protected: None, report, _directory: directory }
            .load(&mut found)
            .expect("loaded");
        let kept = MAX_FRAMES + evidence::recorder::LAST_FRAMES;
        assert_eq!((found.frames.len(), found.omitted_frames), (kept, frames - kept as u64));
        assert_eq!(found.frames.last().map(|frame| frame.seq), Some(frames - 1));
        assert!(!found.runaway);
    }
}
