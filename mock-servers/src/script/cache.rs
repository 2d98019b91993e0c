//! Caching hints of 2026-07-28.

use std::collections::BTreeMap;

use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

use crate::human_duration::HumanDuration;

/// The caching hints of a server's results (2026-07-28, caching).
#[derive(Debug, Clone, Default, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields, default, rename_all = "snake_case")]
pub struct Cache {
    /// The hints of every cacheable result.
    pub all: CacheHints,
    /// The hints of single methods (`tools/list`, `resources/read`), which precede those for all.
    pub methods: BTreeMap<String, CacheHints>,
}

impl Cache {
    pub(super) fn is_default(&self) -> bool {
        *self == Self::default()
    }
}

/// Lifetime and scope of a cached result.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields, default, rename_all = "snake_case")]
pub struct CacheHints {
    /// `ttlMs` [default: 0].
    #[serde(skip_serializing_if = "Option::is_none")]
    pub ttl: Option<HumanDuration>,
    /// `cacheScope` [default: `public`].
    #[serde(skip_serializing_if = "Option::is_none")]
    pub scope: Option<CacheScope>,
}

/// The clients that can share a cached result.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "kebab-case")]
pub enum CacheScope {
    /// All clients.
    Public,
    /// Only clients with the same authorization.
    Private,
}
