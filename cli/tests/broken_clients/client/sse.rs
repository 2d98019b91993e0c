//! The messages in a stream of server-sent events (HTML Living Standard, 9.2.6), as far as an MCP client needs them.

use std::time::Duration;

use super::defect::{Defect, Flaw};

/// Joins events from pieces of any size.
#[derive(Default)]
pub(crate) struct Events {
    rest: Vec<u8>,
    data: Vec<String>,
    /// ID of the incomplete event.
    id: Option<String>,
    /// ID of the last complete event, from which to resume.
    pub(crate) last_id: Option<String>,
    /// Delay before a reconnect that the server requested.
    pub(crate) retry: Option<Duration>,
    flaw: Flaw,
    /// Whether the incomplete event has a type.
    is_typed: bool,
    /// Whether the last line ended with a carriage return, to which a line feed belongs.
    after_return: bool,
    /// Whether the stream is not read further, with a defect.
    failed: bool,
}

impl Events {
    pub(crate) fn new(flaw: Flaw) -> Self {
        Self { flaw, ..Self::default() }
    }

    /// Number of bytes of the incomplete event.
    pub(crate) fn pending(&self) -> usize {
        self.rest.len() + self.data.iter().map(String::len).sum::<usize>()
    }

    /// Discards the incomplete event of the previous stream.
    pub(crate) fn restart(&mut self) {
        self.rest.clear();
        self.data.clear();
        self.id = None;
        self.after_return = false;
    }

    /// Adds bytes, and returns the data of the events that they complete.
    pub(crate) fn push(&mut self, bytes: &[u8]) -> Vec<String> {
        self.rest.extend_from_slice(bytes);
        let mut complete = Vec::new();
        let ends: &[u8] = if self.flaw.is(Defect::ReadsOnlyLineFeeds) { b"\n" } else { b"\n\r" };
        while let Some(end) = self.rest.iter().position(|byte| ends.contains(byte)) {
            let mut line: Vec<u8> = self.rest.drain(..=end).collect();
            let is_feed = line.pop() == Some(b'\n');
            let is_rest = is_feed && line.is_empty() && self.after_return;
            self.after_return = !is_feed;
            if is_rest {
                continue;
            }
            let line = match self.flaw.is(Defect::ReadsLatin1) {
                true => line.iter().map(|byte| char::from(*byte)).collect(),
                false => String::from_utf8_lossy(&line),
            };
            self.failed |= line.starts_with(':') && self.flaw.is(Defect::FailsOnComments);
            if self.failed {
                continue;
            }
            if let Some(data) = line.strip_prefix("data:") {
                if self.flaw.is(Defect::TakesLastDataLine) {
                    self.data.clear();
                }
                match data.strip_prefix(' ') {
                    Some(data) => self.data.push(data.to_owned()),
                    None if self.flaw.is(Defect::NeedsSpacesInEvents) => {}
                    None => self.data.push(data.to_owned()),
                }
            } else if let Some(id) = line.strip_prefix("id:") {
                self.id = Some(id.trim().to_owned());
            } else if line.starts_with("event:") {
                self.is_typed = true;
            } else if let Some(retry) = line.strip_prefix("retry:") {
                let known = self.retry.filter(|_| self.flaw.is(Defect::KeepsFirstRetry));
                self.retry = known.or_else(|| retry.trim().parse().ok().map(Duration::from_millis));
            } else if line.is_empty() {
                // Only a complete event counts as received.
                self.last_id = self.id.take().or(self.last_id.take());
                let is_typed = std::mem::take(&mut self.is_typed) || !self.flaw.is(Defect::NeedsEventTypes);
                if !self.data.is_empty() && is_typed {
                    complete.push(self.data.join("\n"));
                }
                self.data.clear();
            }
        }
        // An event without data is not a message.
        complete.retain(|data| !data.is_empty());
        complete
    }
}
