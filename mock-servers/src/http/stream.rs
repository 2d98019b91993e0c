//! Event streams with their connection and replay buffer.
//!
//! A stream can outlive its connection: its client reconnects with `Last-Event-ID` and gets the missed events of this
//! stream only (2025-03-26 to 2025-11-25, transports, resumability and redelivery).

use std::{collections::VecDeque, time::Duration};

use crate::{
    engine::DispatchId,
    faults::{Finish, Framed, WriteFaults},
    listen::{
        body_writer::{BodyWriter, Piece},
        wire::{self, EventId},
    },
};
use evidence::{Body, ConnectionEvent, FrameParts, Http, Recorder};

/// Maximum number of stored events per stream.
const MAX_EVENTS: usize = 1_000;
/// Maximum number of stored bytes per stream.
const MAX_BYTES: usize = 4 * 1024 * 1024;

/// A stream of events.
pub(super) struct EventStream {
    key: DispatchId,
    recorder: Recorder,
    /// The current or last HTTP exchange of the stream.
    connection: u64,
    /// `None` without a connection.
    writer: Option<BodyWriter>,
    /// The number of reconnections, to distinguish events of one connection from those of the next.
    attachment: u64,
    /// `None` if missed events are lost.
    memory: Option<ReplayBuffer>,
    over: bool,
}

/// Stored events.
pub(super) struct ReplayBuffer {
    /// Whether the stream begins with an event that has an id and no data, and sends other such events (from 2025-11-25
    /// on; clients of earlier revisions interpret every event as a message).
    primes: bool,
    /// The number of the next event.
    next: u64,
    /// The number of the earliest event after which the stream can be resumed.
    first: u64,
    events: VecDeque<(u64, String)>,
    bytes: usize,
}

impl ReplayBuffer {
    pub(super) fn new(primes: bool) -> Self {
        Self { primes, next: 0, first: 0, events: VecDeque::new(), bytes: 0 }
    }

    fn number(&mut self) -> u64 {
        let number = self.next;
        self.next += 1;
        number
    }

    fn keep(&mut self, number: u64, data: &str) {
        self.bytes += data.len();
        self.events.push_back((number, data.to_owned()));
        while self.events.len() > MAX_EVENTS || self.bytes > MAX_BYTES {
            let Some((number, data)) = self.events.pop_front() else { return };
            self.bytes -= data.len();
            self.first = number;
        }
    }
}

impl EventStream {
    /// A stream on this connection.
    pub(super) fn new(
        key: DispatchId,
        recorder: Recorder,
        connection: u64,
        writer: BodyWriter,
        memory: Option<ReplayBuffer>,
    ) -> Self {
        Self { key, recorder, connection, writer: Some(writer), attachment: 0, memory, over: false }
    }

    /// Whether it has a connection.
    pub(super) fn is_connected(&self) -> bool {
        self.writer.is_some()
    }

    /// Whether it can outlive its connection.
    pub(super) fn is_resumable(&self) -> bool {
        self.memory.is_some()
    }

    /// The number of the connection, 0 for the first.
    pub(super) fn attachment(&self) -> u64 {
        self.attachment
    }

    /// Whether all events after this one are stored.
    pub(super) fn remembers(&self, number: u64) -> bool {
        self.memory.as_ref().is_some_and(|memory| (memory.first..memory.next).contains(&number))
    }

    /// Sends an event id for reconnecting (2025-11-25, transports, sending messages, 6), and the `retry`.
    pub(super) fn prime(&mut self, retry: Option<Duration>) {
        let Some(memory) = self.memory.as_mut().filter(|memory| memory.primes) else { return };
        let number = memory.number();
        self.send_empty(number, true, retry);
    }

    /// Sends a message. Without a connection, a resumable stream stores it.
    pub(super) fn send(&mut self, data: &str, recorded: Body) {
        if self.over {
            return;
        }
        let number = self.keep(data);
        self.write(number, data, recorded);
    }

    /// Stores an event before it is sent; returns its number.
    fn keep(&mut self, data: &str) -> Option<u64> {
        let memory = self.memory.as_mut()?;
        let number = memory.number();
        memory.keep(number, data);
        Some(number)
    }

