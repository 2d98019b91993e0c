//! Tools as providers take them.

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
    read::read,
    report::Report,
    restore::restored,
    root::Arguments,
    unsupported_patterns::sift,
};

/// What is wanted of a conversion.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Options {
    /// Whether OpenAI is to hold the model to the schema, where the schema allows that.
    pub strict: bool,
    /// How much is looked at and written.
    pub limits: Limits,
}

impl Default for Options {
    fn default() -> Self {
        Self { strict: true, limits: Limits::default() }
    }
}

/// What a server says of a tool and no provider takes. It stays with the tool.
#[derive(Debug, Clone, Default, PartialEq, Serialize, Deserialize)]
pub struct Metadata {
    /// The title for people, of the tool or, before 2025-06-18, of its annotations.
    pub title: Option<String>,
    /// The annotations, as they came.
    pub annotations: Option<Map<String, Value>>,
    /// The connector behind the tool, where `_meta` names one.
    pub connector_id: Option<String>,
    /// `_meta`, as it came.
    #[serde(rename = "_meta")]
    pub meta: Option<Map<String, Value>>,
}

/// A tool as a provider takes it.
#[derive(Debug, Clone)]
pub struct Converted {
    /// The name that the model calls it by.
    pub name: String,
    /// The provider.
    pub provider: Provider,
    /// The definition, to be put among the tools of a request.
    pub definition: Value,
    /// For OpenAI: why it is not in strict mode, where it was wanted.
    pub not_strict: Option<String>,
    /// What was changed.
    pub report: Report,
    /// What no provider takes.
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

    /// Whether OpenAI holds the model to the schema.
    #[must_use]
    pub fn is_strict(&self) -> bool {
        self.strict
    }

    /// Arguments that have other names for the model than for the server: the new name, and the server's.
    #[must_use]
    pub fn renamed(&self) -> &[(String, String)] {
        &self.renamed
    }

    /// The arguments that a model gave, as the server wants them: under its own names, and without the nulls that
    /// stand for what is left out.
    #[must_use]
    pub fn restore_arguments(&self, mut arguments: Value) -> Value {
        if let Value::Object(map) = &mut arguments {
            for (new, old) in &self.renamed {
                if let Some(value) = map.shift_remove(new) {
                    map.insert(old.clone(), value);
                }
            }
        }
        if self.strict { restored(&self.document, arguments, &self.limits) } else { arguments }
    }
}

/// A tool that cannot be shown to the provider. It costs no other tool.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Rejected {
    /// The name that it would have had.
    pub name: String,
    /// Why.
    pub reason: SchemaError,
}

/// Many tools, converted.
#[derive(Debug, Clone, Default)]
pub struct Conversion {
    /// Those that the provider takes, in their order.
    pub tools: Vec<Converted>,
    /// Those that it cannot be shown.
    pub rejected: Vec<Rejected>,
}

/// Converts tools, each under the name that the model is to call it by. One that cannot be converted costs only itself.
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
                tracing::warn!(name, %reason, "a tool cannot be shown to the model");
                conversion.rejected.push(Rejected { name, reason });
            }
        }
    }
    conversion
}

/// Converts a tool, under the name that the model is to call it by.
///
/// # Errors
/// If its schema cannot be read, or allows no arguments at all.
pub fn convert(provider: Provider, name: &str, tool: &Tool, options: &Options) -> Result<Converted, SchemaError> {
    let mut report = Report::default();
    let source = Value::Object(tool.input_schema().cloned().unwrap_or_default());
    let mut document = read(&source, &options.limits, &mut report)?;
    sift(&mut document, provider, &mut report);
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
    let mut in_dialect = |dialect| {
        let mut converter = Converter::new(document, dialect, &options.limits);
        let arguments = converter.arguments();
        if arguments.is_ok() {
            report.take(converter.report);
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
        // Only strict mode gives up.
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
            // The Responses API takes what does not say so for strict.
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
