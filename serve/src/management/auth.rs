//! Login routes.

use std::sync::Arc;

use axum::{
    Json,
    extract::{Path, Request, State},
};
use client::auth::Revocation;
use http::StatusCode;
use serde::{Deserialize, Serialize};
use utoipa::ToSchema;

use super::{
    Management,
    body::read,
    error::{ApiError, ErrorBody},
    login::Login,
    status::StatusView,
};

/// A started login.
#[derive(Debug, Serialize, ToSchema)]
#[serde(rename_all = "camelCase")]
pub(super) struct LoginStarted {
    /// URL to open in a browser.
    authorization_url: String,
}

/// The redirect of a browser: the complete URL, or its parameters.
#[derive(Debug, Deserialize, ToSchema)]
#[serde(deny_unknown_fields)]
pub(super) struct LoginCallback {
    /// Redirect URL. Excludes `code`.
    #[serde(default)]
    url: Option<String>,
    /// Parameter `code` of the redirect. Excludes `url`.
    #[serde(default)]
    code: Option<String>,
    /// Parameter `state` of the redirect; compared if given.
    #[serde(default)]
    state: Option<String>,
    /// Parameter `iss` of the redirect. Required if the authorization server sends it (RFC 9207).
    #[serde(default)]
    iss: Option<String>,
}

/// A removed login.
#[derive(Debug, Serialize, ToSchema)]
pub(super) struct LoginRemoved {
    /// Always true.
    success: bool,
    /// Whether credentials were stored.
    removed: bool,
    /// Result of the revocation: `done`, `not-offered`, `nothing` or `failed`.
    revocation: &'static str,
}

/// Starts a login and returns the URL to open in a browser. The browser is redirected to this machine, or the client posts
/// the redirect to `auth/callback`. An active login at this server is stopped.
#[utoipa::path(post, path = "/mcp/{name}/auth", params(("name" = String, Path, description = "The server")), responses(
    (status = 200, description = "URL to open in a browser", body = LoginStarted),
    (status = 400, description = "The server does not support login", body = ErrorBody),
    (status = 404, description = "Unknown server", body = ErrorBody),
    (status = 502, description = "The authorization server failed", body = ErrorBody),
))]
pub(super) async fn start(
    State(management): State<Management>,
    Path(name): Path<String>,
) -> Result<Json<LoginStarted>, ApiError> {
    let login = management.start_login(&name).await?;
    let authorization_url = login.page.to_string();
    let (waiting, ended) = (management.clone(), login.ended());
    // The browser may return without another request of the client.
    tokio::spawn(async move {
        tokio::select! {
            outcome = ended => if outcome.is_ok() { waiting.connect_after_login(&name).await },
            () = waiting.0.closing.cancelled() => {}
        }
    });
    Ok(Json(LoginStarted { authorization_url }))
}

/// Completes a login with the code or URL of the browser, and returns the status of the server.
#[utoipa::path(post, path = "/mcp/{name}/auth/callback", params(("name" = String, Path, description = "The server")),
    request_body = LoginCallback, responses(
    (status = 200, description = "Status of the server", body = StatusView),
    (status = 400, description = "The redirect does not belong to this login", body = ErrorBody),
    (status = 409, description = "No login is active", body = ErrorBody),
    (status = 502, description = "The authorization server rejected the login", body = ErrorBody),
))]
pub(super) async fn callback(
    State(management): State<Management>,
    Path(name): Path<String>,
    request: Request,
) -> Result<Json<StatusView>, ApiError> {
    let callback: LoginCallback = read(request).await?;
    management.login_server(&name)?;
    let login = management.logins().get(&name).cloned();
    let login = login.ok_or_else(|| {
        ApiError::new(StatusCode::CONFLICT, "no-login", format!("no login is active at server `{name}`"))
            .with_help("start one with `POST /mcp/{name}/auth`")
    })?;
    let url = match (&callback.url, &callback.code) {
        (Some(url), None) => url.clone(),
        (None, Some(code)) => login.callback_for_code(code, callback.state.as_deref(), callback.iss.as_deref()),
        _ => {
            return Err(ApiError::new(
                StatusCode::BAD_REQUEST,
                "invalid-body",
                "the body must have either `url` or `code`",
            ));
        }
    };
    login.complete(url).await.map_err(|error| management.error(&name, error))?;
    management.connect_after_login(&name).await;
    Ok(Json(management.status(&name)))
}

