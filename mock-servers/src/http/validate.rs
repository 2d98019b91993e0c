//! Comparison of the headers of a 2026-07-28 request with its body (Streamable HTTP, request metadata and server
//! validation).

use base64::{Engine as _, engine::general_purpose::STANDARD};
use http::HeaderMap;
use serde_json::{Number, Value};

use super::server_state::Core;
use crate::{
    engine::{Engine, Era, Rejection, SessionKey, SupportedRevisions, era_of, requested_version},
    listen::http_exchange::HttpExchange,
    script::{InvalidRequest, Validation},
};

const HEADER_MISMATCH: i64 = -32020;

/// Maximum depth at which properties with mirrored headers are found: a script's schema can be nested without limit.
const MAX_DEPTH: usize = 16;

/// The era of a request: that of its body, or else that of its version header.
pub(super) fn era(support: &SupportedRevisions, version: Option<&str>, message: &Value) -> Era {
    let by_header = support.has_era(Era::Modern) && version.is_some_and(|version| era_of(version) == Era::Modern);
    if by_header { Era::Modern } else { support.era_for(message) }
}

/// The session of a request after `initialize` (2025-11-25, transports, session management and protocol version
/// header). The codes are those of the official SDKs; the specification leaves them open.
pub(super) fn session(core: &mut Core, exchange: &HttpExchange) -> Result<SessionKey, Rejection> {
    fit_version(core, exchange)?;
    let Validation { missing_session, unknown_session, .. } = core.engine.http().validation;
    let (status, rejection) = match exchange.header("mcp-session-id") {
        None => {
            let message = "bad request: `Mcp-Session-Id` is required";
            (InvalidRequest::status(missing_session, 400), Rejection::new(400, -32000, message))
        }
        Some(id) => match core.state.sessions.find(id) {
            Some(session) => return Ok(session),
            None => (InvalidRequest::status(unknown_session, 404), Rejection::new(404, -32001, "session not found")),
        },
    };
    match (status, core.state.sessions.newest()) {
        (None, Some(session)) => Ok(session),
        (status, _) => Err(Rejection { status: status.unwrap_or(rejection.status), ..rejection }),
    }
}

/// Rejects a request whose version header names an unsupported revision.
pub(super) fn fit_version(core: &Core, exchange: &HttpExchange) -> Result<(), Rejection> {
    let support = core.engine.support();
    let invalid = exchange
        .header("mcp-protocol-version")
        .is_some_and(|version| !support.has(version) || era_of(version) == Era::Modern);
    match InvalidRequest::status(core.engine.http().validation.revision_header, 400).filter(|_| invalid) {
        Some(status) => {
            let supported = support.all().join(", ");
            let words = format!("bad request: unsupported protocol version (supported versions: {supported})");
            Err(Rejection::new(status, -32000, words))
        }
        None => Ok(()),
    }
}

/// The problem of the headers of a modern request. Notifications need none in this revision.
pub(super) fn modern(engine: &Engine, headers: &HeaderMap, message: &Value) -> Option<Rejection> {
    let method = message.get("method").and_then(Value::as_str)?;
    message.get("id")?;
    if method == "initialize" {
        // The engine's rejection names the supported revisions, which such a client needs.
        return None;
    }
    let version = requested_version(message);
    let checks = || -> Result<(), String> {
        compare("MCP-Protocol-Version", headers, version, plain)?;
        if version.is_some_and(|version| !engine.support().has(version)) {
            // The engine rejects the version.
            return Ok(());
        }
        compare("Mcp-Method", headers, Some(method), plain)?;
        if let Some(name) = named(method, message).or_else(|| task(engine, method, message)) {
            compare("Mcp-Name", headers, Some(name), decoded)?;
        }
        if method == "tools/call" {
            mirrored(engine, headers, message, compare_number)?;
        }
        Ok(())
    };
    let Validation { request_headers, integer_spelling, .. } = engine.http().validation;
    let status = InvalidRequest::status(request_headers, 400)?;
    let rejection =
        |status: u16| move |words| Rejection::new(status, HEADER_MISMATCH, format!("header mismatch: {words}"));
    if let Err(words) = checks() {
        return Some(rejection(status)(words));
    }
    let status = integer_spelling.and_then(|handling| InvalidRequest::status(Some(handling), 400))?;
    let is_call = method == "tools/call";
    let spelled = if is_call { mirrored(engine, headers, message, compare_spelling) } else { Ok(()) };
    spelled.err().map(rejection(status))
}

