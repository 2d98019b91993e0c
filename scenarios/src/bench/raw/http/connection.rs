//! One connection: sends a request, reads the response and verifies it.

use std::io;

use mio::{Registry, Token};

use super::{Route, stream::Stream};
use crate::bench::{
    CallFailure,
    raw::{
        outcome::{self, OpenRequest, Outcome, invalid, lost, not_connected},
        pacer::{DueCall, NextRequest},
        reply::Verifier,
        response::{Content, ResponseReader},
    },
};

/// What happened on a connection.
#[derive(Debug)]
pub(super) enum Event {
    /// Nothing that concerns a call.
    None,
    /// A call ended, and the connection is free or closed.
    Finished { call: DueCall, outcome: Outcome },
    /// A call ended, but its response goes on.
    Partial { call: DueCall, outcome: Outcome },
    /// The rest of the response arrived. The request that waited for it has to be sent.
    Freed(Option<NextRequest>),
}

/// A connection, its request and its response.
pub(super) struct Connection {
    route: Route,
    stream: Option<Stream>,
    connected: bool,
    /// Whether the server closed its side. Its end is notified once, together with the last bytes.
    peer_closed: bool,
    /// Whether the server responded once, on this connection or on the one before it was opened again.
    answered: bool,
    /// The request, and how many of its bytes were written.
    request: Vec<u8>,
    written: usize,
    /// The call without a result, and its id.
    call: Option<DueCall>,
    /// The next request of an iteration, which waits for the rest of a response.
    next: Option<NextRequest>,
    id: u64,
    /// Whether a response is incomplete.
    busy: bool,
    reader: ResponseReader,
    verifier: Verifier,
}

impl Connection {
    pub(super) fn new(route: Route, verifier: Verifier) -> Self {
        Self {
            route,
            stream: None,
            connected: false,
            peer_closed: false,
            answered: false,
            request: Vec::new(),
            written: 0,
            call: None,
            next: None,
            id: 0,
            busy: false,
            reader: ResponseReader::new(),
            verifier,
        }
    }

    /// Opens the connection if it is closed.
    pub(super) fn open(&mut self, registry: &Registry, token: Token) -> io::Result<()> {
        if self.stream.is_none() {
            (self.connected, self.peer_closed) = (false, false);
            self.stream = Some(Stream::connect(&self.route.address, registry, token)?);
        }
        Ok(())
    }

    /// Sends a request.
    pub(super) fn start(
        &mut self,
        NextRequest { call, cursor }: NextRequest,
        id: u64,
        registry: &Registry,
        token: Token,
    ) -> Result<(), CallFailure> {
        self.open(registry, token).map_err(|cause| not_connected(&cause))?;
        self.request.clear();
        self.route.requests.fill(&mut self.request, id, call.at, cursor.as_deref());
        (self.call, self.id, self.busy, self.written) = (Some(call), id, true, 0);
        if self.connected
            && let Err(cause) = self.write()
        {
            self.close();
            return Err(lost(format!("cannot send the request: {cause}")));
        }
        Ok(())
    }

    /// Size of the request.
    pub(super) fn request_bytes(&self) -> usize {
        self.request.len()
    }

    /// Whether the request with this id is open, or its response incomplete.
    pub(super) fn is_open_call(&self, id: u64) -> bool {
        self.busy && self.id == id
    }

    /// Notes that the server responded. Returns whether it is the first time.
    pub(super) fn note_response(&mut self) -> bool {
        !std::mem::replace(&mut self.answered, true)
    }

    /// Lets a request wait for the rest of the response.
    pub(super) fn queue(&mut self, next: NextRequest) {
        self.next = Some(next);
    }

    /// Closes the connection, and returns its open or waiting call.
    pub(super) fn close(&mut self) -> Option<DueCall> {
        self.stream = None;
        self.connected = false;
        self.peer_closed = false;
        self.busy = false;
        self.reader.reset();
        let waiting = self.next.take().map(|next| next.call);
        self.call.take().or(waiting)
    }

