//! The messages in a stream of server-sent events (HTML Living Standard, 9.2.6), as far as a client of the protocol needs.

use std::time::Duration;

/// Puts events together from whatever pieces the bytes come in.
#[derive(Default)]
pub(crate) struct Events {
    rest: Vec<u8>,
    data: Vec<String>,
    /// What the event that is not complete is called.
    id: Option<String>,
    /// The last complete event that said what it is called: where to go on after a break.
    pub(crate) last_id: Option<String>,
    /// How long the server asks to wait before coming back.
    pub(crate) retry: Option<Duration>,
}

impl Events {
    /// How many bytes of an event have come that is not complete.
    pub(crate) fn pending(&self) -> usize {
        self.rest.len() + self.data.iter().map(String::len).sum::<usize>()
    }

    /// A new stream begins: what the last one left behind is no event.
    pub(crate) fn restart(&mut self) {
        self.rest.clear();
        self.data.clear();
        self.id = None;
    }

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
            } else if let Some(id) = line.strip_prefix("id:") {
                self.id = Some(id.trim().to_owned());
            } else if let Some(retry) = line.strip_prefix("retry:") {
                self.retry = retry.trim().parse().ok().map(Duration::from_millis);
            } else if line.is_empty() {
                // Only an event that is complete counts as received.
                self.last_id = self.id.take().or(self.last_id.take());
                if !self.data.is_empty() {
                    complete.push(std::mem::take(&mut self.data).join("\n"));
                }
            }
        }
        // An event without data is a sign of life, and no message.
        complete.retain(|data| !data.is_empty());
        complete
    }
}
