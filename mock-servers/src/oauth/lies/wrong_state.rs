//! The authorization response carries another `state` than the request: a forged response (RFC 6749 section 10.12).

use super::{Deception, Redirect};

/// The authorization response carries another `state` than the request: a forged response (RFC 6749 section 10.12).
#[derive(Debug)]
pub(crate) struct WrongState;

impl Deception for WrongState {
    fn redirect(&self, redirect: &mut Redirect) {
        redirect.set("state", "a-state-that-nobody-chose");
    }
}
