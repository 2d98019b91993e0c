//! Steps for input requests (2026-07-28, basic/patterns/mrtr) and for requests that stay open.

use schemars::JsonSchema;
use serde::Deserialize;

use super::expect::Expect;

/// Requests whose results may request input.
#[derive(Debug, Clone, PartialEq, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub struct Input {
    /// The method: `tools/call`, `prompts/get` or `resources/read`. Tools are called if they are annotated as
    /// read-only, or permitted by the user.
    pub method: String,
    /// The items to call, get or read: a JSONPath in the values of the earlier steps.
    pub each: String,
    /// Maximum number of items [default: 20].
    #[serde(default)]
    pub max: Option<usize>,
    /// The retries after a result that requests input, each after a new first request.
    pub responses: Vec<Responses>,
    /// The expected outcome.
    #[serde(default)]
    pub expect: Expect,
}

/// The responses in a retry.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Deserialize, JsonSchema)]
#[serde(rename_all = "kebab-case")]
pub enum Responses {
    /// A valid response to each input request, in as many rounds as the server needs, up to five.
    Complete,
    /// None.
    Missing,
    /// None, in a request that declares no capabilities.
    Undeclared,
    /// A valid response to each input request but the last one, if there are several.
    Partial,
    /// A valid response to each input request, and another one.
    Extra,
    /// A valid response to each input request, with a changed `requestState`.
    ChangedState,
    /// Complete responses, and the state with another letter or digit near its end.
    ChangedEnd,
    /// Complete responses, and the state with another letter or digit in the second of its three parts.
    ChangedPart,
    /// Complete responses, and an object as the state.
    StateOfAnotherType,
    /// Complete responses, and the state without what follows its last dot, or without its last third.
    ShortenedState,
    /// Texts instead of responses.
    Malformed,
    /// A valid response to each input request, and in each form one field with a value of another type.
    Invalid,
    /// Complete responses and the state, in a call with other arguments, and in a request for another item that requests input.
    OtherArguments,
    /// The user declines every elicitation.
    Declined,
    /// The user dismisses every elicitation without a choice.
    Dismissed,
    /// The user declines every elicitation, with a changed `requestState`.
    DeclinedWithChangedState,
}

/// The end of a request that was left open.
#[derive(Debug, Clone, PartialEq, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub struct Stop {
    /// The name from `as` of the `request` step.
    pub request: String,
    /// The expected outcome.
    #[serde(default)]
    pub expect: Expect,
}
