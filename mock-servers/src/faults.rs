//! Deliberate deviations of mock servers from the specifications that a script can name.
//!
//! A fault is a type with its parameters and an implementation of [`FaultHooks`]. A row of a [`fault_set`] registers
//! it under a name together with its classification. There are two sets: [`Fault`] for MCP servers, here, and
//! [`OAuthFault`] for authorization servers and the resources that they protect. Hooks are pure: a transport waits and
//! writes, and random values come from a generator that is seeded for the fault and the number of its matches. Which
//! messages a fault acts on is decided elsewhere.

#[macro_use]
mod set;

mod connection;
mod encoding;
mod framing;
mod hooks;
mod http;
mod message;
mod oauth;
mod output;
mod process;
mod rewrite;
mod timing;
mod write;

use evidence::Transport;
use rand_chacha::ChaCha8Rng;
use schemars::JsonSchema;
use serde::{Deserialize, Serialize};
use serde_json::Value;

use self::{
    Directions::{Both, ToClient},
    Messages::{Every, Responses},
    Randomness::{Fixed, Seeded},
    Stage::{Action, Bytes, Ending, Envelope, Message},
    set::any,
};
pub use self::{
    connection::{CloseMethod, Disconnect, DisconnectPoint, StreamError, Truncate},
    encoding::{DeepNesting, InvalidUtf8, Malformation, MalformedJson, Sequence},
    framing::{BadRetry, Coalesce, Cut, EventFields, Fragment, LineEnd, SlowDrip},
    hooks::{ParameterProblem, ProblemSite},
    http::{HttpHead, HttpStatus, Redirect, RedirectTarget, RetryAfter, WrongContentType},
    message::Oversize,
    oauth::{OAuthFault, OAuthFaultRule, OAuthStage},
    output::{Garbage, LogLines, LogPosition, NotificationFlood, StderrFlood},
    process::{ChildScript, Exit, Leak, ProcessAction, Signal},
    rewrite::Rewrite,
    timing::{Delay, LateReply, Latency, Reorder},
    write::WriteFaults,
};
pub(crate) use self::{
    hooks::{FaultAction, FaultContext, FaultHooks, FaultStep},
    oauth::{OAuthFaults, TokenRequest, deviation::Deviation},
    write::{AppliedFault, Chunk, Finish, Framed, WritePlan},
};

fault_set! {
    /// A deviation of an MCP server. Several faults of one exchange act together, in their order: a fault with an
    /// immediate effect (a delay, a status, an exit) acts when it is reached, the others on all messages after it.
    Fault: FaultClass {
        timing::Silence                                                   => class(Action, ALL, Both, Every, Fixed);
        timing::Delay(Delay, any)                                         => class(Action, ALL, Both, Every, Fixed);
        timing::Latency(Latency, Latency::problems)                       => class(Action, ALL, Both, Every, Seeded);
        timing::LateReply(LateReply, any)                                 => class(Action, ALL, Both, Every, Fixed);
        output::Garbage(Garbage, any)                                     => class(Action, ALL, ToClient, Every, Fixed);
        output::LogLines(LogLines, any)                                   => class(Bytes, ALL, ToClient, Every, Fixed);
        output::StderrFlood(StderrFlood, any)                             => class(Action, STDIO, Both, Every, Fixed);
        output::NotificationFlood(NotificationFlood, NotificationFlood::problems) => class(Action, ALL, ToClient, Every, Fixed);
        connection::Close                                                 => class(Envelope, ALL, Both, Every, Fixed);
        connection::Disconnect(Disconnect, any)                           => class(Ending, ALL, Both, Responses, Fixed);
        process::Exit(Exit, any)                                          => class(Action, ALL, Both, Every, Fixed);
        process::Leak(Leak, any)                                          => class(Action, STDIO, Both, Every, Fixed);
        process::IgnoreSigterm                                            => class(Action, STDIO, Both, Every, Fixed);
        process::Grandchild(ChildScript, any)                             => class(Action, STDIO, Both, Every, Fixed);
        http::HttpStatus(HttpStatus, HttpStatus::problems)                => class(Envelope, ALL, Both, Every, Fixed);
        http::RetryAfter(RetryAfter, RetryAfter::problems)                => class(Envelope, ALL, Both, Every, Fixed);
        http::Redirect(Redirect, Redirect::problems)                      => class(Envelope, ALL, Both, Every, Fixed);
        http::SessionExpiry                                               => class(Envelope, ALL, ToClient, Every, Fixed);
        connection::StreamError(StreamError, any)                         => class(Action, ALL, ToClient, Every, Fixed);
        message::WrongId                                                  => class(Message, ALL, Both, Responses, Seeded);
        message::NullId                                                   => class(Message, ALL, Both, Responses, Fixed);
        message::FloatId                                                  => class(Message, ALL, Both, Responses, Fixed);
        message::StringId                                                 => class(Message, ALL, Both, Responses, Fixed);
        rewrite::Rewrite(Rewrite, Rewrite::problems)                      => class(Message, ALL, Both, Every, Fixed);
        message::UnknownFields                                            => class(Message, ALL, Both, Every, Seeded);
        message::BothResultAndError                                       => class(Message, ALL, ToClient, Responses, Fixed);
        message::NeitherResultNorError                                    => class(Message, ALL, ToClient, Responses, Fixed);
        message::Duplicate                                                => class(Message, ALL, Both, Responses, Fixed);
        timing::Reorder(Reorder, any)                                     => class(Message, ALL, ToClient, Responses, Fixed);
        encoding::DeepNesting(DeepNesting, any)                           => class(Bytes, ALL, Both, Every, Fixed);
        message::Oversize(Oversize, any)                                  => class(Message, ALL, Both, Every, Fixed);
        connection::Truncate(Truncate, any)                               => class(Ending, ALL, Both, Responses, Fixed);
        framing::Fragment(Fragment, Fragment::problems)                   => class(Bytes, ALL, ToClient, Every, Seeded);
        framing::Coalesce(Coalesce, Coalesce::problems)                   => class(Bytes, ALL, ToClient, Every, Fixed);
        framing::SlowDrip(SlowDrip, SlowDrip::problems)                   => class(Bytes, ALL, ToClient, Every, Fixed);
        rewrite::PrettyPrint                                              => class(Bytes, ALL, Both, Every, Fixed);
        encoding::ByteOrderMark                                           => class(Bytes, ALL, Both, Every, Fixed);
        encoding::InvalidUtf8(InvalidUtf8, any)                           => class(Bytes, ALL, Both, Every, Seeded);
        encoding::MalformedJson(MalformedJson, any)                       => class(Bytes, ALL, Both, Every, Seeded);
        framing::LineEnds(LineEnd, any)                                   => class(Bytes, ALL, ToClient, Every, Fixed);
        framing::NoEventId                                                => class(Bytes, STREAMABLE_HTTP, ToClient, Every, Fixed);
        framing::EventFields(EventFields, any)                            => class(Bytes, HTTP, ToClient, Every, Fixed);
        framing::BadRetry(BadRetry, any)                                  => class(Bytes, HTTP, ToClient, Every, Fixed);
        http::WrongContentType(WrongContentType, any)                     => class(Bytes, HTTP, ToClient, Every, Fixed);
        http::HttpHead(HttpHead, HttpHead::problems)                      => class(Bytes, STREAMABLE_HTTP, ToClient, Every, Fixed);
    }
}

