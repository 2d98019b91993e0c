//! `plain` is the only PKCE method, advertised and accepted: a downgrade (RFC 9700 section 4.8).

use serde_json::{Map, Value, json};

use super::{Deception, Permit};

/// `plain` is the only PKCE method, advertised and accepted: a downgrade (RFC 9700 section 4.8).
#[derive(Debug)]
pub(crate) struct PlainPkce;

impl Deception for PlainPkce {
    fn metadata(&self, _: &str, document: &mut Map<String, Value>) {
        document.insert("code_challenge_methods_supported".to_owned(), json!(["plain"]));
    }

    fn permits(&self, what: Permit) -> bool {
        what == Permit::PlainChallenge
    }
}
