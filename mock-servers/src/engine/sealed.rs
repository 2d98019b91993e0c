//! Authenticated state that a client stores.
//!
//! A `requestState` is attacker-controlled input (2026-07-28, multi round-trip requests, server requirements), so it is
//! authenticated with HMAC-SHA256. It is not encrypted: a client can read it, but not change it. The key comes from the
//! seed, so that states stay valid after a restart.

use base64::{Engine as _, engine::general_purpose::URL_SAFE_NO_PAD};
use hmac::{Hmac, KeyInit, Mac};
use rand::{Rng, SeedableRng};
use rand_chacha::ChaCha8Rng;
use sha2::{Digest, Sha256};

/// Length of the tag in bytes.
const TAG: usize = 32;

/// Separates the key from other values of the same seed.
const PURPOSE: u64 = 0x7365_616c_6564_2121;

/// Seals and opens the states of one server.
#[derive(Clone)]
pub(crate) struct Seal {
    key: [u8; 32],
}

impl std::fmt::Debug for Seal {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.debug_struct("Seal").finish_non_exhaustive()
    }
}

impl Seal {
    pub(crate) fn new(seed: u64) -> Self {
        let mut random = ChaCha8Rng::seed_from_u64(seed ^ PURPOSE);
        let mut key = [0; 32];
        random.fill_bytes(&mut key);
        Self { key }
    }

    /// The encoded payload with its tag.
    pub(crate) fn close(&self, payload: &[u8]) -> String {
        let mut bytes = self.mac(payload).finalize().into_bytes().to_vec();
        bytes.extend_from_slice(payload);
        URL_SAFE_NO_PAD.encode(bytes)
    }

    /// The payload; `None` if this server did not seal it, or if a bit has changed.
    pub(crate) fn open(&self, sealed: &str) -> Option<Vec<u8>> {
        let bytes = URL_SAFE_NO_PAD.decode(sealed).ok()?;
        let (tag, payload) = bytes.split_at_checked(TAG)?;
        self.mac(payload).verify_slice(tag).ok()?;
        Some(payload.to_vec())
    }

    fn mac(&self, payload: &[u8]) -> Hmac<Sha256> {
        let mac = <Hmac<Sha256> as KeyInit>::new_from_slice(&self.key).expect("HMAC takes a key of any length");
        mac.chain_update(payload)
    }
}

/// The SHA-256 digest of these bytes, in hexadecimal.
pub(crate) fn digest(bytes: &[u8]) -> String {
    Sha256::digest(bytes).iter().map(|byte| format!("{byte:02x}")).collect()
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;

    use super::*;

    #[test]
    fn opens_only_what_it_has_sealed() {
        let seal = Seal::new(1);
        let sealed = seal.close(b"state");
        assert_eq!(seal.open(&sealed).as_deref(), Some(b"state".as_slice()));
        assert_eq!(Seal::new(1).close(b"state"), sealed, "the same seed makes the same seal");
        assert_eq!(Seal::new(2).open(&sealed), None, "another server's state is foreign");
        for foreign in ["", "state", "AAAA", &format!("{sealed}-TAMPERED"), &format!(" {sealed}"), &sealed[1..]] {
            assert_eq!(seal.open(foreign), None, "{foreign:?}");
        }
    }

    proptest! {
        #![proptest_config(ProptestConfig { failure_persistence: None, cases: 256, ..ProptestConfig::default() })]

        #[test]
        fn any_changed_byte_is_refused(
            payload in prop::collection::vec(any::<u8>(), 0..64),
            at in any::<prop::sample::Index>(),
            byte in any::<u8>(),
        ) {
            let seal = Seal::new(7);
            let sealed = seal.close(&payload);
            prop_assert_eq!(seal.open(&sealed), Some(payload));
            let mut changed = sealed.clone().into_bytes();
            let at = at.index(changed.len());
            changed[at] = byte;
            if let Ok(changed) = String::from_utf8(changed) {
                prop_assume!(changed != sealed);
                prop_assert_eq!(seal.open(&changed), None);
            }
            prop_assert_eq!(seal.open(&sealed[..at]), None, "a shortened state is no state");
        }
    }
}
