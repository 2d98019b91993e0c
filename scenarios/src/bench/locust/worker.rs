//! The protocol of a worker: registers, reports, and passes the orders of the master on to the users.

use std::time::{Duration, SystemTime, UNIX_EPOCH};

use tokio::{
    sync::mpsc,
    time::{Instant, MissedTickBehavior, interval, sleep, sleep_until},
};
use tokio_util::sync::CancellationToken;

use super::{
    Notice, WorkerError,
    link::{Link, Lost},
    message::{Exception, FromMaster, Heartbeat, Spawn, State, ToMaster, UserClasses, UserCounts},
    stats::{Operations, Pending},
    usage::{Usage, memory_bytes},
    users::{Command, Event},
};

/// Intervals and timeouts of the protocol.
#[derive(Debug, Clone, Copy)]
pub(super) struct Times {
    /// Between two heartbeats.
    pub(super) heartbeat: Duration,
    /// Between two reports.
    pub(super) report: Duration,
    /// Until a registration without a response is repeated.
    pub(super) ack: Duration,
    /// Without a heartbeat of the master until it is lost.
    pub(super) lost: Duration,
    /// Between two attempts to connect.
    pub(super) retry: Duration,
    /// Of all attempts to register, until the worker gives up.
    pub(super) give_up: Duration,
}

impl Default for Times {
    fn default() -> Self {
        Self {
            heartbeat: Duration::from_secs(1),
            report: Duration::from_secs(3),
            ack: Duration::from_secs(5),
            lost: Duration::from_secs(60),
            retry: Duration::from_secs(1),
            give_up: Duration::from_secs(300),
        }
    }
}

/// Grace period of calls in flight at `quit`. The master waits 0.5 s for the last report, and a thread notices within 50 ms
/// that its calls are abandoned.
const QUIT_GRACE: Duration = Duration::from_millis(200);

/// Maximum wait for the last records at `quit`.
const QUIT_RECORDS: Duration = Duration::from_millis(350);

/// Minimum grace period of calls in flight at `stop`, after which a master waits for a minute.
const STOP_GRACE: Duration = Duration::from_secs(1);

/// Maximum grace period that a master can set.
const MAX_GRACE: Duration = Duration::from_secs(24 * 60 * 60);

/// Wait before the process ends: a sent message is only queued.
const LINGER: Duration = Duration::from_millis(200);

/// Why the users stop.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum Stopping {
    /// `stop`: the worker registers again.
    Stop,
    /// `mcp_drain`: the master sends `stop` or `quit` next, and the users stay stopped until then.
    Drain,
    /// The calls in flight after `mcp_drain` ended.
    Drained,
    /// The master was lost, so there is nothing to report.
    Lost,
}

/// Why a connection is no longer used.
enum End {
    /// The master ended the run, or the user this worker.
    Quit,
    /// Connect again.
    Lost(Lost),
}

/// A worker.
pub(super) struct Worker<N> {
    master: String,
    times: Times,
    commands: mpsc::UnboundedSender<Command>,
    events: mpsc::UnboundedReceiver<Event>,
    notify: N,
    state: State,
    users: UserClasses,
    last_spawn: f64,
    stop_timeout: Duration,
    reset_stats: bool,
    stopping: Option<Stopping>,
    /// Commands to stop whose end was not received.
    open_stops: usize,
    pending: Pending,
    usage: Usage,
}

impl<N: FnMut(Notice)> Worker<N> {
    pub(super) fn new(
        master: String,
        operations: Operations,
        commands: mpsc::UnboundedSender<Command>,
        events: mpsc::UnboundedReceiver<Event>,
        notify: N,
    ) -> Self {
        Self {
            master,
            times: Times::default(),
            commands,
            events,
            notify,
            state: State::Ready,
            users: UserClasses::new(),
            last_spawn: 0.0,
            stop_timeout: Duration::ZERO,
            reset_stats: false,
            stopping: None,
            open_stops: 0,
            pending: Pending::new(operations, unix_seconds()),
            usage: Usage::new(),
        }
    }

