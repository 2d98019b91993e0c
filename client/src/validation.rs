//! Validation of JSON by schemas that servers choose.

use jsonschema::{PatternOptions, ValidationOptions};

/// Maximum size of a compiled `pattern`, in bytes.
const PATTERN_SIZE: usize = 1 << 20;

/// Options for the schemas of servers. References to other documents are not followed, and patterns run in an engine that
/// needs linear time: a schema with an unresolved reference, or with a pattern beyond that engine, cannot be compiled.
pub(crate) fn options<'a>() -> ValidationOptions<'a> {
    jsonschema::options().with_pattern_options(PatternOptions::regex().size_limit(PATTERN_SIZE))
}
