//! The metadata says nothing of PKCE, upon which clients must refuse to go on (2025-11-25 and later, authorization
//! code protection).

use serde_json::{Map, Value};

use super::Deception;

/// The metadata says nothing of PKCE, upon which clients must refuse to go on (2025-11-25 and later, authorization
/// code protection).
#[derive(Debug)]
pub(crate) struct PkceNotAdvertised;

impl Deception for PkceNotAdvertised {
    fn metadata(&self, _: &str, document: &mut Map<String, Value>) {
        document.remove("code_challenge_methods_supported");
    }
}