    #[cfg(test)]
    pub(super) fn with_times(self, times: Times) -> Self {
        Self { times, ..self }
    }

    /// Works until the master ends the run or `cancel` is triggered.
    ///
    /// # Errors
    /// If no master accepts the worker in time, or the users cannot go on.
    pub(super) async fn run(mut self, cancel: CancellationToken) -> Result<(), WorkerError> {
        let mut give_up_at = Instant::now() + self.times.give_up;
        loop {
            let connected = tokio::select! {
                connected = Link::connect(&self.master) => connected,
                () = cancel.cancelled() => return Ok(()),
            };
            let cause = match connected {
                Ok(mut link) => {
                    let mut registered = false;
                    let end = self.serve(&mut link, &mut registered, give_up_at, &cancel).await;
                    if registered {
                        give_up_at = Instant::now() + self.times.give_up;
                    }
                    match end {
                        Ok(End::Quit) => {
                            sleep(LINGER).await;
                            return Ok(());
                        }
                        Ok(End::Lost(cause)) => {
                            if registered {
                                (self.notify)(Notice::Lost { reason: cause.0.clone() });
                            }
                            self.stop_lost().await;
                            cause
                        }
                        Err(error) => {
                            sleep(LINGER).await;
                            return Err(error);
                        }
                    }
                }
                Err(cause) => cause,
            };
            tracing::debug!(%cause, "no connection to the master");
            if Instant::now() >= give_up_at {
                return Err(WorkerError::NoMaster { master: self.master, reason: cause.0 });
            }
            tokio::select! {
                () = sleep(self.times.retry) => {}
                () = cancel.cancelled() => return Ok(()),
            }
        }
    }

    /// Serves one connection.
    async fn serve(
        &mut self,
        link: &mut Link,
        registered: &mut bool,
        give_up_at: Instant,
        cancel: &CancellationToken,
    ) -> Result<End, WorkerError> {
        let mut heartbeats = ticks(self.times.heartbeat);
        let mut reports = ticks(self.times.report);
        let mut acks = ticks(self.times.ack);
        let mut acknowledged = false;
        let mut last_sign = Instant::now();
        // A restarted master may have a clock that is behind.
        (self.state, self.last_spawn) = (State::Ready, 0.0);
        loop {
            let lost_at = if *registered { last_sign + self.times.lost } else { give_up_at };
            let sent = tokio::select! {
                received = link.receive() => match received {
                    Ok(message) => {
                        last_sign = Instant::now();
                        match message {
                            FromMaster::Ack => {
                                if !*registered {
                                    (self.notify)(Notice::Registered { node_id: link.node_id().to_owned() });
                                }
                                (acknowledged, *registered) = (true, true);
                                Ok(())
                            }
                            FromMaster::Quit => {
                                self.quit(link).await;
                                return Ok(End::Quit);
                            }
                            FromMaster::Reconnect => return Ok(End::Lost(Lost("the master asked for it".to_owned()))),
                            message => self.handle(link, message).await,
                        }
                    }
                    Err(lost) => Err(lost),
                },
                event = self.events.recv() => match event {
                    Some(Event::Failed(error)) => {
                        self.fail(link, &error).await;
                        return Err(error);
                    }
                    Some(event) => self.note(link, event, &mut acknowledged).await,
                    None => return Err(WorkerError::Users),
                },
                _ = acks.tick(), if !acknowledged => link.send(&ToMaster::ClientReady).await,
                _ = heartbeats.tick(), if *registered => self.heartbeat(link).await,
                _ = reports.tick(), if acknowledged => self.report(link).await,
                () = sleep_until(lost_at) => Err(Lost("the master does not respond".to_owned())),
                () = cancel.cancelled() => {
                    self.quit(link).await;
                    return Ok(End::Quit);
                }
            };
            if let Err(lost) = sent {
                return Ok(End::Lost(lost));
            }
        }
    }

