//! The raw driver: sends tool calls without the complete client, so that the load generator is rarely the limit.
//!
//! [`setup`] connects with the built-in client, which negotiates revision and session and looks up the tool. The workers
//! then send copies of one encoded request, in threads of their own: one connection per call in flight over HTTP/1.1,
//! few connections with many calls in flight over HTTP/2, or one process with many calls in flight. They verify each
//! response, and share nothing until they finish, except the number of the next call where the load ends after some.

mod events;
mod http;
mod http2;
mod outcome;
mod pacer;
mod reply;
mod request;
mod response;
mod scheduling;
mod setup;
mod share;
mod stdio;
#[cfg(test)]
mod tests;
mod timer;
mod unix_socket;
pub(super) mod users;

use std::{io, sync::Arc, thread, time::Duration};

use reports::model::LoadResult;
use tokio::time::{Instant, MissedTickBehavior, interval_at, sleep_until};
use tokio_util::sync::CancellationToken;

pub(crate) use self::setup::{RawTarget, supports};
use self::{
    http::HttpWorker,
    http2::Http2Worker,
    pacer::{Counters, Pacer},
    share::Share,
    stdio::StdioWorker,
};
use super::{
    CANCEL_GRACE, Generated, LoadPlan, PROGRESS_EVERY, Progress, generator::CpuTime, recent::RecentLatencies,
    recorder::Recorder, shared::Timing,
};

/// A worker that is connected.
enum Worker {
    Http(Box<HttpWorker>),
    Http2(Box<Http2Worker>),
    Stdio(Box<StdioWorker>),
}

impl Worker {
    fn run(self, pacer: Pacer) -> io::Result<(Generated, Recorder)> {
        match self {
            Self::Http(worker) => worker.run(pacer),
            Self::Http2(worker) => worker.run(pacer),
            Self::Stdio(worker) => worker.run(pacer),
        }
    }
}

/// Executes a load with connected workers. Otherwise like [`super::run`].
///
/// # Errors
/// If a thread cannot be started, or a worker fails.
pub(crate) async fn run(
    plan: &LoadPlan,
    target: &mut RawTarget,
    mut progress: impl FnMut(Progress) + Send,
    cancel: CancellationToken,
) -> io::Result<LoadResult> {
    let timing = Arc::new(Timing::new(plan));
    let (counters, mut threads) = start(plan, target.take_workers(), &timing, None)?;
    let mut ticks = interval_at(timing.start + PROGRESS_EVERY, PROGRESS_EVERY);
    ticks.set_missed_tick_behavior(MissedTickBehavior::Skip);
    let mut recent = RecentLatencies::new();
    let mut report = |now: &Timing| {
        let counted = Counters::sum(&counters);
        let recent = recent.take(counters.iter().map(|counters| &counters.latencies));
        now.progress_of(counted.sent, counted.done, counted.errors, recent)
    };
    let mut give_up_at = None;
    let (mut generated, mut recorder) = (Generated::default(), Recorder::new(&timing));
    while !threads.is_empty() {
        tokio::select! {
            finished = &mut threads[0] => {
                drop(threads.remove(0));
                let (part, records) = finished.map_err(io::Error::other)??;
                generated.merge(part);
                recorder.merge(records);
            }
            _ = ticks.tick() => progress(report(&timing)),
            () = cancel.cancelled(), if give_up_at.is_none() => {
                timing.stop_now();
                give_up_at = Some(Instant::now() + CANCEL_GRACE);
            }
            () = sleep_until(give_up_at.unwrap_or(timing.start)), if give_up_at.is_some_and(|_| !timing.has_given_up()) => {
                timing.give_up();
            }
        }
    }
    progress(report(&timing));
    Ok(super::finish(plan, &timing, &generated, recorder))
}

type Finished = tokio::sync::oneshot::Receiver<io::Result<(Generated, Recorder)>>;

/// Starts a thread per worker. With `users` their number changes while the threads run.
fn start(
    plan: &LoadPlan,
    workers: Vec<Worker>,
    timing: &Arc<Timing>,
    users: Option<&users::Settings>,
) -> io::Result<(Vec<Arc<Counters>>, Vec<Finished>)> {
    let (mut counters, mut threads) = (Vec::new(), Vec::new());
    let count = workers.len();
    for (number, worker) in workers.into_iter().enumerate() {
        let share = Share { worker: number, workers: count };
        let counter = Arc::new(Counters::default());
        counters.push(Arc::clone(&counter));
        let limit = share.part(plan.concurrency());
        let mut pacer = Pacer::new(plan, share, limit, Arc::clone(timing), counter);
        if let Some(users) = users {
            pacer.set_users(users.share(share));
        }
        let (send, receive) = tokio::sync::oneshot::channel();
        threads.push(receive);
        let yields =
            users.is_none() && limit >= MANY && plan.is_without_pauses() && !matches!(worker, Worker::Stdio(_));
        thread::Builder::new().name(format!("load-{number}")).spawn(move || {
            if yields {
                scheduling::let_others_finish();
            }
            let finished = worker.run(pacer).map(|(mut generated, recorder)| {
                generated.cpu = CpuTime::thread(CpuTime::current_thread());
                (generated, recorder)
            });
            // The receiver is gone if the run was dropped.
            let _ = send.send(finished);
        })?;
    }
    Ok((counters, threads))
}

/// From this number of users of a thread on, it lets the server of the same machine run first. The latency of single calls, and
/// those of a schedule, would grow by what other programs compute; over pipes nothing gets faster.
const MANY: usize = 4;

/// Interval at which a worker looks whether the run was cancelled.
const CONTROL: Duration = Duration::from_millis(50);

/// Pause after a call that could not be sent, or a connection that could not be opened.
const RETRY: Duration = Duration::from_millis(1);

/// Timeout of stopping a server.
const STOP: Duration = Duration::from_secs(5);
