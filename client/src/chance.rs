//! Chance that is good enough to spread clients, and for nothing else.

use std::hash::{BuildHasher as _, RandomState};

/// Something between 0 and 1 that another process does not draw too. The standard library seeds its hashers so.
pub(crate) fn draw() -> f64 {
    let bits = u32::try_from(RandomState::new().hash_one(0_u8) >> 32).unwrap_or_default();
    f64::from(bits) / f64::from(u32::MAX)
}
