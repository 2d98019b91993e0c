//! Loads whose number of users changes while they run, as under Locust. The records are sent as intervals of one second,
//! each call in exactly one of them.

use std::{
    collections::VecDeque,
    io,
    sync::{
        Arc,
        atomic::{AtomicUsize, Ordering::Relaxed},
    },
    time::{Duration, SystemTime, UNIX_EPOCH},
};

use tokio::{sync::mpsc, time::Instant};

use super::{Finished, RawTarget, share::Share};
use crate::bench::{
    LoadPlan,
    latencies::{Latencies, micros},
    recorder::Recorder,
    shared::Timing,
};

/// The records of the calls that ended in one second on one thread.
pub(in crate::bench) struct UserInterval {
    /// Seconds since 1970.
    pub(in crate::bench) second: u64,
    /// The calls that were sent.
    pub(in crate::bench) recorder: Recorder,
    /// Waiting times of calls that were due and never sent.
    pub(in crate::bench) unsent: Latencies,
}

/// When users call.
#[derive(Debug, Clone, Copy)]
pub(in crate::bench) enum Pace {
    /// After each response, and the think time of the plan.
    AfterResponse,
    /// At a constant rate.
    Constant {
        /// Time between two calls of one user.
        period: Duration,
        /// Maximum number of calls in flight.
        max_in_flight: usize,
    },
}

/// What all threads of a load share.
#[derive(Debug)]
pub(super) struct Settings {
    users: Arc<AtomicUsize>,
    pace: Pace,
    outbox: mpsc::UnboundedSender<UserInterval>,
}

impl Settings {
    /// No users yet.
    pub(super) fn new(pace: Pace, outbox: mpsc::UnboundedSender<UserInterval>) -> Self {
        Self { users: Arc::default(), pace, outbox }
    }

    pub(super) fn set_users(&self, users: usize) {
        self.users.store(users, Relaxed);
    }

    pub(super) fn share(&self, share: Share) -> UserShare {
        let Self { users, pace, outbox } = self;
        let second = SystemTime::now().duration_since(UNIX_EPOCH).unwrap_or_default();
        let into = Duration::from_nanos(second.subsec_nanos().into());
        UserShare {
            users: Arc::clone(users),
            share,
            pace: *pace,
            outbox: outbox.clone(),
            second: second.as_secs(),
            next_second: Instant::now() + (Duration::from_secs(1) - into),
        }
    }
}

/// The users of one thread.
#[derive(Debug)]
pub(super) struct UserShare {
    users: Arc<AtomicUsize>,
    share: Share,
    pace: Pace,
    outbox: mpsc::UnboundedSender<UserInterval>,
    /// The current second since 1970, and its end.
    second: u64,
    next_second: Instant,
}

impl UserShare {
    /// Their number now.
    pub(super) fn count(&self) -> usize {
        self.share.part(self.users.load(Relaxed))
    }

    pub(super) fn constant_pace(&self) -> Option<ConstantPace> {
        match self.pace {
            Pace::AfterResponse => None,
            Pace::Constant { period, .. } => Some(ConstantPace::new(period, self.share)),
        }
    }

    /// Maximum number of calls in flight of this thread, at a constant rate.
    pub(super) fn max_in_flight(&self) -> usize {
        match self.pace {
            Pace::AfterResponse => self.count(),
            Pace::Constant { max_in_flight, .. } => self.share.part(max_in_flight).max(1),
        }
    }

    /// Whether the current second is over.
    pub(super) fn is_due(&self, now: Instant) -> bool {
        now >= self.next_second
    }

    /// Sends the records of the current second, and goes on to that of `now`.
    pub(super) fn send(&mut self, recorder: Recorder, unsent: &[Instant], now: Instant) {
        let mut waits = Latencies::new();
        for due in unsent {
            waits.enter(micros(now.saturating_duration_since(*due)), 1);
        }
        if recorder.finished() > 0 || waits.count() > 0 || recorder.bytes_received > 0 {
            // The receiver is gone only if the load was dropped.
            let _ = self.outbox.send(UserInterval { second: self.second, recorder, unsent: waits });
        }
        if now >= self.next_second {
            let over = now.saturating_duration_since(self.next_second).as_secs() + 1;
            self.second += over;
            self.next_second += Duration::from_secs(over);
        }
    }
}

