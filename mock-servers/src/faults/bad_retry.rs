//! A `retry` that is no number of milliseconds, or an absurd one (HTML, server-sent events, interpretation): clients
//! have to ignore the one and to bound the other.

use super::Framed;

pub(super) fn reframe(text: &str, framed: &mut Framed) {
    if framed.event {
        framed.insert(0, format!("retry: {text}\n").as_bytes());
    }
}
