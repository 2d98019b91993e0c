//! Routes of requests of servers to the user or the model, which a program of the API answers.

use std::{
    collections::BTreeMap,
    sync::{Mutex, PoisonError},
};

use axum::{
    Json,
    extract::{Path, Request, State},
};
use client::{FormField, HostRequest, HostRequestKind, HostResponseError};
use http::StatusCode;
use serde::{Deserialize, Serialize};
use serde_json::{Map, Value, json};
use tokio::sync::mpsc;
use utoipa::ToSchema;

use super::{
    Management,
    body::read,
    error::{ApiError, ErrorBody},
};

/// The requests without a response, by number. They are taken from the host when a program asks for them.
#[derive(Debug)]
pub(super) struct Requests(Mutex<Waiting>);

#[derive(Debug)]
struct Waiting {
    incoming: Option<mpsc::Receiver<HostRequest>>,
    open: BTreeMap<u64, HostRequest>,
}

impl Requests {
    /// Gets the requests from this receiver.
    pub(super) fn new(incoming: Option<mpsc::Receiver<HostRequest>>) -> Self {
        Self(Mutex::new(Waiting { incoming, open: BTreeMap::new() }))
    }

    /// Accesses the requests that are still open.
    fn with<T>(&self, access: impl FnOnce(&mut BTreeMap<u64, HostRequest>) -> T) -> T {
        let mut waiting = self.0.lock().unwrap_or_else(PoisonError::into_inner);
        let Waiting { incoming, open } = &mut *waiting;
        while let Some(request) = incoming.as_mut().and_then(|incoming| incoming.try_recv().ok()) {
            open.insert(request.number(), request);
        }
        open.retain(|_, request| request.is_open());
        access(open)
    }
}

/// A request of a server.
#[derive(Debug, Serialize, ToSchema)]
pub(super) struct RequestView {
    /// Its number, for the response.
    id: u64,
    /// The server, which a user interface must show.
    server: String,
    /// What it requests.
    #[serde(flatten)]
    kind: RequestKind,
}

/// What a server requests.
#[derive(Debug, Serialize, ToSchema)]
#[serde(tag = "kind", rename_all = "lowercase")]
enum RequestKind {
    /// Fill in a form.
    Form {
        /// The message of the server.
        message: String,
        /// The JSON Schema of the fields.
        #[schema(value_type = Object)]
        schema: Value,
    },
    /// Visit a page. A user interface must show its host before.
    Url {
        /// The message of the server.
        message: String,
        /// The page.
        url: String,
    },
    /// Sample from the model.
    Sampling {
        /// The parameters of `sampling/createMessage`.
        #[schema(value_type = Object)]
        params: Map<String, Value>,
    },
}

impl Management {
    /// The requests as programs see them. Messages are those of the server, without its secrets.
    fn views(&self, open: &BTreeMap<u64, HostRequest>) -> Json<Vec<RequestView>> {
        let view = |request: &HostRequest| {
            let server = request.server().to_owned();
            let kind = match request.kind().clone() {
                HostRequestKind::Form { message, form } => {
                    RequestKind::Form { message: self.redact(&server, message), schema: schema(form.fields()) }
                }
                HostRequestKind::Url { message, url, .. } => {
                    RequestKind::Url { message: self.redact(&server, message), url: url.into() }
                }
                HostRequestKind::Sampling { params } => RequestKind::Sampling { params },
                // The API declares no other features.
                _ => RequestKind::Sampling { params: Map::new() },
            };
            RequestView { id: request.number(), server, kind }
        };
        Json(open.values().map(view).collect())
    }
}

fn schema(fields: &[FormField]) -> Value {
    let required: Vec<&str> = fields.iter().filter(|field| field.required).map(|field| field.name.as_str()).collect();
    let properties: Map<String, Value> =
        fields.iter().map(|field| (field.name.clone(), Value::Object(field.schema.clone()))).collect();
    json!({ "type": "object", "properties": properties, "required": required })
}

/// The response of the user or the model.
#[derive(Debug, Deserialize, ToSchema)]
#[serde(deny_unknown_fields)]
pub(super) struct RequestResponse {
    /// What the user does.
    action: Action,
    /// The fields of a form that is accepted. Missing ones get their defaults.
    #[schema(value_type = Option<Object>)]
    content: Option<Map<String, Value>>,
    /// The result of `sampling/createMessage`, if it is accepted.
    #[schema(value_type = Option<Object>)]
    result: Option<Map<String, Value>>,
}

/// What the user does with a request.
#[derive(Debug, Clone, Copy, Deserialize, ToSchema)]
#[serde(rename_all = "lowercase")]
enum Action {
    /// Submits the form, visits the page, or lets the model respond.
    Accept,
    /// Says no.
    Decline,
    /// Closes the request without a choice.
    Cancel,
}

/// Lists the requests of servers to the user or the model that have no response yet.
#[utoipa::path(get, path = "/requests", responses((status = 200, description = "The requests", body = Vec<RequestView>)))]
pub(super) async fn list(State(management): State<Management>) -> Json<Vec<RequestView>> {
    management.0.requests.with(|open| management.views(open))
}

/// Responds to a request of a server.
#[utoipa::path(post, path = "/requests/{id}", params(("id" = u64, Path, description = "The request")),
    request_body = RequestResponse, responses(
    (status = 200, description = "The requests that are still open", body = Vec<RequestView>),
    (status = 400, description = "The response does not fit the request, which is still open", body = ErrorBody),
    (status = 404, description = "No such request is open", body = ErrorBody),
))]
pub(super) async fn respond(
    State(management): State<Management>,
    Path(id): Path<String>,
    request: Request,
) -> Result<Json<Vec<RequestView>>, ApiError> {
    let response: RequestResponse = read(request).await?;
    management.0.requests.with(|open| {
        let unknown = || {
            let message = format!("no request `{id}` is open");
            ApiError::new(StatusCode::NOT_FOUND, "unknown-request", message).with_help("`GET /requests` lists them")
        };
        let id = id.parse().map_err(|_| unknown())?;
        match response.action {
            Action::Accept => {
                accept(open.get_mut(&id).ok_or_else(unknown)?, response)?;
                open.remove(&id);
            }
            Action::Decline => open.remove(&id).ok_or_else(unknown)?.decline(),
            Action::Cancel => open.remove(&id).ok_or_else(unknown)?.cancel(),
        }
        Ok(management.views(open))
    })
}

/// Accepts a request. It stays open if the response does not fit.
fn accept(request: &mut HostRequest, response: RequestResponse) -> Result<(), ApiError> {
    let accepted = match request.kind() {
        HostRequestKind::Form { .. } => request.accept(response.content.unwrap_or_default()),
        HostRequestKind::Url { .. } => request.consent(),
        _ => request.sampled(response.result.ok_or_else(|| invalid("`result` is missing"))?),
    };
    accepted.map_err(|error| match error {
        HostResponseError::Invalid { problems } => {
            let problems = problems.iter().map(|problem| format!("`{}`: {}", problem.field, problem.problem));
            invalid(problems.collect::<Vec<_>>().join("; "))
        }
        error => invalid(error.to_string()),
    })
}

fn invalid(message: impl Into<String>) -> ApiError {
    ApiError::new(StatusCode::BAD_REQUEST, "invalid-response", message).with_help("`GET /requests` has the request")
}
