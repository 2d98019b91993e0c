//! Matching of URI templates (RFC 6570).

use percent_encoding::percent_decode_str;
use regex::Regex;
use serde_json::{Map, Value};

/// A compiled template. It supports simple expansion, `{name}`, and reserved expansion, `{+name}` (RFC 6570, sections
/// 3.2.2 and 3.2.3). Other templates are listed, and match nothing.
#[derive(Debug, Clone)]
pub(crate) struct UriTemplate {
    pattern: Option<Regex>,
    names: Vec<String>,
}

impl UriTemplate {
    pub(crate) fn new(template: &str) -> Self {
        let mut names = Vec::new();
        let pattern = pattern(template, &mut names).and_then(|pattern| Regex::new(&pattern).ok());
        Self { pattern, names }
    }

    /// The variables of a URI; `None` if it does not match.
    pub(crate) fn read(&self, uri: &str) -> Option<Map<String, Value>> {
        let found = self.pattern.as_ref()?.captures(uri)?;
        let mut variables = Map::new();
        for (name, value) in self.names.iter().zip(found.iter().skip(1)) {
            let value = percent_decode_str(value?.as_str()).decode_utf8().ok()?.into_owned();
            // A repeated variable must have one value.
            if variables.insert(name.clone(), value.clone().into()).is_some_and(|before| before != value.as_str()) {
                return None;
            }
        }
        Some(variables)
    }
}

/// The regular expression for a whole URI. Matching takes linear time.
fn pattern(template: &str, names: &mut Vec<String>) -> Option<String> {
    let mut pattern = String::from("^");
    let mut rest = template;
    while let Some((literal, after)) = rest.split_once('{') {
        let (expression, behind) = after.split_once('}')?;
        pattern.push_str(&regex::escape(literal));
        let (name, values) = match expression.strip_prefix('+') {
            Some(name) => (name, "(.+?)"),
            None => (expression, "([^/?#&]+)"),
        };
        if name.is_empty() || !name.chars().all(|ch| ch.is_ascii_alphanumeric() || matches!(ch, '_' | '.' | '%')) {
            return None;
        }
        names.push(name.to_owned());
        pattern.push_str(values);
        rest = behind;
    }
    pattern.push_str(&regex::escape(rest));
    pattern.push('$');
    (!rest.contains('}')).then_some(pattern)
}

#[cfg(test)]
mod tests {
    use serde_json::json;

    use super::*;

    #[test]
    fn reads_variables_back_from_a_uri() {
        for (template, uri, expected) in [
            ("test://template/{id}/data", "test://template/123/data", Some(json!({"id": "123"}))),
            ("test://template/{id}/data", "test://template/a%20b/data", Some(json!({"id": "a b"}))),
            ("test://template/{id}/data", "test://template/1/2/data", None),
            ("test://template/{id}/data", "test://template//data", None),
            ("test://template/{id}/data", "xtest://template/1/data", None),
            ("test://template/{id}/data", "test://template/1/data/", None),
            ("test://template/{id}/data", "test://template/%ff/data", None),
            ("file:///{+path}", "file:///a/b.txt", Some(json!({"path": "a/b.txt"}))),
            ("x:{a}-{b}", "x:1-2", Some(json!({"a": "1", "b": "2"}))),
            ("x:{a}/{a}", "x:1/1", Some(json!({"a": "1"}))),
            ("x:{a}/{a}", "x:1/2", None),
            ("x:a.c", "x:abc", None),
            ("x:{?q}", "x:?q=1", None),
            ("x:{a", "x:{a", None),
            ("x:a}", "x:a}", None),
        ] {
            assert_eq!(UriTemplate::new(template).read(uri).map(Value::Object), expected, "{template} {uri}");
        }
    }
}
