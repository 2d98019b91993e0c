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
    /// The revisions that the server supports, if it rejected that of the request.
    pub(crate) supported: Vec<String>,
}

impl Fault {
    pub(crate) fn new(kind: &'static str, message: impl Into<String>) -> Self {
        Self { kind, message: message.into(), code: None, supported: vec![] }
    }

    /// The `error` member of a response.
    pub(crate) fn rpc(error: &Value) -> Self {
        let message = error["message"].as_str().unwrap_or("the server gave no message").to_owned();
        let supported = error["data"]["supported"].as_array().into_iter().flatten();
        let supported = supported.filter_map(|revision| revision.as_str().map(str::to_owned)).collect();
        Self { kind: "rpc-error", message, code: error["code"].as_i64(), supported }
    }

    /// Whether the server rejected the revision of a request, and supports this one.
    pub(crate) fn supports(&self, revision: &str) -> bool {
        self.code == Some(-32022) && self.supported.iter().any(|supported| supported == revision)
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
