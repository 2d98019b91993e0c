//! Text to script: the shape, and the exact place where a file departs from it.

use serde_saphyr::{Error, MergeKeyPolicy, MessageFormatter as _, NonFiniteFloatPolicy, Options, UserMessageFormatter};

use super::misreading::{Misreading, advice};
use crate::script::Script;

/// How deeply a file may be nested.
const DEEPEST: usize = 100;
/// How many values a file may hold.
const MOST_NODES: usize = 200_000;
/// The most aliases, and anchors, of one file.
const MOST_ALIASES: usize = 1_000;
/// The most values that aliases may stand for.
const MOST_REPLAYED: usize = 100_000;

/// Reads a script, without what it extends.
pub(super) fn read(text: &str, file: &str) -> Result<Script, Misreading> {
    if file.ends_with(".json") {
        return serde_json::from_str(text).map_err(|cause| of_json(text, file, &cause));
    }
    serde_saphyr::from_str_with_options(text, options()).map_err(|cause| of_yaml(text, file, &cause))
}

fn options() -> Options {
    serde_saphyr::options! {
        budget: serde_saphyr::budget! {
            max_depth: DEEPEST,
            max_nodes: MOST_NODES,
            max_aliases: MOST_ALIASES,
            max_anchors: MOST_ALIASES,
            max_documents: 1,
        },
        alias_limits: serde_saphyr::alias_limits! { max_total_replayed_events: MOST_REPLAYED },
        // As the JSON Schema of the format has it: a number is no text, and only `true` and `false` are booleans.
        no_schema: true,
        strict_booleans: true,
        merge_keys: MergeKeyPolicy::AsOrdinary,
        non_finite_float_policy: NonFiniteFloatPolicy::Reject,
        reject_unsupported_tags: true,
        with_snippet: false,
    }
}

/// A complaint about one of the names in `extends`: it is pointed to where it first stands behind that word.
pub(super) fn complaint(text: &str, file: &str, name: &str, message: String, advice: String) -> Misreading {
    let place = text.find("extends").and_then(|start| Some(start + text[start..].find(name)?)).unwrap_or_default();
    let before = &text[..place];
    let line = before.matches('\n').count() as u64 + 1;
    let column = before.rsplit('\n').next().unwrap_or_default().chars().count() as u64 + 1;
    Misreading { advice: Some(advice), ..at(text, file, line, column, message) }
}

fn of_yaml(text: &str, file: &str, cause: &Error) -> Misreading {
    let mut cause = cause.without_snippet();
    while let Error::AliasError { error, .. } = cause {
        cause = error.without_snippet();
    }
    let (line, column) = cause.location().map_or((1, 1), |location| (location.line(), location.column()));
    let (message, advice) = match cause {
        Error::SerdeUnknownField { field, expected, .. } => {
            (format!("unknown key `{field}`"), Some(advice(field, expected.iter().copied())))
        }
        Error::SerdeUnknownVariant { variant, expected, .. } => {
            (format!("unknown word `{variant}`"), Some(advice(variant, expected.iter().copied())))
        }
        Error::SerdeMissingField { field, .. } => (format!("`{field}` is missing"), Some(format!("add `{field}:`"))),
        Error::QuotingRequired { value, .. } => {
            (format!("a text belongs here, not `{value}`"), Some(format!("write \"{value}\"")))
        }
        other => (UserMessageFormatter.format_message(other).into_owned(), None),
    };
    Misreading { advice, ..at(text, file, line, column, message) }
}

fn of_json(text: &str, file: &str, cause: &serde_json::Error) -> Misreading {
    let message = cause.to_string();
    let message = message.split(" at line ").next().unwrap_or_default().to_owned();
    at(text, file, cause.line() as u64, cause.column() as u64, message)
}

fn at(text: &str, file: &str, line: u64, column: u64, message: String) -> Misreading {
    let (line, column) = (line.max(1), column.max(1));
    let position = usize::try_from(line - 1).unwrap_or(usize::MAX);
    let excerpt = text.lines().nth(position).unwrap_or_default().to_owned();
    Misreading { message, file: file.to_owned(), line, column, excerpt, advice: None }
}
