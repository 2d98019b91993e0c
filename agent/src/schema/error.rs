//! Why a schema cannot be used at all.

use thiserror::Error;

/// Why a schema cannot be used at all. It costs the tool that it belongs to, and no other.
#[derive(Debug, Clone, PartialEq, Eq, Error)]
#[non_exhaustive]
pub enum SchemaError {
    /// Something that is neither an object nor a boolean stands where a schema should.
    #[error("what stands at `{at}` is no schema: neither an object nor a boolean")]
    NotASchema {
        /// The place, as a JSON pointer.
        at: String,
    },
    /// A keyword has a value that it cannot have.
    #[error("`{keyword}` at `{at}` is not {wanted}")]
    Malformed {
        /// The place of the schema that has the keyword.
        at: String,
        /// The keyword.
        keyword: String,
        /// What its value should be.
        wanted: &'static str,
    },
    /// A type that JSON does not have.
    #[error("there is no type `{name}`, which `{at}` names")]
    UnknownType {
        /// The place of the schema.
        at: String,
        /// The name.
        name: String,
    },
    /// A reference to nothing.
    #[error("`$ref` at `{at}` leads nowhere: `{reference}`")]
    Dangling {
        /// The place of the schema that refers.
        at: String,
        /// The reference.
        reference: String,
    },
    /// A reference that only leads back to itself.
    #[error("`$ref` at `{at}` leads back to itself and says nothing on the way")]
    Endless {
        /// The place of one of the schemas on the way.
        at: String,
    },
    /// No arguments can satisfy the schema.
    #[error("the schema allows no object, and arguments always are one")]
    NoObject,
    /// The schema is larger than what is looked at.
    #[error("the schema has more than {limit} {of}")]
    TooLarge {
        /// The limit.
        limit: usize,
        /// Of what.
        of: &'static str,
    },
}
