//! Errors of the API: HTTP status, stable kind, message and help.

use agent::{
    config::ServerLookupError,
    host::{Exclusion, ExpandError, HostError},
    permissions::{Decider, PermissionDecision, RuleErrors},
    prompts::PromptError,
    resources::RequestError,
};
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

/// What to do about `needs_auth`.
pub(super) const LOGIN_HELP: &str =
    "log in with `POST /mcp/{name}/auth/authenticate`, or with `POST /mcp/{name}/auth` and another browser";

/// What to do about `needs_client_registration`.
pub(super) const REGISTRATION_HELP: &str = "register a client at the authorization server, add the server again with \
     `POST /mcp` and `oauth: {\"clientId\": …}`, and log in";

/// Body of an error response.
#[derive(Debug, Serialize, ToSchema)]
pub(super) struct ErrorBody {
    error: ErrorDetail,
}

/// An error.
#[derive(Debug, Serialize, ToSchema)]
pub(super) struct ErrorDetail {
    /// Stable name of the kind of error.
    kind: String,
    /// Message with its causes.
    message: String,
    /// What to do.
    #[serde(skip_serializing_if = "Option::is_none")]
    help: Option<String>,
}

impl From<ToolError> for ErrorDetail {
    fn from(ToolError { kind, message, help }: ToolError) -> Self {
        Self { kind, message, help }
    }
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

    /// A configured server that cannot be used.
    pub(super) fn excluded(name: &str, exclusion: &Exclusion) -> Self {
        match exclusion {
            Exclusion::Policy(reason) => Self::new(
                StatusCode::FORBIDDEN,
                "not-allowed",
                format!("the policy does not allow server `{name}`: {reason}"),
            )
            .with_help("ask the administrator of this machine"),
            Exclusion::Config(error) => error.clone().into(),
        }
    }

    pub(super) fn unknown_server(name: &str) -> Self {
        Self::new(StatusCode::NOT_FOUND, "unknown-server", format!("unknown server `{name}`"))
            .with_help("`GET /mcp` lists the servers, `POST /mcp` adds one")
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
            ServerError::LoginOver { .. } => (StatusCode::BAD_GATEWAY, LOGIN_HELP.to_owned()),
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
        ConnectFailure::Auth { source } if source.kind() == "client-registration-required" => REGISTRATION_HELP,
        ConnectFailure::Auth { .. } | ConnectFailure::NeedsAuth { .. } => LOGIN_HELP,
        ConnectFailure::Spawn { .. } => "check the command, and that it is in PATH",
        ConnectFailure::StartupTimeout { .. } => "set a longer `startupTimeoutMs` for a server that starts slowly",
        _ => "run `mcp-workbench validate` for a detailed diagnosis",
    }
}

impl From<StartError> for ApiError {
    fn from(error: StartError) -> Self {
        Self::from_error(StatusCode::CONFLICT, ToolError::from_error("not-started", &error))
    }
}

impl From<&UseError> for ApiError {
    fn from(error: &UseError) -> Self {
        match error {
            UseError::Server(error) => error.clone().into(),
            error => Self::from_error(StatusCode::BAD_GATEWAY, ToolError::from_error(error.kind(), error)),
        }
    }
}

impl From<AuthError> for ApiError {
    fn from(error: AuthError) -> Self {
        let needs_client = error.kind() == "client-registration-required";
        let error = Self::from_error(StatusCode::BAD_GATEWAY, error.into());
        if needs_client { error.with_help(REGISTRATION_HELP) } else { error }
    }
}

impl From<ServerLookupError> for ApiError {
    /// The message contains the line of each error.
    fn from(error: ServerLookupError) -> Self {
        let problems = error.problems().into_iter().map(ToString::to_string);
        let message = std::iter::once(error.to_string()).chain(problems).collect::<Vec<_>>().join("\n");
        Self::config(message)
    }
}

impl From<RuleErrors> for ApiError {
    fn from(errors: RuleErrors) -> Self {
        Self::config(format!("invalid permission rules: {errors}"))
    }
}

impl From<HostError> for ApiError {
    fn from(error: HostError) -> Self {
        let (status, help) = match &error {
            HostError::Use(error) => return (&**error).into(),
            HostError::UnknownTool { nearest: Some(nearest), .. } => {
                (StatusCode::NOT_FOUND, format!("did you mean `{nearest}`?"))
            }
            HostError::UnknownTool { nearest: None, .. } => {
                (StatusCode::NOT_FOUND, "`GET /tools` lists the tools of all servers".to_owned())
            }
            HostError::Stale { .. } => {
                (StatusCode::CONFLICT, "read the definition with `GET /tools`, and call again".to_owned())
            }
            HostError::NotAllowed { .. } => (StatusCode::FORBIDDEN, "ask the administrator of this machine".to_owned()),
            HostError::Denied { outcome, .. } => {
                (StatusCode::FORBIDDEN, denial_help(&outcome.explanation.decider).to_owned())
            }
            HostError::Search(_) => (StatusCode::BAD_REQUEST, "see the definition of the tool".to_owned()),
        };
        Self::from_error(status, ToolError::from_error(error.kind(), &error).with_help(help))
    }
}

/// What changes a denial.
fn denial_help(decider: &Decider) -> &'static str {
    match decider {
        Decider::Rule { step, .. } if step.decision() == PermissionDecision::Ask => {
            "ask the user, and repeat the request with `approve: true`"
        }
        Decider::Rule { .. } | Decider::Default => "change the rules of the configuration",
        Decider::InvalidRules => "correct the errors of the configuration; `mcp-workbench client list` shows them",
    }
}

impl From<RequestError> for ApiError {
    fn from(error: RequestError) -> Self {
        match error {
            RequestError::Server(error) => error.into(),
            error => Self::from_error(StatusCode::BAD_GATEWAY, ToolError::from_error(error.kind(), &error)),
        }
    }
}

impl From<ExpandError> for ApiError {
    fn from(ExpandError::Prompt(error): ExpandError) -> Self {
        match error {
            PromptError::Request(error) => error.into(),
            PromptError::Command(error) => {
                let error = ToolError::from_error("invalid-command", &error);
                Self::from_error(StatusCode::BAD_REQUEST, error.with_help("`GET /prompts` lists the prompts"))
            }
        }
    }
}

impl IntoResponse for ApiError {
    fn into_response(self) -> Response {
        (self.status, Json(ErrorBody { error: (*self.error).into() })).into_response()
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
