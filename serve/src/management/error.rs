//! Errors of the API: HTTP status, stable kind, message and help.

use axum::{
    Json,
    extract::Request,
    response::{IntoResponse, Response},
};
use client::{
    ConnectFailure,
    auth::AuthError,
    manager::{ServerError, StartError, UseError},
};
use http::StatusCode;
use serde::Serialize;
use utoipa::ToSchema;

use crate::error::{ToolError, error_chain};

/// Body of an error response.
#[derive(Debug, Serialize, ToSchema)]
pub(super) struct ErrorBody {
    error: ErrorDetail,
}

/// An error.
#[derive(Debug, Serialize, ToSchema)]
struct ErrorDetail {
    /// Stable name of the kind of error.
    kind: String,
    /// Message with its causes.
    message: String,
    /// What to do.
    #[serde(skip_serializing_if = "Option::is_none")]
    help: Option<String>,
}

/// An error response.
#[derive(Debug)]
pub(super) struct ApiError {
    status: StatusCode,
    error: Box<ToolError>,
}

impl ApiError {
    pub(super) fn new(status: StatusCode, kind: &str, message: impl Into<String>) -> Self {
        Self { status, error: Box::new(ToolError::new(kind, message)) }
    }

    pub(super) fn from_error(status: StatusCode, error: ToolError) -> Self {
        Self { status, error: Box::new(error) }
    }

    pub(super) fn with_help(mut self, help: impl Into<String>) -> Self {
        self.error.help = Some(help.into());
        self
    }

    /// Invalid configuration of a server.
    pub(super) fn config(message: impl Into<String>) -> Self {
        Self::new(StatusCode::BAD_REQUEST, "invalid-config", message)
            .with_help("/openapi.json describes the configuration, as `ServerEntry`")
    }

    pub(super) fn unknown_server(name: &str) -> Self {
        Self::new(StatusCode::NOT_FOUND, "unknown-server", format!("unknown server `{name}`"))
            .with_help("`GET /mcp` lists the servers, `POST /mcp` adds one")
    }

    #[cfg(test)]
    pub(super) fn message(&self) -> &str {
        &self.error.message
    }

    /// Changes message and help.
    pub(super) fn map(mut self, change: impl Fn(String) -> String) -> Self {
        self.error.message = change(std::mem::take(&mut self.error.message));
        self.error.help = self.error.help.map(change);
        self
    }
}

impl From<ServerError> for ApiError {
    fn from(error: ServerError) -> Self {
        let (status, help) = match &error {
            ServerError::Unknown { server } => return Self::unknown_server(server),
            ServerError::Disabled { .. } => (StatusCode::CONFLICT, "add it again with `enabled: true`".to_owned()),
            ServerError::Start(start) => (StatusCode::BAD_GATEWAY, help(&start.failure).to_owned()),
            ServerError::GaveUp { .. } => (StatusCode::BAD_GATEWAY, "fix the server and connect again".to_owned()),
            _ => (StatusCode::CONFLICT, "connect again".to_owned()),
        };
        Self::from_error(status, ToolError::new(error.kind(), message(&error)).with_help(help))
    }
}

/// The message with its causes. The chain of sources does not reach through the shared start error.
fn message(error: &ServerError) -> String {
    match error {
        ServerError::Start(start) => error_chain(&**start),
        error => error_chain(error),
    }
}

fn help(failure: &ConnectFailure) -> &'static str {
    match failure {
        ConnectFailure::Auth { .. } | ConnectFailure::NeedsAuth { .. } => {
            "log in with `POST /mcp/{name}/auth/authenticate`, or with `POST /mcp/{name}/auth` and another browser"
        }
        ConnectFailure::Spawn { .. } => "check the command, and that it is in PATH",
        ConnectFailure::StartupTimeout { .. } => "set a longer `timeout` for a server that starts slowly",
        _ => "run `mcp-workbench validate` for a detailed diagnosis",
    }
}

impl From<StartError> for ApiError {
    fn from(error: StartError) -> Self {
        Self::from_error(StatusCode::CONFLICT, ToolError::from_error("not-started", &error))
    }
}

impl From<UseError> for ApiError {
    fn from(error: UseError) -> Self {
        match error {
            UseError::Server(error) => error.into(),
            error => Self::from_error(StatusCode::BAD_GATEWAY, ToolError::from_error(error.kind(), &error)),
        }
    }
}

impl From<AuthError> for ApiError {
    fn from(error: AuthError) -> Self {
        Self::from_error(StatusCode::BAD_GATEWAY, error.into())
    }
}

impl IntoResponse for ApiError {
    fn into_response(self) -> Response {
        let ToolError { kind, message, help } = *self.error;
        (self.status, Json(ErrorBody { error: ErrorDetail { kind, message, help } })).into_response()
    }
}

pub(super) async fn no_route(request: Request) -> ApiError {
    ApiError::new(StatusCode::NOT_FOUND, "unknown-path", format!("unknown path `{}`", request.uri().path()))
        .with_help("/openapi.json describes all paths")
}

pub(super) async fn no_method(request: Request) -> ApiError {
    let message = format!("method `{}` is not supported at `{}`", request.method(), request.uri().path());
    ApiError::new(StatusCode::METHOD_NOT_ALLOWED, "unknown-method", message)
        .with_help("/openapi.json describes all paths")
}
