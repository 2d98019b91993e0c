//! The token is signed by a key that nobody knows, so the resource refuses it.

use super::{Deception, Permit};

/// The token is signed by a key that nobody knows, so the resource refuses it.
#[derive(Debug)]
pub(crate) struct UnverifiableToken;

impl Deception for UnverifiableToken {
    fn permits(&self, what: Permit) -> bool {
        what == Permit::ForeignSignature
    }
}
