//! Opaque cursors: tokens for positions in a list, which clients cannot forge.
//!
//! The same seed gives the same cursors, so that they stay valid after a restart.

use base64::{Engine as _, engine::general_purpose::URL_SAFE_NO_PAD};
use rand::{Rng, SeedableRng};
use rand_chacha::ChaCha8Rng;

/// Encodes and decodes the cursors of one server.
#[derive(Debug, Clone, Copy)]
pub(crate) struct Cursors {
    mask: u64,
    key: u64,
}

impl Cursors {
    pub(crate) fn new(seed: u64) -> Self {
        let mut random = ChaCha8Rng::seed_from_u64(seed);
        Self { mask: random.next_u64(), key: random.next_u64() }
    }

    /// The cursor of a position.
    pub(crate) fn encode(self, offset: usize) -> String {
        let mut bytes = [0; 16];
        bytes[..8].copy_from_slice(&(offset as u64 ^ self.mask).to_be_bytes());
        bytes[8..].copy_from_slice(&self.tag(offset).to_be_bytes());
        URL_SAFE_NO_PAD.encode(bytes)
    }

    /// The position of a cursor; `None` if this server did not create it.
    pub(crate) fn decode(self, cursor: &str) -> Option<usize> {
        let bytes: [u8; 16] = URL_SAFE_NO_PAD.decode(cursor).ok()?.try_into().ok()?;
        let whole = u128::from_be_bytes(bytes);
        let offset = usize::try_from((whole >> 64) as u64 ^ self.mask).ok()?;
        (self.tag(offset) == whole as u64).then_some(offset)
    }

    fn tag(self, offset: usize) -> u64 {
        ChaCha8Rng::seed_from_u64(self.key ^ offset as u64).next_u64()
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn reads_only_its_own_cursors() {
        let cursors = Cursors::new(1);
        let cursor = cursors.encode(20);
        assert_eq!(cursors.decode(&cursor), Some(20));
        assert_eq!(Cursors::new(1).encode(20), cursor, "the same seed makes the same cursors");
        assert_eq!(Cursors::new(2).decode(&cursor), None);
        for foreign in ["", "20", "MjA", "!", "AAAAAAAAAAAAAAAAAAAAAA"] {
            assert_eq!(cursors.decode(foreign), None, "{foreign:?}");
        }
    }
}
