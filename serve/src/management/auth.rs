//! The routes about logging in.

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
    connector::authorizer,
    error::{ApiError, ErrorBody},
    login::Login,
    status::StatusView,
};

/// A login that has begun.
#[derive(Debug, Serialize, ToSchema)]
#[serde(rename_all = "camelCase")]
pub(super) struct Started {
    /// Where to lead a browser.
    authorization_url: String,
}

/// What a browser brought back: the whole address at which it ended, or the parts of it.
#[derive(Debug, Deserialize, ToSchema)]
#[serde(deny_unknown_fields)]
pub(super) struct Answer {
    /// The address. Either this or `code`.
    #[serde(default)]
    url: Option<String>,
    /// The code in the address. Either this or `url`.
    #[serde(default)]
    code: Option<String>,
    /// The state in the address; it is compared where it is given.
    #[serde(default)]
    state: Option<String>,
    /// The issuer in the address. Authorization servers that name it there have to be believed by it (RFC 9207).
    #[serde(default)]
    iss: Option<String>,
}

/// A login that is forgotten.
#[derive(Debug, Serialize, ToSchema)]
pub(super) struct Removed {
    /// Always true.
    success: bool,
    /// Whether anything was kept.
    removed: bool,
    /// Whether the authorization server has revoked it: `done`, `not-offered`, `nothing` or `failed`.
    revocation: &'static str,
}

/// Begins a login. A browser is to be led to the URL that is told; it comes back to this machine, or its answer is handed in at
/// `auth/callback`. An earlier login at this server ends.
#[utoipa::path(post, path = "/mcp/{name}/auth", params(("name" = String, Path, description = "The server")), responses(
    (status = 200, description = "Where to lead a browser", body = Started),
    (status = 400, description = "The server knows no login", body = ErrorBody),
    (status = 404, description = "Unknown server", body = ErrorBody),
    (status = 502, description = "The authorization server cannot be used", body = ErrorBody),
))]
pub(super) async fn start(
    State(management): State<Management>,
    Path(name): Path<String>,
) -> Result<Json<Started>, ApiError> {
    let login = management.begin(&name).await?;
    let authorization_url = login.page.to_string();
    let (waiting, ended) = (management.clone(), login.ended());
    // The browser may return without another request of the client.
    tokio::spawn(async move {
        tokio::select! {
            outcome = ended => if outcome.is_ok() { waiting.arrived(&name).await },
            () = waiting.0.over.cancelled() => {}
        }
    });
    Ok(Json(Started { authorization_url }))
}

/// Completes a login with the code or URL of the browser, and returns the status of the server.
#[utoipa::path(post, path = "/mcp/{name}/auth/callback", params(("name" = String, Path, description = "The server")),
    request_body = Answer, responses(
    (status = 200, description = "How the server is doing", body = StatusView),
    (status = 400, description = "The answer is not that of this login", body = ErrorBody),
    (status = 409, description = "No login goes on", body = ErrorBody),
    (status = 502, description = "The authorization server refused", body = ErrorBody),
))]
pub(super) async fn callback(
    State(management): State<Management>,
    Path(name): Path<String>,
    request: Request,
) -> Result<Json<StatusView>, ApiError> {
    let answer: Answer = read(request).await?;
    management.login_url(&name)?;
    let login = management.logins().get(&name).cloned();
    let login = login.ok_or_else(|| {
        ApiError::new(StatusCode::CONFLICT, "no-login", format!("no login goes on at server `{name}`"))
            .advise("begin one with `POST /mcp/{name}/auth`")
    })?;
    let answer = match (&answer.url, &answer.code) {
        (Some(url), None) => url.clone(),
        (None, Some(code)) => login.callback_for_code(code, answer.state.as_deref(), answer.iss.as_deref()),
        _ => return Err(ApiError::new(StatusCode::BAD_REQUEST, "invalid-body", "an answer has a `url` or a `code`")),
    };
    login.answer(answer).await.map_err(|error| management.error(&name, error))?;
    management.arrived(&name).await;
    Ok(Json(management.status(&name)))
}

/// Logs in from the beginning to the end: opens a browser on this machine, and waits until it has come back.
#[utoipa::path(post, path = "/mcp/{name}/auth/authenticate", params(("name" = String, Path, description = "The server")),
    responses(
    (status = 200, description = "How the server is doing", body = StatusView),
    (status = 400, description = "The server knows no login", body = ErrorBody),
    (status = 404, description = "Unknown server", body = ErrorBody),
    (status = 502, description = "The authorization server refused, or no browser could be opened", body = ErrorBody),
))]
pub(super) async fn authenticate(
    State(management): State<Management>,
    Path(name): Path<String>,
) -> Result<Json<StatusView>, ApiError> {
    let login = management.begin(&name).await?;
    if let Err(error) = management.0.settings.browser.open(&login.page).await {
        let advice = "begin with `POST /mcp/{name}/auth`, and lead a browser elsewhere to the URL that it tells";
        return Err(ApiError::new(StatusCode::BAD_GATEWAY, "no-browser", error.to_string()).advise(advice));
    }
    let ended = tokio::select! {
        ended = login.ended() => ended,
        () = management.0.over.cancelled() => {
            Err(ApiError::new(StatusCode::SERVICE_UNAVAILABLE, "closing", "the API is closing"))
        }
    };
    ended.map_err(|error| management.error(&name, error))?;
    management.arrived(&name).await;
    Ok(Json(management.status(&name)))
}

/// Forgets a login: what is kept is removed, and given back to the authorization server; the server is disconnected.
#[utoipa::path(delete, path = "/mcp/{name}/auth", params(("name" = String, Path, description = "The server")), responses(
    (status = 200, description = "It is forgotten", body = Removed),
    (status = 400, description = "The server knows no login", body = ErrorBody),
    (status = 404, description = "Unknown server", body = ErrorBody),
))]
pub(super) async fn remove(
    State(management): State<Management>,
    Path(name): Path<String>,
) -> Result<Json<Removed>, ApiError> {
    let url = management.login_url(&name)?;
    management.end_login(&name).await;
    let authorizer = authorizer(&url, Arc::clone(&management.0.settings.store), None)?;
    let left = authorizer.logout().await.map_err(|error| management.error(&name, error))?;
    management.manager().disconnect(&name).await.map_err(|error| management.error(&name, error))?;
    let revocation = match left.revocation {
        Revocation::Done => "done",
        Revocation::NotOffered => "not-offered",
        Revocation::Nothing => "nothing",
        Revocation::Failed(error) => {
            tracing::warn!(%error, "a token was not revoked");
            "failed"
        }
    };
    Ok(Json(Removed { success: true, removed: left.removed, revocation }))
}

impl Management {
    /// Begins a login in the place of one that goes on.
    async fn begin(&self, name: &str) -> Result<Arc<Login>, ApiError> {
        let url = self.login_url(name)?;
        // The earlier one ends first: both may want the same port.
        self.end_login(name).await;
        let settings = &self.0.settings;
        let login = Login::begin(&url, Arc::clone(&settings.store), settings.callback.clone()).await;
        let login = Arc::new(login.map_err(|error| self.error(name, error))?);
        self.logins().insert(name.to_owned(), Arc::clone(&login));
        Ok(login)
    }

    /// Ends the login that goes on at a server.
    pub(super) async fn end_login(&self, name: &str) {
        let login = self.logins().remove(name);
        if let Some(login) = login {
            login.stop().await;
        }
    }

    /// Connects with what a login has brought.
    async fn arrived(&self, name: &str) {
        // Why it cannot be connected is in its status.
        drop(self.manager().connect(name).await);
    }
}
