//! Jumps of the clock.

use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

use crate::human_duration::HumanDuration;

/// A jump of the server's clock, like a correction of the system's time. Valid tokens become expired or not yet valid.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields, rename_all = "snake_case")]
pub struct ClockJump {
    /// The trigger. Each jump happens once.
    pub after: ClockTrigger,
    /// The offset.
    pub jump: ClockOffset,
}

/// A repeated event, counted from 1.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "kebab-case")]
pub enum ClockTrigger {
    /// The n-th access token is issued.
    Tokens(u32),
    /// The resource accepts the n-th request with a token.
    Requests(u32),
}

/// The direction and size of a jump.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "kebab-case")]
pub enum ClockOffset {
    /// Into the future: tokens expire.
    Forward(HumanDuration),
    /// Into the past: tokens are not valid yet (RFC 7519 section 4.1.5, `nbf`).
    Back(HumanDuration),
}
