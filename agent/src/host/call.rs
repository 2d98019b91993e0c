//! A tool call. [`Host::call`] is the only way to call a tool, and [`Host::sequence`] contains all of its steps.

use std::{sync::Arc, time::Instant};

use client::{CallError, CallOptions, ToolResult, manager::UseError};
use serde_json::{Value, json};

use super::{
    CallReport, Host, HostEvent, HostTool, lock,
    tools::{Offer, Resolved},
};
use crate::{
    filter::{ContentPart, ModelContent, for_model},
    output::{Outcome, is_short, limit},
    permissions::{Approver, GateOutcome},
    search::tool as search_tool,
};

/// A call that was sent, and its result.
#[derive(Debug, Clone, PartialEq)]
pub struct Called {
    /// The result as received; `None` for the search tool, which no server has.
    pub result: Option<ToolResult>,
    /// The content for the model: filtered and limited.
    pub content: ModelContent,
    /// The effect of the limits.
    pub limit: Outcome,
    /// Why the call was allowed; `None` for the search tool.
    pub permission: Option<GateOutcome>,
}

/// Why a call has no result.
#[derive(Debug, Clone, thiserror::Error)]
pub enum HostError {
    /// No server has a tool of this name.
    #[error("no tool has the name `{name}`")]
    UnknownTool {
        /// The name.
        name: String,
        /// The most similar name.
        nearest: Option<String>,
    },
    /// The definition of the tool changed after the model got it. Nothing was sent.
    #[error("tool `{name}` changed since the model got its definition")]
    Stale {
        /// The name.
        name: String,
    },
    /// The administrator does not allow the server. Nothing was sent.
    #[error("the server `{server}` may not be used: {reason}")]
    NotAllowed {
        /// The server.
        server: String,
        /// The reason.
        reason: String,
    },
    /// The rules or the user denied the call. Nothing was sent.
    #[error("call of `{name}` denied: {}", outcome.reason())]
    Denied {
        /// The name.
        name: String,
        /// The decision, with all rules.
        outcome: Box<GateOutcome>,
    },
    /// The arguments of the search tool are invalid.
    #[error("{0}")]
    Search(String),
    /// The server could not be used, or the request failed.
    #[error(transparent)]
    Use(Arc<UseError>),
}

impl HostError {
    /// A stable name of the kind.
    #[must_use]
    pub fn kind(&self) -> &'static str {
        match self {
            Self::UnknownTool { .. } => "unknown-tool",
            Self::Stale { .. } => "stale",
            Self::NotAllowed { .. } => "not-allowed",
            Self::Denied { .. } => "denied",
            Self::Search(_) => "invalid-arguments",
            Self::Use(error) => error.kind(),
        }
    }
}

impl Host {
    /// Calls a tool by its qualified name. The arguments are those of the model for a converted definition. Dropping the
    /// future cancels the call.
    ///
    /// # Errors
    /// A [`HostError`]. Unless it is [`HostError::Use`], nothing was sent.
    pub fn call(
        &self,
        name: &str,
        arguments: Value,
        options: CallOptions,
    ) -> impl Future<Output = Result<Called, HostError>> + Send {
        self.call_approved_by(None, name, arguments, options)
    }

    /// Like [`Self::call`], with an approver of this call alone instead of that of the host.
    ///
    /// # Errors
    /// Like [`Self::call`].
    pub async fn call_approved_by(
        &self,
        approver: Option<&dyn Approver>,
        name: &str,
        arguments: Value,
        options: CallOptions,
    ) -> Result<Called, HostError> {
        let begun = Instant::now();
        let mut offer = None;
        let called = self.sequence(approver, name, arguments, options, &mut offer).await;
        self.inner.report(|| {
            let (outcome, reason, limit) = match &called {
                Ok(called) if called.content.is_error => ("tool-error", None, Some(called.limit.clone())),
                Ok(called) => ("ok", None, Some(called.limit.clone())),
                Err(error) => (error.kind(), Some(error.to_string()), None),
            };
            let took_us = u64::try_from(begun.elapsed().as_micros()).unwrap_or(u64::MAX);
            let server = offer.as_ref().map(|offer: &Arc<Offer>| offer.server.clone());
            let (name, outcome) = (name.to_owned(), outcome.to_owned());
            HostEvent::Call(CallReport { name, server, outcome, reason, took_us, limit })
        });
        called
    }

