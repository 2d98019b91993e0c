//! What the engine tells a front to do.

use std::time::Duration;

use serde_json::Value;

use super::Era;
use crate::{
    faults::Shape,
    script::{ChildScript, Exit, HttpStatus, Respond},
};

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
    /// What is to be done with its bytes; none: they are written as they are.
    pub shape: Option<Box<Shape>>,
}

impl Output {
    /// A step whose bytes are written as they are.
    #[must_use]
    pub fn new(to: Target, step: Step) -> Self {
        Self { to, step, shape: None }
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
    /// Close the connection.
    Close,
    /// End the connection by a TCP reset; close it where there is no TCP.
    Reset,
    /// Over HTTP: open the stream, though there is nothing to say yet. Elsewhere: nothing.
    Open,
    /// Over HTTP: forget the session that this is for. Over stdio: nothing.
    ExpireSession,
    /// Over stdio: something that the process does. Over HTTP: nothing.
    Process(Deed),
    /// Over Streamable HTTP: close the connection in good order, and go on when the client comes back, which it is to do
    /// after this time. Elsewhere: nothing.
    CloseStream(Option<Duration>),
    /// Over Streamable HTTP: answer in this way. Elsewhere: nothing.
    Respond(Respond),
    /// End the server.
    Exit(Exit),
    /// Nothing more will be said in this exchange.
    End,
}

/// Something that the process of a stdio server does, besides what it says.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum Deed {
    /// Write lines to standard error.
    Stderr {
        /// How many bytes of them.
        bytes: usize,
    },
    /// Live on when SIGTERM comes, from now on.
    IgnoreSigterm,
    /// Start a process and never look after it.
    Start(ChildScript),
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
    /// The era that its envelope tells; absent: the one that the message itself tells.
    pub era: Option<Era>,
    /// What the front found wrong with its envelope. Only rules for the handshake come before it.
    pub defect: Option<Defect>,
    /// The name and port that the client calls the server by, over HTTP.
    pub host: Option<String>,
}

impl Origin {
    /// A message of this session, with nothing wrong about its envelope.
    #[must_use]
    pub fn session(session: SessionKey) -> Self {
        Self { session: Some(session), ..Self::default() }
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
