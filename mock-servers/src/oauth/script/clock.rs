//! The part of the format that is about the clock: when it jumps, and how far.

use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

use crate::human_duration::HumanDuration;

/// A jump of the clock that tokens are issued and judged by, as a correction of a machine's time makes one: a token that
/// was good a moment ago is expired, or was issued at a time that is still to come.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields, rename_all = "snake_case")]
pub struct ClockJump {
    /// After what. Each jump happens once.
    pub after: ClockTrigger,
    /// Which way, and how far.
    pub jump: ClockOffset,
}

/// Something that happens again and again, counted from 1.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "kebab-case")]
pub enum ClockTrigger {
    /// The n-th access token has been issued.
    Tokens(u32),
    /// The n-th request with a token has been let pass by the resource.
    Requests(u32),
}

/// How a clock jumps.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "kebab-case")]
pub enum ClockOffset {
    /// Into the future: tokens expire.
    Forward(HumanDuration),
    /// Into the past: tokens are not valid yet (RFC 7519 section 4.1.5, `nbf`).
    Back(HumanDuration),
}