    /// Name, drift, policy, permission and approval, call, filter, limit. Each step can end it; only the call sends something.
    async fn sequence(
        &self,
        approver: Option<&dyn Approver>,
        name: &str,
        arguments: Value,
        options: CallOptions,
        called: &mut Option<Arc<Offer>>,
    ) -> Result<Called, HostError> {
        if name == search_tool::NAME {
            let found = self.search_call(&arguments).map_err(HostError::Search)?;
            return Ok(self.found(&found).await);
        }
        let Resolved { offer, seen, is_loaded } = self.resolve(name).await.ok_or_else(|| self.unknown_tool(name))?;
        let offer = &*called.insert(offer);
        if offer.fingerprint != seen {
            return Err(HostError::Stale { name: name.to_owned() });
        }
        self.check_policy(&offer.server)?;
        let arguments = match offer.converted(name) {
            Some(Ok(converted)) => converted.restore_arguments(arguments),
            _ => arguments,
        };
        let permission =
            self.inner.gate.authorize_by(approver, &offer.server, &offer.tool, &offer.explanation, &arguments).await;
        if !permission.allowed {
            return Err(HostError::Denied { name: name.to_owned(), outcome: Box::new(permission) });
        }
        // The approval may have taken long: the client compares the definition again before it sends the call.
        let options = CallOptions { seen: Some(seen), ..options };
        let result = self.inner.manager.call(&offer.server, offer.tool.name(), arguments, options).await;
        let result = result.map_err(|error| match error {
            UseError::Call(CallError::Stale { .. }) => HostError::Stale { name: name.to_owned() },
            error => HostError::Use(Arc::new(error)),
        })?;
        if !is_loaded {
            self.load(vec![name.to_owned()]);
        }
        let content = for_model(&result, self.inner.options.capabilities);
        let (content, limit) = self.limit(content).await;
        Ok(Called { result: Some(result), content, limit, permission: Some(permission) })
    }

    fn unknown_tool(&self, name: &str) -> HostError {
        match self.unknown(name) {
            (Some(error), _) => HostError::Use(error),
            (None, nearest) => HostError::UnknownTool { name: name.to_owned(), nearest },
        }
    }

    fn check_policy(&self, server: &str) -> Result<(), HostError> {
        let config = lock(&self.inner.config);
        let denied = |reason| HostError::NotAllowed { server: server.to_owned(), reason };
        let known = config.server_named(server).ok_or_else(|| denied("it is no longer configured".to_owned()))?;
        let decision = config.policy.decide(&known.managed.config, known.origin);
        if decision.allowed { Ok(()) } else { Err(denied(decision.reason.into_owned())) }
    }

    /// Applies the output limits. A result that may be long is counted, and written to a file, on a thread for blocking work.
    pub(super) async fn limit(&self, content: ModelContent) -> (ModelContent, Outcome) {
        if is_short(&content, self.inner.options.limits) {
            return (content, Outcome::Whole);
        }
        let (limits, store) = (self.inner.options.limits, self.inner.options.store.clone());
        match tokio::task::spawn_blocking(move || limit(content, limits, store.as_ref())).await {
            Ok(limited) => limited,
            Err(error) => match error.try_into_panic() {
                Ok(panic) => std::panic::resume_unwind(panic),
                // The runtime shuts down, and drops this call as well.
                Err(_) => std::future::pending().await,
            },
        }
    }

    /// The result of the search tool: definitions, or references if the model supports them.
    async fn found(&self, tools: &[HostTool]) -> Called {
        let part = |value| ContentPart::Json { value };
        let parts: Vec<ContentPart> = if tools.is_empty() {
            vec![ContentPart::Text { text: "no tool matches".to_owned() }]
        } else if self.inner.options.references {
            tools.iter().map(|tool| part(json!({ "type": "tool_reference", "tool_name": tool.name }))).collect()
        } else {
            vec![part(tools.iter().filter_map(|tool| tool.definition().ok()).collect())]
        };
        let (content, limit) = self.limit(ModelContent { parts, is_error: false }).await;
        Called { result: None, content, limit, permission: None }
    }
}
