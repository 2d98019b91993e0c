//! The token response does not say when the token expires.

use serde_json::{Map, Value};

use super::Deception;

/// The token response does not say when the token expires.
#[derive(Debug)]
pub(crate) struct NoExpiresIn;

impl Deception for NoExpiresIn {
    fn token_response(&self, body: &mut Map<String, Value>) {
        body.remove("expires_in");
    }
}
