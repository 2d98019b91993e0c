//! A worker over the standard streams of one process: blocking reads, batched writes, many calls in flight.

mod pipes;

use std::{collections::VecDeque, io, time::Duration};

use client::process::ServerPipes;
use serde_json::{Map, Value, json};
use tokio::time::Instant;

use self::pipes::Pipes;
pub(super) use self::pipes::UNAVAILABLE;
use super::{
    CONTROL, RETRY,
    pacer::{DueCall, Next, Pacer},
    reply::{Message, Verifier},
    request::{FIRST_ID, Requests},
};
use crate::bench::{CallFailure, Generated, notifications::Notified, recorder::Recorder};

/// Maximum bytes of one read.
const READ_BYTES: usize = 64 * 1024;
/// Maximum length of a line in bytes.
const MAX_LINE: usize = 16 * 1024 * 1024;
/// Id of the first request, which precedes the calls.
const GREETING_ID: u64 = 1;

/// The input and output of a server, as lines.
struct Lines {
    pipes: Pipes,
    /// Bytes to write, of which the first `written` were written.
    output: Vec<u8>,
    written: usize,
    /// Bytes that were read and not consumed.
    input: Vec<u8>,
    /// Start of the part of the input that was not searched for a line end.
    searched: usize,
    closed: bool,
}

/// A worker.
pub(super) struct StdioWorker {
    lines: Lines,
    requests: Requests,
    verifier: Verifier,
    /// Calls by id; the first has the id `first_id`. `None` is a call that ended.
    open: VecDeque<Option<DueCall>>,
    first_id: u64,
}

impl StdioWorker {
    /// Sends the greeting, and waits for the response. `greeting` is `initialize` or `server/discover`; a handshake is
    /// completed by a notification.
    ///
    /// # Errors
    /// If the server does not respond until the deadline, or ends.
    pub(super) fn connect(
        pipes: ServerPipes,
        greeting: (&str, &Map<String, Value>),
        requests: Requests,
        verifier: Verifier,
        deadline: Instant,
    ) -> io::Result<Self> {
        let mut lines = Lines {
            pipes: Pipes::new(pipes)?,
            output: Vec::new(),
            written: 0,
            input: Vec::with_capacity(2 * READ_BYTES),
            searched: 0,
            closed: false,
        };
        let (method, params) = greeting;
        lines.push(&json!({ "jsonrpc": "2.0", "id": GREETING_ID, "method": method, "params": params }));
        while !lines.greeted()? {
            if lines.closed || Instant::now() >= deadline {
                let reason = if lines.closed { "the server ended" } else { "the server did not respond in time" };
                return Err(io::Error::other(format!("{reason} before the response to `{method}`")));
            }
            lines.exchange(deadline.saturating_duration_since(Instant::now()).min(CONTROL))?;
        }
        if method == "initialize" {
            lines.push(&json!({ "jsonrpc": "2.0", "method": "notifications/initialized" }));
        }
        Ok(Self { lines, requests, verifier, open: VecDeque::new(), first_id: FIRST_ID })
    }

    /// Executes the load of the pacer. The input of the server is closed at the end.
    ///
    /// # Errors
    /// If reading or polling fails.
    pub(super) fn run(mut self, mut pacer: Pacer) -> io::Result<(Generated, Recorder)> {
        loop {
            let now = Instant::now();
            self.expire(&mut pacer, now);
            let next = self.send_due(&mut pacer, now);
            if pacer.has_given_up() {
                self.end_all(&mut pacer, None);
            }
            if next == Next::End && pacer.in_flight() == 0 {
                return Ok(pacer.finish());
            }
            let due = if let Next::At(due) = next { Some(due) } else { None };
            let deadline = self.open.front().and_then(|call| call.map(|call| call.deadline));
            let wake = due.into_iter().chain(deadline).min();
            let wait = wake.map_or(CONTROL, |wake| wake.saturating_duration_since(Instant::now()).min(CONTROL));
            if let Err(cause) = self.lines.exchange(wait) {
                self.lines.closed = true;
                tracing::debug!(%cause, "the pipes of the server failed");
            }
            self.read(&mut pacer);
            if self.lines.closed {
                let lost = CallFailure::new("connection-lost", "the server closed its standard output");
                self.end_all(&mut pacer, Some(&lost));
            }
        }
    }

    /// Queues all calls that are due, and writes them together.
    fn send_due(&mut self, pacer: &mut Pacer, now: Instant) -> Next {
        loop {
            match pacer.next(now) {
                Next::Call(call) if self.lines.closed => {
                    let lost = CallFailure::new("connection-lost", "the server has ended");
                    pacer.finished(call, Instant::now(), Err(Some(lost)));
                    // A server that has ended must not turn the load into a busy loop.
                    std::thread::sleep(RETRY);
                    return Next::At(now);
                }
                Next::Call(call) => {
                    self.queue(pacer, call, None, now);
                }
                other => {
                    self.lines.flush();
                    return other;
                }
            }
        }
    }

    /// Queues a request.
    fn queue(&mut self, pacer: &mut Pacer, call: DueCall, cursor: Option<&str>, now: Instant) {
        let (id, before) = (self.first_id + self.open.len() as u64, self.lines.output.len());
        self.requests.fill(&mut self.lines.output, id, call.at, cursor);
        self.open.push_back(Some(call));
        pacer.traffic(now, self.lines.output.len() - before, 0);
    }

