//! A failed call: its kind, which is counted, and a text, of which a sample is kept.

use std::borrow::Cow;

/// Maximum length of the text and of the frame of a failure, in bytes.
const MAX_TEXT: usize = 2_000;

/// A call that failed.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct CallFailure {
    /// A short, stable name. Failures are counted by kind.
    pub kind: Cow<'static, str>,
    /// What happened.
    pub text: String,
    /// The response, if there was one, truncated.
    pub frame: Option<String>,
}

impl CallFailure {
    /// A failure without a response.
    pub fn new(kind: impl Into<Cow<'static, str>>, text: impl Into<String>) -> Self {
        let mut text = text.into();
        if text.len() > MAX_TEXT {
            // Byte 0 is a boundary, so there always is one.
            let end = (0..=MAX_TEXT).rev().find(|end| text.is_char_boundary(*end)).unwrap_or(0);
            text.truncate(end);
        }
        Self { kind: kind.into(), text, frame: None }
    }

    /// Adds the response.
    #[must_use]
    pub fn with_frame(mut self, frame: &[u8]) -> Self {
        let part = String::from_utf8_lossy(&frame[..frame.len().min(MAX_TEXT)]);
        self.frame = Some(if frame.len() > MAX_TEXT { format!("{part}…") } else { part.into_owned() });
        self
    }
}

impl From<String> for CallFailure {
    fn from(kind: String) -> Self {
        Self { kind: kind.into(), text: String::new(), frame: None }
    }
}
