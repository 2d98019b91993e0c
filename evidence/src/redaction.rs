//! Replaces secrets in frames.
//!
//! Secrets are found by name (headers, JSON members, form and query parameters) and by the word `Bearer`. The scheme of
//! an `Authorization` header stays, because checks need it.

use std::sync::{Arc, LazyLock};

use regex::Regex;
use serde_json::Value;

use crate::frame::{Body, Http};

/// The text in place of each secret.
pub const REDACTED: &str = "[secret]";

const HEADERS: [&str; 6] = ["authorization", "cookie", "dpop", "set-cookie", "proxy-authorization", "x-api-key"];

const MEMBERS: [&str; 13] = [
    "access_token",
    "refresh_token",
    "client_secret",
    "code",
    "code_verifier",
    "id_token",
    "assertion",
    "client_assertion",
    "subject_token",
    "actor_token",
    "password",
    "api_key",
    "token",
];

/// `Bearer <token>`, at any position.
static BEARER: LazyLock<Regex> =
    LazyLock::new(|| Regex::new(r"(?i)\b(bearer)\s+[A-Za-z0-9._~+/=-]+").expect("the pattern is constant and valid"));

/// `name=value`, as in a query or a form.
static PARAMETER: LazyLock<Regex> = LazyLock::new(|| {
    let pattern = format!(r"(?i)(^|[?&;#\s])({})=([^&;#\s]+)", MEMBERS.join("|"));
    Regex::new(&pattern).expect("the pattern is made of constant, valid parts")
});

