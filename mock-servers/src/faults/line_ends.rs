//! Lines that end otherwise. For events all three ways are good (HTML, server-sent events, parsing), and a client has to
//! know them; over stdio messages are separated by line feeds (all revisions, transports).

use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

use super::Framed;

/// How a line ends.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "kebab-case")]
pub enum LineEnd {
    /// By a line feed.
    Lf,
    /// By a carriage return and a line feed.
    Crlf,
    /// By a carriage return. Over stdio that is no end of a message, so it is meant for events.
    Cr,
}

impl LineEnd {
    pub(super) fn reframe(self, framed: &mut Framed) {
        let end: &[u8] = match self {
            Self::Lf => b"\n",
            Self::Crlf => b"\r\n",
            Self::Cr => b"\r",
        };
        framed.rewrite_envelope(|part| {
            part.iter().flat_map(|byte| if *byte == b'\n' { end.to_vec() } else { vec![*byte] }).collect()
        });
    }
}
