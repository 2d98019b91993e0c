//! The users of a worker: a task that connects to the server under test, changes the number of users, and stops them.

use std::time::Duration;

use client::ServerConfig;
use tokio::{
    sync::mpsc,
    time::{Instant, sleep_until},
};

use super::WorkerError;
use crate::bench::{
    LoadPlan,
    connect::ClientCaller,
    raw::{
        self, RawTarget,
        users::{Pace, UserInterval, UserLoad},
    },
};

/// A change of the users.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Command {
    /// Have this many users.
    Users(u64),
    /// Stop all users. Calls in flight get the grace period, which a second command can shorten.
    Stop(Duration),
}

/// What happened to the users.
pub(super) enum Event {
    /// A second of records.
    Interval(Box<UserInterval>),
    /// The number of users was changed.
    Changed,
    /// All users stopped, and all records were sent. Once per command.
    Stopped,
    /// The users cannot go on.
    Failed(WorkerError),
}

/// The server and the calls.
pub(super) struct Users {
    pub(super) config: ServerConfig,
    pub(super) connections: usize,
    pub(super) plan: LoadPlan,
    pub(super) pace: Pace,
}

/// A started load and its connections.
struct Running {
    load: UserLoad,
    target: RawTarget,
}

impl Users {
    /// Connects once, so that a wrong command or tool is an error of the command and not one of the first test.
    ///
    /// # Errors
    /// If the server cannot be used.
    pub(super) async fn check(&self) -> Result<(), WorkerError> {
        self.connect().await?.close().await;
        Ok(())
    }

    async fn connect(&self) -> Result<RawTarget, WorkerError> {
        let caller = ClientCaller::connect(&self.config, self.connections, &self.plan).await?;
        if let Some(reason) = raw::supports(&caller, &self.plan) {
            caller.close().await;
            return Err(WorkerError::NoRawDriver { reason });
        }
        RawTarget::connect(&self.config, caller, &self.plan).await.map_err(WorkerError::Raw)
    }

    /// Executes commands until their sender is dropped.
    pub(super) async fn run(
        self,
        mut commands: mpsc::UnboundedReceiver<Command>,
        events: mpsc::UnboundedSender<Event>,
    ) {
        let (outbox, mut intervals) = mpsc::unbounded_channel();
        let mut running: Option<Running> = None;
        loop {
            let command = tokio::select! {
                biased;
                // Never closed: this task has a sender.
                Some(interval) = intervals.recv() => {
                    let _ = events.send(Event::Interval(Box::new(interval)));
                    continue;
                }
                command = commands.recv() => command,
            };
            match command {
                Some(Command::Users(count)) => {
                    if running.is_none() {
                        match self.start(&outbox).await {
                            Ok(started) => running = Some(started),
                            Err(error) => {
                                let _ = events.send(Event::Failed(error));
                                continue;
                            }
                        }
                    }
                    if let Some(running) = &running {
                        running.load.set_users(usize::try_from(count).unwrap_or(usize::MAX));
                    }
                    let _ = events.send(Event::Changed);
                }
                Some(Command::Stop(grace)) => {
                    let Some(Running { load, target }) = running.take() else {
                        let _ = events.send(Event::Stopped);
                        continue;
                    };
                    let mut stops = 1;
                    let stopped = load.stop(grace_period(grace, &mut commands, &mut stops)).await;
                    while let Ok(interval) = intervals.try_recv() {
                        let _ = events.send(Event::Interval(Box::new(interval)));
                    }
                    if let Err(cause) = stopped {
                        let _ = events.send(Event::Failed(WorkerError::Raw(cause)));
                    }
                    for _ in 0..stops {
                        let _ = events.send(Event::Stopped);
                    }
                    // The master waits for the report, not for the sessions.
                    target.close().await;
                }
                None => break,
            }
        }
        if let Some(Running { load, target }) = running {
            drop(load);
            target.close().await;
        }
    }

    async fn start(&self, outbox: &mpsc::UnboundedSender<UserInterval>) -> Result<Running, WorkerError> {
        let mut target = self.connect().await?;
        match UserLoad::start(&self.plan, &mut target, self.pace, outbox.clone()) {
            Ok(load) => Ok(Running { load, target }),
            Err(cause) => {
                target.close().await;
                Err(WorkerError::Raw(cause))
            }
        }
    }
}

/// Waits for the end of the shortest grace period, and counts the commands to stop.
async fn grace_period(grace: Duration, commands: &mut mpsc::UnboundedReceiver<Command>, stops: &mut usize) {
    let mut deadline = Instant::now() + grace;
    loop {
        tokio::select! {
            () = sleep_until(deadline) => return,
            command = commands.recv() => match command {
                Some(Command::Stop(grace)) => {
                    *stops += 1;
                    deadline = deadline.min(Instant::now() + grace);
                }
                // The master starts no users before it received that these stopped.
                Some(Command::Users(count)) => tracing::warn!(count, "ignored users that start while others stop"),
                None => return,
            },
        }
    }
}
