//! One connection: sends a request, reads the response and verifies it.

use std::io;

use mio::{Registry, Token};

use super::{Route, lost, stream::Stream};
use crate::bench::{
    CallFailure,
    raw::{
        pacer::{DueCall, NextRequest},
        reply::{INVALID_MESSAGE, Message, Verifier},
        response::{Content, InvalidResponse, ResponseReader},
    },
};

/// What happened on a connection.
#[derive(Debug)]
pub(super) enum Event {
    /// Nothing that concerns a call.
    None,
    /// A call ended, and the connection is free or closed.
    Finished { call: DueCall, outcome: Result<Option<String>, CallFailure> },
    /// A call ended, but its response goes on.
    Partial { call: DueCall, outcome: Result<Option<String>, CallFailure> },
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
        let outcome = self.response_in_events(self.call?.at.operation)?;
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
        let operation = self.call.map(|call| call.at.operation);
        let outcome = operation.map(|operation| match (head.status, head.content) {
            (200..300, Content::Events) => self
                .response_in_events(operation)
                .unwrap_or_else(|| Err(CallFailure::new("connection-lost", "the stream ended without the response"))),
            (200..300, Content::Json) => self.response_in_body(operation),
            (status, _) => Err(self.rejected(status, operation)),
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

    fn response_in_body(&mut self, operation: usize) -> Result<Option<String>, CallFailure> {
        let message = self.verifier.read(self.reader.body(), |id| (id == self.id).then_some(operation));
        self.own(message).unwrap_or_else(|| {
            Err(CallFailure::new(INVALID_MESSAGE, "the body is not a response").with_frame(self.reader.body()))
        })
    }

    fn response_in_events(&mut self, operation: usize) -> Option<Result<Option<String>, CallFailure>> {
        while let Some(data) = self.reader.next_event() {
            let message = self.verifier.read(&data, |id| (id == self.id).then_some(operation));
            if let Some(outcome) = self.own(message) {
                return Some(outcome);
            }
        }
        None
    }

    /// The outcome of a message that ends the call.
    fn own(&self, message: Message) -> Option<Result<Option<String>, CallFailure>> {
        match message {
            Message::Response { id, outcome } if id == self.id => Some(outcome),
            Message::Response { id, .. } => {
                let text = format!("the response has the id {id}, the request {}", self.id);
                Some(Err(CallFailure::new(INVALID_MESSAGE, text)))
            }
            Message::Request { method, .. } => {
                let text = format!("the server sent the request `{method}`; use `--driver client` to answer it");
                Some(Err(CallFailure::new("server-request", text)))
            }
            Message::Notification => None,
            Message::Invalid(failure) => Some(Err(failure)),
        }
    }

    /// The failure of a response with another status or type.
    fn rejected(&mut self, status: u16, operation: usize) -> CallFailure {
        let body = self.reader.body().to_vec();
        if let Message::Response { outcome: Err(failure), .. } =
            self.verifier.read(&body, |id| (id == self.id).then_some(operation))
        {
            return CallFailure { text: format!("HTTP {status}: {}", failure.text), ..failure };
        }
        let text = match status {
            200..300 => format!("HTTP {status} without a JSON body or an event stream"),
            _ => format!("HTTP {status}"),
        };
        CallFailure::new("http-status", text).with_frame(&body)
    }
}

fn not_connected(cause: &io::Error) -> CallFailure {
    CallFailure::new("connect-failed", format!("cannot connect: {cause}"))
}

fn invalid(cause: &InvalidResponse) -> CallFailure {
    match cause {
        InvalidResponse::Closed => lost(cause.to_string()),
        InvalidResponse::TooLong => CallFailure::new("oversize-reply", cause.to_string()),
        InvalidResponse::Syntax(_) => CallFailure::new("transport", cause.to_string()),
    }
}
