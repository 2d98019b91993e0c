//! Server-sent events in the body of a response.

/// Reads the events of a body that grows.
#[derive(Debug, Default)]
pub(super) struct EventReader {
    /// Start of the part of the body that was not searched for events.
    searched: usize,
    /// The data of an event that is not complete.
    event: Vec<u8>,
}

impl EventReader {
    /// The data of the next complete event.
    pub(super) fn next(&mut self, body: &[u8]) -> Option<Vec<u8>> {
        while let Some(length) = memchr::memchr(b'\n', &body[self.searched..]) {
            let line = &body[self.searched..self.searched + length];
            self.searched += length + 1;
            let line = line.strip_suffix(b"\r").unwrap_or(line);
            if line.is_empty() {
                if !self.event.is_empty() {
                    return Some(std::mem::take(&mut self.event));
                }
            } else if let Some(data) = line.strip_prefix(b"data:") {
                // Lines of one event are joined by a line feed (HTML, server-sent events, "Interpreting an event stream").
                if !self.event.is_empty() {
                    self.event.push(b'\n');
                }
                self.event.extend_from_slice(data.strip_prefix(b" ").unwrap_or(data));
            }
        }
        None
    }

    /// Prepares for the next body.
    pub(super) fn reset(&mut self) {
        self.searched = 0;
        self.event.clear();
    }
}