/// `"name": "value"`, as in JSON inside a string.
/// A value of digits after a hyphen is an error code ([`is_error_code`]).
static MEMBER: LazyLock<Regex> = LazyLock::new(|| {
    let pattern =
        format!(r#"(?i)("(?:{})\\*"\s*:\s*\\*")(?:[^"\\-][^"\\]*|-[0-9]*[^"\\0-9][^"\\]*)"#, MEMBERS.join("|"));
    Regex::new(&pattern).expect("the pattern is made of constant, valid parts")
});

pub(crate) fn redact_body(body: Body) -> Body {
    match body {
        Body::Json(mut value) => {
            redact_value(Arc::make_mut(&mut value));
            Body::Json(value)
        }
        Body::Text(mut text) => {
            redact_text(&mut text);
            Body::Text(text)
        }
        Body::Event(event) => Body::Event(event),
    }
}

pub(crate) fn redact_http(mut http: Http) -> Http {
    for (name, value) in http.headers_mut() {
        if HEADERS.contains(&name.to_ascii_lowercase().as_str()) {
            let scheme = value.split_once(' ').map(|(scheme, _)| scheme).filter(|_| name.ends_with("authorization"));
            *value = scheme.map_or_else(|| REDACTED.to_owned(), |scheme| format!("{scheme} {REDACTED}"));
        // The scheme of a challenge is followed by parameters, and not by a token.
        } else if !name.eq_ignore_ascii_case("www-authenticate") {
            redact_text(value);
        }
    }
    if let Some(path) = &mut http.path {
        redact_text(path);
    }
    http
}

/// Redacts a JSON value in place, as the recorder does.
pub fn redact_value(value: &mut Value) {
    match value {
        Value::String(text) => redact_text(text),
        Value::Array(items) => items.iter_mut().for_each(redact_value),
        Value::Object(members) => {
            for (name, value) in members {
                match value {
                    Value::String(text) if is_secret(name) && !is_error_code(text) && !is_masked(text) => {
                        REDACTED.clone_into(text)
                    }
                    other => redact_value(other),
                }
            }
        }
        Value::Null | Value::Bool(_) | Value::Number(_) => {}
    }
}

fn is_secret(name: &str) -> bool {
    MEMBERS.iter().any(|member| name.eq_ignore_ascii_case(member))
}

/// Whether a text reveals nothing, as `***` or `sk-****`.
#[must_use]
pub fn is_masked(text: &str) -> bool {
    text.is_empty() || text.contains("***") || text.chars().all(|c| matches!(c, '*' | '•' | 'x' | 'X' | '.'))
}

/// Whether a text is a code of JSON-RPC, which a peer may wrongly send as a string. Authorization codes do not look so.
fn is_error_code(text: &str) -> bool {
    text.strip_prefix('-').is_some_and(|digits| digits.bytes().all(|byte| byte.is_ascii_digit()))
}

fn redact_text(text: &mut String) {
    // Most strings contain none of these signs, so the expressions run rarely, and in many processes they are never compiled.
    let rules = [
        (has_bearer(text), &BEARER, "$1 [secret]"),
        (text.contains('='), &PARAMETER, "$1$2=[secret]"),
        (text.contains('"'), &MEMBER, "$1[secret]"),
    ];
    for (may_match, pattern, replacement) in rules {
        if may_match && pattern.is_match(text) {
            *text = pattern.replace_all(text, replacement).into_owned();
        }
    }
}

fn has_bearer(text: &str) -> bool {
    const BEARER: &[u8] = b"bearer";
    text.contains(' ') && text.as_bytes().windows(BEARER.len()).any(|word| word.eq_ignore_ascii_case(BEARER))
}

#[cfg(test)]
mod tests {
    use serde_json::json;

    use super::*;

    #[test]
    fn redacts_members_by_name_and_bearer_anywhere() {
        let value = json!({
            "access_token": "s3cret", "Refresh_Token": "s3cret", "expires_in": 60, "code": -32601,
            "error": { "code": "-32601" }, "response": { "code": "s3cret" },
            "nested": [{"client_secret": "s3cret", "note": "use Bearer s3cret, please"}],
            "progressToken": "kept", "tokens": "kept",
            "location": "http://127.0.0.1/cb?code=s3cret&state=kept",
            "inner": "{\"id_token\": \"s3cret\", \"scope\": \"kept\"}",
        });
        let Body::Json(redacted) = redact_body(Body::json(value)) else { panic!("JSON stays JSON") };
        let text = redacted.to_string();
        assert!(!text.contains("s3cret"), "{text}");
        assert_eq!(text.matches("kept").count(), 4, "{text}");
        assert_eq!(redacted["code"], -32601);
        assert_eq!(redacted["error"]["code"], "-32601");
    }

    #[test]
    fn keeps_error_codes_in_text() {
        let mut text =
            r#"{"code": "-32601", "note": "{\"code\": \"-32700\"}", "token": "-3s3cret", "code": "s3cret-1"}"#
                .to_owned();
        redact_text(&mut text);
        assert!(text.contains("-32601") && text.contains("-32700"), "{text}");
        assert!(!text.contains("s3cret"), "{text}");
    }

    #[test]
    fn redacts_headers_but_keeps_the_scheme_and_the_session() {
        let headers = [
            ("authorization", "Bearer s3cret"),
            ("cookie", "a=s3cret"),
            ("set-cookie", "a=s3cret"),
            ("proxy-authorization", "Basic s3cret"),
            ("x-api-key", "s3cret"),
            ("x-other", "bearer s3cret"),
            ("mcp-session-id", "kept"),
            ("www-authenticate", "Bearer scope=\"kept\""),
        ];
        let headers = headers.into_iter().map(|(name, value)| (name.to_owned(), value.to_owned())).collect();
        let path = Some("/cb?state=kept&code=s3cret".to_owned());
        let redacted = redact_http(Http { headers: Arc::new(headers), path, ..Http::default() });
        let text = format!("{redacted:?}");
        assert!(!text.contains("s3cret"), "{text}");
        assert_eq!(redacted.headers["authorization"], "Bearer [secret]");
        assert_eq!(redacted.headers["mcp-session-id"], "kept");
        assert_eq!(redacted.headers["www-authenticate"], "Bearer scope=\"kept\"");
    }

    #[test]
    fn redacts_forms_and_broken_json() {
        for text in [
            "grant_type=authorization_code&code=s3cret&code_verifier=s3cret",
            "{\"access_token\":\"s3cret\",\"expires",
            "password=s3cret",
        ] {
            let Body::Text(redacted) = redact_body(Body::Text(text.to_owned())) else { panic!("text stays text") };
            assert!(!redacted.contains("s3cret"), "{redacted}");
        }
    }
}
