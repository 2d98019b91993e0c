//! Faults that close the connection or the stream.

use std::time::Duration;

use rand_chacha::ChaCha8Rng;
use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

use super::{Fault, FaultAction, FaultContext, FaultHooks, FaultStep, Finish, write::MessageBuffer};
use crate::human_duration::HumanDuration;

/// Closes the connection without a response: standard output over stdio, where the process continues, and the HTTP
/// exchange over HTTP.
#[derive(JsonSchema)]
pub(super) struct Close;

impl FaultHooks for Close {
    fn action(&self, _: &mut FaultContext<'_>) -> FaultAction {
        FaultAction::End(FaultStep::Close)
    }
}

/// Closes the connection before, inside or after the response, gracefully or by a TCP reset.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields, default, rename_all = "snake_case")]
pub struct Disconnect {
    /// When the connection is closed.
    pub moment: DisconnectPoint,
    /// How the connection is closed.
    pub by: CloseMethod,
    /// With `inside`: the number of bytes of the response to send first [default: half of them].
    #[serde(skip_serializing_if = "Option::is_none")]
    pub at: Option<usize>,
}

/// When a connection is closed.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "kebab-case")]
pub enum DisconnectPoint {
    /// Before the next message.
    #[default]
    Before,
    /// Inside the response.
    Inside,
    /// After the response; over HTTP despite keep-alive.
    After,
}

/// How a connection is closed.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "kebab-case")]
pub enum CloseMethod {
    /// Gracefully: the client reads the end of the stream.
    #[default]
    Close,
    /// By a TCP reset: the client's read fails. Over stdio and Unix sockets, which have no reset, as `close`.
    Reset,
}

impl FaultHooks for Disconnect {
    fn action(&self, _: &mut FaultContext<'_>) -> FaultAction {
        match (self.moment, self.by) {
            (DisconnectPoint::Before, CloseMethod::Close) => FaultAction::End(FaultStep::Close),
            (DisconnectPoint::Before, CloseMethod::Reset) => FaultAction::End(FaultStep::Reset),
            _ => FaultAction::Join,
        }
    }

    fn schedule(&self, buffer: &mut MessageBuffer, _: &mut ChaCha8Rng) {
        match self.moment {
            DisconnectPoint::Before => {}
            DisconnectPoint::Inside => {
                let half = buffer.framed.payload.len() / 2;
                buffer.end_at(self.at.unwrap_or(half), Finish::Inside(self.by));
            }
            DisconnectPoint::After => buffer.finish = Finish::After(self.by),
        }
    }
}

/// Opens the stream that a GET requests over HTTP, then closes it. A client that reopens it at once never stops.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields, default, rename_all = "snake_case")]
pub struct StreamError {
    /// How long the stream stays open [default: closed at once].
    #[serde(skip_serializing_if = "Option::is_none")]
    pub after: Option<HumanDuration>,
    /// How the stream is closed.
    pub by: CloseMethod,
}

impl FaultHooks for StreamError {
    fn action(&self, _: &mut FaultContext<'_>) -> FaultAction {
        let end = Disconnect { moment: DisconnectPoint::Before, by: self.by, at: None };
        let open = self.after.map_or(Duration::ZERO, |period| period.0);
        FaultAction::DoThen(vec![FaultStep::Open], open, Box::new(Fault::Disconnect(end)))
    }
}

/// Sends only this many bytes of the response, then closes the connection.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
pub struct Truncate(pub usize);

impl FaultHooks for Truncate {
    fn schedule(&self, buffer: &mut MessageBuffer, _: &mut ChaCha8Rng) {
        buffer.end_at(self.0, Finish::Inside(CloseMethod::Close));
    }
}
