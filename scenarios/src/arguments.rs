//! Arguments for the tools of a server, generated from their input schemas: valid ones, and invalid ones that differ from a
//! valid one in exactly one place.
//!
//! Generation is pure. Values are small and harmless: addresses end in `.invalid`, which never resolves (RFC 6761, 6.4).
//! Every result is validated before it is returned, so a schema beyond this module gives an error and no wrong value.

use jsonschema::Validator;
use serde_json::{Map, Value, json};
use thiserror::Error;

mod generate;
mod pattern;
mod sample;
pub(crate) use sample::sample;
pub(crate) use vary::NOT_ASCII;

/// The value of optional arguments of prompts, which no other message has.
pub(crate) const OPTIONAL_ARGUMENT: &str = "workbench-optional";

/// A value for an argument of a prompt. Prompts that expect a number get one, and others accept any text.
pub(crate) fn prompt_argument(name: &str) -> Value {
    let name = name.to_ascii_lowercase();
    let is_address = ["uri", "url", "link"].iter().any(|part| name.contains(part));
    if is_address { json!(format!("{}1", text::ADDRESS)) } else { json!("1") }
}

#[cfg(test)]
mod tests;
mod text;
mod vary;
mod violate;

/// Number of different attempts to generate a valid value. They differ in the alternatives of `anyOf` and `oneOf`, and in
/// whether optional properties, defaults and examples are used.
const ATTEMPTS: usize = 12;
/// Maximum number of other valid arguments for one schema.
const MAX_VARIANTS: usize = 8;

/// Arguments that the input schema forbids.
#[derive(Debug, Clone, PartialEq)]
pub(crate) struct InvalidArguments {
    /// The arguments.
    pub(crate) arguments: Map<String, Value>,
    /// The only difference from valid arguments, for example `/count: wrong type`.
    pub(crate) violates: String,
}

/// Why no arguments were generated.
#[derive(Debug, Clone, PartialEq, Eq, Error)]
pub(crate) enum ArgumentError {
    /// The schema cannot be used to validate values.
    #[error("its input schema is invalid: {0}")]
    Schema(String),
    /// The generator does not find a valid value.
    #[error("no arguments could be generated for its input schema")]
    NotFound,
}

/// Generates arguments for one input schema.
#[derive(Debug)]
pub(crate) struct ArgumentGenerator {
    schema: Value,
    /// With formats as assertions, so that generated values have them.
    strict: Validator,
    /// With formats as annotations, so that an invalid value breaks a rule that every validator knows.
    lenient: Validator,
}

impl ArgumentGenerator {
    /// Compiles an input schema. Without one, any object is valid.
    ///
    /// # Errors
    /// If the schema is invalid, or refers to another document.
    pub(crate) fn new(schema: Option<&Value>) -> Result<Self, ArgumentError> {
        let schema = schema.cloned().unwrap_or_else(|| json!({ "type": "object" }));
        let compile = |formats: bool| {
            let options = jsonschema::options().should_validate_formats(formats);
            options.build(&schema).map_err(|cause| ArgumentError::Schema(cause.to_string()))
        };
        let (strict, lenient) = (compile(true)?, compile(false)?);
        Ok(Self { schema, strict, lenient })
    }

    /// Valid arguments. Optional properties are omitted if possible, so that the defaults of the server apply. The seed
    /// chooses between the values of an `enum`, and between `examples`.
    ///
    /// # Errors
    /// If none were found.
    pub(crate) fn valid(&self, seed: u64) -> Result<Map<String, Value>, ArgumentError> {
        for attempt in 0..ATTEMPTS {
            let generator = generate::Generator { root: &self.schema, seed, attempt };
            match generator.value(&self.schema, 0) {
                Some(value) if self.strict.is_valid(&value) => {
                    if let Value::Object(arguments) = value {
                        return Ok(arguments);
                    }
                }
                _ => {}
            }
        }
        Err(ArgumentError::NotFound)
    }

    /// Other valid arguments: with all optional properties, with each value of an `enum`, both booleans and items of arrays at
    /// the top level, and with text that some servers cannot process. One is long: 8,000 bytes, or 100,000 `with_large`.
    ///
    /// # Errors
    /// If no valid arguments were found.
    pub(crate) fn variants(&self, seed: u64, with_large: bool) -> Result<Vec<Map<String, Value>>, ArgumentError> {
        let first = self.valid(seed)?;
        let generator = generate::Generator { root: &self.schema, seed, attempt: 0 };
        let mut found = vec![first];
        for candidate in vary::variants(&generator, &found[0], with_large) {
            if found.len() <= MAX_VARIANTS && !found.contains(&candidate) && self.allows(&candidate) {
                found.push(candidate);
            }
        }
        found.remove(0);
        Ok(found)
    }

    /// Valid arguments with all optional properties, numbers at their declared maximum, but at most 1,000, and booleans that are
    /// true. `None` if none were found, or they are the arguments of [`valid`](Self::valid).
    pub(crate) fn most(&self, seed: u64) -> Option<Map<String, Value>> {
        let generator = generate::Generator { root: &self.schema, seed, attempt: generate::WITH_LARGEST };
        let arguments = generator.value(&self.schema, 0)?.as_object().cloned()?;
        let is_other = self.valid(seed).is_ok_and(|valid| valid != arguments);
        (is_other && self.allows(&arguments)).then_some(arguments)
    }

    /// Whether the schema allows the arguments.
    pub(crate) fn allows(&self, arguments: &Map<String, Value>) -> bool {
        self.strict.is_valid(&Value::Object(arguments.clone()))
    }

    /// Invalid arguments, at most one per kind of rule at the top level, and up to three inside of objects and arrays.
    ///
    /// Unknown properties are no kind, even if `additionalProperties` is false: widely used libraries omit them before
    /// they validate, and a tool that never sees them cannot be harmed.
    ///
    /// # Errors
    /// If no valid arguments were found. A schema that accepts everything gives an empty list.
    pub(crate) fn invalid(&self, seed: u64) -> Result<Vec<InvalidArguments>, ArgumentError> {
        let valid = self.valid(seed)?;
        let generator = generate::Generator { root: &self.schema, seed, attempt: 0 };
        let filled =
            vary::filled(&generator).filter(|arguments| self.allows(arguments)).unwrap_or_else(|| valid.clone());
        Ok(violate::violations(&generator, &valid, &filled, |value| self.lenient.is_valid(value)))
    }
}
