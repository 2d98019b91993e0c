//! What a good server would not do: the faults that a script can name.
//!
//! Each fault has a file of its own, with its parameters and what it does. It acts through at most three hooks: at its
//! [turn](Turn) in an exchange, on a message about to be sent, and on the bytes of a message about to be written
//! ([`Shape`]). All of them are pure: time is something to be waited for by a front, and chance comes from a generator
//! that is seeded for the fault and for how often it has matched. This module owns the list and how faults combine; it
//! refuses I/O, clocks and chance of its own.

mod bad_retry;
mod both_result_and_error;
mod byte_order_mark;
mod close;
mod coalesce;
mod deep_nesting;
mod delay;
mod disconnect;
mod duplicate;
mod exit;
mod float_id;
mod fragment;
mod garbage;
mod grandchild;
mod http_status;
mod ignore_sigterm;
mod invalid_utf8;
mod late_reply;
mod latency;
mod line_ends;
mod log_lines;
mod malformed_json;
mod neither_result_nor_error;
mod no_event_id;
mod notification_flood;
mod null_id;
mod oversize;
mod redirect;
mod reorder;
mod retry_after;
mod session_expiry;
mod shape;
mod silence;
mod slow_drip;
mod standing;
mod stderr_flood;
mod stream_error;
mod string_id;
mod truncate;
mod turn;
mod unknown_fields;
mod wrong_content_type;
mod wrong_id;

use rand_chacha::ChaCha8Rng;
use schemars::JsonSchema;
use serde::{Deserialize, Serialize};
use serde_json::Value;

pub use self::{
    coalesce::Coalesce,
    disconnect::{Disconnect, How, Moment},
    exit::{Exit, Signal},
    fragment::{Cut, Fragment},
    http_status::HttpStatus,
    invalid_utf8::{InvalidUtf8, Sequence},
    latency::Latency,
    line_ends::LineEnd,
    log_lines::{LogLines, Place},
    malformed_json::{Malformation, MalformedJson},
    notification_flood::NotificationFlood,
    redirect::{Redirect, To},
    reorder::Reorder,
    retry_after::RetryAfter,
    shape::Shape,
    slow_drip::SlowDrip,
    standing::{FaultRule, FaultState, Toward},
    stderr_flood::StderrFlood,
    stream_error::StreamError,
};
pub(crate) use self::{
    shape::{Finish, Framed, Piece, Rendered, Stroke},
    standing::{Standing, chance},
    turn::{Scene, Turn},
};
use crate::{period::Period, script::ChildScript};

/// Something that a good server would not do. Several in one exchange act together, in their order: those that act at
/// once (a delay, a status, an exit) do so when their turn comes, the others on everything that is said after them.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "kebab-case")]
pub enum Fault {
    /// Never answer. Toward the server: the message is lost.
    Silence,
    /// Wait, then go on.
    Delay(Period),
    /// Wait for a time that is drawn anew each time, then go on.
    Latency(Latency),
    /// Wait, then go on, and answer even if the request is cancelled meanwhile.
    LateReply(Period),
    /// Write this text where a message belongs, then go on.
    Garbage(String),
    /// Write log lines where messages belong: on standard output over stdio, as events over HTTP.
    LogLines(LogLines),
    /// Fill standard error (over stdio alone), then go on.
    StderrFlood(StderrFlood),
    /// Send many notifications, then go on.
    NotificationFlood(NotificationFlood),
    /// Close the connection without an answer: standard output over stdio, the exchange over HTTP.
    Close,
    /// End the connection before, amid or after the answer, in good order or by a TCP reset.
    Disconnect(Disconnect),
    /// End the server's process without an answer (over HTTP: close every connection and refuse new ones).
    Exit(Exit),
    /// From here on, live on when SIGTERM comes (over stdio alone).
    IgnoreSigterm,
    /// Start a process that nobody looks after (over stdio alone), then go on.
    Grandchild(ChildScript),
    /// Answer with this HTTP status instead of a JSON-RPC message (over stdio: as `silence`).
    HttpStatus(HttpStatus),
    /// Answer with an HTTP status that asks the client to come back later (over stdio: as `silence`).
    RetryAfter(RetryAfter),
    /// Send the client elsewhere with an HTTP redirect (over stdio: as `silence`).
    Redirect(Redirect),
    /// Forget the session, and answer that it is unknown: over HTTP with 404, from now on. Over stdio the server
    /// forgets that it was initialized.
    SessionExpiry,
    /// Open the stream that was asked for, then break it off (over HTTP, for a GET).
    StreamError(StreamError),
    /// Answer under an id that nobody asked with, and never under the right one.
    WrongId,
    /// Answer under the id null.
    NullId,
    /// Answer under the id as a number with a fraction, `1.5` for `1`; a text gets the id `0.5`.
    FloatId,
    /// Answer under the id as text, `"1"` for `1`; a text gets quotes inside its own.
    StringId,
    /// Add members that no revision knows, to the message and to what it carries.
    UnknownFields,
    /// Answer with a result and an error at once.
    BothResultAndError,
    /// Answer with neither a result nor an error.
    NeitherResultNorError,
    /// Answer twice.
    Duplicate,
    /// Hold the answer back until others of the session have been answered.
    Reorder(Reorder),
    /// Put arrays into each other, this many levels deep, inside `_meta`.
    DeepNesting(usize),
    /// Make messages at least this many bytes long, by padding inside `_meta`.
    Oversize(usize),
    /// Send only the first bytes of the answer, then close the connection.
    Truncate(usize),
    /// Write messages in pieces.
    Fragment(Fragment),
    /// Hold messages back and write them in one go.
    Coalesce(Coalesce),
    /// Write messages a few bytes at a time.
    SlowDrip(SlowDrip),
    /// Begin messages with a byte order mark.
    ByteOrderMark,
    /// Put bytes that are no UTF-8 into a string.
    InvalidUtf8(InvalidUtf8),
    /// Break the JSON of messages.
    MalformedJson(MalformedJson),
    /// End lines in this way: those of events over HTTP, those of messages over stdio.
    LineEnds(LineEnd),
    /// Send events without an `id`.
    NoEventId,
    /// Send events with this text as `retry`, which should be a number of milliseconds.
    BadRetry(String),
    /// Answer over HTTP under this content type.
    WrongContentType(String),
}

