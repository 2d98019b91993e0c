//! Registration succeeds, and says no `client_id`.

use serde_json::{Map, Value};

use super::Deception;

/// Registration succeeds, and says no `client_id`.
#[derive(Debug)]
pub(crate) struct RegistrationWithoutId;

impl Deception for RegistrationWithoutId {
    fn registration(&self, body: &mut Map<String, Value>) {
        body.remove("client_id");
    }
}
