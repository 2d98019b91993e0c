//! The refresh token that is issued is good for nothing.

use super::{Deception, Permit};

/// The refresh token that is issued is good for nothing.
#[derive(Debug)]
pub(crate) struct DeadRefreshToken;

impl Deception for DeadRefreshToken {
    fn permits(&self, what: Permit) -> bool {
        what == Permit::DeadRefresh
    }
}