/// Logs in with a browser on this machine, and waits for the result.
#[utoipa::path(post, path = "/mcp/{name}/auth/authenticate", params(("name" = String, Path, description = "The server")),
    responses(
    (status = 200, description = "Status of the server", body = StatusView),
    (status = 400, description = "The server does not support login", body = ErrorBody),
    (status = 404, description = "Unknown server", body = ErrorBody),
    (status = 502, description = "The authorization server rejected the login, or no browser could be opened", body = ErrorBody),
))]
pub(super) async fn authenticate(
    State(management): State<Management>,
    Path(name): Path<String>,
) -> Result<Json<StatusView>, ApiError> {
    let login = management.start_login(&name).await?;
    if let Err(error) = management.0.browser.open(&login.page).await {
        let help = "start with `POST /mcp/{name}/auth`, and open the returned URL in another browser";
        return Err(ApiError::new(StatusCode::BAD_GATEWAY, "no-browser", error.to_string()).with_help(help));
    }
    let ended = tokio::select! {
        ended = login.ended() => ended,
        () = management.0.closing.cancelled() => {
            Err(ApiError::new(StatusCode::SERVICE_UNAVAILABLE, "closing", "the API is closing"))
        }
    };
    ended.map_err(|error| management.error(&name, error))?;
    management.connect_after_login(&name).await;
    Ok(Json(management.status(&name)))
}

/// Revokes and deletes the stored credentials, and disconnects the server.
#[utoipa::path(delete, path = "/mcp/{name}/auth", params(("name" = String, Path, description = "The server")), responses(
    (status = 200, description = "The credentials are deleted", body = LoginRemoved),
    (status = 400, description = "The server does not support login", body = ErrorBody),
    (status = 404, description = "Unknown server", body = ErrorBody),
))]
pub(super) async fn remove(
    State(management): State<Management>,
    Path(name): Path<String>,
) -> Result<Json<LoginRemoved>, ApiError> {
    let server = management.login_server(&name)?;
    management.stop_login(&name).await;
    let authorizer = server.authorizer(Arc::clone(&management.0.store), None);
    let authorizer = authorizer.ok_or_else(|| ApiError::unknown_server(&name))?;
    let logout = authorizer.logout().await.map_err(|error| management.error(&name, error))?;
    management.host().disconnect(&name).await.map_err(|error| management.error(&name, error))?;
    let revocation = match logout.revocation {
        Revocation::Done => "done",
        Revocation::NotOffered => "not-offered",
        Revocation::Nothing => "nothing",
        Revocation::Failed(error) => {
            tracing::warn!(%error, "a token was not revoked");
            "failed"
        }
    };
    Ok(Json(LoginRemoved { success: true, removed: logout.removed, revocation }))
}

impl Management {
    /// Starts a login and stops an active one.
    async fn start_login(&self, name: &str) -> Result<Arc<Login>, ApiError> {
        let server = self.login_server(name)?;
        // The active login stops first, because both may use the same port.
        self.stop_login(name).await;
        let login = Login::start(&server, Arc::clone(&self.0.store), self.callback(&server)).await;
        let login = Arc::new(login.map_err(|error| self.error(name, error))?);
        self.logins().insert(name.to_owned(), Arc::clone(&login));
        Ok(login)
    }

    /// Stops the active login at a server.
    pub(super) async fn stop_login(&self, name: &str) {
        let login = self.logins().remove(name);
        if let Some(login) = login {
            login.stop().await;
        }
    }

    /// Connects with the new credentials.
    async fn connect_after_login(&self, name: &str) {
        // The status contains the error.
        drop(self.host().connect(name).await);
    }
}
