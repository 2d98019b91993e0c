//! What nobody can guess: states, verifiers, ids and keys, from the operating system.

use base64::{Engine as _, engine::general_purpose::URL_SAFE_NO_PAD as BASE64};

/// Random bytes.
pub(super) fn bytes<const N: usize>() -> [u8; N] {
    let mut bytes = [0; N];
    getrandom::fill(&mut bytes).expect("the operating system has random bytes, or nothing here is safe");
    bytes
}

/// 256 random bits as text: 43 characters that are safe in URLs, the least that a code verifier may have (RFC 7636,
/// section 4.1).
pub(super) fn text() -> String {
    BASE64.encode(bytes::<32>())
}
