//! One connection: sends a request, reads the response and verifies it.

use std::io;

use mio::{Registry, Token};

use super::{Route, lost, stream::Stream};
use crate::bench::{
    CallFailure,
    raw::{
        pacer::DueCall,
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
    Finished { call: DueCall, outcome: Result<(), CallFailure> },
    /// A call ended, but its response goes on.
    Partial { call: DueCall, outcome: Result<(), CallFailure> },
    /// The rest of the response arrived.
    Freed,
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
    /// Bytes of the request that were written.
    written: usize,
    /// The call without a result, and its id.
    call: Option<DueCall>,
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
            written: 0,
            call: None,
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
        call: DueCall,
        id: u64,
        registry: &Registry,
        token: Token,
    ) -> Result<(), CallFailure> {
        self.open(registry, token).map_err(|cause| not_connected(&cause))?;
        self.route.request.set_id(id);
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
        self.route.request.bytes().len()
    }

    /// Whether the request with this id is open, or its response incomplete.
    pub(super) fn is_open_call(&self, id: u64) -> bool {
        self.busy && self.id == id
    }

    /// Notes that the server responded. Returns whether it is the first time.
    pub(super) fn note_response(&mut self) -> bool {
        !std::mem::replace(&mut self.answered, true)
    }

    /// Whether another request can be sent.
    pub(super) fn is_free(&self) -> bool {
        !self.busy
    }

    /// Closes the connection, and returns its open call.
    pub(super) fn close(&mut self) -> Option<DueCall> {
        self.stream = None;
        self.connected = false;
        self.peer_closed = false;
        self.busy = false;
        self.reader.reset();
        self.call.take()
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
        let request = self.route.request.bytes();
        while self.written < request.len() {
            match stream.write(&request[self.written..]) {
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
                let freed = self.busy;
                self.close();
                if freed { Event::Freed } else { Event::None }
            }
            Ok(false) | Err(_) => self.fail(lost("the server closed the connection without a response")),
        }
    }

    fn fail(&mut self, failure: CallFailure) -> Event {
        let busy = self.busy;
        match self.close() {
            Some(call) => Event::Finished { call, outcome: Err(failure) },
            None if busy => Event::Freed,
            None => Event::None,
        }
    }

    /// A response is complete.
    fn completed(&mut self) -> Event {
        let Some(head) = self.reader.head() else { return Event::None };
        let call = self.call.take();
        let outcome = call.is_some().then(|| match (head.status, head.content) {
            (200..300, Content::Events) => self
                .response_in_events()
                .unwrap_or_else(|| Err(CallFailure::new("connection-lost", "the stream ended without the response"))),
            (200..300, Content::Json) => self.response_in_body(),
            (status, _) => Err(self.rejected(status)),
        });
        self.busy = false;
        if !self.reader.reset() || !head.keep_alive || self.peer_closed {
            self.close();
        }
        match (call, outcome) {
            (Some(call), Some(outcome)) => Event::Finished { call, outcome },
            _ => Event::Freed,
        }
    }

    fn response_in_body(&mut self) -> Result<(), CallFailure> {
        let message = self.verifier.read(self.reader.body());
        self.own(message).unwrap_or_else(|| {
            Err(CallFailure::new(INVALID_MESSAGE, "the body is not a response").with_frame(self.reader.body()))
        })
    }

    fn response_in_events(&mut self) -> Option<Result<(), CallFailure>> {
        while let Some(data) = self.reader.next_event() {
            let message = self.verifier.read(&data);
            if let Some(outcome) = self.own(message) {
                return Some(outcome);
            }
        }
        None
    }

    /// The outcome of a message that ends the call.
    fn own(&self, message: Message) -> Option<Result<(), CallFailure>> {
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
    fn rejected(&mut self, status: u16) -> CallFailure {
        let body = self.reader.body().to_vec();
        if let Message::Response { outcome: Err(failure), .. } = self.verifier.read(&body) {
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
