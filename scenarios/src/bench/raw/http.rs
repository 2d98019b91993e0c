//! A worker over HTTP/1.1: one thread, one poll, one connection per call in flight.
//!
//! After a response the next request is written at once, so a call costs one read and one write, as in a minimal client.

mod connection;
mod stream;

use std::{collections::VecDeque, io, sync::Arc, time::Duration};

use mio::{Events, Poll, Token};
use tokio::time::Instant;

use self::connection::{Connection, Event};
pub(super) use self::stream::Address;
use super::{
    CONTROL, RETRY,
    pacer::{Next, NextRequest, Pacer},
    reply::Verifier,
    request::{FIRST_ID, Requests},
    timer::Timer,
};
use crate::bench::{Generated, recorder::Recorder};

/// Maximum number of connections of a worker on which the server never responded. A server that is stopped accepts none: the
/// system would drop those that do not fit into its queue, and open them seconds after the server goes on. Further calls
/// wait here, which is part of their latency.
const MAX_NEW: usize = 32;

/// The token of the timer; connections have smaller ones.
const TIMER: Token = Token(usize::MAX - 1);

/// The server as one connection reaches it: its address, and the requests of its session.
#[derive(Debug, Clone)]
pub(super) struct Route {
    pub(super) address: Arc<Address>,
    pub(super) requests: Requests,
}

/// A worker.
pub(super) struct HttpWorker {
    poll: Poll,
    timer: Timer,
    routes: Vec<Route>,
    verifier: Verifier,
    connections: Vec<Connection>,
    /// Number of connections on which the server responded at least once.
    answered: usize,
    idle: Vec<usize>,
    /// Deadlines in the order of sending, with connection and id.
    deadlines: VecDeque<(Instant, usize, u64)>,
    next_id: u64,
    id_step: u64,
}

impl HttpWorker {
    /// Opens `connections` connections, which use the routes in turn. A connection that fails is tried again for a call.
    ///
    /// # Errors
    /// If the system has no descriptors for the poll and the timer.
    pub(super) fn new(
        routes: Vec<Route>,
        verifier: Verifier,
        connections: usize,
        ids: (usize, usize),
    ) -> io::Result<Self> {
        let poll = Poll::new()?;
        let timer = Timer::new()?;
        timer.register(poll.registry(), TIMER)?;
        let mut worker = Self {
            poll,
            timer,
            routes,
            verifier,
            connections: Vec::new(),
            answered: 0,
            idle: Vec::new(),
            deadlines: VecDeque::new(),
            next_id: FIRST_ID + ids.0 as u64,
            id_step: ids.1 as u64,
        };
        for _ in 0..connections {
            let number = worker.add_connection();
            // A failure is reported by the call that needs the connection.
            let _ = worker.connections[number].open(worker.poll.registry(), Token(number));
            worker.idle.push(number);
        }
        Ok(worker)
    }

    fn add_connection(&mut self) -> usize {
        let number = self.connections.len();
        let route = &self.routes[number % self.routes.len()];
        self.connections.push(Connection::new(route.clone(), self.verifier.clone()));
        number
    }

    /// Executes the load of the pacer.
    ///
    /// # Errors
    /// If polling fails.
    pub(super) fn run(mut self, mut pacer: Pacer) -> io::Result<(Generated, Recorder)> {
        let mut events = Events::with_capacity(1_024);
        loop {
            let now = Instant::now();
            self.expire(&mut pacer, now);
            let next = self.send_due(&mut pacer, now);
            if pacer.has_given_up() {
                self.abandon(&mut pacer, now);
            }
            if next == Next::End && pacer.in_flight() == 0 {
                return Ok(pacer.finish());
            }
            let deadline = self.deadlines.front().map(|(deadline, _, _)| *deadline);
            let wait = deadline.map_or(CONTROL, |deadline| deadline.saturating_duration_since(now).min(CONTROL));
            if let Next::At(due) = next
                && due < now + wait
            {
                self.timer.set(due)?;
            }
            let wait = self.timer.limit(wait);
            match self.poll.poll(&mut events, Some(wait.max(Duration::from_millis(1)))) {
                Ok(()) => {}
                Err(cause) if cause.kind() == io::ErrorKind::Interrupted => continue,
                Err(cause) => return Err(cause),
            }
            for event in &events {
                if event.token() == TIMER {
                    self.timer.expired();
                } else {
                    self.handle(&mut pacer, event.token().0, (event.is_writable(), event.is_read_closed()));
                }
            }
        }
    }

