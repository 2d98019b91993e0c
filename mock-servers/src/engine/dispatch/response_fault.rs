//! Faults that act on the messages of a dispatch.

use rand::Rng;
use rand_chacha::ChaCha8Rng;

use crate::faults::{AppliedFault, Fault};

/// A fault that acts on the messages of a dispatch.
#[derive(Debug, Clone)]
pub(crate) struct ResponseFault {
    pub(crate) fault: Fault,
    pub(crate) random: ChaCha8Rng,
    /// Number of messages that it acted on.
    passed: u64,
}

impl ResponseFault {
    pub(crate) fn new(fault: Fault, random: ChaCha8Rng) -> Self {
        Self { fault, random, passed: 0 }
    }

    pub(crate) fn applies(&self, is_response: bool) -> bool {
        is_response || !self.fault.is_for_responses()
    }

    /// The change of the bytes of the next message, if there is one.
    pub(crate) fn applied(&mut self, is_response: bool) -> Option<AppliedFault> {
        if !self.fault.changes_bytes() || !self.applies(is_response) {
            return None;
        }
        self.passed += 1;
        if self.fault.hooks().keeps_bytes(self.passed, is_response) {
            return None;
        }
        Some(AppliedFault { fault: self.fault.clone(), seed: self.random.next_u64() })
    }
}
