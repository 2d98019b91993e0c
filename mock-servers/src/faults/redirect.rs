//! HTTP redirects, to the same origin and to another. A client must not carry its credentials to another origin
//! (RFC 9110, section 15.4).

use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

use super::{HttpStatus, Turn};

/// An HTTP redirect.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields, default, rename_all = "snake_case")]
pub struct Redirect {
    /// The status; 307 if absent, which keeps the method and the body, as 308 does and 301, 302 and 303 do not.
    pub status: u16,
    /// Where to.
    pub to: To,
}

/// Where a redirect leads.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "kebab-case")]
pub enum To {
    /// This path on the server itself: `/mcp?again`, say.
    SameOrigin(String),
    /// This path on the server itself under its other name, which makes it another origin: `localhost` for
    /// `127.0.0.1`, and the other way round.
    OtherOrigin(String),
    /// This `Location`, word for word.
    Location(String),
}

impl Default for Redirect {
    fn default() -> Self {
        Self { status: 307, to: To::SameOrigin("/mcp".to_owned()) }
    }
}

impl Redirect {
    pub(super) fn turn(&self, host: Option<&str>) -> Turn {
        HttpStatus::with_header(self.status, "location", self.location(host)).turn()
    }

    fn location(&self, host: Option<&str>) -> String {
        let host = host.unwrap_or("127.0.0.1");
        match &self.to {
            To::SameOrigin(path) => format!("http://{host}{path}"),
            To::OtherOrigin(path) => format!("http://{}{path}", alias(host)),
            To::Location(location) => location.clone(),
        }
    }
}

/// The same machine under another name.
fn alias(host: &str) -> String {
    let (name, port) = match host.rsplit_once(':') {
        Some((name, port)) if port.bytes().all(|byte| byte.is_ascii_digit()) => (name, format!(":{port}")),
        _ => (host, String::new()),
    };
    let other = if name.eq_ignore_ascii_case("localhost") { "127.0.0.1" } else { "localhost" };
    format!("{other}{port}")
}