    /// Handles all complete lines of the input.
    fn read(&mut self, pacer: &mut Pacer) {
        let now = Instant::now();
        let mut start = 0;
        while let Some(length) = self.lines.next_line(start) {
            let line = self.lines.input[start..start + length].trim_ascii();
            let (open, first_id) = (&self.open, self.first_id);
            let operation_of = |id| position(id, first_id).and_then(|at| Some(open.get(at)?.as_ref()?.at.operation));
            let message = (!line.is_empty()).then(|| self.verifier.read(line, operation_of));
            pacer.traffic(now, 0, length + 1);
            start += length + 1;
            let Some(message) = message else { continue };
            match message {
                Message::Response { id, outcome } => {
                    let next = self.take(id).and_then(|call| pacer.responded(call, now, outcome));
                    if let Some(next) = next {
                        self.queue(pacer, next.call, next.cursor.as_deref(), now);
                    }
                }
                Message::Request { id, method } => self.lines.respond(&id, &method),
                Message::Notification { progress_of } => {
                    let at = progress_of.and_then(|id| position(id, self.first_id));
                    if let Some(Some(call)) = at.and_then(|at| self.open.get_mut(at)) {
                        Notified::add(&mut call.notified, now);
                    }
                }
                Message::Invalid(failure) => tracing::debug!(text = failure.text, "ignored an invalid line"),
            }
        }
        self.lines.consume(start);
    }

    /// Removes an open call.
    fn take(&mut self, id: u64) -> Option<DueCall> {
        let call = self.open.get_mut(position(id, self.first_id)?)?.take();
        while let Some(None) = self.open.front() {
            self.open.pop_front();
            self.first_id += 1;
        }
        call
    }

    /// Ends calls whose timeout elapsed. Their deadlines are in the order of the ids.
    fn expire(&mut self, pacer: &mut Pacer, now: Instant) {
        while let Some(front) = self.open.front() {
            match front {
                Some(call) if call.deadline > now => return,
                Some(call) => pacer.timed_out(*call, now),
                None => {}
            }
            self.open.pop_front();
            self.first_id += 1;
        }
    }

    fn end_all(&mut self, pacer: &mut Pacer, failure: Option<&CallFailure>) {
        let now = Instant::now();
        self.first_id += self.open.len() as u64;
        for call in self.open.drain(..).flatten() {
            pacer.finished(call, now, Err(failure.cloned()));
        }
    }
}

/// The position of an id among those from `first`.
fn position(id: u64, first: u64) -> Option<usize> {
    usize::try_from(id.checked_sub(first)?).ok()
}

impl Lines {
    fn push(&mut self, message: &Value) {
        self.output.extend_from_slice(message.to_string().as_bytes());
        self.output.push(b'\n');
    }

    /// Responds to a request of the server.
    fn respond(&mut self, id: &str, method: &str) {
        let outcome = match method {
            "ping" => r#""result":{}"#,
            _ => r#""error":{"code":-32601,"message":"not supported by this load generator"}"#,
        };
        self.output.extend_from_slice(format!("{{\"jsonrpc\":\"2.0\",\"id\":{id},{outcome}}}\n").as_bytes());
    }

    /// Whether the response to the greeting has arrived.
    fn greeted(&mut self) -> io::Result<bool> {
        let mut start = 0;
        let mut found = false;
        while let Some(length) = self.next_line(start) {
            let message: Option<Value> = serde_json::from_slice(&self.input[start..start + length]).ok();
            found |= message.is_some_and(|message| message["id"] == GREETING_ID && message.get("method").is_none());
            start += length + 1;
        }
        self.consume(start);
        self.flush();
        Ok(found)
    }

    /// Waits until the server sends or reads, and reads or writes once.
    fn exchange(&mut self, wait: Duration) -> io::Result<()> {
        self.flush();
        if self.pipes.wait(wait, !self.output.is_empty())? && !self.closed {
            self.read()?;
        }
        Ok(())
    }

    fn read(&mut self) -> io::Result<()> {
        if self.input.len() > MAX_LINE {
            return Err(io::Error::other("a line is too long"));
        }
        self.input.reserve(READ_BYTES);
        match self.pipes.read(&mut self.input) {
            Ok(0) => self.closed = true,
            Ok(_) => {}
            Err(cause) if cause.kind() == io::ErrorKind::Interrupted => {}
            Err(cause) => return Err(cause),
        }
        Ok(())
    }

    /// Writes what the pipe accepts.
    fn flush(&mut self) {
        while self.written < self.output.len() {
            match self.pipes.write(&self.output[self.written..]) {
                Ok(count) => self.written += count,
                Err(cause) if cause.kind() == io::ErrorKind::Interrupted => {}
                Err(cause) if cause.kind() == io::ErrorKind::WouldBlock => return,
                Err(_) => {
                    // The end of the output reports the end of the server.
                    self.written = self.output.len();
                }
            }
        }
        self.output.clear();
        self.written = 0;
    }

    /// Length of the line that starts here, without its end.
    fn next_line(&mut self, start: usize) -> Option<usize> {
        let from = self.searched.max(start);
        match memchr::memchr(b'\n', &self.input[from..]) {
            Some(length) => {
                self.searched = from + length + 1;
                Some(from + length - start)
            }
            None => {
                self.searched = self.input.len();
                None
            }
        }
    }

    /// Removes the first bytes of the input.
    fn consume(&mut self, count: usize) {
        self.input.drain(..count);
        self.searched -= count;
    }
}
