//! Tool definitions for providers.

use std::sync::Arc;

use client::tool::Tool;
use serde::{Deserialize, Serialize};
use serde_json::{Map, Value, json};

use super::{
    Limits, Provider,
    converter::{ConversionError, Converter},
    dialect::Dialect,
    document::Document,
    error::SchemaError,
    explicit::make_explicit,
    read::read,
    report::Report,
    restore::restore,
    root::Arguments,
    unsupported_patterns::remove_unsupported_patterns,
};

/// Options of a conversion.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Options {
    /// Whether OpenAI enforces the schema (strict mode), if the schema supports it.
    pub strict: bool,
    /// Whether types, `additionalProperties: false` and boolean schemas are written out for Anthropic, and for OpenAI
    /// without strict mode.
    pub explicit: bool,
    /// Limits of reading and writing.
    pub limits: Limits,
}

impl Default for Options {
    fn default() -> Self {
        Self { strict: true, explicit: false, limits: Limits::default() }
    }
}

/// Properties of a tool that no provider accepts.
#[derive(Debug, Clone, Default, PartialEq, Serialize, Deserialize)]
pub struct Metadata {
    /// The title of the tool or, before 2025-06-18, of its annotations.
    pub title: Option<String>,
    /// The annotations from the server.
    pub annotations: Option<Map<String, Value>>,
    /// The connector of the tool, from `_meta`.
    pub connector_id: Option<String>,
    /// `_meta` from the server.
    #[serde(rename = "_meta")]
    pub meta: Option<Map<String, Value>>,
}

/// A tool converted for a provider.
#[derive(Debug, Clone)]
pub struct Converted {
    /// The name for the model.
    pub name: String,
    /// The provider.
    pub provider: Provider,
    /// The definition for the tools of a request.
    pub definition: Value,
    /// For OpenAI: why strict mode is not used although it was requested.
    pub not_strict: Option<String>,
    /// The changes.
    pub report: Report,
    /// Properties that no provider accepts.
    pub metadata: Metadata,
    strict: bool,
    renamed: Vec<(String, String)>,
    document: Arc<Document>,
    limits: Limits,
}

impl Converted {
    /// The schema in the definition; Gemini has none for a tool without arguments.
    #[must_use]
    pub fn parameters(&self) -> Option<&Value> {
        let function = self.definition.get("function").unwrap_or(&self.definition);
        ["parameters", "input_schema", "parametersJsonSchema"].iter().find_map(|key| function.get(key))
    }

    /// Whether OpenAI enforces the schema.
    #[must_use]
    pub fn is_strict(&self) -> bool {
        self.strict
    }

    /// Renamed arguments: name for the model, name on the server.
    #[must_use]
    pub fn renamed(&self) -> &[(String, String)] {
        &self.renamed
    }

    /// Converts a model's arguments for the server: restores names and removes nulls that represent absent values.
    #[must_use]
    pub fn restore_arguments(&self, mut arguments: Value) -> Value {
        if let Value::Object(map) = &mut arguments {
            for (new, old) in &self.renamed {
                if let Some(value) = map.shift_remove(new) {
                    map.insert(old.clone(), value);
                }
            }
        }
        if self.strict { restore(&self.document, arguments, &self.limits) } else { arguments }
    }
}

/// A tool that cannot be converted.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Rejected {
    /// The name for the model.
    pub name: String,
    /// The reason.
    pub reason: SchemaError,
}

/// The result of converting several tools.
#[derive(Debug, Clone, Default)]
pub struct Conversion {
    /// Converted tools in order.
    pub tools: Vec<Converted>,
    /// Tools that cannot be converted.
    pub rejected: Vec<Rejected>,
}

/// Converts tools with their names for the model. Failures are independent of each other.
pub fn convert_all<'a>(
    provider: Provider,
    tools: impl IntoIterator<Item = (String, &'a Tool)>,
    options: &Options,
) -> Conversion {
    let mut conversion = Conversion::default();
    for (name, tool) in tools {
        match convert(provider, &name, tool, options) {
            Ok(converted) => conversion.tools.push(converted),
            Err(reason) => {
                tracing::warn!(name, %reason, "tool cannot be converted for the model");
                conversion.rejected.push(Rejected { name, reason });
            }
        }
    }
    conversion
}

