//! A token is bound to nothing though the client proved its key (RFC 9449 section 5).

use super::{Deception, Permit};

/// A token is bound to nothing though the client proved its key (RFC 9449 section 5).
#[derive(Debug)]
pub(crate) struct UnboundToken;

impl Deception for UnboundToken {
    fn permits(&self, what: Permit) -> bool {
        what == Permit::UnboundToken
    }
}
