//! Resources, prompts, completion, logging and ping. Results are returned as received.

use std::sync::{Arc, PoisonError};

use serde_json::{Map, Value, json};
use tokio_util::sync::CancellationToken;

use super::{Connection, request::RequestTimeouts};
use crate::{
    direct::RequestHead,
    error::{CallError, ListErrorKind},
    pagination::{PageGuard, Step},
    revision::Revision,
};

/// The severities of RFC 5424 (2026-07-28, utilities, "Logging"), lowest first.
pub const LOG_LEVELS: [&str; 8] = ["debug", "info", "notice", "warning", "error", "critical", "alert", "emergency"];

impl Connection {
    /// URL and headers of a request over Streamable HTTP, for a program that sends its requests itself in the session of
    /// this connection. `name` is that of the tool or prompt, or the URI of the resource. Returns `None` over other
    /// transports, while the session is replaced, and if a header depends on the arguments or needs an encoding.
    #[must_use]
    pub fn request_head(&self, method: &'static str, name: Option<&str>) -> Option<RequestHead> {
        self.inner.direct.as_ref()?.request_head(method, name)
    }

    /// The members of `_meta` that the revision requires in each request; empty if it requires none.
    #[must_use]
    pub fn request_meta(&self) -> Map<String, Value> {
        self.inner.direct.as_ref().map(|direct| direct.meta().clone()).unwrap_or_default()
    }

    /// Lists the resources, all pages within the configured limits. As all lists, it is empty if the server does not
    /// declare the capability; nothing is sent then.
    ///
    /// # Errors
    /// If the list cannot be read completely.
    pub async fn list_resources(&self) -> Result<Vec<Value>, ListErrorKind> {
        self.list("resources/list", "resources").await
    }

    /// Lists the resource templates.
    ///
    /// # Errors
    /// If the list cannot be read completely.
    pub async fn list_resource_templates(&self) -> Result<Vec<Value>, ListErrorKind> {
        self.list("resources/templates/list", "resourceTemplates").await
    }

    /// Lists the prompts.
    ///
    /// # Errors
    /// If the list cannot be read completely.
    pub async fn list_prompts(&self) -> Result<Vec<Value>, ListErrorKind> {
        self.list("prompts/list", "prompts").await
    }

    /// Reads a resource.
    ///
    /// # Errors
    /// A [`CallError`].
    pub async fn read_resource(&self, uri: &str) -> Result<Map<String, Value>, CallError> {
        self.through("resources/read", json!({ "uri": uri }), "contents").await
    }

    /// Renders a prompt.
    ///
    /// # Errors
    /// A [`CallError`].
    pub async fn get_prompt(&self, name: &str, arguments: Map<String, Value>) -> Result<Map<String, Value>, CallError> {
        self.through("prompts/get", json!({ "name": name, "arguments": arguments }), "messages").await
    }

    /// Completes an argument of a prompt or a template. `reference` is the `ref` of `completion/complete`, `known` the
    /// arguments that are already chosen.
    ///
    /// # Errors
    /// A [`CallError`].
    pub async fn complete(
        &self,
        reference: Value,
        argument: &str,
        value: &str,
        known: Map<String, Value>,
    ) -> Result<Map<String, Value>, CallError> {
        let mut params = json!({ "ref": reference, "argument": { "name": argument, "value": value } });
        if !known.is_empty() {
            params["context"] = json!({ "arguments": known });
        }
        self.plain("completion/complete", params, Some("completion")).await
    }

    /// Sets the minimum log level. In 2026-07-28 it is sent with each request from now on; without it, a server sends
    /// no log messages.
    ///
    /// # Errors
    /// A [`CallError`]; in 2026-07-28 only [`CallError::NotInRevision`], for an unknown level.
    pub async fn set_log_level(&self, level: &str) -> Result<(), CallError> {
        if !self.rules().stateless {
            return self.legacy("logging/setLevel", json!({ "level": level })).await;
        }
        let Some(known) = LOG_LEVELS.into_iter().find(|known| *known == level) else {
            return Err(CallError::NotInRevision { method: format!("log level {level}") });
        };
        *self.inner.log_level.write().unwrap_or_else(PoisonError::into_inner) = Some(known);
        Ok(())
    }

    /// Fails if a resource cannot be watched.
    pub(super) fn require_subscriptions(&self) -> Result<(), CallError> {
        self.require_capability("resources/subscribe")
    }

