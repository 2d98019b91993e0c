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
    /// The hints of single methods (`tools/list`, `resources/read`), before those for all.
    pub methods: BTreeMap<String, CacheHints>,
}

impl Cache {
    pub(super) fn is_default(&self) -> bool {
        *self == Self::default()
    }
}

/// How long a result may be kept, and for whom.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields, default, rename_all = "snake_case")]
pub struct CacheHints {
    /// `ttlMs`: how long; 0 if absent.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub ttl: Option<HumanDuration>,
    /// `cacheScope`: for whom; `public` if absent.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub scope: Option<CacheScope>,
}

/// For whom a result may be kept.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "kebab-case")]
pub enum CacheScope {
    /// For anyone.
    Public,
    /// For the same authorization only.
    Private,
}
