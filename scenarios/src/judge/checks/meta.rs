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

// W3C Trace Context, 3.3: a list of keys with values, whose items may be empty.
static TRACE_STATE: LazyLock<Regex> = LazyLock::new(|| {
    let item = "(?:[a-z0-9][a-z0-9_*/@-]*=[\\x20-\\x2b\\x2d-\\x3c\\x3e-\\x7e]*)?";
    Regex::new(&format!(r"^[ \t]*{item}(?:[ \t]*,[ \t]*{item})*[ \t]*$")).expect("a constant, tested")
});
// W3C Baggage, 3.2: a list of keys with values and properties.
static BAGGAGE: LazyLock<Regex> = LazyLock::new(|| {
    let key = "[!#$%&'*+.^_`|~0-9A-Za-z-]+";
    let value = r"[\x21\x23-\x2b\x2d-\x3a\x3c-\x5b\x5d-\x7e]*";
    let property = format!(r"[ \t]*;[ \t]*{key}(?:[ \t]*=[ \t]*{value})?");
    let item = format!(r"[ \t]*{key}[ \t]*=[ \t]*{value}(?:{property})*[ \t]*");
    Regex::new(&format!("^{item}(?:,{item})*$")).expect("a constant, tested")
});

/// Whether the value of a key has its format, if the specification defines one (2026-07-28, basic#_meta).
fn has_format(key: &str, value: &Value) -> bool {
    let format: fn(&str) -> bool = match key {
        "traceparent" => |text| TRACE_PARENT.is_match(text) && !has_zero_id(text),
        "tracestate" => |text| TRACE_STATE.is_match(text),
        "baggage" => |text| BAGGAGE.is_match(text),
        _ => return true,
    };
    value.as_str().is_some_and(format)
}

/// Whether the second label of the prefix is reserved, and the prefix is not that of the specification (2025-11-25, basic#_meta).
fn is_reserved(key: &str) -> bool {
    let Some((prefix, _)) = key.split_once('/') else { return false };
    let second = prefix.split('.').nth(1);
    matches!(second, Some("mcp" | "modelcontextprotocol")) && prefix.split('.').next() != Some("io")
}

/// Whether a trace parent has the version `ff`, or an id of zeros, which are invalid (W3C Trace Context, 3.2.2).
fn has_zero_id(text: &str) -> bool {
    text.starts_with("ff") || text.split('-').skip(1).take(2).any(|id| id.bytes().all(|digit| digit == b'0'))
}

/// The first invalid key or trace context in the `_meta` of a value.
pub(super) fn meta_fault(value: &Value) -> Option<String> {
    let meta = value.get("_meta")?.as_object()?;
    meta.iter().find_map(|(key, value)| {
        if !META_KEY.is_match(key) {
            return Some(format!("the key `{key}` is invalid"));
        }
        if is_reserved(key) {
            return Some(format!("the prefix of `{key}` is reserved"));
        }
        (!has_format(key, value)).then(|| format!("{key} is {}", brief(value)))
    })
}

/// The first identifier of an extension without a prefix or a name (2026-07-28, basic/versioning#capabilities).
pub(super) fn extension_fault(extensions: &Map<String, Value>) -> Option<String> {
    extensions.keys().find_map(|name| {
        let valid = META_KEY.is_match(name) && name.split_once('/').is_some_and(|(_, name)| !name.is_empty());
        (!valid).then(|| format!("`{name}` is not a prefix and a name"))
    })
}

#[cfg(test)]
mod tests {
    use serde_json::json;

    use super::*;

    #[test]
    fn trace_context_and_baggage_have_the_formats_of_the_w3c() {
        let trace = "00-0af7651916cd43dd8448eb211c80319c-b7ad6b7169203331-01";
        for (key, value, sound) in [
            ("traceparent", json!(trace), true),
            ("traceparent", json!("00-0AF7-B7-01"), false),
            ("traceparent", json!(7), false),
            ("traceparent", json!("00-00000000000000000000000000000000-b7ad6b7169203331-01"), false),
            ("traceparent", json!("00-0af7651916cd43dd8448eb211c80319c-0000000000000000-01"), false),
            ("tracestate", json!("vendor1=t61rcWkgMzE, tenant@vendor2=00f067"), true),
            ("tracestate", json!(""), true),
            ("tracestate", json!("Vendor"), false),
            ("tracestate", json!({ "vendor1": "x" }), false),
            ("baggage", json!("userId=alice , serverNode=DF%2028;max-age = 60;secure,empty="), true),
            ("baggage", json!("userId"), false),
            ("baggage", json!("name=two words"), false),
            ("baggage", json!({ "userId": "alice" }), false),
            ("other", json!({ "userId": "alice" }), true),
            ("io.modelcontextprotocol/any", json!(1), true),
            ("com.example.mcp/any", json!(1), true),
            ("dev.mcp/any", json!(1), false),
        ] {
            let fault = meta_fault(&json!({ "_meta": { key: value.clone() } }));
            assert_eq!(fault.is_none(), sound, "{key}: {value}");
        }
    }
}