    async fn handle(&mut self, link: &mut Link, message: FromMaster) -> Result<(), Lost> {
        match message {
            FromMaster::Spawn(spawn) => self.spawn(link, spawn).await,
            FromMaster::SpawningComplete => {
                if self.reset_stats {
                    self.pending.take(&self.users, unix_seconds());
                }
                Ok(())
            }
            FromMaster::Stop => {
                self.stop(Stopping::Stop, self.stop_timeout.max(STOP_GRACE));
                Ok(())
            }
            FromMaster::Drain(seconds) => {
                self.stop(Stopping::Drain, grace(seconds));
                Ok(())
            }
            FromMaster::Other(kind) => {
                tracing::debug!(kind, "ignored a message of the master");
                Ok(())
            }
            // `serve` handles these.
            FromMaster::Ack | FromMaster::Heartbeat | FromMaster::Quit | FromMaster::Reconnect => Ok(()),
        }
    }

    async fn spawn(&mut self, link: &mut Link, spawn: Spawn) -> Result<(), Lost> {
        link.send(&ToMaster::Spawning).await?;
        // A ramp can go on for a moment after the master asked for the end.
        if spawn.timestamp <= self.last_spawn || self.stopping.is_some() {
            tracing::debug!("ignored a spawn message that is too old or too late");
            return Ok(());
        }
        self.last_spawn = spawn.timestamp;
        self.stop_timeout = grace(spawn.stop_timeout.unwrap_or(0.0));
        self.reset_stats = spawn.parsed_options.and_then(|options| options.reset_stats).unwrap_or(false);
        if self.state == State::Ready {
            // All calls of the previous run were reported when it stopped.
            self.pending.take(&self.users, unix_seconds());
        }
        self.users = spawn.user_classes_count;
        self.state = State::Spawning;
        self.command(Command::Users(self.user_count()));
        Ok(())
    }

    fn stop(&mut self, why: Stopping, grace: Duration) {
        self.stopping = Some(why);
        self.command_stop(grace);
    }

    /// All users stopped after a `stop`: reports the rest, and registers again.
    async fn stopped(&mut self, link: &mut Link) -> Result<(), Lost> {
        self.users.clear();
        (self.state, self.stopping) = (State::Ready, None);
        self.report(link).await?;
        link.send(&ToMaster::ClientStopped).await?;
        link.send(&ToMaster::ClientReady).await
    }

    /// Handles what happened to the users.
    async fn note(&mut self, link: &mut Link, event: Event, acknowledged: &mut bool) -> Result<(), Lost> {
        match event {
            // Users of a lost master that took longer to stop than the worker waited.
            Event::Interval(_) | Event::Changed if self.stopping.is_none() && self.open_stops > 0 => Ok(()),
            Event::Interval(interval) => {
                self.pending.add(&interval);
                Ok(())
            }
            Event::Changed if self.stopping.is_none() => {
                self.state = State::Running;
                let counts = UserCounts { user_classes_count: self.users.clone(), user_count: self.user_count() };
                link.send(&ToMaster::SpawningComplete(counts)).await
            }
            Event::Stopped => {
                self.open_stops -= 1;
                match self.stopping {
                    // `stop` after `mcp_drain` waits for the same users.
                    Some(Stopping::Stop) if self.open_stops == 0 => {
                        *acknowledged = false;
                        self.stopped(link).await
                    }
                    Some(Stopping::Drain) if self.open_stops == 0 => {
                        self.stopping = Some(Stopping::Drained);
                        self.report(link).await?;
                        link.send(&ToMaster::Drained).await
                    }
                    _ => Ok(()),
                }
            }
            Event::Changed | Event::Failed(_) => Ok(()),
        }
    }

