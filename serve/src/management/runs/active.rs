//! Runs of this process: the active one, and those that finished.

use std::{
    collections::VecDeque,
    convert::Infallible,
    sync::{Arc, Mutex},
};

use axum::response::sse::Event;
use futures::{Stream, stream};
use http::StatusCode;
use reports::{
    Run,
    model::{CaseResult, RunHeader},
};
use scenarios::run::{RunDirectory, RunEvent, RunPlan, run};
use tokio::sync::watch;
use tokio_util::sync::CancellationToken;

use super::{
    super::{
        config::Secrets,
        error::{ApiError, ErrorDetail},
        events::named,
        lock,
    },
    RunStatus, RunView,
    redaction::redact,
};
use crate::{error::ToolError, progress::ProgressReporter, workbench::Workbench};

/// Maximum number of runs in memory. The oldest are removed; their journals remain.
const MAX_RUNS: usize = 20;

/// The runs of this process.
#[derive(Debug, Default)]
pub(in super::super) struct Runs(Mutex<RunTable>);

#[derive(Debug, Default)]
struct RunTable {
    /// Number of started runs, which is the id of the newest.
    started: usize,
    /// The oldest first.
    runs: VecDeque<Arc<ValidationRun>>,
}

impl Runs {
    /// Adds a run unless one is active.
    pub(super) fn add(&self, server: &str) -> Result<Arc<ValidationRun>, ApiError> {
        let mut table = lock(&self.0);
        if let Some(active) = table.runs.iter().find(|run| run.state.borrow().end.is_none()) {
            let message = format!("run `{}` of server `{}` is active", active.id, active.server);
            return Err(ApiError::new(StatusCode::CONFLICT, "run-active", message)
                .with_help("wait for its end, or cancel it with `POST /runs/{id}/cancel`"));
        }
        table.started += 1;
        if table.runs.len() >= MAX_RUNS {
            table.runs.pop_front();
        }
        let run = Arc::new(ValidationRun {
            id: table.started.to_string(),
            server: server.to_owned(),
            cancel: CancellationToken::new(),
            state: watch::Sender::default(),
        });
        table.runs.push_back(Arc::clone(&run));
        Ok(run)
    }

    pub(super) fn get(&self, id: &str) -> Option<Arc<ValidationRun>> {
        lock(&self.0).runs.iter().find(|run| run.id == id).cloned()
    }

    /// All runs, the newest first.
    pub(super) fn views(&self) -> Vec<RunView> {
        lock(&self.0).runs.iter().rev().map(|run| run.view()).collect()
    }
}

/// A run of this process.
#[derive(Debug)]
pub(super) struct ValidationRun {
    id: String,
    server: String,
    cancel: CancellationToken,
    state: watch::Sender<RunState>,
}

#[derive(Debug, Default)]
struct RunState {
    header: Option<RunHeader>,
    /// In the order in which they finished.
    cases: Vec<Arc<CaseResult>>,
    end: Option<Result<Arc<Run>, ToolError>>,
}

impl ValidationRun {
    /// Executes the run. If the workbench closes, it is dropped with its processes.
    pub(super) async fn execute(&self, workbench: &Workbench, plan: RunPlan, secrets: &Secrets) {
        let directory = RunDirectory::Within(workbench.settings().runs.clone());
        let mut record = |event: RunEvent<'_>| self.record(&event, secrets);
        let work = async { Ok(run(plan, &directory, &mut record, self.cancel.clone()).await?.run) };
        // The token of the run is passed to the run itself, so that the results of finished cases remain.
        let outcome = workbench.run(&ProgressReporter::disabled(), &CancellationToken::new(), work).await;
        let end = match outcome {
            Ok(mut run) => {
                run.cases.iter_mut().for_each(|case| redact(case, secrets));
                Ok(Arc::new(run))
            }
            Err(_) if self.cancel.is_cancelled() => Err(ToolError::cancelled()),
            Err(error) => Err(ToolError { message: secrets.redact(error.message), ..error }),
        };
        self.state.send_modify(|state| state.end = Some(end));
    }