/// When the next calls of users at a constant rate are due.
#[derive(Debug)]
pub(super) struct ConstantPace {
    period: Duration,
    share: Share,
    /// The next call of each user, in order.
    due: VecDeque<Instant>,
    /// Number of users that ever started.
    started: usize,
    /// Calls that were due and will not be sent.
    unsent: Vec<Instant>,
}

impl ConstantPace {
    pub(super) fn new(period: Duration, share: Share) -> Self {
        Self { period, share, due: VecDeque::new(), started: 0, unsent: Vec::new() }
    }

    /// Starts or removes users.
    pub(super) fn set_users(&mut self, count: usize, now: Instant) {
        while self.due.len() < count {
            // Users who start together must not call together. Multiples of the golden ratio are spread evenly, however
            // many there are.
            let number = self.started * self.share.workers + self.share.worker;
            let phase = (number as f64 * 0.618_033_988_749_895).fract();
            self.started += 1;
            self.insert(now + self.period.mul_f64(phase));
        }
        while self.due.len() > count {
            let removed = self.due.pop_back().filter(|due| *due < now);
            self.unsent.extend(removed);
        }
    }

    fn insert(&mut self, due: Instant) {
        let position = self.due.partition_point(|other| *other <= due);
        self.due.insert(position, due);
    }

    /// When the next call is due; `None` without users.
    pub(super) fn due(&self) -> Option<Instant> {
        self.due.front().copied()
    }

    /// Goes on to the call after the next one.
    pub(super) fn advance(&mut self) {
        if let Some(due) = self.due.pop_front() {
            self.insert(due + self.period);
        }
    }

    /// Notes the calls that were due until the end and not sent.
    pub(super) fn end(&mut self, end: Instant) {
        for mut due in std::mem::take(&mut self.due) {
            while due < end {
                self.unsent.push(due);
                due += self.period;
            }
        }
    }

    pub(super) fn take_unsent(&mut self) -> Vec<Instant> {
        std::mem::take(&mut self.unsent)
    }
}

/// A running load whose number of users can change.
pub(in crate::bench) struct UserLoad {
    timing: Arc<Timing>,
    settings: Settings,
    threads: Vec<Finished>,
}

impl UserLoad {
    /// Starts the threads, without users. The records arrive in `outbox`.
    ///
    /// # Errors
    /// If a thread cannot be started.
    pub(in crate::bench) fn start(
        plan: &LoadPlan,
        target: &mut RawTarget,
        pace: Pace,
        outbox: mpsc::UnboundedSender<UserInterval>,
    ) -> io::Result<Self> {
        let timing = Arc::new(Timing::new(plan));
        let settings = Settings::new(pace, outbox);
        let (_, threads) = super::start(plan, target.take_workers(), &timing, Some(&settings))?;
        Ok(Self { timing, settings, threads })
    }

    /// Changes the number of users. Users who leave finish their call.
    pub(in crate::bench) fn set_users(&self, users: usize) {
        self.settings.set_users(users);
    }

    /// Stops all users. Calls in flight are abandoned when `grace` is over. All records were sent when it returns.
    ///
    /// # Errors
    /// If a thread failed.
    pub(in crate::bench) async fn stop(mut self, grace: impl Future<Output = ()>) -> io::Result<()> {
        self.timing.stop_now();
        let (timing, threads) = (Arc::clone(&self.timing), std::mem::take(&mut self.threads));
        let finished = async {
            for thread in threads {
                thread.await.map_err(io::Error::other)??;
            }
            Ok(())
        };
        tokio::pin!(finished);
        tokio::select! {
            finished = &mut finished => return finished,
            () = grace => timing.give_up(),
        }
        finished.await
    }
}

impl Drop for UserLoad {
    /// The threads must not go on without an owner.
    fn drop(&mut self) {
        self.timing.stop_now();
        self.timing.give_up();
    }
}
