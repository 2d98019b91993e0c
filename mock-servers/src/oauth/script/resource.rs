//! The protected resource.

use schemars::JsonSchema;
use serde::{Deserialize, Serialize};
use serde_json::{Map, Value};

use crate::one_or_many;

/// The protected resource: required scopes and challenges.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields, default, rename_all = "snake_case")]
pub struct Resource {
    /// JSON-RPC methods that need no token, exactly or with a `*` at the end (`notifications/*`).
    pub open_methods: Vec<String>,
    /// The scopes for every request.
    pub required_scopes: Vec<String>,
    /// `scopes_supported` of its metadata; absent: none is sent.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub scopes_supported: Option<Vec<String>>,
    /// Further scopes for certain requests. All matching rules apply.
    pub step_up: Vec<StepUp>,
    /// Whether challenges contain `resource_metadata` (RFC 9728 section 5.1).
    pub challenge_with_metadata: bool,
    /// Challenges of other schemes, which come first in the same header (RFC 9110 section 11.6.1): `Basic realm="files"`.
    #[serde(skip_serializing_if = "Vec::is_empty")]
    pub other_challenges: Vec<String>,
    /// Whether challenges have their scheme in lower case: `bearer`. Schemes are case-insensitive (RFC 9110 section 11.1).
    #[serde(skip_serializing_if = "std::ops::Not::not")]
    pub lower_case_scheme: bool,
    /// Whether challenges contain `scope`, if scopes are required (RFC 6750 section 3).
    pub challenge_with_scope: bool,
    /// Whether the challenge of a 403 names only the missing scopes, and not all required ones.
    pub challenge_missing_only: bool,
    /// The scopes of the first challenge [default: the required ones].
    #[serde(skip_serializing_if = "Option::is_none")]
    pub challenge_scopes: Option<Vec<String>>,
    /// Whether the audience of a token may differ from the resource in a trailing slash, and in the case of scheme and
    /// host.
    pub lenient_audience: bool,
    /// The token of an authorization request without a resource (RFC 8707).
    pub missing: MissingResource,
    /// Whether tokens are only issued for protected resources, else `invalid_target`.
    pub known_only: bool,
    /// Members that replace those of the resource's metadata. A null removes the member.
    pub metadata: Map<String, Value>,
}

impl Default for Resource {
    fn default() -> Self {
        Self {
            open_methods: Vec::new(),
            required_scopes: Vec::new(),
            scopes_supported: None,
            step_up: Vec::new(),
            challenge_with_metadata: true,
            other_challenges: Vec::new(),
            lower_case_scheme: false,
            challenge_with_scope: true,
            challenge_missing_only: false,
            challenge_scopes: None,
            lenient_audience: true,
            missing: MissingResource::default(),
            known_only: false,
            metadata: Map::new(),
        }
    }
}

/// The token of a request without a resource.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "kebab-case")]
pub enum MissingResource {
    /// A token for the resource that was added last.
    #[default]
    DefaultAudience,
    /// A token without an audience, which the resource rejects.
    NoAudience,
    /// `invalid_target`.
    Refuse,
}

/// Further scopes for certain requests. All given conditions must match.
#[derive(Debug, Clone, Default, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields, default, rename_all = "snake_case")]
pub struct StepUp {
    /// The JSON-RPC method.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub method: Option<String>,
    /// The tool of a `tools/call`.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub tool: Option<String>,
    /// The required scopes.
    #[serde(with = "one_or_many")]
    #[schemars(with = "one_or_many::OneOrManySchema<String>")]
    pub scopes: Vec<String>,
    /// The number of challenges although the token has the scopes: a loop that the client has to end.
    pub insists: u32,
    /// Whether the resource sends such challenges without end. Clients must not retry without end (2025-11-25 and
    /// 2026-07-28, authorization, step-up authorization flow). The audit log counts the attempts.
    #[serde(skip_serializing_if = "std::ops::Not::not")]
    pub always_insists: bool,
}