const ALL: &[Transport] = &Transport::ALL;
/// The process of a server that listens belongs to its owner, so only the stdio server changes its process.
const STDIO: &[Transport] = &[Transport::Stdio];
/// There are no events and no content types over stdio.
const HTTP: &[Transport] = &[Transport::StreamableHttp, Transport::HttpSse];
/// The events of 2024-11-05 have no ids, and its responses no HTTP head of their own.
const STREAMABLE_HTTP: &[Transport] = &[Transport::StreamableHttp];

/// The classification of an MCP fault.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct FaultClass {
    /// What the fault changes.
    pub stage: Stage,
    /// The transports on which a client can observe the fault.
    pub transports: &'static [Transport],
    /// The directions in which the fault has an effect.
    pub directions: Directions,
    /// The messages that the fault changes.
    pub messages: Messages,
    /// Whether the fault draws random values.
    pub randomness: Randomness,
}

const fn class(
    stage: Stage,
    transports: &'static [Transport],
    directions: Directions,
    messages: Messages,
    randomness: Randomness,
) -> FaultClass {
    FaultClass { stage, transports, directions, messages, randomness }
}

/// What a fault changes.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Stage {
    /// The course of the exchange: it waits, sends more, or stops the process.
    Action,
    /// The HTTP status and headers, so nothing may be sent before the fault is reached.
    Envelope,
    /// The JSON of messages.
    Message,
    /// The bytes of messages.
    Bytes,
    /// The bytes of messages and the end of the connection, so the HTTP status and headers depend on it too.
    Ending,
}

/// The directions in which a fault has an effect.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Directions {
    /// On messages of the server and of the client.
    Both,
    /// Only on messages of the server.
    ToClient,
}

/// The messages that a fault changes.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Messages {
    /// Every message.
    Every,
    /// Responses, but no requests and notifications.
    Responses,
}

/// Whether a fault draws random values.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Randomness {
    /// Every seed has the same effect.
    Fixed,
    /// The effect can depend on the seed.
    Seeded,
}

/// The direction of the messages that a fault changes.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "kebab-case")]
pub enum FaultDirection {
    /// Messages that the server sends because of a message of the client.
    #[default]
    ToClient,
    /// The client's message itself, before the server receives it.
    ToServer,
}

/// The state of a persistent fault in a running server.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
pub struct FaultState {
    /// Its name, if it has one.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub name: Option<String>,
    /// Whether it is enabled.
    pub enabled: bool,
    /// The number of messages that its conditions, apart from `nth`, have matched.
    pub matched: u64,
    /// The number of messages that it has changed.
    pub acted: u64,
}

impl Fault {
    /// Whether the fault has an effect in this direction.
    #[must_use]
    pub fn is_for(&self, direction: FaultDirection) -> bool {
        direction == FaultDirection::ToClient || self.class().directions == Both
    }

    /// Whether the fault changes only responses.
    pub(crate) fn is_for_responses(&self) -> bool {
        self.class().messages == Responses
    }

    /// Whether the fault changes the bytes of messages.
    pub(crate) fn changes_bytes(&self) -> bool {
        matches!(self.class().stage, Bytes | Ending)
    }

    /// Whether the fault decides about the HTTP status and headers, so that nothing may be sent before it is reached.
    pub(crate) fn decides_envelope(&self) -> bool {
        matches!(self.class().stage, Envelope | Ending)
    }

    /// The messages that are sent instead of a message.
    pub(crate) fn apply(&self, mut message: Value, random: &mut ChaCha8Rng) -> Vec<Value> {
        let hooks = self.hooks();
        hooks.rewrite(&mut message, random);
        vec![message; hooks.copies()]
    }
}
