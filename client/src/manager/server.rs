//! State machine of one managed server. Callers that wait for a start share it.

mod list_changes;
mod start;

use std::sync::{Arc, Mutex, MutexGuard, PoisonError};

use tokio::{sync::watch, time::Instant};
use tokio_util::sync::CancellationToken;

use super::{ManagedServer, ServerError, Shared, Status};
use crate::{
    config::Endpoint,
    connection::Connection,
    error::CallError,
    event::{ClientEventKind, Reporter},
    lifecycle::Remembered,
    options::ConnectOptions,
};

/// The outcome of a start.
pub(super) type Outcome = Result<Connection, ServerError>;

/// The state of a server.
#[derive(Debug)]
enum Phase {
    Disabled,
    Resting,
    Starting { outcome: watch::Receiver<Option<Outcome>>, stop: CancellationToken },
    Up { connection: Connection, since: Instant },
    Down(ServerError),
}

impl Phase {
    fn status(&self) -> Status {
        match self {
            Self::Disabled => Status::Disabled,
            Self::Resting => Status::Disconnected,
            Self::Starting { .. } => Status::Connecting,
            Self::Up { .. } => Status::Connected,
            Self::Down(error) => error.status(),
        }
    }
}

#[derive(Debug)]
struct State {
    phase: Phase,
    /// Number of the start, which identifies events of an earlier one.
    epoch: u64,
    /// Number of consecutive failures, and the time of the last one.
    failures: u32,
    failed_at: Option<Instant>,
    /// The resources that the lost connection was subscribed to.
    subscribed: Vec<String>,
}

/// How often a start is attempted.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum StartPolicy {
    /// Once, after the remaining delay.
    Once,
    /// Until it succeeds or there were too many failures.
    Persistent,
}

/// A server of a manager.
#[derive(Debug)]
pub(super) struct Server {
    spec: Mutex<Arc<ManagedServer>>,
    pub(super) shared: Arc<Shared>,
    reporter: Reporter,
    state: Mutex<State>,
    /// How a remote server was reached before.
    remembered: Mutex<Option<Remembered>>,
    /// Cancelled when the server is removed or its manager dropped.
    pub(super) retired: CancellationToken,
}

impl Server {
    pub(super) fn new(spec: ManagedServer, shared: Arc<Shared>) -> Arc<Self> {
        let reporter = Reporter::new(spec.name(), shared.options.connect.events.clone());
        let phase = if spec.enabled { Phase::Resting } else { Phase::Disabled };
        let status = phase.status();
        reporter.report_of_lists(ClientEventKind::Status { status });
        let state = Mutex::new(State { phase, epoch: 0, failures: 0, failed_at: None, subscribed: Vec::new() });
        let retired = shared.closing.child_token();
        let remembered = Mutex::new(shared.options.connect.remembered);
        Arc::new(Self { spec: Mutex::new(Arc::new(spec)), shared, reporter, state, remembered, retired })
    }

    /// The options of a connection. The era of an origin is not detected again (2026-07-28, basic/versioning), but another
    /// process may be of another version.
    fn connect_options(&self) -> ConnectOptions {
        let remembered = *self.remembered.lock().unwrap_or_else(PoisonError::into_inner);
        ConnectOptions { remembered, ..self.shared.options.connect.clone() }
    }

    fn remember(&self, connection: &Connection) {
        if !matches!(self.spec().config.endpoint, Endpoint::Stdio(_)) {
            *self.remembered.lock().unwrap_or_else(PoisonError::into_inner) = Some(connection.remembered());
        }
    }

