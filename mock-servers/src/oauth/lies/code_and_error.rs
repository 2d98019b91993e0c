//! The authorization response is a success and an error at once.

use super::{Deception, Redirect};

/// The authorization response is a success and an error at once.
#[derive(Debug)]
pub(crate) struct CodeAndError;

impl Deception for CodeAndError {
    fn redirect(&self, redirect: &mut Redirect) {
        if redirect.has("code") {
            redirect.set("error", "access_denied");
        }
    }
}
