//! What a good server would not do.

use std::collections::BTreeMap;

use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

use crate::period::Period;

/// Something that a good server would not do.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "kebab-case")]
pub enum Fault {
    /// Never answer.
    Silence,
    /// Wait, then go on with the next action.
    Delay(Period),
    /// Write this text where a message belongs, then go on.
    Garbage(String),
    /// Answer under an id that nobody asked with, and never under the right one.
    WrongId,
    /// Answer by default, twice.
    Duplicate,
    /// Close the connection without an answer: standard output over stdio, the exchange over HTTP.
    Close,
    /// End the server's process without an answer (over HTTP: close every connection and refuse new ones).
    Exit(Exit),
    /// Answer with this HTTP status instead of a JSON-RPC message (over stdio: as `silence`).
    HttpStatus(HttpStatus),
    /// Send only the first bytes of the default answer, then close the connection.
    Truncate(usize),
    /// Wait, then go on with the next action, and answer even if the request is cancelled meanwhile.
    LateReply(Period),
}

/// How the server's process ends.
#[derive(Debug, Clone, Default, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields, default)]
pub struct Exit {
    /// The exit code.
    pub code: u8,
    /// Whether it dies by SIGKILL instead.
    pub kill: bool,
}

/// An HTTP answer that carries no JSON-RPC message.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub struct HttpStatus {
    /// The status, 200 to 599.
    pub status: u16,
    /// The headers.
    #[serde(default, skip_serializing_if = "BTreeMap::is_empty")]
    pub headers: BTreeMap<String, String>,
    /// The body.
    #[serde(default, skip_serializing_if = "String::is_empty")]
    pub body: String,
}
