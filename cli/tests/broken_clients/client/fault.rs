//! Errors in the format of the contract.

use serde_json::{Value, json};

/// A reported error.
#[derive(Debug, Clone)]
pub(crate) struct Fault {
    /// The stable kind: `timed-out`, `rpc-error`.
    pub(crate) kind: &'static str,
    /// The message.
    pub(crate) message: String,
    /// JSON-RPC code of an error of the server.
    pub(crate) code: Option<i64>,
}

impl Fault {
    pub(crate) fn new(kind: &'static str, message: impl Into<String>) -> Self {
        Self { kind, message: message.into(), code: None }
    }

    /// The `error` member of a response.
    pub(crate) fn rpc(error: &Value) -> Self {
        let message = error["message"].as_str().unwrap_or("the server gave no message").to_owned();
        Self { kind: "rpc-error", message, code: error["code"].as_i64() }
    }

    /// The error in a report.
    pub(crate) fn to_json(&self) -> Value {
        let mut json = json!({ "kind": self.kind, "message": self.message });
        if let Some(code) = self.code {
            json["code"] = code.into();
        }
        json
    }
}
