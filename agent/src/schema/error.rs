//! Errors of schemas.

use thiserror::Error;

/// Why a schema cannot be converted. The error affects only its tool.
#[derive(Debug, Clone, PartialEq, Eq, Error)]
#[non_exhaustive]
pub enum SchemaError {
    /// A schema is neither an object nor a boolean.
    #[error("the value at `{at}` is not a schema; expected an object or a boolean")]
    NotASchema {
        /// Location as a JSON pointer.
        at: String,
    },
    /// A keyword has an invalid value.
    #[error("`{keyword}` at `{at}` is not {wanted}")]
    Malformed {
        /// Location of the schema.
        at: String,
        /// The keyword.
        keyword: String,
        /// The expected value.
        wanted: &'static str,
    },
    /// A type is unknown.
    #[error("unknown type `{name}` at `{at}`")]
    UnknownType {
        /// Location of the schema.
        at: String,
        /// The name.
        name: String,
    },
    /// A reference cannot be resolved.
    #[error("`$ref` at `{at}` cannot be resolved: `{reference}`")]
    Dangling {
        /// Location of the referring schema.
        at: String,
        /// The reference.
        reference: String,
    },
    /// A reference is circular.
    #[error("`$ref` at `{at}` is a circular reference")]
    Circular {
        /// Location of one of the schemas.
        at: String,
    },
    /// No arguments can satisfy the schema.
    #[error("schema rejects every object; tool arguments must be an object")]
    NoObject,
    /// The schema exceeds a limit.
    #[error("the schema has more than {limit} {unit}")]
    TooLarge {
        /// The limit.
        limit: usize,
        /// What is limited.
        unit: &'static str,
    },
}
