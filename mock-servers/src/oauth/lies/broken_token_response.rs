//! The token response is no JSON, though its status and its type say so.

use super::Deception;
use crate::oauth::answer::Answer;

/// The token response is no JSON, though its status and its type say so.
#[derive(Debug)]
pub(crate) struct BrokenTokenResponse;

impl Deception for BrokenTokenResponse {
    fn token_answer(&self, answer: &mut Answer) {
        answer.body.truncate(answer.body.len() / 2);
    }
}
