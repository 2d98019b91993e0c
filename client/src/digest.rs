//! Telling secrets and long texts apart without keeping them.

use sha2::{Digest as _, Sha256};

/// A stand-in for a secret or a long text, which says no more than whether two are the same.
#[derive(Clone, Copy, PartialEq, Eq, Hash)]
pub(crate) struct Digest([u8; 32]);

impl Digest {
    /// Of several parts, in their order. Their lengths go in as well, so that no two lists of parts are one text.
    pub(crate) fn of(parts: impl IntoIterator<Item = impl AsRef<[u8]>>) -> Self {
        let mut hasher = Sha256::new();
        for part in parts {
            let part = part.as_ref();
            hasher.update(part.len().to_le_bytes());
            hasher.update(part);
        }
        Self(hasher.finalize().into())
    }
}

impl std::fmt::Debug for Digest {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        write!(f, "Digest({:02x}{:02x}…)", self.0[0], self.0[1])
    }
}
