//! A byte order mark before the JSON text, which JSON forbids to add (RFC 8259, section 8.1).

/// The mark in UTF-8.
const MARK: [u8; 3] = [0xef, 0xbb, 0xbf];

pub(super) fn respell(payload: &mut Vec<u8>) {
    payload.splice(0..0, MARK);
}
