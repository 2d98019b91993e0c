//! A code can be used again, which it must not be (RFC 6749 section 4.1.2).

use super::{Deception, Permit};

/// A code can be used again, which it must not be (RFC 6749 section 4.1.2).
#[derive(Debug)]
pub(crate) struct CodeAcceptedTwice;

impl Deception for CodeAcceptedTwice {
    fn permits(&self, what: Permit) -> bool {
        what == Permit::UsedCode
    }
}