/// The name in the body, for the methods that require `Mcp-Name`.
fn named<'a>(method: &str, message: &'a Value) -> Option<&'a str> {
    let params = message.get("params")?;
    let member = match method {
        "tools/call" | "prompts/get" => "name",
        "resources/read" => "uri",
        _ => return None,
    };
    params.get(member)?.as_str()
}

/// The task that a request of the tasks extension is for (SEP-2663, Streamable HTTP: routing headers).
fn task<'a>(engine: &Engine, method: &str, message: &'a Value) -> Option<&'a str> {
    let routed = matches!(method, "tasks/get" | "tasks/update" | "tasks/cancel") && engine.has_task_extension();
    if routed { message.get("params")?.get("taskId")?.as_str() } else { None }
}

/// Compares a header with its value in the body.
fn compare(
    name: &str,
    headers: &HeaderMap,
    body: Option<&str>,
    decode: fn(&str) -> Option<String>,
) -> Result<(), String> {
    let Some(raw) = headers.get(name) else { return Err(format!("{name} is missing")) };
    let value = raw.to_str().ok().and_then(decode).ok_or_else(|| format!("{name} holds invalid characters"))?;
    match body {
        Some(body) if body != value => Err(format!("{name} is '{value}' and the body has '{body}'")),
        // A body without the value is rejected by its own error.
        _ => Ok(()),
    }
}

#[expect(clippy::unnecessary_wraps, reason = "it has the signature of `decoded`, which can fail")]
fn plain(value: &str) -> Option<String> {
    Some(value.to_owned())
}

/// A value, possibly in the Base64 form (value encoding).
fn decoded(value: &str) -> Option<String> {
    match value.strip_prefix("=?base64?").and_then(|value| value.strip_suffix("?=")) {
        Some(encoded) => String::from_utf8(STANDARD.decode(encoded).ok()?).ok(),
        None => Some(value.to_owned()),
    }
}

/// Checks the headers that the tool's input schema requires by `x-mcp-header`.
fn mirrored(engine: &Engine, headers: &HeaderMap, message: &Value, numbers: CompareNumber) -> Result<(), String> {
    let tool = named("tools/call", message).and_then(|name| engine.tool(name));
    let Some(schema) = tool.as_ref().and_then(|tool| tool.input_schema.as_ref()) else { return Ok(()) };
    let arguments = message.pointer("/params/arguments").unwrap_or(&Value::Null);
    check_properties(schema, arguments, headers, numbers, MAX_DEPTH)
}

/// Compares the header of a number with its value in the body.
type CompareNumber = fn(&str, &HeaderMap, &Number) -> Result<(), String>;

fn check_properties(
    schema: &Value,
    arguments: &Value,
    headers: &HeaderMap,
    numbers: CompareNumber,
    depth: usize,
) -> Result<(), String> {
    let Some(properties) = schema.get("properties").and_then(Value::as_object).filter(|_| depth > 0) else {
        return Ok(());
    };
    for (property, schema) in properties {
        let argument = arguments.get(property).unwrap_or(&Value::Null);
        if let Some(header) = schema.get("x-mcp-header").and_then(Value::as_str) {
            check_parameter(header, argument, headers, numbers)?;
        }
        check_properties(schema, argument, headers, numbers, depth - 1)?;
    }
    Ok(())
}

fn check_parameter(header: &str, argument: &Value, headers: &HeaderMap, numbers: CompareNumber) -> Result<(), String> {
    let name = format!("Mcp-Param-{header}");
    match argument {
        // An absent or null argument has no header. A header that exists nevertheless is ignored.
        Value::Null | Value::Array(_) | Value::Object(_) => Ok(()),
        Value::String(text) => compare(&name, headers, Some(text), decoded),
        Value::Bool(flag) => compare(&name, headers, Some(if *flag { "true" } else { "false" }), decoded),
        Value::Number(number) => numbers(&name, headers, number),
    }
}

