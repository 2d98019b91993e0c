//! The token endpoint fails: with an error of OAuth, or with a status and nothing else.

use schemars::JsonSchema;
use serde::{Deserialize, Serialize};
use serde_json::json;

use super::{Deception, TokenFacts};
use crate::{
    oauth::{answer::Answer, script::GrantType},
    period::Period,
};

/// The token endpoint fails: with an error of OAuth, or with a status and nothing else.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields, rename_all = "snake_case")]
pub struct TokenRefused {
    /// The status.
    pub status: u16,
    /// The error: `invalid_client`, `invalid_grant`, `server_error`; absent: the answer has no body.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub error: Option<String>,
    /// `Retry-After`, in whole seconds.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub retry_after: Option<Period>,
    /// Only for this grant.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub grant: Option<GrantType>,
    /// Only where this scope is asked for.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub scope: Option<String>,
}

impl Deception for TokenRefused {
    fn refuse_token(&self, facts: &TokenFacts<'_>) -> Option<Answer> {
        let grant = self.grant.is_none_or(|grant| grant.name() == facts.grant);
        let scope = self.scope.as_ref().is_none_or(|scope| facts.scopes.contains(scope));
        if !(grant && scope) {
            return None;
        }
        let mut answer = match &self.error {
            Some(error) => Answer::json(self.status, &json!({"error": error})),
            None => Answer::empty(self.status),
        };
        if let Some(after) = self.retry_after {
            answer.set("retry-after", after.0.as_secs().to_string());
        }
        Some(answer.uncached())
    }
}
