//! Faults of the authorization response.

use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

use super::WrongIssuer;
use crate::{faults::FaultHooks, oauth_messages::AuthorizationRedirect};

/// Sends the issuer of another server: a mix-up (RFC 9207 section 4).
#[derive(Debug, Clone, Default, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields, rename_all = "snake_case")]
pub struct WrongIss {
    /// The issuer.
    #[serde(rename = "as")]
    pub form: WrongIssuer,
}

impl FaultHooks for WrongIss {
    fn redirect(&self, redirect: &mut AuthorizationRedirect) {
        let issuer = self.form.for_issuer(&redirect.issuer);
        redirect.set("iss", issuer);
    }
}

/// Omits `iss`, though the metadata announces it.
#[derive(JsonSchema)]
pub(super) struct MissingIss;

impl FaultHooks for MissingIss {
    fn redirect(&self, redirect: &mut AuthorizationRedirect) {
        redirect.remove("iss");
    }
}

/// Sends another `state` than the request, as a forged response has (RFC 6749 section 10.12).
#[derive(JsonSchema)]
pub(super) struct WrongState;

impl FaultHooks for WrongState {
    fn redirect(&self, redirect: &mut AuthorizationRedirect) {
        redirect.set("state", "a-state-of-no-request");
    }
}

/// Omits `state`, though the request has one.
#[derive(JsonSchema)]
pub(super) struct MissingState;

impl FaultHooks for MissingState {
    fn redirect(&self, redirect: &mut AuthorizationRedirect) {
        redirect.remove("state");
    }
}

/// Sends a parameter twice, the second time with another value.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields, rename_all = "snake_case")]
pub struct RepeatedParameter {
    /// The parameter: `code`, `state` or `iss`.
    pub name: String,
}

impl FaultHooks for RepeatedParameter {
    fn redirect(&self, redirect: &mut AuthorizationRedirect) {
        if redirect.has(&self.name) {
            redirect.params.push((self.name.clone(), "another-value".to_owned()));
        }
    }
}

/// Redirects the browser with the code to another origin.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields, rename_all = "snake_case")]
pub struct WrongRedirectTarget {
    /// The target.
    pub to: String,
}

impl FaultHooks for WrongRedirectTarget {
    fn redirect(&self, redirect: &mut AuthorizationRedirect) {
        redirect.target.clone_from(&self.to);
    }
}

/// Sends both a code and an error.
#[derive(JsonSchema)]
pub(super) struct CodeAndError;

impl FaultHooks for CodeAndError {
    fn redirect(&self, redirect: &mut AuthorizationRedirect) {
        if redirect.has("code") {
            redirect.set("error", "access_denied");
        }
    }
}

/// Responds with this error, whatever the user decided.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields, rename_all = "snake_case")]
pub struct ErrorResponse {
    /// The error, such as `server_error` or `temporarily_unavailable`.
    pub error: String,
    /// Its description, which can be any text.
    #[serde(default)]
    pub description: String,
}

impl FaultHooks for ErrorResponse {
    fn redirect(&self, redirect: &mut AuthorizationRedirect) {
        redirect.remove("code");
        redirect.set("error", self.error.clone());
        if !self.description.is_empty() {
            redirect.set("error_description", self.description.clone());
        }
    }
}