impl Fault {
    /// What happens when its turn comes.
    pub(crate) fn turn(&self, scene: &mut Scene<'_>) -> Turn {
        match self {
            Self::Silence => silence::turn(),
            Self::Delay(period) => delay::turn(*period),
            Self::Latency(latency) => latency.turn(&mut scene.random),
            Self::LateReply(period) => late_reply::turn(*period),
            Self::Garbage(text) => garbage::turn(text, &scene.facts),
            Self::LogLines(lines) => lines.turn(),
            Self::StderrFlood(flood) => flood.turn(),
            Self::NotificationFlood(flood) => flood.turn(),
            Self::Close => close::turn(),
            Self::Disconnect(disconnect) => disconnect.turn(),
            Self::Exit(exit) => exit.turn(),
            Self::IgnoreSigterm => ignore_sigterm::turn(),
            Self::Grandchild(child) => grandchild::turn(child),
            Self::HttpStatus(status) => status.turn(),
            Self::RetryAfter(retry) => retry.turn(),
            Self::Redirect(redirect) => redirect.turn(scene.host),
            Self::SessionExpiry => session_expiry::turn(),
            Self::StreamError(error) => error.turn(),
            _ => Turn::Join,
        }
    }

    /// Whether it does anything in this direction: a client's message cannot be late behind an answer, say.
    #[must_use]
    pub fn is_for(&self, toward: Toward) -> bool {
        let answers_alone = matches!(
            self,
            Self::Garbage(_)
                | Self::LogLines(_)
                | Self::NotificationFlood(_)
                | Self::SessionExpiry
                | Self::StreamError(_)
                | Self::BothResultAndError
                | Self::NeitherResultNorError
                | Self::Reorder(_)
                | Self::Coalesce(_)
                | Self::Fragment(_)
                | Self::SlowDrip(_)
                | Self::LineEnds(_)
                | Self::NoEventId
                | Self::BadRetry(_)
                | Self::WrongContentType(_)
        );
        toward == Toward::ToClient || !answers_alone
    }

    /// Whether it leaves everything but answers alone.
    pub(crate) fn is_for_answers(&self) -> bool {
        matches!(
            self,
            Self::WrongId
                | Self::NullId
                | Self::FloatId
                | Self::StringId
                | Self::BothResultAndError
                | Self::NeitherResultNorError
                | Self::Duplicate
                | Self::Reorder(_)
                | Self::Truncate(_)
                | Self::Disconnect(_)
        )
    }

    /// What becomes of a message.
    pub(crate) fn twist(&self, mut message: Value, random: &mut ChaCha8Rng) -> Vec<Value> {
        match self {
            Self::WrongId => wrong_id::twist(&mut message, random),
            Self::NullId => null_id::twist(&mut message),
            Self::FloatId => float_id::twist(&mut message),
            Self::StringId => string_id::twist(&mut message),
            Self::UnknownFields => unknown_fields::twist(&mut message, random),
            Self::BothResultAndError => both_result_and_error::twist(&mut message),
            Self::NeitherResultNorError => neither_result_nor_error::twist(&mut message),
            Self::DeepNesting(_) => deep_nesting::twist(&mut message),
            Self::Oversize(bytes) => oversize::twist(&mut message, *bytes),
            Self::Duplicate => return duplicate::twist(message),
            _ => {}
        }
        vec![message]
    }

    /// Whether it has something to do with the bytes of messages.
    pub(crate) fn shapes(&self) -> bool {
        matches!(
            self,
            Self::DeepNesting(_)
                | Self::Truncate(_)
                | Self::Disconnect(_)
                | Self::Fragment(_)
                | Self::Coalesce(_)
                | Self::SlowDrip(_)
                | Self::ByteOrderMark
                | Self::InvalidUtf8(_)
                | Self::MalformedJson(_)
                | Self::LineEnds(_)
                | Self::NoEventId
                | Self::BadRetry(_)
                | Self::WrongContentType(_)
                | Self::LogLines(_)
        )
    }

    /// Whether it decides about an HTTP envelope, so that nothing may be answered before its turn.
    pub(crate) fn words_envelope(&self) -> bool {
        matches!(
            self,
            Self::HttpStatus(_)
                | Self::RetryAfter(_)
                | Self::Redirect(_)
                | Self::SessionExpiry
                | Self::Close
                | Self::Disconnect(_)
                | Self::Truncate(_)
        )
    }
}
