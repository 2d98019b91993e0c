//! Decides when a worker sends its calls, and records how they end. Without I/O: the workers ask it what to do next.
//!
//! Each worker has its own pacer, histogram and counters, which are merged at the end, so that threads share no lock.

use std::{
    collections::VecDeque,
    sync::{
        Arc,
        atomic::{AtomicU64, Ordering::Relaxed},
    },
    time::Duration,
};

use tokio::time::Instant;

use crate::{
    bench::{
        CallFailure, Generated, LoadPlan, TIMED_OUT,
        arrivals::Schedule,
        iteration::{Following, Iterations, Position},
        notifications::Notified,
        raw::{
            share::Share,
            users::{ConstantPace, UserShare},
        },
        recent::LatencyCounts,
        recorder::Recorder,
        shared::{Sample, Timing},
    },
    model::Shape,
};

/// Counters of one worker, which only this worker changes.
#[derive(Debug, Default)]
#[repr(align(128))]
pub(super) struct Counters {
    sent: AtomicU64,
    done: AtomicU64,
    errors: AtomicU64,
    pub(super) latencies: LatencyCounts,
}

/// Sums of counters.
#[derive(Debug, Default, Clone, Copy, PartialEq, Eq)]
pub(super) struct Counted {
    pub(super) sent: u64,
    pub(super) done: u64,
    pub(super) errors: u64,
}

impl Counters {
    fn add(counter: &AtomicU64) {
        // One writer: no read-modify-write instruction is needed.
        counter.store(counter.load(Relaxed) + 1, Relaxed);
    }

    /// The sums over all workers.
    pub(super) fn sum(all: &[Arc<Self>]) -> Counted {
        let mut sum = Counted::default();
        for counters in all {
            // `done` is read before `sent`, so that the difference is never negative.
            sum.errors += counters.errors.load(Relaxed);
            sum.done += counters.done.load(Relaxed);
            sum.sent += counters.sent.load(Relaxed);
        }
        sum
    }
}

/// An iteration that is due or runs, with its current request.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) struct DueCall {
    /// The request.
    pub(super) at: Position,
    /// The scheduled time of the iteration.
    pub(super) intended: Instant,
    /// When its first request is sent.
    pub(super) sent: Instant,
    /// When its current operation was due.
    pub(super) begun: Instant,
    /// When its current request times out.
    pub(super) deadline: Instant,
    /// The notifications about its current request.
    pub(super) notified: Option<Notified>,
}

/// A further request of an iteration.
#[derive(Debug, PartialEq, Eq)]
pub(super) struct NextRequest {
    pub(super) call: DueCall,
    /// The cursor, if it is that of a page.
    pub(super) cursor: Option<String>,
}

/// What a worker does next.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Next {
    /// Send this call.
    Call(DueCall),
    /// No call is due before this time.
    At(Instant),
    /// No call is sent before another one ended.
    Full,
    /// All calls were sent.
    End,
}

enum Source {
    /// The number of the next call, and when users who think are ready, in order.
    Closed {
        next: u64,
        think_time: Duration,
        thinking: VecDeque<(Instant, u64)>,
        /// Users who are ready, by number, and the number of the user who starts next.
        ready: Vec<u64>,
        next_user: u64,
    },
    Open(Box<Schedule>),
    /// A number of users that changes, each of which calls at a constant rate, whatever happened to earlier calls.
    Constant {
        next: u64,
        pace: ConstantPace,
    },
}

/// The schedule and the records of one worker.
pub(super) struct Pacer {
    iterations: Arc<Iterations>,
    timing: Arc<Timing>,
    counters: Arc<Counters>,
    source: Source,
    step: u64,
    /// Maximum number of calls in flight: in a closed loop the number of users.
    limit: usize,
    in_flight: usize,
    timeout: Duration,
    /// When the last call ended that made room for another one.
    unblocked: Instant,
    generated: Generated,
    recorder: Recorder,
    /// The users of this worker, if their number changes.
    users: Option<UserShare>,
}

