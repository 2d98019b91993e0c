//! Requests of a script to the client.

use std::collections::BTreeMap;

use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

use super::Notify;
use crate::human_duration::HumanDuration;

/// Several requests to the client at once. Up to 2025-11-25 they are requests of the server, sent together. In
/// 2026-07-28 they are one `input_required` result, and the client's retry contains the responses. The next action
/// follows after all responses; `{{responses.key.some.path}}` contains them.
#[derive(Debug, Clone, Default, PartialEq, Serialize, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields, default, rename_all = "snake_case")]
pub struct Ask {
    /// The requests, each under the key of its response. Without requests, the `input_required` result contains only a
    /// `requestState`; before 2026-07-28 nothing is sent.
    pub requests: BTreeMap<String, Notify>,
    /// Whether the result carries a `requestState`, in 2026-07-28.
    #[serde(skip_serializing_if = "AskState::is_sealed")]
    pub state: AskState,
    /// The lifetime of the `requestState` [default: unlimited].
    #[serde(skip_serializing_if = "Option::is_none")]
    pub ttl: Option<HumanDuration>,
    /// Whether the `requestState` can be used only once.
    #[serde(skip_serializing_if = "std::ops::Not::not")]
    pub once: bool,
    /// The treatment of requests whose capability the client does not declare.
    #[serde(skip_serializing_if = "Undeclared::is_refuse")]
    pub undeclared: Undeclared,
}

/// The state of an `input_required` result.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "kebab-case")]
pub enum AskState {
    /// A `requestState` that identifies the requests. It is authenticated, and bound to the method, the name and the
    /// arguments of the request. Responses without it are ignored.
    #[default]
    Sealed,
    /// None. The retry starts the rule from its beginning, and responses of any client count.
    None,
}

impl AskState {
    fn is_sealed(&self) -> bool {
        *self == Self::Sealed
    }
}

/// The treatment of requests whose capability the client does not declare.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "kebab-case")]
pub enum Undeclared {
    /// Reject the request: with -32021 in 2026-07-28, before with a failed tool result or -32602.
    #[default]
    Refuse,
    /// Omit those requests.
    Skip,
    /// Send them, which the specification forbids.
    Ask,
}

impl Undeclared {
    fn is_refuse(&self) -> bool {
        *self == Self::Refuse
    }
}
