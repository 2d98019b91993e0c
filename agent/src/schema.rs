//! JSON Schemas of tools as model providers accept them.
//!
//! Pure. Converts input schemas (drafts 4 to 2020-12 and similar) for each provider, with a [`Report`] of all changes, and
//! converts the arguments of a model back. Depth, number of schemas and bytes are limited. An invalid schema affects only its
//! own tool.
//!
//! A schema is read into one model for all drafts (`read`, `document`). For providers with a small subset, each schema is
//! resolved into simple alternatives (`alternatives`, `merge`). Then it is written almost verbatim (`verbatim`), or with the
//! supported keywords and a description of the rest (`subset`).
//!
//! External references are not fetched: they accept any value. [`rules`] contains the rules of each provider as data, and
//! checks results independently of the conversion code.

mod alternatives;
mod annotations;
mod converter;
mod dialect;
mod document;
mod error;
mod explicit;
mod merge;
mod pattern;
mod read;
mod report;
mod restore;
mod root;
pub mod rules;
mod strict;
mod subset;
mod tool;
mod union;
mod unsupported_patterns;
mod verbatim;

use std::{fmt, str::FromStr};

use serde::{Deserialize, Serialize};
use thiserror::Error;

pub use self::{
    error::SchemaError,
    report::{Change, Effect, Report},
    restore::restore_arguments,
    tool::{Conversion, Converted, Metadata, Options, Rejected, convert, convert_all},
};

/// A model provider and its API.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash, PartialOrd, Ord, Serialize, Deserialize)]
#[serde(rename_all = "kebab-case")]
pub enum Provider {
    /// OpenAI's Responses API.
    #[serde(rename = "openai")]
    OpenAi,
    /// OpenAI's Chat Completions API.
    #[serde(rename = "openai-chat")]
    OpenAiChat,
    /// Anthropic's Messages API.
    Anthropic,
    /// Gemini's `parameters`.
    Gemini,
    /// Gemini's `parametersJsonSchema`.
    GeminiJsonSchema,
}

impl Provider {
    /// All providers.
    pub const ALL: [Self; 5] = [Self::OpenAi, Self::OpenAiChat, Self::Anthropic, Self::Gemini, Self::GeminiJsonSchema];

    /// The name in commands and files.
    #[must_use]
    pub const fn name(self) -> &'static str {
        match self {
            Self::OpenAi => "openai",
            Self::OpenAiChat => "openai-chat",
            Self::Anthropic => "anthropic",
            Self::Gemini => "gemini",
            Self::GeminiJsonSchema => "gemini-json-schema",
        }
    }
}

impl fmt::Display for Provider {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(self.name())
    }
}

/// An unknown provider name.
#[derive(Debug, Clone, PartialEq, Eq, Error)]
#[error("unknown provider `{0}`")]
pub struct UnknownProvider(pub String);

impl FromStr for Provider {
    type Err = UnknownProvider;

    fn from_str(name: &str) -> Result<Self, Self::Err> {
        Self::ALL.into_iter().find(|provider| provider.name() == name).ok_or_else(|| UnknownProvider(name.to_owned()))
    }
}

/// Limits of reading and writing a schema.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Limits {
    /// Maximum nesting of schemas.
    pub depth: usize,
    /// Maximum number of schemas.
    pub nodes: usize,
    /// Maximum number of referenced schemas.
    pub definitions: usize,
    /// Approximate maximum size as JSON, in bytes.
    pub bytes: usize,
    /// Maximum number of additional schemas from inlined references and combined choices. Beyond it, schemas accept any
    /// value.
    pub written: usize,
}

impl Default for Limits {
    fn default() -> Self {
        Self { depth: 64, nodes: 20_000, definitions: 1_000, bytes: 512 * 1024, written: 2_000 }
    }
}