impl Pacer {
    pub(super) fn new(
        plan: &LoadPlan,
        share: Share,
        limit: usize,
        timing: Arc<Timing>,
        counters: Arc<Counters>,
    ) -> Self {
        let source = match plan.shape() {
            Shape::Closed(_) => {
                let first = share.worker as u64;
                Source::Closed {
                    next: first,
                    think_time: plan.think_time(),
                    thinking: VecDeque::new(),
                    ready: Vec::new(),
                    next_user: first + 1,
                }
            }
            Shape::Open(_) => Source::Open(Box::new(plan.schedule(timing.start, (share.worker, share.workers)))),
        };
        Self {
            iterations: Arc::clone(plan.iterations()),
            counters,
            source,
            step: share.workers as u64,
            limit,
            in_flight: 0,
            timeout: plan.timeout(),
            unblocked: timing.start,
            generated: Generated::default(),
            recorder: Recorder::new(&timing),
            timing,
            users: None,
        }
    }

    /// Lets the number of users change, and sends the records of each second. Instead of those of the whole run, only
    /// these exist then.
    pub(super) fn set_users(&mut self, users: UserShare) {
        if let Some(pace) = users.constant_pace() {
            self.source = Source::Constant { next: self.step, pace };
            self.limit = users.max_in_flight();
        }
        self.recorder = Recorder::interval(&self.timing);
        self.users = Some(users);
    }

    /// Adapts to the number of users, and sends the records of a second that is over.
    fn update_users(&mut self, now: Instant) {
        let Some(users) = &mut self.users else { return };
        let count = users.count();
        match &mut self.source {
            Source::Constant { pace, .. } => pace.set_users(count, now),
            Source::Closed { thinking, ready, .. } => {
                self.limit = count;
                // Users who leave after their call do not think first.
                while self.in_flight + thinking.len() > count
                    && let Some((_, user)) = thinking.pop_back()
                {
                    ready.push(user);
                }
            }
            Source::Open(_) => {}
        }
        if users.is_due(now) {
            self.send_interval(now);
        }
    }

    fn send_interval(&mut self, now: Instant) {
        let unsent = match &mut self.source {
            Source::Constant { pace, .. } => pace.take_unsent(),
            Source::Closed { .. } | Source::Open(_) => Vec::new(),
        };
        if let Some(users) = &mut self.users {
            let recorder = std::mem::replace(&mut self.recorder, Recorder::interval(&self.timing));
            users.send(recorder, &unsent, now);
        }
    }

    /// Whether a call with this scheduled time is measured. With users who change, all are: their sum has to be that of
    /// the server.
    fn counts(&self, intended: Instant) -> bool {
        self.users.is_some() || self.timing.counts(intended)
    }

    /// What to do now.
    pub(super) fn next(&mut self, now: Instant) -> Next {
        self.update_users(now);
        if now >= self.timing.end() || self.timing.sent_all() {
            return Next::End;
        }
        let (n, user, intended) = match &mut self.source {
            Source::Closed { next, thinking, ready, next_user, .. } => {
                if self.in_flight + thinking.len() >= self.limit {
                    match thinking.front() {
                        Some((at, user)) if *at <= now => {
                            ready.push(*user);
                            thinking.pop_front();
                        }
                        Some((at, _)) => return Next::At(*at),
                        None => return Next::Full,
                    }
                }
                let Some(n) = self.timing.take_call(now, *next) else { return Next::End };
                let user = ready.pop().unwrap_or_else(|| {
                    *next_user += self.step;
                    *next_user - self.step
                });
                *next += self.step;
                (n, user, now)
            }
            Source::Open(schedule) => {
                let due = schedule.due_after_warmup(self.timing.count_from, now);
                let Some(due) = due.filter(|due| *due < self.timing.end()) else { return Next::End };
                if due > now {
                    return Next::At(due);
                }
                if self.in_flight >= self.limit {
                    return Next::Full;
                }
                self.generated.lag = self.generated.lag.max(now.saturating_duration_since(due.max(self.unblocked)));
                let n = schedule.number();
                schedule.advance();
                (n, 0, due)
            }
            Source::Constant { next, pace } => {
                let Some(due) = pace.due() else { return Next::Full };
                if due > now {
                    return Next::At(due);
                }
                if self.in_flight >= self.limit {
                    return Next::Full;
                }
                pace.advance();
                let n = *next;
                *next += self.step;
                (n, 0, due)
            }
        };
        self.in_flight += 1;
        Counters::add(&self.counters.sent);
        self.generated.sent += u64::from(self.counts(intended));
        let at = self.iterations.first(n, user);
        Next::Call(DueCall { at, intended, sent: now, begun: intended, deadline: now + self.timeout, notified: None })
    }

