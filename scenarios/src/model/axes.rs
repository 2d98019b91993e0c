//! The axes along which a scenario becomes cases: subject, transport and revision.

pub use ::evidence::{Revision, Transport};
use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

/// The program under test.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "kebab-case")]
pub enum Subject {
    /// A client, which is run against mock servers.
    Client,
    /// A server.
    Server,
}