    /// Continues after the socket became ready. Also returns the number of bytes that were read.
    pub(super) fn advance(&mut self, writable: bool, peer_closed: bool) -> (Event, usize) {
        self.peer_closed |= peer_closed;
        let Some(stream) = &mut self.stream else { return (Event::None, 0) };
        if !self.connected {
            match stream.complete() {
                Ok(true) => self.connected = true,
                Ok(false) => return (Event::None, 0),
                Err(cause) => return (self.fail(not_connected(&cause)), 0),
            }
        }
        if writable
            && self.busy
            && let Err(cause) = self.write()
        {
            return (self.fail(lost(format!("cannot send the request: {cause}"))), 0);
        }
        self.read()
    }

    fn write(&mut self) -> io::Result<()> {
        let Some(stream) = &mut self.stream else { return Ok(()) };
        while self.written < self.request.len() {
            match stream.write(&self.request[self.written..]) {
                Ok(count) => self.written += count,
                Err(cause) if cause.kind() == io::ErrorKind::WouldBlock => return Ok(()),
                Err(cause) if cause.kind() == io::ErrorKind::Interrupted => {}
                Err(cause) => return Err(cause),
            }
        }
        match stream.flush() {
            Err(cause) if cause.kind() != io::ErrorKind::WouldBlock => Err(cause),
            _ => Ok(()),
        }
    }

    fn read(&mut self) -> (Event, usize) {
        let mut received = 0;
        loop {
            let Some(stream) = &mut self.stream else { return (Event::None, received) };
            let space = self.reader.space();
            let room = space.len();
            let count = match stream.read(space) {
                Ok(0) => return (self.ended(), received),
                Ok(count) => count,
                Err(cause) if cause.kind() == io::ErrorKind::WouldBlock => return (Event::None, received),
                Err(cause) if cause.kind() == io::ErrorKind::Interrupted => continue,
                Err(cause) => return (self.fail(lost(format!("cannot read the response: {cause}"))), received),
            };
            let emptied = stream.reads_all() && count < room && !self.peer_closed;
            received += count;
            match self.reader.received(count) {
                Ok(true) => return (self.completed(), received),
                Ok(false) => {
                    if let Some(event) = self.partial() {
                        return (event, received);
                    }
                }
                Err(cause) => return (self.fail(invalid(&cause)), received),
            }
            if emptied {
                return (Event::None, received);
            }
        }
    }

    /// The message of an event stream that goes on.
    fn partial(&mut self) -> Option<Event> {
        if self.reader.head()?.content != Content::Events {
            return None;
        }
        let outcome = self.response_in_events()?;
        let call = self.call.take()?;
        Some(Event::Partial { call, outcome })
    }

    /// The server closed the connection.
    fn ended(&mut self) -> Event {
        match self.reader.closed() {
            Ok(true) => self.completed(),
            Ok(false) | Err(_) if self.call.is_none() => {
                let (freed, next) = (self.busy, self.next.take());
                self.close();
                if freed { Event::Freed(next) } else { Event::None }
            }
            Ok(false) | Err(_) => self.fail(lost("the server closed the connection without a response")),
        }
    }

    fn fail(&mut self, failure: CallFailure) -> Event {
        let (busy, next) = (self.busy, self.next.take());
        match self.close() {
            Some(call) => Event::Finished { call, outcome: Err(failure) },
            None if busy => Event::Freed(next),
            None => Event::None,
        }
    }

    /// A response is complete.
    fn completed(&mut self) -> Event {
        let Some(head) = self.reader.head() else { return Event::None };
        let request = self.call.map(|call| OpenRequest { id: self.id, operation: call.at.operation });
        let outcome = request.map(|request| match (head.status, head.content) {
            (200..300, Content::Events) => {
                self.response_in_events().unwrap_or_else(|| Err(outcome::without_response()))
            }
            (200..300, Content::Json) => request.in_body(&mut self.verifier, self.reader.body()),
            (status, _) => Err(request.rejected(&mut self.verifier, status, self.reader.body())),
        });
        let call = self.call.take();
        self.busy = false;
        let next = self.next.take();
        if !self.reader.reset() || !head.keep_alive || self.peer_closed {
            self.close();
        }
        match (call, outcome) {
            (Some(call), Some(outcome)) => Event::Finished { call, outcome },
            _ => Event::Freed(next),
        }
    }

    fn response_in_events(&mut self) -> Option<Outcome> {
        let call = self.call.as_mut()?;
        let request = OpenRequest { id: self.id, operation: call.at.operation };
        request.in_events(&mut self.verifier, &mut call.notified, || self.reader.next_event())
    }
}
