//! The state of a run: header, journal, results and events.

use std::{
    collections::{HashMap, HashSet},
    fs::File,
    io::{self, BufReader},
    path::Path,
    sync::Arc,
    sync::atomic::{AtomicU64, Ordering},
    time::{Duration, Instant, SystemTime},
};

use reports::{
    journal::{self as journal_format, Line},
    model::{
        CaseResult, CheckResult, FORMAT, LoadResult, PassPolicy, Portability, Profile, Run, RunHeader, RunKind,
        ToolCalls, Verdict,
    },
};
use tokio::runtime::{Builder, Runtime};

use super::{Baseline, EventSink, FinishedRun, RunDirectory, RunError, RunEvent, journal::Journal};
use crate::{
    Evidence, Scenario,
    bench::Progress,
    evidence::Outcome,
    judge::{self, check::Check, checks},
    model::Subject,
    peer::{ProbeResult, SESSION},
    select::CheckSelection,
};

/// Distinguishes runs of one process that start in the same second.
static COUNT: AtomicU64 = AtomicU64::new(0);

/// Subject, seed and size of a run that starts.
pub(super) struct Start<'a> {
    pub(super) kind: RunKind,
    pub(super) subject: String,
    pub(super) seed: u64,
    pub(super) planned: usize,
    pub(super) jobs: usize,
    pub(super) probe: Option<&'a ProbeResult>,
    pub(super) policy: PassPolicy,
    pub(super) profile: Option<Profile>,
    pub(super) call_tools: &'a [String],
}

impl Start<'_> {
    fn header(&self) -> RunHeader {
        let started = humantime::format_rfc3339_seconds(SystemTime::now()).to_string();
        let compact: String = started.chars().filter(char::is_ascii_alphanumeric).collect();
        let run_id = match COUNT.fetch_add(1, Ordering::Relaxed) {
            0 => format!("{compact}-{}", std::process::id()),
            count => format!("{compact}-{}-{count}", std::process::id()),
        };
        RunHeader {
            run_id,
            kind: self.kind,
            workbench: env!("CARGO_PKG_VERSION").to_owned(),
            started,
            subject: self.subject.clone(),
            seed: self.seed,
            planned: self.planned,
            policy: self.policy,
            profile: self.profile,
            call_tools: self.call_tools.to_vec(),
        }
    }
}

/// A run in progress.
pub(super) struct Session<'e> {
    header: RunHeader,
    journal: Journal,
    events: EventSink<'e>,
    started: Instant,
    /// Results by position in the plan. The frames of results in the journal are dropped, to bound memory.
    cases: HashMap<usize, CaseResult>,
    loads: Vec<LoadResult>,
    tool_calls: Vec<ToolCalls>,
    portability: Vec<Portability>,
}

impl<'e> Session<'e> {
    pub(super) fn start(start: &Start<'_>, directory: &RunDirectory, events: EventSink<'e>) -> Self {
        let header = start.header();
        let (journal, created) = Journal::create(directory, &header);
        let (cases, loads, tool_calls, portability) = (HashMap::new(), Vec::new(), Vec::new(), Vec::new());
        let started = Instant::now();
        let mut session = Self { header, journal, events, started, cases, loads, tool_calls, portability };
        let Start { jobs, probe, .. } = *start;
        let journal = session.journal.is_open().then(|| session.journal.path());
        (session.events)(RunEvent::Started { header: &session.header, journal, jobs, probe });
        session.check_journal(created);
        session
    }

    /// Counts the time of the run from an earlier moment.
    pub(super) fn began(&mut self, began: Instant) {
        self.started = began;
    }

    pub(super) fn case_started(&mut self, id: &str) {
        (self.events)(RunEvent::CaseStarted { id });
    }

    pub(super) fn case_finished(&mut self, judged: JudgedCase) {
        let JudgedCase { index, mut result, line, is_selected, .. } = judged;
        if !is_selected {
            self.header.planned = self.header.planned.saturating_sub(1);
            return;
        }
        let written = line.and_then(|line| self.journal.append(&line));
        self.check_journal(written);
        (self.events)(RunEvent::CaseFinished { result: &result });
        if self.journal.is_open() {
            result.frames = Vec::new();
        }
        self.cases.insert(index, result);
    }

