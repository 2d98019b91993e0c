//! Any code verifier is accepted, also none: whoever steals a code can use it.

use super::{Deception, Permit};

/// Any code verifier is accepted, also none: whoever steals a code can use it.
#[derive(Debug)]
pub(crate) struct IgnoredVerifier;

impl Deception for IgnoredVerifier {
    fn permits(&self, what: Permit) -> bool {
        what == Permit::AnyVerifier
    }
}
