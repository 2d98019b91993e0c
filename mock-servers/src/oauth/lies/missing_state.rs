//! The authorization response carries no `state` though the request did.

use super::{Deception, Redirect};

/// The authorization response carries no `state` though the request did.
#[derive(Debug)]
pub(crate) struct MissingState;

impl Deception for MissingState {
    fn redirect(&self, redirect: &mut Redirect) {
        redirect.remove("state");
    }
}
