//! Events without an `id`: a stream that cannot be resumed (2025-03-26 to 2025-11-25, transports, resumability).

use super::Framed;

pub(super) fn reframe(framed: &mut Framed) {
    if framed.event {
        framed.rewrite_envelope(|part| {
            let lines = part.split_inclusive(|byte| *byte == b'\n');
            lines.filter(|line| !line.starts_with(b"id:")).flatten().copied().collect()
        });
    }
}