    fn state(&self) -> MutexGuard<'_, State> {
        self.state.lock().unwrap_or_else(PoisonError::into_inner)
    }

    pub(super) fn spec(&self) -> Arc<ManagedServer> {
        Arc::clone(&self.locked_spec())
    }

    /// Whether a tool may be called.
    pub(super) fn allows(&self, tool: &str) -> bool {
        self.locked_spec().tools.allows(tool)
    }

    fn locked_spec(&self) -> MutexGuard<'_, Arc<ManagedServer>> {
        self.spec.lock().unwrap_or_else(PoisonError::into_inner)
    }

    /// Applies settings that do not affect the connection.
    pub(super) fn adopt(&self, spec: ManagedServer) {
        *self.locked_spec() = Arc::new(spec);
    }

    pub(super) fn status(&self) -> Status {
        self.state().phase.status()
    }

    /// The connection, if the server is connected.
    pub(super) fn connected(&self) -> Option<Connection> {
        match &self.state().phase {
            Phase::Up { connection, .. } if !connection.is_closed() => Some(connection.clone()),
            _ => None,
        }
    }

    /// The current connection, the one being opened, or a new one.
    pub(super) async fn require(self: &Arc<Self>, explicit: bool) -> Outcome {
        let mut outcome = match self.begin_or_join(explicit)? {
            Joined::Up(connection) => return Ok(connection),
            Joined::Starting(outcome) => outcome,
        };
        match outcome.wait_for(Option::is_some).await.map(|outcome| outcome.clone()) {
            Ok(Some(outcome)) => outcome,
            Ok(None) | Err(_) => Err(self.stopped()),
        }
    }

    /// Starts the server without waiting, unless it is connected or starting.
    pub(super) fn wake(self: &Arc<Self>) {
        if let Err(error) = self.begin_or_join(false) {
            tracing::debug!(server = self.reporter.server(), %error, "not started");
        }
    }

    fn begin_or_join(self: &Arc<Self>, explicit: bool) -> Result<Joined, ServerError> {
        let mut state = self.state();
        if self.retired.is_cancelled() {
            return Err(self.stopped());
        }
        // The watching task may not have noticed yet.
        if matches!(&state.phase, Phase::Up { connection, .. } if connection.is_closed()) {
            self.note_loss(&mut state, "the connection is closed");
        }
        match &state.phase {
            Phase::Disabled => return Err(ServerError::Disabled { server: self.reporter.server().to_owned() }),
            Phase::Up { connection, .. } => return Ok(Joined::Up(connection.clone())),
            Phase::Starting { outcome, .. } => return Ok(Joined::Starting(outcome.clone())),
            Phase::Down(error) if !explicit && error.is_permanent() => return Err(error.clone()),
            Phase::Resting | Phase::Down(_) => {}
        }
        if explicit {
            (state.failures, state.failed_at) = (0, None);
        }
        Ok(Joined::Starting(self.begin(&mut state, StartPolicy::Once)))
    }

    fn begin(self: &Arc<Self>, state: &mut State, policy: StartPolicy) -> watch::Receiver<Option<Outcome>> {
        let (sender, outcome) = watch::channel(None);
        let stop = self.retired.child_token();
        state.epoch += 1;
        self.enter(state, Phase::Starting { outcome: outcome.clone(), stop: stop.clone() });
        tokio::spawn(start::run(Arc::clone(self), policy, state.epoch, stop, sender));
        outcome
    }

    fn enter(&self, state: &mut State, phase: Phase) {
        let (before, status) = (state.phase.status(), phase.status());
        state.phase = phase;
        if before != status {
            tracing::debug!(server = self.reporter.server(), %status, "status");
            // Reported under the lock, so that events have the order of the changes.
            self.reporter.report_of_lists(ClientEventKind::Status { status });
        }
    }

    fn stopped(&self) -> ServerError {
        ServerError::Stopped { server: self.reporter.server().to_owned() }
    }

    /// Number of consecutive failures, and the time of the last one.
    pub(super) fn failures(&self) -> (u32, Option<Instant>) {
        let state = self.state();
        (state.failures, state.failed_at)
    }

    /// Records a failed attempt, and returns the error to report: a different one after too many failures.
    pub(super) fn note_failure(&self, error: ServerError) -> ServerError {
        let mut state = self.state();
        self.count_failure(&mut state);
        if error.is_permanent() || state.failures <= self.shared.options.backoff.tries {
            return error;
        }
        self.too_many_failures(&state, error.to_string())
    }

    fn count_failure(&self, state: &mut State) {
        state.failures += 1;
        state.failed_at = Some(Instant::now());
    }

    fn too_many_failures(&self, state: &State, last: String) -> ServerError {
        ServerError::GaveUp { server: self.reporter.server().to_owned(), failures: state.failures, last }
    }

    /// Applies the outcome of a start, unless it was stopped.
    pub(super) fn settle(self: &Arc<Self>, epoch: u64, outcome: Outcome) -> Outcome {
        let mut state = self.state();
        if state.epoch != epoch || self.retired.is_cancelled() {
            return Err(self.stopped());
        }
        match &outcome {
            Ok(connection) => {
                let phase = Phase::Up { connection: connection.clone(), since: Instant::now() };
                self.enter(&mut state, phase);
                tokio::spawn(list_changes::run(Arc::clone(self), connection.clone(), epoch));
                let (subscribed, connection) = (std::mem::take(&mut state.subscribed), connection.clone());
                if !subscribed.is_empty() {
                    tokio::spawn(async move { connection.subscribe_again(subscribed).await });
                }
            }
            Err(error) => self.go_down(&mut state, error.clone()),
        }
        outcome
    }

    /// Enters the state without a connection for this reason.
    fn go_down(&self, state: &mut State, error: ServerError) {
        if matches!(error.status(), Status::NeedsAuth) {
            // The next login may be of another user.
            self.shared.cache.remove_private(&self.spec().cache_key());
        }
        self.enter(state, Phase::Down(error));
    }

    /// Ends the connection if a call shows that nothing works without a new login.
    pub(super) fn on_call_error(&self, connection: &Connection, error: &CallError) {
        let reason = match error {
            CallError::NeedsAuth { status: 401, .. } => error.to_string(),
            CallError::Auth { source } if source.kind() == "login-required" => source.to_string(),
            _ => return,
        };
        let mut state = self.state();
        if !matches!(&state.phase, Phase::Up { connection: current, .. } if current.is_same(connection)) {
            return;
        }
        // The end of this connection does not count as a failure of the server.
        state.epoch += 1;
        let server = self.reporter.server().to_owned();
        self.go_down(&mut state, ServerError::LoginOver { server, reason });
        let connection = connection.clone();
        tokio::spawn(async move { connection.close().await });
    }

    /// Records the end of the connection of this start.
    pub(super) fn on_disconnect(self: &Arc<Self>, epoch: u64, reason: &str) {
        let mut state = self.state();
        if state.epoch == epoch && !self.retired.is_cancelled() && matches!(state.phase, Phase::Up { .. }) {
            self.note_loss(&mut state, reason);
        }
    }

    fn note_loss(self: &Arc<Self>, state: &mut State, reason: &str) {
        if let Phase::Up { connection, .. } = &state.phase {
            state.subscribed = connection.subscribed_resources();
        }
        if matches!(&state.phase, Phase::Up { since, .. } if since.elapsed() >= self.shared.options.backoff.healthy) {
            (state.failures, state.failed_at) = (0, None);
        }
        self.count_failure(state);
        if state.failures > self.shared.options.backoff.tries {
            let error = self.too_many_failures(state, reason.to_owned());
            return self.enter(state, Phase::Down(error));
        }
        self.enter(state, Phase::Resting);
        // A process that exited is started on demand. A remote server is reconnected, because it may come back.
        if !matches!(self.spec().config.endpoint, Endpoint::Stdio(_)) {
            self.begin(state, StartPolicy::Persistent);
        }
    }

    /// Closes the connection or stops the start. The next use starts the server again.
    pub(super) async fn disconnect(&self) {
        let connection = {
            let mut state = self.state();
            state.epoch += 1;
            (state.failures, state.failed_at) = (0, None);
            if matches!(state.phase, Phase::Disabled) {
                return;
            }
            let ended = match &state.phase {
                Phase::Starting { stop, .. } => {
                    stop.cancel();
                    None
                }
                Phase::Up { connection, .. } => Some(connection.clone()),
                Phase::Disabled | Phase::Resting | Phase::Down(_) => None,
            };
            self.enter(&mut state, Phase::Resting);
            ended
        };
        if let Some(connection) = connection {
            connection.close().await;
        }
    }

    /// Stops the server permanently.
    pub(super) async fn remove(&self) {
        self.retired.cancel();
        self.disconnect().await;
    }
}

/// What a caller of [`Server::require`] waits for.
enum Joined {
    Up(Connection),
    Starting(watch::Receiver<Option<Outcome>>),
}
