//! Questions to the client: what a server needs to know before it can answer.

use std::collections::BTreeMap;

use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

use super::Notify;
use crate::human_duration::HumanDuration;

/// Several questions to the client at once. Up to 2025-11-25 they are requests of the server's own, sent together; in
/// 2026-07-28 they are one `input_required` result, and the client's retry brings the answers. The next action follows
/// when all of them are answered: `{{responses.key.some.path}}` is filled from the answers.
#[derive(Debug, Clone, Default, PartialEq, Serialize, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields, default, rename_all = "snake_case")]
pub struct Ask {
    /// The questions, each under the key that its answer is to come back with. None at all makes an `input_required`
    /// result with nothing but a `requestState`; before 2026-07-28 that is nothing.
    pub requests: BTreeMap<String, Notify>,
    /// Whether the result carries a `requestState`, in 2026-07-28.
    #[serde(skip_serializing_if = "AskState::is_sealed")]
    pub state: AskState,
    /// How long the `requestState` is good for; absent: for ever.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub ttl: Option<HumanDuration>,
    /// Whether the `requestState` is good for one retry only.
    #[serde(skip_serializing_if = "std::ops::Not::not")]
    pub once: bool,
    /// What to do about questions that the client does not declare the capability for.
    #[serde(skip_serializing_if = "Undeclared::is_refuse")]
    pub undeclared: Undeclared,
}

/// Whether a question carries state.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "kebab-case")]
pub enum AskState {
    /// A `requestState` that tells what was asked, sealed against changes, and bound to the method, the name and the
    /// arguments of the request. Answers without it do not count.
    #[default]
    Sealed,
    /// None. The retry starts the rule from its beginning, and answers count whoever brings them.
    None,
}

impl AskState {
    fn is_sealed(&self) -> bool {
        *self == Self::Sealed
    }
}

/// What to do about questions that the client does not declare the capability for.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "kebab-case")]
pub enum Undeclared {
    /// Refuse the request: with -32021 in 2026-07-28, before with a failed tool result or -32602.
    #[default]
    Refuse,
    /// Leave those questions out.
    Skip,
    /// Ask all the same, as a good server must not.
    Ask,
}

impl Undeclared {
    fn is_refuse(&self) -> bool {
        *self == Self::Refuse
    }
}