/// Converts a tool with its name for the model.
///
/// # Errors
/// If its schema is invalid or accepts no object.
pub fn convert(provider: Provider, name: &str, tool: &Tool, options: &Options) -> Result<Converted, SchemaError> {
    let mut report = Report::default();
    let source = Value::Object(tool.input_schema().cloned().unwrap_or_default());
    let mut document = read(&source, &options.limits, &mut report)?;
    remove_unsupported_patterns(&mut document, provider, &mut report);
    let (arguments, strict, not_strict) = arguments(provider, &document, options, &mut report)?;
    let description = tool.description().or_else(|| tool.title());
    let definition = definition(provider, name, description, arguments.schema, strict);
    Ok(Converted {
        name: name.to_owned(),
        provider,
        definition,
        not_strict,
        report,
        metadata: metadata(tool),
        strict,
        renamed: arguments.renamed,
        document: Arc::new(document),
        limits: options.limits,
    })
}

type Outcome = (Arguments, bool, Option<String>);

fn arguments(
    provider: Provider,
    document: &Document,
    options: &Options,
    report: &mut Report,
) -> Result<Outcome, SchemaError> {
    let mut in_dialect = |dialect: Dialect| {
        let mut explicit = None;
        if options.explicit && dialect.is_verbatim() {
            make_explicit(explicit.insert(document.clone()), report);
        }
        let mut converter = Converter::new(explicit.as_ref().unwrap_or(document), dialect, &options.limits);
        let arguments = converter.arguments();
        if arguments.is_ok() {
            report.append(converter.report);
        }
        arguments
    };
    let dialect = match provider {
        Provider::OpenAi | Provider::OpenAiChat => Dialect::OpenAiLoose,
        Provider::Anthropic => Dialect::Anthropic,
        Provider::Gemini => Dialect::Gemini,
        Provider::GeminiJsonSchema => Dialect::GeminiJson,
    };
    let mut not_strict = None;
    if dialect == Dialect::OpenAiLoose && options.strict {
        match in_dialect(Dialect::OpenAiStrict) {
            Ok(arguments) => return Ok((arguments, true, None)),
            Err(ConversionError::Never) => return Err(SchemaError::NoObject),
            Err(ConversionError::Unfit { at, why }) => {
                let at = if at.is_empty() { "/" } else { &at };
                not_strict = Some(format!("{at}: {why}"));
            }
        }
    }
    match in_dialect(dialect) {
        Ok(arguments) => Ok((arguments, false, not_strict)),
        // Only strict mode returns `Unfit`.
        Err(ConversionError::Never | ConversionError::Unfit { .. }) => Err(SchemaError::NoObject),
    }
}

fn definition(provider: Provider, name: &str, description: Option<&str>, schema: Option<Value>, strict: bool) -> Value {
    let mut function = Map::new();
    function.insert("name".into(), name.into());
    if let Some(description) = description {
        function.insert("description".into(), description.into());
    }
    let key = match provider {
        Provider::OpenAi | Provider::OpenAiChat | Provider::Gemini => "parameters",
        Provider::Anthropic => "input_schema",
        Provider::GeminiJsonSchema => "parametersJsonSchema",
    };
    if let Some(schema) = schema {
        function.insert(key.into(), schema);
    }
    match provider {
        Provider::OpenAi => {
            let mut tool = Map::from_iter([("type".to_owned(), "function".into())]);
            tool.extend(function);
            // The Responses API defaults to strict.
            tool.insert("strict".into(), strict.into());
            tool.into()
        }
        Provider::OpenAiChat => {
            function.insert("strict".into(), strict.into());
            json!({ "type": "function", "function": function })
        }
        Provider::Anthropic | Provider::Gemini | Provider::GeminiJsonSchema => function.into(),
    }
}

fn metadata(tool: &Tool) -> Metadata {
    let annotations = tool.annotations().cloned();
    let old_title = annotations.as_ref().and_then(|annotations| annotations.get("title")?.as_str());
    let meta = tool.wire().get("_meta").and_then(Value::as_object).cloned();
    Metadata {
        title: tool.title().or(old_title).map(str::to_owned),
        connector_id: meta.as_ref().and_then(|meta| meta.get("connector_id")?.as_str()).map(str::to_owned),
        annotations,
        meta,
    }
}
