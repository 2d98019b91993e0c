//! Converts results and errors of the client library to outcomes.

use client::{CallError, ConnectError, ConnectFailure, ListError, ListErrorKind, ToolResult};
use serde_json::Value;

use crate::{
    error_text::in_full,
    evidence::{Outcome, StepError},
};

/// The outcome of a step that could not be executed.
pub(super) fn step_error(kind: &str, message: impl Into<String>) -> Outcome {
    Outcome::Error(StepError { kind: kind.to_owned(), message: message.into(), code: None, detail: None })
}

pub(super) fn call_outcome(result: Result<ToolResult, CallError>) -> Outcome {
    match result {
        Ok(result) => Outcome::Value(Value::Object(result.wire().clone())),
        Err(error) => Outcome::Error(call_error(&error)),
    }
}

pub(super) fn list_error(error: &ListError) -> StepError {
    StepError { message: in_full(error), ..list_error_kind(&error.kind) }
}

pub(super) fn list_error_kind(error: &ListErrorKind) -> StepError {
    let code = match error {
        ListErrorKind::Request(error) => code(error),
        ListErrorKind::Page(_) => None,
    };
    StepError { kind: error.kind().to_owned(), message: in_full(error), code, detail: None }
}

pub(super) fn connect_error(error: &ConnectError) -> StepError {
    let code = match &*error.failure {
        ConnectFailure::Rpc { code, .. } => Some(*code),
        _ => None,
    };
    StepError { kind: error.kind().to_owned(), message: in_full(error), code, detail: None }
}

pub(super) fn call_error(error: &CallError) -> StepError {
    StepError { kind: contract_kind(error.kind()).to_owned(), message: in_full(error), code: code(error), detail: None }
}

/// The kind of the contract: it has no different kinds for a missing login and for one that the server no longer accepts.
pub(super) fn contract_kind(kind: &str) -> &str {
    if kind == "login-required" { "needs-auth" } else { kind }
}

fn code(error: &CallError) -> Option<i64> {
    match error {
        CallError::Rpc { code, .. } => Some(*code),
        _ => None,
    }
}
