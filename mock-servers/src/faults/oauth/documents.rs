//! Faults of the metadata documents and of the keys.

use schemars::JsonSchema;
use serde::{Deserialize, Serialize};
use serde_json::{Map, Value, json};

use super::{WrongIssuer, deviation::Deviation};
use crate::{
    faults::FaultHooks,
    human_duration::HumanDuration,
    oauth_messages::{Document, OAuthResponse},
};

/// Names another issuer in the metadata than the requested one, which clients must reject (RFC 8414 section 3.3).
#[derive(Debug, Clone, Default, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields, rename_all = "snake_case")]
pub struct IssuerMismatch {
    /// The issuer.
    #[serde(rename = "as")]
    pub form: WrongIssuer,
}

impl FaultHooks for IssuerMismatch {
    fn metadata(&self, issuer: &str, document: &mut Map<String, Value>) {
        document.insert("issuer".to_owned(), self.form.for_issuer(issuer).into());
    }
}

/// Omits PKCE from the metadata, so that clients must stop (2025-11-25 and later, authorization code protection).
#[derive(JsonSchema)]
pub(super) struct PkceNotAdvertised;

impl FaultHooks for PkceNotAdvertised {
    fn metadata(&self, _: &str, document: &mut Map<String, Value>) {
        document.remove("code_challenge_methods_supported");
    }
}

/// Advertises and accepts `plain` as the only PKCE method: a downgrade (RFC 9700 section 4.8).
#[derive(JsonSchema)]
pub(super) struct PlainPkce;

impl FaultHooks for PlainPkce {
    fn metadata(&self, _: &str, document: &mut Map<String, Value>) {
        document.insert("code_challenge_methods_supported".to_owned(), json!(["plain"]));
    }

    fn deviates(&self, deviation: Deviation) -> bool {
        deviation == Deviation::PlainChallenge
    }
}

/// Names an endpoint in the metadata that is at another origin, at a private address, or not HTTP.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields, rename_all = "snake_case")]
pub struct UntrustedEndpoint {
    /// The member of the metadata, such as `token_endpoint`.
    pub endpoint: String,
    /// The URL, such as `http://169.254.169.254/latest`, `file:///etc/passwd` or `javascript:alert(1)`.
    pub url: String,
}

impl FaultHooks for UntrustedEndpoint {
    fn metadata(&self, _: &str, document: &mut Map<String, Value>) {
        document.insert(self.endpoint.clone(), self.url.clone().into());
    }
}

/// Names other authorization servers, or none, in the metadata of the resource.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields, rename_all = "snake_case")]
pub struct WrongAuthorizationServers {
    /// Their issuers.
    pub servers: Vec<String>,
}

impl FaultHooks for WrongAuthorizationServers {
    fn resource_metadata(&self, document: &mut Map<String, Value>) {
        document.insert("authorization_servers".to_owned(), self.servers.clone().into());
    }
}

/// Names another resource in the metadata of the resource, which clients must reject (RFC 9728 section 3.3).
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields, rename_all = "snake_case")]
pub struct WrongResource {
    /// The other resource.
    pub resource: String,
}

impl FaultHooks for WrongResource {
    fn resource_metadata(&self, document: &mut Map<String, Value>) {
        document.insert("resource".to_owned(), self.resource.clone().into());
    }
}

/// Truncates a document, with a matching length.
#[derive(Debug, Clone, Default, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields, rename_all = "snake_case")]
pub struct BrokenJson {
    /// The document.
    #[serde(default)]
    pub document: Document,
}

impl FaultHooks for BrokenJson {
    fn document(&self, which: Document, response: &mut OAuthResponse) {
        if which == self.document {
            response.body.truncate(response.body.len() / 2);
        }
    }
}

/// Responds with an error status instead of a document.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields, rename_all = "snake_case")]
pub struct DocumentStatus {
    /// The document.
    #[serde(default)]
    pub document: Document,
    /// The status.
    pub status: u16,
}

impl FaultHooks for DocumentStatus {
    fn document(&self, which: Document, response: &mut OAuthResponse) {
        if which == self.document {
            response.status = self.status;
        }
    }
}

/// Appends spaces to a document, which JSON allows.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields, rename_all = "snake_case")]
pub struct OversizedDocument {
    /// The document.
    #[serde(default)]
    pub document: Document,
    /// The number of spaces.
    pub bytes: u64,
}

impl FaultHooks for OversizedDocument {
    fn document(&self, which: Document, response: &mut OAuthResponse) {
        if which == self.document {
            response.padding = self.bytes;
        }
    }
}

/// Sends a document late, or one byte at a time.
#[derive(Debug, Clone, Default, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields, rename_all = "snake_case")]
pub struct SlowDocument {
    /// The document.
    #[serde(default)]
    pub document: Document,
    /// The wait before the response.
    #[serde(default)]
    pub delay: HumanDuration,
    /// The wait before each byte of the body.
    #[serde(default)]
    pub per_byte: HumanDuration,
}

impl FaultHooks for SlowDocument {
    fn document(&self, which: Document, response: &mut OAuthResponse) {
        if which == self.document {
            (response.delay, response.drip) = (self.delay.0, self.per_byte.0);
        }
    }
}

/// Redirects a request for a document, possibly to an address that the client must not access.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields, rename_all = "snake_case")]
pub struct RedirectedDocument {
    /// The document.
    #[serde(default)]
    pub document: Document,
    /// The target.
    pub to: String,
    /// The status, such as 302 or 307.
    pub status: u16,
}

impl FaultHooks for RedirectedDocument {
    fn document(&self, which: Document, response: &mut OAuthResponse) {
        if which == self.document {
            *response = OAuthResponse::redirect(self.status, &self.to);
        }
    }
}

/// Sends a document with a content type that is not JSON.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields, rename_all = "snake_case")]
pub struct WrongContentType {
    /// The document.
    #[serde(default)]
    pub document: Document,
    /// The content type, such as `text/html`.
    pub content_type: String,
}

impl FaultHooks for WrongContentType {
    fn document(&self, which: Document, response: &mut OAuthResponse) {
        if which == self.document {
            response.set("content-type", self.content_type.clone());
        }
    }
}