    /// Whether finished cases have the same failures and warnings: each check failed in any of them, and each step in the
    /// same scenario in another revision.
    pub(super) fn has_confirmed(&self, judged: &JudgedCase) -> bool {
        let found = |result: &CaseResult, check: &CheckResult| {
            result.checks.iter().any(|known| known.id == check.id && known.verdict == check.verdict)
                && (checks::for_subject(Subject::Server).any(|known| known.id == check.id)
                    || result.scenario == judged.result.scenario)
        };
        let mut doubtful = judged.result.checks.iter().filter(|check| check.verdict > Verdict::Passed);
        doubtful.all(|check| self.cases.values().any(|result| found(result, check)))
    }

    pub(super) fn load_progress(&mut self, progress: Progress) {
        (self.events)(RunEvent::LoadProgress(progress));
    }

    pub(super) fn load_finished(&mut self, result: LoadResult) {
        let written = self.journal.append_line(&Line::Load { result: Box::new(result.clone()) });
        self.check_journal(written);
        (self.events)(RunEvent::LoadFinished { result: &result });
        self.loads.push(result);
    }

    pub(super) fn note_tools(&mut self, tool_calls: Vec<ToolCalls>, portability: Vec<Portability>) {
        self.tool_calls = tool_calls;
        self.portability = portability;
    }

    /// Collects the results, and completes the journal if all cases finished. `judge` judged the cases, if there are any.
    pub(super) async fn finish(
        mut self,
        complete: bool,
        baseline: Option<&Baseline>,
        judge: Option<&Judge>,
    ) -> FinishedRun {
        let elapsed_ms = u64::try_from(self.started.elapsed().as_millis()).unwrap_or(u64::MAX);
        if let Some(judge) = judge {
            self.restore_frames(judge).await;
        }
        let mut cases: Vec<_> = self.cases.drain().collect();
        cases.sort_unstable_by_key(|(index, _)| *index);
        let cases: Vec<CaseResult> = cases.into_iter().map(|(_, result)| result).collect();
        let baseline = baseline.map(|baseline| baseline.compare(&cases));
        if complete {
            let (tool_calls, portability) = (self.tool_calls.clone(), self.portability.clone());
            let end = Line::End { elapsed_ms, baseline: baseline.clone(), tool_calls, portability };
            let written = self.journal.append_line(&end);
            self.check_journal(written);
        }
        let run = Run {
            format: FORMAT,
            header: self.header,
            cases,
            loads: self.loads,
            baseline,
            tool_calls: self.tool_calls,
            portability: self.portability,
            complete,
            elapsed_ms,
        };
        (self.events)(RunEvent::Finished { run: &run });
        FinishedRun { run, journal: self.journal.is_open().then(|| self.journal.path().to_owned()) }
    }

    /// Reads the frames of the results back from the journal, into memory that judging has used.
    async fn restore_frames(&mut self, judge: &Judge) {
        let path = self.journal.path().to_owned();
        let read = judge.execute(move || read_results(&path)).await;
        match read {
            Ok(Ok(mut saved)) => {
                for result in self.cases.values_mut().filter(|result| result.frames.is_empty()) {
                    if let Some(saved) = saved.remove(&result.id) {
                        *result = saved;
                    }
                }
            }
            Ok(Err(error)) => tracing::warn!(%error, "the journal cannot be read back; the report has no frames"),
            Err(error) => tracing::warn!(%error, "reading the journal failed"),
        }
    }

    fn check_journal(&mut self, written: io::Result<()>) {
        if let Err(error) = written {
            (self.events)(RunEvent::JournalFailed { path: self.journal.path(), error: &error });
        }
    }
}

fn read_results(path: &Path) -> io::Result<HashMap<String, CaseResult>> {
    let run = journal_format::read(BufReader::new(File::open(path)?)).map_err(io::Error::other)?;
    Ok(run.cases.into_iter().map(|result| (result.id.clone(), result)).collect())
}

/// A case to judge.
pub(super) struct RecordedCase {
    pub(super) index: usize,
    pub(super) id: String,
    pub(super) scenario: Arc<Scenario>,
    /// Returns the evidence. It may block.
    pub(super) evidence: Box<dyn FnOnce() -> Evidence + Send>,
}

/// A judged case and its journal line. The evidence is dropped.
pub(super) struct JudgedCase {
    index: usize,
    pub(super) result: CaseResult,
    line: io::Result<Vec<u8>>,
    /// Exit code and standard error of a process that neither sent nor reported anything.
    pub(super) idle_exit: Option<(i32, String)>,
    /// Whether the result depends on time, so that the case is repeated before it counts.
    pub(super) depends_on_time: bool,
    /// Whether the case has results of selected checks.
    is_selected: bool,
}

