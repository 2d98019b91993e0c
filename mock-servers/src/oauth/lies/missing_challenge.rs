//! A refusal comes without `WWW-Authenticate`, so clients have to find the metadata themselves.

use super::Deception;
use crate::oauth::guard::Challenge;

/// A refusal comes without `WWW-Authenticate`, so clients have to find the metadata themselves.
#[derive(Debug)]
pub(crate) struct MissingChallenge;

impl Deception for MissingChallenge {
    fn challenge(&self, challenge: &mut Challenge) {
        challenge.replace(None);
    }
}
