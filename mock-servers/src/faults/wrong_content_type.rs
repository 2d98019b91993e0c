//! An answer under a content type that is not its own, or not one of the two that the protocol has (2025-03-26 and
//! later, transports, sending messages). What HTTP cannot express is left out.

/// The value as a header.
pub(super) fn header(text: &str) -> Option<http::HeaderValue> {
    http::HeaderValue::from_str(text).ok()
}
