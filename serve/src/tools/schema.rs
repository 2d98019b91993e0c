//! `convert_schema`: converts tools for a model provider.

use std::{borrow::Borrow, fmt::Write as _};

use agent::schema::{Change, Converted, Effect, Options, Provider, convert};
use client::{NameLimit, Tool, qualified_name};
use diagnostics::printable;
use schemars::JsonSchema;
use serde::{Deserialize, Serialize};
use serde_json::{Map, Value};
use utoipa::ToSchema;

use super::{Call, Output, drift::parse_tool, listing::list_server, target::Target};
use crate::error::ToolError;

/// Maximum number of converted tools.
const MAX_TOOLS: usize = 200;
/// Maximum number of changes of one tool in the result.
const MAX_CHANGES: usize = 50;

pub(super) const METADATA: (&str, &str, &str) = (
    "convert_schema",
    "Convert tools for a model provider",
    "Converts the tools of a server or given tools for OpenAI, Anthropic or Gemini. Reports each change with its reason, and \
     whether the converted schema accepts more or fewer values than the server. Shows before a release which models can use a \
     tool as intended. No tool is called.",
);

/// Tools and provider.
#[derive(Debug, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub(super) struct Arguments {
    /// The provider and its API.
    provider: ProviderArg,
    /// The tools, as returned by `tools/list` or `list_tools`. Excludes `server`.
    #[serde(default)]
    tools: Option<Vec<Map<String, Value>>>,
    /// The server whose tools to convert. Excludes `tools`.
    #[serde(default)]
    server: Option<Target>,
    /// Name of the server, which becomes part of qualified tool names. Default: tools keep their names.
    #[serde(default)]
    name: Option<String>,
    /// Whether to use OpenAI's strict mode if possible. Default: true.
    #[serde(default)]
    strict: Option<bool>,
}

/// A provider.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize, JsonSchema, ToSchema)]
#[serde(rename_all = "kebab-case")]
#[schema(as = Provider)]
enum ProviderArg {
    /// OpenAI's Responses API.
    Openai,
    /// OpenAI's Chat Completions API.
    OpenaiChat,
    /// Anthropic's Messages API.
    Anthropic,
    /// Gemini's `parameters`.
    Gemini,
    /// Gemini's `parametersJsonSchema`.
    GeminiJsonSchema,
}

/// The converted tools.
#[derive(Debug, Serialize, JsonSchema, ToSchema)]
#[serde(rename_all = "camelCase")]
pub(crate) struct Conversion {
    /// The provider.
    provider: ProviderArg,
    /// Converted tools, in order.
    tools: Vec<ConvertedTool>,
    /// Tools that cannot be converted.
    rejected: Vec<RejectedTool>,
    /// Number of omitted tools.
    omitted: usize,
}

/// A converted tool.
#[derive(Debug, Serialize, JsonSchema, ToSchema)]
#[serde(rename_all = "camelCase")]
struct ConvertedTool {
    /// Name for the model.
    name: String,
    /// Definition for the tools of a request.
    #[schema(value_type = Object)]
    definition: Value,
    /// Whether OpenAI enforces the schema (strict mode).
    strict: bool,
    /// For OpenAI: why strict mode is not used although it was requested.
    #[serde(skip_serializing_if = "Option::is_none")]
    not_strict: Option<String>,
    /// Number of changes that accept more values than the server.
    wider: usize,
    /// Number of changes that accept fewer values than the server.
    narrower: usize,
    /// The changes.
    changes: Vec<Changed>,
    /// Number of omitted changes.
    more_changes: usize,
}

/// One change.
#[derive(Debug, Serialize, JsonSchema, ToSchema)]
struct Changed {
    /// Location in the schema as a JSON pointer; empty for the root.
    at: String,
    /// The keyword.
    keyword: String,
    /// The result.
    became: String,
    /// The rule that requires the change.
    why: String,
    /// Effect on the accepted values.
    effect: ChangeEffect,
}

/// Effect of a change on the accepted values.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, JsonSchema, ToSchema)]
#[serde(rename_all = "kebab-case")]
enum ChangeEffect {
    /// The same values.
    Equal,
    /// More values: the server may reject values that the model may send.
    Wider,
    /// Fewer values: the model cannot send every value that the server accepts.
    Narrower,
}

/// A tool that cannot be converted.
#[derive(Debug, Serialize, JsonSchema, ToSchema)]
struct RejectedTool {
    /// Name for the model.
    name: String,
    /// Reason of the rejection.
    reason: String,
}

impl ProviderArg {
    const ALL: [Self; 5] = [Self::Openai, Self::OpenaiChat, Self::Anthropic, Self::Gemini, Self::GeminiJsonSchema];
}

