//! Random numbers for jitter. Not suitable for cryptography.

use std::hash::{BuildHasher as _, RandomState};

/// A number between 0 and 1, from the seed of the standard library's hashers.
pub(crate) fn draw() -> f64 {
    let bits = u32::try_from(RandomState::new().hash_one(0_u8) >> 32).unwrap_or_default();
    f64::from(bits) / f64::from(u32::MAX)
}
