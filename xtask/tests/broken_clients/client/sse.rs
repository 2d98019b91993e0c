//! The messages in a stream of server-sent events (HTML Living Standard, 9.2.6), as far as a client of the protocol needs.

/// Puts events together from whatever pieces the bytes come in.
#[derive(Default)]
pub(crate) struct Events {
    rest: Vec<u8>,
    data: Vec<String>,
}

impl Events {
    /// Takes in some bytes; gives the data of the events that are complete with them.
    pub(crate) fn push(&mut self, bytes: &[u8]) -> Vec<String> {
        self.rest.extend_from_slice(bytes);
        let mut complete = Vec::new();
        while let Some(end) = self.rest.iter().position(|byte| *byte == b'\n') {
            let line: Vec<u8> = self.rest.drain(..=end).collect();
            let line = String::from_utf8_lossy(&line);
            let line = line.trim_end_matches(['\n', '\r']);
            if let Some(data) = line.strip_prefix("data:") {
                self.data.push(data.strip_prefix(' ').unwrap_or(data).to_owned());
            } else if line.is_empty() && !self.data.is_empty() {
                complete.push(std::mem::take(&mut self.data).join("\n"));
            }
        }
        // An event without data is a sign of life, and no message.
        complete.retain(|data| !data.is_empty());
        complete
    }
}