impl From<ProviderArg> for Provider {
    fn from(provider: ProviderArg) -> Self {
        match provider {
            ProviderArg::Openai => Self::OpenAi,
            ProviderArg::OpenaiChat => Self::OpenAiChat,
            ProviderArg::Anthropic => Self::Anthropic,
            ProviderArg::Gemini => Self::Gemini,
            ProviderArg::GeminiJsonSchema => Self::GeminiJsonSchema,
        }
    }
}

pub(super) async fn convert_schema(call: Call, arguments: Arguments) -> Result<Conversion, ToolError> {
    let (provider, name) = (arguments.provider, arguments.name);
    let tools: Vec<_> = match (arguments.tools, arguments.server) {
        (Some(tools), None) => tools.into_iter().map(|tool| parse_tool("tools", tool)).collect::<Result<_, _>>()?,
        (None, Some(server)) => list_server(&call, &server, name.as_deref().unwrap_or("server")).await?.0.tools.clone(),
        _ => return Err(ToolError::arguments("one of `tools` and `server` is required")),
    };
    Ok(Conversion::new(provider, name.as_deref(), &tools, arguments.strict.unwrap_or(true)))
}

/// Converts a tool for each provider.
pub(crate) fn conversions(server: &str, tool: &Tool) -> Vec<Conversion> {
    let convert = |provider| Conversion::new(provider, Some(server), std::slice::from_ref(tool), true);
    ProviderArg::ALL.into_iter().map(convert).collect()
}

impl Conversion {
    fn new<T: Borrow<Tool>>(provider: ProviderArg, server: Option<&str>, tools: &[T], strict: bool) -> Self {
        let options = Options { strict, ..Options::default() };
        let omitted = tools.len().saturating_sub(MAX_TOOLS);
        let mut conversion = Self { provider, tools: Vec::new(), rejected: Vec::new(), omitted };
        for tool in tools.iter().map(Borrow::borrow).take(MAX_TOOLS) {
            let name = model_name(server, tool);
            match convert(provider.into(), &name, tool, &options) {
                Ok(converted) => conversion.tools.push(converted.into()),
                Err(reason) => conversion.rejected.push(RejectedTool { name, reason: reason.to_string() }),
            }
        }
        conversion
    }
}

fn model_name(server: Option<&str>, tool: &Tool) -> String {
    match server {
        Some(server) => qualified_name(server, tool.name(), NameLimit::Chars64),
        None => tool.name().to_owned(),
    }
}

impl From<Converted> for ConvertedTool {
    fn from(converted: Converted) -> Self {
        let strict = converted.is_strict();
        let Converted { name, definition, not_strict, report, .. } = converted;
        let more_changes = report.more + report.changes.len().saturating_sub(MAX_CHANGES);
        let changes = report.changes.into_iter().take(MAX_CHANGES).map(Changed::from).collect();
        let (wider, narrower) = (report.wider, report.narrower);
        Self { name, definition, strict, not_strict, wider, narrower, changes, more_changes }
    }
}

impl From<Change> for Changed {
    fn from(Change { at, keyword, became, why, effect }: Change) -> Self {
        let effect = match effect {
            Effect::Equal => ChangeEffect::Equal,
            Effect::Wider => ChangeEffect::Wider,
            Effect::Narrower => ChangeEffect::Narrower,
        };
        Self { at, keyword, became: became.into_owned(), why: why.into_owned(), effect }
    }
}

impl Output for Conversion {
    fn text(&self) -> String {
        let mut text = format!("{} tools converted, {} rejected\n", self.tools.len(), self.rejected.len());
        // Writing to a string cannot fail.
        for ConvertedTool { name, strict, not_strict, wider, narrower, changes, .. } in &self.tools {
            let suffix = if *strict { ", strict" } else { "" };
            let _ = writeln!(text, "{}{suffix}: {wider} changes accept more values, {narrower} fewer", printable(name));
            if let Some(reason) = not_strict {
                let _ = writeln!(text, "  not strict: {}", printable(reason));
            }
            for Changed { at, keyword, became, why, .. } in
                changes.iter().filter(|change| change.effect != ChangeEffect::Equal)
            {
                let _ = writeln!(
                    text,
                    "  {} `{}` {}: {}",
                    printable(at),
                    printable(keyword),
                    printable(became),
                    printable(why)
                );
            }
        }
        for RejectedTool { name, reason } in &self.rejected {
            let _ = writeln!(text, "omitted: {}: {}", printable(name), printable(reason));
        }
        text.trim_end().to_owned()
    }
}
