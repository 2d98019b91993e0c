//! The protected resource's part of the format.

use schemars::JsonSchema;
use serde::{Deserialize, Serialize};
use serde_json::{Map, Value};

use crate::one_or_many;

/// The protected resource: what it asks for, and how it says so.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields, default, rename_all = "snake_case")]
pub struct Resource {
    /// JSON-RPC methods that need no token: exactly, or up to a `*` at the end (`notifications/*`).
    pub open_methods: Vec<String>,
    /// The scopes that every request needs.
    pub required_scopes: Vec<String>,
    /// `scopes_supported` of its metadata; absent: none is said.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub scopes_supported: Option<Vec<String>>,
    /// What certain requests need on top. Every rule that matches counts.
    pub step_up: Vec<StepUp>,
    /// Whether challenges carry `resource_metadata` (RFC 9728 section 5.1).
    pub challenge_with_metadata: bool,
    /// Whether challenges carry `scope`, where scopes are needed (RFC 6750 section 3).
    pub challenge_with_scope: bool,
    /// Whether the challenge of a 403 names the missing scopes only, and not all that are needed.
    pub challenge_missing_only: bool,
    /// The scopes that the first challenge names, where they differ from the required ones.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub challenge_scopes: Option<Vec<String>>,
    /// Whether the audience of a token may differ from the resource in a trailing slash, and in the case of scheme and
    /// host.
    pub lenient_audience: bool,
    /// What a request for authorization that names no resource is given (RFC 8707).
    pub missing: MissingResource,
    /// Whether a token is only issued for a resource that this server protects, else `invalid_target`.
    pub known_only: bool,
    /// Members laid over the metadata of the resource. A null takes the member away.
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

/// What a request that names no resource is given.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "kebab-case")]
pub enum MissingResource {
    /// A token for the resource that was protected last.
    #[default]
    DefaultAudience,
    /// A token without an audience, which the resource refuses.
    NoAudience,
    /// `invalid_target`.
    Refuse,
}

/// More scopes for certain requests. Every condition that is given must hold.
#[derive(Debug, Clone, Default, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields, default, rename_all = "snake_case")]
pub struct StepUp {
    /// The JSON-RPC method.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub method: Option<String>,
    /// The tool of a `tools/call`.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub tool: Option<String>,
    /// The scopes that are needed.
    #[serde(with = "one_or_many")]
    #[schemars(with = "one_or_many::OneOrManySchema<String>")]
    pub scopes: Vec<String>,
    /// How often the resource asks all the same when the token has the scopes: a loop that the client has to end.
    pub insists: u32,
    /// Whether it asks all the same for ever, so that no token is ever enough: a client must not try for ever either
    /// (2025-11-25 and 2026-07-28, authorization, step-up authorization flow). The audit log counts its attempts.
    #[serde(skip_serializing_if = "std::ops::Not::not")]
    pub always_insists: bool,
}
