//! JSON Schemas of tools as model providers accept them.
//!
//! Pure. Owns the way from whatever a server calls a schema (any draft from 4 to 2020-12, or something of the kind) to
//! what each provider takes, a [`Report`] of all that is lost or changed on that way, and the way back for the arguments
//! that a model then gives. It is bounded in depth, parts and bytes; a schema that cannot be used costs its own tool.
//!
//! The way has three steps. A schema is read into one shape for all drafts (`read`, `document`). For the providers that
//! take little, each schema in it is resolved into simple alternatives (`alternatives`, `merge`). Then it is written:
//! with nearly all it said (`full`), or with what the provider knows (`plain`), where the rest goes to the description.
//!
//! It refuses to fetch: a reference that leaves the schema is left open. It refuses to be believed: [`rules`] states each
//! provider's rules as data and checks results without any of the code that made them.

mod alternatives;
mod annotations;
mod converter;
mod dialect;
mod document;
mod error;
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

/// A provider, and which of its forms.
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
    /// All of them.
    pub const ALL: [Self; 5] = [Self::OpenAi, Self::OpenAiChat, Self::Anthropic, Self::Gemini, Self::GeminiJsonSchema];

    /// The name, as commands and files have it.
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

/// No provider has this name.
#[derive(Debug, Clone, PartialEq, Eq, Error)]
#[error("there is no provider `{0}`")]
pub struct UnknownProvider(pub String);

impl FromStr for Provider {
    type Err = UnknownProvider;

    fn from_str(name: &str) -> Result<Self, Self::Err> {
        Self::ALL.into_iter().find(|provider| provider.name() == name).ok_or_else(|| UnknownProvider(name.to_owned()))
    }
}

/// How much of a schema is looked at, and how much is written.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Limits {
    /// How deep schemas may be inside of each other.
    pub depth: usize,
    /// How many schemas one may consist of.
    pub nodes: usize,
    /// How many of them may be referred to.
    pub definitions: usize,
    /// How many bytes it may have, as JSON and roughly.
    pub bytes: usize,
    /// How many more schemas are written than were read, where references are written out and choices multiplied, before
    /// what is left is opened to anything.
    pub written: usize,
}

impl Default for Limits {
    fn default() -> Self {
        Self { depth: 64, nodes: 20_000, definitions: 1_000, bytes: 512 * 1024, written: 2_000 }
    }
}
