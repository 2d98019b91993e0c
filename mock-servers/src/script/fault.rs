//! The persistent faults of a script.

use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

use super::When;
use crate::faults::{Fault, FaultDirection};

/// A persistent fault. All persistent faults that match a message act on it, in their order.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields, rename_all = "snake_case")]
pub struct FaultRule {
    /// The name by which it is enabled and disabled.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub name: Option<String>,
    /// The fault.
    pub fault: Fault,
    /// The direction of the messages that it changes.
    #[serde(default, skip_serializing_if = "is_to_client")]
    pub direction: FaultDirection,
    /// The probability that it acts on a message that matches, from 0 (never) to 1 (always) [default: 1].
    #[serde(default = "certain", skip_serializing_if = "is_certain")]
    pub probability: f64,
    /// The messages of the client that trigger it [default: all].
    #[serde(default)]
    pub when: When,
    /// Whether it is enabled at the start.
    #[serde(default = "enabled", skip_serializing_if = "is_enabled")]
    pub enabled: bool,
}

#[expect(clippy::trivially_copy_pass_by_ref, reason = "serde calls it with a reference")]
fn is_to_client(direction: &FaultDirection) -> bool {
    *direction == FaultDirection::ToClient
}

fn certain() -> f64 {
    1.0
}

#[expect(clippy::trivially_copy_pass_by_ref, reason = "serde calls it with a reference")]
fn is_certain(probability: &f64) -> bool {
    *probability >= 1.0
}

fn enabled() -> bool {
    true
}

#[expect(clippy::trivially_copy_pass_by_ref, reason = "serde calls it with a reference")]
fn is_enabled(enabled: &bool) -> bool {
    *enabled
}
