//! Random states, verifiers, ids and keys from the operating system.

use base64::{Engine as _, engine::general_purpose::URL_SAFE_NO_PAD as BASE64};

/// Random bytes.
pub(super) fn bytes<const N: usize>() -> [u8; N] {
    let mut bytes = [0; N];
    getrandom::fill(&mut bytes).expect("random bytes of the operating system");
    bytes
}

/// 256 random bits as 43 URL-safe characters, the minimum length of a code verifier (RFC 7636, section 4.1).
pub(super) fn text() -> String {
    BASE64.encode(bytes::<32>())
}
