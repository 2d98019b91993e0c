//! A worker over HTTP/2: one thread, and a few connections with many calls in flight.
//!
//! The crate `h2` frames messages and controls the flow. Each connection is a task, and the worker is one more, so that
//! the requests that are due together are written together.

mod connection;
mod exchange;
mod stream;

use std::{
    collections::{HashMap, VecDeque},
    io,
    sync::Arc,
};

use bytes::Bytes;
use futures::{FutureExt as _, StreamExt as _, future::BoxFuture, stream::FuturesUnordered};
use h2::{Reason, SendStream, client::SendRequest};
use tokio::{
    runtime::{Builder, Runtime},
    time::Instant,
};

use self::{
    connection::Connection,
    exchange::{Exchange, Received, Receiving, failure},
    stream::Traffic,
};
use super::{
    CONTROL, RETRY,
    http::Address,
    outcome::{lost, not_connected},
    pacer::{DueCall, Next, NextRequest, Pacer},
    reply::Verifier,
    request::{FIRST_ID, Requests},
    timer::AsyncTimer,
};
use crate::bench::{CallFailure, Generated, recorder::Recorder};

/// The server as one connection reaches it: its address, and the requests of its session.
#[derive(Debug, Clone)]
pub(super) struct Route {
    pub(super) address: Arc<Address>,
    pub(super) requests: Requests,
    /// The heads of the requests, by operation.
    pub(super) heads: Arc<[http::Request<()>]>,
}

/// A request without the end of its response.
struct OpenCall {
    /// The call, until it has an outcome.
    call: Option<DueCall>,
    connection: usize,
    /// The stream, once it was started.
    stream: Option<SendStream<Bytes>>,
}

type Opened = (usize, io::Result<SendRequest<Bytes>>);

/// A worker.
pub(super) struct Http2Worker {
    calls: Calls,
    /// `None` after it was moved.
    runtime: Option<Runtime>,
}

impl Http2Worker {
    /// Opens a connection per route, until the deadline. A connection that fails is tried again for a call. Blocks.
    ///
    /// # Errors
    /// If the system has no descriptors for the runtime.
    pub(super) fn connect(
        routes: Vec<Route>,
        verifier: Verifier,
        ids: (usize, usize),
        deadline: Instant,
    ) -> io::Result<Self> {
        let runtime = Builder::new_current_thread().enable_all().build()?;
        let mut calls = Calls {
            slots: (0..routes.len()).collect(),
            next_slot: 0,
            connections: routes.into_iter().map(Connection::new).collect(),
            verifier,
            traffic: Arc::default(),
            open: HashMap::new(),
            deadlines: VecDeque::new(),
            exchanges: FuturesUnordered::new(),
            opening: FuturesUnordered::new(),
            next_id: FIRST_ID + ids.0 as u64,
            id_step: ids.1 as u64,
        };
        runtime.block_on(async {
            let opening = calls.connections.iter().map(|one| one.open(Arc::clone(&calls.traffic), deadline));
            let opened = futures::future::join_all(opening).await;
            for (connection, opened) in calls.connections.iter_mut().zip(opened) {
                // A failure is reported by the call that needs the connection.
                if let Ok(sender) = opened {
                    connection.opened(sender);
                }
            }
        });
        Ok(Self { calls, runtime: Some(runtime) })
    }

    /// Executes the load of the pacer.
    ///
    /// # Errors
    /// If the timer fails.
    pub(super) fn run(mut self, pacer: Pacer) -> io::Result<(Generated, Recorder)> {
        let runtime = self.runtime.as_ref().ok_or_else(|| io::Error::other("the worker was used before"))?;
        runtime.block_on(self.calls.run(pacer))
    }
}

impl Drop for Http2Worker {
    fn drop(&mut self) {
        // A worker that was never used is dropped within another runtime, where it must not wait.
        if let Some(runtime) = self.runtime.take() {
            runtime.shutdown_background();
        }
    }
}

/// The calls of a worker.
struct Calls {
    connections: Vec<Connection>,
    /// Connections for further calls: each one is listed as often as it had calls in flight and has no more. The first one
    /// is used next, so that calls are spread.
    slots: VecDeque<usize>,
    /// The connection that gets the next call without a slot.
    next_slot: usize,
    verifier: Verifier,
    traffic: Arc<Traffic>,
    /// Requests by id.
    open: HashMap<u64, OpenCall>,
    /// Deadlines in the order of sending, with the id.
    deadlines: VecDeque<(Instant, u64)>,
    exchanges: FuturesUnordered<Receiving>,
    opening: FuturesUnordered<BoxFuture<'static, Opened>>,
    next_id: u64,
    id_step: u64,
}

impl Calls {
    async fn run(&mut self, mut pacer: Pacer) -> io::Result<(Generated, Recorder)> {
        let mut timer = AsyncTimer::new()?;
        loop {
            let now = Instant::now();
            let (sent, received) = self.traffic.take();
            pacer.traffic(now, sent, received);
            self.expire(&mut pacer, now);
            let next = self.send_due(&mut pacer, now);
            if pacer.has_given_up() {
                self.abandon(&mut pacer, now);
            }
            if next == Next::End && pacer.in_flight() == 0 {
                return Ok(pacer.finish());
            }
            let due = if let Next::At(due) = next { Some(due) } else { None };
            let deadline = self.deadlines.front().map(|(deadline, _)| *deadline);
            let wake = due.into_iter().chain(deadline).fold(now + CONTROL, Instant::min);
            // An earlier time does no harm.
            if timer.at().is_none_or(|at| at > wake) {
                timer.set(wake)?;
            }
            tokio::select! {
                biased;
                Some((exchange, received)) = self.exchanges.next() => {
                    self.handle(&mut pacer, exchange, received);
                    while let Some(Some((exchange, received))) = self.exchanges.next().now_or_never() {
                        self.handle(&mut pacer, exchange, received);
                    }
                }
                Some((number, opened)) = self.opening.next() => self.opened(&mut pacer, number, opened),
                reached = timer.reached() => reached?,
            }
            if timer.at().is_some_and(|at| at <= Instant::now()) {
                timer.expired();
            }
        }
    }

