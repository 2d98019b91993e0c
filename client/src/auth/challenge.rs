//! Parses `WWW-Authenticate` (RFC 9110, section 11.6.1), as leniently as untrusted input allows.
//!
//! A field may contain several challenges, and there may be several fields. Invalid parts are skipped, because the
//! request was rejected in any case.

use std::collections::BTreeMap;

use http::{HeaderMap, header::WWW_AUTHENTICATE};

/// Maximum number of bytes of a field; the rest is ignored.
const MAX_BYTES: usize = 16 * 1024;

/// A challenge.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(super) struct Challenge {
    /// The scheme in lower case.
    pub(super) scheme: String,
    params: BTreeMap<String, String>,
}

impl Challenge {
    /// The value of a parameter, if it is not empty.
    fn param(&self, name: &str) -> Option<&str> {
        self.params.get(name).map(String::as_str).filter(|value| !value.is_empty())
    }
}

/// The values of `WWW-Authenticate`.
pub(crate) fn fields(headers: &HeaderMap) -> Vec<String> {
    headers
        .get_all(WWW_AUTHENTICATE)
        .iter()
        .map(|value| String::from_utf8_lossy(value.as_bytes()).into_owned())
        .collect()
}

/// The challenges of a response.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub(super) struct Challenges(Vec<Challenge>);

impl Challenges {
    /// Parses all fields.
    pub(super) fn parse(fields: &[String]) -> Self {
        Self(fields.iter().flat_map(|field| read(field)).filter(|one| is_ours(&one.scheme)).collect())
    }

    /// The first value of a parameter.
    fn param(&self, name: &str) -> Option<&str> {
        self.0.iter().find_map(|challenge| challenge.param(name))
    }

    /// The URL of the resource metadata (RFC 9728, section 5.1).
    pub(super) fn resource_metadata(&self) -> Option<&str> {
        self.param("resource_metadata")
    }

    /// The error code (RFC 6750, section 3.1).
    pub(super) fn error(&self) -> Option<&str> {
        self.param("error")
    }

    /// The required scopes, if the challenge has any.
    pub(super) fn scopes(&self) -> Option<Vec<String>> {
        let scopes = split_scopes(self.param("scope")?);
        (!scopes.is_empty()).then_some(scopes)
    }

    /// Whether a proof of possession is required (RFC 9449, section 7.1).
    pub(super) fn wants_dpop(&self) -> bool {
        self.0.iter().any(|challenge| challenge.scheme == "dpop")
    }
}

/// The supported schemes.
fn is_ours(scheme: &str) -> bool {
    matches!(scheme, "bearer" | "dpop")
}

/// Splits a space-separated list.
pub(super) fn split_scopes(text: &str) -> Vec<String> {
    let mut words = Vec::new();
    for word in text.split_ascii_whitespace() {
        if !words.iter().any(|known| known == word) {
            words.push(word.to_owned());
        }
    }
    words
}

/// Parses one field.
fn read(field: &str) -> Vec<Challenge> {
    let end = (0..=field.len().min(MAX_BYTES)).rev().find(|end| field.is_char_boundary(*end)).unwrap_or_default();
    let mut rest = Cursor(&field[..end]);
    let mut challenges: Vec<Challenge> = Vec::new();
    loop {
        rest.skip(|c| c.is_ascii_whitespace() || c == ',');
        let name = rest.take(is_token).to_ascii_lowercase();
        if name.is_empty() {
            // Not a token: skip to the next comma or the end.
            if rest.take(|c| c != ',').is_empty() {
                return challenges;
            }
            continue;
        }
        let spaced = rest.skip(|c| c == ' ' || c == '\t');
        if rest.0.starts_with('=') {
            rest.0 = &rest.0[1..];
            rest.skip(|c| c == ' ' || c == '\t');
            let value = rest.value();
            if let Some(challenge) = challenges.last_mut() {
                // A parameter must not occur twice (RFC 9110, section 11.2). The first one is used.
                challenge.params.entry(name).or_insert(value);
            }
        } else if spaced || rest.0.is_empty() || rest.0.starts_with(',') {
            challenges.push(Challenge { scheme: name, params: BTreeMap::new() });
        }
    }
}

