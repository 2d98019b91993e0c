//! `convert_schema`: converts tools for a model provider.

use std::fmt::Write as _;

use agent::schema::{Change, Converted, Effect, Options, Provider, convert};
use client::{NameLimit, Tool, qualified_name};
use diagnostics::printable;
use schemars::JsonSchema;
use serde::{Deserialize, Serialize};
use serde_json::{Map, Value};

use super::{Call, Output, drift::given, listing::of_server, target::Target};
use crate::error::ToolError;

/// Maximum number of converted tools.
const MAX_TOOLS: usize = 200;
/// Maximum number of changes of one tool in the result.
const MAX_CHANGES: usize = 50;

pub(super) const METADATA: (&str, &str, &str) = (
    "convert_schema",
    "Convert tools for a model provider",
    "Converts the tools of a server, or tools that are given, into the form in which OpenAI, Anthropic or Gemini take them, and says \
     what each conversion changed and why: what allows more than the server takes, and what allows less than it could. Shows before a \
     release which models can use a tool as it is meant. No tool is called.",
);

/// What to convert, and for whom.
#[derive(Debug, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub(super) struct Arguments {
    /// The provider, and which of its forms.
    provider: For,
    /// The tools, each as `tools/list` or `list_tools` gives it. Either this or `server`.
    #[serde(default)]
    tools: Option<Vec<Map<String, Value>>>,
    /// The server to ask for its tools. Either this or `tools`.
    #[serde(default)]
    server: Option<Target>,
    /// The name of the server, which becomes a part of the names that models get; absent: tools keep their own names.
    #[serde(default)]
    name: Option<String>,
    /// Whether to use OpenAI's strict mode if possible. Default: true.
    #[serde(default)]
    strict: Option<bool>,
}

/// A provider.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "kebab-case")]
enum For {
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
#[derive(Debug, Serialize, JsonSchema)]
#[serde(rename_all = "camelCase")]
pub(super) struct Conversion {
    /// For whom.
    provider: For,
    /// The tools that the provider takes, in their order.
    tools: Vec<Shown>,
    /// Those that it cannot be shown.
    rejected: Vec<Hidden>,
    /// Number of omitted tools.
    omitted: usize,
}

/// A tool as a provider takes it.
#[derive(Debug, Serialize, JsonSchema)]
#[serde(rename_all = "camelCase")]
struct Shown {
    /// The name that the model calls it by.
    name: String,
    /// The definition, to be put among the tools of a request.
    definition: Value,
    /// Whether OpenAI enforces the schema (strict mode).
    strict: bool,
    /// For OpenAI: why not, where it was wanted.
    #[serde(skip_serializing_if = "Option::is_none")]
    not_strict: Option<String>,
    /// How many changes allow more than the server takes.
    wider: usize,
    /// How many changes allow less than it could.
    narrower: usize,
    /// The changes.
    changes: Vec<Changed>,
    /// How many of them are left out here.
    more_changes: usize,
}

/// One change.
#[derive(Debug, Serialize, JsonSchema)]
struct Changed {
    /// The place in the schema, as a JSON pointer; empty for its root.
    at: String,
    /// The keyword.
    keyword: String,
    /// What became of it.
    became: String,
    /// The rule that asked for it.
    why: String,
    /// What it does to the values that are allowed.
    effect: What,
}

/// What a change does to the values that are allowed.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, JsonSchema)]
#[serde(rename_all = "kebab-case")]
enum What {
    /// Nothing.
    Equal,
    /// The model may send what the server refuses.
    Wider,
    /// The model cannot say all that the server takes.
    Narrower,
}

/// A tool that the provider cannot be shown.
#[derive(Debug, Serialize, JsonSchema)]
struct Hidden {
    /// Its name.
    name: String,
    /// Why.
    reason: String,
}

impl From<For> for Provider {
    fn from(provider: For) -> Self {
        match provider {
            For::Openai => Self::OpenAi,
            For::OpenaiChat => Self::OpenAiChat,
            For::Anthropic => Self::Anthropic,
            For::Gemini => Self::Gemini,
            For::GeminiJsonSchema => Self::GeminiJsonSchema,
        }
    }
}

pub(super) async fn convert_schema(call: Call, arguments: Arguments) -> Result<Conversion, ToolError> {
    let (provider, name) = (arguments.provider, arguments.name);
    let tools: Vec<_> = match (arguments.tools, arguments.server) {
        (Some(tools), None) => tools.into_iter().map(|tool| given("tools", tool)).collect::<Result<_, _>>()?,
        (None, Some(server)) => of_server(&call, &server, name.as_deref().unwrap_or("server")).await?.0.tools.clone(),
        _ => return Err(ToolError::arguments("one of `tools` and `server` is required")),
    };
    let options = Options { strict: arguments.strict.unwrap_or(true), ..Options::default() };
    let omitted = tools.len().saturating_sub(MAX_TOOLS);
    let mut conversion = Conversion { provider, tools: Vec::new(), rejected: Vec::new(), omitted };
    for tool in tools.iter().take(MAX_TOOLS) {
        let name = named(name.as_deref(), tool);
        match convert(provider.into(), &name, tool, &options) {
            Ok(converted) => conversion.tools.push(converted.into()),
            Err(reason) => conversion.rejected.push(Hidden { name, reason: reason.to_string() }),
        }
    }
    Ok(conversion)
}

fn named(server: Option<&str>, tool: &Tool) -> String {
    match server {
        Some(server) => qualified_name(server, tool.name(), NameLimit::Chars64),
        None => tool.name().to_owned(),
    }
}

impl From<Converted> for Shown {
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
            Effect::Equal => What::Equal,
            Effect::Wider => What::Wider,
            Effect::Narrower => What::Narrower,
        };
        Self { at, keyword, became: became.into_owned(), why: why.into_owned(), effect }
    }
}

impl Output for Conversion {
    fn text(&self) -> String {
        let mut text = format!("{} tools converted, {} rejected\n", self.tools.len(), self.rejected.len());
        // A string takes everything that is written to it.
        for Shown { name, strict, not_strict, wider, narrower, changes, .. } in &self.tools {
            let held = if *strict { ", strict" } else { "" };
            let _ = writeln!(text, "{}{held}: {wider} changes allow more, {narrower} less", printable(name));
            if let Some(reason) = not_strict {
                let _ = writeln!(text, "  not strict: {}", printable(reason));
            }
            for Changed { at, keyword, became, why, .. } in changes.iter().filter(|change| change.effect != What::Equal)
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
        for Hidden { name, reason } in &self.rejected {
            let _ = writeln!(text, "omitted: {}: {}", printable(name), printable(reason));
        }
        text.trim_end().to_owned()
    }
}