    /// Sends a message with these faults. They change the bytes once: a redelivered message is unchanged.
    pub(super) fn send_with_faults(&mut self, text: String, said: Body, shape: &WriteFaults) {
        if self.over {
            return;
        }
        let number = self.keep(&text);
        let Some(writer) = &self.writer else { return };
        let empty = wire::event(number.map(|number| self.id(number)), "message", "");
        let rendered = shape.render(text.into_bytes(), said, |payload| Framed::event(&empty, payload));
        self.record(number, None, rendered.body.clone());
        writer.execute(&rendered);
        if matches!(rendered.finish, Finish::Inside(_)) {
            self.let_go();
            self.over |= self.memory.is_none();
        }
    }

    /// Drops the connection. Unless the stream can be resumed, the stored events are dropped too.
    pub(super) fn break_off(&mut self, can_resume: bool) {
        if let Some(writer) = &self.writer {
            writer.push(Piece::Abort);
        }
        if can_resume && self.memory.is_some() {
            return self.let_go();
        }
        self.memory = None;
        self.end();
    }

    /// Closes the connection gracefully. The stream continues when the client reconnects.
    pub(super) fn pause(&mut self, retry: Option<Duration>) {
        match &mut self.memory {
            Some(memory) => {
                if let Some(retry) = retry {
                    let (number, primes) = (memory.number(), memory.primes);
                    self.send_empty(number, primes, Some(retry));
                }
                self.let_go();
            }
            None => self.end(),
        }
    }

    /// Ends the stream. Stored events can still be redelivered.
    pub(super) fn end(&mut self) {
        self.let_go();
        self.over = true;
    }

    /// Removes the connection, and records which side closed it.
    pub(super) fn disconnect(&mut self, mark: ConnectionEvent) {
        if self.writer.take().is_some() {
            self.recorder.record(FrameParts::event(self.connection, mark));
        }
    }

    fn let_go(&mut self) {
        self.disconnect(ConnectionEvent::ClosedByServer);
    }

    /// Continues on another connection, after this event.
    pub(super) fn resume(&mut self, connection: u64, writer: BodyWriter, after: u64) {
        self.let_go();
        (self.connection, self.writer) = (connection, Some(writer));
        self.attachment += 1;
        let missed: Vec<_> = match &self.memory {
            Some(memory) => memory.events.iter().filter(|(number, _)| *number > after).cloned().collect(),
            None => Vec::new(),
        };
        for (number, data) in missed {
            let recorded = serde_json::from_str(&data).map_or_else(|_| Body::Text(data.clone()), Body::json);
            self.write(Some(number), &data, recorded);
        }
        if self.over {
            self.let_go();
        }
    }

    fn id(&self, number: u64) -> EventId {
        EventId { stream: self.key, number }
    }

    /// Recorded before it is sent: the reaction of a fast client must not precede it in the record.
    fn write(&self, number: Option<u64>, data: &str, recorded: Body) {
        let Some(writer) = &self.writer else { return };
        self.record(number, None, recorded);
        let event = wire::event(number.map(|number| self.id(number)), "message", data);
        writer.push(Piece::Bytes(event.into()));
    }

    /// An event without a message.
    fn send_empty(&self, number: u64, with_data: bool, retry: Option<Duration>) {
        let Some(writer) = &self.writer else { return };
        self.record(Some(number), retry, Body::Event(ConnectionEvent::Bodiless));
        writer.push(Piece::Bytes(wire::empty_event(self.id(number), with_data, retry).into()));
    }

    fn record(&self, number: Option<u64>, retry: Option<Duration>, body: Body) {
        self.recorder.record_with(|| {
            let event_id = number.map(|number| self.id(number).to_string());
            let event = Some("message".to_owned());
            let retry = retry.map(|retry| retry.as_millis().to_string());
            let http = Http { status: Some(200), event, event_id, retry, ..Http::default() };
            FrameParts::sent(self.connection, body).with_http(http)
        });
    }
}
