//! Outputs of the engine, executed by a transport.

use std::time::Duration;

use serde_json::Value;

use super::Era;
use crate::{
    faults::{FaultStep, ProcessAction, WriteFaults},
    script::{Exit, HttpStatus, Respond},
};

/// A conversation with one client: a process run over stdio, a session over HTTP.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash, PartialOrd, Ord)]
pub struct SessionKey(pub u64);

/// One message from the client and everything that is said because of it.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash, PartialOrd, Ord)]
pub struct DispatchId(pub u64);

/// Where a step is to be played.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
pub enum Target {
    /// On the stream that answers one message of the client: standard output over stdio, the reply to the POST over
    /// HTTP.
    Dispatch(DispatchId),
    /// On the stream for what the server says of its own accord: standard output over stdio, the GET stream over HTTP.
    Session(SessionKey),
}

/// One step of a transport, and its target.
#[derive(Debug, Clone, PartialEq)]
pub struct Output {
    /// Where.
    pub to: Target,
    /// What.
    pub step: Step,
    /// What is to be done with its bytes; none: they are written as they are.
    pub shape: Option<Box<WriteFaults>>,
}

impl Output {
    /// A step whose bytes are written as they are.
    #[must_use]
    pub fn new(to: Target, step: Step) -> Self {
        Self { to, step, shape: None }
    }
}

/// One step of a transport.
#[derive(Debug, Clone, PartialEq)]
pub enum Step {
    /// Send a notification or request.
    Send(Value),
    /// Send the response; over HTTP with this status.
    Answer {
        /// The JSON-RPC response.
        message: Value,
        /// The HTTP status.
        status: u16,
    },
    /// Write this text in place of a message.
    Raw(String),
    /// Call [`super::Engine::on_wake`] with the dispatch after this time.
    Wake(Duration),
    /// Over HTTP: respond with this instead of a message. Over stdio: nothing.
    Status(HttpStatus),
    /// Close the connection.
    Close,
    /// Reset the TCP connection; close it if there is no TCP.
    Reset,
    /// Over HTTP: open the stream, though there is nothing to say yet. Elsewhere: nothing.
    Open,
    /// Over HTTP: forget the session that this is for. Over stdio: nothing.
    ExpireSession,
    /// Over stdio: change the process. Over HTTP: nothing.
    Process(ProcessAction),
    /// Over Streamable HTTP: close the connection in good order, and go on when the client comes back, which it is to do
    /// after this time. Elsewhere: nothing.
    CloseStream(Option<Duration>),
    /// Over Streamable HTTP: answer in this way. Elsewhere: nothing.
    Respond(Respond),
    /// End the server.
    Exit(Exit),
    /// End the dispatch; no further steps follow.
    End,
}

impl From<FaultStep> for Step {
    fn from(step: FaultStep) -> Self {
        match step {
            FaultStep::Send(message) => Self::Send(message),
            FaultStep::Raw(text) => Self::Raw(text),
            FaultStep::Status(status) => Self::Status(status),
            FaultStep::Open => Self::Open,
            FaultStep::Close => Self::Close,
            FaultStep::Reset => Self::Reset,
            FaultStep::Process(action) => Self::Process(action),
            FaultStep::Exit(exit) => Self::Exit(exit),
        }
    }
}

/// The outputs of a message.
#[derive(Debug, Clone, PartialEq)]
pub struct DispatchOutput {
    /// The dispatch that the message opened.
    pub dispatch: DispatchId,
    /// The outputs, in their order.
    pub outputs: Vec<Output>,
}

/// Origin of a message.
#[derive(Debug, Clone, Default)]
pub struct Origin {
    /// The session it belongs to; none for what stands outside of sessions.
    pub session: Option<SessionKey>,
    /// The era that its envelope tells; absent: the one that the message itself tells.
    pub era: Option<Era>,
    /// The rejection of the transport. Only rules for the handshake run before it.
    pub rejection: Option<Rejection>,
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

/// The error response to an invalid message.
#[derive(Debug, Clone, PartialEq)]
pub struct Rejection {
    /// The HTTP status.
    pub status: u16,
    /// The JSON-RPC error code.
    pub code: i64,
    /// The JSON-RPC error message.
    pub message: String,
    /// The JSON-RPC error data.
    pub data: Option<Value>,
}

impl Rejection {
    /// A defect without further data.
    pub fn new(status: u16, code: i64, message: impl Into<String>) -> Self {
        Self { status, code, message: message.into(), data: None }
    }
}
