//! The authorization response carries no `iss` though the metadata promises it.

use super::{Deception, Redirect};

/// The authorization response carries no `iss` though the metadata promises it.
#[derive(Debug)]
pub(crate) struct MissingIss;

impl Deception for MissingIss {
    fn redirect(&self, redirect: &mut Redirect) {
        redirect.remove("iss");
    }
}