/// Compares numbers as numbers, so that 42.0 is 42.
fn compare_number(name: &str, headers: &HeaderMap, number: &Number) -> Result<(), String> {
    let given = headers.get(name).and_then(|value| value.to_str().ok()).and_then(decoded);
    let equal = given.as_deref().and_then(|text| text.parse::<f64>().ok()) == number.as_f64();
    if equal { Ok(()) } else { compare_spelling(name, headers, number) }
}

/// Compares numbers as text.
fn compare_spelling(name: &str, headers: &HeaderMap, number: &Number) -> Result<(), String> {
    compare(name, headers, Some(&number.to_string()), decoded)
}

#[cfg(test)]
mod tests {
    use http::HeaderValue;
    use serde_json::json;

    use super::*;
    use crate::script::Script;

    fn engine() -> Engine {
        let script: Script = serde_json::from_value(json!({"tools": [{
            "name": "sql",
            "input_schema": {"type": "object", "properties": {
                "region": {"type": "string", "x-mcp-header": "Region"},
                "limit": {"type": "integer", "x-mcp-header": "Limit"},
            }},
        }]}))
        .unwrap();
        Engine::new(script, "2026-07-28", 1)
    }

    fn call(arguments: &Value) -> Value {
        let meta = json!({
            "io.modelcontextprotocol/protocolVersion": "2026-07-28",
            "io.modelcontextprotocol/clientCapabilities": {},
        });
        let params = json!({"name": "sql", "arguments": arguments, "_meta": meta});
        json!({"jsonrpc": "2.0", "id": 1, "method": "tools/call", "params": params})
    }

    fn check(arguments: &Value, pairs: &[(&'static str, &'static str)]) -> Option<String> {
        let headers: HeaderMap =
            pairs.iter().map(|(name, value)| (name.parse().unwrap(), HeaderValue::from_static(value))).collect();
        modern(&engine(), &headers, &call(arguments)).map(|rejection| {
            assert_eq!((rejection.status, rejection.code), (400, -32020));
            rejection.message
        })
    }

    const VERSION: (&str, &str) = ("mcp-protocol-version", "2026-07-28");
    const METHOD: (&str, &str) = ("mcp-method", "tools/call");
    const NAME: (&str, &str) = ("mcp-name", "sql");

    #[test]
    fn accepts_headers_that_agree_with_the_body() {
        assert_eq!(check(&json!({}), &[VERSION, METHOD, NAME]), None);
        assert_eq!(check(&json!({}), &[VERSION, METHOD, ("mcp-name", "=?base64?c3Fs?=")]), None);
        let region = ("mcp-param-region", "=?base64?w6Q=?=");
        assert_eq!(
            check(&json!({"region": "ä", "limit": 42}), &[VERSION, METHOD, NAME, region, ("mcp-param-limit", "42.0")]),
            None
        );
        assert_eq!(check(&json!({"region": null}), &[VERSION, METHOD, NAME]), None);
    }

    #[test]
    fn refuses_headers_that_are_missing_or_different() {
        for (arguments, pairs, word) in [
            (json!({}), vec![METHOD, NAME], "MCP-Protocol-Version is missing"),
            (json!({}), vec![("mcp-protocol-version", "2025-11-25"), METHOD, NAME], "MCP-Protocol-Version is '2025"),
            (json!({}), vec![VERSION, NAME], "Mcp-Method is missing"),
            (json!({}), vec![VERSION, ("mcp-method", "tools/list"), NAME], "Mcp-Method is 'tools/list'"),
            (json!({}), vec![VERSION, METHOD], "Mcp-Name is missing"),
            (json!({}), vec![VERSION, METHOD, ("mcp-name", "=?base64?!?=")], "Mcp-Name holds"),
            (json!({"region": "eu"}), vec![VERSION, METHOD, NAME], "Mcp-Param-Region is missing"),
            (json!({"limit": 1}), vec![VERSION, METHOD, NAME, ("mcp-param-limit", "2")], "Mcp-Param-Limit is '2'"),
        ] {
            let refusal = check(&arguments, &pairs).unwrap_or_default();
            assert!(refusal.contains(word), "{refusal:?} should say {word:?}");
        }
    }
}