    /// Sends all calls that are due.
    fn send_due(&mut self, pacer: &mut Pacer, now: Instant) -> Next {
        loop {
            match pacer.next(now) {
                Next::Call(call) => {
                    let number = self.slots.pop_front().unwrap_or_else(|| {
                        self.next_slot = (self.next_slot + 1) % self.connections.len();
                        self.next_slot
                    });
                    self.start(number, NextRequest { call, cursor: None });
                }
                other => return other,
            }
        }
    }

    /// Sends a request, or lets it wait for its connection.
    fn start(&mut self, number: usize, request: NextRequest) {
        let id = self.next_id;
        self.next_id += self.id_step;
        self.deadlines.push_back((request.call.deadline, id));
        self.open.insert(id, OpenCall { call: Some(request.call), connection: number, stream: None });
        if self.send(number, id, &request).is_err() {
            let connection = &mut self.connections[number];
            let deadline = request.call.deadline;
            connection.waiting.push((id, request));
            if !std::mem::replace(&mut connection.opening, true) {
                let opened = connection.open(Arc::clone(&self.traffic), deadline);
                self.opening.push(opened.map(move |opened| (number, opened)).boxed());
            }
        }
    }

    /// Sends a request on an open connection.
    fn send(&mut self, number: usize, id: u64, request: &NextRequest) -> Result<(), Option<h2::Error>> {
        let (response, stream) = self.connections[number].send(id, request)?;
        if let Some(open) = self.open.get_mut(&id) {
            open.stream = Some(stream);
        }
        self.exchanges.push(Receiving::new(Exchange::new(id, response)));
        Ok(())
    }

    /// Sends the requests that waited for a connection, or fails their calls.
    fn opened(&mut self, pacer: &mut Pacer, number: usize, opened: io::Result<SendRequest<Bytes>>) {
        let connection = &mut self.connections[number];
        connection.opening = false;
        let waiting = std::mem::take(&mut connection.waiting);
        let failed = match opened {
            Ok(sender) => {
                connection.opened(sender);
                None
            }
            Err(cause) => {
                // A server that accepts no connection is asked once per millisecond, not in a busy loop.
                connection.retry_at = Some(Instant::now() + RETRY);
                Some(not_connected(&cause))
            }
        };
        for (id, request) in waiting {
            // Others have timed out.
            if !self.open.contains_key(&id) {
                continue;
            }
            let sent = match &failed {
                Some(failure) => Err(failure.clone()),
                None => self.send(number, id, &request).map_err(|cause| unsent(cause.as_ref())),
            };
            if let Err(failure) = sent {
                self.open.remove(&id);
                self.slots.push_back(number);
                pacer.finished(request.call, Instant::now(), Err(Some(failure)));
            }
        }
    }

    /// Handles what arrived, and sends the next request of the iteration. The pages of a list belong to a session, and so to
    /// the connection.
    fn handle(&mut self, pacer: &mut Pacer, mut exchange: Exchange, received: Received) {
        let is_over = !matches!(received, Received::Events);
        // The rest of the response to a call that has timed out is not needed.
        let Some(open) = self.open.get_mut(&exchange.id) else { return };
        let number = open.connection;
        let outcome = open.call.as_mut().and_then(|call| exchange.outcome(received, &mut self.verifier, call));
        let ended = outcome.and_then(|outcome| Some((open.call.take()?, outcome)));
        if is_over {
            self.open.remove(&exchange.id);
        } else {
            self.exchanges.push(Receiving::new(exchange));
        }
        if let Some((call, outcome)) = ended {
            match pacer.responded(call, Instant::now(), outcome) {
                Some(next) => self.start(number, next),
                None => self.slots.push_back(number),
            }
        }
    }

    /// Ends calls whose timeout elapsed, and responses that go on after their call.
    fn expire(&mut self, pacer: &mut Pacer, now: Instant) {
        while let Some(&(deadline, id)) = self.deadlines.front() {
            if deadline > now && self.open.contains_key(&id) {
                return;
            }
            self.deadlines.pop_front();
            if let Some(open) = self.open.remove(&id)
                && let Some(call) = self.cancel(open)
            {
                pacer.timed_out(call, now);
            }
        }
    }

    fn abandon(&mut self, pacer: &mut Pacer, now: Instant) {
        for open in std::mem::take(&mut self.open).into_values() {
            if let Some(call) = self.cancel(open) {
                pacer.finished(call, now, Err(None));
            }
        }
    }

    /// Resets the stream of a request. Returns its call, if it has no outcome.
    fn cancel(&mut self, mut open: OpenCall) -> Option<DueCall> {
        if let Some(stream) = &mut open.stream {
            stream.send_reset(Reason::CANCEL);
        }
        let call = open.call?;
        self.slots.push_back(open.connection);
        Some(call)
    }
}

/// The failure of a call that could not be sent on a new connection.
fn unsent(cause: Option<&h2::Error>) -> CallFailure {
    cause.map_or_else(|| lost("the connection was closed"), failure)
}
