//! Outputs of the engine, executed by a transport.

use std::time::Duration;

use serde_json::Value;

use super::Era;
use crate::{
    faults::{FaultStep, ProcessAction, WriteFaults},
    script::{Exit, HttpStatus, Respond},
};

/// A session: a process over stdio, an `initialize` over HTTP.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash, PartialOrd, Ord)]
pub struct SessionKey(pub u64);

/// One message from the client, and everything that it causes.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash, PartialOrd, Ord)]
pub struct DispatchId(pub u64);

/// The target of a step.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
pub enum Target {
    /// The stream of the response to one message: standard output over stdio, the response to the POST over HTTP.
    Dispatch(DispatchId),
    /// The stream for other messages of the server: standard output over stdio, the GET stream over HTTP.
    Session(SessionKey),
}

/// One step of a transport, and its target.
#[derive(Debug, Clone, PartialEq)]
pub struct Output {
    /// The target.
    pub to: Target,
    /// The step.
    pub step: Step,
    /// The faults of its bytes; `None` leaves them unchanged.
    pub shape: Option<Box<WriteFaults>>,
}

impl Output {
    /// A step without faults.
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
    Response {
        /// The JSON-RPC response.
        message: Value,
        /// The HTTP status.
        status: u16,
    },
    /// Write this text in place of a message.
    Raw(String),
    /// Call [`super::Engine::on_wake`] with the dispatch after this time.
    Wake(Duration),
    /// Over HTTP: respond with this instead of a message. Over stdio: no effect.
    Status(HttpStatus),
    /// Close the connection.
    Close,
    /// Reset the TCP connection; close other connections.
    Reset,
    /// Over HTTP: open the stream before the first message. Over other transports: no effect.
    Open,
    /// Over HTTP: expire the session. Over stdio: no effect.
    ExpireSession,
    /// Over stdio: change the process. Over HTTP: no effect.
    Process(ProcessAction),
    /// Over Streamable HTTP: close the connection gracefully, and continue when the client reconnects, after this time.
    /// Over other transports: no effect.
    CloseStream(Option<Duration>),
    /// Over Streamable HTTP: respond in this form. Over other transports: no effect.
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
    /// The session; `None` outside of sessions.
    pub session: Option<SessionKey>,
    /// The era of its envelope [default: that of the message].
    pub era: Option<Era>,
    /// The rejection of the transport. Only rules for the handshake run before it.
    pub rejection: Option<Rejection>,
    /// The host and port of the request, over HTTP.
    pub host: Option<String>,
}

impl Origin {
    /// A message of this session with a valid envelope.
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
    /// A rejection without data.
    pub fn new(status: u16, code: i64, message: impl Into<String>) -> Self {
        Self { status, code, message: message.into(), data: None }
    }
}
