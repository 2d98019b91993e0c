//! Faults of access tokens and of the token endpoint's responses.

use schemars::JsonSchema;
use serde::{Deserialize, Serialize};
use serde_json::{Map, Value, json};

use super::{GrantType, TokenRequest};
use crate::{faults::FaultHooks, human_duration::HumanDuration, oauth_messages::OAuthResponse};

/// Rejects token requests, with an OAuth error or only with a status.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields, rename_all = "snake_case")]
pub struct TokenRefused {
    /// The status.
    pub status: u16,
    /// The error, such as `invalid_client`, `invalid_grant` or `server_error` [default: no body].
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub error: Option<String>,
    /// `Retry-After`, in whole seconds.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub retry_after: Option<HumanDuration>,
    /// Only for this grant.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub grant: Option<GrantType>,
    /// Only for requests with this scope.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub scope: Option<String>,
}

impl FaultHooks for TokenRefused {
    fn reject_token(&self, request: &TokenRequest<'_>) -> Option<OAuthResponse> {
        let grant = self.grant.is_none_or(|grant| grant.name() == request.grant);
        let scope = self.scope.as_ref().is_none_or(|scope| request.scopes.contains(scope));
        if !(grant && scope) {
            return None;
        }
        let mut response = match &self.error {
            Some(error) => OAuthResponse::json(self.status, &json!({"error": error})),
            None => OAuthResponse::empty(self.status),
        };
        if let Some(after) = self.retry_after {
            response.set("retry-after", after.0.as_secs().to_string());
        }
        Some(response.uncached())
    }
}

/// Redirects token requests, which contain a code and possibly a secret.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields, rename_all = "snake_case")]
pub struct RedirectedToken {
    /// The target.
    pub to: String,
    /// The status. With 307 and 308 a client repeats its form.
    pub status: u16,
}

impl FaultHooks for RedirectedToken {
    fn reject_token(&self, _: &TokenRequest<'_>) -> Option<OAuthResponse> {
        Some(OAuthResponse::redirect(self.status, &self.to))
    }
}

/// Issues a token for another resource than the requested one.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields, rename_all = "snake_case")]
pub struct WrongAudience {
    /// The other resource.
    pub audience: String,
}

impl FaultHooks for WrongAudience {
    fn claims(&self, claims: &mut Map<String, Value>) {
        claims.insert("aud".to_owned(), self.audience.clone().into());
    }
}

/// Issues a token with fewer scopes than the response names.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields, rename_all = "snake_case")]
pub struct ReducedScope {
    /// The scopes of the token.
    pub scope: String,
}

impl FaultHooks for ReducedScope {
    fn claims(&self, claims: &mut Map<String, Value>) {
        claims.insert("scope".to_owned(), self.scope.clone().into());
    }
}

/// Names more scopes in the token response than the client requested.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields, rename_all = "snake_case")]
pub struct ExtraScope {
    /// The scopes of the response.
    pub scope: String,
}

impl FaultHooks for ExtraScope {
    fn token_response(&self, body: &mut Map<String, Value>) {
        body.insert("scope".to_owned(), self.scope.clone().into());
    }
}

/// Omits `expires_in` from the token response.
#[derive(JsonSchema)]
pub(super) struct NoExpiresIn;

impl FaultHooks for NoExpiresIn {
    fn token_response(&self, body: &mut Map<String, Value>) {
        body.remove("expires_in");
    }
}

/// Sends another lifetime in the token response than the token has.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields, rename_all = "snake_case")]
pub struct WrongExpiresIn {
    /// The value of `expires_in`, which need not be a number.
    pub expires_in: Value,
}

impl FaultHooks for WrongExpiresIn {
    fn token_response(&self, body: &mut Map<String, Value>) {
        body.insert("expires_in".to_owned(), self.expires_in.clone());
    }
}

/// Issues a token of an unknown type, which clients must not use (RFC 6749 section 7.1).
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields, rename_all = "snake_case")]
pub struct WrongTokenType {
    /// The type, such as `mac`.
    pub token_type: String,
}

impl FaultHooks for WrongTokenType {
    fn token_response(&self, body: &mut Map<String, Value>) {
        body.insert("token_type".to_owned(), self.token_type.clone().into());
    }
}

/// Exchanges an ID token for something other than a grant, which clients must not present as a grant (RFC 8693 section
/// 2.2.1).
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields, rename_all = "snake_case")]
pub struct WrongIssuedTokenType {
    /// The type, such as `urn:ietf:params:oauth:token-type:access_token`.
    pub issued_token_type: String,
}

impl FaultHooks for WrongIssuedTokenType {
    fn exchange_response(&self, body: &mut Map<String, Value>) {
        body.insert("issued_token_type".to_owned(), self.issued_token_type.clone().into());
    }
}

/// Sends a token response that is not JSON, with the status and content type of JSON.
#[derive(JsonSchema)]
pub(super) struct BrokenTokenResponse;

impl FaultHooks for BrokenTokenResponse {
    fn token_http_response(&self, response: &mut OAuthResponse) {
        response.body.truncate(response.body.len() / 2);
    }
}

/// Sends the token response late.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields, rename_all = "snake_case")]
pub struct SlowToken {
    /// The wait before the response.
    pub delay: HumanDuration,
}

impl FaultHooks for SlowToken {
    fn token_http_response(&self, response: &mut OAuthResponse) {
        response.delay = self.delay.0;
    }
}
