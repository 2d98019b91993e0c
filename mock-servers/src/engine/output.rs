//! What the engine tells a front to do.

use std::time::Duration;

use serde_json::Value;

use crate::script::{Exit, HttpStatus};

/// A conversation with one client: a process run over stdio, a session over HTTP.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash, PartialOrd, Ord)]
pub struct SessionKey(pub u64);

/// One message from the client and everything that is said because of it.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash, PartialOrd, Ord)]
pub struct ExchangeId(pub u64);

/// Where a step is to be played.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
pub enum Target {
    /// On the stream that answers one message of the client: standard output over stdio, the reply to the POST over
    /// HTTP.
    Exchange(ExchangeId),
    /// On the stream for what the server says of its own accord: standard output over stdio, the GET stream over HTTP.
    Session(SessionKey),
}

/// One thing that a front does, and where.
#[derive(Debug, Clone, PartialEq)]
pub struct Output {
    /// Where.
    pub to: Target,
    /// What.
    pub step: Step,
}

impl Output {
    /// A step as it is.
    #[must_use]
    pub fn new(to: Target, step: Step) -> Self {
        Self { to, step }
    }
}

/// One thing that a front does.
#[derive(Debug, Clone, PartialEq)]
pub enum Step {
    /// Send a message that is no final answer.
    Send(Value),
    /// Send the final answer; over HTTP under this status.
    Answer {
        /// The JSON-RPC response.
        message: Value,
        /// The HTTP status.
        status: u16,
    },
    /// Write this text where a message belongs.
    Raw(String),
    /// Call [`super::Engine::on_wake`] with the exchange after this time.
    Wake(Duration),
    /// Over HTTP: answer with this instead of a message. Over stdio: nothing.
    Status(HttpStatus),
    /// Send only the first bytes of this answer, then close the connection.
    Truncated {
        /// The JSON-RPC response.
        message: Value,
        /// How many bytes of it.
        bytes: usize,
    },
    /// Close the connection.
    Close,
    /// End the server.
    Exit(Exit),
    /// Nothing more will be said in this exchange.
    End,
}

/// What a message leads to.
#[derive(Debug, Clone, PartialEq)]
pub struct Reaction {
    /// The exchange that the message opened.
    pub exchange: ExchangeId,
    /// What to do, in this order.
    pub outputs: Vec<Output>,
}

/// Who sent a message.
#[derive(Debug, Clone, Default)]
pub struct Origin {
    /// The session it belongs to; none for what stands outside of sessions.
    pub session: Option<SessionKey>,
    /// What the front found wrong with its envelope. Only rules for the handshake come before it.
    pub defect: Option<Defect>,
}

impl Origin {
    /// A message of this session, with nothing wrong about its envelope.
    #[must_use]
    pub fn session(session: SessionKey) -> Self {
        Self { session: Some(session), defect: None }
    }
}

/// A reason to refuse a message, and the words to refuse it with.
#[derive(Debug, Clone, PartialEq)]
pub struct Defect {
    /// The HTTP status.
    pub status: u16,
    /// The JSON-RPC error code.
    pub code: i64,
    /// The JSON-RPC error message.
    pub message: String,
    /// The JSON-RPC error data.
    pub data: Option<Value>,
}

impl Defect {
    /// A defect without further data.
    pub fn new(status: u16, code: i64, message: impl Into<String>) -> Self {
        Self { status, code, message: message.into(), data: None }
    }
}