    fn record(&self, event: &RunEvent<'_>, secrets: &Secrets) {
        match event {
            RunEvent::Started { header, .. } => {
                let header = RunHeader::clone(header);
                self.state.send_modify(|state| state.header = Some(header));
            }
            RunEvent::CaseFinished { result } => {
                let mut case = CaseResult::clone(result);
                redact(&mut case, secrets);
                self.state.send_modify(|state| state.cases.push(Arc::new(case)));
            }
            RunEvent::JournalFailed { path, error } => {
                tracing::warn!(path = %path.display(), %error, "cannot write the journal");
            }
            // `execute` returns the results; validations have no load tests.
            RunEvent::CaseStarted { .. }
            | RunEvent::LoadProgress(_)
            | RunEvent::LoadFinished { .. }
            | RunEvent::Finished { .. } => {}
        }
    }

    /// Cancels the run and waits for its end.
    pub(super) async fn cancel(&self) {
        self.cancel.cancel();
        // The sender is part of `self`.
        let _ = self.state.subscribe().wait_for(|state| state.end.is_some()).await;
    }

    /// The results.
    pub(super) fn result(&self) -> Result<Arc<Run>, ApiError> {
        match &self.state.borrow().end {
            Some(Ok(run)) => Ok(Arc::clone(run)),
            Some(Err(error)) => Err(ApiError::from_error(StatusCode::CONFLICT, error.clone())),
            None => Err(ApiError::new(StatusCode::CONFLICT, "run-active", format!("run `{}` is active", self.id))
                .with_help("wait for the event `end` of `GET /runs/{id}/events`")),
        }
    }

    pub(super) fn view(&self) -> RunView {
        self.view_of(&self.state.borrow())
    }

    fn view_of(&self, state: &RunState) -> RunView {
        let (run, error) = match &state.end {
            Some(Ok(run)) => (Some(run), None),
            Some(Err(error)) => (None, Some(ErrorDetail::from(error.clone()))),
            None => (None, None),
        };
        RunView {
            id: self.id.clone(),
            server: self.server.clone(),
            status: match &state.end {
                Some(Ok(_)) => RunStatus::Finished,
                Some(Err(_)) => RunStatus::Failed,
                None => RunStatus::Running,
            },
            finished: state.cases.len(),
            header: state.header.clone(),
            counts: run.map(|run| run.counts()),
            passed: run.map(|run| run.passed()),
            complete: run.map(|run| run.complete),
            error,
        }
    }

    /// All events from the start of the run to its end.
    pub(super) fn events(self: Arc<Self>) -> impl Stream<Item = Result<Event, Infallible>> + use<> {
        let position = Some(Position { states: self.state.subscribe(), run: self, started: false, cases: 0 });
        stream::unfold(position, |position| async {
            let mut position = position?;
            loop {
                if let Some((event, is_end)) = position.next() {
                    return Some((Ok(event), (!is_end).then_some(position)));
                }
                // The sender is part of the run, which `position` owns.
                position.states.changed().await.ok()?;
            }
        })
    }
}

/// A reader of the events of a run.
struct Position {
    run: Arc<ValidationRun>,
    states: watch::Receiver<RunState>,
    started: bool,
    /// Number of sent cases.
    cases: usize,
}

impl Position {
    /// The next event, and whether it is the last one.
    fn next(&mut self) -> Option<(Event, bool)> {
        let state = self.states.borrow_and_update();
        if !self.started && state.header.is_some() {
            self.started = true;
            return Some((named("started", &self.run.view_of(&state)), false));
        }
        if let Some(case) = state.cases.get(self.cases) {
            self.cases += 1;
            return Some((named("case", &**case), false));
        }
        state.end.as_ref().map(|_| (named("end", &self.run.view_of(&state)), true))
    }
}
