//! The resource refuses good tokens as invalid.

use super::{Deception, Permit};

/// The resource refuses good tokens as invalid.
#[derive(Debug)]
pub(crate) struct TokensRejected;

impl Deception for TokensRejected {
    fn permits(&self, what: Permit) -> bool {
        what == Permit::RejectToken
    }
}