struct Cursor<'a>(&'a str);

impl<'a> Cursor<'a> {
    /// Skips characters, and returns whether there were any.
    fn skip(&mut self, skipped: impl Fn(char) -> bool) -> bool {
        !self.take(skipped).is_empty()
    }

    fn take(&mut self, taken: impl Fn(char) -> bool) -> &'a str {
        let end = self.0.find(|c| !taken(c)).unwrap_or(self.0.len());
        let (taken, rest) = self.0.split_at(end);
        self.0 = rest;
        taken
    }

    /// A token or a quoted string. An unterminated string ends with the field.
    fn value(&mut self) -> String {
        let Some(quoted) = self.0.strip_prefix('"') else {
            return self.take(|c| c != ',' && !c.is_ascii_whitespace()).to_owned();
        };
        let mut value = String::new();
        let mut chars = quoted.chars();
        while let Some(c) = chars.next() {
            match c {
                '"' => break,
                '\\' => value.extend(chars.next()),
                c => value.push(c),
            }
        }
        self.0 = chars.as_str();
        value
    }
}

fn is_token(c: char) -> bool {
    c.is_ascii_alphanumeric() || "!#$%&'*+-.^_`|~".contains(c)
}

#[cfg(test)]
mod tests {
    use super::*;

    fn parse(fields: &[&str]) -> Challenges {
        Challenges::parse(&fields.iter().map(|field| (*field).to_owned()).collect::<Vec<_>>())
    }

    #[test]
    fn parameters_belong_to_the_scheme_before_them() {
        let read = parse(&[
            r#"Basic realm="x, y=\"1\"", scope=none, Bearer error="insufficient_scope", scope="a b  a""#,
            "DPoP algs=\"ES256\", resource_metadata = https://rs.example/m",
        ]);
        assert_eq!(read.error(), Some("insufficient_scope"));
        assert_eq!(read.scopes(), Some(vec!["a".to_owned(), "b".to_owned()]));
        assert_eq!(read.resource_metadata(), Some("https://rs.example/m"));
        assert!(read.wants_dpop());
    }

    #[test]
    fn a_scheme_alone_is_a_challenge() {
        assert_eq!(parse(&["Bearer"]).0.len(), 1);
        assert_eq!(parse(&["Negotiate, Bearer ,DPoP"]).0.len(), 2);
        assert!(!parse(&["Bearer"]).wants_dpop());
    }

    #[test]
    fn skips_invalid_parts() {
        for broken in ["", ",,,", "Bearer \"", "=", "Bearer scope=\"", "\u{0}\u{1}, ;", "Bearer a68==", "\\"] {
            let read = parse(&[broken]);
            assert_eq!((read.scopes(), read.error()), (None, None), "{broken:?}");
        }
        let unended = parse(&[r#"Bearer scope="a b"#]);
        assert_eq!(unended.scopes(), Some(vec!["a".to_owned(), "b".to_owned()]));
        let long = format!("Bearer scope=\"{}\"", "x".repeat(100_000));
        assert!(parse(&[&long]).scopes().is_some_and(|scopes| scopes[0].len() < MAX_BYTES));
    }

    #[test]
    fn the_limit_applies_within_a_character() {
        // `ä` has two bytes, so one of the two fields has the limit within a character.
        for prefix in ["Bearer scope=\"", "Bearer  scope=\""] {
            let long = format!("{prefix}{}\"", "ä".repeat(100_000));
            assert!(parse(&[&long]).scopes().is_some_and(|scopes| scopes[0].len() < MAX_BYTES), "{prefix}");
        }
    }
}