    async fn heartbeat(&mut self, link: &mut Link) -> Result<(), Lost> {
        let heartbeat = Heartbeat {
            state: self.state,
            current_cpu_usage: self.usage.cpu_percent(),
            current_memory_usage: memory_bytes(),
        };
        link.send(&ToMaster::Heartbeat(heartbeat)).await
    }

    async fn report(&mut self, link: &mut Link) -> Result<(), Lost> {
        let (stats, histogram) = self.pending.take(&self.users, unix_seconds());
        // The histogram is first: the master may stop to listen after the last statistics.
        if let Some(histogram) = histogram {
            link.send(&ToMaster::Histogram(histogram)).await?;
        }
        link.send(&ToMaster::Stats(Box::new(stats))).await
    }

    /// Stops the users and reports the rest, in less than 0.5 s.
    async fn quit(&mut self, link: &mut Link) {
        self.stop_within(QUIT_GRACE, QUIT_RECORDS).await;
        // The run is over either way.
        let last = async {
            self.report(link).await?;
            link.send(&ToMaster::Quit).await
        };
        if let Err(cause) = last.await {
            tracing::warn!(%cause, "the last report was not sent");
        }
    }

    /// Sends why the users cannot go on.
    async fn fail(&mut self, link: &mut Link, error: &WorkerError) {
        let causes = std::iter::successors(std::error::Error::source(error), |cause| cause.source());
        let traceback = causes.map(ToString::to_string).collect::<Vec<_>>().join("\n");
        let exception = Exception { msg: error.to_string(), traceback };
        let sent = async {
            link.send(&ToMaster::Exception(exception)).await?;
            self.report(link).await?;
            link.send(&ToMaster::Quit).await
        };
        if let Err(cause) = sent.await {
            tracing::warn!(%cause, "the error was not sent");
        }
    }

    /// Stops the users of a master that was lost. Their calls are not reported: another master would count them wrongly.
    async fn stop_lost(&mut self) {
        self.stopping = Some(Stopping::Lost);
        self.stop_within(STOP_GRACE, 2 * STOP_GRACE).await;
        self.users.clear();
        (self.state, self.stopping) = (State::Ready, None);
        self.pending.take(&self.users, unix_seconds());
    }

    /// Stops the users, and collects their records for at most this long.
    async fn stop_within(&mut self, grace: Duration, limit: Duration) {
        self.command_stop(grace);
        let deadline = Instant::now() + limit;
        while self.open_stops > 0 {
            tokio::select! {
                event = self.events.recv() => match event {
                    Some(Event::Interval(interval)) => self.pending.add(&interval),
                    Some(Event::Changed) => {}
                    Some(Event::Stopped) => self.open_stops -= 1,
                    Some(Event::Failed(_)) | None => return,
                },
                () = sleep_until(deadline) => {
                    tracing::warn!("the users did not stop in time");
                    return;
                }
            }
        }
    }

    fn command_stop(&mut self, grace: Duration) {
        self.open_stops += 1;
        self.command(Command::Stop(grace));
    }

    fn command(&self, command: Command) {
        // The users are gone only if they failed, which they report.
        let _ = self.commands.send(command);
    }

    fn user_count(&self) -> u64 {
        self.users.values().sum()
    }
}

/// Ticks at once, then regularly.
fn ticks(period: Duration) -> tokio::time::Interval {
    let mut ticks = interval(period);
    ticks.set_missed_tick_behavior(MissedTickBehavior::Delay);
    ticks
}

/// A grace period of a master, which may have any value.
fn grace(seconds: f64) -> Duration {
    Duration::try_from_secs_f64(seconds.max(0.0)).map_or(MAX_GRACE, |grace| grace.min(MAX_GRACE))
}

fn unix_seconds() -> f64 {
    SystemTime::now().duration_since(UNIX_EPOCH).unwrap_or_default().as_secs_f64()
}
