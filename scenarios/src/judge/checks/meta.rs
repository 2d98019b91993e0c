//! The keys of `_meta` and of `extensions`, which have one form on both sides.

use std::sync::LazyLock;

use regex::Regex;
use serde_json::{Map, Value};

use crate::judge::check::brief;

// 2026-07-28, basic#_meta: an optional prefix of labels with dots between them and a slash, then a name.
static META_KEY: LazyLock<Regex> = LazyLock::new(|| {
    let label = "[A-Za-z](?:[A-Za-z0-9-]*[A-Za-z0-9])?";
    let name = "(?:[A-Za-z0-9](?:[A-Za-z0-9._-]*[A-Za-z0-9])?)?";
    Regex::new(&format!(r"^(?:{label}(?:\.{label})*/)?{name}$")).expect("a constant, tested")
});
// W3C Trace Context, 3.2: version, trace id, parent id and flags.
static TRACE_PARENT: LazyLock<Regex> = LazyLock::new(|| {
    Regex::new("^[0-9a-f]{2}-[0-9a-f]{32}-[0-9a-f]{16}-[0-9a-f]{2}(?:-.*)?$").expect("a constant, tested")
});

/// The first invalid key or trace context in the `_meta` of a value.
pub(super) fn meta_fault(value: &Value) -> Option<String> {
    let meta = value.get("_meta")?.as_object()?;
    meta.iter().find_map(|(key, value)| {
        if !META_KEY.is_match(key) {
            return Some(format!("the key `{key}` is invalid"));
        }
        let malformed = key == "traceparent" && !value.as_str().is_some_and(|text| TRACE_PARENT.is_match(text));
        malformed.then(|| format!("traceparent is {}", brief(value)))
    })
}

/// The first identifier of an extension without a prefix or a name (2026-07-28, basic/versioning#capabilities).
pub(super) fn extension_fault(extensions: &Map<String, Value>) -> Option<String> {
    extensions.keys().find_map(|name| {
        let valid = META_KEY.is_match(name) && name.split_once('/').is_some_and(|(_, name)| !name.is_empty());
        (!valid).then(|| format!("`{name}` is not a prefix and a name"))
    })
}
