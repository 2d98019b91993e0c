//! Two authorization responses carry the same code.

use super::{Deception, Permit};

/// Two authorization responses carry the same code.
#[derive(Debug)]
pub(crate) struct SameCode;

impl Deception for SameCode {
    fn permits(&self, what: Permit) -> bool {
        what == Permit::SameCode
    }
}
