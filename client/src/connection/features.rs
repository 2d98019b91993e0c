//! What servers offer beside tools: resources, prompts, completion, logging, ping. Everything is the wire's own JSON.

use std::sync::PoisonError;

use serde_json::{Map, Value, json};
use tokio_util::sync::CancellationToken;

use super::{Connection, request::Patience};
use crate::{
    error::{CallError, ListFault},
    pagination::{PageGuard, Step},
    revision::Era,
};

/// The severities of RFC 5424 (2026-07-28, utilities, "Logging"), the least of them first.
pub const LOG_LEVELS: [&str; 8] = ["debug", "info", "notice", "warning", "error", "critical", "alert", "emergency"];

impl Connection {
    /// The resources, page by page within the limits of the configuration.
    ///
    /// # Errors
    /// If the list cannot be read to its end.
    pub async fn list_resources(&self) -> Result<Vec<Value>, ListFault> {
        self.list("resources/list", "resources").await
    }

    /// The templates of resources, likewise.
    ///
    /// # Errors
    /// If the list cannot be read to its end.
    pub async fn list_resource_templates(&self) -> Result<Vec<Value>, ListFault> {
        self.list("resources/templates/list", "resourceTemplates").await
    }

    /// The prompts, likewise.
    ///
    /// # Errors
    /// If the list cannot be read to its end.
    pub async fn list_prompts(&self) -> Result<Vec<Value>, ListFault> {
        self.list("prompts/list", "prompts").await
    }

    /// Reads a resource.
    ///
    /// # Errors
    /// A [`CallError`].
    pub async fn read_resource(&self, uri: &str) -> Result<Map<String, Value>, CallError> {
        self.through("resources/read", json!({ "uri": uri }), "contents").await
    }

    /// Fills in a prompt.
    ///
    /// # Errors
    /// A [`CallError`].
    pub async fn get_prompt(&self, name: &str, arguments: Map<String, Value>) -> Result<Map<String, Value>, CallError> {
        self.through("prompts/get", json!({ "name": name, "arguments": arguments }), "messages").await
    }

    /// What may stand for an argument of a prompt or of a template: `reference` is the `ref` of `completion/complete`, and
    /// `known` the arguments that are already chosen.
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

    /// Says from which severity on the server is to log, in the words of the specification. On 2026-07-28 each request from
    /// now on says so itself, and a server that is not told logs nothing.
    ///
    /// # Errors
    /// A [`CallError`]; on 2026-07-28 only [`CallError::NotInRevision`], for a level that there is not.
    pub async fn set_log_level(&self, level: &str) -> Result<(), CallError> {
        if self.era() == Era::Legacy {
            return self.legacy("logging/setLevel", json!({ "level": level })).await;
        }
        let Some(known) = LOG_LEVELS.into_iter().find(|known| *known == level) else {
            return Err(CallError::NotInRevision { method: format!("log level {level}") });
        };
        *self.inner.log_level.write().unwrap_or_else(PoisonError::into_inner) = Some(known);
        Ok(())
    }

    pub(super) fn log_level(&self) -> Option<&'static str> {
        *self.inner.log_level.read().unwrap_or_else(PoisonError::into_inner)
    }

    /// Whether the server is there, in the legacy era.
    ///
    /// # Errors
    /// A [`CallError`]; [`CallError::NotInRevision`] on 2026-07-28, which has no ping.
    pub async fn ping(&self) -> Result<(), CallError> {
        self.legacy("ping", Value::Null).await
    }

    async fn list(&self, method: &'static str, field: &str) -> Result<Vec<Value>, ListFault> {
        let limits = &self.inner.config.limits;
        let mut guard = PageGuard::new(limits.pages, limits.items, self.era());
        let (mut all, mut cursor) = (Vec::new(), None::<String>);
        loop {
            let params = cursor.take().map(|cursor| json!({ "cursor": cursor }));
            let mut result = self.request(method, params, Patience::fixed(self.timeouts().request)).await?;
            let Some(Value::Array(items)) = result.get_mut(field).map(Value::take) else {
                return Err(CallError::MalformedResult { detail: format!("it holds no array `{field}`") }.into());
            };
            let (count, room) = (items.len(), guard.room());
            all.extend(items.into_iter().take(room));
            match guard.after_page(count, result.get("nextCursor"))? {
                Step::Done => return Ok(all),
                Step::Follow(next) => cursor = Some(next),
            }
        }
    }

    /// A request that may lead to questions.
    async fn through(&self, method: &'static str, params: Value, field: &str) -> Result<Map<String, Value>, CallError> {
        let timeouts = self.timeouts();
        let patience = Patience {
            idle: timeouts.request,
            ceiling: timeouts.call_ceiling.max(timeouts.request),
            reset_on_progress: false,
            cancel: CancellationToken::new(),
        };
        let params = object(params, "params")?;
        let exchange = self.send(method, Some(Value::Object(params.clone())), None).await?;
        let result = self.see_through(exchange, method, params, None, &patience).await?;
        checked(result, Some(field))
    }

    pub(super) async fn plain(
        &self,
        method: &'static str,
        params: Value,
        field: Option<&str>,
    ) -> Result<Map<String, Value>, CallError> {
        let params = Some(params).filter(|params| !params.is_null());
        checked(self.request(method, params, Patience::fixed(self.timeouts().request)).await?, field)
    }

    async fn legacy(&self, method: &'static str, params: Value) -> Result<(), CallError> {
        if self.era() == Era::Modern {
            return Err(CallError::NotInRevision { method: method.to_owned() });
        }
        self.plain(method, params, None).await.map(drop)
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