/// Judges cases one after another on a thread of its own. Clones share the thread.
///
/// A case that is judged is in memory as evidence and as journal line, so only one is at a time. Always the same thread
/// allocates that memory, because the allocator keeps freed memory for each thread.
#[derive(Debug, Clone)]
pub(super) struct Judge {
    thread: Arc<JudgeThread>,
    selection: Arc<CheckSelection>,
}

#[derive(Debug)]
struct JudgeThread(Option<Runtime>);

impl Drop for JudgeThread {
    fn drop(&mut self) {
        // A runtime must not be dropped in an asynchronous context.
        if let Some(runtime) = self.0.take() {
            runtime.shutdown_background();
        }
    }
}

impl Judge {
    pub(super) fn new() -> io::Result<Self> {
        Self::with_selection(CheckSelection::default())
    }

    /// A judge that keeps the results of the selected checks.
    pub(super) fn with_selection(selection: CheckSelection) -> io::Result<Self> {
        let hour = Duration::from_secs(3_600);
        let runtime = Builder::new_current_thread().max_blocking_threads(1).thread_keep_alive(hour).build()?;
        Ok(Self { thread: Arc::new(JudgeThread(Some(runtime))), selection: Arc::new(selection) })
    }

    /// Executes `work` on the thread, after all earlier work.
    pub(super) async fn execute<T: Send + 'static>(
        &self,
        work: impl FnOnce() -> T + Send + 'static,
    ) -> Result<T, RunError> {
        // The runtime is only taken on drop.
        let handle = self.thread.0.as_ref().map(|runtime| runtime.spawn_blocking(work));
        match handle {
            Some(handle) => handle.await.map_err(RunError::Internal),
            None => Err(RunError::Cancelled),
        }
    }

    pub(super) async fn judge(&self, case: RecordedCase) -> Result<JudgedCase, RunError> {
        let selection = Arc::clone(&self.selection);
        self.execute(move || {
            let RecordedCase { index, id, scenario, evidence } = case;
            let evidence = evidence();
            let selected = |check: &Check| selection.may_retain(check, &scenario.scenario, &id);
            let mut result = judge::judge_with(&id, &scenario, &evidence, &selected);
            let is_selected = selection.retain(&mut result);
            if !is_selected {
                let line = Ok(Vec::new());
                return JudgedCase { index, result, line, idle_exit: None, depends_on_time: false, is_selected };
            }
            let line = journal_format::case_line(index, &result, &evidence).map_err(io::Error::from);
            let code = evidence.process.as_ref().and_then(|process| process.code);
            let idle = evidence.frames.is_empty() && evidence.steps.is_empty();
            let depends_on_time = match scenario.subject {
                Subject::Server => depends_on_time(&evidence, &result),
                Subject::Client => client_depends_on_time(&evidence, &result),
            };
            let idle_exit = code.filter(|_| idle).map(|code| (code, evidence.stderr));
            JudgedCase { index, result, line, idle_exit, depends_on_time, is_selected }
        })
        .await
    }
}

/// The checks that fail because of the time of a message or of an exit, or because of what other sessions do meanwhile: their
/// calls may change a list.
const LATE_CHECKS: [&str; 9] = [
    "cancels-no-other-request",
    "cursors-are-stable",
    "exits-when-input-closes",
    "http-input-has-a-response",
    "last-page-has-no-cursor",
    "lists-are-independent-of-other-requests",
    "message-on-one-stream",
    "ping-does-not-wait-for-calls",
    "subscription-is-accepted",
];

/// Whether a failure may have been caused by a timeout, an exit or a lost connection, so that it is repeated before it
/// counts.
fn depends_on_time(evidence: &Evidence, result: &CaseResult) -> bool {
    let failed = result.verdict.is_failure();
    let lost = |outcome: &Outcome| is_lost(outcome) || failed && is_silent(outcome);
    let counts = failed || result.verdict == Verdict::Warned;
    let is_lost = evidence.steps.iter().any(|step| lost(&step.outcome)) || has_lost_session(evidence);
    let mut found = result.checks.iter().filter(|check| check.verdict > Verdict::Passed);
    let is_late = found.any(|check| LATE_CHECKS.contains(&check.id.as_str()));
    counts && (evidence.timed_out || evidence.broken.is_some() || is_lost || is_late)
}

/// Whether the server no longer knew the session of a request, which another request may have ended (2025-11-25,
/// basic/transports#session-management).
fn has_lost_session(evidence: &Evidence) -> bool {
    let mut in_session = HashSet::new();
    evidence.frames.iter().any(|frame| {
        let Some(http) = &frame.http else { return false };
        if matches!(http.method.as_deref(), Some("POST" | "GET")) && http.headers.contains_key(SESSION) {
            in_session.insert(frame.connection);
        }
        http.status == Some(404) && in_session.contains(&frame.connection)
    })
}