    /// Handles the outcome of a request, and returns the next one of the iteration. The cursor of a page is in the outcome.
    pub(super) fn responded(
        &mut self,
        call: DueCall,
        now: Instant,
        outcome: Result<Option<String>, CallFailure>,
    ) -> Option<NextRequest> {
        self.record_notifications(call, now);
        let call = DueCall { deadline: now + self.timeout, notified: None, ..call };
        match self.iterations.follow(call.at, outcome) {
            Following::Page(at, cursor) => Some(NextRequest { call: DueCall { at, ..call }, cursor: Some(cursor) }),
            Following::Step(at) => {
                if let Some(row) = self.iterations.row(call.at.operation).filter(|_| self.counts(call.intended)) {
                    self.recorder.record_step(row, now.saturating_duration_since(call.begun));
                }
                Some(NextRequest { call: DueCall { at, begun: now, ..call }, cursor: None })
            }
            Following::End(outcome) => {
                self.finished(call, now, outcome.map_err(Some));
                None
            }
        }
    }

    /// Records the end of an iteration. `Err(None)` is one that was abandoned.
    pub(super) fn finished(&mut self, call: DueCall, ended: Instant, outcome: Result<(), Option<CallFailure>>) {
        self.update_users(ended);
        if self.in_flight == self.limit {
            self.unblocked = ended;
        }
        self.in_flight -= 1;
        if let Source::Closed { think_time, thinking, ready, .. } = &mut self.source {
            if think_time.is_zero() {
                ready.push(call.at.user);
            } else {
                thinking.push_back((ended + *think_time, call.at.user));
            }
        }
        Counters::add(match &outcome {
            Ok(()) => self.counters.latencies.counter(ended.saturating_duration_since(call.intended)),
            Err(_) => &self.counters.errors,
        });
        Counters::add(&self.counters.done);
        if self.counts(call.intended) {
            let last = self.iterations.row(call.at.operation).map(|row| (row, call.begun));
            let sample = Sample { intended: call.intended, sent: call.sent, ended, last, outcome };
            self.recorder.record(sample, self.timing.end());
        }
    }

    /// Records a call without a response within its timeout.
    pub(super) fn timed_out(&mut self, call: DueCall, now: Instant) {
        self.record_notifications(call, now);
        let text = format!("no response within {:?}", self.timeout);
        self.finished(call, now, Err(Some(CallFailure::new(TIMED_OUT, text))));
    }

    fn record_notifications(&mut self, call: DueCall, ended: Instant) {
        if let Some(notified) = call.notified.filter(|_| self.counts(call.intended)) {
            self.recorder.notifications.record(notified, call.begun, ended);
        }
    }

    /// Adds bytes to the traffic of the measurement.
    pub(super) fn traffic(&mut self, now: Instant, sent: usize, received: usize) {
        if self.counts(now) {
            self.recorder.bytes_sent += sent as u64;
            self.recorder.bytes_received += received as u64;
        }
    }

    /// Number of calls in flight.
    pub(super) fn in_flight(&self) -> usize {
        self.in_flight
    }

    /// Whether calls in flight are abandoned.
    pub(super) fn has_given_up(&self) -> bool {
        self.timing.has_given_up()
    }

    /// The records, at the end of the run.
    pub(super) fn finish(mut self) -> (Generated, Recorder) {
        if let Source::Open(schedule) = &self.source {
            let unsent = schedule.unsent(self.timing.count_from, self.timing.end());
            self.generated.unsent.extend(unsent);
        }
        if self.users.is_some() {
            if let Source::Constant { pace, .. } = &mut self.source {
                pace.end(self.timing.end());
            }
            self.send_interval(Instant::now());
        }
        self.generated.offered =
            self.generated.sent + self.generated.unsent.iter().map(|unsent| unsent.count).sum::<u64>();
        (self.generated, self.recorder)
    }
}