    /// Sends all calls that are due.
    fn send_due(&mut self, pacer: &mut Pacer, now: Instant) -> Next {
        loop {
            if self.idle.is_empty() && self.connections.len() >= self.answered + MAX_NEW {
                return Next::Full;
            }
            match pacer.next(now) {
                Next::Call(call) => {
                    let number = self.idle.pop().unwrap_or_else(|| self.add_connection());
                    if !self.start(pacer, number, NextRequest { call, cursor: None }) {
                        // A server that accepts no connection is asked once per millisecond, not in a busy loop.
                        return Next::At(now + RETRY);
                    }
                }
                other => return other,
            }
        }
    }

    /// Sends a request. Returns whether it could be sent.
    fn start(&mut self, pacer: &mut Pacer, number: usize, request: NextRequest) -> bool {
        let call = request.call;
        let id = self.next_id;
        self.next_id += self.id_step;
        let connection = &mut self.connections[number];
        if let Err(failure) = connection.start(request, id, self.poll.registry(), Token(number)) {
            pacer.finished(call, Instant::now(), Err(Some(failure)));
            self.idle.insert(0, number);
            return false;
        }
        pacer.traffic(call.sent, connection.request_bytes(), 0);
        self.deadlines.push_back((call.deadline, number, id));
        true
    }

    /// Handles the readiness of a connection, and sends the next call after a response.
    fn handle(&mut self, pacer: &mut Pacer, number: usize, (writable, closed): (bool, bool)) {
        loop {
            let connection = &mut self.connections[number];
            let (event, received) = connection.advance(writable, closed);
            let now = Instant::now();
            self.answered += usize::from(received > 0 && connection.note_response());
            pacer.traffic(now, 0, received);
            match event {
                Event::None => return,
                Event::Finished { call, outcome } => {
                    let next = pacer.responded(call, now, outcome);
                    return self.free(pacer, number, next, now);
                }
                // The message of an event stream has arrived, and the rest of the stream follows.
                Event::Partial { call, outcome } => {
                    if let Some(next) = pacer.responded(call, now, outcome) {
                        connection.queue(next);
                    }
                }
                Event::Freed(next) => return self.free(pacer, number, next, now),
            }
        }
    }

    /// Uses a connection that is free for the next request of its iteration, or for a call that is due. The pages of a list
    /// belong to a session, and so to the connection.
    fn free(&mut self, pacer: &mut Pacer, number: usize, next: Option<NextRequest>, now: Instant) {
        if let Some(next) = next {
            self.start(pacer, number, next);
        } else {
            self.idle.push(number);
            self.send_due(pacer, now);
        }
    }

    /// Ends calls whose timeout elapsed.
    fn expire(&mut self, pacer: &mut Pacer, now: Instant) {
        while let Some(&(deadline, number, id)) = self.deadlines.front() {
            let connection = &mut self.connections[number];
            if !connection.is_open_call(id) {
                self.deadlines.pop_front();
                continue;
            }
            if deadline > now {
                return;
            }
            self.deadlines.pop_front();
            if let Some(call) = connection.close() {
                pacer.timed_out(call, now);
            }
            self.idle.push(number);
        }
    }

    fn abandon(&mut self, pacer: &mut Pacer, now: Instant) {
        for connection in &mut self.connections {
            if let Some(call) = connection.close() {
                pacer.finished(call, now, Err(None));
            }
        }
        self.deadlines.clear();
        self.idle = (0..self.connections.len()).collect();
    }
}