/// Whether a client may have violated a requirement only because the machine was busy: it was stopped, a timeout expired, or a
/// time was measured.
fn client_depends_on_time(evidence: &Evidence, result: &CaseResult) -> bool {
    // A server that reads its end of input late gets SIGTERM first.
    const TIMES: [&str; 5] =
        [".within", ".not_before", ".gone_after_disconnect", "closes-before-killing", "pings-answered-promptly"];
    let timed_out = |outcome: &Outcome| matches!(outcome, Outcome::Error(error) if matches!(error.kind.as_str(), "timed-out" | "startup-timeout"));
    let is_time = |check: &CheckResult| TIMES.iter().any(|time| check.id.ends_with(time));
    let mut violated = result.checks.iter().filter(|check| check.verdict > Verdict::Passed);
    result.verdict > Verdict::Passed
        && !evidence.runaway
        && (evidence.timed_out || evidence.steps.iter().any(|step| timed_out(&step.outcome)) || violated.any(is_time))
}

fn is_lost(outcome: &Outcome) -> bool {
    match outcome {
        Outcome::Error(error) => matches!(error.kind.as_str(), "timed-out" | "closed" | "no-answer"),
        Outcome::Value(value) => value.get("exited").is_some_and(|exited| exited == false),
        Outcome::Skipped(_) => false,
    }
}

/// Whether raw text had no reply. The server may still have been starting.
fn is_silent(outcome: &Outcome) -> bool {
    matches!(outcome, Outcome::Value(value) if value["replies"].as_array().is_some_and(Vec::is_empty))
}

#[cfg(test)]
mod tests {
    use serde_json::json;

    use super::*;
    use crate::{
        evidence::StepOutcome,
        model::{Revision, Transport},
    };

    #[test]
    fn a_failure_after_silence_or_a_lost_session_depends_on_time() {
        let result = |verdict: &str| -> CaseResult {
            let case = json!({ "id": "a", "scenario": "a", "transport": "stdio", "revision": "2025-11-25", "title": "a",
                "verdict": verdict, "checks": [], "frames": [], "elapsed_ms": 0 });
            serde_json::from_value(case).expect("a result")
        };
        let raw = |replies: serde_json::Value| {
            let outcome = Outcome::Value(json!({ "replies": replies }));
            let step = StepOutcome { step: Some(0), server: None, began_us: 0, ended_us: 1, outcome };
            Evidence { steps: vec![step], ..Evidence::without_records("a", Transport::Stdio, Revision::V2025_11_25) }
        };
        assert!(depends_on_time(&raw(json!([])), &result("failed")));
        assert!(!depends_on_time(&raw(json!([{}])), &result("failed")));
        assert!(!depends_on_time(&raw(json!([])), &result("warned")), "silence is a valid reaction to raw text");
        let with_check = |id: &str| {
            let check = json!({ "id": id, "verdict": "failed", "requirement": { "id": "a", "level": "MUST", "text": "a", "url": "a" }, "expected": "a", "observed": "a" });
            CaseResult { checks: vec![serde_json::from_value(check).expect("a check")], ..result("failed") }
        };
        assert!(depends_on_time(&raw(json!([{}])), &with_check(LATE_CHECKS[0])));
        assert!(!depends_on_time(&raw(json!([{}])), &with_check("own-requests")));
        let responded = |headers: serde_json::Value, status: u16| {
            let frame = |direction: &str, http: serde_json::Value| {
                serde_json::from_value(json!({ "seq": 0, "at_us": 0, "server": "server", "connection": 1,
                    "direction": direction, "body": { "json": {} }, "http": http }))
                .expect("a frame")
            };
            let sent = frame("client-to-server", json!({ "method": "POST", "headers": headers }));
            let frames = vec![sent, frame("server-to-client", json!({ "status": status }))];
            Evidence { frames, ..Evidence::without_records("a", Transport::StreamableHttp, Revision::V2025_11_25) }
        };
        let session = json!({ "mcp-session-id": "1" });
        assert!(depends_on_time(&responded(session.clone(), 404), &result("failed")));
        assert!(depends_on_time(&responded(session.clone(), 404), &result("warned")));
        assert!(!depends_on_time(&responded(session.clone(), 404), &result("passed")));
        assert!(!depends_on_time(&responded(session, 400), &result("failed")));
        assert!(!depends_on_time(&responded(json!({}), 404), &result("failed")));
    }
}
