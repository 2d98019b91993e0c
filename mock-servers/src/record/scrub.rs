//! Takes secrets out of frames.
//!
//! What counts as a secret is decided by name (headers, JSON members, form and query parameters) and by the word
//! `Bearer`. The scheme of an `Authorization` header stays, because checks ask for it.

use std::sync::LazyLock;

use regex::Regex;
use serde_json::Value;

use crate::frame::{Body, Http};

/// What stands in the place of a secret.
const SCRUBBED: &str = "[secret]";

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

/// `Bearer <token>`, wherever it stands.
static BEARER: LazyLock<Regex> =
    LazyLock::new(|| Regex::new(r"(?i)\b(bearer)\s+[A-Za-z0-9._~+/=-]+").expect("the pattern is constant and valid"));

/// `name=value`, as in a query or a form.
static PARAMETER: LazyLock<Regex> = LazyLock::new(|| {
    let pattern = format!(r"(?i)(^|[?&;#\s])({})=([^&;#\s]+)", MEMBERS.join("|"));
    Regex::new(&pattern).expect("the pattern is made of constant, valid parts")
});

/// `"name": "value"`, as in JSON inside a text.
static MEMBER: LazyLock<Regex> = LazyLock::new(|| {
    let pattern = format!(r#"(?i)("(?:{})\\*"\s*:\s*\\*")[^"\\]+"#, MEMBERS.join("|"));
    Regex::new(&pattern).expect("the pattern is made of constant, valid parts")
});

pub(super) fn body(body: Body) -> Body {
    match body {
        Body::Json(mut value) => {
            scrub_value(&mut value);
            Body::Json(value)
        }
        Body::Text(mut text) => {
            scrub_text(&mut text);
            Body::Text(text)
        }
        Body::Mark(mark) => Body::Mark(mark),
    }
}

pub(super) fn http(mut http: Http) -> Http {
    for (name, value) in &mut http.headers {
        if HEADERS.contains(&name.to_ascii_lowercase().as_str()) {
            let scheme = value.split_once(' ').map(|(scheme, _)| scheme).filter(|_| name.ends_with("authorization"));
            *value = scheme.map_or_else(|| SCRUBBED.to_owned(), |scheme| format!("{scheme} {SCRUBBED}"));
        } else {
            scrub_text(value);
        }
    }
    if let Some(path) = &mut http.path {
        scrub_text(path);
    }
    http
}

fn scrub_value(value: &mut Value) {
    match value {
        Value::String(text) => scrub_text(text),
        Value::Array(items) => items.iter_mut().for_each(scrub_value),
        Value::Object(members) => {
            for (name, value) in members {
                match value {
                    Value::String(text) if is_secret(name) => SCRUBBED.clone_into(text),
                    other => scrub_value(other),
                }
            }
        }
        Value::Null | Value::Bool(_) | Value::Number(_) => {}
    }
}

fn is_secret(name: &str) -> bool {
    MEMBERS.iter().any(|member| name.eq_ignore_ascii_case(member))
}

fn scrub_text(text: &mut String) {
    // Most strings hold neither a space before a token nor an `=` nor a quotation mark: they are left alone unread.
    for (pattern, sign, replacement) in
        [(&BEARER, ' ', "$1 [secret]"), (&PARAMETER, '=', "$1$2=[secret]"), (&MEMBER, '"', "$1[secret]")]
    {
        if text.contains(sign) && pattern.is_match(text) {
            *text = pattern.replace_all(text, replacement).into_owned();
        }
    }
}

#[cfg(test)]
mod tests {
    use serde_json::json;

    use super::*;

    #[test]
    fn scrubs_members_by_name_and_bearer_anywhere() {
        let value = json!({
            "access_token": "s3cret", "Refresh_Token": "s3cret", "expires_in": 60, "code": -32601,
            "nested": [{"client_secret": "s3cret", "note": "use Bearer s3cret, please"}],
            "progressToken": "kept", "tokens": "kept",
            "location": "http://127.0.0.1/cb?code=s3cret&state=kept",
            "inner": "{\"id_token\": \"s3cret\", \"scope\": \"kept\"}",
        });
        let Body::Json(scrubbed) = body(Body::Json(value)) else { panic!("a JSON body stays one") };
        let text = scrubbed.to_string();
        assert!(!text.contains("s3cret"), "{text}");
        assert_eq!(text.matches("kept").count(), 4, "{text}");
        assert_eq!(scrubbed["code"], -32601);
    }

    #[test]
    fn scrubs_headers_but_keeps_the_scheme_and_the_session() {
        let headers = [
            ("authorization", "Bearer s3cret"),
            ("cookie", "a=s3cret"),
            ("set-cookie", "a=s3cret"),
            ("proxy-authorization", "Basic s3cret"),
            ("x-api-key", "s3cret"),
            ("x-other", "bearer s3cret"),
            ("mcp-session-id", "kept"),
        ];
        let headers = headers.into_iter().map(|(name, value)| (name.to_owned(), value.to_owned())).collect();
        let path = Some("/cb?state=kept&code=s3cret".to_owned());
        let scrubbed = http(Http { headers, path, ..Http::default() });
        let text = format!("{scrubbed:?}");
        assert!(!text.contains("s3cret"), "{text}");
        assert_eq!(scrubbed.headers["authorization"], "Bearer [secret]");
        assert_eq!(scrubbed.headers["mcp-session-id"], "kept");
    }

    #[test]
    fn scrubs_forms_and_broken_json() {
        for text in [
            "grant_type=authorization_code&code=s3cret&code_verifier=s3cret",
            "{\"access_token\":\"s3cret\",\"expires",
            "password=s3cret",
        ] {
            let Body::Text(scrubbed) = body(Body::Text(text.to_owned())) else { panic!("a text stays one") };
            assert!(!scrubbed.contains("s3cret"), "{scrubbed}");
        }
    }
}