    pub(super) fn log_level(&self) -> Option<&'static str> {
        *self.inner.log_level.read().unwrap_or_else(PoisonError::into_inner)
    }

    /// Sends a ping, in the legacy era.
    ///
    /// # Errors
    /// A [`CallError`]; [`CallError::NotInRevision`] in 2026-07-28, which has no ping.
    pub async fn ping(&self) -> Result<(), CallError> {
        self.legacy("ping", Value::Null).await
    }

    /// Whether the server declares the capability that a request needs. Both sides use only negotiated capabilities
    /// (2025-11-25, lifecycle, "Operation"; 2026-07-28, discovery, "Server Capabilities").
    fn require_capability(&self, method: &str) -> Result<(), CallError> {
        let Some(capability) = capability_of(method, self.revision()) else { return Ok(()) };
        let pointer = format!("/capabilities/{}", capability.replace('.', "/"));
        let is_declared = |greeting: Arc<Value>| {
            greeting.pointer(&pointer).is_some_and(|value| !matches!(value, Value::Null | Value::Bool(false)))
        };
        match self.inner.tracker.greeting().is_some_and(is_declared) {
            true => Ok(()),
            false => Err(CallError::NotDeclared { capability: capability.to_owned() }),
        }
    }

    pub(super) async fn list(&self, method: &'static str, field: &str) -> Result<Vec<Value>, ListErrorKind> {
        if self.require_capability(method).is_err() {
            return Ok(Vec::new());
        }
        self.until_listening().await;
        let limits = &self.inner.config.limits;
        let mut guard = PageGuard::new(limits.pages, limits.items, self.era());
        let (mut all, mut cursor) = (Vec::new(), None::<String>);
        loop {
            let params = cursor.take().map(|cursor| json!({ "cursor": cursor }));
            let mut result = self.request(method, params, RequestTimeouts::fixed(self.timeouts().request)).await?;
            let Some(Value::Array(items)) = result.get_mut(field).map(Value::take) else {
                return Err(CallError::MalformedResult { detail: format!("the result has no array `{field}`") }.into());
            };
            let (count, room) = (items.len(), guard.room());
            all.extend(items.into_iter().take(room));
            match guard.after_page(count, result.get("nextCursor"))? {
                Step::Done => return Ok(all),
                Step::Follow(next) => cursor = Some(next),
            }
        }
    }

    /// Sends a request that may lead to input requests.
    async fn through(&self, method: &'static str, params: Value, field: &str) -> Result<Map<String, Value>, CallError> {
        self.require_capability(method)?;
        let timeouts = self.timeouts();
        let timeouts = RequestTimeouts {
            idle: timeouts.request,
            ceiling: timeouts.call_ceiling.max(timeouts.request),
            reset_on_progress: false,
            cancel: CancellationToken::new(),
        };
        let params = object(params, "params")?;
        let exchange = self.send(method, Some(Value::Object(params.clone())), None).await?;
        let result = self.run_input_rounds(exchange, method, params, None, &timeouts).await?;
        checked(result, Some(field))
    }

    pub(super) async fn plain(
        &self,
        method: &'static str,
        params: Value,
        field: Option<&str>,
    ) -> Result<Map<String, Value>, CallError> {
        self.require_capability(method)?;
        let params = Some(params).filter(|params| !params.is_null());
        checked(self.request(method, params, RequestTimeouts::fixed(self.timeouts().request)).await?, field)
    }

    async fn legacy(&self, method: &'static str, params: Value) -> Result<(), CallError> {
        if self.rules().stateless {
            return Err(CallError::NotInRevision { method: method.to_owned() });
        }
        self.plain(method, params, None).await.map(drop)
    }
}

/// The capability of a server that a request needs; `None` if it needs none.
fn capability_of(method: &str, revision: Revision) -> Option<&'static str> {
    match method {
        "resources/list" | "resources/templates/list" | "resources/read" => Some("resources"),
        "resources/subscribe" | "resources/unsubscribe" => Some("resources.subscribe"),
        "prompts/list" | "prompts/get" => Some("prompts"),
        // The capability exists since 2025-03-26, the request since 2024-11-05.
        "completion/complete" => (revision > Revision::V2024_11_05).then_some("completions"),
        "logging/setLevel" => Some("logging"),
        _ => None,
    }
}

fn object(value: Value, what: &str) -> Result<Map<String, Value>, CallError> {
    match value {
        Value::Object(object) => Ok(object),
        _ => Err(CallError::MalformedResult { detail: format!("{what} is not an object") }),
    }
}

fn checked(result: Value, field: Option<&str>) -> Result<Map<String, Value>, CallError> {
    let result = object(result, "the result")?;
    match field.filter(|field| !result.contains_key(*field)) {
        Some(field) => Err(CallError::MalformedResult { detail: format!("the result has no `{field}`") }),
        None => Ok(result),
    }
}
